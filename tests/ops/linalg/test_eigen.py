"""Eigenvalues and eigenvectors: decompositions, triangles, gauges, coinciding values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.linalg import LinAlgError

KINDS = pytest.mark.parametrize("complex", [False, True])


def hermitian(*shape, complex=False, seed=0):
    x = values(*shape, complex=complex, seed=seed)
    return x + x.swapaxes(-1, -2).conj()


def assert_derivative(function, array, move):
    """The gradient of a real function along a direction is its central difference."""
    x = rg.tensor(array, requires_grad=True)
    found = grad(function(x), x)[0].numpy()
    step = 1e-6
    above, below = (function(rg.tensor(array + s * step * move)).item() for s in (1, -1))
    expected = (above - below) / (2 * step)
    assert np.sum((found.conj() * move).real) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)])
def test_hermitian_matrices_are_rebuilt_from_either_triangle(shape, complex):
    a = hermitian(*shape, complex=complex)
    for UPLO, part in (("L", np.tril(a)), ("u", np.triu(a))):
        found = rg.linalg.eigh(rg.tensor(part), UPLO)
        assert found._fields == ("eigenvalues", "eigenvectors")
        d, v = found
        assert not d.dtype.is_complex
        close((v * d.unsqueeze(-2)) @ v.mH, a)
        close(rg.linalg.eigvalsh(rg.tensor(part), UPLO), d.numpy())


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)])
def test_general_matrices_are_rebuilt_and_complex(shape, complex):
    a = values(*shape, complex=complex)
    found = rg.linalg.eig(rg.tensor(a))
    assert found._fields == ("eigenvalues", "eigenvectors")
    d, v = found
    assert d.dtype is v.dtype is rg.complex128
    close((v * d.unsqueeze(-2)) @ rg.linalg.inv(v), a)
    close(rg.linalg.eigvals(rg.tensor(a)), d.numpy())


def test_single_precision_stays():
    assert rg.linalg.eig(rg.eye(2)).eigenvectors.dtype is rg.complex64
    assert rg.linalg.eigvals(rg.eye(2)).dtype is rg.complex64
    assert rg.linalg.eigh(rg.eye(2)).eigenvalues.dtype is rg.float32


@KINDS
def test_gradients_of_what_has_no_phase(complex):
    w = rg.tensor(values(3, 3, seed=1))
    a, move = hermitian(3, 3, complex=complex), hermitian(3, 3, complex=complex, seed=2)
    assert_derivative(lambda x: (rg.linalg.eigh(x).eigenvectors.abs() ** 2 * w).sum(), a, move)
    a, move = values(3, 3, complex=complex), values(3, 3, complex=complex, seed=2)
    assert_derivative(lambda x: (rg.linalg.eig(x).eigenvectors.abs() ** 2 * w).sum(), a, move)


PHASE = "specified up to multiplication by e.{i phi}. The specified loss function depends on this"


@pytest.mark.parametrize("name", ["eigh", "eig"])
def test_a_loss_of_the_phase_raises_and_project_drops_that_part(name):
    function = getattr(rg.linalg, name)
    a = rg.tensor(hermitian(3, 3, complex=True), requires_grad=True)
    with pytest.raises(RuntimeError, match=f"linalg_{name}_backward: .*{PHASE} quantity"):
        grad(function(a).eigenvectors.real.sum(), a)
    (found,) = grad(function(a, gauge="project").eigenvectors.real.sum(), a)
    # the same as for vectors turned back to the phase that they have at this matrix
    vectors = function(a).eigenvectors
    overlap = (vectors.detach().conj() * vectors).sum(0)
    (wanted,) = grad((vectors * overlap.conj() / overlap.abs()).real.sum(), a)
    close(found, wanted.numpy())
    with pytest.raises(ValueError, match="gauge must be 'raise' or 'project'"):
        function(a, gauge="ignore")


def test_equal_eigenvalues_leave_their_own_gradient_finite():
    a = rg.eye(3, dtype=rg.float64, requires_grad=True)
    close(grad(rg.linalg.eigvalsh(a).sum(), a)[0], np.eye(3))
    close(grad(rg.linalg.eigh(a).eigenvalues.sum(), a)[0], np.eye(3))
    close(grad(rg.linalg.eigvals(a).real.sum(), a)[0], np.eye(3))
    (found,) = grad(rg.linalg.eigh(a).eigenvectors.sum(), a)
    assert not found.isfinite().all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="Expected UPLO argument to be 'L' or 'U', but got X"):
        rg.linalg.eigh(rg.eye(2), "X")
    with pytest.raises(RuntimeError, match="square matrices"):
        rg.linalg.eigvals(rg.ones(2, 3))
    with pytest.raises(LinAlgError, match="contained non-finite values"):
        rg.linalg.eig(rg.full((2, 2), float("nan")))


@pytest.mark.parametrize("function", [rg.linalg.eigh, rg.linalg.eigvalsh])
def test_symmetric_matrices_of_integers_have_no_kernel(function):
    with pytest.raises(NotImplementedError, match=r"linalg.eigh: Expected a floating point"):
        function(rg.eye(2, dtype=rg.int64))
