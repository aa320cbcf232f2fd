"""Distributions on intervals and simplices: beta, Dirichlet, Kumaraswamy, continuous Bernoulli.

Derivatives of beta and Dirichlet samples are implicit: see `samplers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import ops, special
from ..engine.tensor import Tensor
from . import constraints
from .by_probs import ByProbs
from .counts import ODDS
from .distribution import ExponentialFamily
from .location_scale import Uniform
from .samplers import _sample_dirichlet
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import Values, broadcast_all, clamp_probs, euler_constant

__all__ = ["Beta", "ContinuousBernoulli", "Dirichlet", "Kumaraswamy"]

TWO_CONCENTRATIONS: dict[str, constraints.Constraint] = {
    "concentration1": constraints.positive,
    "concentration0": constraints.positive,
}


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of `concentration` > 0, of shape (..., k): points of a simplex.

    Raises ValueError for a concentration without dimension. Source: PyTorch's
    `distributions.Dirichlet`.

    >>> d = rg.distributions.Dirichlet(rg.tensor([1.0, 3.0]))
    >>> d.mean, d.log_prob(rg.tensor([0.5, 0.5])).exp()
    (tensor([0.2500, 0.7500]), tensor(0.7500))
    """

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    _total = property(lambda self: self.concentration.sum(-1, keepdim=True))
    mean = property(lambda self: self.concentration / self._total, doc="The shares.")

    @property
    def mode(self) -> Tensor:
        """The shares of concentration - 1; of those below 1, the largest component alone."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, keepdim=True)
        corner = (self.concentration < 1).all(-1)
        largest = self.concentration.argmax(-1)
        mode[corner] = ops.eye(mode.shape[-1], dtype=mode.dtype)[largest[corner]]
        return mode

    @property
    def variance(self) -> Tensor:
        """mean (1 - mean) / (total + 1)."""
        return self.mean * (1 - self.mean) / (self._total + 1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Shares of gamma samples."""
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        a = self.concentration
        return ops.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        spread = (a.shape[-1] - total) * total.digamma() + ((a - 1) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - spread

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()

    @property
    def _mean_carrier_measure(self) -> Tensor:
        a = self.concentration
        return (a.sum(-1, keepdim=True).digamma() - a.digamma()).sum(-1)


class Beta(ExponentialFamily):
    """The beta distribution of density ~ x^(concentration1 - 1) (1 - x)^(concentration0 - 1).

    Both are > 0 and broadcast. Source: PyTorch's `distributions.Beta`.

    >>> beta = rg.distributions.Beta(1.0, rg.tensor([1.0, 3.0]))
    >>> beta.mean, beta.log_prob(rg.tensor(0.5)).exp()
    (tensor([0.5000, 0.2500]), tensor([1.0000, 0.7500]))
    """

    arg_constraints: ClassVar = TWO_CONCENTRATIONS
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Values, concentration0: Values, validate_args: bool | None = None
    ) -> None:
        both = ops.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        super(Beta, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def concentration1(self) -> Tensor:
        """The concentration of the share itself, PyTorch's alpha."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The concentration of the rest, PyTorch's beta."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """The mean of the share, alpha / (alpha + beta)."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    mode = property(
        lambda self: self._dirichlet.mode[..., 0], doc="The most probable value, or NaN."
    )

    @property
    def variance(self) -> Tensor:
        """The variance of the share."""
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b).square() * (a + b + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The first component of a Dirichlet sample."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        a, b = self.concentration1, self.concentration0
        powers = ops.xlogy(a - 1, value) + special.xlog1py(b - 1, -value)
        return powers + (a + b).lgamma() - a.lgamma() - b.lgamma()

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    _mean_carrier_measure = property(lambda self: self._dirichlet._mean_carrier_measure)


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution: P(X <= x) = 1 - (1 - x^concentration1)^concentration0.

    Both are > 0 and broadcast. Source: PyTorch's `distributions.Kumaraswamy`.

    >>> rg.distributions.Kumaraswamy(1.0, rg.tensor([1.0, 3.0])).mean
    tensor([0.5000, 0.2500])
    """

    arg_constraints: ClassVar = TWO_CONCENTRATIONS
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Values, concentration0: Values, validate_args: bool | None = None
    ) -> None:
        a, b = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        zero = ops.zeros_like(a).detach()
        base = Uniform(zero, zero + 1, validate_args=validate_args)
        steps = [PowerTransform(1 / b), AffineTransform(1, -1), PowerTransform(1 / a)]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n, b B(1 + n / a, b)."""
        first, b = 1 + n / self.concentration1, self.concentration0
        return (b.log() + first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1), doc="The mean.")
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2, doc="The variance.")

    @property
    def mode(self) -> Tensor:
        """((a - 1) / (a b - 1))^(1 / a), NaN where a or b is below 1 or both are 1."""
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1 / a)
        return mode.masked_fill((a < 1) | (b < 1) | ((a == 1) & (b == 1)), math.nan)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - 1 / b + (1 - 1 / a) * harmonic - a.log() - b.log()


class ContinuousBernoulli(ByProbs, ExponentialFamily):
    """The continuous Bernoulli distribution of density ~ probs^x (1 - probs)^(1 - x) on [0, 1].

    Where `probs` is within `lims`, Taylor series about 1/2 replace formulas that cancel. Source:
    G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli", NeurIPS 2019; PyTorch's
    `distributions.ContinuousBernoulli`.

    >>> rg.distributions.ContinuousBernoulli(rg.tensor([0.5, 0.9])).mean
    tensor([0.5000, 0.6699])
    """

    arg_constraints: ClassVar = ODDS
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Values | None = None,
        logits: Values | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._by_odds(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    def _by_series(self, t: Tensor, exact: Any, series: Any) -> Tensor:
        """`exact(t)` or, near 0, `series(t)`, with no 0 / 0 in the derivative of either."""
        low, high = (math.log(limit / (1 - limit)) for limit in self._lims)
        near = (t > low) & (t < high)
        return ops.where(near, series(t.masked_fill(~near, 0)), exact(t.masked_fill(near, 1)))

    @property
    def mean(self) -> Tensor:
        """1 / (1 - exp(-t)) - 1 / t for logits t."""
        return self._by_series(
            self.logits,
            lambda t: -1 / (-t).expm1() - 1 / t,
            lambda t: 0.5 + t / 12 - t**3 / 720,
        )

    @property
    def variance(self) -> Tensor:
        """1 / t^2 - 1 / (2 cosh t - 2) for logits t."""
        return self._by_series(
            self.logits,
            lambda t: t**-2 - 0.25 / (t / 2).sinh() ** 2,
            lambda t: 1 / 12 - t**2 / 240 + t**4 / 6048,
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The quantile of a uniform number."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self._param.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return value * self.logits - self._log_normalizer(self.logits)

    def cdf(self, value: Tensor) -> Tensor:
        """(exp(t x) - 1) / (exp(t) - 1) for logits t, with no exponent above 0."""
        self._check_sample(value)
        x = value.clamp(0, 1)
        return self._by_series(
            self.logits,
            lambda t: (
                ((-t.abs() * x).expm1() / (-t.abs()).expm1()) * (t.clamp(min=0) * (x - 1)).exp()
            ),
            lambda t: x + t * x * (x - 1) / 2 + t**2 * x * (x - 1) * (2 * x - 1) / 12,
        )

    def icdf(self, value: Tensor) -> Tensor:
        """log(1 + u (exp(t) - 1)) / t for logits t, by 1 - u where t > 0: no exponent above 0."""
        v = value * (1 - value)
        return self._by_series(
            self.logits,
            lambda t: (
                (t > 0) + (ops.where(t > 0, 1 - value, value) * (-t.abs()).expm1()).log1p() / t
            ),
            lambda t: value + t * v / 2 + t**2 * v * (1 - 2 * value) / 6,
        )

    def entropy(self) -> Tensor:
        return self._log_normalizer(self.logits) - self.mean * self.logits

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """log((exp(t) - 1) / t) for logits t, without overflow."""
        return self._by_series(
            x,
            lambda t: t.clamp(min=0) + (-(-t.abs()).expm1() / t.abs()).log(),
            lambda t: t / 2 + t**2 / 24 - t**4 / 2880,
        )
