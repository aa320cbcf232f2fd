"""log-sum-exp and softmax: stability, infinities, complex numbers, errors."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.ops.activation.softmax import softmin

INF = float("inf")


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


def test_large_and_small_arguments_stay_finite():
    x = leaf([1000.0, 0.0, -1000.0])
    np.testing.assert_array_equal(rg.softmax(x, 0)._array, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(rg.log_softmax(x, 0)._array, [0.0, -1000.0, -2000.0])
    assert rg.logsumexp(x, 0).item() == 1000.0
    np.testing.assert_array_equal(grad(rg.logsumexp(x, 0), x)[0]._array, [1.0, 0.0, 0.0])


def test_infinities_follow_pytorch():
    x = leaf([-INF, 1.0])
    assert rg.logsumexp(x, 0).item() == 1.0
    np.testing.assert_array_equal(grad(rg.logsumexp(x, 0), x)[0]._array, [0.0, 1.0])
    out = rg.log_softmax(x, 0)
    np.testing.assert_array_equal(out._array, [-INF, 0.0])
    np.testing.assert_array_equal(grad(out, x, rg.ones_like(out))[0]._array, [1.0, -1.0])
    assert rg.logsumexp(rg.tensor([-INF, -INF]), 0).item() == -INF
    assert rg.logsumexp(rg.tensor([INF, 1.0]), 0).item() == INF
    assert rg.logsumexp(rg.tensor(np.zeros(0)), 0).item() == -INF


def test_softmax_extends_holomorphically():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    expected = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    np.testing.assert_allclose(rg.softmax(rg.tensor(z), 1)._array, expected, rtol=1e-13)
    np.testing.assert_allclose(rg.log_softmax(rg.tensor(z), 1).exp()._array, expected, rtol=1e-13)
    np.testing.assert_allclose(
        rg.logsumexp(rg.tensor(z), 1)._array, np.log(np.exp(z).sum(1)), rtol=1e-13
    )


def test_logsumexp_over_several_dims_keeps_what_it_is_told():
    a = np.random.default_rng(0).standard_normal((2, 3, 4))
    expected = np.log(np.exp(a).sum((0, 2)))
    np.testing.assert_allclose(rg.logsumexp(rg.tensor(a), (0, 2))._array, expected, rtol=1e-13)
    assert rg.logsumexp(rg.tensor(a), (0, 2), keepdim=True).shape == (1, 3, 1)


def test_logsumexp_of_integers_is_floating_and_softmax_refuses_them():
    assert rg.logsumexp(rg.tensor([1, 2]), 0).dtype == rg.float32
    for function in (rg.softmax, rg.log_softmax):
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            function(rg.tensor([1, 2]), 0)
    assert rg.softmax(rg.tensor([1, 2]), 0, dtype=rg.float64).dtype == rg.float64


def test_softmax_of_a_scalar_is_one():
    x = leaf(3.0)
    assert rg.softmax(x, 0).item() == 1.0
    assert rg.log_softmax(x, -1).item() == 0.0
    assert grad(rg.softmax(x, 0), x)[0].item() == 0.0


def test_a_dim_out_of_range_raises():
    with pytest.raises(IndexError, match="Dimension out of range"):
        rg.softmax(rg.ones(2), 1)


def test_softmin_is_the_softmax_of_the_negative():
    x = rg.tensor([0.0, 1.0])
    np.testing.assert_array_equal(softmin(x, 0)._array, rg.softmax(-x, 0)._array)


def test_logsumexp_needs_a_dim():
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "dim"'):
        rg.logsumexp(rg.ones(2))
