"""`Distribution`, the base of all, and `ExponentialFamily`.

NOTE [Parameters]
`arg_constraints` says by name which attributes are parameters, where they are valid, and by the
constraint's `event_dim`, how many of their last dimensions one distribution of the batch has. From
this alone follow:
(1) validation, when a distribution is made; a parameter that is derived from another when it is
    asked for (`lazy_property`) is not validated;
(2) what `repr` shows;
(3) `expand`: a new instance has all attributes of the old one, its parameters expanded; values
    that were derived of them are derived again. What a subclass has in addition, its `expand` sets.
A class with further distributions among its attributes expands these too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.grad import grad
from ..autograd.grad_mode import enable_grad, no_grad
from ..engine.tensor import Size, Tensor, concrete
from ..kernels.allocation import is_batched
from . import constraints
from .utils import _sum_rightmost, broadcast_all, lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


def size_of(shape: Sequence[int]) -> Any:
    """A shape as a Size; one that is none, as of a program's several events, stays what it is."""
    try:
        return Size(shape)
    except TypeError:
        return shape


class Distribution:
    """A batch of probability distributions of one family.

    A sample of shape `sample_shape + batch_shape + event_shape` has one event for each distribution
    of the batch. Arguments that are invalid, and samples outside of the support, raise ValueError
    unless `validate_args` is False; by default they do so unless Python runs with `-O`. What a
    family does not define raises NotImplementedError. Source: PyTorch's
    `distributions.Distribution`.

    >>> normal = rg.distributions.Normal(rg.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
    (retrograd.Size([3]), retrograd.Size([]), retrograd.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    if TYPE_CHECKING:  # what NOTE [Parameters] sets by name

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions validate unless told otherwise; ValueError for no boolean."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, but got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        super().__init__()  # of a class beside this one
        self._batch_shape, self._event_shape = size_of(batch_shape), size_of(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _parametrize(self, validate_args: bool | None, **parameters: Any) -> None:
        """Take univariate parameters, broadcast against one another."""
        values = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=4,
            )
            return
        for name, region in regions.items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(region) or (derived and name not in vars(self)):
                continue
            value = getattr(self, name)
            if not _hold(region.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({_described(value)}) of distribution {self!r} to "
                    f"satisfy the constraint {region!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions with batch dimensions expanded to `batch_shape`; views, no copies.

        `_instance` is what an overriding `expand` made by `_get_checked_instance`, to be filled.
        """
        home = (__package__, "torch.distributions")  # its name under the alias
        own: Any = next(c for c in type(self).__mro__ if c.__module__.startswith(home))
        if own in (Distribution, ExponentialFamily):
            raise NotImplementedError(f"{type(self)} does not implement expand")
        new = self._get_checked_instance(own, _instance)
        regions: Any = own.arg_constraints
        if isinstance(regions, property):
            regions = regions.__get__(self)
        for name in vars(self).keys() - vars(new).keys():
            value = vars(self)[name]
            if name in regions:
                event = value.dim() - regions[name].event_dim
                setattr(new, name, value.expand((*batch_shape, *value.shape[event:])))
            elif not isinstance(getattr(type(self), name, None), lazy_property):
                setattr(new, name, value)
        new._batch_shape = Size(batch_shape)
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An instance for `expand` to fill, whose class has the same `__init__` as `cls`."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter that is a tensor, by name."""
        raise NotImplementedError(f"{type(self)} does not define arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError(f"{type(self)} does not implement support")

    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each component, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples without derivative, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples that are differentiable functions of the parameters, where `has_rsample`."""
        raise NotImplementedError(f"{type(self)} does not implement rsample")

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`; deprecated, with a warning."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability of `value`, one number for each event."""
        raise NotImplementedError(f"{type(self)} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to `value`."""
        raise NotImplementedError(f"{type(self)} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile for a probability: the inverse of `cdf`."""
        raise NotImplementedError(f"{type(self)} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        The others are those of the batch, or of size 1 without `expand`.
        """
        raise NotImplementedError(f"{type(self)} does not implement enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy, of shape `batch_shape`."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """The shape of samples of shape `sample_shape`."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Scalar values, first along a new dimension before those of the batch."""
        values = values.reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _check_sample(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless `value` is of fitting shape and within the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.shape, len(self._event_shape)
        if shape[len(shape) - event :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs "
                f"{self._event_shape}."
            )
        whole = self._batch_shape + self._event_shape
        for i, j in zip(reversed(shape), reversed(whole), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        if not _hold(support.check(value)):
            raise ValueError(
                f"Expected value argument ({_described(value)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = [(name, vars(self)[name]) for name in self.arg_constraints if name in vars(self)]
        shown = (f"{name}: {v if v.numel() == 1 else v.shape}" for name, v in given)
        return f"{type(self).__name__}({', '.join(shown)})"


def _hold(checks: Tensor) -> bool:
    """Whether all checks hold, in a batched call those of all examples."""
    array = checks._array
    return bool(concrete(array).all() if is_batched(array) else checks.all())


def _described(value: Any) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


class ExponentialFamily(Distribution):
    """Distributions of density exp(<t(x), θ> - F(θ) + k(x)) with natural parameters θ.

    A subclass gives θ as the tuple `_natural_params`, F as `_log_normalizer(*θ)` and the mean of k
    as `_mean_carrier_measure`; the entropy and the Kullback-Leibler divergence of two of one class
    follow by differentiating F. Source: F. Nielsen and R. Nock, "Entropies and cross-entropies of
    exponential families", ICIP 2010.

    >>> ExponentialFamily = rg.distributions.ExponentialFamily
    >>> ExponentialFamily.entropy(rg.distributions.Exponential(rg.tensor([1.0])))
    tensor([1.])
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self)} does not define _natural_params")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not define _mean_carrier_measure")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not define _log_normalizer")

    def _differentiated(self) -> tuple[Tensor, list[Tensor], tuple[Tensor, ...]]:
        """F, the natural parameters that it was computed of, and its gradients by them."""
        with enable_grad():
            given = self._natural_params
            made = [p if p.requires_grad else p.detach().requires_grad_() for p in given]
            normalizer = self._log_normalizer(*made)
            slopes = grad(normalizer.sum(), made, create_graph=True)
        if any(p.requires_grad for p in given):
            return normalizer, made, slopes
        return normalizer.detach(), list(given), tuple(slope.detach() for slope in slopes)

    def _inner(self, a: Tensor, b: Tensor) -> Tensor:
        """The inner products of two natural parameters, one for each distribution of the batch."""
        product = a * b
        return _sum_rightmost(product, product.dim() - len(self._batch_shape))

    def entropy(self) -> Tensor:
        """F(θ) - <θ, dF/dθ>, less the mean of k."""
        normalizer, natural, slopes = self._differentiated()
        pairs = zip(natural, slopes, strict=True)
        return normalizer - self._mean_carrier_measure - sum(self._inner(*pair) for pair in pairs)
