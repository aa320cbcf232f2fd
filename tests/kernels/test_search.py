"""Selection and search, against NumPy row by row."""

import numpy as np
import pytest

from retrograd.kernels.search import first_largest, kth, searched

NAN = float("nan")


def tied(shape, nan=True):
    """A few values that repeat, NaN among them."""
    choices = [-1.0, 0.0, 2.0, 3.0, NAN] if nan else [-1.0, 0.0, 2.0, 3.0]
    return np.random.default_rng(0).choice(choices, shape)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.bool_])
def test_the_kth_smallest_is_the_one_that_a_stable_sort_puts_there(axis, dtype):
    x = tied((6, 7, 5), nan=np.dtype(dtype).kind == "f").astype(dtype)
    order = np.argsort(x, axis, kind="stable")
    for k in range(1, x.shape[axis] + 1):
        np.testing.assert_array_equal(kth(x, axis, k), order.take([k - 1], axis))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9])
def test_each_row_is_searched_as_if_alone(n, side):
    rows, values = np.sort(tied((3, 4, n)), -1), tied((3, 4, 6))
    found = searched(rows, values, side)
    assert found.dtype == np.int64
    for at in np.ndindex(3, 4):
        np.testing.assert_array_equal(found[at], np.searchsorted(rows[at], values[at], side))


def test_the_first_of_the_largest_of_a_bag_wins_and_nan_is_largest():
    rows = np.array([[1.0, 2.0], [1.0, 5.0], [0.0, NAN], [7.0, NAN], [7.0, 1.0]])
    np.testing.assert_array_equal(first_largest(rows, np.array([0, 2])), [[0, 1], [3, 2]])
