"""Determinants, above all of singular matrices: there the derivative is the matrix of cofactors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad


def of_rank(n, rank, complex=False):
    a, b = np.random.standard_normal((2, n, rank))
    if complex:
        a = a + 1j * np.random.standard_normal((n, rank))
    return a @ b.T


def expanded(x):
    """The determinant as a sum over permutations: a polynomial of the entries."""
    n, total = x.shape[-1], 0
    for p in itertools.permutations(range(n)):
        term = round(np.linalg.det(np.eye(n)[list(p)]))
        for i, j in enumerate(p):
            term = term * x[i, j]
        total = total + term
    return total


def derivatives(function, array, weights):
    x = rg.tensor(array, requires_grad=True)
    (first,) = grad(function(x).real if x.dtype.is_complex else function(x), x, create_graph=True)
    (second,) = grad((first * rg.tensor(weights)).real.sum(), x)
    return first.detach().numpy(), second.numpy()


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("n", "rank"), [(2, 0), (2, 1), (3, 1), (3, 2), (4, 2), (4, 4)])
def test_first_and_second_derivatives_are_those_of_the_polynomial(n, rank, complex):
    array, weights = of_rank(n, rank, complex), np.random.standard_normal((n, n))
    found = derivatives(rg.linalg.det, array, weights)
    for got, wanted in zip(found, derivatives(expanded, array, weights), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_the_slope_of_a_number_is_one():
    x = rg.zeros(1, 1, requires_grad=True)
    assert grad(rg.linalg.det(x), x)[0].tolist() == [[1]]


def test_singular_matrices_of_a_stack_leave_the_others_alone():
    x = rg.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]], requires_grad=True)
    (found,) = grad(x.det().sum(), x)
    assert found.tolist() == [
        [[pytest.approx(4), pytest.approx(-2)], [pytest.approx(-2), pytest.approx(1)]],
        [[3, 0], [0, 1]],
    ]


def test_the_logarithm_of_a_singular_matrix_has_no_finite_derivative():
    x = rg.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    sign, logarithm = rg.linalg.slogdet(x)
    assert (sign.item(), logarithm.item()) == (0.0, -np.inf)
    (found,) = grad(logarithm, x)
    assert not found.isfinite().any()


def test_signs_and_phases():
    found = rg.linalg.slogdet(rg.tensor([[0.0, 2.0], [1.0, 0.0]]))
    assert found._fields == ("sign", "logabsdet")
    assert found.sign.item() == -1
    assert found.logabsdet.item() == pytest.approx(np.log(2))
    assert rg.logdet(rg.tensor([[-1.0]])).isnan().item()
    found = rg.logdet(rg.tensor([[1j]], requires_grad=True))
    assert found.item() == pytest.approx(0.5j * np.pi)
    assert found.grad_fn.name() == "AddBackward0"
    assert rg.logdet(rg.zeros(2, 2)).item() == -np.inf


def test_an_empty_matrix_has_determinant_one():
    assert rg.linalg.det(rg.zeros(0, 0)).item() == 1
    assert rg.linalg.det(rg.zeros(3, 0, 0)).tolist() == [1, 1, 1]
    assert rg.linalg.slogdet(rg.zeros(0, 2, 2)).sign.shape == (0,)


def test_third_derivatives_of_invertible_matrices():
    array = np.random.standard_normal((3, 3))

    def third(function):
        x = rg.tensor(array, requires_grad=True)
        g = function(x)
        for _ in range(3):
            (g,) = grad((g**2).sum(), x, create_graph=True)
        return g.detach().numpy()

    np.testing.assert_allclose(third(rg.linalg.det), third(expanded), rtol=1e-8)


@pytest.mark.parametrize("at", [(0, 0), (1, 0), (2, 2)])
def test_the_determinant_of_a_matrix_with_nan_is_nan(at):
    a = rg.stack([rg.eye(3), rg.eye(3)])
    a[(0, *at)] = float("nan")
    assert rg.linalg.det(a).isnan().tolist() == [True, False]
    assert rg.linalg.slogdet(a).logabsdet.isnan().tolist() == [True, False]
    assert rg.logdet(a).isnan().tolist() == [True, False]
