"""Older functions of linear algebra: their own arguments and results, and what is said of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.ops.arrays import values

import retrograd as rg
from retrograd import modes


def close(found, expected, tolerance=1e-11):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("complex", [False, True])
def test_older_names_have_their_own_arguments_and_results(complex):
    a = values(4, 3, complex=complex)
    x = rg.tensor(a)
    U, S, V = x.svd()
    close((U * S) @ V.mH, a)
    assert x.svd(some=False).U.shape == (4, 4)
    only = x.svd(compute_uv=False)
    assert (only.U.shape, only.V.shape) == ((4, 4), (3, 3))
    assert not only.U.any()
    close(only.S, S.numpy())
    assert x.qr()._fields == ("Q", "R")
    assert x.qr(some=False).Q.shape == (4, 4)
    assert len(rg.lu(x)) == 2
    assert rg.ones(2, 2).lu()[0].tolist() == [[1.0, 1.0], [1.0, 0.0]]  # singular
    assert rg.lu(x, get_infos=True)[2].item() == 0
    square = x[:3] @ x[:3].mH + rg.eye(3)
    b = rg.tensor(values(3, 2, complex=complex))
    close(square @ b.lu_solve(*square.lu()), b.numpy())
    low = square.cholesky()
    close(low @ low.mH, square.numpy())
    close(square.cholesky(upper=True), low.mH.numpy())


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve_takes_the_right_side_first(upper, transpose):
    a, b = values(3, 3) + 3 * np.eye(3), values(3, 2)
    triangle = np.triu(a) if upper else np.tril(a)
    found = rg.triangular_solve(rg.tensor(b), rg.tensor(a), upper, transpose)
    assert found._fields == ("solution", "cloned_coefficient")
    close(rg.tensor(triangle.T if transpose else triangle) @ found.solution, b)
    close(found.cloned_coefficient, a)


def test_results_have_the_types_of_their_functions():
    assert type(rg.slogdet(rg.eye(2))) is type(rg.eye(2).slogdet()) is rg.return_types.slogdet
    assert type(rg.linalg.slogdet(rg.eye(2))) is rg.return_types.linalg_slogdet


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_matrices_of_integers_have_no_kernel_for_cholesky():
    with pytest.raises(NotImplementedError, match="cholesky: Expected a floating point"):
        rg.cholesky(rg.eye(2, dtype=rg.int64))
    with pytest.raises(RuntimeError) as raised:  # which looks at the dtype first, in PyTorch
        rg.linalg.cholesky(rg.eye(2, dtype=rg.int64))
    assert raised.type is RuntimeError


OLDER = {
    "cholesky": lambda a: rg.cholesky(a),
    "qr": lambda a: a.qr(),
    "lu": lambda a: rg.lu(a),
    "lu_solve": lambda a: rg.lu_solve(a, *rg.linalg.lu_factor(a)),
    "triangular_solve": lambda a: rg.triangular_solve(a, a),
}


@pytest.mark.parametrize("name", OLDER)
def test_functions_with_newer_names_warn_once(name, monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    with pytest.warns(UserWarning, match=f"{name} is deprecated"):
        OLDER[name](rg.eye(2))
    with warnings.catch_warnings(action="error"):
        OLDER[name](rg.eye(2))
