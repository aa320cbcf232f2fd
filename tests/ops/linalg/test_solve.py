"""Linear systems and inverses: shapes, sides, errors, zero sizes; NumPy is the reference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.linalg import LinAlgError

KINDS = pytest.mark.parametrize("complex", [False, True])


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (0, 2, 2), (2, 0, 0)])
def test_the_inverse_times_the_matrix_is_one(shape, complex):
    a = values(*shape, complex=complex)
    close(rg.tensor(a).inverse() @ rg.tensor(a), np.broadcast_to(np.eye(shape[-1]), shape))


@KINDS
@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 3), (3, 2)), ((2, 3, 3), (3, 4)), ((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (4, 3, 1))],
)
def test_solve_broadcasts_stacks_on_both_sides(a, b, complex):
    x, y = values(*a, complex=complex), values(*b, complex=complex)
    close(rg.tensor(x) @ rg.linalg.solve(rg.tensor(x), rg.tensor(y)), y + 0 * (x @ y))
    turned = y.swapaxes(-1, -2)
    found = rg.linalg.solve(rg.tensor(x), rg.tensor(turned.copy()), left=False)
    close(found @ rg.tensor(x), turned + 0 * (turned @ x))


def test_a_right_side_is_vectors_if_it_has_the_stack_of_the_matrices():
    a, b = values(2, 3, 3), values(2, 3)
    close(rg.linalg.solve(rg.tensor(a), rg.tensor(b)), np.linalg.solve(a, b[..., None])[..., 0])
    close(rg.linalg.solve(rg.tensor(a), rg.tensor(b[0])), np.linalg.solve(a, b[0]))


@KINDS
@pytest.mark.parametrize("size", [1, 3, 33, 70])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_read_one_triangle(size, upper, unit, complex):
    a = values(2, size, size, complex=complex) / size + 2 * np.eye(size)
    b = values(2, size, 3, complex=complex)
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle = triangle - triangle * np.eye(size) + np.eye(size)
    options = {"upper": upper, "unitriangular": unit}
    close(
        rg.tensor(triangle) @ rg.linalg.solve_triangular(rg.tensor(a), rg.tensor(b), **options), b
    )
    right = rg.tensor(b).mT
    found = rg.linalg.solve_triangular(rg.tensor(a), right, left=False, **options)
    close(found @ rg.tensor(triangle), right.numpy())


def test_the_gradient_of_a_triangular_system_is_zero_where_nothing_is_read():
    a = rg.tensor(values(3, 3) + 3 * np.eye(3), requires_grad=True)
    x = rg.linalg.solve_triangular(a, rg.tensor(values(3, 1)), upper=True, unitriangular=True)
    (found,) = grad(x.sum(), a)
    assert (found.numpy() != 0).tolist() == np.triu(np.ones((3, 3), bool), 1).tolist()


def test_singular_matrices_raise_and_name_their_place():
    a = rg.stack([rg.eye(2), rg.zeros(2, 2)])
    with pytest.raises(LinAlgError, match=r"\(Batch element 1\): The diagonal element 1 is zero"):
        rg.linalg.inv(a)
    with pytest.raises(LinAlgError, match="The solver failed because the input matrix is singular"):
        rg.linalg.solve(rg.zeros(2, 2), rg.ones(2))
    with pytest.raises(RuntimeError, match="singular"):
        rg.linalg.solve_ex(rg.zeros(2, 2), rg.ones(2), check_errors=True)


def test_ex_forms_give_info_and_solve_the_rest_of_the_stack():
    a = rg.stack([2 * rg.eye(2), rg.zeros(2, 2)])
    inverse, info = rg.linalg.inv_ex(a)
    assert info.tolist() == [0, 1]
    assert info.dtype is rg.int32
    assert inverse[0].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert not inverse[1].isfinite().any()
    found = rg.linalg.solve_ex(a, rg.ones(2, 1))
    assert found._fields == ("result", "info")
    assert found.result[0].tolist() == [[0.5], [0.5]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: rg.linalg.inv(rg.ones(2, 3)),
            "must be batches of square matrices, but they",
        ),
        (lambda: rg.linalg.inv(rg.ones(2)), "must have at least 2 dimensions"),
        (lambda: rg.linalg.inv(rg.ones(2, 2).long()), "Expected a floating point or complex"),
        (lambda: rg.linalg.inv(rg.ones(2, 2).half()), "Low precision dtypes not supported"),
        (lambda: rg.linalg.solve(rg.eye(2), rg.eye(2).double()), "same dtype, but found A of type"),
        (lambda: rg.linalg.solve(rg.eye(2), rg.ones(3, 1)), r"AX = B \(2x2 and 3x1\)"),
        (lambda: rg.linalg.solve(rg.eye(2), rg.ones(2), left=False), "Vector broadcasting"),
        (lambda: rg.linalg.tensorinv(rg.ones(2, 3)), "prod"),
        (lambda: rg.linalg.tensorinv(rg.ones(2, 2), 0), "strictly positive"),
        (lambda: rg.linalg.tensorsolve(rg.ones(2, 3), rg.ones(2)), "requirement prod"),
    ],
)
def test_what_does_not_fit_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_tensor_systems_are_solved_for_moved_dimensions():
    a, b = values(2, 4, 2), values(2, 2)
    x = rg.linalg.tensorsolve(rg.tensor(a), rg.tensor(b), dims=(1,))
    close(x, np.linalg.solve(a.transpose(0, 2, 1).reshape(4, 4), b.reshape(4)))
    a = values(4, 2, 2)
    inverse = rg.linalg.tensorinv(rg.tensor(a), ind=1)
    close(inverse, np.linalg.inv(a.reshape(4, 4)).reshape(2, 2, 4))


def test_results_are_written_into_out():
    target = rg.empty(2, 2)
    assert rg.linalg.inv(2 * rg.eye(2), out=target) is target
    assert target.tolist() == [[0.5, 0.0], [0.0, 0.5]]
    both = rg.empty(2, 2), rg.empty((), dtype=rg.int32)
    assert rg.linalg.inv_ex(2 * rg.eye(2), out=both).inverse is both[0]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.linalg.inv(rg.eye(2).requires_grad_(), out=target)


@pytest.mark.parametrize("dtype", [rg.float64, rg.int64, rg.bool])
def test_the_right_side_of_a_triangle_counts_in_the_dtype_of_the_triangle(dtype):
    a, b = rg.tensor([[2.0, 1.0], [0.0, 4.0]]), rg.tensor([[1.0], [1.0]], dtype=dtype)
    made = rg.linalg.solve_triangular(a, b, upper=True)
    assert (made.dtype, made.tolist()) == (rg.float32, [[0.375], [0.25]])
    with pytest.raises(RuntimeError, match="same dtype"):
        rg.linalg.solve_triangular(a, b + 1j, upper=True)


def test_a_normal_distribution_takes_values_of_another_dtype():
    normal = rg.distributions.MultivariateNormal(rg.zeros(2), rg.eye(2))
    expected = normal.log_prob(rg.ones(2))
    assert normal.log_prob(rg.ones(2, dtype=rg.float64)).item() == expected.item()
