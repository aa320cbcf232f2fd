"""What distributions refuse, and what a user's own must define."""

from __future__ import annotations

import math
import warnings

import pytest

import retrograd as rg

D = rg.distributions


def t(values):
    return rg.tensor(values)


EITHER = "Either `probs` or `logits` must be specified, but not both"
ERRORS = [
    (lambda: D.Normal(t([0.0, 1.0]), t([-1.0, 1.0])),
     r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal\(loc: "
     r"retrograd.Size\(\[2\]\), scale: retrograd.Size\(\[2\]\)\) to satisfy the constraint "
     r"GreaterThan\(lower_bound=0.0\), but found invalid values:\ntensor\(\[-1.,  1.\]\)"),
    (lambda: D.Exponential(t([1.0, 2.0])).log_prob(t(-1.0)),
     r"Expected value argument \(Tensor of shape \(\)\) to be within the support "
     r"\(GreaterThanEq\(lower_bound=0.0\)\) of the distribution Exponential\(rate: retrograd.Size"),
    (lambda: D.Normal(0.0, "1"), "Input arguments must all be instances of Number"),
    (D.Bernoulli, EITHER),
    (lambda: D.Bernoulli(0.5, 0.5), EITHER),
    (D.Categorical, EITHER),
    (lambda: D.Multinomial(3), EITHER),
    (lambda: D.NegativeBinomial(3), EITHER),
    (lambda: D.RelaxedBernoulli(1.0), EITHER),
    (lambda: D.Categorical(t(1.0)), "`probs` parameter must be at least one-dimensional"),
    (lambda: D.Categorical(logits=t(1.0)), "`logits` parameter must be at least one-dimensional"),
    (lambda: D.Dirichlet(t(1.0)), "`concentration` parameter must be at least one-dimensional"),
    (lambda: D.Geometric(0.0), "to be positive but found invalid values"),
    (lambda: D.Uniform(1.0, 0.0), r"to satisfy the constraint LessThan\(upper_bound=0.0\)"),
    (lambda: D.MultivariateNormal(t(0.0), rg.eye(2)), "loc must be at least one-dimensional"),
    (lambda: D.MultivariateNormal(rg.zeros(2)), "Exactly one of covariance_matrix or precision"),
    (lambda: D.MultivariateNormal(rg.zeros(2), rg.eye(2), rg.eye(2)), "Exactly one of covariance"),
    (lambda: D.MultivariateNormal(rg.zeros(2), rg.ones(2)),
     "covariance_matrix must be at least two-dimensional"),
    (lambda: D.MultivariateNormal(rg.zeros(2), rg.ones(2, 2)), r"constraint PositiveDefinite\(\)"),
    (lambda: D.MultivariateNormal(rg.zeros(2), scale_tril=rg.ones(2, 2)), r"LowerCholesky\(\)"),
    (lambda: D.LowRankMultivariateNormal(t(0.0), rg.ones(2, 1), rg.ones(2)), "loc must be at leas"),
    (lambda: D.LowRankMultivariateNormal(rg.zeros(2), rg.ones(2), rg.ones(2)),
     "cov_factor must be at least two-dimensional"),
    (lambda: D.LowRankMultivariateNormal(rg.zeros(2), rg.ones(3, 1), rg.ones(2)),
     "cov_factor must be a batch of matrices with shape 2 x m"),
    (lambda: D.LowRankMultivariateNormal(rg.zeros(2), rg.ones(2, 1), rg.ones(3)),
     "cov_diag must be a batch of vectors with shape"),
    (lambda: D.Wishart(t(0.5), scale_tril=rg.eye(2)), "expected to be greater than ndim - 1 = 1"),
    (lambda: D.LKJCholesky(1.5), "Expected dim to be an integer greater than or equal to 2"),
    (lambda: D.LKJCholesky(1), "Expected dim to be an integer greater than or equal to 2"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims <= len"),
    (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
     "Mixture distribution needs to be an instance of"),
    (lambda: D.MixtureSameFamily(D.Categorical(rg.ones(3)), 3), "Component distribution needs to"),
    (lambda: D.MixtureSameFamily(D.Categorical(rg.ones(3)), D.Normal(rg.zeros(2), 1.0)),
     r"`mixture_distribution component` \(3\) does not equal"),
    (lambda: D.MixtureSameFamily(D.Categorical(rg.ones(2, 3)), D.Normal(rg.zeros(3, 3), 1.0)),
     "is not compatible with `component_distribution.batch_shape`"),
    (lambda: D.Distribution.set_default_validate_args(3), "expected True or False"),
    (lambda: D.utils.vec_to_tril_matrix(rg.ones(2)), "cannot be expressed as the lower triangular"),
    (lambda: D.utils.tril_matrix_to_vec(rg.ones(2, 2), 3), r"is outside \[-2, 1\]"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_invalid_arguments_raise(case):
    function, text = ERRORS[case]
    with pytest.raises(ValueError, match=text):
        function()


def test_what_is_not_integer_raises():
    with pytest.raises(TypeError, match="integer"):
        D.LKJCholesky(2.0)
    with pytest.raises(NotImplementedError, match="inhomogeneous total_count is not supported"):
        D.Multinomial(t([1.0, 2.0]), t([0.5, 0.5]))
    with pytest.raises(NotImplementedError, match="Inhomogeneous total count not supported"):
        D.Binomial(t([2.0, 3.0]), t([0.5, 0.5])).enumerate_support()


def test_validation_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    assert D.Uniform(0.0, 1.0, validate_args=False).log_prob(t(2.0)) == -float("inf")
    assert D.HalfNormal(1.0, validate_args=False).log_prob(t(-1.0)) == -float("inf")
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        D.Normal(0.0, -1.0)


@pytest.mark.parametrize(
    "name", ["mean", "mode", "variance", "stddev", "support", "arg_constraints"]
)
def test_what_a_family_does_not_define_raises(name):
    with pytest.raises(NotImplementedError, match=name.replace("stddev", "variance")):
        getattr(D.Distribution(validate_args=False), name)


@pytest.mark.parametrize("name", ["log_prob", "cdf", "icdf", "expand", "sample"])
def test_methods_that_a_family_does_not_define_raise(name):
    with pytest.raises(NotImplementedError, match="does not implement"):
        getattr(D.Distribution(validate_args=False), name)(rg.ones(2))


def test_a_family_without_constraints_warns():
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        mine = D.Distribution()
    with pytest.warns(UserWarning, match="does not define `support`"):
        mine._validate_sample(t(1.0))
    with pytest.warns(FutureWarning, match=r"`sample_n\(n\)` will be deprecated"):
        assert D.Normal(0.0, 1.0).sample_n(3).shape == (3,)


class Shifted(D.Normal):
    """A normal distribution of variance 1, whose `__init__` takes other arguments."""

    def __init__(self, loc):
        super().__init__(loc, 1.0)


class Expandable(Shifted):
    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Expandable, _instance)
        return super().expand(batch_shape, new)


def test_a_subclass_with_an_init_must_expand_itself():
    with pytest.raises(NotImplementedError, match="Subclass Shifted of Normal that defines a cus"):
        Shifted(t([0.0])).expand((2, 1))
    new = Expandable(t([0.0])).expand((2, 1))
    assert type(new) is Expandable
    assert new.sample().shape == (2, 1)


class Steps(D.Categorical):
    """A categorical distribution with other parameters than its base."""

    arg_constraints = {"slope": D.constraints.real}  # noqa: RUF012

    def __init__(self, slope, validate_args=None):
        self.slope = slope
        super().__init__(logits=slope[..., None] * rg.arange(3.0), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Steps, _instance)
        new.slope = self.slope.expand(batch_shape)
        return super().expand(batch_shape, new)


def test_a_subclass_with_other_parameters_expands_those_of_its_base_too():
    steps = Steps(t([0.0, 1.0]))
    new = steps.expand((5, 2))
    assert new.slope.shape == (5, 2)
    assert new.logits.shape == (5, 2, 3)
    assert rg.equal(new.log_prob(rg.tensor(2))[3], steps.log_prob(rg.tensor(2)))


def test_distributions_and_transforms_can_be_modules():
    class Scale(D.Transform, rg.nn.Module):
        domain = codomain = D.constraints.real
        __hash__ = rg.nn.Module.__hash__

        def __init__(self):
            super().__init__(cache_size=1)
            self.scale = rg.nn.Parameter(t(2.0))

        def _call(self, x):
            return self.scale * x

    assert len(list(Scale().parameters())) == 1
    assert Scale()(t(3.0)) == 6

    class Learned(D.Normal, rg.nn.Module):
        pass

    density = Learned(0.0, 1.0).log_prob(t(0.0)).item()
    assert density == pytest.approx(-math.log(2 * math.pi) / 2, rel=1e-6)


def test_a_distribution_of_a_users_own_as_for_pytorch():
    class Triangle(D.Distribution):
        arg_constraints = {"width": D.constraints.positive}  # noqa: RUF012
        has_rsample = True

        def __init__(self, width, validate_args=None):
            (self.width,) = D.utils.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Triangle, _instance)
            new.width = self.width.expand(batch_shape)
            super(Triangle, new).__init__(batch_shape, validate_args=False)
            new._validate_args = self._validate_args
            return new

        @D.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return D.constraints.interval(0.0, self.width)

        def rsample(self, sample_shape=()):
            return self.width * rg.rand(self._extended_shape(sample_shape)).sqrt()

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return (2 * value).log() - 2 * self.width.log()

    mine = Triangle(t([1.0, 2.0]))
    assert repr(mine) == "Triangle(width: retrograd.Size([2]))"
    assert mine.expand((3, 2)).sample((5,)).shape == (5, 3, 2)
    assert mine.log_prob(t(1.0)).exp().tolist() == pytest.approx([2.0, 0.5])
    with pytest.raises(ValueError, match="to be within the support"):
        mine.log_prob(t(1.5))
    inside = D.Independent(mine, 1)
    assert inside.expand((4,)).log_prob(t([1.0, 1.0])).shape == (4,)


def test_integers_are_values_too():
    assert D.Categorical(t([1.0, 3.0])).log_prob(rg.tensor([0, 1, 1])).shape == (3,)
    assert D.Poisson(t(2.0)).log_prob(rg.tensor(2)).item() == pytest.approx(-1.3068528)
    assert D.Bernoulli(t(0.25)).log_prob(rg.tensor(1)).exp() == 0.25
    assert D.Gamma(2.0, 1.0).log_prob(rg.tensor(1)).item() == pytest.approx(-1)


def test_parameters_may_be_at_the_ends():
    assert D.Bernoulli(t([0.0, 1.0])).entropy().tolist() == pytest.approx([0, 0], abs=2e-6)
    assert D.Categorical(logits=t([-float("inf"), 1.0])).entropy() == 0
    assert D.Multinomial(2, t([0.0, 1.0])).log_prob(t([0.0, 2.0])).item() == pytest.approx(
        0, abs=1e-6
    )
    assert D.Poisson(0.0).log_prob(t([0.0, 1.0])).tolist() == [0, -float("inf")]
    assert D.NegativeBinomial(t([0.0]), t([0.3])).log_prob(t([0.0])) == 0
    assert D.Beta(1.0, 2.0).log_prob(t([0.0, 1.0])).tolist() == pytest.approx(
        [0.6931472, -float("inf")]
    )
    assert D.Geometric(1.0).log_prob(t([0.0, 1.0])).tolist() == [0, -float("inf")]


def test_matrices_and_vectors_are_inverse():
    for diag, count in ((0, 6), (-1, 6), (1, 8)):
        vector = rg.arange(count)
        matrix = D.utils.vec_to_tril_matrix(vector, diag)
        assert rg.equal(D.utils.tril_matrix_to_vec(matrix, diag), vector)
        assert rg.equal(matrix, matrix.tril(diag))


def test_a_multinomial_draws_no_negative_number():
    weights = rg.tensor([0.5, 0.5])
    with pytest.raises(ValueError, match="total_count of 0 or more"):
        rg.distributions.Multinomial(-1, weights)
    assert rg.distributions.Multinomial(0, weights).sample().tolist() == [0.0, 0.0]


def test_a_program_s_distribution_may_have_several_events():
    class Pair(D.Distribution):
        arg_constraints = {}  # noqa: RUF012

    assert Pair(rg.Size(), [(2,), (3,)]).event_shape == [(2,), (3,)]
    assert Pair((4,)).batch_shape == (4,)
    assert type(Pair().event_shape) is rg.Size


def test_transformed_distributions_take_numbers():
    assert D.Pareto(1.0, 1.0).cdf(2.0) == D.Pareto(1.0, 1.0).cdf(t(2.0)) == 0.5
    assert D.Weibull(1.0, 1.0).cdf(2.0).item() == pytest.approx(0.86466472)
    assert D.Gumbel(0.0, 1.0).cdf(0.5).item() == pytest.approx(0.54523921)
    found = D.HalfCauchy(1.0, validate_args=False).log_prob(0.5)
    assert found.item() == pytest.approx(-0.67472625)
    with pytest.raises(ValueError, match="within the support"):
        D.Gumbel(t([0.0, 1.0]), 1.0).cdf(math.nan)


def test_checks_in_a_batched_call_hold_for_all_examples_at_once():
    m, x = rg.zeros(3), rg.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rg.vmap(lambda m, x: D.Normal(m, 1.0).log_prob(x))(m, x)
    assert found.tolist() == D.Normal(m, 1.0).log_prob(x).tolist()
    warnings.simplefilter("ignore")  # what shows the values runs once per example
    with pytest.raises(ValueError, match="Expected parameter scale"):
        rg.vmap(lambda s: D.Normal(0.0, s).log_prob(s))(rg.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="within the support"):
        rg.vmap(lambda x: D.Exponential(1.0).log_prob(x))(rg.tensor([1.0, -1.0]))
