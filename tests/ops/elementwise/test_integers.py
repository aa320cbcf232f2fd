"""Integers keep all their digits on the way into a tensor, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

BIG = 2**63 + 1
ODD = 2**53 + 1  # the first integer that float64 lacks
MAKERS = [rg.tensor, rg.as_tensor, rg.asarray]


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        ([1, BIG], rg.uint64, [1, BIG]),
        (BIG, rg.uint64, BIG),
        (2**64 - 1, rg.uint64, 2**64 - 1),
        ([ODD, 1.0], rg.int64, [ODD, 1]),
        ([[ODD, True], [2.9, -1.9]], rg.int64, [[ODD, 1], [2, -1]]),
        ([BIG, 1.0], rg.uint64, [BIG, 1]),
        ([2**63 - 1, -(2**63)], rg.int64, [2**63 - 1, -(2**63)]),
        ([BIG, 0], rg.bool, [True, False]),
        ([-1, -255], rg.uint8, [255, 1]),
        ([1.5, 2**70], rg.float64, [1.5, 2.0**70]),
        ([True, False], rg.int64, [1, 0]),
        ([], rg.int64, []),
    ],
)
def test_numbers_are_stored_exactly(make, data, dtype, expected):
    made = make(data, dtype=dtype)
    assert made.dtype is dtype
    assert made.tolist() == expected


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1, 2**53], rg.int64),
        ([True, 2], rg.int64),
        ([True, 2.5], rg.float32),
        ([1.5, 2**70], rg.float32),
        ([1, 2.5, 1j], rg.complex64),
        ([], rg.float32),
    ],
)
def test_dtype_is_that_of_the_highest_kind_of_number(data, dtype):
    assert rg.tensor(data).dtype is dtype


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("data", "dtype", "kind", "text"),
    [
        ([-1, BIG], None, ValueError, "Overflow when unpacking long long"),
        ([1, BIG], None, ValueError, "Overflow when unpacking long long"),
        (2**63, None, ValueError, "Overflow when unpacking long long"),
        ([-1, BIG], rg.int64, ValueError, "Overflow when unpacking long long"),
        ([2**64], rg.uint64, OverflowError, "int too big to convert"),
        ([-1, 1], rg.uint64, OverflowError, "can't convert negative int to unsigned"),
        ([1, 300], rg.uint8, RuntimeError, "without overflow"),
        ([-256], rg.uint8, RuntimeError, "without overflow"),
        ([-1.9], rg.uint8, RuntimeError, "without overflow"),
        ([1, 2**31], rg.int32, RuntimeError, "without overflow"),
        ([1, 1e19], rg.int64, RuntimeError, "without overflow"),
        ([1, float("inf")], rg.int64, RuntimeError, "without overflow"),
        ([1, float("nan"), 3], rg.int64, RuntimeError, "without overflow"),
        (float("-inf"), rg.int32, RuntimeError, "without overflow"),
        ([[1, 2.0], [3]], rg.int64, ValueError, "expected sequence of length 2 at dim 1"),
        ([10**400, 1.0], None, OverflowError, "int too large to convert to float"),
        ([np.uint64(BIG), 1], None, RuntimeError, "Promotion for uint16, uint32, uint64"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(make, data, dtype, kind, text):
    with pytest.raises(kind, match=text):
        make(data, dtype=dtype)


def fill(dtype, value):
    return rg.zeros(2, dtype=dtype).fill_(value)


def assign(dtype, value):
    x = rg.zeros(2, dtype=dtype)
    x[:] = value
    return x


def full(dtype, value):
    return rg.full((2,), value, dtype=dtype)


def full_like(dtype, value):
    return rg.full_like(rg.zeros(2, dtype=dtype), value)


FILLERS = [fill, assign, full, full_like]


@pytest.mark.parametrize("filler", FILLERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (rg.int64, ODD, ODD),
        (rg.int64, 2.0**24 + 1, 2**24 + 1),  # no float32 on the way
        (rg.int64, 2.9, 2),
        (rg.uint64, BIG, BIG),
        (rg.uint8, -1, 255),
        (rg.uint64, -1, 2**64 - 1),
        (rg.int64, True, 1),
        (rg.int32, np.int64(7), 7),
        (rg.bool, 3, True),
        (rg.float32, float("inf"), float("inf")),
        (rg.float64, 2**70, 2.0**70),
    ],
)
def test_a_number_fills_a_tensor_exactly(filler, dtype, value, expected):
    assert filler(dtype, value).tolist() == [expected] * 2


@pytest.mark.parametrize("filler", FILLERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (rg.int64, 2**63),
        (rg.int64, 1e19),
        (rg.int64, float("inf")),
        (rg.int32, float("nan")),
        (rg.uint64, 2**64),
        (rg.uint8, 300),
        (rg.uint8, -300),
        (rg.uint8, np.int64(300)),
        (rg.int8, 200),
        (rg.float32, 1e39),
        (rg.float32, 1j),
    ],
)
def test_a_number_that_does_not_fit_fills_nothing(filler, dtype, value):
    with pytest.raises((RuntimeError, ValueError, OverflowError), match=r"(?i)overflow|too big"):
        filler(dtype, value)


@pytest.mark.parametrize(
    "filler", [each for each in FILLERS if each.__name__ != "assign"], ids=lambda f: f.__name__
)
def test_a_number_beyond_half_floats_is_assigned_as_infinity_and_fills_nothing(filler):
    x = rg.zeros(2, dtype=rg.float16)
    x[0] = 1e5
    assert x.tolist() == [float("inf"), 0.0]
    with pytest.raises((RuntimeError, ValueError, OverflowError), match=r"(?i)overflow|too big"):
        filler(rg.float16, 1e5)


def test_large_unsigned_integers_come_out_as_they_are():
    x = rg.tensor([2**64 - 1, 0], dtype=rg.uint64)
    assert x.tolist() == [2**64 - 1, 0]
    assert x[0].item() == int(x[0]) == 2**64 - 1


def test_whole_numbers_evenly_spaced_must_fit():
    with pytest.raises(RuntimeError, match="without overflow"):
        rg.linspace(0, 300, 2, dtype=rg.uint8)
    assert rg.linspace(0, 255, 2, dtype=rg.uint8).tolist() == [0, 255]


def test_a_fraction_is_cut_off_where_integers_are_filled():
    x, first = rg.tensor([3, 4]), rg.tensor([True, False])
    assert x.masked_fill(first, -1.5).tolist() == [-1, 4]
    assert x.index_fill(0, rg.tensor([1]), 0.5).tolist() == [3, 0]
    assert x.bool().masked_fill(first, 0.5).tolist() == [True, True]


@pytest.mark.parametrize("value", [1e30, float("nan"), 1j])
def test_a_fill_value_that_integers_cannot_hold_is_refused(value):
    with pytest.raises(RuntimeError, match="without overflow"):
        rg.tensor([3, 4]).masked_fill(rg.tensor([True, False]), value)
