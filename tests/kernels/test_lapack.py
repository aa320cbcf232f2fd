"""Kernels of linear algebra against SciPy's LAPACK: the same pivots, the same packing."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import lapack, matrix_functions

scipy_linalg = pytest.importorskip("scipy.linalg")

KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.complex128])


def values(kind, *shape):
    real = np.random.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        real = real + 1j * np.random.standard_normal(shape)
    return real.astype(kind)


def close(found, expected, scale=100):
    assert found.dtype == expected.dtype
    tolerance = scale * np.finfo(found.dtype).eps * max(1, abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@KINDS
@pytest.mark.parametrize("by_loop", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 5), (40, 40), (70, 40), (40, 70)])
def test_lu_is_getrf(kind, m, n, by_loop, monkeypatch):
    if by_loop:
        monkeypatch.setattr(lapack, "eliminated", lambda *arrays: False)
    x = values(kind, 2, m, n)
    packed, pivots, info = lapack.lu(x, pivot=True)
    (getrf,) = scipy_linalg.get_lapack_funcs(("getrf",), (x,))
    for i in range(2):
        wanted, places, _ = getrf(x[i])
        close(packed[i], wanted, 1000)
        np.testing.assert_array_equal(pivots[i], places + 1)
    assert not info.any()


@KINDS
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 30])
def test_ldl_is_sytrf(kind, hermitian, n):
    x = values(kind, n, n)
    x = x + (x.conj().T if hermitian else x.T)
    x[range(n), range(n)] *= 0.1
    name = "hetrf" if hermitian and x.dtype.kind == "c" else "sytrf"
    (trf,) = scipy_linalg.get_lapack_funcs((name,), (x,))
    wanted, places, _ = trf(x, lower=1)
    packed, pivots, info = lapack.ldl(x, hermitian=hermitian)
    np.testing.assert_array_equal(pivots, places)
    close(packed, np.tril(wanted), 1000)
    assert info == 0


@KINDS
@pytest.mark.parametrize("by_loop", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (7, 3), (40, 1), (70, 150), (530, 9)])
def test_triangular_systems_are_scipys(kind, by_loop, upper, unit, n, columns, monkeypatch):
    if by_loop:
        monkeypatch.setattr(lapack, "solved", lambda *arrays: False)
    a = values(kind, n, n) / n + np.eye(n, dtype=kind)
    a[np.tril_indices(n, -1) if upper else np.triu_indices(n, 1)] = np.nan
    b = values(kind, n, columns)
    lower = not upper
    wanted = scipy_linalg.solve_triangular(np.nan_to_num(a), b, lower=lower, unit_diagonal=unit)
    by_columns = np.asfortranarray(a), np.asfortranarray(b), wanted
    for system, right, expected in ((a, b, wanted), by_columns, (a, b[:, ::-1], wanted[:, ::-1])):
        found = lapack.solve_triangular(system, right, upper=upper, left=True, unit=unit)
        turned = lapack.solve_triangular(system.T, right.T, upper=lower, left=False, unit=unit)
        close(found, expected, 1000)
        close(turned.T, expected, 1000)
        assert found.flags.f_contiguous
        assert turned.flags.f_contiguous


@KINDS
def test_triangular_systems_of_stacks_broadcast(kind):
    a, b = values(kind, 3, 1, 10, 10) / 10 + np.eye(10, dtype=kind), values(kind, 2, 10, 4)
    found = lapack.solve_triangular(a, b, upper=True, left=True, unit=False)
    close(np.triu(a) @ found, np.broadcast_to(b, (3, 2, 10, 4)), 1000)


def test_failures_are_reported_for_each_matrix_of_a_stack():
    x = np.stack([np.eye(3), np.zeros((3, 3)), np.diag([1.0, -1.0, 2.0])])
    assert lapack.cholesky(x, upper=False)[1].tolist() == [0, 1, 2]
    inverse, info = lapack.inv(x)
    assert info.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(inverse[[0, 2]], np.linalg.inv(x[[0, 2]]))
    assert lapack.lu(x, pivot=True)[2].tolist() == [0, 1, 0]


@pytest.mark.parametrize("by_loop", [False, True])
def test_interchanges_are_done_one_after_the_other_for_each_matrix_of_a_stack(by_loop, monkeypatch):
    if by_loop:
        monkeypatch.setattr(lapack, "interchanged", lambda *arrays: False)
    pivots = np.array([[2, 3], [1, 4], [4, 2]], np.int32)
    orders = lapack.permutation(pivots, 4)
    assert orders.tolist() == [[1, 2, 0, 3], [0, 3, 2, 1], [3, 1, 2, 0]]
    assert lapack.permutation(pivots[:, :1], 4).tolist()[0] == [1, 0, 2, 3]
    with pytest.raises(IndexError):
        lapack.permutation(pivots + np.int32(1), 4)


@KINDS
@pytest.mark.parametrize("size", [1e-3, 1.0, 10.0])
def test_exponentials_are_scipys(kind, size):
    x = values(kind, 3, 4, 4) * kind(size)
    scale = 20_000 if size > 1 else 1000  # large matrices cost SciPy four digits
    close(matrix_functions.exp(x), scipy_linalg.expm(x), scale)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_slopes_of_the_exponential_are_scipys(kind):
    x, move = values(kind, 4, 4), values(kind, 4, 4) * 1e5
    found = matrix_functions.exp_derivative(x, move)
    close(found, scipy_linalg.expm_frechet(x, move, compute_expm=False), 1000)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_both_ways_to_the_adjugate_agree(kind, n):
    x, move = values(kind, 2, n, n), values(kind, 2, n, n)
    wanted = np.linalg.det(x)[:, None, None] * np.linalg.inv(x)
    close(matrix_functions.singular_adjugate(x), wanted, 1e4)
    close(matrix_functions.adjugate(x), wanted, 1e4)
    derivative = matrix_functions.adjugate_derivative(x, move)
    close(matrix_functions.singular_derivative(x, move), derivative, 1e4)
