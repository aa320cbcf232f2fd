"""Kullback-Leibler divergences: `kl_divergence`, and `register_kl` for those of users' classes.

Those of two distributions of one family are here, and exactly 0 for equal parameters.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from .. import ops
from ..engine.tensor import Tensor
from .beta_family import Beta, ContinuousBernoulli, Dirichlet
from .categorical import Categorical, OneHotCategorical
from .counts import Bernoulli, Binomial, Geometric, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Exponential, Gamma
from .location_scale import Cauchy, Gumbel, HalfNormal, Laplace, Normal, Uniform
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .positive import Pareto
from .transformed_distribution import Independent, TransformedDistribution
from .utils import _sum_rightmost, euler_constant, softplus

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Any:
    """Decorate the function that `kl_divergence(p, q)` calls for these classes and subclasses.

    The most specific classes win, those of p first. Any class is taken, since libraries have bases
    of their own; TypeError for what is none. Source: PyTorch's `distributions.register_kl`.

    >>> D = rg.distributions
    >>> class Mine(D.Normal): ...
    >>> @D.register_kl(Mine, Mine)
    ... def kl_mine(p, q):
    ...     return rg.tensor(7.0)
    >>> D.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    tensor(7.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def enter(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return enter


@total_ordering
class _Match:
    """Classes in the order of how specific they are: a subclass is less than its base."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Any) -> bool:
        for own, others in zip(self.types, other.types, strict=True):
            if not issubclass(own, others):
                return False
            if own is not others:
                break
        return True


def _dispatch(type_p: type, type_q: type) -> Any:
    """The function for the closest pair of registered classes, or None."""
    matches = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not matches:
        return None
    left_p, left_q = min(_Match(*pair) for pair in matches).types
    right_q, right_p = min(_Match(q, p) for p, q in matches).types
    left, right = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p, the mean of log(p / q) over samples of p.

    Returns one number for each distribution of the batches, which broadcast. Raises
    NotImplementedError for classes without a formula. Source: PyTorch's
    `distributions.kl_divergence`.

    >>> D = rg.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(rg.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch(*pair)
    if (function := _KL_MEMOIZE[pair]) is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}. Give one: @register_kl({type(p).__name__}, {type(q).__name__})"
        )
    return function(p, q)


# -- two of one family -----------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0)
    return ones + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0.0)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    return (p.total_count * _bernoulli(p, q)).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    terms = b.lgamma() - a.lgamma() + (a - b) * (a.digamma() - a.sum(-1, keepdim=True).digamma())
    return a.sum(-1).lgamma() - b.sum(-1).lgamma() + terms.sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return (
        p.mean * (p.logits - q.logits) + q._log_normalizer(q.logits) - p._log_normalizer(p.logits)
    )


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    # log(((s + t)^2 + d^2) / (4 s t)) = log(1 + ((s - t)^2 + d^2) / (4 s t))
    apart = (p.scale - q.scale) ** 2 + (p.loc - q.loc) ** 2
    return (apart / (4 * p.scale * q.scale)).log1p()


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + (q.rate - p.rate) * a / p.rate
    return rates + b.lgamma() - a.lgamma() + (a - b) * a.digamma()


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (
        -ratio.log()
        + euler_constant * (ratio - 1)
        + ((ratio + 1).lgamma() - apart).exp()
        - 1
        + apart
    )


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * (-apart / p.scale).exp() - 1 - ratio.log()


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio, apart = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + apart - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return value.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return ops.xlogy(p.rate, p.rate / q.rate) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return value.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(ExponentialFamily, ExponentialFamily)
def _bregman(p: Any, q: Any) -> Tensor:
    """F(q) - F(p) - <θq - θp, dF/dθ at p>."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            f"using Bregman divergences: {type(p).__name__} and {type(q).__name__}"
        )
    normalizer, own, slopes = p._differentiated()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for here, there, slope in zip(own, q._natural_params, slopes, strict=True):
        inner = (there - here) * slope
        result = result - _sum_rightmost(inner, inner.dim() - result.dim())
    return result


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "Independent distributions with different reinterpreted_batch_ndims: "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms:
        raise NotImplementedError(f"different transforms: {p.transforms} and {q.transforms}")
    if p.event_shape != q.event_shape:
        raise NotImplementedError(f"different event shapes: {p.event_shape} and {q.event_shape}")
    return kl_divergence(p.base_dist, q.base_dist)


def _multivariate(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two multivariate normals with different event shapes cannot be "
            f"computed: {p.event_shape} and {q.event_shape}"
        )
    apart = q._squared_length((p.loc - q.loc).unsqueeze(-1))
    trace = q._squared_length(p._factor)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + apart - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_multivariate)
