"""Pseudoinverse, rank and least squares, with NumPy as the reference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.autograd import grad

KINDS = pytest.mark.parametrize("complex", [False, True])


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4), (0, 2), (2, 0), (0, 2, 2)])
def test_pseudoinverses_are_numpys(shape, complex):
    a = values(*shape, complex=complex)
    expected = np.linalg.pinv(a) if a.size else np.zeros((*shape[:-2], shape[-1], shape[-2]))
    close(rg.linalg.pinv(rg.tensor(a)), expected)
    close(rg.tensor(a).pinverse(), expected)


def test_examples_of_a_pseudoinverse_have_tolerances_of_their_own():
    a = rg.diag(rg.tensor([1.0, 0.1], dtype=rg.float64)).expand(3, 2, 2)
    each, none = rg.tensor([0.0, 0.5], dtype=rg.float64), rg.tensor(0.0, dtype=rg.float64)
    with pytest.warns(UserWarning, match="once per example|loop"):
        found = rg.vmap(lambda atol: rg.linalg.pinv(a, atol=atol, rtol=none))(each)
    expected = [[[[1, 0], [0, 10]]] * 3, [[[1, 0], [0, 0]]] * 3]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
def test_least_squares_of_dependent_columns_have_no_residuals(driver):
    a, b = rg.ones(3, 2, dtype=rg.float64), rg.tensor([[1.0], [2.0], [6.0]], dtype=rg.float64)
    found = rg.linalg.lstsq(a, b, driver=driver)
    assert found.residuals.shape == (0,)
    assert found.rank.item() == 1
    close(found.solution, [[1.5], [1.5]])


@pytest.mark.parametrize("driver", ["gelsy", "gelsd"])
@pytest.mark.parametrize("place", [0, 1])
def test_residuals_have_the_graph_of_the_solution_even_if_there_are_none(driver, place):
    given = [rg.eye(3, 2), rg.ones(3, 1)]
    assert not rg.linalg.lstsq(*given, driver=driver).residuals.requires_grad
    given[place].requires_grad_()
    found = rg.linalg.lstsq(*given, driver=driver)
    assert found.residuals.grad_fn.name() == "LinalgLstsqBackward0"
    assert not found.singular_values.requires_grad
    (g,) = grad(found.residuals.sum(), given[place])
    assert g.shape == given[place].shape


def test_small_singular_values_count_as_zero():
    a = rg.tensor(np.stack([np.diag([4.0, 1.0, 1e-3]), np.diag([1.0, 1.0, 0.5])]))
    assert rg.linalg.matrix_rank(a).tolist() == [3, 3]
    assert rg.linalg.matrix_rank(a, rtol=0.4).tolist() == [1, 3]
    assert rg.linalg.matrix_rank(a, atol=0.7).tolist() == [2, 2]
    assert rg.linalg.matrix_rank(a, atol=rg.tensor([1e-4, 0.7]), rtol=0.0).tolist() == [3, 2]
    assert rg.linalg.matrix_rank(a, 0.7, hermitian=True).tolist() == [2, 2]
    close(rg.linalg.pinv(a, rtol=0.4)[0], np.diag([0.25, 0, 0]))
    close(rg.linalg.pinv(a, atol=0.7)[1], np.diag([1.0, 1.0, 0]))
    close(rg.linalg.pinv(a, rcond=rg.tensor([0.4, 0.6]))[1], np.diag([1.0, 1.0, 0]))
    assert rg.linalg.matrix_rank(rg.zeros(3, 0)).item() == 0
    assert rg.linalg.matrix_rank(rg.zeros(2, 2)).dtype is rg.int64


@KINDS
def test_the_gradient_of_a_deficient_matrix_is_right_where_the_rank_stays(complex):
    a, b = values(4, 2, complex=complex), values(2, 3, complex=complex, seed=1)
    move, weights = values(4, 2, complex=complex, seed=2), values(3, 4, seed=3)

    def loss(left):
        return (rg.linalg.pinv(left @ rg.tensor(b), rtol=1e-9).real * rg.tensor(weights)).sum()

    x = rg.tensor(a, requires_grad=True)
    found = grad(loss(x), x)[0].numpy()
    above, below = (loss(rg.tensor(a + s * 1e-6 * move)).item() for s in (1, -1))
    expected = (above - below) / 2e-6
    assert np.sum((found.conj() * move).real) == pytest.approx(expected, rel=1e-6)


def test_a_hermitian_matrix_is_read_in_one_triangle_and_gets_a_hermitian_gradient():
    a = values(3, 3, complex=True)
    a = a + a.conj().T
    x = rg.tensor(np.tril(a), requires_grad=True)
    found = rg.linalg.pinv(x, hermitian=True)
    close(found, np.linalg.inv(a))
    (derivative,) = grad(found.real.sum(), x)
    close(derivative, derivative.mH.numpy())


@KINDS
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 4, 2)])
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(shape, driver, complex):
    a, b = values(*shape, complex=complex), values(*shape[:-1], 2, complex=complex, seed=1)
    found = rg.linalg.lstsq(rg.tensor(a), rg.tensor(b), driver=driver)
    assert found._fields == ("solution", "residuals", "rank", "singular_values")
    close(found.solution, np.linalg.pinv(a) @ b)
    tall = shape[-2] > shape[-1] and driver in ("gels", "gelsd", "gelss")
    close(found.residuals, (abs(b - a @ np.linalg.pinv(a) @ b) ** 2).sum(-2) if tall else [])
    stack = shape[:-2]
    rank = [] if driver == "gels" else np.full(stack, min(shape[-2:])).tolist()
    assert found.rank.tolist() == rank
    if driver in ("gelsd", "gelss"):
        close(found.singular_values, np.linalg.svd(a, compute_uv=False))
    else:
        assert found.singular_values.shape == (0,)


def test_each_driver_has_its_tolerance_of_least_squares():
    a, b = rg.tensor(np.diag([1.0, 0.25, 1e-17])), rg.ones(3, 1).double()
    whole, most, first = [[1.0], [4.0], [1e17]], [[1.0], [4.0], [0.0]], [[1.0], [0.0], [0.0]]
    for driver, rcond, wanted in (
        ("gels", 0.5, most),  # takes none
        ("gelsy", 0.5, first),
        ("gelsd", 0.5, first),
        ("gelss", 0.1, most),
        ("gelsd", -1.0, most),
        ("gelss", -1.0, most),
        ("gelsy", -1.0, whole),
    ):
        close(rg.linalg.lstsq(a, b, rcond=rcond, driver=driver).solution, wanted)


def test_least_squares_of_vectors():
    a, b = values(4, 2), values(4, seed=1)
    close(rg.linalg.lstsq(rg.tensor(a), rg.tensor(b)).solution, np.linalg.pinv(a) @ b)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (rg.ones(2, 2), rg.ones(3, 1), r"input.size\(-2\) should match other.size\(-2\)"),
        (rg.ones(2, 2), rg.ones(3), r"should match other.size\(-1\)"),
        (rg.ones(2, 2), rg.ones(2).double(), "same dtype"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(a, b, text):
    with pytest.raises(RuntimeError, match=text):
        rg.linalg.lstsq(a, b)


def test_an_unknown_driver_and_complex_tolerances_are_refused():
    with pytest.raises(RuntimeError, match="parameter `driver` should be one of"):
        rg.linalg.lstsq(rg.eye(2), rg.eye(2), driver="gelsx")
    with pytest.raises(RuntimeError, match="complex type are not supported"):
        rg.linalg.pinv(rg.eye(2), atol=rg.tensor(1j))


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 3, 3), (2, 0, 3), (0, 3)])
def test_the_tolerances_of_an_empty_stack_do_not_shape_the_pseudoinverse(shape):
    wide = rg.ones(*shape[:-2], 3, 1)
    found = rg.linalg.pinv(rg.ones(shape), atol=wide, rtol=wide)
    assert found.shape == (*shape[:-2], shape[-1], shape[-2])
    assert rg.linalg.matrix_rank(rg.ones(shape), atol=wide).shape == shape[:-2]
