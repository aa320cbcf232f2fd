"""The loops in C sort, and select, as NumPy's stable sort does."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels.native import loops, order
from retrograd.kernels.native import threads as pool

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C are not built")


def drawn(shape, dtype):
    numbers = np.random.default_rng(0)
    x = (numbers.standard_normal(shape) * 20).astype(dtype)
    if x.dtype.kind == "f":
        for special in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            x[numbers.random(shape) < 0.05] = special
    return x


def places(x, axis, descending):
    """What NumPy says, a descending order with equal elements in theirs."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - backwards


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u4", "u8"])
def test_equal_elements_keep_their_order_and_nan_is_the_largest(dtype, descending):
    x = drawn((50, 300), dtype)
    found = order.ranked(x, 1, descending)
    np.testing.assert_array_equal(found, places(x, 1, descending))


@pytest.mark.parametrize("k", [1, 2, 24, 150, 299, 300])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u4", "u8"])
def test_the_first_are_those_that_a_stable_sort_puts_first(dtype, k):
    x = drawn((50, 300), dtype)
    for descending in (False, True):
        sorted_first = places(x, 1, descending)[:, :k]
        np.testing.assert_array_equal(order.first(x, 1, k, descending), np.sort(sorted_first, 1))
    np.testing.assert_array_equal(order.kth(x, 1, k)[:, 0], places(x, 1, False)[:, k - 1])


@pytest.mark.parametrize("k", [1, 7, 900, 9_999])
@pytest.mark.parametrize("step", [-1, 0, 1])
def test_rows_in_order_and_rows_of_one_number_are_no_exception(step, k):
    x = np.tile(step * np.arange(10_000.0), (2, 1))
    for descending in (False, True):
        expected = np.sort(places(x, 1, descending)[:, :k], 1)
        np.testing.assert_array_equal(order.first(x, 1, k, descending), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_lie_along_any_dimension(axis):
    x = drawn((64, 65, 66), "f4")[::-1]
    np.testing.assert_array_equal(order.ranked(x, axis, False), places(x, axis, False))
    median = places(x, axis, False).take([32], axis)
    np.testing.assert_array_equal(order.kth(x, axis, 33), median)


def test_the_order_is_the_same_for_any_number_of_threads():
    x, threads = drawn((300, 1000), "f4"), pool.threads()
    many = order.ranked(x, 1, True)
    try:
        pool.set_threads(1)
        np.testing.assert_array_equal(order.ranked(x, 1, True), many)
    finally:
        pool.set_threads(threads)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((100, 100), ">f4"),
        np.zeros((100, 100), "i2"),
        np.zeros((100, 100), "g"),
        np.zeros((1000, 10)),
        np.zeros((10, 10)),
    ],
)
def test_other_bytes_and_short_rows_are_left_to_numpy(x):
    assert order.ranked(x, 1, False) is None
    assert order.kth(x, 1, 1) is None


def test_arrays_that_do_not_fit_are_refused():
    x = np.zeros((3, 4))
    for out, given in (
        (np.zeros((3, 4)), x),
        (np.zeros((4, 3), np.int64), x),
        (np.zeros((3, 4), np.int64), x.astype("c16")),
        (np.zeros((3, 4), np.int64), x.astype(">f8")),
        (np.zeros((0, 4), np.int64), x[:0]),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            loops.rank(out, given, False)
    out = np.zeros((3, 2), np.int64)
    for k in (0, 1, 3, 5, -1, 2**40):
        with pytest.raises(ValueError, match="do not fit together"):
            loops.select(out, x, k, False)
    loops.select(out, x, 2, True)
