"""Sparse tensors in files."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.serialization import test_hostile_files as hostile

import retrograd as rg
from retrograd.engine.tensor import new_tensor
from retrograd.torch.layouts.sparse.array import Sparse
from retrograd.torch.layouts.sparse.pattern import Pattern


def written(obj, zipped=True):
    """The bytes of a file, to be read."""
    file = io.BytesIO()
    rg.save(obj, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_a_sparse_tensor_comes_back(layout, zipped):
    dense = rg.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], dtype=rg.float64)
    x = dense.to_sparse(layout=getattr(rg, layout))
    found = rg.load(written({"x": x, "parameter": rg.nn.Parameter(x)}, zipped))
    for each in found.values():
        assert (each.layout, each.dtype) == (x.layout, rg.float64)
        assert rg.equal(each.to_dense(), dense)
    assert found["parameter"].requires_grad


def test_entries_at_one_place_stay_apart_in_a_file():
    x = rg.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (4,))
    found = rg.load(written(x))
    assert not found.is_coalesced()
    assert found._values().tolist() == [2.0, 3.0]
    assert rg.load(written(x.coalesce())).is_coalesced()


def forged(indices, values, shape, coalesced=False):
    """A sparse tensor that nothing has checked."""
    pattern = Pattern(np.array(indices), shape, coalesced)
    return new_tensor(Sparse(np.array(values, np.float32), pattern))


@pytest.mark.parametrize(
    ("indices", "values", "shape", "text"),
    [
        ([[5]], [1.0], (2,), "for dim 0, size is 2 but found index 5"),
        ([[-1]], [1.0], (2,), "negative index -1 for dim 0"),
        ([[0, 1]], [1.0], (2,), "nnz from indices: 2, nnz from values: 1"),
        ([[0]], [1.0], (2, 2), r"len\(size\) = 2, sparse_dim = 1, dense_dim = 0"),
        ([[0]], [1.0], (-2,), "negative dimension -2"),
        ([[0]], [1.0], (2**62, 4), r"overflowed with sizes=\[4611686018427387904, 4\]"),
    ],
)
def test_places_in_a_file_are_checked(indices, values, shape, text):
    with pytest.raises(RuntimeError, match=text):
        rg.load(written(forged(indices, values, shape)))


def test_a_file_that_calls_its_places_sorted_is_not_believed():
    found = rg.load(written(forged([[1, 0, 1]], [1.0, 2.0, 3.0], (2,), True)))
    assert found.indices().tolist() == [[0, 1]]
    assert found.values().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("safely", [True, False])
def test_sparse_tensors_are_read(safely):
    found = rg.load(hostile.FILES / "sparse.pt", weights_only=safely)
    for each in found.values():
        assert each.to_dense().tolist() == [[4.0, 0.0, 0.0], [0.0, 0.0, 8.0]]
    layouts = [rg.sparse_coo, rg.sparse_coo, rg.sparse_csr, rg.sparse_csc, rg.sparse_coo]
    assert [each.layout for each in found.values()] == layouts
    assert [each.is_coalesced() for each in (found["twice"], found["whole"])] == [False, True]
    assert isinstance(found["parameter"], rg.nn.Parameter)


@pytest.mark.parametrize(("content", "read"), list(hostile.readers([hostile.FILES / "sparse.pt"])))
def test_a_file_altered_at_random_gives_data_or_a_clear_error(content, read):
    hostile.test_a_file_altered_at_random_gives_data_or_a_clear_error(content, read)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_a_sparse_tensor_goes_to_the_meta_device(layout):
    x = rg.eye(3).to_sparse(layout=getattr(rg, layout))
    there = x.to("meta", rg.float64)
    assert (there.device.type, there.dtype, there.shape) == ("meta", rg.float64, (3, 3))
    assert (there.layout, there._nnz(), there.values().device.type) == (x.layout, 3, "meta")
    assert "values=tensor(..., size=(3,))" in repr(there)
    with pytest.raises(NotImplementedError, match="no data"):
        there.to("cpu")
    file = io.BytesIO()
    rg.save(x, file)
    file.seek(0)
    with pytest.raises(NotImplementedError, match="load it on the cpu, then"):
        rg.load(file, map_location="meta")
