"""Matrices of blocks, batches of matrices and dense dimensions, in the compressed layouts."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from .test_values import drawn

COMPRESSED = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def block(layout):
    return (2, 3) if "_bs" in layout else None


def parts(x):
    """Compressed indices, plain indices and values."""
    rows = x.layout in (rg.sparse_csr, rg.sparse_bsr)
    found = (x.crow_indices(), x.col_indices()) if rows else (x.ccol_indices(), x.row_indices())
    return (*found, x.values())


def batch(layout, dtype=rg.float64):
    """Matrices (2, 3, 4, 6) with as many entries in each, and a few zeros among them."""
    matrix = drawn((4, 6), dtype=dtype)
    turned = rg.stack([matrix, matrix.flip(0), matrix.flip(1)])
    return rg.stack([turned, 2 * turned])


@pytest.mark.parametrize("layout", COMPRESSED)
def test_batches_of_matrices_go_into_the_layout_and_back(layout):
    x = batch(layout) if block(layout) is None else rg.ones(2, 3, 4, 6)
    sparse = x.to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    assert (sparse.sparse_dim(), sparse.dense_dim(), sparse.ndim) == (2, 0, 4)
    assert sparse.values().shape[:2] == (2, 3)
    assert rg.equal(sparse.to_dense(), x)


@pytest.mark.parametrize("layout", COMPRESSED)
def test_the_parts_of_compressed_matrices_make_them_again(layout):
    x = rg.ones(2, 4, 6) * rg.arange(6.0)
    sparse = x.to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    again = rg.sparse_compressed_tensor(*parts(sparse), x.shape, layout=sparse.layout)
    assert again.layout is sparse.layout
    assert rg.equal(again.to_dense(), x)
    for one, other in zip(parts(again), parts(sparse), strict=True):
        assert rg.equal(one, other)


def test_blocks_are_told_row_by_row_of_blocks():
    x = rg.sparse_bsr_tensor([0, 1, 2], [1, 0], rg.arange(8.0).reshape(2, 2, 2), (4, 4))
    assert x.to_dense().tolist() == [
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 2.0, 3.0],
        [4.0, 5.0, 0.0, 0.0],
        [6.0, 7.0, 0.0, 0.0],
    ]
    assert (x._nnz(), x.values().shape) == (2, (2, 2, 2))
    assert repr(x.to_dense().to_sparse_bsr(2)) == repr(x)


def test_all_elements_of_a_block_are_entries_that_get_gradients():
    x = rg.eye(4).requires_grad_()
    values = x.to_sparse_bsr((2, 2)).values()
    assert values.tolist() == [[[1.0, 0.0], [0.0, 1.0]]] * 2
    (values * rg.arange(8.0).reshape(2, 2, 2)).sum().backward()
    assert x.grad[:2, :2].tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_the_transpose_of_a_matrix_of_blocks_is_by_columns():
    x = drawn((4, 6)).to_sparse_bsr((2, 3))
    turned = x.t()
    assert turned.layout is rg.sparse_bsc
    assert turned.values().shape[1:] == (3, 2)
    assert rg.equal(turned.to_dense(), x.to_dense().t())


@pytest.mark.parametrize("layout", COMPRESSED)
def test_products_sums_and_functions_of_compressed_matrices_are_those_of_dense_ones(layout):
    dense, other = drawn((4, 6)), drawn((6, 3), 1, share=1.0)
    x = dense.to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    rg.testing.assert_close(x @ other, dense @ other)
    rg.testing.assert_close((x + x).to_dense(), dense + dense)
    rg.testing.assert_close((x * dense).to_dense(), dense * dense)
    rg.testing.assert_close(x.sin().to_dense(), dense.sin())
    rg.testing.assert_close(x.sum(), dense.sum())
    assert (x + x).layout is x.layout
    assert (x + x).values().shape == x.values().shape


def test_a_part_of_a_matrix_of_blocks_has_no_blocks():
    x = drawn((4, 6)).to_sparse_bsr((2, 3))
    assert x[1:3].layout is rg.sparse_csr
    assert rg.equal(x[1:3].to_dense(), x.to_dense()[1:3])
    assert rg.equal(x[2].to_dense(), x.to_dense()[2])


def test_one_matrix_of_a_batch_keeps_the_layout():
    x = rg.ones(2, 4, 6).to_sparse_bsr((2, 3))
    assert (x[1].layout, x[1].values().shape) == (rg.sparse_bsr, (4, 2, 3))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_bmm_multiplies_batches_of_sparse_matrices(layout):
    dense = rg.stack([rg.eye(3), 2 * rg.eye(3)]).double()
    other = drawn((2, 3, 2), share=1.0).requires_grad_()
    x = dense.to_sparse(layout=getattr(rg, layout))
    found = rg.bmm(x, other)
    rg.testing.assert_close(found, dense @ other)
    (slope,) = rg.autograd.grad(found.sum(), other)
    rg.testing.assert_close(slope, dense.sum(1).unsqueeze(2).expand(2, 3, 2).contiguous())


def test_a_linear_layer_with_a_sparse_weight_takes_inputs_of_any_dimensions():
    weight, x = drawn((4, 3)), drawn((2, 5, 3), 1, share=1.0)
    found = rg.nn.functional.linear(x, weight.to_sparse_csr(), rg.ones(4).double())
    rg.testing.assert_close(found, x @ weight.t() + 1)


def test_values_of_matrices_may_have_dense_dimensions():
    values = rg.arange(6.0).reshape(3, 2).requires_grad_()
    x = rg.sparse_csr_tensor([0, 1, 3], [1, 0, 2], values)
    assert (x.shape, x.sparse_dim(), x.dense_dim()) == ((2, 3, 2), 2, 1)
    assert x.to_dense()[1, 2].tolist() == [4.0, 5.0]
    x.to_dense().pow(2).sum().backward()
    assert rg.equal(values.grad, 2 * values.detach())


@pytest.mark.parametrize("layout", COMPRESSED)
def test_indices_that_were_int32_stay_so(layout):
    x = rg.ones(4, 6).to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    starts, across, values = parts(x)
    again = rg.sparse_compressed_tensor(
        starts.int(), across.int(), values, x.shape, layout=x.layout
    )
    assert [t.dtype for t in parts(again)[:2]] == [rg.int32, rg.int32]
    assert [t.dtype for t in parts(again * 2)[:2]] == [rg.int32, rg.int32]
    assert starts.dtype is rg.int64


def test_matrices_of_a_batch_with_different_numbers_of_entries_are_refused():
    x = rg.stack([rg.eye(2), rg.ones(2, 2)])
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        x.to_sparse_csr()
    assert x.to_sparse()._nnz() == 6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rg.ones(5, 4).to_sparse_bsr((2, 2)), r"\(5,4\) must be divisible by .*\(2,2\)"),
        (lambda: rg.ones(4, 4).to_sparse(blocksize=(2,)), "tuple of size 2, but got 1"),
        (lambda: rg.ones(4, 4).to_sparse(layout=rg.sparse_bsr), "needs a blocksize"),
        (lambda: rg.ones(4).to_sparse_csr(), "takes matrices"),
        (lambda: rg.ones(2, 2).to_sparse(1).to_sparse(2), "is not supported: 2 for 1"),
        (lambda: rg.ones(2, 2).to_sparse(1).to_sparse_csr(), r"sparse_dim\(\)!=2"),
        (lambda: rg.sparse_bsr_tensor([0, 1], [0], [1.0]), "values of blocks two more"),
        (lambda: rg.sparse_csr_tensor([0, 1], [[0]], [[1.0]]), "same batch dimensions"),
        (lambda: rg.sparse_csr_tensor([0, 1], [0], [1.0], (2, 1)), "number of compressed"),
        (lambda: rg.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]], (1, 3)), r"blocks of \[1, 2\]"),
        (lambda: rg.sparse_csr_tensor([0, 1], [3], [1.0], (1, 3)), "0 <= col_indices < ncols"),
        (lambda: rg.sparse_compressed_tensor([0], [], [], layout=rg.strided), "sparse compressed"),
        (lambda: rg.zeros(2, 2, layout=rg.sparse_bsr), "blocks|blocksize"),
        (lambda: rg.ones(2, 2).to_sparse_bsr((1, 2)).index_select(0, rg.tensor([0])), "of blocks"),
    ],
)
def test_what_does_not_fit_says_so(call, said):
    with pytest.raises((RuntimeError, NotImplementedError, TypeError), match=said):
        call()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_factories_make_sparse_zeros_of_a_layout(layout):
    kind = getattr(rg, layout)
    for x in (
        rg.zeros(2, 3, layout=kind),
        rg.empty(2, 3, layout=kind),
        rg.zeros_like(rg.ones(2, 3), layout=kind),
        rg.ones(2, 3).new_zeros(2, 3, layout=kind),
        rg.zeros(1, layout=rg.sparse_coo).new_empty(2, 3, layout=kind),
    ):
        assert (x.layout, x._nnz(), x.shape) == (kind, 0, (2, 3))
        assert rg.equal(x.to_dense(), rg.zeros(2, 3))


@pytest.mark.parametrize("layout", ["sparse_coo", *COMPRESSED])
def test_zeros_like_a_sparse_tensor_have_its_form_and_no_entries(layout):
    x = rg.ones(4, 6).to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    for found in (rg.zeros_like(x), rg.empty_like(x, dtype=rg.int32)):
        assert (found.layout, found._nnz(), found.shape) == (x.layout, 0, x.shape)
        assert found.values().shape[1:] == x.values().shape[1:]
    assert found.dtype is rg.int32
    assert rg.equal(rg.zeros_like(x, layout=rg.strided), rg.zeros(4, 6))


def test_a_sparse_tensor_may_have_no_sparse_dimensions():
    x = rg.sparse_coo_tensor(rg.zeros(0, 2), rg.tensor([1.0, 2.0]), ())
    assert (x.sparse_dim(), x._nnz(), x.to_dense().item()) == (0, 2, 3.0)
    y = rg.tensor(4.0, requires_grad=True)
    (y.to_sparse() * 3).to_dense().backward()
    assert y.grad.item() == 3.0
    assert rg.tensor(0.0).to_sparse()._nnz() == 0
    assert (-rg.tensor(2.0).to_sparse()).clone().to_dense().item() == -2.0


def test_conversions_keep_booleans():
    x = rg.tensor([[True, False], [False, True]]).to_sparse_csr().to_sparse_bsr((2, 1))
    assert x.values().dtype is rg.bool
    assert x.to_dense().tolist() == [[True, False], [False, True]]


def test_the_product_of_sparse_tensors_broadcasts_dense_dimensions():
    a = rg.ones(3, 4).to_sparse(1)
    b = rg.tensor([[2.0], [0.0], [3.0]]).to_sparse(1)
    assert rg.equal((a * b).to_dense(), a.to_dense() * b.to_dense())
    assert rg.equal((a * rg.tensor(2.0).to_sparse()).to_dense(), 2 * a.to_dense())


def test_parts_of_sparse_tensors_may_be_along_dense_dimensions():
    x = drawn((3, 4, 2)).to_sparse(2)
    for cut in (np.s_[:, :, 1], np.s_[1, :, :1], np.s_[:, 1:, 1]):
        assert rg.equal(x[cut].to_dense(), x.to_dense()[cut])
    assert rg.equal(x.unsqueeze(3).to_dense(), x.to_dense().unsqueeze(3))


def test_any_of_a_sparse_tensor_looks_at_its_values():
    x = rg.sparse_coo_tensor([[0, 1]], [0.0, 2.0])
    assert (x.any().item(), (0 * x).any().item()) == (True, False)


def test_a_program_may_say_that_a_tensor_is_coalesced():
    x = rg.sparse_coo_tensor([[0, 1]], [1.0, 2.0])
    assert x._coalesced_(True) is x
    assert x.is_coalesced()
    with pytest.raises(RuntimeError, match=r"x = x\.coalesce\(\)"):
        rg.sparse_coo_tensor([[1, 1]], [1.0, 2.0])._coalesced_(True)


@pytest.mark.parametrize("layout", COMPRESSED)
def test_gradients_of_compressed_matrices_are_right(layout):
    dense = drawn((4, 6)).requires_grad_()
    other = drawn((6, 2), 1, share=1.0).requires_grad_()

    def of(x, y):
        sparse = x.to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
        return (sparse @ y).sum() + (sparse.values() ** 2).sum()

    x = dense.detach() + rg.where(dense == 0, 0.1, 0.0)  # so that its places stay
    assert rg.autograd.gradcheck(of, (x.requires_grad_(), other))


@pytest.mark.parametrize("layout", COMPRESSED)
def test_compressed_matrices_are_saved_and_loaded(layout, tmp_path):
    x = rg.ones(2, 4, 6).to_sparse(layout=getattr(rg, layout), blocksize=block(layout))
    rg.save({"x": x}, tmp_path / "x.pt")
    found = rg.load(tmp_path / "x.pt")["x"]
    assert found.layout is x.layout
    assert rg.equal(found.to_dense(), x.to_dense())
    assert repr(found) == repr(x)


def test_the_one_element_of_a_sparse_tensor_is_a_number():
    x = rg.tensor([2.5]).to_sparse()
    assert (x.item(), float(x), int(x), bool(x), rg.is_nonzero(x)) == (2.5, 2.5, 2, True, True)
    assert not rg.zeros(1, layout=rg.sparse_coo)


def test_narrow_copy_of_a_sparse_tensor_is_sparse():
    x = drawn((4, 3)).to_sparse()
    found = x.narrow_copy(0, 1, 2)
    assert found.is_sparse
    assert rg.equal(found.to_dense(), x.to_dense()[1:3])
