"""Probability distributions, under torch.distributions' names: densities, samples, divergences.

A distribution is made of tensors, its parameters; `log_prob`, and `rsample` where there is one, are
differentiable by them. `transforms` map one distribution to another, `constraints` say where
parameters and samples lie, `kl_divergence` compares two.
"""

import sys
from typing import TYPE_CHECKING

from . import (
    beta_family,
    categorical,
    constraints,
    counts,
    distribution,
    gamma_family,
    kl,
    kl_cross,
    location_scale,
    matrices,
    mixture,
    multivariate,
    positive,
    transformed_distribution,
    transforms,
    utils,
    von_mises,
)
from .beta_family import *
from .categorical import *
from .constraint_registry import biject_to as biject_to, transform_to as transform_to
from .counts import *
from .distribution import *
from .gamma_family import *
from .kl import *
from .location_scale import *
from .matrices import *
from .mixture import *
from .multivariate import *
from .positive import *
from .transformed_distribution import *
from .transforms import *
from .von_mises import *

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [
        "biject_to", "transform_to", *beta_family.__all__, *categorical.__all__, *counts.__all__,
        *distribution.__all__, *gamma_family.__all__, *kl.__all__, *location_scale.__all__,
        *matrices.__all__, *mixture.__all__, *multivariate.__all__, *positive.__all__,
        *transformed_distribution.__all__, *transforms.__all__, *von_mises.__all__,
    ]  # fmt: skip

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
