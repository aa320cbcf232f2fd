"""Transforms of the parts of a tensor, one for each: `CatTransform` and `StackTransform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...engine.tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost
from .base import Transform

__all__ = ["CatTransform", "StackTransform"]


class _JointTransform(Transform):
    """One transform of `transforms` for each of the parts along `dim`."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    _parts: Callable[[Tensor], list[Tensor]]
    _joined: Callable[[list[Tensor]], Tensor]

    @property
    def bijective(self) -> bool:
        """Whether all parts' transforms are."""
        return all(t.bijective for t in self.transforms)

    def _check(self, x: Tensor, length: int, name: str) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )
        if x.size(self.dim) != length:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {name}")

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([t(part) for t, part in parts])

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([t.inv(part) for t, part in parts])

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [t.log_abs_det_jacobian(before, after) for t, before, after in parts]


class CatTransform(_JointTransform):
    """Transforms of the parts, of lengths `lengths` (else 1), one after another along `dim`.

    Raises AssertionError for a tensor of another length. Source: PyTorch's
    `distributions.CatTransform`.

    >>> D = rg.distributions
    >>> t = D.CatTransform([D.ExpTransform(), D.identity_transform], lengths=[1, 2])
    >>> t(rg.tensor([0.0, 0.0, 5.0]))
    tensor([1., 0., 5.])
    """

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"{len(self.lengths)} lengths for {len(self.transforms)} transforms"
            )

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths), doc="The length of all parts together.")

    def _parts(self, x: Tensor) -> Any:
        self._check(x, self.length, f"length {self.length}")
        return x.split(self.lengths, self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return ops.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The parts', side by side along `dim`, or summed where that is within an event."""
        dims = self.event_dim
        terms = [
            _sum_rightmost(term, dims - t.event_dim)
            for t, term in zip(self.transforms, self._jacobians(x, y), strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + dims
        return ops.cat(terms, dim) if dim < 0 else sum(terms[1:], terms[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains of the parts, side by side."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains of the parts, side by side."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_JointTransform):
    """Transforms of the slices along `dim`, one for each.

    Raises AssertionError for a tensor of another number of slices. Source: PyTorch's
    `distributions.StackTransform`.

    >>> D = rg.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform])(rg.zeros(2, 1))
    tensor([[1.],
            [0.]])
    """

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _parts(self, x: Tensor) -> Any:
        count = len(self.transforms)
        self._check(x, count, f"len(transforms) {count}")
        return x.unbind(self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return ops.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det J| of every slice, stacked."""
        return self._joined(self._jacobians(x, y))

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains of the slices, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains of the slices, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
