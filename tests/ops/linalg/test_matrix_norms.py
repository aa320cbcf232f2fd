"""Norms of matrices and condition numbers, with NumPy as the reference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import values

import retrograd as rg
from retrograd.autograd import grad

KINDS = pytest.mark.parametrize("complex", [False, True])
ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)


@KINDS
@pytest.mark.parametrize("ord", ORDERS)
@pytest.mark.parametrize("dim", [(-2, -1), (0, 2), (2, 0), (1, 0)])
def test_matrix_norms_are_numpys(ord, dim, complex):
    a = values(2, 3, 4, complex=complex)
    for keepdim in (False, True):
        found = rg.linalg.matrix_norm(rg.tensor(a), ord, dim, keepdim)
        assert not found.dtype.is_complex
        close(found, np.linalg.norm(a, ord, dim, keepdim))
        close(rg.linalg.norm(rg.tensor(a), ord, dim, keepdim), found.numpy())


@KINDS
@pytest.mark.parametrize("ord", ORDERS)
def test_condition_numbers_are_numpys(ord, complex):
    a = values(3, 3, complex=complex)
    close(rg.linalg.cond(rg.tensor(a), ord), np.linalg.cond(a, ord))


def test_condition_numbers_of_singular_and_empty_matrices():
    assert rg.linalg.cond(rg.ones(2, 2), "fro").item() == np.inf
    assert rg.linalg.cond(rg.zeros(3, 0, 0)).tolist() == [0, 0, 0]
    close(rg.linalg.cond(rg.tensor(values(4, 2))), np.linalg.cond(values(4, 2)))


def test_norm_chooses_by_dimensions():
    a = rg.tensor(values(2, 3))
    close(rg.linalg.norm(a), np.linalg.norm(values(2, 3)))
    close(rg.linalg.norm(a, 1), np.linalg.norm(values(2, 3), 1))
    close(rg.linalg.norm(a, 1, 1), abs(values(2, 3)).sum(1))
    close(rg.linalg.norm(a[0], 3), np.linalg.norm(values(2, 3)[0], 3))
    assert rg.linalg.norm(rg.tensor(3.0)).item() == 3
    assert rg.linalg.norm(a, dtype=rg.complex128).dtype is rg.float64


def test_the_gradient_at_zero_is_zero_where_a_norm_has_a_kink():
    a = rg.zeros(2, 2, dtype=rg.float64, requires_grad=True)
    for ord in ("fro", 1, np.inf):
        assert grad(rg.linalg.matrix_norm(a, ord), a)[0].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: rg.linalg.matrix_norm(x, 3), "Order 3 not supported"),
        (lambda x: rg.linalg.matrix_norm(x, "abc"), "Order abc not supported"),
        (lambda x: rg.linalg.matrix_norm(x[0]), "must have at least 2 dimensions"),
        (lambda x: rg.linalg.matrix_norm(x.long()), "Expected a floating point or complex"),
        (lambda x: rg.linalg.matrix_norm(x, dim=1), "dim must be a 2-tuple"),
        (lambda x: rg.linalg.norm(x, 1, (0, 1, 2)), "it must be of length 1 or 2"),
        (lambda x: rg.linalg.norm(x.unsqueeze(0), 1), "the input must be 1D or 2D. Got 3D"),
        (lambda x: rg.linalg.norm(x[0], "nuc"), "Order nuc not supported for vectors"),
        (lambda x: rg.linalg.cond(x, 7), "invalid norm type: 7"),
        (lambda x: rg.linalg.cond(x, 1), r"cond\(ord=1\): A must be batches of square"),
    ],
)
def test_what_does_not_fit_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(rg.ones(2, 3))


@pytest.mark.parametrize("dim", [(), (0, 1, 2)])
def test_a_norm_without_order_is_along_one_or_two_dimensions(dim):
    with pytest.raises(RuntimeError, match="must be of length 1 or 2"):
        rg.linalg.norm(rg.ones(2, 2, 2), dim=dim)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("order", [1, 2, float("inf"), "nuc", "fro"])
def test_norms_of_matrices_without_elements_are_0(shape, order):
    x = rg.zeros(shape, requires_grad=True)
    found = rg.linalg.matrix_norm(x, order)
    assert found.tolist() == (0.0 if len(shape) == 2 else [0.0, 0.0])
    found.sum().backward()
    assert x.grad.shape == shape
