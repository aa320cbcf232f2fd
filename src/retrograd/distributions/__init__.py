"""Probability distributions, under torch.distributions' names: densities, samples, divergences.

A distribution is made of tensors, its parameters; `log_prob`, and `rsample` where there is one, are
differentiable by them. `transforms` map one distribution to another, `constraints` say where
parameters and samples lie, `kl_divergence` compares two.
"""

import sys

from . import constraints, kl_cross, transforms, utils
from .beta_family import Beta, ContinuousBernoulli, Dirichlet, Kumaraswamy
from .categorical import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .constraint_registry import biject_to, transform_to
from .counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Chi2, Exponential, FisherSnedecor, Gamma, InverseGamma
from .kl import kl_divergence, register_kl
from .location_scale import (
    Cauchy,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from .matrices import LKJCholesky, Wishart
from .mixture import MixtureSameFamily
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .positive import GeneralizedPareto, LogisticNormal, LogNormal, Pareto, Weibull
from .transformed_distribution import Independent, TransformedDistribution
from .transforms import *
from .von_mises import VonMises

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
__all__ += transforms.__all__

# Where PyTorch keeps each class: `from retrograd.distributions.normal import Normal`.
ELSEWHERE = {
    "beta_family": "beta continuous_bernoulli dirichlet kumaraswamy",
    "categorical": "multinomial one_hot_categorical relaxed_bernoulli relaxed_categorical",
    "counts": "bernoulli binomial geometric negative_binomial poisson",
    "distribution": "exp_family",
    "gamma_family": "chi2 exponential fishersnedecor gamma inverse_gamma",
    "location_scale": "cauchy gumbel half_cauchy half_normal laplace normal studentT uniform",
    "matrices": "lkj_cholesky wishart",
    "mixture": "mixture_same_family",
    "multivariate": "lowrank_multivariate_normal multivariate_normal",
    "positive": "generalized_pareto log_normal logistic_normal pareto weibull",
    "transformed_distribution": "independent",
}
for _here, _names in ELSEWHERE.items():
    for _name in _names.split():
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = sys.modules[f"{__name__}.{_here}"]
