"""LU factorization: shapes, pivots, unpacking, solving, and what singular matrices give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.linalg import LinAlgError

KINDS = pytest.mark.parametrize("complex", [False, True])


@KINDS
@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize(
    "shape", [(3, 3), (2, 5, 3), (2, 3, 5), (40, 70), (70, 40), (0, 3), (3, 0), (0, 2, 2)]
)
def test_factors_multiply_to_the_matrix(shape, pivot, complex):
    a = values(*shape, complex=complex)
    P, L, U = rg.linalg.lu(rg.tensor(a), pivot=pivot)
    k = min(shape[-2:])
    assert L.shape == (*shape[:-1], k)
    assert U.shape == (*shape[:-2], k, shape[-1])
    close(P @ L @ U if pivot else L @ U, a)
    if pivot:
        assert (abs(L.numpy()) <= np.sqrt(2) + 1e-12).all()


def test_pivots_are_interchanges_from_one():
    LU, pivots = rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [4.0, 4.0]]))
    assert LU.tolist() == [[4.0, 4.0], [0.25, 1.0]]
    assert pivots.tolist() == [2, 2]
    assert pivots.dtype is rg.int32


@KINDS
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_systems_from_the_factors(left, adjoint, complex):
    a, b = values(2, 3, 3, complex=complex), values(4, 1, 3, 3, complex=complex)
    found = rg.linalg.lu_solve(
        *rg.linalg.lu_factor(rg.tensor(a)), rg.tensor(b), left=left, adjoint=adjoint
    ).numpy()
    matrix = a.conj().swapaxes(-1, -2) if adjoint else a
    np.testing.assert_allclose(matrix @ found if left else found @ matrix, b + 0 * (a @ b))


def test_singular_matrices_raise_or_give_info():
    with pytest.raises(LinAlgError, match=r"U\[1,1\] is zero and using it on lu_solve"):
        rg.linalg.lu_factor(rg.zeros(2, 2))
    found = rg.linalg.lu_factor_ex(rg.tensor([[1.0, 1.0], [1.0, 1.0]]))
    assert found._fields == ("LU", "pivots", "info")
    assert found.info.item() == 2
    close(rg.linalg.lu(rg.ones(2, 2)).U, [[1, 1], [0, 0]])


def test_unpacking_leaves_away_what_is_not_wanted():
    packed = rg.linalg.lu_factor(rg.eye(2))
    assert rg.lu_unpack(*packed, unpack_pivots=False).P.shape == (0,)
    assert rg.lu_unpack(*packed, unpack_data=False).L.shape == (0,)
    with pytest.raises(RuntimeError, match="int32"):
        rg.lu_unpack(packed.LU, packed.pivots.long())
    with pytest.raises(RuntimeError, match="int32"):
        rg.linalg.lu_solve(packed.LU, packed.pivots.long(), rg.eye(2))


@pytest.mark.parametrize("lead", [(1,), (1, 1)])
def test_the_permutation_has_the_dimensions_of_the_factors(lead):
    LU, pivots = rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    P, L, U = rg.lu_unpack(LU.expand(*lead, 2, 2), pivots)
    assert P.shape == L.shape == U.shape == (*lead, 2, 2)
    assert P.reshape(2, 2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert rg.lu_unpack(LU, pivots.expand(*lead, 2)).P.shape == (2, 2)
    with pytest.raises(RuntimeError, match="shape"):
        rg.lu_unpack(LU.expand(2, 2, 2), pivots)
