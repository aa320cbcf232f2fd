"""What holds for every distribution: shapes, expansion, derivatives, copies, errors."""

from __future__ import annotations

import contextlib
import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck
from retrograd.distributions import multivariate

from .support import only, parameters, rebuild

D = rg.distributions
# What the classes do not define, in PyTorch neither.
WITHOUT_MOMENTS = {"lkj", "logistic normal", "relaxed bernoulli", "relaxed one hot", "transformed"}
WITHOUT_MODE = {"continuous bernoulli", "continuous bernoulli logits", "mixture",
                "mixture of vectors", "multinomial"}  # fmt: skip
WITHOUT_ENTROPY = {"binomial counts", "f", "lkj", "logistic normal", "mixture",
                   "mixture of vectors", "negative binomial", "poisson", "relaxed bernoulli",
                   "relaxed one hot", "transformed", "von mises"}  # fmt: skip


@pytest.mark.parametrize("sample_shape", [(), (2,), (3, 0), (2, 3)])
def test_samples_have_their_shape_and_lie_in_the_support(made, sample_shape):
    d, _ = made
    x = d.sample(sample_shape)
    assert x.shape == sample_shape + d.batch_shape + d.event_shape
    assert d.support.check(x).all()
    assert not x.requires_grad
    assert d.log_prob(x).shape == sample_shape + d.batch_shape


def test_moments_have_the_shape_of_a_sample(distribution, made):
    d, _ = made
    for name in ("mean", "mode", "variance", "stddev"):
        if distribution in WITHOUT_MOMENTS | (WITHOUT_MODE if name == "mode" else set()):
            asked = "variance" if name == "stddev" else name
            with pytest.raises(NotImplementedError, match=f"does not implement {asked}"):
                getattr(d, name)
        else:
            assert getattr(d, name).shape == d.batch_shape + d.event_shape, name


@pytest.mark.parametrize("name", ["Wishart", "MultivariateNormal"])
def test_a_repr_shows_no_matrix_that_only_a_sample_needed(name):
    first = rg.tensor(3.0) if name == "Wishart" else rg.zeros(2)
    d = getattr(rg.distributions, name)(first, rg.eye(2))
    shown = repr(d)
    d.log_prob(d.sample())
    d.entropy()
    assert d.precision_matrix.tolist() == [[1, 0], [0, 1]]
    matrix = "retrograd.Size([2, 2])"
    given = f"covariance_matrix: {matrix}"
    assert repr(d) == shown.replace(given, f"{given}, precision_matrix: {matrix}")


def test_an_expanded_distribution_is_the_same_many_times(distribution, made):
    d, _ = made
    shape = (4, 3, *d.batch_shape)
    e = d.expand((3, *d.batch_shape)).expand(shape)
    assert type(e) is type(d)
    assert e.batch_shape == shape
    assert e.event_shape == d.event_shape
    x = d.sample()
    found, expected = e.log_prob(x), d.log_prob(x).expand(shape)
    rg.testing.assert_close(found, expected, rtol=1e-14, atol=0)  # BLAS solves several in one
    assert e.sample((2,)).shape == (2, *shape, *d.event_shape)
    for name in d.arg_constraints:
        assert getattr(e, name).shape[:2] == (4, 3), name
    if distribution not in WITHOUT_ENTROPY:
        assert rg.equal(e.entropy(), d.entropy().expand(shape))
    if distribution not in WITHOUT_MOMENTS:
        assert rg.equal(e.variance.nan_to_num(7.0)[0, 0], d.variance.nan_to_num(7.0))


def test_expanding_to_a_shape_that_does_not_fit_raises(made):
    d, _ = made
    if d.batch_shape:
        with pytest.raises(RuntimeError, match=r"expanded size|broadcast"):
            d.expand((*d.batch_shape[:-1], d.batch_shape[-1] + 5))


def test_single_precision_stays(distribution, tables):
    class Single:
        distributions, float64 = D, rg.float32
        tensor = staticmethod(rg.tensor)

    d, x = (tables.made(text, Single) for text in tables.DISTRIBUTIONS[distribution])
    assert d.log_prob(x).dtype is rg.float32
    assert d.sample().dtype in (rg.float32, rg.int64)
    for name in ("mean", "variance"):
        with contextlib.suppress(NotImplementedError):
            assert getattr(d, name).dtype is rg.float32


def check_derivatives(d, function):
    """Check the derivatives, by the parameters, of a function of a distribution like `d`."""
    given = parameters(d)
    names, values = list(given), [v.detach().clone() for v in given.values()]
    for name, value in given.items():
        count = name == "total_count" and not isinstance(d, D.NegativeBinomial)
        values[names.index(name)].requires_grad_(value.is_floating_point() and not count)

    def of_parameters(*values):
        given = dict(zip(names, values, strict=True))
        for name in {"covariance_matrix", "precision_matrix"} & given.keys():
            given[name] = (given[name] + given[name].mT) / 2
        return function(rebuild(d, given))

    assert gradcheck(of_parameters, tuple(values))


@only(lambda d, known: d.arg_constraints)
def test_log_prob_has_the_right_derivatives_by_the_parameters(made):
    d, x = made
    check_derivatives(d, lambda d: d.log_prob(x))


@pytest.mark.parametrize("name", ["mean", "variance"])
@only(lambda d, known: d.arg_constraints and known["mean"] and np.isfinite(known["variance"]).any())
def test_moments_have_the_right_derivatives_where_they_are_finite(made, name):
    d, _ = made

    def finite(d):
        value = getattr(d, name)
        return value.masked_fill(~value.isfinite(), 0)

    check_derivatives(d, finite)


@only(lambda d, known: d.arg_constraints and known["entropy"])
def test_the_entropy_has_the_right_derivatives(made):
    d, _ = made
    check_derivatives(d, lambda d: d.entropy())


def moves_freely(d, known):
    """Whether the components of a sample can be moved one by one."""
    bound = d.support.event_dim == 2 or d.support is D.constraints.simplex
    return not (d.support.is_discrete or bound)


@only(moves_freely)
def test_log_prob_has_the_right_derivative_by_the_value(made):
    d, _ = made
    rg.manual_seed(2)
    assert gradcheck(d.log_prob, (d.sample().requires_grad_(),))


@only(lambda d, known: not d.has_rsample)
def test_rsample_raises_where_it_is_not_defined(made):
    d, _ = made
    with pytest.raises(NotImplementedError, match="does not implement rsample"):
        d.rsample()


@only(lambda d, known: d.has_rsample and d.arg_constraints)
def test_rsample_follows_every_parameter(made):
    d, _ = made
    values = {n: v.detach().clone().requires_grad_() for n, v in parameters(d).items()}
    x = rebuild(d, values).rsample((5,))
    (x * rg.randn(x.shape, dtype=x.dtype)).sum().backward()
    for name, value in values.items():
        assert value.grad.isfinite().all(), name
        assert (value.grad != 0).any(), name


def test_copies_are_the_same(made):
    d, x = made
    for again in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert type(again) is type(d)
        assert rg.equal(again.log_prob(x), d.log_prob(x))


def test_a_parameter_that_is_no_number_raises(made):
    d, _ = made
    for name, value in parameters(d).items():
        with pytest.raises(ValueError, match=r"Expected|expected"):
            rebuild(d, {**parameters(d), name: value * float("nan")}, validate_args=True)


@only(lambda d, known: not isinstance(d, D.Independent))
def test_a_value_of_another_shape_raises(made):
    d, x = made
    if d.event_shape:
        with pytest.raises(ValueError, match="right-most size of value must match event_shape"):
            d.log_prob(x[..., :1, :1] if len(d.event_shape) == 2 else x[..., :1])
    elif d.batch_shape:
        with pytest.raises(ValueError, match=r"not broadcastable with batch_shape\+event_shape"):
            d.log_prob(d.sample().new_zeros((*d.batch_shape[:-1], d.batch_shape[-1] + 5)))


def test_a_value_that_is_no_number_raises(made):
    d, x = made
    with pytest.raises(ValueError, match="to be within the support"):
        d.log_prob(x * float("nan"))
    if isinstance(d, rg.distributions.Gamma):  # it takes numbers, as in PyTorch
        return
    with pytest.raises(ValueError, match="value argument to log_prob must be a Tensor"):
        d.log_prob(1)


@only(lambda d, known: known["cdf"] and known["icdf"])
def test_cdf_and_icdf_are_inverse(made):
    d, x = made
    share = d.cdf(x)
    again = d.icdf(share)
    x = x.expand(again.shape).masked_fill(share > 0.9999, 0)  # where shares have few digits left
    assert rg.allclose(again.masked_fill(share > 0.9999, 0), x, rtol=1e-9)


@only(lambda d, known: known["cdf"])
def test_cdf_is_the_integral_of_the_density(made):
    d, _ = made
    x = d.sample((7,)).requires_grad_()
    (slope,) = rg.autograd.grad(d.cdf(x).sum(), x)
    assert rg.allclose(slope, d.log_prob(x).exp(), rtol=1e-7)


def test_repr_names_the_class(made):
    d, _ = made
    assert repr(d).startswith(f"{type(d).__name__}(")


def test_repr_shows_parameters_of_one_element_and_the_shapes_of_others():
    assert repr(D.Normal(rg.zeros(1), 2.0)) == "Normal(loc: tensor([0.]), scale: tensor([2.]))"
    assert repr(D.Normal(0.0, 2.0)) == "Normal(loc: 0.0, scale: 2.0)"
    assert repr(D.Normal(rg.zeros(3), 1.0)) == (
        "Normal(loc: retrograd.Size([3]), scale: retrograd.Size([3]))"
    )


def test_a_normal_that_shows_another_event_shape_keeps_its_density():
    class Rows(D.MultivariateNormal):
        event_shape = property(lambda self: rg.Size([2, 1]))

    rows, plain = (kind(rg.zeros(2), rg.eye(2)) for kind in (Rows, D.MultivariateNormal))
    assert rows.entropy().item() == plain.entropy().item()
    assert rows.variance.tolist() == [1.0, 1.0]


def test_products_and_lengths_by_matrices_have_pytorch_s_private_names():
    factor = rg.tensor([[2.0, 0.0], [1.0, 1.0]]).expand(3, 2, 2)
    x = rg.tensor([[2.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    assert multivariate._batch_mv(factor, x).tolist() == [[4.0, 3.0], [0.0, 3.0], [2.0, 1.0]]
    assert multivariate._batch_mahalanobis(factor, x).tolist() == [1.0, 9.0, 0.5]
    assert multivariate._batch_mahalanobis(factor[0], x).tolist() == [1.0, 9.0, 0.5]
