"""Cumulative forms: values, ties, stability, and in-place forms."""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.engine.namespaces import arrays as xp

NAN, INF = float("nan"), float("inf")


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 16])
def test_recur_equals_the_loop(n, reverse):
    rng = np.random.default_rng(n)
    x, f = rng.standard_normal((2, n))
    expected, before = np.zeros(n), 0.0
    for k in reversed(range(n)) if reverse else range(n):
        before = expected[k] = x[k] + f[k] * before
    np.testing.assert_allclose(
        xp.linear_recurrence(x, f, dim=0, reverse=reverse), expected, rtol=1e-12
    )


def test_cumprod_has_derivatives_at_zeros():
    x = leaf([2.0, 0.0, 3.0])
    (first,) = grad(x.cumprod(0).sum(), x, create_graph=True)
    np.testing.assert_array_equal(first._array, [1.0, 8.0, 0.0])
    np.testing.assert_array_equal(grad(first.sum(), x)[0]._array, [4.0, 6.0, 2.0])


def test_a_tie_of_cummax_goes_to_the_latest():
    x = leaf([1.0, 1.0, 2.0, 0.0, 2.0])
    values, indices = rg.cummax(x, 0)
    np.testing.assert_array_equal(values._array, [1.0, 1.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(indices._array, [0, 1, 2, 2, 4])
    (g,) = grad(values.sum(), x)
    np.testing.assert_array_equal(g._array, [1.0, 1.0, 2.0, 0.0, 1.0])


def test_nan_stays_in_cummax_and_cummin():
    x = rg.tensor([1.0, NAN, 3.0, NAN, 0.0])
    for function in (rg.cummax, rg.cummin):
        values, indices = function(x, 0)
        np.testing.assert_array_equal(values._array, [1.0, NAN, NAN, NAN, NAN])
        np.testing.assert_array_equal(indices._array, [0, 1, 1, 3, 3])


def test_logcumsumexp_neither_overflows_nor_loses_small_terms():
    x = leaf([-1000.0, 0.0, 1000.0, 1000.0])
    out = rg.logcumsumexp(x, 0)
    expected = [-1000.0, 0.0, 1000.0, 1000.0 + np.log(2.0)]
    np.testing.assert_allclose(out._array, expected, rtol=1e-15)
    (g,) = grad(out, x, rg.ones_like(out))
    np.testing.assert_allclose(g._array, [1.0, 1.0, 1.5, 0.5], rtol=1e-12)


def test_logcumsumexp_of_infinities():
    for sums in ([-INF, -INF, 1.0, INF], [-INF, -1000.0, 3.0], [1e10, INF, INF], [-1e30, -1e10]):
        out = rg.logcumsumexp(rg.tensor(sums), 0)
        np.testing.assert_array_equal(out._array, np.array(sums, np.float32))


@pytest.mark.parametrize(
    ("terms", "sums"),
    [
        ([1 + 2j, complex(INF, 1), 5], [1 + 2j, complex(INF, 1), complex(INF, 1)]),
        ([complex(INF, 0), complex(INF, 0)], [complex(INF, 0), complex(INF, 0)]),
        ([complex(INF, 1), complex(INF, 2)], [complex(INF, 1), complex(INF, math.nan)]),
        ([complex(-INF, 4), complex(-INF, 1), 2], [complex(-INF, 0), complex(-INF, 0), 2]),
        ([complex(math.nan, 1), complex(INF, 2)], [complex(math.nan, math.nan)] * 2),
        (
            [complex(-INF, 4), -1e4 + 1j, 1e9, complex(INF, 2)],
            [complex(-INF, 0), -1e4 + 1j, 1e9, complex(INF, 2)],
        ),
    ],
)
def test_logcumsumexp_keeps_the_angle_of_an_infinite_complex_term(terms, sums):
    found = rg.logcumsumexp(rg.tensor(terms, dtype=rg.complex128), 0).numpy()
    np.testing.assert_allclose(found.view(float), np.array(sums, complex).view(float), rtol=1e-15)


def test_the_last_logcumsumexp_is_the_logsumexp_of_complex_numbers():
    rng = np.random.default_rng(0)
    x = rg.tensor(rng.standard_normal(6) * 9 + 1j * rng.standard_normal(6))
    last = rg.logcumsumexp(x, 0)[-1].item()
    np.testing.assert_allclose(last, rg.logsumexp(x, 0).item(), rtol=1e-12)


def test_integers_are_refused_where_pytorch_does():
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        rg.logcumsumexp(rg.tensor([1, 2]), 0)


def test_zero_dimensional_tensors_are_their_own_cumulative_forms():
    x = rg.tensor(2.0)
    for function in (rg.cumsum, rg.cumprod, rg.logcumsumexp):
        assert function(x, 0).shape == ()
        assert function(x, -1).item() == 2.0


def test_cumsum_writes_in_place():
    x = rg.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x
    np.testing.assert_array_equal(x._array, [1.0, 3.0, 6.0])


@pytest.mark.parametrize("dtype", [rg.bfloat16, rg.float16, rg.float32])
def test_cumsum_from_zero_keeps_its_dtype(dtype):
    out = rg.linspace(0, 1, 5).repeat(60).to(dtype).cumsum(0)
    assert out.dtype is dtype
    assert out[4].item() == 2.5


def test_diff_of_order_two_with_ends_joined():
    x = leaf([1.0, 4.0, 9.0])
    out = rg.diff(x, 2, prepend=rg.tensor([0.0], dtype=rg.float64))
    np.testing.assert_array_equal(out._array, [2.0, 2.0])
    np.testing.assert_array_equal(grad(out.sum(), x)[0]._array, [-1.0, -1.0, 1.0])


def test_diff_of_booleans_is_exclusive_or():
    out = rg.diff(rg.tensor([True, False, False]))
    np.testing.assert_array_equal(out._array, [True, False])


def test_diff_beyond_the_length_is_empty():
    assert rg.diff(rg.ones(3, 4), n=10).shape == (3, 0)


def test_diff_refuses_a_scalar_and_a_negative_order():
    with pytest.raises(RuntimeError, match="at least one-dimensional"):
        rg.diff(rg.tensor(1.0))
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        rg.diff(rg.ones(3), -1)


def test_trapezoid_with_sample_points_along_any_dim():
    y = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    x = rg.tensor([0.0, 1.0, 3.0])
    np.testing.assert_array_equal(rg.trapezoid(y, x, dim=0)._array, [10.0, 13.0])
    np.testing.assert_array_equal(
        rg.cumulative_trapezoid(y, x, dim=0)._array, [[2.0, 3.0], [10.0, 13.0]]
    )


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ({"prepend": rg.ones(1)}, "prepend or append to be the same dimension as input"),
        ({"append": rg.ones(2, 1, 1)}, "prepend or append to be the same dimension as input"),
        ({"append": rg.ones(3, 1)}, r"input\.size\(0\) = 2, but got tensor\.size\(0\) = 3"),
        ({"prepend": rg.ones(1, 2), "dim": 0}, r"input\.size\(1\) = 3, but got tensor\.size\(1\)"),
    ],
)
def test_diff_refuses_ends_of_another_shape(ends, text):
    with pytest.raises(RuntimeError, match=text):
        rg.diff(rg.ones(2, 3), **ends)


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_the_points_of_a_trapezoid_are_as_many_as_its_samples(name):
    with pytest.raises(RuntimeError, match="There must be one `x` value for each sample point"):
        getattr(rg, name)(rg.ones(2, 3), rg.ones(2))


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_trapezoids_of_sample_points_with_more_dimensions(dim):
    y, x = rg.arange(6.0).reshape(2, 3), rg.arange(12.0).reshape(2, 2, 3) ** 2
    expected = [rg.trapezoid(y, each, dim=dim) for each in x]
    assert rg.trapezoid(y, x, dim=dim).equal(rg.stack(expected))
    expected = [rg.cumulative_trapezoid(y, each, dim=dim) for each in x]
    assert rg.cumulative_trapezoid(y, x, dim=dim).equal(rg.stack(expected))


def test_trapezoids_need_sample_points():
    with pytest.raises(RuntimeError, match="one `x` value for each sample point"):
        rg.trapezoid(rg.ones(2), rg.tensor(1.0))


def test_trapezoids_of_small_integers_do_not_wrap_around():
    y, x = rg.tensor([1, 200, 200], dtype=rg.uint8), rg.tensor([200, 100, 3], dtype=rg.uint8)
    assert rg.trapezoid(y).item() == 300.5
    assert rg.trapezoid(y, x).item() == -29450.0
    assert rg.cumulative_trapezoid(y).tolist() == [100.5, 300.5]
    assert rg.trapezoid(y > 1).item() == 1.5


@pytest.mark.parametrize("term", [complex(-math.inf, math.nan), complex(math.inf, math.nan)])
def test_a_complex_sum_of_exponentials_is_nan_from_the_first_nan_on(term):
    found = rg.logcumsumexp(rg.tensor([1 + 1j, term, 0.5], dtype=rg.complex128), 0)
    assert found[0].item() == 1 + 1j
    for part in (found.real, found.imag):
        assert part[1:].isnan().all()
