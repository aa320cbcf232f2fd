"""Comparisons, tests and logic: values, dtypes, operators, what has no order."""

import math
import operator

import pytest

import retrograd as rg

INF, NAN = math.inf, math.nan


def test_comparison_operators_give_bool_tensors():
    x, y = rg.tensor([1.0, 2.0, NAN]), rg.tensor([2.0, 2.0, NAN])
    for name, expected in {
        "eq": [False, True, False],
        "ne": [True, False, True],
        "lt": [True, False, False],
        "le": [True, True, False],
        "gt": [False, False, False],
        "ge": [False, True, False],
    }.items():
        found = getattr(operator, name)(x, y)
        assert (found.dtype, found.tolist()) == (rg.bool, expected)
        assert getattr(x, name)(y).tolist() == getattr(rg, name)(x, y).tolist() == expected


def test_comparison_with_other_objects_is_python_s():
    x = rg.tensor([2.0])
    assert (x == None) is False  # noqa: E711
    assert (x == "a") is False
    assert (x != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="not supported between instances"):
        operator.lt(x, None)
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        rg.eq(x, "a")


def test_tensors_stay_hashable():
    x, y = rg.ones(1), rg.ones(1)
    assert len({x, y}) == 2
    assert {x: 1}[x] == 1


def test_numbers_are_compared_in_the_tensor_s_dtype():
    assert (rg.tensor([0.1]) == 0.1).tolist() == [True]
    assert (rg.tensor([1]) < 1.5).tolist() == [True]
    assert (rg.tensor([2.0]) > rg.tensor([1])).tolist() == [True]
    assert (rg.tensor([2]) > 1).tolist() == [True]


def test_complex_numbers_are_equal_or_not_but_have_no_order():
    z = rg.tensor([1j])
    assert (z == 1j).tolist() == [True]
    assert (z != 1j).tolist() == [False]
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(NotImplementedError, match="Complex numbers have no order"):
            compare(z, 1)


def test_comparisons_record_nothing():
    x = rg.ones(2, requires_grad=True)
    assert not (x == x).requires_grad
    assert not rg.isnan(x).requires_grad
    assert not rg.logical_and(x, x).requires_grad


def test_shapes_that_do_not_broadcast_raise():
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        rg.lt(rg.ones(2), rg.ones(3))


def test_tests_for_special_values():
    x = rg.tensor([1.0, NAN, INF, -INF])
    assert rg.isnan(x).tolist() == [False, True, False, False]
    assert rg.isinf(x).tolist() == [False, False, True, True]
    assert rg.isfinite(x).tolist() == [True, False, False, False]
    assert rg.isposinf(x).tolist() == [False, False, True, False]
    assert rg.isneginf(x).tolist() == [False, False, False, True]
    assert rg.isfinite(rg.tensor([complex(1, INF)])).tolist() == [False]
    assert rg.isreal(rg.tensor([1 + 0j, 1j])).tolist() == [True, False]
    assert rg.isnan(rg.tensor([1])).tolist() == [False]
    with pytest.raises(RuntimeError, match="isposinf"):
        rg.isposinf(rg.tensor([1j]))


def test_isclose_allclose_equal():
    x, y = rg.tensor([1.0, NAN, INF]), rg.tensor([1.000001, NAN, INF])
    assert rg.isclose(x, y).tolist() == [True, False, True]
    assert rg.isclose(x, y, equal_nan=True).tolist() == [True, True, True]
    assert rg.allclose(rg.tensor([1.0]), rg.tensor([1.0, 1.0])) is True
    assert rg.allclose(rg.tensor([1.0]), rg.tensor([1.1])) is False
    assert rg.equal(rg.tensor([1.0]), rg.tensor([1.0, 1.0])) is False
    assert rg.equal(rg.tensor([1.0]), rg.tensor([1])) is True
    with pytest.raises(RuntimeError, match="Long did not match Float"):
        rg.isclose(rg.tensor([1]), rg.tensor([1.0]))
    with pytest.raises(RuntimeError, match="rtol must be greater than or equal to zero"):
        rg.isclose(x, y, rtol=-1)


def test_logical_functions_take_any_dtype():
    assert rg.logical_and(rg.tensor([1.0, 0.0]), rg.tensor([2, 2])).tolist() == [True, False]
    assert rg.logical_or(rg.tensor([NAN]), rg.tensor([0j])).tolist() == [True]
    assert rg.logical_xor(rg.tensor([1]), rg.tensor([2.0])).tolist() == [False]
    assert rg.logical_not(rg.tensor([1.0, 0.0])).tolist() == [False, True]


def test_bitwise_operators():
    assert (rg.tensor([5]) & 3).tolist() == [1]
    assert (3 & rg.tensor([5])).tolist() == [1]
    assert (rg.tensor([5]) | 3).tolist() == [7]
    assert (rg.tensor([5]) ^ 3).tolist() == [6]
    assert (~rg.tensor([5])).tolist() == [-6]
    assert (~rg.tensor([True, False])).tolist() == [False, True]
    mixed = rg.tensor([True]) & rg.tensor([5])
    assert (mixed.dtype, mixed.tolist()) == (rg.int64, [1])


def test_shifts():
    assert (rg.tensor([5]) << 1).tolist() == [10]
    assert (1 << rg.tensor([5])).tolist() == [32]
    assert (rg.tensor([5, -1]) >> 1).tolist() == [2, -1]
    assert (rg.tensor([1]) << 64).tolist() == [0]
    assert (rg.tensor([True]) << 1).tolist() == [2]


def test_bits_of_floating_tensors_raise():
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        rg.tensor([1.0]) & 1
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        rg.tensor([1.0]) << 1
    with pytest.raises(TypeError, match="only implemented on integer and Boolean-type tensors"):
        ~rg.tensor([1.0])


def test_in_place_operators():
    x = rg.tensor([5])
    x &= 3
    x <<= 2
    assert x.tolist() == [4]
    y = rg.tensor([1.0, 3.0])
    assert y.lt_(2).tolist() == [1.0, 0.0]


def test_isclose_without_tolerances_compares_integers_exactly():
    large = rg.tensor([2**62])
    assert rg.isclose(large, large + 1, rtol=0, atol=0).tolist() == [False]


def test_infinity_is_close_to_itself_alone_whatever_the_tolerance():
    inf = float("inf")
    x, y = rg.tensor([inf, inf, 1.0, -inf]), rg.tensor([inf, 1.0, 2.0, inf])
    assert rg.isclose(x, y, atol=inf).tolist() == [True, False, True, False]
    assert rg.isclose(x, y, rtol=inf).tolist() == [True, False, True, False]
