"""Samples are distributed as they should be, at fixed seeds: moments, shares, entropies, gradients.

Sample means lie within five standard errors, as they do but once in two million times.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import retrograd as rg
from retrograd import distributions

from .support import N, assert_mean, only, parameters, rebuild, t

D = rg.distributions
# The fourth moment is infinite, or nearly so.
HEAVY = (D.FisherSnedecor, D.GeneralizedPareto, D.InverseGamma, D.Pareto, D.StudentT)


@only(lambda d, known: known["mean"] and known["variance"])
def test_mean_and_variance_are_those_of_samples(made):
    d, _ = made
    x = d.sample((N,)).to(rg.float64)
    known = d.variance.isfinite()
    if isinstance(d, D.VonMises):  # the circular mean and variance
        assert_mean((x - d.mean).sin(), 0.0)
        assert_mean(1 - (x - d.mean).cos(), d.variance)
        return
    away = (x - d.mean).masked_fill(~known, 0)
    assert_mean(away, 0.0)
    if not isinstance(d, HEAVY):
        assert_mean(away * away, d.variance.masked_fill(~known, 0))


@only(lambda d, known: known["cdf"])
def test_shares_of_samples_are_the_cdf(made):
    d, _ = made
    share = d.cdf(d.sample((N,))).numpy().reshape(N, -1)
    for column in share.T:
        assert scipy.stats.kstest(column, "uniform").pvalue > 1e-4


@only(lambda d, known: known["entropy"])
def test_entropy_is_the_mean_of_minus_log_prob(made):
    d, _ = made
    assert_mean(-d.log_prob(d.sample((N,))), d.entropy())


@only(lambda d, known: known["enumerate_support"])
def test_probabilities_are_those_of_samples(made):
    d, _ = made
    x, values = d.sample((N,)), d.enumerate_support()
    for value in values:
        same = x == value
        same = same.all(-1) if d.event_shape else same
        chance = d.log_prob(value).exp()
        error = (chance * (1 - chance) / N).sqrt()
        assert ((same.double().mean(0) - chance).abs() <= 5 * error + 1 / N).all()
    assert rg.allclose(d.log_prob(values).exp().sum(0), t(1.0))
    alone = d.enumerate_support(expand=False)
    assert alone.shape == (len(values), *[1] * len(d.batch_shape), *d.event_shape)


def has_a_smooth_mean(d, known):
    """Whether derivatives of samples average to one of the mean; a circular mean is none."""
    other = isinstance(d, (D.VonMises, D.OneHotCategoricalStraightThrough))
    spread = known["variance"] and np.isfinite(known["variance"]).any()
    return d.has_rsample and spread and d.arg_constraints and not other


@only(has_a_smooth_mean)
def test_derivatives_of_samples_average_to_that_of_the_mean(made):
    d, _ = made
    known = d.variance.isfinite() if not d.event_shape else ...
    given = {n: v.detach()[known].clone() for n, v in parameters(d).items()}
    many = {n: v.expand((N, *v.shape)).clone().requires_grad_() for n, v in given.items()}
    rebuild(d, many).rsample().sum().backward()
    once = {n: v.clone().requires_grad_() for n, v in given.items()}
    rebuild(d, once).mean.sum().backward()
    for name, value in many.items():
        expected = once[name].grad
        assert_mean(value.grad, 0.0 if expected is None else expected)


SCIPY = {
    "beta": lambda s: s.beta([0.5, 1.0, 2.0, 30.0], [0.5, 3.0, 2.5, 0.2]),
    "cauchy": lambda s: s.cauchy([0.0, -1.0], [1.0, 3.0]),
    "chi2": lambda s: s.chi2([0.5, 1.0, 7.0]),
    "exponential": lambda s: s.expon(0, [5.0, 1.0, 0.25]),
    "f": lambda s: s.f([1.0, 3.0, 8.0], [1.5, 5.0, 9.0]),
    "gamma": lambda s: s.gamma([0.3, 1.0, 6.0], 0, [1.0, 2.0, 1 / 3]),
    "generalized pareto": lambda s: s.genpareto(
        [0.3, -0.4, 1.5, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 2.0, 1.0, 1.0]
    ),
    "gumbel": lambda s: s.gumbel_r([0.0, -1.0], [1.0, 3.0]),
    "half cauchy": lambda s: s.halfcauchy(0, [0.5, 2.0]),
    "half normal": lambda s: s.halfnorm(0, [0.5, 2.0]),
    "inverse gamma": lambda s: s.invgamma([0.3, 1.5, 6.0], 0, [1.0, 0.5, 3.0]),
    "laplace": lambda s: s.laplace([0.0, -1.0], [1.0, 3.0]),
    "log normal": lambda s: s.lognorm([1.0, 0.3], 0, np.exp([0.0, -1.0])),
    "normal": lambda s: s.norm([0.0, -1.0], [1.0, 3.0]),
    "pareto": lambda s: s.pareto([0.5, 1.5, 4.0], 0, [1.0, 2.0, 0.5]),
    "student t": lambda s: s.t([0.5, 1.5, 4.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.3]),
    "uniform": lambda s: s.uniform([0.0, -1.0], [1.0, 4.0]),
    "von mises": lambda s: s.vonmises([0.2, 3.0, 40.0], [0.0, 1.0, 2.0]),
    "weibull": lambda s: s.weibull_min([0.5, 1.0, 4.0], 0, [1.0, 2.0, 0.5]),
}


@pytest.mark.parametrize("name", SCIPY)
def test_a_continuous_distribution_is_scipys(name, tables):
    d, x = (tables.made(text, rg) for text in tables.DISTRIBUTIONS[name])
    other = SCIPY[name](scipy.stats)
    assert np.allclose(d.log_prob(x), other.logpdf(x.numpy()), rtol=1e-9)
    if name != "von mises":
        finite = np.isfinite(d.variance.numpy()) & ~np.isnan(other.var())
        assert np.allclose(d.variance.numpy()[finite], other.var()[finite], rtol=1e-9)
    for n, sample in enumerate(d.sample((N,)).reshape(N, -1).numpy().T):
        one = scipy.stats.kstest(sample, lambda v, n=n: other.cdf(v[:, None])[:, n])
        assert one.pvalue > 1e-4
    if name not in ("f", "von mises", "student t"):
        assert np.allclose(d.entropy(), other.entropy(), rtol=1e-6)


def test_seeds_determine_samples(made):
    d, _ = made
    rg.manual_seed(5)
    first = d.sample((3,))
    rg.manual_seed(5)
    assert rg.equal(d.sample((3,)), first)


def test_small_concentrations_give_samples_and_finite_derivatives():
    a = rg.tensor([1e-3, 1e-4, 1e-3], requires_grad=True)
    x = D.Dirichlet(a).rsample((50,))
    assert rg.allclose(x.sum(-1), rg.tensor(1.0))
    x[:, 0].sum().backward()
    assert a.grad.isfinite().all()
    g = D.Gamma(rg.full((50,), 1e-3), 1.0).sample()
    assert (g > 0).all()
    assert D.Gamma(1e-3, 1.0).log_prob(g).isfinite().all()


@pytest.mark.parametrize("name", ["Gamma", "Dirichlet", "VonMises"])
def test_forward_mode_is_the_transpose_of_the_backward_pass(name):
    kind = getattr(D.samplers, f"_{name}")
    a, along, weights = t([0.5, 2.0, 9.0]), t([1.0, -2.0, 0.5]), t([0.3, 1.0, -0.7])

    def sample(a):
        return kind.apply(a, rg.Generator().manual_seed(3))

    _, moved = rg.func.jvp(sample, (a,), (along,))
    _, back = rg.func.vjp(sample, a)
    assert rg.allclose((weights * moved).sum(), (back(weights)[0] * along).sum())


def test_a_derivative_of_an_implicit_derivative_is_refused():
    a = t([1.0, 2.0]).requires_grad_()
    for x in (D.Gamma(a, 1.0).rsample(), D.Dirichlet(a).rsample(), D.VonMises(0.0, a).rsample()):
        (slope,) = rg.autograd.grad((x * x).sum(), a, create_graph=True)
        with pytest.raises(NotImplementedError, match="implicit derivative is not implemented"):
            slope.sum().backward()


def test_parameters_that_are_no_floating_numbers_are_refused():
    with pytest.raises(NotImplementedError, match="real floating dtype"):
        D.Gamma(rg.tensor([1, 2]), rg.tensor([1, 2])).sample()
    with pytest.raises(NotImplementedError, match="real floating dtype"):
        D.Dirichlet(rg.ones(2, dtype=rg.complex64), validate_args=False).sample()


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float32])
def test_samples_of_few_digits_have_derivatives_of_their_dtype(dtype):
    a = rg.tensor([0.5, 2.0, 9.0], dtype=dtype, requires_grad=True)
    for d in (
        D.Gamma(a, 1.0),
        D.Beta(a, a),
        D.Dirichlet(a, False),
        D.VonMises(0.0, a),
        D.StudentT(a + 4),
    ):
        x = d.rsample((3,))
        assert x.dtype is dtype
        assert d.log_prob(x.detach()).dtype is dtype
        (slope,) = rg.autograd.grad((x * x).sum(), a)
        assert slope.dtype is dtype
        assert slope.isfinite().all()


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (rg.float16, [0.49658203125, 3.5390625, -0.36376953125, -0.654296875]),
        (rg.bfloat16, [0.498046875, 3.546875, -0.34765625, -0.625]),
        (rg.float32, [0.4962425231933594, 3.537654399871826, -0.3659299, -0.6631495952606201]),
    ],
)
def test_samples_of_laplace_are_those_of_pytorch_for_a_seed_in_every_dtype(dtype, expected):
    a = rg.tensor([0.5, 2.0], dtype=dtype)
    rg.manual_seed(0)
    found = rg.distributions.Laplace(a, a).sample((2,))
    np.testing.assert_allclose(found.double().reshape(-1).numpy(), expected, rtol=1e-6)


def test_a_parameter_of_the_common_shape_stays_the_leaf_it_was():
    mean = rg.zeros(2, requires_grad=True)
    assert rg.distributions.Normal(mean, rg.ones(2)).loc is mean
    assert rg.distributions.Normal(mean, 1.0).loc is mean


def test_a_beta_distribution_follows_the_dirichlet_distribution_that_it_holds():
    beta = rg.distributions.Beta(rg.tensor([1.0, 2.0]), 3.0)
    beta._dirichlet.concentration = rg.tensor([[4.0, 5.0], [6.0, 7.0]])
    assert beta.concentration1.tolist() == [4.0, 6.0]
    assert beta.concentration0.tolist() == [5.0, 7.0]
    wide = beta.expand((3, 2))
    assert wide.batch_shape == (3, 2)
    assert wide.concentration1.tolist() == [[4.0, 6.0]] * 3
    assert wide.rsample().shape == (3, 2)


def test_a_share_outside_of_the_generalized_pareto_support_is_0_or_1():
    d = distributions.GeneralizedPareto(0.0, 1.0, rg.tensor([0.5, -0.5]), validate_args=False)
    assert d.cdf(rg.tensor(-1.0)).tolist() == [0.0, 0.0]
    assert d.cdf(rg.tensor(3.0)).tolist() == pytest.approx([0.84, 1.0])
    assert d.log_prob(rg.tensor(3.0)).tolist() == pytest.approx([3 * math.log(0.4), -math.inf])
    assert d.log_prob(rg.tensor(math.nan)).isnan().all()


def test_the_logarithm_of_a_density_of_one_has_no_sign():
    assert repr(distributions.Uniform(0.0, 1.0).log_prob(rg.tensor(0.5))) == "tensor(0.)"


def test_cholesky_factors_of_two_correlations_are_the_numbers_of_pytorch():
    rg.manual_seed(3)
    below = D.LKJCholesky(2, 1.5).sample((2,))[:, 1, 0]
    np.testing.assert_allclose(below._array, [0.28948614, -0.68897927], rtol=1e-6)
    assert rg.rand(1).item() == 0.32064181566238403


def test_samples_of_unit_vectors_lie_in_rows():
    weights = rg.tensor([[0.2, 0.8], [0.4, 0.6], [0.5, 0.5]])
    assert distributions.OneHotCategorical(weights).sample((2,)).stride() == (6, 2, 1)
