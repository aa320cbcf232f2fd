"""Variance, standard deviation and norms: corrections, kinks, errors."""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.ops.reduction.vector_norm import vector_norm

INF = math.inf


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_var_equals_numpy(correction):
    a = np.random.default_rng(0).standard_normal((3, 4))
    found = rg.var(rg.tensor(a), dim=1, correction=correction)
    np.testing.assert_allclose(found._array, a.var(1, ddof=correction), rtol=1e-14)


def test_the_variance_of_complex_numbers_is_real():
    z = np.random.default_rng(0).standard_normal((2, 5)) @ np.array([[1], [1j]]).T.repeat(5, 0)
    found = rg.var(rg.tensor(z))
    assert found.dtype == rg.float64
    np.testing.assert_allclose(found.item(), z.var(ddof=1), rtol=1e-14)


def test_the_older_argument_unbiased_is_understood():
    x = rg.tensor([1.0, 2.0, 6.0])
    assert rg.var(x, False).item() == rg.var(x, correction=0).item()
    assert x.std(0, False, True).shape == (1,)


def test_no_degrees_of_freedom_give_nan_or_infinity():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert math.isnan(rg.var(rg.ones(1)).item())
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert rg.var(rg.tensor([1.0, 2.0]), correction=5).item() == INF


def test_the_standard_deviation_of_equal_elements_has_gradient_zero():
    x = leaf([3.0, 3.0, 3.0])
    (first,) = grad(x.std(), x, create_graph=True)
    np.testing.assert_array_equal(first._array, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(first.sum(), x)[0]._array, [0.0, 0.0, 0.0])


def test_var_of_integers_raises():
    with pytest.raises(RuntimeError, match="std and var only support floating point and complex"):
        rg.tensor([1, 2]).var()


def test_var_mean_and_std_mean_are_pairs():
    x = rg.tensor([[1.0, 3.0], [2.0, 2.0]])
    for function, spread in ((rg.var_mean, rg.var), (rg.std_mean, rg.std)):
        first, mean = function(x, dim=1, keepdim=True)
        np.testing.assert_array_equal(first._array, spread(x, dim=1, keepdim=True)._array)
        np.testing.assert_array_equal(mean._array, [[2.0], [2.0]])


def test_a_variance_and_its_mean_are_outputs_of_one_node():
    x = rg.tensor([[1.0, 3.0], [2.0, 2.0]], requires_grad=True)
    for function, name, slope in (
        (rg.var_mean, "VarMean", 2.0), (rg.std_mean, "StdMean", 0.5**0.5)
    ):  # fmt: skip
        first, mean = function(x, dim=1)
        assert first.grad_fn is mean.grad_fn
        assert mean.grad_fn.name() == f"{name}Backward0"
        (g,) = grad(mean[0], x, retain_graph=True)
        np.testing.assert_array_equal(g._array, [[0.5, 0.5], [0.0, 0.0]])
        both = grad(first[0] + mean[0], x)[0]
        np.testing.assert_allclose(both._array, [[0.5 - slope, 0.5 + slope], [0.0, 0.0]], 1e-6)


@pytest.mark.parametrize("ord", [2, 1, 3, 0.5, 1.5, -1, -2.5, 0, INF, -INF])
def test_norms_equal_numpy(ord):
    a = np.random.default_rng(0).standard_normal((5, 2)) + 2j
    for values in (a[:, 0], a.real[:, 0]):
        expected = np.linalg.norm(values, ord)
        np.testing.assert_allclose(rg.norm(rg.tensor(values), ord).item(), expected, rtol=1e-13)


@pytest.mark.parametrize("ord", [2, 1, 3, 4, 0.5, 1.5, -1, 0, INF])
def test_the_gradient_of_a_norm_at_zero_is_zero_and_so_is_its_own(ord):
    for dtype in (rg.float64, rg.complex128):
        x = rg.tensor([0.0, 0.0], dtype=dtype, requires_grad=True)
        (first,) = grad(rg.norm(x, ord), x, create_graph=True)
        np.testing.assert_array_equal(first._array, [0.0, 0.0])
        if first.requires_grad:
            again = grad(first, x, rg.ones_like(first))[0]
            np.testing.assert_array_equal(again._array, [0.0, 0.0])


@pytest.mark.parametrize(
    ("ord", "x", "expected"),
    [
        (1, [0.0, -2.0], [0.0, -1.0]),
        (INF, [1.0, 1.0, -1.0], [1 / 3, 1 / 3, -1 / 3]),
        (-INF, [1.0, 1.0, -2.0], [0.5, 0.5, 0.0]),
        (0.5, [0.0, 1.0], [0.0, 1.0]),
        (3, [0.0, 1.0], [0.0, 1.0]),
        (0, [0.0, 1.0], [0.0, 0.0]),
    ],
)
def test_norms_take_the_smallest_subgradient_and_share_ties(ord, x, expected):
    t = leaf(x)
    np.testing.assert_allclose(grad(rg.norm(t, ord), t)[0]._array, expected, rtol=1e-15)


def test_frobenius_is_the_two_norm():
    x = rg.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert rg.norm(x).item() == rg.norm(x, "fro").item() == rg.norm(x, None).item() == 5.0
    assert x.norm().dtype == rg.float32


def test_norm_raises_what_pytorch_raises():
    x = rg.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor as input"):
        rg.norm(rg.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="cannot compute the inf norm on an empty tensor"):
        vector_norm(rg.tensor(np.zeros(0)), INF)
    with pytest.raises(RuntimeError, match="without narrowing to the specified dtype"):
        vector_norm(rg.tensor(np.zeros(2)), dtype=rg.float32)
    with pytest.raises(RuntimeError, match="dtype should be complex for complex inputs"):
        vector_norm(rg.tensor([1j]), dtype=rg.float32)
    with pytest.raises(TypeError, match="must be Number, not str"):
        vector_norm(x, "fro")
    with pytest.raises(RuntimeError, match="not supported"):
        rg.norm(x, "spectral")


def test_norms_of_nothing_are_zero():
    empty = rg.tensor(np.zeros((0, 2)))
    assert rg.norm(empty).item() == 0.0
    np.testing.assert_array_equal(rg.norm(empty, INF, dim=1)._array, np.zeros(0))


def test_dist_is_the_norm_of_the_difference():
    x, y = leaf([1.0, 2.0]), leaf([4.0, 6.0])
    assert rg.dist(x, y).item() == 5.0
    np.testing.assert_allclose(grad(rg.dist(x, y), x)[0]._array, [-0.6, -0.8], rtol=1e-15)


@pytest.mark.parametrize("function", [rg.var_mean, rg.std_mean])
def test_a_mean_has_its_gradient_where_the_variance_beside_it_is_not_defined(function):
    x = rg.tensor([[3.0], [4.0]], requires_grad=True)
    with pytest.warns(UserWarning, match="degrees of freedom"):
        spread, mean = function(x, dim=1)
    mean.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[1.0], [1.0]]
    x.grad = None
    spread.sum().backward()
    assert x.grad.isnan().all()


def test_a_deviation_of_half_floats_is_there_where_their_variance_is_not():
    x = rg.tensor([30000.0, 60000.0], dtype=rg.float16, requires_grad=True)
    assert x.var().item() == INF
    x.std().backward()
    assert (x.std().item(), x.std().dtype) == (21216.0, rg.float16)
    assert [round(v, 2) for v in x.grad.tolist()] == [-0.71, 0.71]


@pytest.mark.parametrize("order", [INF, -INF, -1, -0.5])
@pytest.mark.parametrize(("shape", "dim"), [((0,), None), ((2, 0), 1), ((0, 3), (0, 1))])
def test_norms_without_an_identity_refuse_empty_dimensions(order, shape, dim):
    with pytest.raises(RuntimeError, match="does not have an identity"):
        rg.linalg.vector_norm(rg.ones(shape), order, dim)


def test_observations_may_weigh_nothing():
    a, weights = np.random.default_rng(0).standard_normal((2, 4)), np.array([0.0, 1.0, 2.0, 0.5])
    found = rg.cov(rg.tensor(a), aweights=rg.tensor(weights))
    np.testing.assert_allclose(found.numpy(), np.cov(a, aweights=weights), rtol=1e-14)
    with pytest.raises(RuntimeError, match="aweights cannot be negative"):
        rg.cov(rg.tensor(a), aweights=-rg.tensor(weights))


MOMENTS = {
    "mean": rg.mean, "nanmean": rg.nanmean, "logsumexp": rg.logsumexp, "var": rg.var,
    "std": rg.std, "sum": rg.sum,
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_a_wider_out_gets_values_that_were_not_rounded_to_the_inputs_dtype(name):
    function = MOMENTS[name]
    for narrow, wide in (
        (rg.float16, rg.float32),
        (rg.bfloat16, rg.float64),
        (rg.float32, rg.float64),
        (rg.complex64, rg.complex128),
    ):
        x = rg.tensor([[0.1, 2.0], [0.2, 0.3], [1.5, 0.7]]).to(narrow)
        exact = function(x.to(wide), 0)
        assert not exact.equal(function(x, 0).to(exact.dtype))
        out = rg.empty(0, dtype=wide)
        assert function(x, 0, out=out) is out
        assert out.equal(exact.to(wide))
        assert function(input=x, dim=0, out=rg.empty(0, dtype=wide)).equal(out)


def test_a_narrower_out_gets_the_wide_value_rounded():
    x = rg.tensor([0.1, 0.2, 0.4], dtype=rg.float64)
    assert rg.mean(x, 0, out=rg.empty(())).equal(rg.mean(x, 0).float())
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        rg.mean(rg.tensor([1, 2]), 0, out=rg.empty(()))
