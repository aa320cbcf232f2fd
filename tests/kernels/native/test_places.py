"""Gathering and adding at indices by the loops in C gives what NumPy's way gives."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import native, sums
from retrograd.kernels.native import loops, places
from retrograd.kernels.native import threads as pool

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C are not built")


@pytest.fixture
def in_numpy(monkeypatch):
    """Calls a function without the loops in C."""

    def call(function, *args):
        with monkeypatch.context() as changed:
            changed.setattr(native, "loops", None)
            return function(*args)

    return call


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i8", "f2"])
@pytest.mark.parametrize("width", [1, 2, 33])
@pytest.mark.parametrize("index", ["i8", "i4"])
def test_rows_that_meet_are_added_up(dtype, width, index, in_numpy):
    where = np.random.randint(0, 50, 3000).astype(index)
    values = (10 * np.random.standard_normal((3000, width))).astype(dtype)
    found = sums.scattered_rows(values, where, 50)
    expected = in_numpy(sums.scattered_rows, values, where, 50)
    assert found.dtype == expected.dtype
    tolerance = 1 if dtype == "f2" else 1e-3 if dtype in ("f4", "c8") else 1e-10
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_rows_are_added_in_order_for_any_number_of_threads():
    where = np.random.randint(0, 700, 4000)
    values = np.random.standard_normal((4000, 40)).astype("f")
    expected = np.zeros((700, 40), "f")
    for row, value in zip(where, values, strict=True):
        expected[row] += value
    try:
        for count in (1, 2, 5):
            loops.set_threads(count)
            found = sums.scattered_rows(values, where, 700)
            np.testing.assert_array_equal(found, expected)
    finally:
        pool.set_threads(pool.threads())


def test_nan_and_infinity_are_added_like_numbers():
    values = np.random.standard_normal((3000, 2))
    values[0], values[1], values[2] = np.nan, np.inf, -np.inf
    found = sums.scattered_rows(values, np.array([0, 1, 2, *[3] * 2997]), 5)
    np.testing.assert_array_equal(found[:3], values[:3])
    assert np.isfinite(found[3:]).all()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i2", "?"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("index", ["i8", "i4"])
def test_entries_along_an_axis_are_taken(dtype, axis, index):
    x = (100 * np.random.standard_normal((6, 7, 8))).astype(dtype)
    where = np.random.randint(-6, 6, (30, 4)).astype(index)
    found = places.taken_by_loops(x, where, axis)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x.take(where, axis))


def test_an_index_that_is_not_there_raises_what_numpy_raises():
    x = np.random.standard_normal((5, 100))
    where = np.full(50, 5)
    with pytest.raises(IndexError, match="out of bounds"):
        places.taken_by_loops(x, where, 0)
    with pytest.raises(IndexError, match="out of bounds"):
        sums.scattered_rows(np.random.standard_normal((50, 100)), where, 5)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize(("rows", "width"), [(9000, 130), (70, 9000), (50000, 40), (40, 60)])
def test_rows_are_added_to_zeros_and_to_what_is_there(dtype, rows, width):
    values = np.random.standard_normal((60, width)).astype(dtype)
    where = np.random.randint(0, rows, 60)
    where[7:9] = where[3]
    start = np.random.standard_normal((rows, width)).astype(dtype)
    for onto in (None, start):
        expected = np.zeros_like(start) if onto is None else onto.copy()
        np.add.at(expected, where, values)
        sums.scattered_rows(values + 1, where, rows)  # memory that is taken again has numbers
        np.testing.assert_array_equal(sums.scattered_rows(values, where, rows, onto), expected)


def test_elements_of_each_row_are_gathered_and_added_back():
    x = np.random.standard_normal((40, 70))
    where = np.random.randint(0, 70, (40, 60))
    found = places.gather(x, where, 40, 70)
    np.testing.assert_array_equal(found, np.take_along_axis(x, where, 1))
    out, expected = np.zeros((40, 70)), np.zeros((40, 70))
    assert places.scatter_add(out, found, where, 40, 70)
    np.add.at(expected, (np.arange(40)[:, None], where), found)
    np.testing.assert_array_equal(out, expected)


def test_what_is_not_there_in_a_row_leaves_nothing_behind():
    out, where = np.zeros((40, 70)), np.zeros((40, 60), np.int64)
    where[20, 30] = 70
    assert not places.scatter_add(out, np.ones((40, 60)), where, 40, 70)
    assert not out.any()
    assert places.gather(np.ones((40, 70)), where, 40, 70) is None


def test_the_loops_refuse_arrays_that_do_not_fit():
    x, index = np.zeros((3, 4)), np.zeros((3, 2), np.int64)
    y = np.zeros((3, 2))
    for loop in (loops.gather, loops.scatter_add):
        right = (y, x) if loop is loops.gather else (x, y)
        assert loop(*right, index)
        for wrong in [(right[0], right[1][:1], index), (*right, index[:1]), (*right, y)]:
            with pytest.raises(ValueError, match="do not fit together"):
                loop(*wrong)
    for wrong in [(x, y, index[:, 0]), (x[:, ::2], y, index[:, 0]), (x, x, index)]:
        with pytest.raises(ValueError, match="do not fit together"):
            loops.add_rows(*wrong)
    with pytest.raises(ValueError, match="do not fit together"):
        loops.take(np.zeros((1, 2, 3)), np.zeros((1, 4, 3), "f"), np.zeros(2, np.int64))
