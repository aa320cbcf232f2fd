"""The gamma distribution and what is made of it: chi-squared, inverse gamma, F; the exponential.

Derivatives of samples by a concentration are implicit: see `samplers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from .. import dtypes, ops, special
from ..engine.tensor import Tensor
from ..ops.creation.like import full_like, zeros_like
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .samplers import _standard_gamma
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import PowerTransform
from .utils import Values, where_finite

__all__ = ["Chi2", "Exponential", "FisherSnedecor", "Gamma", "InverseGamma"]


class Exponential(ExponentialFamily):
    """The exponential distribution of density rate * exp(-rate * x) for x >= 0, with `rate` > 0.

    Source: PyTorch's `distributions.Exponential`.

    >>> rg.distributions.Exponential(rg.tensor([1.0, 2.0])).mean
    tensor([1.0000, 0.5000])
    """

    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, rate=rate)

    mean = stddev = property(lambda self: self.rate.reciprocal(), doc="1 / rate.")
    mode = property(lambda self: zeros_like(self.rate), doc="0.")
    variance = property(lambda self: self.rate**-2, doc="1 / rate^2.")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """A standard exponential number over `rate`."""
        shape = self._extended_shape(sample_shape)
        return self.rate.new_empty(shape).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` > 0 and `rate` = 1 / scale > 0.

    `cdf` needs SciPy, and has no derivative by the concentration. Source: PyTorch's
    `distributions.Gamma`.

    >>> gamma = rg.distributions.Gamma(rg.tensor([1.0, 4.0]), 2.0)
    >>> gamma.mean, gamma.variance
    (tensor([0.5000, 2.0000]), tensor([0.2500, 1.0000]))
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration: Values, rate: Values, validate_args: bool | None = None
    ) -> None:
        self._parametrize(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate, doc="concentration / rate.")
    variance = property(lambda self: self.mean / self.rate, doc="concentration / rate^2.")

    @property
    def mode(self) -> Tensor:
        """(concentration - 1) / rate, at least 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """A standard gamma sample over `rate`."""
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=dtypes.finfo(value.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = ops.as_tensor(value, dtype=self.rate.dtype)
        self._check_sample(value)
        return (
            ops.xlogy(self.concentration, self.rate)
            + ops.xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The chi-squared distribution of `df` > 0 degrees of freedom: Gamma(df / 2, 1 / 2).

    Source: PyTorch's `distributions.Chi2`.

    >>> rg.distributions.Chi2(rg.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, df=df)

    concentration = property(lambda self: 0.5 * self.df, doc="df / 2.")
    rate = property(lambda self: full_like(self.df, 0.5).detach(), doc="1 / 2.")


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x for x from Gamma(concentration, rate).

    The mean is infinite for a concentration up to 1, the variance up to 2. Source: PyTorch's
    `distributions.InverseGamma`.

    >>> rg.distributions.InverseGamma(rg.tensor([1.0, 3.0]), 4.0).mean
    tensor([inf, 2.])
    """

    arg_constraints: ClassVar = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True
    concentration = of_base("concentration")
    rate = of_base("rate")

    def __init__(
        self, concentration: Values, rate: Values, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        power = PowerTransform(-ops.ones((), dtype=base.rate.dtype))
        super().__init__(base, power, validate_args=validate_args)

    mode = property(lambda self: self.rate / (self.concentration + 1), doc="The mode.")

    @property
    def mean(self) -> Tensor:
        """rate / (concentration - 1), or infinity."""
        a = self.concentration
        return where_finite(a > 1, a, 2.0, lambda a: self.rate / (a - 1), math.inf)

    @property
    def variance(self) -> Tensor:
        """mean^2 / (concentration - 2), or infinity."""
        a = self.concentration
        return where_finite(a > 2, a, 3.0, lambda a: (self.rate / (a - 1)) ** 2 / (a - 2), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The F-distribution of `df1` and `df2` > 0 degrees of freedom.

    The mean is NaN for `df2` <= 2, the variance for `df2` <= 4. Source: PyTorch's
    `distributions.FisherSnedecor`.

    >>> rg.distributions.FisherSnedecor(1.0, rg.tensor([2.0, 4.0])).mean
    tensor([nan, 2.])
    """

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Values, df2: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        """df2 / (df2 - 2)."""
        return where_finite(self.df2 > 2, self.df2, 3.0, lambda b: b / (b - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        """(df1 - 2) / df1 * df2 / (df2 + 2), NaN for df1 <= 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """2 df2^2 (df1 + df2 - 2) / (df1 (df2 - 2)^2 (df2 - 4))."""
        a, b = self.df1, self.df2
        return where_finite(
            b > 4,
            b,
            5.0,
            lambda b: 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)),
            math.nan,
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The quotient of two gamma samples of mean 1."""
        above = Gamma(self.df1 / 2, self.df1 / 2, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 / 2, self.df2 / 2, validate_args=False).rsample(sample_shape)
        return above / below

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        half1, half2, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = half1.lgamma() + half2.lgamma() - (half1 + half2).lgamma()
        powers = half1 * ratio.log() + (half1 - 1) * value.log()
        return powers - log_beta - (half1 + half2) * (ratio * value).log1p()
