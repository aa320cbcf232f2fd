"""All transforms by name; and those of single numbers.

Source: PyTorch's `distributions.transforms`.
"""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes, ops
from ...engine.tensor import Size, Tensor
from .. import constraints
from .joint import CatTransform, StackTransform
from .base import (
    ComposeTransform,
    IndependentTransform,
    PlainTransform,
    Transform,
    _InverseTransform,
    identity_transform,
)
from ..utils import _sum_rightmost, softplus
from .vector import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from collections.abc import Sequence
from ..utils import Values

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


class ExpTransform(PlainTransform):
    """y = exp(x).

    >>> rg.distributions.ExpTransform()(rg.tensor([0.0]))
    tensor([1.])
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """x itself, which is log |dy/dx|."""
        return x


class SigmoidTransform(PlainTransform):
    """y = 1 / (1 + exp(-x)), at least the dtype's smallest step away from 0 and 1.

    >>> rg.distributions.SigmoidTransform()(rg.tensor([0.0]))
    tensor([0.5000])
    """

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, 1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _within(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log(y (1 - y))."""
        return -softplus(-x) - softplus(x)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _within(x.sigmoid())


def _within(y: Tensor) -> Tensor:
    limits = dtypes.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1 - limits.eps)


class SoftplusTransform(PlainTransform):
    """y = log(1 + exp(x)).

    >>> rg.distributions.SoftplusTransform()(rg.tensor([0.0]))
    tensor([0.6931])
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the sigmoid function."""
        return -softplus(-x)


class TanhTransform(PlainTransform):
    """y = tanh(x); `cache_size=1` gives back an x whose y was rounded to 1.

    >>> rg.distributions.TanhTransform().inv(rg.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log(1 - y^2), computed from x."""
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(PlainTransform):
    """y = |x|, which is not bijective: `inv` gives the x >= 0.

    >>> rg.distributions.AbsTransform()(rg.tensor([-2.0]))
    tensor([2.])
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x^exponent for x > 0; `exponent`, a tensor or a number, broadcasts with x.

    >>> rg.distributions.PowerTransform(rg.tensor(2.0))(rg.tensor([3.0]))
    tensor([9.])
    """

    domain = codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Values, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = ops.as_tensor(exponent)

    sign = property(lambda self: self.exponent.sign(), doc="The sign of the exponent.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape, broadcast with that of the exponent."""
        return ops.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale * x; `loc` and `scale`, tensors or numbers, broadcast with x.

    >>> rg.distributions.AffineTransform(1.0, rg.tensor([2.0, 3.0]))(rg.tensor(1.0))
    tensor([3., 4.])
    """

    bijective = True
    _arguments = ("loc", "scale", "_event_dim")

    def __init__(self, loc: Values, scale: Values, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim, doc="The number of an event's dimensions.")

    def _region(self) -> Any:
        real, dims = constraints.real, self._event_dim
        return constraints.independent(real, dims) if dims else real

    domain = constraints.dependent_property(_region, is_discrete=False)
    codomain = constraints.dependent_property(_region, is_discrete=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = (self.loc, other.loc), (self.scale, other.scale)
        return all(bool(ops.as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = None

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |scale|, summed over the dimensions of an event."""
        scale = self.scale
        if not isinstance(scale, Tensor):
            scale = ops.as_tensor(scale, dtype=ops.result_type(x, 1.0))
        logarithm = scale.abs().log()
        logarithm = logarithm.expand(ops.broadcast_shapes(x.shape, logarithm.shape))
        if not isinstance(self.scale, Tensor):
            logarithm = logarithm.contiguous()  # so that it may be written, as PyTorch's
        return _sum_rightmost(logarithm, self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape, broadcast with those of the parameters."""
        own = (v.shape for v in (self.loc, self.scale) if isinstance(v, Tensor))
        return ops.broadcast_shapes(shape, *own)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = P(X <= x) of a univariate distribution.

    >>> D = rg.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(rg.tensor([0.0]))
    tensor([0.5000])
    """

    codomain = constraints.unit_interval
    bijective, sign = True, 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support, doc="The distribution's support.")

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the density at x."""
        return self.distribution.log_prob(x)
