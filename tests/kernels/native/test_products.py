"""Large products of matrices over the pool give what NumPy gives, and leave BLAS as it was."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from retrograd.kernels import lapack
from retrograd.kernels.native import loops, products
from retrograd.kernels.native import threads as pool

pytestmark = pytest.mark.skipif(
    loops is None or not products.has_blas(), reason="no loops in C, or NumPy has another BLAS"
)


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch):
    monkeypatch.setattr(products, "LARGE", 1)


def some(dtype, *shape):
    values = np.random.standard_normal((2, *shape))
    return (values[0] + 1j * values[1] if dtype in "FD" else values[0]).astype(dtype)


def right(x, y, bias=None):
    """Assert that the product is taken, and that it is right."""
    found = products.product(x, y, bias)
    wide = [np.asarray(a, np.result_type(a, np.float64)) for a in (x, y)]
    expected = np.matmul(*wide) + (0 if bias is None else bias)
    assert found.dtype == x.dtype
    assert found.flags.c_contiguous
    tolerance = {"e": 0.1, "f": 1e-4, "F": 1e-4}.get(x.dtype.char, 1e-12)
    np.testing.assert_allclose(found, expected, rtol=tolerance / 50, atol=tolerance)


@pytest.mark.parametrize("dtype", "efdFD")
@pytest.mark.parametrize("shape", [(5, 7, 9), (130, 3, 40), (3, 200, 100), (1, 4, 1), (1, 1, 5)])
@pytest.mark.parametrize("biased", [False, True])
def test_matrices_are_multiplied(dtype, shape, biased):
    m, k, n = shape
    bias = some(dtype, n) if biased else None
    right(some(dtype, m, k), some(dtype, k, n), bias)
    right(some(dtype, k, m).T, some(dtype, k, n), bias)
    right(some(dtype, m, k), some(dtype, n, k).T, bias)
    right(some(dtype, k, m).T, some(dtype, n, k).T, bias)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (70, 70), (0, 0), (2, 3, 9, 9), (0, 2, 2)])
def test_hermitian_matrices_are_factored_where_they_lie(dtype, upper, shape):
    x = some(dtype, *shape)
    given = x @ x.swapaxes(-1, -2).conj() + shape[-1] * np.eye(shape[-1], dtype=dtype)
    read = (np.triu if upper else np.tril)(given)  # of the other triangle nothing is read
    read += (np.tril if upper else np.triu)(np.full_like(given, np.nan), -1 if upper else 1)
    found = lapack.by_columns(read)
    assert products.factored(found, upper)
    np.testing.assert_array_equal(found, (np.triu if upper else np.tril)(found))
    low = found.swapaxes(-1, -2).conj() if upper else found
    tolerance = 1e-4 if dtype in "fF" else 1e-12
    np.testing.assert_allclose(
        low @ low.swapaxes(-1, -2).conj(), given, rtol=tolerance, atol=tolerance * shape[-1]
    )


@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan, np.inf])
def test_matrices_without_a_factor_are_not_factored(pivot):
    given = np.stack([np.eye(3), np.diag([1.0, 2.0, pivot])])
    assert not products.factored(lapack.by_columns(given), False)
    assert not products.factored(np.eye(3, dtype="i"), False)


def test_stacks_are_multiplied_where_they_lie():
    heads = some("f", 3, 20, 4, 8).swapaxes(1, 2)  # (3, 4, 20, 8), its rows far apart
    right(heads, heads.swapaxes(-1, -2))
    right(heads, some("f", 8, 5)[None])
    right(heads, some("f", 4, 8, 5))
    right(some("f", 1, 6, 8), some("f", 2, 1, 8, 3))
    right(some("d", 100, 2, 3), some("d", 100, 3, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_reach_their_rows_and_columns(value):
    x, y = some("f", 40, 30), some("f", 30, 50)
    x[3, 4] = value
    y[5, 6] = value
    found, expected = products.product(x, y), x @ y
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_what_blas_cannot_read_is_left_to_numpy():
    x, y = some("f", 8, 8), some("f", 8, 8)
    assert products.product(x[:, ::2], y[:4]) is None
    assert products.product(x[::-1], y) is None
    assert products.product(x, y[:7]) is None
    assert products.product(x, y.astype("d")) is None
    assert products.product(np.broadcast_to(x[:1], (8, 8)), y) is None
    assert products.product(x.astype(np.int64), y.astype(np.int64)) is None
    assert products.product(x[:0], y) is None


def test_results_are_the_same_for_any_number_of_threads():
    x, y = some("f", 300, 70), some("f", 70, 90)
    expected = x @ y
    try:
        for count in (1, 2, 3, 7):
            loops.set_threads(count)
            np.testing.assert_allclose(products.product(x, y), expected, rtol=0, atol=1e-4)
    finally:
        pool.set_threads(pool.threads())


def test_products_of_several_threads_are_right():
    x, y = some("d", 200, 150), some("d", 150, 170)
    expected, found = x @ y, []

    def multiply():
        found.extend(products.product(x, y) for _ in range(30))

    threads = [threading.Thread(target=multiply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=0, atol=1e-11)


def test_the_loop_refuses_arrays_that_do_not_fit():
    x, y, out = some("f", 4, 5), some("f", 5, 6), np.empty((4, 6), "f")
    wrong = [
        (out, x, y[:4], None),
        (out.T, x, y, None),
        (out, x.astype("d"), y, None),
        (out, x, y, some("f", 5)),
        (out, x, y, 1.0),
        (out.astype("i"), x.astype("i"), y.astype("i"), None),
    ]
    for given in wrong:
        with pytest.raises(ValueError, match="do not fit together"):
            loops.gemm(*given)
