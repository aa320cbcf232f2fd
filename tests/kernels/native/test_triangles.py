"""Triangles of matrices in C: copies of them, and the systems that they are."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels.native import loops, products, triangles

pytestmark = pytest.mark.skipif(
    loops is None or not products.has_blas(), reason="no loops in C, or NumPy has another BLAS"
)


def some(dtype, *shape):
    values = np.random.standard_normal((2, *shape))
    return (values[0] + 1j * values[1] if dtype in "FD" else values[0]).astype(dtype)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_systems_are_solved_where_they_lie(dtype, upper, unit):
    def solves(a, x):
        part = (np.triu if upper else np.tril)(a, 0)
        if unit:
            part[..., range(a.shape[-1]), range(a.shape[-1])] = 1
        given, apart, tolerance = x.copy(), np.empty_like(x), 1e-4 if dtype in "fF" else 1e-12
        assert triangles.solved(a, x, apart, upper, unit)
        np.testing.assert_array_equal(x, given)
        assert triangles.solved(a, x, x, upper, unit)
        np.testing.assert_array_equal(x, apart)
        np.testing.assert_allclose(part @ x, given, rtol=tolerance, atol=tolerance)

    def easy(*shape):
        return some(dtype, *shape) / (4 * shape[-1]) + np.eye(shape[-1], dtype=dtype)

    for n, k in ((1, 1), (2, 3), (70, 1), (70, 5), (5, 70), (9, 150)):
        for a in (easy(n, n), easy(n, n).T, easy(2 * n, 2 * n)[n:, n:]):
            for x in (some(dtype, n, k), some(dtype, k, n).T, some(dtype, n, k + 2)[:, 1:-1]):
                solves(a, x)
    solves(easy(3, 1, 4, 4), some(dtype, 3, 2, 5, 4).swapaxes(-1, -2))
    solves(easy(4, 4), some(dtype, 3, 2, 4, 5))


def test_systems_that_do_not_fit_are_left_alone():
    a, x = np.ones((5, 5)), np.ones((5, 2))
    wide = np.ones((10, 4), complex)[::2]
    odd = np.ndarray((5, 2), x.dtype, np.zeros(200, np.int8), strides=(20, 8))
    assert not triangles.solved(a.astype("f"), x, x, True, False)
    assert not triangles.solved(a, odd, x, True, False)
    assert not triangles.solved(np.ones((2, 5, 5)), x, x, True, False)
    assert not triangles.solved(np.ones((1000, 1000)), *[np.ones((1000, 2))] * 2, True, False)
    for columns in (wide[:, ::2], wide[:, :0]):
        assert not triangles.solved(a.astype("D"), columns, columns, True, False)


@pytest.mark.parametrize("dtype", "?bhefdFD")
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (9, 20), (20, 9), (17, 17), (2, 3, 9, 8), (2, 0, 3)])
def test_triangles_are_numpys_wherever_they_lie(dtype, lower, shape):
    size = (*shape[:-2], 2 * shape[-2], 3 * shape[-1])
    large = (np.random.standard_normal(size) * 100).astype(dtype)
    strided = large[..., ::-2, ::3]
    for x in (strided, strided.copy(), strided.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
        for diagonal in (-(10**30), -30, -9, -3, 0, 1, 8, 30, 10**30):
            near = min(max(diagonal, -40), 40)
            wanted = np.tril(x, near) if lower else np.triu(x, near + 1)
            found = triangles.part(x, diagonal, lower)
            assert found.dtype == x.dtype
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, wanted)


def test_other_arrays_have_no_triangle_here():
    assert triangles.part(np.ones((3, 3), np.clongdouble), 0, True) is None
    assert triangles.part(np.ma.ones((3, 3)), 0, True) is None
