"""`Transform`, the base of all: caching, inverse, shapes; and chains of transforms.

A transform that is made of others knows them only by what is here.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ...engine.tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost

__all__ = [
    "ComposeTransform", "IndependentTransform", "PlainTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """An invertible function of tensors with a computable log |det Jacobian|.

    A subclass has `domain` and `codomain`, `_call(x)` and `_inverse(y)`, and, if it is `bijective`,
    `log_abs_det_jacobian(x, y)`, one number for each event of the domain; `sign` says whether a
    function of single numbers increases (1) or decreases (-1). With `cache_size=1` the last pair of
    `x` and `y` is remembered, for inverses that are expensive or inexact; 0 is none, else
    ValueError. Source: PyTorch's `distributions.Transform`.

    >>> exp = rg.distributions.ExpTransform()
    >>> x = rg.tensor([0.0, 1.0]); y = exp(x)
    >>> y, exp.inv(y), exp.log_abs_det_jacobian(x, y)
    (tensor([1.0000, 2.7183]), tensor([0.0000, 1.0000]), tensor([0., 1.]))
    """

    bijective: Any = False
    domain: constraints.Constraint
    codomain: constraints.Constraint
    _arguments: tuple[str, ...]  # what the constructor takes before the size of the cache
    _inv: Any = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, but is {cache_size}")
        super().__init__()  # of a class beside this one, as nn.Module in libraries
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}  # a weak reference

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event; ValueError where the codomain's has another."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse; its inverse is this transform itself."""
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 if the function increases, -1 if it decreases."""
        raise NotImplementedError(f"{type(self).__name__} does not define sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        for kind in type(self).__mro__:
            if "_arguments" in vars(kind):
                given = [getattr(self, name) for name in vars(kind)["_arguments"]]
                return kind(*given, cache_size=cache_size)
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        """y = f(x), the transformed value."""
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        return self._remembered(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        return self._remembered(self._inverse(y), y)[0]

    def _remembered(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._cache_size:
            self._cached_x_y = x, y
        return x, y

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx|, of the shape of `x` less the dimensions of an event."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the result for one of the argument."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the argument for one of the result."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PlainTransform(Transform):
    """A transform without parameters: one is like another of its class."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = None


class _InverseTransform(Transform):
    """The inverse of a transform, which holds no reference to it."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv: Any = transform

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms, one after another; each caches for itself.

    >>> D = rg.distributions
    >>> D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])(rg.tensor([0.0]))
    tensor([3.])
    """

    _arguments = ("parts",)

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    @constraints.dependent_property
    def domain(self) -> Any:
        """The first transform's domain, with as many dimensions as the whole chain needs."""
        if not self.parts:
            return constraints.real
        domain, dims = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        more = dims - domain.event_dim
        return constraints.independent(domain, more) if more > 0 else domain

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The last transform's codomain, with as many dimensions as the whole chain needs."""
        if not self.parts:
            return constraints.real
        codomain, dims = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        more = dims - codomain.event_dim
        return constraints.independent(codomain, more) if more > 0 else codomain

    @property
    def bijective(self) -> bool:
        """Whether all composed transforms are bijective."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        """The inverses in reverse order."""
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts', each summed to the chain's events."""
        if not self.parts:
            return x.new_zeros(x.shape)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims, terms = self.domain.event_dim, []
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose events have `reinterpreted_batch_ndims` dimensions more.

    The function is the same; its Jacobian is summed over these dimensions.

    >>> D = rg.distributions
    >>> exp = D.IndependentTransform(D.ExpTransform(), 1)
    >>> x = rg.tensor([1.0, 2.0]); exp.log_abs_det_jacobian(x, exp(x))
    tensor(3.)
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property
    def domain(self) -> Any:
        """The base transform's domain, with more event dimensions."""
        base = self.base_transform.domain
        return constraints.independent(base, self.reinterpreted_batch_ndims)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The base transform's codomain, with more event dimensions."""
        base = self.base_transform.codomain
        return constraints.independent(base, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    def _check(self, value: Tensor, region: Any) -> None:
        if value.dim() < region.event_dim:
            raise ValueError(
                f"Too few dimensions on input: shape {value.shape} has less than {region.event_dim}"
            )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The base's, summed over the reinterpreted dimensions."""
        jacobian = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(jacobian, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def check_dims(shape: Sequence[int], dims: int) -> Any:
    """The shape as it is, which must have `dims` dimensions at least; else ValueError."""
    if len(shape) < dims:
        raise ValueError(f"Too few dimensions on input: shape {tuple(shape)} has less than {dims}")
    return shape
