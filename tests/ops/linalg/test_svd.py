"""Singular values and vectors, gauges, degenerate cases, low-rank approximations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.linalg import LinAlgError

KINDS = pytest.mark.parametrize("complex", [False, True])


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4), (0, 2), (2, 0), (0, 2, 2)])
def test_matrices_are_rebuilt(shape, complex):
    a = values(*shape, complex=complex)
    m, n = shape[-2:]
    k = min(m, n)
    for full in (False, True):
        found = rg.linalg.svd(rg.tensor(a), full_matrices=full)
        assert found._fields == ("U", "S", "Vh")
        U, S, Vh = found
        assert (U.shape[-1], Vh.shape[-2]) == ((m, n) if full else (k, k))
        close((U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :], a)
        close(rg.linalg.svdvals(rg.tensor(a)), S.numpy())
        assert not S.dtype.is_complex


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_gradients_of_what_has_no_phase(shape, complex):
    a, move = values(*shape, complex=complex), values(*shape, complex=complex, seed=1)
    m, n = shape
    left, right = rg.tensor(values(m, 2, seed=2)), rg.tensor(values(2, n, seed=3))

    def loss(x):
        U, S, Vh = rg.linalg.svd(x)
        moduli = (U[:, :2].abs() ** 2 * left).sum() + (Vh[:2].abs() ** 2 * right).sum()
        return moduli + ((U[:, :2] * S[:2].log()) @ Vh[:2]).real[0].sum()

    x = rg.tensor(a, requires_grad=True)
    found = grad(loss(x), x)[0].numpy()
    above, below = (loss(rg.tensor(a + s * 1e-6 * move)).item() for s in (1, -1))
    expected = (above - below) / 2e-6
    assert np.sum((found.conj() * move).real) == pytest.approx(expected, rel=1e-6)


def test_a_loss_of_the_phase_raises_and_project_drops_that_part():
    a = rg.tensor(values(3, 3, complex=True), requires_grad=True)
    with pytest.raises(RuntimeError, match="svd_backward: The singular vectors in the complex"):
        grad(rg.linalg.svd(a).U.real.sum(), a)
    U = rg.linalg.svd(a, gauge="project").U
    (found,) = grad(U.real.sum(), a)
    assert found.isfinite().all()
    invariant = (rg.linalg.svd(a, gauge="project").U.abs() ** 2)[0, 0]
    close(grad(invariant, a)[0], grad((rg.linalg.svd(a).U.abs() ** 2)[0, 0], a)[0].numpy())


def test_zero_and_equal_singular_values_leave_their_own_gradient_finite():
    a = rg.tensor(np.diag([2.0, 2.0, 0.0])[:, :2], requires_grad=True)
    close(grad(rg.linalg.svdvals(a).sum(), a)[0], np.eye(3, 2))
    close(grad(rg.linalg.svd(a).S.sum(), a)[0], np.eye(3, 2))
    zero = rg.zeros(3, 2, dtype=rg.float64, requires_grad=True)
    assert grad(rg.linalg.svd(zero, full_matrices=False).S.sum(), zero)[0].isfinite().all()


def test_values_that_are_not_finite_raise():
    with pytest.raises(LinAlgError, match=r"linalg.svd: The algorithm failed to converge"):
        rg.linalg.svd(rg.full((2, 2), float("nan")))


NAN = [[1.0, float("nan"), 2.0], [3.0, 4.0, 5.0], [1.0, 1.0, 7.0]]


@pytest.mark.parametrize("dtype", [rg.float32, rg.complex128])
@pytest.mark.parametrize(
    "function",
    [
        rg.linalg.pinv,
        rg.pinverse,
        lambda A: rg.linalg.lstsq(A, rg.ones_like(A)),
        rg.linalg.matrix_rank,
        rg.linalg.svdvals,
        rg.linalg.cond,
        lambda A: rg.linalg.norm(A, 2),
        lambda A: rg.linalg.norm(A, "nuc"),
    ],
)
def test_what_needs_singular_values_names_the_algorithm_that_failed(function, dtype):
    A = rg.tensor([NAN, NAN], dtype=dtype)[0]
    with pytest.raises(LinAlgError, match=r"linalg.svd: The algorithm failed to converge"):
        function(A)


@pytest.mark.parametrize("function", [rg.linalg.eig, rg.linalg.eigvals])
def test_eigenvalues_of_what_is_not_a_number_raise(function):
    with pytest.raises(LinAlgError, match=r"linalg.eig: The algorithm failed to converge"):
        function(rg.tensor(NAN))


def test_determinants_of_what_is_not_a_number_have_such_derivatives():
    A = rg.tensor([NAN, np.diag([1.0, 2.0, 0.0]).tolist()], requires_grad=True)
    (g,) = grad(rg.linalg.det(A).sum(), A, create_graph=True)
    assert g[0].isnan().all()
    close(g[1], np.diag([0.0, 0.0, 2.0]))
    (second,) = grad(g.sum(), A)
    assert second[0].isnan().all()
    assert second[1].isfinite().all()


@KINDS
@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (2, 6, 6)])
def test_low_rank_matrices_are_found_by_projection(shape, complex):
    a = values(*shape[:-1], 2, complex=complex) @ values(*shape[:-2], 2, shape[-1], seed=1)
    U, S, V = rg.svd_lowrank(rg.tensor(a), q=3)
    assert S.shape == (*shape[:-2], 3)
    close((U * S.unsqueeze(-2)) @ V.mH, a)
    U, S, V = rg.svd_lowrank(rg.tensor(a), q=None, niter=None)
    assert S.shape == (*shape[:-2], min(6, *shape[-2:]))
    close((U * S.unsqueeze(-2)) @ V.mH, a)
    U, S, V = rg.svd_lowrank(rg.tensor(a + 1), q=2, M=rg.ones(1, dtype=rg.float64))
    close((U * S.unsqueeze(-2)) @ V.mH, a)


def test_principal_components_are_of_centred_rows():
    a = values(6, 4)
    centred = a - a.mean(0)
    U, S, V = rg.pca_lowrank(rg.tensor(a), q=4)
    close((U * S) @ V.mT, centred)
    assert rg.pca_lowrank(rg.tensor(a), center=False)[1].shape == (4,)
    with pytest.raises(ValueError, match=r"q\(=5\) must be non-negative integer and not greater"):
        rg.pca_lowrank(rg.tensor(a), q=5)
    with pytest.raises(ValueError, match="niter"):
        rg.pca_lowrank(rg.tensor(a), niter=-1)
