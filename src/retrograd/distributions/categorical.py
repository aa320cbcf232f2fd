"""Distributions of one event out of several, and of their counts; relaxed forms of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import dtypes, ops
from ..autograd.grad_mode import no_grad
from ..engine.tensor import Size, Tensor
from . import constraints
from .by_probs import ByProbs
from .counts import ODDS, Binomial
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import ExpTransform, SigmoidTransform
from .utils import Values, broadcast_all, clamp_probs, softplus

__all__ = [
    "Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "RelaxedBernoulli", "RelaxedOneHotCategorical",
]  # fmt: skip


class ByWeights(ByProbs):
    """Weights of events along the last dimension, which are normalised."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _is_binary = False
    _is_vector = True  # whether a sample says something of each event

    def __init__(
        self,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._given(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            value = value - value.logsumexp(-1, keepdim=True)
        else:
            value = value / value.sum(-1, keepdim=True)
        self._choose(name, value)
        *batch, events = value.shape
        super().__init__(batch, [events] if self._is_vector else (), validate_args=validate_args)

    @property
    def _categorical(self) -> Categorical:
        """The distribution over the same categories whose samples are indices."""
        given = {"logits" if self._is_logits else "probs": self._param}
        return Categorical(**given, validate_args=False)


class Categorical(ByWeights):
    """Integers below k, with weights `probs` of shape (..., k), or with unnormalised `logits`.

    Both are normalised. Raises ValueError for weights without dimension. Source: PyTorch's
    `distributions.Categorical`.

    >>> c = rg.distributions.Categorical(rg.tensor([1.0, 3.0]))
    >>> c.probs, c.log_prob(rg.tensor(1)).exp()
    (tensor([0.2500, 0.7500]), tensor(0.7500))
    """

    has_enumerate_support = True
    _is_vector = False
    _num_events = property(lambda self: self._param.shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers below the number of events."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _nan(self) -> Tensor:
        return ops.full(self.batch_shape, math.nan, dtype=self._param.dtype)

    mean = variance = property(_nan, doc="NaN: events have no order.")
    mode = property(lambda self: self._param.argmax(-1), doc="The most probable event.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Integers, of dtype int64."""
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            count = Size(sample_shape).numel()
            if count == 0 or len(rows) == 0:
                return ops.empty(self._extended_shape(sample_shape), dtype=dtypes.int64)
            drawn = ops.multinomial(rows, count, True).mT
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value = value.long().unsqueeze(-1)
        shape = ops.broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy; events of logit -inf contribute 0."""
        return -(self.logits.clamp(min=dtypes.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The integers below the number of events."""
        return self._enumerated(ops.arange(self._num_events), expand)


class OneHotCategorical(ByWeights):
    """Vectors of zeros and one 1, at the place that `Categorical(probs, logits)` draws.

    Source: PyTorch's `distributions.OneHotCategorical`.

    >>> c = rg.distributions.OneHotCategorical(rg.tensor([1.0, 3.0]))
    >>> c.log_prob(rg.tensor([0.0, 1.0])).exp()
    tensor(0.7500)
    """

    support = constraints.one_hot
    has_enumerate_support = True
    mean = property(lambda self: self.probs, doc="`probs`.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="probs (1 - probs).")
    mode = property(lambda self: self._encoded(self.probs.argmax(-1)), doc="The most probable.")

    def _encoded(self, index: Tensor) -> Tensor:
        return ops.eye(self.event_shape[0], dtype=self._param.dtype)[index.contiguous()]

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """One-hot vectors, one for each sample."""
        return self._encoded(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The unit vectors."""
        n = self.event_shape[0]
        values = ops.eye(n, dtype=self._param.dtype)
        values = values.reshape((n, *[1] * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose `rsample` has the gradient of `probs`.

    Source: Y. Bengio et al., "Estimating or propagating gradients through stochastic neurons",
    2013; PyTorch's `distributions.OneHotCategoricalStraightThrough`.

    >>> p = rg.tensor([0.0, 1.0], requires_grad=True)
    >>> rg.distributions.OneHotCategoricalStraightThrough(p).rsample()
    tensor([0., 1.], grad_fn=<AddBackward0>)
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, with the derivative of `probs`."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(ByWeights):
    """How often each of k events happened in `total_count`, an integer, draws of `Categorical`.

    `log_prob` takes counts of any sum. Raises NotImplementedError for a `total_count` that is no
    integer, ValueError for a negative one. Source: PyTorch's `distributions.Multinomial`.

    >>> m = rg.distributions.Multinomial(4, rg.tensor([1.0, 3.0]))
    >>> m.mean, m.sample().sum()
    (tensor([1., 3.]), tensor(4.))
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        if self._validate_args and total_count < 0:
            raise ValueError(f"Expected a total_count of 0 or more, but got {total_count}")

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Vectors of counts up to `total_count` together."""
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.total_count * self.probs, doc="total_count probs.")
    variance = property(lambda self: self.mean * (1 - self.probs), doc="Its variance.")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts of each category, summing to `total_count`."""
        shape = Size((self.total_count, *sample_shape))
        drawn = self._categorical.sample(shape)
        counts = self._param.new_zeros(self._extended_shape(sample_shape))
        ones = ops.ones(drawn.shape, dtype=counts.dtype).movedim(0, -1)
        return counts.scatter_add_(-1, drawn.movedim(0, -1), ones)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy, of O(k total_count) operations."""
        n = self.total_count
        one = self._categorical.entropy()
        each = Binomial(n, self.probs, validate_args=False)
        values = each.enumerate_support(expand=False)[1:]
        weights = each.log_prob(values).exp()
        return n * one - math.lgamma(n + 1) + (weights * (values + 1).lgamma()).sum((0, -1))


# -- relaxed forms: C. J. Maddison, A. Mnih, Y. W. Teh; E. Jang, S. Gu, B. Poole (both 2017) -------


class LogitRelaxedBernoulli(ByProbs):
    """The log-odds of `RelaxedBernoulli`: (logits + logistic noise) / temperature.

    >>> D = rg.distributions
    >>> D.categorical.LogitRelaxedBernoulli(1.0, logits=rg.tensor(0.0)).log_prob(rg.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar = ODDS
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Values,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._by_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Logistic noise, moved and scaled."""
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(ops.rand(shape, dtype=self._param.dtype))
        return (u.log() - (-u).log1p() + self.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        away = self.logits - value * self.temperature
        return ops.as_tensor(self.temperature).log() + away - 2 * softplus(away)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that tend to `Bernoulli(probs, logits)` as `temperature` tends to 0.

    Source: PyTorch's `distributions.RelaxedBernoulli`.

    >>> r = rg.distributions.RelaxedBernoulli(rg.tensor(2.0), rg.tensor([0.5]))
    >>> r.log_prob(rg.tensor([0.5])).exp()
    tensor([2.])
    """

    arg_constraints: ClassVar = ODDS
    support = constraints.unit_interval
    has_rsample = True
    temperature, logits, probs = of_base("temperature"), of_base("logits"), of_base("probs")

    def __init__(
        self,
        temperature: Values,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(ByWeights):
    """The logarithms of `RelaxedOneHotCategorical`.

    >>> D = rg.distributions
    >>> log = D.categorical.ExpRelaxedCategorical(1.0, logits=rg.zeros(2))
    >>> log.log_prob(rg.tensor([0.5, 0.5]).log()).exp()
    tensor(0.2500)
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Values,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Logits with Gumbel noise, over the temperature, normalised."""
        shape = self._extended_shape(sample_shape)
        noise = clamp_probs(ops.rand(shape, dtype=self._param.dtype))
        scores = (self.logits - (-noise.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        k = self.event_shape[0]
        temperature = ops.as_tensor(self.temperature, dtype=value.dtype)
        scores = self.logits - value * temperature
        factor = (k - 1) * temperature.log() + math.lgamma(k)
        return factor + (scores - scores.logsumexp(-1, keepdim=True)).sum(-1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of a simplex that tend to `OneHotCategorical` as `temperature` tends to 0.

    Source: PyTorch's `distributions.RelaxedOneHotCategorical`.

    >>> r = rg.distributions.RelaxedOneHotCategorical(rg.tensor(2.0), rg.tensor([1.0, 1.0]))
    >>> r.log_prob(rg.tensor([0.5, 0.5])).exp()
    tensor(2.)
    """

    arg_constraints: ClassVar = ByWeights.arg_constraints
    support = constraints.simplex
    has_rsample = True
    temperature, logits, probs = of_base("temperature"), of_base("logits"), of_base("probs")

    def __init__(
        self,
        temperature: Values,
        probs: Values | None = None,
        logits: Values | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
