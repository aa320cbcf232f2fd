"""Cholesky's and the LDL factorization: triangles, info, packing, Hermitian gradients."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.linalg import LinAlgError

KINDS = pytest.mark.parametrize("complex", [False, True])


def definite(*shape, complex=False):
    x = values(*shape, complex=complex)
    return x @ x.swapaxes(-1, -2).conj() + np.eye(shape[-1])


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 0), (0, 2, 2)])
def test_factors_multiply_to_the_matrix_and_one_triangle_is_read(shape, complex):
    a = definite(*shape, complex=complex)
    low = rg.linalg.cholesky(rg.tensor(np.tril(a)))
    up = rg.linalg.cholesky(rg.tensor(np.triu(a)), upper=True)
    close(low @ low.mH, a)
    close(up.mH @ up, a)
    assert not low.triu(1).any()


@KINDS
@pytest.mark.parametrize("upper", [False, True])
def test_the_gradient_is_hermitian_and_right_along_hermitian_directions(upper, complex):
    a, w = definite(3, 3, complex=complex), values(3, 3, complex=complex, seed=1)
    move = values(3, 3, complex=complex, seed=2)
    move = move + move.conj().T

    def loss(array):
        x = rg.tensor(array, requires_grad=True)
        return x, (rg.linalg.cholesky(x, upper=upper) * rg.tensor(w)).real.sum()

    x, value = loss(a)
    found = grad(value, x)[0].numpy()
    close(rg.tensor(found), found.conj().T)
    step = 1e-6
    change = (loss(a + step * move)[1].item() - loss(a - step * move)[1].item()) / (2 * step)
    assert np.sum((found.conj() * move).real) == pytest.approx(change, rel=1e-7)


def test_indefinite_matrices_raise_or_say_which_minor():
    a = rg.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])
    with pytest.raises(LinAlgError, match=r"\(Batch element 1\).*leading minor of order 2 is not"):
        rg.linalg.cholesky(a)
    found = rg.linalg.cholesky_ex(a)
    assert found._fields == ("L", "info")
    assert found.info.tolist() == [0, 2]
    assert found.L[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(RuntimeError, match="positive-definite"):
        rg.linalg.cholesky_ex(a, check_errors=True)


@KINDS
@pytest.mark.parametrize("upper", [False, True])
def test_systems_and_inverses_from_the_factor(upper, complex):
    a, b = definite(3, 3, complex=complex), values(2, 3, 2, complex=complex)
    factor = rg.linalg.cholesky(rg.tensor(a), upper=upper)
    close(rg.cholesky_solve(rg.tensor(b), factor, upper), np.linalg.solve(a, b))
    close(rg.cholesky_inverse(factor, upper), np.linalg.inv(a))
    close(factor.cholesky_inverse(upper), np.linalg.inv(a))


@KINDS
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 20])
def test_ldl_solves_symmetric_and_hermitian_systems(size, hermitian, complex):
    a = values(2, size, size, complex=complex)
    a = a + (a.conj() if hermitian else a).swapaxes(-1, -2)
    a[:, range(size), range(size)] *= 0.01  # so that blocks of two are chosen
    b = values(2, size, 3, complex=complex)
    LD, pivots = rg.linalg.ldl_factor(rg.tensor(a), hermitian=hermitian)
    if size > 2:
        assert (pivots < 0).any()
    close(rg.tensor(a) @ rg.linalg.ldl_solve(LD, pivots, rg.tensor(b), hermitian=hermitian), b)


def test_ldl_has_no_derivative_but_its_systems_have_one_in_the_right_side():
    a = rg.tensor(definite(3, 3), requires_grad=True)
    LD, pivots = rg.linalg.ldl_factor(a)
    with pytest.raises(NotImplementedError, match="linalg_ldl_factor_ex is not implemented"):
        grad(LD.sum(), a)
    b = rg.ones(3, 1, dtype=rg.float64, requires_grad=True)
    (found,) = grad(rg.linalg.ldl_solve(LD.detach(), pivots, b).sum(), b)
    close(found, np.linalg.solve(a.detach().numpy(), np.ones((3, 1))))


@KINDS
@pytest.mark.parametrize("hermitian", [False, True])
def test_the_gradient_of_ldl_systems_is_that_of_solve(hermitian, complex):
    a = values(2, 4, 4, complex=complex)
    a = a + (a.conj() if hermitian else a).swapaxes(-1, -2)
    b, g = values(2, 4, 3, complex=complex), rg.tensor(values(2, 4, 3, complex=complex, seed=7))
    LD, pivots = rg.linalg.ldl_factor(rg.tensor(a), hermitian=hermitian)
    b = rg.tensor(b, requires_grad=True)
    (found,) = grad(rg.linalg.ldl_solve(LD, pivots, b, hermitian=hermitian), b, g)
    close(found, np.linalg.solve(a.conj().swapaxes(-1, -2), g.numpy()))


def test_ldl_reports_a_zero_pivot():
    assert rg.linalg.ldl_factor_ex(rg.zeros(2, 2)).info.item() == 1
    with pytest.raises(LinAlgError, match="The pivot 1 is zero"):
        rg.linalg.ldl_factor(rg.zeros(2, 2))


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="b should have at least 2 dimensions"):
        rg.cholesky_solve(rg.ones(2), rg.eye(2))
    with pytest.raises(RuntimeError, match="Incompatible shapes"):
        rg.cholesky_solve(rg.ones(3, 1), rg.eye(2))
    with pytest.raises(RuntimeError, match="square matrices"):
        rg.linalg.cholesky(rg.ones(2, 3))


def test_a_pivot_that_is_nan_is_not_positive():
    nan = float("nan")
    a = rg.tensor([[[nan, 1.0], [1.0, 1.0]], [[1.0, nan], [nan, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    assert rg.linalg.cholesky_ex(a).info.tolist() == [1, 2, 0]
    assert rg.linalg.cholesky_ex(a).L[2].tolist() == [[2.0, 0.0], [0.0, 1.0]]
    with pytest.raises(LinAlgError, match="not positive-definite"):
        rg.linalg.cholesky(a[0])


def test_an_infinite_pivot_leaves_the_minors_after_it_indefinite():
    A = rg.diag(rg.tensor([1.0, float("inf"), 3.0]))
    with pytest.raises(rg.linalg.LinAlgError, match="minor of order 3 is not positive-definite"):
        rg.linalg.cholesky(A)
    found = rg.linalg.cholesky_ex(rg.stack([A, rg.diag(rg.tensor([1.0, 4.0, float("inf")]))]))
    assert found.info.tolist() == [3, 0]
    assert found.L[1].tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, float("inf")]]
