"""Distributions of counts: Bernoulli, binomial, negative binomial, geometric, Poisson."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import dtypes, ops
from ..autograd.grad_mode import no_grad
from ..engine.tensor import Tensor
from ..ops.creation.like import zeros_like
from ..ops.lazy_families import binomial
from . import constraints
from .by_probs import ByProbs
from .distribution import ExponentialFamily
from .samplers import _standard_gamma
from .utils import Values, broadcast_all, softplus

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]

ODDS = {"probs": constraints.unit_interval, "logits": constraints.real}


class Bernoulli(ByProbs, ExponentialFamily):
    """1 with probability `probs`, or with log-odds `logits`; else 0.

    Source: PyTorch's `distributions.Bernoulli`.

    >>> coin = rg.distributions.Bernoulli(rg.tensor([0.25]))
    >>> coin.log_prob(rg.tensor([1.0])).exp(), coin.variance
    (tensor([0.2500]), tensor([0.1875]))
    """

    arg_constraints: ClassVar = ODDS
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._by_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = property(lambda self: self.probs, doc="`probs`.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="probs (1 - probs).")

    @property
    def mode(self) -> Tensor:
        """The more probable value, NaN if both are."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Zeros and ones."""
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return value * self.logits - softplus(self.logits)

    def entropy(self) -> Tensor:
        return softplus(self.logits) - self.probs * self.logits

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1."""
        return self._enumerated(ops.arange(2, dtype=self._param.dtype), expand)

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return softplus(x)


class Binomial(ByProbs):
    """How many of `total_count` trials succeed, each with probability `probs`; they broadcast.

    Source: PyTorch's `distributions.Binomial`.

    >>> rg.distributions.Binomial(4, rg.tensor([0.0, 0.5, 1.0])).mean
    tensor([0., 2., 4.])
    """

    arg_constraints: ClassVar = {"total_count": constraints.nonnegative_integer, **ODDS}
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Values = 1,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._by_odds(probs, logits, total_count)
        self.total_count = count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs, doc="total_count probs.")
    variance = property(lambda self: self.mean * (1 - self.probs), doc="Its variance.")

    @property
    def mode(self) -> Tensor:
        """The integer part of (total_count + 1) probs, at most `total_count`."""
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Numbers of successes among `total_count` trials."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        """A sum over the support: one `total_count` for all, or NotImplementedError."""
        values = self.enumerate_support(expand=False)
        log_prob = self.log_prob(values)
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The integers from 0 to `total_count`, which must be one for all."""
        n = int(self.total_count.max())
        if int(self.total_count.min()) != n:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        return self._enumerated(ops.arange(n + 1, dtype=self._param.dtype), expand)


class NegativeBinomial(ByProbs):
    """How many trials succeed, with probability `probs` < 1, before `total_count` of them failed.

    `total_count` >= 0 may be no integer. Source: PyTorch's `distributions.NegativeBinomial`.

    >>> rg.distributions.NegativeBinomial(3.0, rg.tensor([0.5])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Values,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._by_odds(probs, logits, total_count)
        self.total_count = count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp(), doc="Its mean.")
    mode = property(
        lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0),
        doc="Its mode.",
    )
    variance = property(lambda self: self.mean / (-self.logits).sigmoid(), doc="Its variance.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Poisson counts of gamma rates."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rate = _standard_gamma(self.total_count.expand(shape)) * self.logits.exp()
            return ops.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n = self.total_count
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        ways = ways.masked_fill(n + value == 0, 0.0)
        return ways - n * softplus(self.logits) - value * softplus(-self.logits)


class Geometric(ByProbs):
    """How many trials fail before the first that succeeds, each with probability `probs` > 0.

    Raises ValueError for a `probs` that is not. Source: PyTorch's `distributions.Geometric`.

    >>> rg.distributions.Geometric(rg.tensor([0.25])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar = ODDS
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._by_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs}"
            )

    mean = property(lambda self: 1 / self.probs - 1, doc="1 / probs - 1.")
    mode = property(lambda self: zeros_like(self.probs), doc="0.")
    variance = property(lambda self: self.mean / self.probs, doc="(1 - probs) / probs^2.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The integer parts of exponential numbers."""
        dtype = self.probs.dtype
        with no_grad():
            u = ops.rand(self._extended_shape(sample_shape), dtype=dtype)
            u = u.clamp(min=dtypes.finfo(dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value, probs = broadcast_all(value, self.probs)
        return ops.xlogy(value, 1 - probs) + self.probs.log()

    def entropy(self) -> Tensor:
        return (softplus(self.logits) - self.probs * self.logits) / self.probs


class Poisson(ExponentialFamily):
    """The Poisson distribution of `rate` >= 0.

    Source: PyTorch's `distributions.Poisson`.

    >>> rg.distributions.Poisson(rg.tensor([4.0])).log_prob(rg.tensor([0.0]))
    tensor([-4.])
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Values, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, rate=rate)

    mean = variance = property(lambda self: self.rate, doc="`rate`.")
    mode = property(lambda self: self.rate.floor(), doc="The integer part of `rate`.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts of events, in the dtype of the rate."""
        with no_grad():
            return ops.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return ops.xlogy(value, rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
