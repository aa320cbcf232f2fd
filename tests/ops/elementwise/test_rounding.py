"""Rounding, remainders and signs: values, derivatives, dtypes, division by zero."""

import math

import numpy as np
import pytest

import retrograd as rg

INF, NAN = math.inf, math.nan


def leaf(*values):
    return rg.tensor([float(v) for v in values], dtype=rg.float64, requires_grad=True)


def gradients(out, *inputs):
    return [g.tolist() for g in rg.autograd.grad(out.sum(), inputs)]


@pytest.mark.parametrize(
    ("name", "values", "derivative"),
    [
        ("floor", [1, -3, 2], 0),
        ("ceil", [2, -2, 2], 0),
        ("trunc", [1, -2, 2], 0),
        ("round", [2, -2, 2], 0),
        ("frac", [0.5, -0.5, 0], 1),
        ("sign", [1, -1, 1], 0),
    ],
)
def test_rounding_values_and_derivatives(name, values, derivative):
    x = leaf(1.5, -2.5, 2)
    out = getattr(rg, name)(x)
    assert out.tolist() == values
    assert gradients(out, x) == [[derivative] * 3]


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "frac", "sign"])
def test_real_rounding_saves_nothing(name):
    x = leaf(1.5, -2.5, 2)
    y = x * 2
    out = getattr(y, name)()
    with rg.no_grad():
        y.sigmoid_()
    assert gradients(out, x) == [[2.0 if name == "frac" else 0.0] * 3]


def test_rounding_keeps_integers_and_refuses_bools():
    for name in ("floor", "ceil", "trunc", "round"):
        function = getattr(rg, name)
        x = rg.tensor([5, -5])
        out = function(x)
        assert (out.dtype, out.tolist()) == (rg.int64, [5, -5])
        assert not np.shares_memory(out._array, x._array)
        with pytest.raises(NotImplementedError, match="not implemented for"):
            function(rg.tensor([True]))


def test_round_to_decimals():
    assert rg.round(rg.tensor([1234.5, 0.15]), decimals=-2).tolist() == [1200.0, 0.0]
    x = leaf(1.52, 2.27)
    out = rg.round(x, decimals=1)
    np.testing.assert_allclose(out.tolist(), [1.5, 2.3], rtol=1e-15)
    assert gradients(out, x) == [[0, 0]]
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        rg.round(rg.tensor([1234]), decimals=-2)


def test_remainder_takes_the_sign_of_the_divisor_and_fmod_that_of_the_dividend():
    x = rg.tensor([5.5, -5.5, INF, 5.0])
    np.testing.assert_array_equal(
        (x % rg.tensor([INF, INF, 2.0, -3.0])).tolist(), [5.5, INF, NAN, -1.0]
    )
    np.testing.assert_array_equal(
        x.fmod(rg.tensor([INF, INF, 2.0, -3.0])).tolist(), [5.5, -5.5, NAN, 2.0]
    )
    assert (5 % rg.tensor([2, -3])).tolist() == [1, -1]


def test_remainder_gradients_equal_reference():
    x, y = leaf(5, -5), leaf(3, 3)
    assert gradients(x % y, x, y) == [[1, 1], [-1, 2]]
    assert gradients(x.fmod(y), x, y) == [[1, 1], [-1, 1]]
    assert gradients(3 % y, y) == [[-1, -1]]
    assert gradients(7 % y, y) == [[-2, -2]]


@pytest.mark.parametrize(
    "divide",
    [
        lambda x: x % 0,
        lambda x: x.fmod(0),
        lambda x: x // 0,
        lambda x: 5 // (x - x),
    ],
)
def test_integer_division_by_zero_raises(divide):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(rg.tensor([5, -5]))


def test_floor_division():
    assert (rg.tensor([5, -5]) // 2).tolist() == [2, -3]
    assert (7 // rg.tensor([2, -2])).tolist() == [3, -4]
    assert (rg.tensor([5.0, -5.0]) // 0.0).tolist() == [INF, -INF]
    x = leaf(5, -5)
    assert gradients(x // 3, x) == [[0, 0]]
    y = rg.tensor([7.0])
    y //= 2
    assert y.tolist() == [3.0]


def test_heaviside_slope_goes_to_the_value_at_zero():
    x, values = leaf(-1, 0, 2, NAN), leaf(0.5, 0.5, 0.5, 0.5)
    out = rg.heaviside(x, values)
    assert out.tolist() == [0, 0.5, 1, 0]
    assert gradients(out, x, values) == [[0, 0, 0, 0], [0, 1, 0, 0]]


def test_copysign_slopes_at_zero_to_second_order():
    x = leaf(1, 0, -2)
    out = rg.copysign(x, rg.tensor([-1.0, -1.0, -0.0], dtype=rg.float64))
    assert [math.copysign(1, v) for v in out.tolist()] == [-1, -1, -1]
    (derivative,) = rg.autograd.grad(out.sum(), x, create_graph=True)
    assert derivative.tolist() == [-1, 0, 1]
    assert gradients(derivative, x) == [[0, 0, 0]]
    assert rg.copysign(rg.tensor([1]), -1).dtype is rg.float32


def test_signbit_tells_zeros_apart():
    assert rg.signbit(rg.tensor([-0.0, 0.0])).tolist() == [True, False]


def test_two_numbers_are_divided_and_rounded_down():
    assert rg.floor_divide(7, 2).item() == 3
    assert rg.floor_divide(-7.5, 2).item() == -4.0
    assert rg.floor_divide(7, 2).dtype == rg.int64


@pytest.mark.parametrize(
    ("dtype", "least", "above"),
    [
        (rg.bfloat16, 9.183549615799121e-41, 1.0078125),
        (rg.float16, 5.960464477539063e-08, 1.0009765625),
        (rg.float32, 1.401298464324817e-45, 1.0000001192092896),
    ],
    ids=str,
)
def test_nextafter_is_the_next_number_of_the_dtype(dtype, least, above):
    x = rg.tensor([0.0, 1.0], dtype=dtype)
    assert rg.nextafter(x, x + 1).tolist() == [least, above]
    with pytest.raises(NotImplementedError, match="nextafter"):
        rg.nextafter(rg.tensor([1]), rg.tensor([2]))
