"""Kullback-Leibler divergences: `kl_divergence`, and `register_kl` for those of users' classes.

NOTE [Cross-entropies]
(1) Two of one family have a formula each, which is exactly 0 for equal parameters.
(2) Of two families, KL(p || q) = -entropy(p) - E_p[log q]. The logarithm of q is linear in a few
    functions of x, so one formula of their means serves every p.
(3) Where p gives samples that q does not, the divergence is infinite.
"""

from __future__ import annotations

import math
import warnings
from functools import total_ordering
from typing import TYPE_CHECKING, Any

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
from .utils import euler_constant, softplus, sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Any:
    """Decorate the function that `kl_divergence(p, q)` calls for these classes and subclasses.

    The most specific classes win, those of p first. Raises TypeError for what is no subclass of
    Distribution. Source: PyTorch's `distributions.register_kl`.

    >>> import retrograd as rg
    >>> D = rg.distributions
    >>> class Mine(D.Normal): ...
    >>> @D.register_kl(Mine, Mine)
    ... def kl_mine(p, q):
    ...     return rg.tensor(7.0)
    >>> D.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    tensor(7.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
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

    >>> import retrograd as rg
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
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p, q)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._pair, q._pair)


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
        result = result - sum_rightmost(inner, inner.dim() - result.dim())
    return result


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "Independent distributions with different reinterpreted_batch_ndims: "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


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


# -- two families: NOTE [Cross-entropies] ----------------------------------------------------------


def _mean_log(p: Any) -> Tensor:
    """E[log x], NaN where samples may be negative."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + 1 / p.alpha
    return (ops.xlogy(p.high, p.high) - ops.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """E[exp(-t x)] for t > 0."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (-p.concentration * (t / p.rate).log1p()).exp()
    if isinstance(p, Normal):
        return (0.5 * (p.scale * t) ** 2 - p.loc * t).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def _cross(kinds: Any, kind_q: type) -> Any:
    """Register, for every p of `kinds`, a function of p and q that is the mean of log q."""

    def enter(mean_log_q: Any) -> Any:
        def divergence(p: Any, q: Any) -> Tensor:
            return -p.entropy() - mean_log_q(p, q)

        for kind in kinds:
            register_kl(kind, kind_q)(divergence)
        return divergence

    return enter


@_cross((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    z = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return -0.5 * (z + math.log(2 * math.pi)) - q.scale.log()


@_cross((Beta, ContinuousBernoulli, Gamma, Pareto), Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    return q.rate.log() - q.rate * p.mean


@_cross((Beta, Exponential, Pareto), Gamma)
def _to_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    factor = a * q.rate.log() - a.lgamma()
    return factor + (a - 1) * _mean_log(p) - q.rate * p.mean


@_cross((Beta,), ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return p.mean * q.logits - q._log_normalizer(q.logits)


@_cross((Exponential, Gamma, Normal, Uniform), Gumbel)
def _to_gumbel(p: Any, q: Any) -> Tensor:
    t = 1 / q.scale
    return -q.scale.log() - (p.mean - q.loc) * t - (q.loc * t).exp() * _mean_exp(p, t)


@_cross((Normal,), Laplace)
def _to_laplace(p: Any, q: Any) -> Tensor:
    z = (p.loc - q.loc) / (p.scale * math.sqrt(2))
    away = p.scale * math.sqrt(2) * ((-z * z).exp() / math.sqrt(math.pi) + z * z.erf())
    return -(2 * q.scale).log() - away / q.scale


@_cross((Bernoulli,), Poisson)
def _to_poisson(p: Any, q: Any) -> Tensor:
    return ops.xlogy(p.probs, q.rate) - q.rate


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_uniform(p: Any, q: Any) -> Tensor:
    value = -p.entropy() + (q.high - q.low).log()
    return value.masked_fill((q.low > 0) | (q.high < 1), math.inf)


# A uniform p may give samples that q does not.


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    a, b = q.concentration1, q.concentration0
    means = (a - 1) * _mean_log(p) + (b - 1) * _mean_log(mirrored)
    value = -p.entropy() + a.lgamma() + b.lgamma() - (a + b).lgamma() - means
    return value.masked_fill((p.low < 0) | (p.high > 1), math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    value = _to_continuous_bernoulli(p, q)
    return value.masked_fill((p.low < 0) | (p.high > 1), math.inf)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return _to_exponential(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    return _to_gamma(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    mean_log_q = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    return (-p.entropy() - mean_log_q).masked_fill(p.low < q.scale, math.inf)


def _infinite(p: Any, q: Any) -> Tensor:
    shape = ops.broadcast_shapes(p.batch_shape, q.batch_shape)
    return ops.full(shape, math.inf, dtype=p.mean.dtype)


_ON_INTERVALS = (Beta, ContinuousBernoulli, Pareto, Uniform)
for _p, _kinds in {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: _ON_INTERVALS,
    Gamma: _ON_INTERVALS,
    Gumbel: (*_ON_INTERVALS, Exponential, Gamma),
    Laplace: (*_ON_INTERVALS, Exponential, Gamma),
    Normal: (*_ON_INTERVALS, Exponential, Gamma),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
