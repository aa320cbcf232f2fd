"""Constraints, and the transforms that the registries give for them."""

from __future__ import annotations

import pytest

import retrograd as rg

D = rg.distributions
C = D.constraints

TARGETS = [
    C.real,
    C.positive,
    C.nonnegative,
    C.greater_than(2.0),
    C.greater_than_eq(rg.tensor([1.0, 2.0, 3.0])),
    C.less_than(-1.0),
    C.unit_interval,
    C.interval(2.0, 5.0),
    C.half_open_interval(0.0, rg.tensor([1.0, 2.0, 3.0])),
    C.simplex,
    C.corr_cholesky,
    C.real_vector,
    C.independent(C.positive, 1),
    C.cat([C.positive, C.interval(0.0, 2.0)], -1, [1, 2]),
    C.stack([C.positive, C.unit_interval, C.real], -1),
]
MATRICES = [C.lower_cholesky, C.positive_definite, C.positive_semidefinite]


@pytest.mark.parametrize("region", TARGETS, ids=repr)
def test_biject_to_gives_a_bijection_onto_the_constraint(region):
    f = D.biject_to(region)
    x = rg.randn(4, 3, dtype=rg.float64)
    y = f(x)
    assert f.bijective
    assert region.check(y).all()
    assert rg.allclose(f.inv(y), x)
    assert f.log_abs_det_jacobian(x, y).shape[:1] == (4,)


@pytest.mark.parametrize("region", [*TARGETS, *MATRICES], ids=repr)
def test_transform_to_satisfies_the_constraint(region):
    f = D.transform_to(region)
    x = rg.randn(4, *[3] * max(1, region.event_dim - (region is C.corr_cholesky)),
                 dtype=rg.float64)  # fmt: skip
    y = f(x)
    assert region.check(y).all()
    assert rg.allclose(f(f.inv(y)), y)


def test_parameters_of_distributions_can_be_optimised_unconstrained():
    scale = rg.zeros(2, requires_grad=True)
    positive = D.transform_to(D.Normal.arg_constraints["scale"])
    D.Normal(0.0, positive(scale)).log_prob(rg.tensor([1.0, 2.0])).sum().backward()
    assert rg.allclose(scale.grad, rg.tensor([0.0, 3.0]))


def test_a_constraint_of_a_users_own_can_be_registered():
    class Even(C.Constraint):
        is_discrete = True

        def check(self, value):
            return value % 2 == 0

    registry = D.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def double(constraint):
        return D.AffineTransform(0, 2)

    assert registry(Even())(rg.tensor(3)) == 6
    registry.register(Even(), lambda constraint: D.identity_transform)
    assert registry(Even()) == D.identity_transform
    assert repr(Even()) == "Even()"


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda: D.biject_to(C.dependent), NotImplementedError, "Cannot transform _Dependent"),
        (lambda: D.biject_to(C.boolean), NotImplementedError, "Cannot transform _Boolean"),
        (lambda: D.biject_to(C.positive_definite), NotImplementedError, "Cannot transform _Posi"),
        (
            lambda: D.biject_to.register(3, None or abs),
            TypeError,
            "Constraint subclass or instance",
        ),
        (lambda: C.dependent.check(rg.ones(1)), ValueError, "Cannot determine validity"),
        (lambda: C.dependent.is_discrete, NotImplementedError, "cannot be determined statically"),
        (lambda: C.Constraint().check(rg.ones(1)), NotImplementedError, "does not define check"),
        (lambda: C.real_vector.check(rg.tensor(1.0)), ValueError, r"value.dim\(\) >= 1 but got 0"),
        (lambda: C.MixtureSameFamilyConstraint(3), TypeError, "must be a Constraint"),
    ],
)
def test_what_a_constraint_cannot_say_raises(function, error, text):
    with pytest.raises(error, match=text):
        function()


def test_dependent_properties_say_what_is_known_of_all_instances():
    assert C.is_dependent(D.Binomial.support)
    assert D.Binomial.support.is_discrete
    assert D.Binomial.support.event_dim == 0
    assert not C.is_dependent(D.Binomial(3, rg.tensor(0.5)).support)
    assert C.dependent(is_discrete=True, event_dim=1).event_dim == 1


def test_reprs_show_the_bounds():
    assert repr(C.interval(0.0, rg.tensor(2.0))) == "Interval(lower_bound=0.0, upper_bound=2.0)"
    assert repr(C.positive) == "GreaterThan(lower_bound=0.0)"
    assert repr(C.real_vector) == "IndependentConstraint(Real(), 1)"
    assert repr(C.simplex) == "Simplex()"


def test_a_mixture_samples_what_all_components_can():
    uniform = D.Uniform(rg.tensor([0.0, 1.0]), rg.tensor([3.0, 2.0]))
    mixture = D.MixtureSameFamily(D.Categorical(rg.ones(2)), uniform)
    with pytest.raises(ValueError, match="to be within the support"):
        mixture.log_prob(rg.tensor(0.5))
    assert rg.allclose(mixture.log_prob(rg.tensor(1.5)).exp(), rg.tensor(0.5 / 3 + 0.5))


def test_constraints_and_their_transforms_print_as_pytorch_s():
    D = rg.distributions
    assert repr(D.Multinomial(4, rg.ones(3)).support) == "Multinomial()"
    text = "ComposeTransform(\n    ExpTransform(),\n    AffineTransform()\n)"
    assert repr(D.transform_to(D.constraints.positive)) == text
