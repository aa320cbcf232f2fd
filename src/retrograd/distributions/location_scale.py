"""Distributions of loc + scale * z for a fixed z: normal, Laplace, Cauchy, t, Gumbel, uniform.

The halves of the normal and of the Cauchy distribution are here, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import dtypes, ops, special
from ..engine.tensor import Tensor
from ..ops.creation.like import full_like, zeros_like
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Chi2
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import AbsTransform, AffineTransform, ExpTransform
from .utils import Values, _standard_normal, broadcast_all, euler_constant, where_finite

__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "Normal", "StudentT",
           "Uniform"]  # fmt: skip

LOG_2PI = math.log(2 * math.pi)
LOCATION_SCALE = {"loc": constraints.real, "scale": constraints.positive}


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale` > 0, which broadcast.

    Source: PyTorch's `distributions.Normal`.

    >>> normal = rg.distributions.Normal(rg.tensor([0.0, 1.0]), 2.0)
    >>> normal.log_prob(rg.tensor(1.0))
    tensor([-1.7371, -1.6121])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc, doc="`loc`.")
    stddev = property(lambda self: self.scale, doc="`scale`.")
    variance = property(lambda self: self.scale**2, doc="scale^2.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples without derivative."""
        shape = self._extended_shape(sample_shape)
        loc, scale = self.loc.detach(), self.scale.detach()
        return ops.normal(loc.expand(shape), scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """loc + scale * z."""
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * _standard_normal(shape, self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - self.scale.log() - 0.5 * LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * special.ndtri(value)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * LOG_2PI + self.scale.log()

    _natural_params = property(lambda self: (self.loc / self.scale**2, -0.5 * self.scale**-2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x * x / y + 0.5 * (-math.pi / y).log()


class Laplace(Distribution):
    """The Laplace distribution of density exp(-|x - loc| / scale) / (2 scale), with `scale` > 0.

    Source: PyTorch's `distributions.Laplace`.

    >>> rg.distributions.Laplace(0.0, 1.0).log_prob(rg.tensor([0.0, 1.0]))
    tensor([-0.6931, -1.6931])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc, doc="`loc`.")
    stddev = property(lambda self: 2**0.5 * self.scale, doc="sqrt(2) scale.")
    variance = property(lambda self: 2 * self.scale**2, doc="2 scale^2.")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The quantile of a uniform number, which lies between -1 and 1 as in PyTorch."""
        u = ops.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        u.uniform_(dtypes.finfo(u.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * (-2 * away.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(Distribution):
    """The Cauchy distribution of median `loc` and half width at half maximum `scale` > 0.

    Its mean is NaN, its variance infinite. Source: PyTorch's `distributions.Cauchy`.

    >>> rg.distributions.Cauchy(0.0, 1.0).cdf(rg.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2500, 0.5000, 0.7500])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale)

    mode = property(lambda self: self.loc, doc="`loc`.")
    mean = property(lambda self: full_like(self.loc, math.nan), doc="NaN.")
    variance = property(lambda self: full_like(self.loc, math.inf), doc="Infinite.")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """loc + scale * z."""
        return (
            self.loc + self.scale * self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(Distribution):
    """Student's t-distribution with `df` > 0 degrees of freedom, moved by `loc` and `scale` > 0.

    The mean is NaN for `df` <= 1, the variance infinite up to 2. The derivative of samples by `df`
    is implicit, that of a gamma sample. Source: PyTorch's `distributions.StudentT`.

    >>> t = rg.distributions.StudentT(rg.tensor([1.0, 3.0]))
    >>> t.mean, t.variance
    (tensor([nan, 0.]), tensor([nan, 3.]))
    """

    arg_constraints: ClassVar = {"df": constraints.positive, **LOCATION_SCALE}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Values, loc: Values = 0.0, scale: Values = 1.0, validate_args: bool | None = None
    ) -> None:
        self._parametrize(validate_args, df=df, loc=loc, scale=scale)

    mode = property(lambda self: self.loc, doc="`loc`.")
    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan), doc="`loc`.")

    @property
    def variance(self) -> Tensor:
        """scale^2 df / (df - 2)."""
        df = self.df
        other = full_like(df, math.inf).masked_fill(df <= 1, math.nan)
        return where_finite(df > 2, df, 3.0, lambda df: self.scale**2 * df / (df - 2), other)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """A normal sample over the root of a chi-squared one over `df`."""
        z = _standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        squares = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * z * (squares / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z, half = (value - self.loc) / self.scale, 0.5 * self.df
        factor = (half + 0.5).lgamma() - half.lgamma() - 0.5 * (math.pi * self.df).log()
        return factor - self.scale.log() - (half + 0.5) * (z * z / self.df).log1p()

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        spread = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta


class Uniform(Distribution):
    """The uniform distribution on [low, high), for `low` < `high`.

    Source: PyTorch's `distributions.Uniform`.

    >>> uniform = rg.distributions.Uniform(1.0, 5.0)
    >>> uniform.mean, uniform.icdf(rg.tensor([0.0, 0.25]))
    (tensor(3.), tensor([1., 2.]))
    """

    has_rsample = True

    def __init__(self, low: Values, high: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """`low` is less than `high`."""
        below, above = constraints.less_than(self.high), constraints.greater_than(self.low)
        return {"low": below, "high": above}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval from `low` to `high`."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.low + self.high) / 2, doc="The middle.")
    mode = property(lambda self: full_like(self.low, math.nan), doc="NaN.")
    stddev = property(lambda self: (self.high - self.low) / 12**0.5, doc="Width over sqrt(12).")
    variance = property(lambda self: (self.high - self.low) ** 2 / 12, doc="Width^2 over 12.")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """low + (high - low) * u."""
        u = ops.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return ops.where(inside, 0 - (self.high - self.low).log(), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: P(X <= x) = exp(-exp(-(x - loc) / scale)), with `scale` > 0.

    Source: PyTorch's `distributions.Gumbel`.

    >>> rg.distributions.Gumbel(0.0, rg.tensor([1.0, 2.0])).mean
    tensor([0.5772, 1.1544])
    """

    arg_constraints: ClassVar = LOCATION_SCALE
    support = constraints.real

    def __init__(self, loc: Values, scale: Values, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = dtypes.finfo(self.loc.dtype)
        low = full_like(self.loc, limits.tiny).detach()
        base = Uniform(low, full_like(low, 1 - limits.eps), validate_args=validate_args)
        log = ExpTransform().inv
        steps = [log, AffineTransform(0, -1), log, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    mode = property(lambda self: self.loc, doc="`loc`.")
    mean = property(lambda self: self.loc + self.scale * euler_constant, doc="loc + 0.577 scale.")
    stddev = property(lambda self: math.pi / 6**0.5 * self.scale, doc="pi scale / sqrt(6).")
    variance = property(lambda self: self.stddev**2, doc="(pi scale)^2 / 6.")

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        z = (self.loc - value) / self.scale
        self._check_sample(z)  # not the value, which may be a number
        return (-z.exp()).exp()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


class _Half(TransformedDistribution):
    """|x| of a distribution that is symmetric about 0, and so has its `scale` only."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = of_base("scale")
    mode = property(lambda self: zeros_like(self.scale), doc="0.")

    def _fold(self, base: Distribution, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        base = self.base_dist  # whose `loc` is 0, a tensor, so that the value may be a number
        return ops.where(base.loc <= value, base.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| for x from the normal distribution of mean 0 and standard deviation `scale` > 0.

    Source: PyTorch's `distributions.HalfNormal`.

    >>> rg.distributions.HalfNormal(rg.tensor([1.0, 2.0])).mean
    tensor([0.7979, 1.5958])
    """

    def __init__(self, scale: Values, validate_args: bool | None = None) -> None:
        self._fold(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * (2 / math.pi) ** 0.5, doc="scale sqrt(2 / pi).")
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi), doc="Its variance.")


class HalfCauchy(_Half):
    """|x| for x from the Cauchy distribution of median 0 and half width `scale` > 0.

    Its mean and variance are infinite. Source: PyTorch's `distributions.HalfCauchy`.

    >>> rg.distributions.HalfCauchy(1.0).cdf(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def __init__(self, scale: Values, validate_args: bool | None = None) -> None:
        self._fold(Cauchy(0, scale, validate_args=False), validate_args)

    mean = variance = property(lambda self: full_like(self.scale, math.inf), doc="Infinite.")
