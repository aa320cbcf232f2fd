"""Distributions of positive numbers: log-normal, Weibull, Pareto, generalized Pareto.

The logistic normal distribution, log-normal's relative on a simplex, is here, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import ops
from ..engine.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma_family import Exponential
from .location_scale import LOCATION_SCALE, Normal
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform
from .utils import Values, broadcast_all, euler_constant, where_finite

__all__ = ["GeneralizedPareto", "LogNormal", "LogisticNormal", "Pareto", "Weibull"]


class LogNormal(TransformedDistribution):
    """The distribution of exp(x) for x from Normal(loc, scale).

    Source: PyTorch's `distributions.LogNormal`.

    >>> rg.distributions.LogNormal(rg.tensor([0.0, 1.0]), 1.0).mean
    tensor([1.6487, 4.4817])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.positive
    has_rsample = True
    loc, scale = of_base("loc"), of_base("scale")

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp(), doc="The mean.")
    mode = property(lambda self: (self.loc - self.scale**2).exp(), doc="The mode.")
    variance = property(
        lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp(),
        doc="The variance.",
    )

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Points of a simplex of n + 1 components, by stick breaking, of n normal numbers.

    `loc` and `scale` > 0 broadcast to shape (..., n). Source: PyTorch's
    `distributions.LogisticNormal`.

    >>> rg.distributions.LogisticNormal(rg.zeros(3), rg.ones(3)).sample().shape
    retrograd.Size([4])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.simplex
    has_rsample = True
    loc, scale = of_base("loc"), of_base("scale")

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class Weibull(TransformedDistribution):
    """The Weibull distribution: P(X <= x) = 1 - exp(-(x / scale)^concentration), both > 0.

    Source: PyTorch's `distributions.Weibull`.

    >>> rg.distributions.Weibull(2.0, rg.tensor([1.0, 2.0])).mean
    tensor([2.0000, 1.7725])
    """

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(
        self, scale: Values, concentration: Values, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ops.ones_like(self.scale).detach(), validate_args=validate_args)
        self.concentration_reciprocal = self.concentration.reciprocal()
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n."""
        return self.scale**n * (1 + n / self.concentration).lgamma().exp()

    mean = property(lambda self: self._moment(1), doc="The mean.")
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2, doc="The variance.")

    @property
    def mode(self) -> Tensor:
        """scale (1 - 1 / concentration)^(1 / concentration), 0 for a concentration below 1."""
        k = self.concentration.clamp(min=1)
        return self.scale * (1 - 1 / k) ** (1 / k)

    def entropy(self) -> Tensor:
        k = self.concentration
        return euler_constant * (1 - 1 / k) + (self.scale / k).log() + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution: P(X <= x) = 1 - (scale / x)^alpha for x >= scale, both > 0.

    The mean is infinite for `alpha` up to 1, the variance up to 2. Source: PyTorch's
    `distributions.Pareto`.

    >>> rg.distributions.Pareto(1.0, rg.tensor([1.0, 3.0])).mean
    tensor([   inf, 1.5000])
    """

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Values, alpha: Values, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The numbers from `scale` on."""
        return constraints.greater_than_eq(self.scale)

    mode = property(lambda self: self.scale, doc="`scale`.")

    @property
    def mean(self) -> Tensor:
        """alpha scale / (alpha - 1)."""
        a = self.alpha
        return where_finite(a > 1, a, 2.0, lambda a: a * self.scale / (a - 1), math.inf)

    @property
    def variance(self) -> Tensor:
        """scale^2 alpha / ((alpha - 1)^2 (alpha - 2))."""
        a, scale = self.alpha, self.scale
        return where_finite(
            a > 2, a, 3.0, lambda a: scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf
        )

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution: P(X <= x) = 1 - (1 + c z)^(-1 / c), z = (x - loc) / scale.

    c is the `concentration`: for 0 the distribution is exponential, below 0 samples end at
    loc - scale / c. `scale` > 0. The mean is NaN for c >= 1, the variance for c >= 1/2. Source:
    PyTorch's `distributions.GeneralizedPareto`.

    >>> rg.distributions.GeneralizedPareto(0.0, 1.0, rg.tensor([0.0, 0.5])).mean
    tensor([1., 2.])
    """

    arg_constraints: ClassVar = {**LOCATION_SCALE, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self, loc: Values, scale: Values, concentration: Values, validate_args: bool | None = None
    ) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The numbers from `loc` to the upper end, if there is one."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(
            self.loc, ops.where(self.concentration < 0, end, math.inf).detach()
        )

    mode = property(lambda self: self.loc, doc="`loc`.")

    @property
    def mean(self) -> Tensor:
        """loc + scale / (1 - c)."""
        c = self.concentration
        return self.loc + where_finite(c < 1, c, 0.0, lambda c: self.scale / (1 - c), math.nan)

    @property
    def variance(self) -> Tensor:
        """scale^2 / ((1 - c)^2 (1 - 2 c))."""
        c, scale = self.concentration, self.scale
        return where_finite(
            c < 0.5, c, 0.0, lambda c: scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan
        )

    def _about_zero(self, exact: Any, series: Any) -> Tensor:
        """`exact(c)` or, where c is so small that c^2 does not count, `series(c)`."""
        c = self.concentration
        near = c.abs() < 1e-7 if c.itemsize == 8 else c.abs() < 1e-4
        return ops.where(near, series(c.masked_fill(~near, 0)), exact(c.masked_fill(near, 1)))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the share of samples beyond `value`."""
        self._check_sample(value)
        z = ((value - self.loc) / self.scale).clamp(min=0)
        return self._about_zero(
            lambda c: -(c * z).clamp(min=-1).log1p() / c, lambda c: -z + c * z * z / 2
        )

    def log_prob(self, value: Tensor) -> Tensor:
        beyond = (1 + self.concentration) * self.log_survival_function(value)
        z = (value - self.loc) / self.scale
        outside = (z < 0) | (1 + self.concentration * z <= 0)
        return ops.where(outside, -math.inf, beyond - self.scale.log())

    def cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return self.cdf(value).log()

    def icdf(self, value: Tensor) -> Tensor:
        t = -(-value).log1p()
        z = self._about_zero(lambda c: (c * t).expm1() / c, lambda c: t + c * t * t / 2)
        return self.loc + self.scale * z

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The quantile of a uniform number."""
        return self.icdf(ops.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
