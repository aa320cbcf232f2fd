"""Kullback-Leibler divergences of two distributions of different families.

NOTE [Cross-entropies]
KL(p || q) = -entropy(p) - E_p[log q]. The logarithm of q is linear in a few functions of x, so one
formula of their means serves every p. Where p gives samples that q does not, it is infinite.
"""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..engine.tensor import Tensor
from .beta_family import Beta, ContinuousBernoulli
from .counts import Bernoulli, Binomial, Poisson
from .gamma_family import Exponential, Gamma
from .kl import register_kl
from .location_scale import Gumbel, Laplace, Normal, Uniform
from .positive import Pareto
from .utils import euler_constant

__all__: list[str] = []


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
