"""Matrix products: ranks, kinds, errors, the syntax of einsum; NumPy is the reference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import leaf, values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.engine.tensor import new_tensor
from retrograd.ops.linalg.matmul import linear

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def inner(a, b):
    return float(np.sum((np.conj(a) * b).real))


def assert_gradients_are_adjoint(function, *arrays):
    """Each gradient g satisfies <cotangent, f(direction)> = <g, direction>, for linear f."""
    leaves = [leaf(a) for a in arrays]
    out = function(*leaves)
    cotangent = values(*out.shape, complex=out.dtype.is_complex, seed=7)
    gradients = grad(out, leaves, new_tensor(cotangent))
    for index, (array, found) in enumerate(zip(arrays, gradients, strict=True)):
        direction = values(*array.shape, complex=array.dtype.kind == "c", seed=8)
        moved = [new_tensor(direction if i == index else a) for i, a in enumerate(arrays)]
        assert inner(cotangent, function(*moved)._array) == pytest.approx(
            inner(found._array, direction), rel=1e-11, abs=1e-11
        )


RANKS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((4, 1, 2, 3), (5, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0, 2, 3), (3, 2)),
]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("a", "b"), RANKS)
def test_matmul_of_every_pair_of_ranks_agrees_with_numpy(a, b, complex):
    x, y = values(*a, complex=complex), values(*b, complex=complex, seed=1)
    np.testing.assert_allclose((new_tensor(x) @ new_tensor(y))._array, np.matmul(x, y), **CLOSE)
    assert_gradients_are_adjoint(rg.matmul, x, y)


def test_matmul_names_its_nodes_as_pytorch_does():
    x = leaf(values(2, 3))
    assert (x @ new_tensor(values(3, 2))).grad_fn.name() == "MmBackward0"
    assert (x @ new_tensor(values(3))).grad_fn.name() == "MvBackward0"
    assert (x[0] @ new_tensor(values(3))).grad_fn.name() == "DotBackward0"
    assert linear(x, new_tensor(values(4, 3))).grad_fn.name() == "MmBackward0"


def test_a_row_before_stacked_matrices_has_the_gradient_of_its_elements():
    row, stack = rg.tensor([1.0, 2.0], requires_grad=True), rg.ones(3, 2, 2, requires_grad=True)
    found = rg.autograd.grad((row @ stack).sum(), (row, stack))
    assert found[0].tolist() == [6.0, 6.0]
    assert found[1].tolist() == [[[1.0, 1.0], [2.0, 2.0]]] * 3


def test_real_factor_beside_frozen_one_saves_only_what_is_needed():
    x, w = leaf(values(2, 3)), new_tensor(values(3, 2))
    node = rg.mm(x, w).grad_fn
    assert node._saved_self is None
    assert node._saved_mat2 is w


def test_matmul_operator_refuses_other_operands():
    with pytest.raises(TypeError, match="unsupported operand type"):
        rg.ones(2, 3) @ [1]
    with pytest.raises(TypeError, match=r"argument 'other' \(position 2\) must be Tensor, not int"):
        rg.matmul(rg.ones(2, 3), 2)


def test_matmul_with_assignment_makes_another_tensor():
    x = y = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y @= rg.tensor([[0.0], [1.0]])
    assert y.tolist() == [[2.0], [4.0]]
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


DOUBLE = {"dtype": rg.float64}
ERRORS = [
    (lambda: rg.ones(2, 3) @ rg.ones(4, 5), "cannot be multiplied (2x3 and 4x5)"),
    (lambda: rg.ones(3) @ rg.ones(4, 2), "cannot be multiplied (1x3 and 4x2)"),
    (lambda: rg.ones(2, 3, 4) @ rg.ones(5, 6), "cannot be multiplied (6x4 and 5x6)"),
    (
        lambda: rg.ones(2, 3) @ rg.ones(3, 4, **DOUBLE),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        lambda: rg.ones(2, 3, 4) @ rg.ones(2, 4, 6, **DOUBLE),
        "expected scalar type Float but found Double",
    ),
    (lambda: rg.ones(2, 3) @ rg.ones(4), "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda: rg.ones(3) @ rg.ones(4), "inconsistent tensor size, expected tensor [3] and src [4]"),
    (lambda: rg.ones(3) @ rg.ones(3, **DOUBLE), "dot : expected both vectors to have same dtype"),
    (
        lambda: rg.ones(2, 3, 4) @ rg.ones(5, 4, 6),
        "tensor a (2) must match the size of tensor b (5",
    ),
    (lambda: rg.ones(2, 3, 4) @ rg.ones(2, 5, 6), "to be: [2, 4] but got: [2, 5]"),
    (lambda: rg.ones(()) @ rg.ones(3), "need to be at least 1D, but they are 0D and 1D"),
    (lambda: rg.mm(rg.ones(3), rg.ones(3, 5)), "self must be a matrix"),
    (lambda: rg.bmm(rg.ones(2, 3, 4), rg.ones(3, 4, 5)), "to be: [2, 4] but got: [3, 4]"),
    (lambda: rg.bmm(rg.ones(3, 4), rg.ones(3, 4, 5)), "batch1 must be a 3D tensor"),
    (lambda: rg.mv(rg.ones(3), rg.ones(3)), "vector + matrix @ vector expected, got 1, 1, 1"),
    (lambda: rg.dot(rg.ones(3, 1), rg.ones(3)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: rg.outer(rg.ones(2, 3), rg.ones(2)), "Expected 1-D argument self, but got 2-D"),
    (lambda: rg.inner(rg.ones(2, 3), rg.ones(2, 4)), "got shapes [2, 3] and [2, 4]"),
    (lambda: linear(rg.ones(2, 3), rg.ones(4, 5)), "cannot be multiplied (2x3 and 5x4)"),
    (
        lambda: linear(rg.ones(2, 3), rg.ones(4, 3), rg.ones(5)),
        "expanded size of the tensor (4) must match the existing size (5)",
    ),
    (
        lambda: linear(rg.ones(2, 3), rg.ones(4, 3), rg.ones(4, **DOUBLE)),
        "self and mat2 must have the same dtype, but got Double and Float",
    ),
    (lambda: linear(rg.ones(()), rg.ones(4, 3)), "they are 0D and 2D"),
    (
        lambda: rg.addmm(rg.ones(7), rg.ones(2, 3), rg.ones(3, 5)),
        "expanded size of the tensor (5) must match the existing size (7)",
    ),
    (lambda: rg.addmv(rg.ones(3), rg.ones(2, 3), rg.ones(3)), "input (3), mat (2x3), vec (3)"),
    (lambda: rg.trace(rg.ones(3)), "expected a matrix, but got tensor with dim 1"),
    (lambda: rg.matrix_power(rg.ones(2, 3), 2), "2 by 3 matrices"),
    (lambda: rg.cross(rg.ones(2, 2), rg.ones(2, 2), 1), "must have length 3. Got 2 and 2"),
    (lambda: rg.cross(rg.ones(2, 3), rg.ones(4, 3), 1), "(2) must match the size of tensor b (4)"),
    (
        lambda: rg.chain_matmul(rg.ones(2, 3), rg.ones(4, 2)),
        "tensors 0 and 1 with shapes [2, 3] and [4, 2] cannot be multiplied",
    ),
    (lambda: rg.tensordot(rg.ones(2, 3), rg.ones(4, 3), 1), "first has size 3 in dim -1"),
    (lambda: rg.tensordot(rg.ones(2, 3), rg.ones(4, 3), -1), "tensordot expects dims >= 0"),
]


@pytest.mark.parametrize(("call", "phrase"), ERRORS, ids=[phrase for _, phrase in ERRORS])
def test_factors_that_do_not_fit_raise_with_shapes_or_dtypes(call, phrase):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert phrase in str(caught.value)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 5, 3), (0, 3)])
def test_linear_multiplies_rows_and_adds_the_bias(shape, complex):
    x, w = values(*shape, complex=complex), values(4, 3, complex=complex, seed=1)
    b = values(4, complex=complex, seed=2)
    out = linear(*map(new_tensor, (x, w, b)))
    np.testing.assert_allclose(out._array, x @ w.T + b, **CLOSE)
    assert_gradients_are_adjoint(lambda p, q: linear(p, q), x, w)
    bias = leaf(b)
    (g,) = grad(linear(new_tensor(x), new_tensor(w), bias).real.sum(), bias)
    np.testing.assert_allclose(g._array, np.full(4, float(np.prod(shape[:-1]))), **CLOSE)


def test_linear_takes_a_weight_that_is_one_row():
    x, w = values(2, 3), values(3)
    np.testing.assert_allclose(linear(new_tensor(x), new_tensor(w))._array, x @ w, **CLOSE)


def test_addmm_with_beta_zero_ignores_the_input():
    nan = rg.tensor([[float("nan")]])
    out = rg.addmm(nan, rg.tensor([[2.0]]), rg.tensor([[3.0]]), beta=0)
    assert out.tolist() == [[6.0]]


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("addmm", [(3, 4), (3, 5), (5, 4)]),
        ("addmv", [(3,), (3, 5), (5,)]),
        ("baddbmm", [(2, 3, 4), (2, 3, 5), (2, 5, 4)]),
        ("addbmm", [(3, 4), (2, 3, 5), (2, 5, 4)]),
    ],
)
def test_products_of_half_floats_added_to_some_are_rounded_once(name, shapes, dtype):
    given = [new_tensor(values(*shape, seed=n)).to(dtype) for n, shape in enumerate(shapes)]
    found = getattr(rg, name)(*given, beta=-4.7750, alpha=2.0315)
    exact = getattr(rg, name)(*[t.double() for t in given], beta=-4.7750, alpha=2.0315)
    assert rg.equal(found, exact.to(dtype))


def test_vdot_conjugates_the_first_vector():
    x, y = values(3, complex=True), values(3, complex=True, seed=1)
    np.testing.assert_allclose(rg.vdot(new_tensor(x), new_tensor(y))._array, np.vdot(x, y), **CLOSE)


def test_outer_promotes_different_dtypes():
    out = rg.outer(rg.tensor([1.0, 2.0]), rg.tensor([1, 2, 3]))
    assert out.dtype is rg.float32
    assert out.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]


@pytest.mark.parametrize(("a", "b"), [((2,), (3,)), ((2, 3), (4,)), ((2,), (2, 3, 2)), ((), (2,))])
def test_kron_agrees_with_numpy(a, b):
    x, y = values(*a), values(*b, seed=1)
    np.testing.assert_allclose(rg.kron(new_tensor(x), new_tensor(y))._array, np.kron(x, y), **CLOSE)
    assert_gradients_are_adjoint(rg.kron, x, y)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_matrix_power_agrees_with_repeated_products(n):
    x = values(2, 3, 3)
    expected = np.broadcast_to(np.eye(3), x.shape)
    for _ in range(n):
        expected = expected @ x
    out = rg.matrix_power(new_tensor(x), n)
    np.testing.assert_allclose(out._array, expected, **CLOSE)


def test_matrix_power_zero_has_zero_gradient_and_no_nan():
    x = leaf([[np.inf, 1.0], [1.0, np.nan]])
    out = rg.matrix_power(x, 0)
    (g,) = grad(out.sum(), x)
    assert out.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert g.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_matrix_power_one_is_a_copy():
    x = rg.ones(2, 2)
    assert not np.shares_memory(rg.matrix_power(x, 1)._array, x._array)


def test_chain_matmul_brackets_for_the_fewest_multiplications():
    arrays = [values(*shape) for shape in ((10, 2), (2, 10), (10, 1))]
    leaves = [leaf(a) for a in arrays]
    out = rg.chain_matmul(*leaves)
    np.testing.assert_allclose(out._array, arrays[0] @ (arrays[1] @ arrays[2]), **CLOSE)
    assert out.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


@pytest.mark.parametrize("complex", [False, True])
def test_cross_agrees_with_numpy_along_any_dimension(complex):
    x, y = values(3, 2, complex=complex), values(3, 1, complex=complex, seed=1)
    out = rg.cross(new_tensor(x), new_tensor(y), dim=0)
    np.testing.assert_allclose(out._array, np.cross(x, y, axis=0), **CLOSE)
    assert_gradients_are_adjoint(lambda a, b: rg.cross(a, b, dim=0), x, y)


DIMS = [
    (1, (2, 3), (3, 4)),
    (0, (2,), (3,)),
    (2, (5, 2, 3), (2, 3, 4)),
    (([0, 2], [2, 1]), (5, 2, 3), (4, 3, 5)),
    (([-1], [-1]), (2, 3), (4, 3)),
]


@pytest.mark.parametrize(("dims", "a", "b"), DIMS)
def test_tensordot_agrees_with_numpy(dims, a, b):
    x, y = values(*a), values(*b, seed=1)
    out = rg.tensordot(new_tensor(x), new_tensor(y), dims=dims)
    np.testing.assert_allclose(out._array, np.tensordot(x, y, axes=dims), **CLOSE)
    assert_gradients_are_adjoint(lambda p, q: rg.tensordot(p, q, dims=dims), x, y)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,jk->ki", (3, 2), (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("ijij->ij", (2, 3, 2, 3)),
    ("ijk->kj", (2, 3, 4)),
    ("ij->", (2, 3)),
    ("...ij,...jk->...ik", (5, 1, 2, 3), (6, 3, 4)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("i,j->ij", (2,), (3,)),
    ("i,i->i", (2,), (2,)),
    ("i,i", (2,), (2,)),
    ("ij,i->j", (2, 3), (2,)),
    ("bi,bj,bij->b", (2, 3), (2, 4), (2, 3, 4)),
    ("...j->...", (2, 3)),
    ("ba", (2, 3)),
    ("abc,dbe->ade", (2, 3, 4), (5, 3, 6)),
    (",ij->ji", (), (2, 3)),
    ("ik,jk->ij", (2, 0), (3, 0)),
    ("b,bj->bj", (2,), (2, 4)),
    ("i j, j k -> i k", (2, 3), (3, 4)),
]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS], ids=str)
def test_einsum_agrees_with_numpy(equation, shapes, complex):
    arrays = [values(*s, complex=complex, seed=i) for i, s in enumerate(shapes)]
    out = rg.einsum(equation, *map(new_tensor, arrays))
    np.testing.assert_allclose(out._array, np.einsum(equation, *arrays), **CLOSE)
    assert_gradients_are_adjoint(lambda *t: rg.einsum(equation, *t), *arrays)


def test_einsum_sums_an_ellipsis_that_the_output_leaves_out():
    x = values(2, 3)
    np.testing.assert_allclose(rg.einsum("...j->j", new_tensor(x))._array, x.sum(0), **CLOSE)


def test_einsum_of_one_operand_that_moves_nothing_is_a_view_of_it():
    x = rg.ones(2, 3)
    y = rg.einsum("ij->ij", x)
    assert y is not x
    assert y._base is x


def test_einsum_broadcasts_size_one():
    x, y = values(2, 1), values(3, 4)
    out = rg.einsum("ij,jk->ik", new_tensor(x), new_tensor(y))
    np.testing.assert_allclose(out._array, np.broadcast_to(x, (2, 3)) @ y, **CLOSE)


def test_einsum_takes_subscript_lists():
    x, y = values(2, 3), values(3, 4)
    a, b = new_tensor(x), new_tensor(y)
    np.testing.assert_allclose(rg.einsum(a, [0, 1], b, [1, 2], [0, 2])._array, x @ y, **CLOSE)
    np.testing.assert_allclose(
        rg.einsum(a, [..., 1], b, [1, 2], [2, ...])._array, (x @ y).T, **CLOSE
    )
    np.testing.assert_allclose(rg.einsum(a, [30, 1], b, [1, 2])._array, (x @ y).T, **CLOSE)


EINSUM_ERRORS = [
    (("ij,jk->ik", (2, 3), (4, 5)), "subscript j has size 4 for operand 1"),
    (("ij,jk", (2, 3)), "fewer operands were provided than specified"),
    (("ij", (2, 3), (2, 3)), "more operands were provided than specified"),
    (("ijk", (2, 3)), "subscripts in the equation (3) does not match the number of dimensions (2)"),
    (("ij->il", (2, 3)), "output subscript l does not appear in the equation"),
    (("ij->ii", (2, 3)), "output subscript i appears more than once in the output"),
    (("ii->i", (2, 3)), "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
    (("i1->i", (2, 3)), "invalid subscript given at index 1 in the equation string"),
    (("...i...->i", (2, 3)), "found '.' for operand 0 for which an ellipsis was already found"),
    (("i.j->i", (2, 3)), "found '.' for operand 0 that is not part of any ellipsis"),
]


@pytest.mark.parametrize(("call", "phrase"), EINSUM_ERRORS, ids=[p for _, p in EINSUM_ERRORS])
def test_einsum_says_which_subscript_is_wrong(call, phrase):
    equation, *shapes = call
    with pytest.raises(RuntimeError) as caught:
        rg.einsum(equation, *(rg.ones(*s) for s in shapes))
    assert phrase in str(caught.value)


def test_einsum_without_operands_raises_value_error():
    with pytest.raises(ValueError, match="must specify the equation string"):
        rg.einsum("")
    with pytest.raises(ValueError, match="not within the valid range"):
        rg.einsum(rg.ones(2, 3), [0, 99])


def test_out_receives_the_product():
    out = rg.ones(0)
    assert rg.matmul(rg.ones(2, 3), rg.ones(3, 2), out=out) is out
    assert out.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_cross_without_a_dimension_warns():
    x, y = rg.tensor([[1.0, 0.0, 0.0]]), rg.tensor([[0.0, 1.0, 0.0]])
    with pytest.warns(UserWarning, match="without specifying the dim arg is deprecated"):
        assert rg.cross(x, y).tolist() == [[0.0, 0.0, 1.0]]
    with (
        pytest.warns(UserWarning, match="without specifying the dim arg"),
        pytest.raises(RuntimeError, match="no dimension of size 3 in input"),
    ):
        rg.cross(rg.ones(2, 2), rg.ones(2, 2))
