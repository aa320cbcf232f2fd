"""Transforms: inverses, Jacobians, shapes, caches, equality, and what is refused."""

from __future__ import annotations

import gc
import math
import pickle

import pytest

import retrograd as rg
from retrograd.autograd import gradcheck

D = rg.distributions
TRANSFORM = [
    D.AffineTransform(1.0, 2.0),
    D.CatTransform([D.ExpTransform(), D.TanhTransform()]),
    D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)),
    D.ExpTransform(),
    D.IndependentTransform(D.ExpTransform(), 1),
    D.PowerTransform(2.0),
    D.ReshapeTransform((2,), (1, 2)),
    D.StackTransform([D.ExpTransform(), D.TanhTransform()]),
]


@pytest.fixture
def pair(transform, tables):
    return [tables.made(text, rg) for text in tables.TRANSFORMS[transform]]


def test_a_transform_goes_from_its_domain_to_its_codomain(transform, pair):
    f, x = pair
    y = f(x)
    if transform != "cat of vectors":  # of parts with unlike events no constraint can be checked
        assert f.domain.check(x).all()
        assert f.codomain.check(y).all()
    assert y.shape == f.forward_shape(x.shape)
    assert x.shape == f.inverse_shape(y.shape)
    assert rg.allclose(f(f.inv(y)), y)
    if f.bijective:
        assert rg.allclose(f.inv(y), x)
    assert f.inv.inv is f


def test_a_transform_has_the_right_derivative(pair):
    f, x = pair
    assert gradcheck(f, (x.requires_grad_(),))


def test_the_jacobian_is_that_of_autograd(pair):
    f, x = pair
    if not f.bijective:
        with pytest.raises(NotImplementedError, match="does not define log_abs_det_jacobian"):
            f.log_abs_det_jacobian(x, f(x))
        return
    found = f.log_abs_det_jacobian(x, f(x))
    dims = f.domain.event_dim
    assert found.shape == x.shape[: x.dim() - dims]
    whole = rg.autograd.functional.jacobian(lambda v: reduced(f(v)), x)
    count = found.numel()
    whole = whole.reshape(count, -1, count, x.numel() // count)
    own = rg.stack([whole[i, :, i] for i in range(count)])
    expected = rg.linalg.slogdet(own).logabsdet.reshape(found.shape)
    assert rg.allclose(found, expected, atol=1e-10)
    assert rg.allclose(f.inv.log_abs_det_jacobian(f(x), x), -found)


def reduced(y):
    """The components of an event that determine the others."""
    if D.constraints.simplex.check(y).all():
        return y[..., :-1]
    if y.dim() > 2 and y.shape[-1] == y.shape[-2] > 1:
        return D.utils.tril_matrix_to_vec(y, diag=-1)
    return y


def test_the_inverse_of_a_correlation_factor_is_exact_for_one_row():
    f = D.CorrCholeskyTransform()
    x = rg.tensor([0.5, -0.3, 0.8, 1.0, -1.0, 0.2], dtype=rg.float64)
    assert rg.allclose(f.inv(f(x)), x)


@pytest.mark.parametrize("f", TRANSFORM, ids=repr)
def test_a_cache_gives_back_the_same_tensors(f):
    cached = f.with_cache(1)
    x = rg.tensor([0.3, 0.7])
    y = cached(x)
    assert cached(x) is y
    assert cached.inv(y) is x
    assert cached.with_cache(1) is cached
    assert f.with_cache(0) is f
    assert cached.inv.with_cache(0).inv(x) is not y


def test_a_chain_caches_in_its_parts():
    f = D.ComposeTransform([D.TanhTransform(), D.AffineTransform(0.0, 2.0)]).with_cache()
    x = rg.tensor([40.0])
    assert f.inv(f(x)) is x


def test_transforms_are_equal_by_class_and_parameters():
    assert D.ExpTransform() == D.ExpTransform()
    assert D.ExpTransform() != D.TanhTransform()
    assert D.ExpTransform().inv == D.ExpTransform().inv
    scale = rg.tensor([1.0, 2.0])
    assert D.AffineTransform(0.0, scale) == D.AffineTransform(0, scale.clone())
    assert D.AffineTransform(0.0, 1.0) != D.AffineTransform(0.0, 2.0)
    assert D.PowerTransform(2.0) == D.PowerTransform(2.0)
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])
    assert D.Transform() != D.Transform()
    with pytest.raises(TypeError, match="unhashable"):
        hash(D.ExpTransform())


def test_a_transform_and_its_inverse_are_freed():
    f = D.ExpTransform()
    inverse = f.inv
    assert f.inv is inverse
    assert pickle.loads(pickle.dumps(f)) == f
    assert pickle.loads(pickle.dumps(inverse)) == inverse
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            g = D.ExpTransform()
            g.inv.inv
            del g
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_signs_multiply():
    falls = D.AffineTransform(0.0, rg.tensor([-1.0, 2.0]))
    assert D.ComposeTransform([D.ExpTransform(), falls]).sign.tolist() == [-1, 1]
    assert D.AffineTransform(0, -3).sign == -1
    assert D.PowerTransform(-1.0).sign == -1
    with pytest.raises(NotImplementedError, match="AbsTransform does not define sign"):
        D.AbsTransform().sign


def test_rounded_values_stay_within():
    far = rg.tensor([-200.0, 200.0])
    assert D.SigmoidTransform()(far).tolist() == [1.1754943508222875e-38, 1 - 2**-23]
    assert D.SigmoidTransform().inv(rg.tensor([0.0, 1.0])).isfinite().all()
    assert D.StickBreakingTransform()(far).sum() == 1
    assert D.TanhTransform().log_abs_det_jacobian(far, far.tanh()).tolist() == pytest.approx(
        [2 * (0.6931472 - 200)] * 2
    )
    assert D.SoftplusTransform().inv(rg.tensor([1e-30, 1e3])).tolist() == pytest.approx(
        [-69.0775528, 1e3]
    )


ERRORS = [
    (lambda: D.Transform(2), ValueError, "cache_size must be 0 or 1"),
    (lambda: D.ReshapeTransform((2,), (3,)), ValueError, "different numbers of elements"),
    (lambda: D.ReshapeTransform((2,), (1, 2)).event_dim, ValueError, "Please use either"),
    (lambda: D.ReshapeTransform((2,), (1, 2)).forward_shape((3,)), ValueError, "Shape mismatch"),
    (lambda: D.SoftmaxTransform().forward_shape(()), ValueError, "Too few dimensions on input"),
    (lambda: D.StickBreakingTransform().inverse_shape(()), ValueError, "Too few dimensions"),
    (lambda: D.CorrCholeskyTransform().forward_shape((5,)), ValueError,
     "not a flattened lower-diagonal number"),
    (lambda: D.CorrCholeskyTransform().inverse_shape((3, 5)), ValueError, "Input is not square"),
    (lambda: D.IndependentTransform(D.ExpTransform(), 1)(rg.tensor(1.0)), ValueError,
     "Too few dimensions on input"),
    (lambda: D.CatTransform([3]), AssertionError, "must be Transform instances"),
    (lambda: D.CatTransform([D.ExpTransform()], lengths=[2])(rg.ones(3)), AssertionError,
     "must equal length 2"),
    (lambda: D.StackTransform([D.ExpTransform()])(rg.ones(3)), AssertionError, "must equal len"),
    (lambda: D.Transform()(rg.ones(3)), NotImplementedError, "does not define _call"),
    (lambda: D.Transform()._inv_call(rg.ones(3)), NotImplementedError, "does not define _inverse"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), ValueError,
     "transforms must be a Transform or list"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), ValueError,
     "transforms must be a Transform or a list of Transforms"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.SoftmaxTransform()), ValueError,
     "needs to have shape with size at least 1"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_what_cannot_be_transformed_raises(case):
    function, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        function()


def test_a_transform_of_a_users_own():
    class Cube(D.Transform):
        domain = codomain = D.constraints.real
        bijective = True
        sign = 1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()

    d = D.TransformedDistribution(D.Normal(rg.zeros(2), 1.0), [Cube(cache_size=1)])
    x = rg.tensor([1.0, 8.0])
    assert rg.allclose(d.cdf(x), D.Normal(0.0, 1.0).cdf(rg.tensor([1.0, 2.0])))
    assert rg.allclose(d.log_prob(x).exp()[0], d.base_dist.log_prob(x).exp()[0] / 3)
    assert d.sample((3,)).shape == (3, 2)
    assert Cube().with_cache()._cache_size == 1


def test_transforms_that_mix_components_make_events_of_batches():
    d = D.TransformedDistribution(D.Normal(rg.zeros(5, 3), 1.0), D.StickBreakingTransform())
    assert (d.batch_shape, d.event_shape) == ((5,), (4,))
    assert d.log_prob(d.sample()).shape == (5,)
    e = d.expand((2, 5))
    assert (e.batch_shape, e.event_shape, e.base_dist.batch_shape) == ((2, 5), (4,), (2, 5))
    six = D.Normal(rg.zeros(6), 1.0)
    reshaped = D.TransformedDistribution(six, D.ReshapeTransform((6,), (2, 3)))
    assert (reshaped.batch_shape, reshaped.event_shape) == ((), (2, 3))
    assert reshaped.support.event_dim == 2
    broadcast = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(rg.zeros(3), 1.0))
    assert broadcast.sample().shape == (3,)


def test_the_jacobian_of_an_affine_transform_by_a_number_may_be_written():
    x = rg.ones(2, 3)
    found = rg.distributions.transforms.AffineTransform(0.0, 2.0).log_abs_det_jacobian(x, 2 * x)
    found.add_(1)
    rg.testing.assert_close(found, rg.full((2, 3), 1 + math.log(2)))


def test_the_jacobian_of_an_affine_transform_has_the_dtype_of_a_scale_that_is_a_tensor():
    x, whole = rg.ones(1, dtype=rg.float64), rg.tensor([1])
    for scale, z, expected in (
        (rg.tensor([2.0]), x, rg.float32),
        (2.0, x, rg.float64),
        (0.5, whole, rg.float32),
    ):
        transform = rg.distributions.AffineTransform(0.0, scale)
        found = transform.log_abs_det_jacobian(z, transform(z))
        assert found.dtype is expected
        assert found.item() == pytest.approx(math.log(float(scale)), rel=1e-7)


@pytest.mark.parametrize("kind", [tuple, list, rg.Size])
def test_a_shape_comes_in_the_type_that_it_was_given_in(kind):
    for transform, shapes in (
        (D.CorrCholeskyTransform(), ((2, 3), (2, 3, 3))),
        (D.StickBreakingTransform(), ((2, 3), (2, 4))),
        (D.SoftmaxTransform(), ((2, 3), (2, 3))),
        (D.ExpTransform(), ((2,), (2,))),
    ):
        there, back = map(kind, shapes)
        found = transform.forward_shape(there), transform.inverse_shape(back)
        assert found == (back, there)
        assert {type(shape) for shape in found} == {kind}
