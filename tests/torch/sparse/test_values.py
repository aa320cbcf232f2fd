"""Sparse tensors against the dense ones that they stand for."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.layouts.sparse import pattern

F = rg.nn.functional


def test_whole_numbers_of_any_dtype_are_indices():
    x = rg.sparse_coo_tensor(rg.tensor([[0.0, 1.0]]), [1.0, 2.0], (2,))
    assert x.to_dense().tolist() == [1.0, 2.0]


def test_a_size_alone_makes_a_tensor_without_entries():
    x = rg.sparse_coo_tensor(size=(2, 3))
    assert (x.shape, x._nnz(), x.is_coalesced()) == ((2, 3), 0, True)
    assert x.to_dense().tolist() == rg.zeros(2, 3).tolist()


def test_zeros_like_a_sparse_tensor_have_no_entries():
    x = rg.sparse_coo_tensor([[1], [10**6]], [2.0], (10**7, 10**7))
    made = rg.zeros_like(x, dtype=rg.float64)
    assert (made.layout, made.shape, made._nnz(), made.dtype) == (x.layout, x.shape, 0, rg.float64)
    rows = rg.zeros_like(rg.eye(2).to_sparse_csr())
    assert (rows.layout, rows.crow_indices().tolist()) == (rg.sparse_csr, [0, 0, 0])


def drawn(shape, seed=0, dtype=rg.float64, share=0.4):
    """A dense tensor of which a share is not 0."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return rg.tensor(np.where(rng.random(shape) < share, values, 0), dtype=dtype)


def twice():
    """A matrix with two entries at one place, and the dense one."""
    x = rg.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    return x, rg.tensor([[4.0, 0.0, 0.0], [0.0, 0.0, 8.0]])


LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_to_sparse_and_back_gives_the_same_tensor(layout):
    x = drawn((4, 5))
    sparse = x.to_sparse(layout=getattr(rg, layout))
    assert repr(sparse.layout) == f"retrograd.{layout}"
    assert sparse._nnz() == int((x != 0).sum())
    assert isinstance(sparse, rg.Tensor)
    assert rg.equal(sparse.to_dense(), x)


def test_the_dtypes_of_two_sparse_tensors_promote():
    x, y = rg.eye(2).to_sparse(), rg.eye(2, dtype=rg.float64).to_sparse()
    for found in (x + y, x * y, x - y, rg.ones(2, 2) + y, x.double()):
        assert found.dtype is rg.float64
    assert (x + y).to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert (x * 2j).dtype is rg.complex64


def test_a_layout_is_told_by_its_attributes():
    x = rg.eye(2)
    found = [(t.is_sparse, t.is_sparse_csr) for t in (x, x.to_sparse(), x.to_sparse_csr())]
    assert found == [(False, False), (True, False), (False, True)]
    assert x.layout is rg.strided
    assert x.to_sparse().layout is rg.sparse_coo


def test_entries_at_one_place_add_up():
    x, dense = twice()
    assert not x.is_coalesced()
    assert rg.equal(x.to_dense(), dense)
    whole = x.coalesce()
    assert whole.indices().tolist() == [[0, 1], [0, 2]]
    assert whole.values().tolist() == [4.0, 8.0]
    assert whole.coalesce() is whole


def test_an_uncoalesced_tensor_shows_its_entries_as_they_are():
    x, _ = twice()
    assert x._indices().tolist() == [[1, 0, 1], [2, 0, 2]]
    assert x._values().tolist() == [3.0, 4.0, 5.0]
    for name in ("indices", "values"):
        with pytest.raises(RuntimeError, match=f"Cannot get {name} on an uncoalesced tensor"):
            getattr(x, name)()


def test_the_size_is_that_of_the_largest_indices():
    x = rg.sparse_coo_tensor([[0, 3], [2, 1]], rg.ones(2, 4))
    assert x.shape == (4, 3, 4)
    assert (x.sparse_dim(), x.dense_dim()) == (2, 1)


def test_a_number_is_the_value_of_one_place():
    dense = [[0, 0, 2.5], [0, 0, 0]]
    assert rg.sparse_coo_tensor([[0], [2]], 2.5, (2, 3)).to_dense().tolist() == dense
    with pytest.raises(RuntimeError, match="nnz from indices: 2, nnz from values: 1"):
        rg.sparse_coo_tensor([[0, 1], [2, 2]], 2.5, (2, 3))


@pytest.mark.parametrize("dtype", [rg.int8, rg.uint8, rg.bool, rg.float16], ids=str)
def test_one_element_has_the_dtype_of_the_whole(dtype):
    x = rg.sparse_coo_tensor([[0, 1], [1, 2]], rg.ones(2, dtype=dtype), (2, 3))
    for found, value in ((x[0, 1], 1), (x[1, 0], 0)):
        assert (found.dtype, found.item()) == (dtype, value)


def test_a_size_alone_gives_a_tensor_without_entries():
    x = rg.sparse_coo_tensor((2, 3), dtype=rg.float64)
    assert x._nnz() == 0
    assert rg.equal(x.to_dense(), rg.zeros(2, 3, dtype=rg.float64))
    assert rg.equal(rg.sparse.mm(x, rg.ones(3, 2, dtype=rg.float64)), rg.zeros(2, 2).double())
    assert rg.sparse.softmax(x, 1)._nnz() == 0
    assert (x * x)._nnz() == (x + x)._nnz() == x.t().mm(x)._nnz() == 0


def test_rows_and_columns_are_compressed():
    x = drawn((3, 4), seed=3)
    csr, csc = x.to_sparse_csr(), x.to_sparse_csc()
    counts = (x != 0).sum(1).cumsum(0).tolist()
    assert csr.crow_indices().tolist() == [0, *counts]
    again = rg.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), csr.values(), (3, 4))
    assert rg.equal(again.to_dense(), x)
    again = rg.sparse_csc_tensor(csc.ccol_indices(), csc.row_indices(), csc.values(), (3, 4))
    assert rg.equal(again.to_dense(), x)
    assert again.layout is rg.sparse_csc
    assert csr.t().layout is rg.sparse_csc
    assert rg.equal(csr.t().to_dense(), x.t())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rg.sparse_coo_tensor([[0, 1]], [1.0]), "must have same nnz, but got nnz from"),
        (lambda: rg.sparse_coo_tensor([0, 1], [1.0]), "indices must be sparse_dim x nnz, but got"),
        (lambda: rg.sparse_coo_tensor([[-1]], [1.0]), "found negative index -1 for dim 0"),
        (lambda: rg.sparse_coo_tensor([[2]], [1.0], (2,)), "size is inconsistent with indices"),
        (lambda: rg.sparse_coo_tensor([[1]], [1.0], (2, 2)), r"len\(size\) == sparse_dim \+ den"),
        (lambda: rg.sparse_coo_tensor([[0.5]], [1.0]), "indices must be an int64 tensor"),
        (
            lambda: rg.sparse_coo_tensor([[1, 0]], [1.0, 2.0], is_coalesced=True),
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor",
        ),
        (lambda: rg.sparse_coo_tensor((2**40, 2**40)), "Storage size calculation overflowed"),
        (
            lambda: rg.sparse_coo_tensor((2**40, 1)).mm(rg.sparse_coo_tensor((1, 2**40))),
            "Storage size calculation overflowed",
        ),
        (lambda: rg.sparse_csr_tensor([0, 2], [0], [1.0]), r"crow_indices\[..., -1\] == nnz"),
        (
            lambda: rg.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2)),
            "`0 <= col_indices < ncols` is not satisfied",
        ),
        (lambda: rg.sparse_csr_tensor([0, 1], [0], [1.0], (2, 2)), "number of compressed dimens"),
        (lambda: rg.ones(2).coalesce(), "coalesce expected sparse coordinate tensor layout but g"),
        (lambda: rg.eye(2).to_sparse_csr().indices(), "got SparseCsr"),
        (lambda: rg.ones(2).to_sparse(2), r"sparse_dim must be within \[1, 1\]"),
    ],
)
def test_what_does_not_fit_is_refused(make, said):
    with pytest.raises(RuntimeError, match=said):
        make()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [rg.float32, rg.float64, rg.complex128, rg.float16])
def test_products_equal_dense_ones(layout, dtype):
    x, y = drawn((4, 5), 1, dtype), drawn((5, 3), 2, dtype, share=1.0)
    sparse = x.to_sparse(layout=getattr(rg, layout))
    wide = rg.complex128 if dtype.is_complex else rg.float64
    close = {"rtol": 1e-2, "atol": 1e-2} if dtype is rg.float16 else {"rtol": 1e-6, "atol": 1e-6}
    expected = (x.to(wide) @ y.to(wide)).to(dtype)
    for found in (sparse @ y, sparse.mm(y), rg.spmm(sparse, y), rg.sparse.mm(sparse, y)):
        rg.testing.assert_close(found, expected, **close)
    rg.testing.assert_close(sparse.mv(y[:, 0]), expected[:, 0], **close)
    rg.testing.assert_close(y.t() @ sparse.t(), expected.t(), **close)
    rg.testing.assert_close(rg.mm(sparse, y.to_sparse()).to_dense(), expected, **close)


def test_a_product_of_sparse_matrices_is_sparse():
    x, y = drawn((4, 5), 1), drawn((5, 3), 2)
    found = rg.sparse.mm(x.to_sparse(), y.to_sparse())
    assert found.is_sparse
    rg.testing.assert_close(found.to_dense(), x @ y)


def test_products_are_the_same_without_scipy(monkeypatch):
    x, y = drawn((40, 50), 1), drawn((50, 30), 2)
    expected = x.to_sparse() @ y
    monkeypatch.setattr(pattern, "load_scipy", lambda: None)
    rg.testing.assert_close(x.to_sparse() @ y, expected, rtol=1e-14, atol=1e-14)


def test_addmm_linear_and_sampled_addmm_equal_dense_ones():
    x, y, z = drawn((4, 5), 1), drawn((5, 3), 2, share=1.0), drawn((4, 3), 3, share=1.0)
    sparse = x.to_sparse()
    expected = 0.5 * z + 2 * (x @ y)
    rg.testing.assert_close(rg.addmm(z, sparse, y, beta=0.5, alpha=2), expected)
    rg.testing.assert_close(rg.sparse.addmm(z, sparse, y, beta=0.5, alpha=2), expected)
    rg.testing.assert_close(F.linear(sparse, y.t(), z[0]), x @ y + z[0])
    there = x.to_sparse_csr()
    found = rg.sparse.sampled_addmm(there, z, y.t(), beta=0.5, alpha=2)
    expected = 0.5 * x + 2 * (z @ y.t()) * (x != 0)
    rg.testing.assert_close(found.to_dense(), expected)


def test_sizes_and_dtypes_of_products_are_checked():
    x = drawn((2, 3)).to_sparse()
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(2x3 and 2x3\)"):
        x.mm(x)
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype"):
        x.mm(rg.ones(3, 2))
    with pytest.raises(RuntimeError, match="mat2 must be a matrix"):
        rg.sparse.mm(x, rg.ones(3))


ELEMENTWISE = {
    "mul number": lambda x: x * 2.5,
    "number mul": lambda x: 2.5 * x,
    "mul 0-d": lambda x: x * rg.tensor(2.5, dtype=rg.float64),
    "div": lambda x: x / 4,
    "neg": lambda x: -x,
    "pow": lambda x: x**2,
    "abs": rg.abs,
    "relu": F.relu,
    "sin": rg.sin,
    "sqrt": lambda x: x.abs().sqrt(),
    "clone": lambda x: x.clone(),
    "float": lambda x: x.float(),
    "add": lambda x: x + x * 3,
    "sub": lambda x: x * 3 - x,
    "alpha": lambda x: rg.add(x, x, alpha=3),
    "mul": lambda x: x * (x + x),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "index_select": lambda x: x.index_select(1, rg.tensor([3, 0, 3])),
    "rows": lambda x: x.index_select(0, rg.tensor([2, 2, 1])),
    "row": lambda x: x[1],
    "column": lambda x: x[:, 2],
    "slice": lambda x: x[1:3, ::2],
    "element": lambda x: x[1, 3],
    "cat": lambda x: rg.cat([x, x * 2]),
    "cat 1": lambda x: rg.cat([x, x * 2], 1),
    "stack": lambda x: rg.stack([x, x * 2], 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "sum": lambda x: x.sum(),
    "sum 0": lambda x: x.sum(0),
    "norm": lambda x: x.norm(),
    "norm 1": lambda x: x.norm(p=1),
    "zero": lambda x: x.clone().zero_(),
    "in place": lambda x: x.clone().mul_(3).add_(x),
    "copy": lambda x: x.clone().copy_(x * 2),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("merged", [True, False], ids=["coalesced", "uncoalesced"])
def test_ops_equal_dense_ones(name, merged):
    if merged:
        dense = drawn((4, 5), 5)
        x = dense.to_sparse()
    else:
        x = rg.sparse_coo_tensor(
            [[1, 0, 1, 3], [3, 0, 3, 2]], [3.0, 4.0, -5.0, -1.0], (4, 5), dtype=rg.float64
        )
        dense = x.to_dense()
    found, expected = ELEMENTWISE[name](x), ELEMENTWISE[name](dense)
    assert found.shape == expected.shape
    rg.testing.assert_close(found.to_dense(), expected)


def test_dense_and_sparse_tensors_meet():
    x, y = drawn((4, 5), 1), drawn((4, 5), 2, share=1.0)
    sparse = x.to_sparse()
    assert rg.equal(y + sparse, y + x)
    assert rg.equal(y - sparse, y - x)
    assert rg.equal(y.clone().add_(sparse, alpha=2), y + 2 * x)
    assert (y * sparse).is_sparse
    assert rg.equal((sparse * y).to_dense(), x * y)
    assert rg.equal((sparse * y[0]).to_dense(), x * y[0])
    assert rg.equal(y.sparse_mask(sparse).to_dense(), y * (x != 0))


def test_sums_over_dimensions_equal_dense_ones():
    x = drawn((4, 5, 3), 1)
    sparse = x.to_sparse(2)
    assert (sparse.sparse_dim(), sparse.dense_dim()) == (2, 1)
    for dim in (0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        found = rg.sparse.sum(sparse, dim)
        rg.testing.assert_close(found.to_dense(), x.sum(dim))
    rg.testing.assert_close(rg.sparse.sum(sparse), x.sum())
    assert rg.sparse.sum(sparse, 0).is_sparse
    assert not rg.sparse.sum(sparse, (0, 1)).is_sparse


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_is_over_entries_alone(dim):
    x = drawn((4, 5), 1)
    hidden = x.masked_fill(x == 0, -rg.inf)
    expected = hidden.softmax(dim)
    there = x != 0
    found = rg.sparse.softmax(x.to_sparse(), dim).to_dense()
    rg.testing.assert_close(found[there], expected[there])
    found = rg.sparse.log_softmax(x.to_sparse(), dim).to_dense()
    rg.testing.assert_close(found[there], hidden.log_softmax(dim)[there])


def test_softmax_along_a_dense_dimension_is_that_of_the_entries():
    x = drawn((4, 5), 1, share=1.0)
    rg.testing.assert_close(rg.sparse.softmax(x.to_sparse(1), 1).to_dense(), x.softmax(1))


@pytest.mark.parametrize(
    "call",
    [
        rg.exp, rg.cos, lambda x: x == x, lambda x: x + 1, lambda x: x.reshape(3, 2),
        lambda x: x.mean(), lambda x: x.max(), lambda x: x.view(-1), lambda x: rg.equal(x, x),
        lambda x: x.softmax(1), lambda x: x.tolist(),
        lambda x: x + rg.ones(3), lambda x: x / rg.ones(2, 3), lambda x: x.sum(0, keepdim=True),
        rg.ones_like, rg.linalg.qr, lambda x: F.conv1d(x, rg.ones(2, 2, 2)),
        lambda x: rg.cat([x, rg.ones(2, 3)]),
    ],
)  # fmt: skip
def test_what_sparse_tensors_do_not_take_says_what_to_do(call):
    with pytest.raises((NotImplementedError, RuntimeError), match=r"to_dense\(\)"):
        call(rg.eye(2, 3).to_sparse())


def test_no_array_of_numpy_is_made_of_it():
    x = rg.eye(2).to_sparse()
    wanted = rg.eye(2).to_sparse().requires_grad_()
    for call in (x.numpy, lambda: np.asarray(x), wanted.numpy):
        with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
            call()


def test_a_dense_tensor_takes_no_sparse_one_by_copy():
    x = rg.eye(2)
    for a, b in ((x, x.to_sparse()), (x.to_sparse(), x)):
        with pytest.raises(RuntimeError, match="between dense and sparse Tensors"):
            a.copy_(b)


def test_values_are_copies():
    values = rg.tensor([1.0, 2.0])
    x = rg.sparse_coo_tensor([[0, 1]], values).coalesce()
    values.zero_()
    x.values().zero_()
    x._values().zero_()
    x.indices().zero_()
    assert x.to_dense().tolist() == [1.0, 2.0]


def test_infinite_entries_stay_where_they_are():
    x = rg.tensor([rg.inf, 0.0, 1.0]).to_sparse()
    assert x.sparse_mask(rg.ones(3).to_sparse()).to_dense().tolist() == [rg.inf, 0.0, 1.0]
    assert (x * rg.tensor([0.0, 2.0, 2.0]).to_sparse()).to_dense().tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_has_the_same_entries(copied, layout):
    x = drawn((3, 4)).to_sparse(layout=getattr(rg, layout)).requires_grad_()
    found = copied(x)
    assert (found.layout, found.requires_grad) == (x.layout, True)
    assert rg.equal(found.to_dense(), x.to_dense())


PRINTED = {
    "coo": (
        lambda: rg.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)),
        "tensor(indices=tensor([[0, 1, 1],\n"
        "                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=retrograd.sparse_coo)",
    ),
    "leaf": (
        lambda: rg.sparse_coo_tensor([[1]], [3.0], dtype=rg.float64, requires_grad=True),
        "tensor(indices=tensor([[1]]),\n"
        "       values=tensor([3.]),\n"
        "       size=(2,), nnz=1, dtype=retrograd.float64, layout=retrograd.sparse_coo,\n"
        "       requires_grad=True)",
    ),
    "empty": (
        lambda: rg.sparse_coo_tensor((2, 3)),
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, layout=retrograd.sparse_coo)",
    ),
    "csr": (
        lambda: rg.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3)),
        "tensor(crow_indices=tensor([0, 1, 3]),\n"
        "       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,\n"
        "       layout=retrograd.sparse_csr)",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_parts_are_printed(name):
    make, expected = PRINTED[name]
    assert repr(make()) == expected


def test_sparse_tensors_are_compared_as_the_dense_ones():
    x = drawn((3, 4))
    rg.testing.assert_close(x.to_sparse(), x.to_sparse() + x.to_sparse() * 0)
    rg.testing.assert_close(x.to_sparse(), x, check_layout=False)
    with pytest.raises(
        AssertionError, match=r"attribute 'layout' do not match: retrograd\.sparse_"
    ):
        rg.testing.assert_close(x.to_sparse(), x)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        rg.testing.assert_close(x.to_sparse(), x.to_sparse() * 2)


def test_old_types_make_and_know_sparse_tensors():
    x = rg.sparse.FloatTensor(rg.tensor([[0, 1]]), rg.tensor([1.0, 2.0]), rg.Size([3]))
    assert x.to_dense().tolist() == [1.0, 2.0, 0.0]
    assert x.type() == "retrograd.sparse.FloatTensor"
    assert isinstance(x, rg.sparse.FloatTensor)
    assert not isinstance(rg.ones(1), rg.sparse.FloatTensor)
    assert not isinstance(x, rg.sparse.DoubleTensor)
    assert rg.sparse.FloatTensor(2, 3).shape == (2, 3)


def test_a_sparse_buffer_moves_with_its_module():
    class Graph(rg.nn.Module):
        def __init__(self, adjacency):
            super().__init__()
            self.register_buffer("adjacency", adjacency.to_sparse())
            self.weight = rg.nn.Parameter(rg.ones(3, 2))

        def forward(self):
            return rg.sparse.mm(self.adjacency, self.weight)

    x = drawn((3, 3), dtype=rg.float32)
    module, other = Graph(x), Graph(x * 0 + rg.eye(3))
    other.load_state_dict(module.state_dict())
    assert rg.equal(other(), module())
    found = copy.deepcopy(module).double()()
    assert found.dtype is rg.float64
    rg.testing.assert_close(found, x.double() @ rg.ones(3, 2).double())


def test_diagonals_make_a_sparse_matrix_whose_gradient_has_their_shape():
    lines = rg.arange(9.0).reshape(3, 3).requires_grad_()
    made = rg.sparse.spdiags(lines, rg.tensor([0, -1, 2]), (4, 4))
    expected = [
        [0.0, 0.0, 8.0, 0.0],
        [3.0, 1.0, 0.0, 0.0],
        [0.0, 4.0, 2.0, 0.0],
        [0.0, 0.0, 5.0, 0.0],
    ]
    assert made.to_dense().tolist() == expected
    made.to_dense().sum().backward()
    assert lines.grad.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    turned = rg.sparse.spdiags(lines[0], rg.tensor(1), (2, 3), layout=rg.sparse_csr)
    assert turned.layout is rg.sparse_csr
    assert turned.to_dense().tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"diagonals": rg.ones(1, 2, 2)}, "Diagonals must be vector or matrix"),
        ({"offsets": rg.tensor([[0, 1]])}, "Offsets must be scalar or vector"),
        ({"shape": (3,)}, "Output shape must be 2d"),
        ({"offsets": rg.tensor([0.0, 1.0])}, "Offset Tensor must have dtype Long"),
        ({"offsets": rg.tensor([0])}, r"Number of diagonals \(2\) does not match"),
        ({"offsets": rg.tensor([1, 1])}, "Offset tensor contains duplicate values"),
        ({"layout": rg.strided}, "Only output layouts"),
    ],
)
def test_diagonals_that_make_no_matrix_are_refused(changed, said):
    given = {"diagonals": rg.ones(2, 2), "offsets": rg.tensor([0, 1]), "shape": (2, 2)} | changed
    with pytest.raises(RuntimeError, match=said):
        rg.sparse.spdiags(**given)


REDUCED = {  # the product, and the gradient of the sum of its squares
    "sum": ([[6.0, 9.0], [0.0, 0.0], [29.0, -13.0]],
             [[232.0, -104.0], [24.0, 36.0], [290.0, -130.0], [36.0, 54.0]]),
    "mean": ([[3.0, 4.5], [0.0, 0.0], [14.5, -6.5]],
             [[58.0, -26.0], [6.0, 9.0], [72.5, -32.5], [9.0, 13.5]]),
    "amax": ([[6.0, 6.0], [0.0, 0.0], [25.0, -5.0]],
             [[0.0, 0.0], [0.0, 24.0], [250.0, -50.0], [36.0, 0.0]]),
    "amin": ([[0.0, 3.0], [0.0, 0.0], [4.0, -8.0]],
             [[32.0, -64.0], [0.0, 0.0], [0.0, 0.0], [0.0, 18.0]]),
}  # fmt: skip


@pytest.mark.parametrize("reduce", REDUCED)
def test_products_of_a_row_s_entries_are_reduced_as_in_pytorch(reduce):
    mat = rg.tensor([[0.0, 2.0, 0.0, 3.0], [0.0] * 4, [4.0, 0.0, 5.0, 0.0]]).to_sparse_csr()
    x = rg.tensor([[1.0, -2.0], [0.0, 3.0], [5.0, -1.0], [2.0, 1.0]], requires_grad=True)
    out = rg.sparse.mm(mat, x, reduce)
    out.pow(2).sum().backward()
    assert (out.tolist(), x.grad.tolist()) == REDUCED[reduce]


def test_reductions_that_are_none_and_sparse_operands_of_one_are_refused():
    mat = rg.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="reduce argument must be either sum, prod, mean, amax"):
        rg.sparse.mm(mat, rg.eye(2), "foo")
    with pytest.raises(RuntimeError, match="strided"):
        rg.sparse.mm(mat, mat, "mean")


@pytest.mark.parametrize("dim", [0, 1])
def test_a_sparse_tensor_is_taken_apart_along_a_sparse_dimension(dim):
    dense = rg.tensor([[1.0, 0.0], [2.0, 3.0], [0.0, 0.0]], requires_grad=True)
    parts = dense.to_sparse().unbind(dim)
    assert [p.layout for p in parts] == [rg.sparse_coo] * dense.shape[dim]
    wanted = [p.tolist() for p in dense.unbind(dim)]
    assert [p.to_dense().tolist() for p in parts] == wanted
    (parts[1].to_dense() * 5).sum().backward()
    assert dense.grad.sum() == 5 * sum(map(bool, wanted[1]))


def test_rows_of_a_sparse_matrix_are_sparse_and_numbers_of_a_vector_are_dense():
    assert [row.layout for row in rg.eye(2).to_sparse()] == [rg.sparse_coo] * 2
    assert [x.item() for x in rg.tensor([0.0, 2.0]).to_sparse()] == [0.0, 2.0]
    assert [row.to_dense().tolist() for row in rg.eye(2).to_sparse_csr()] == rg.eye(2).tolist()


def test_strides_of_coordinates_are_zeros_and_other_sparse_layouts_have_none():
    x = rg.eye(3).to_sparse()
    assert (x.stride(), x.stride(-1)) == ((0, 0), 0)
    assert rg.ones(3, 1, 0).to_sparse(2).stride() == (0, 0, 0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.stride(2)
    for made in (x.to_sparse_csr(), x.to_sparse_csc(), x.to_sparse_bsr((1, 1))):
        with pytest.raises(RuntimeError, match=r"has no strides.*x\.to_dense\(\)\.stride\(\)"):
            made.stride()


def test_a_sparse_tensor_is_not_contiguous_and_begins_its_memory():
    x = rg.eye(3).to_sparse()
    assert not x.is_contiguous()
    assert x.storage_offset() == 0
    rows = rg.eye(3).to_sparse_csr()
    for ask in (rows.is_contiguous, lambda: rows.view(9), lambda: rows.view_as(rg.ones(9))):
        with pytest.raises(NotImplementedError, match="CSR tensors do not have is_contiguous"):
            ask()


def test_new_tensors_of_a_sparse_one_are_sparse():
    assert rg.eye(2).to_sparse().new_zeros(2, 3).layout is rg.sparse_coo
    assert rg.eye(2).new_zeros(2, 3).layout is rg.strided


def test_indices_need_values():
    with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
        rg.sparse_coo_tensor([[0], [1]], None, (3, 3))


def test_batches_without_any_entries_arrive_from_a_worker():
    made = [rg.zeros(2, 2).to_sparse_csr() for _ in range(2)]
    how = {"num_workers": 1, "multiprocessing_context": "fork"}
    rows = list(rg.utils.data.DataLoader(made, None, **how))
    assert len(rows) == 2
    rows[0].to_dense().add_(1)
    assert rows[1].shape == (2, 2)


PRODUCTS = [
    lambda s, v: s @ v,
    lambda s, v: v @ s,
    lambda s, v: F.linear(s, v),
    lambda s, v: F.linear(v, s),
]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(
    "function", PRODUCTS, ids=["matrix first", "vector first", "rows", "weight"]
)
def test_products_with_sparse_matrices_are_batched(function):
    s = rg.tensor([[1.0, 0.0], [3.0, 2.0]]).to_sparse()
    vectors = rg.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 4.0]])
    if function not in PRODUCTS[:2]:
        vectors = vectors.reshape(3, 1, 2)
    wanted = rg.stack([function(s, v) for v in vectors])
    assert rg.equal(rg.vmap(lambda v: function(s, v))(vectors), wanted)


def test_indices_lie_in_rows():
    places = rg.tensor([[0, 1, 1], [1, 0, 0]])
    s = rg.sparse_coo_tensor(places, rg.ones(3), (2, 2)).coalesce()
    for x in (s, s.t().coalesce(), s * 2, rg.sparse.mm(s, s)):
        assert x.coalesce().indices().is_contiguous()


@pytest.mark.parametrize("layout", [rg.sparse_csr, rg.sparse_csc])
def test_products_with_a_compressed_matrix_on_the_right_lie_in_rows(layout):
    a = rg.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    s, rows = a.to_sparse(layout=layout), rg.arange(4.0).view(2, 2)
    found = rows @ s
    assert found.is_contiguous()
    rg.testing.assert_close(found, rows @ a)
    x = rg.arange(12.0).view(2, 2, 3)
    found = rg.nn.functional.linear(x, s)
    assert found.is_contiguous()
    rg.testing.assert_close(found, rg.nn.functional.linear(x, a))


@pytest.mark.parametrize("key", [0, slice(0, 1), (0, 1), ..., None, rg.tensor([0])])
@pytest.mark.parametrize("layout", [rg.sparse_coo, rg.sparse_csr])
def test_nothing_is_assigned_to_places_of_a_sparse_tensor(key, layout):
    x = rg.eye(2).to_sparse(layout=layout)
    for value in (1.0, rg.ones(()), x[0]):
        with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
            x[key] = value
    assert x.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
