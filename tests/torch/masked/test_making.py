"""How masked tensors are made, what they say of themselves, and how they leave again."""

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

DATA, MASK = rg.tensor([1.0, 2.0, 3.0]), rg.tensor([True, False, True])


def same(actual, expected):
    rg.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


def test_data_and_mask_are_copied():
    data, mask = DATA.clone(), MASK.clone()
    x = masked_tensor(data, mask)
    data.zero_()
    mask.zero_()
    same(x.get_data(), DATA)
    same(x.get_mask(), MASK)


def test_the_names_of_pytorchs_modules_lead_to_the_class():
    assert rg.masked.maskedtensor.core.MaskedTensor is MaskedTensor
    assert rg.masked.maskedtensor.creation.masked_tensor is masked_tensor
    assert rg.masked._ops.sum is rg.masked.sum
    assert isinstance(masked_tensor(DATA, MASK), MaskedTensor)
    assert is_masked_tensor(MaskedTensor(DATA, MASK))
    assert not is_masked_tensor([1])


def test_text_shows_what_counts():
    assert repr(masked_tensor(DATA, MASK)) == "MaskedTensor(\n  [  1.0000,       --,   3.0000]\n)"
    assert repr(masked_tensor(rg.tensor(0.5), rg.tensor(True))) == "MaskedTensor(  0.5000, True)"
    assert repr(masked_tensor(rg.tensor(0.5), rg.tensor(False))) == "MaskedTensor(--, False)"
    assert repr(masked_tensor(rg.tensor([1j, 2]), rg.tensor([True, False]))) == (
        "MaskedTensor(\n  [0.0000+1.0000j,             --]\n)"
    )
    matrix = masked_tensor(rg.arange(4).reshape(2, 2), rg.eye(2).bool())
    assert str(matrix) == ("MaskedTensor(\n  [\n    [0,       --],\n    [      --, 3]\n  ]\n)")
    assert repr(matrix.to_sparse()) == repr(matrix)
    assert repr(masked_tensor(rg.ones(0), rg.ones(0) > 0)) == "MaskedTensor(\n  []\n)"


@pytest.mark.parametrize("dtype", [rg.uint8, rg.bfloat16, rg.complex64, rg.complex128, rg.int8])
def test_data_have_any_dtype(dtype):
    x = masked_tensor(DATA.to(dtype), MASK)
    assert x.dtype is dtype
    same(x.sum().get_data(), rg.tensor(4, dtype=x.sum().dtype))


def test_a_leaf_from_data_with_a_history_warns_and_leaves_it_out():
    data = DATA.clone().requires_grad_()
    with pytest.warns(UserWarning, match="not recommended to create a MaskedTensor"):
        x = masked_tensor(data, MASK)
    assert (x.requires_grad, x.is_leaf) == (False, True)


def test_the_mask_that_is_given_is_not_to_be_written():
    with pytest.raises(RuntimeError, match="read-only"):
        masked_tensor(DATA, MASK).get_mask().zero_()


def test_the_data_that_are_given_are_those_of_the_tensor():
    x = masked_tensor(DATA, MASK)
    x.get_data().mul_(2)
    same(x.to_tensor(0.0), rg.tensor([2.0, 0.0, 6.0]))


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_masked_tensors(make):
    x = masked_tensor(DATA, MASK, requires_grad=True)
    found = make(x)
    assert isinstance(found, MaskedTensor)
    assert found.requires_grad
    same(found.detach().get_data(), DATA)
    same(found.get_mask(), MASK)


def test_sparse_masked_tensors_can_be_copied_and_saved():
    x = masked_tensor(DATA.reshape(1, 3), MASK.reshape(1, 3)).to_sparse()
    for found in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert found.is_sparse_coo()
        assert repr(found) == repr(x)


def test_files_that_are_trusted_bring_them_back(tmp_path):
    x = masked_tensor(DATA, MASK, requires_grad=True)
    x.origin = "here"
    rg.save({"x": x}, tmp_path / "x.pt")
    found = rg.load(tmp_path / "x.pt", weights_only=False)["x"]
    assert (repr(found), found.requires_grad, found.origin) == (repr(x), True, "here")
    with pytest.raises(pickle.UnpicklingError, match="the file calls MaskedTensor"):
        rg.load(tmp_path / "x.pt")


def test_sizes_and_flags_are_those_of_data():
    x = masked_tensor(DATA.reshape(1, 3), MASK.reshape(1, 3))
    assert (x.shape, x.stride(), x.is_contiguous(), x.device.type) == ((1, 3), (3, 1), True, "cpu")
    assert (x.layout, x.is_sparse, x.is_sparse_csr()) == (rg.strided, False, False)
    assert x.to_sparse_csr().is_sparse_csr()
    assert len(list(x)) == 1


def test_what_is_masked_out_has_no_number():
    x = masked_tensor(DATA, MASK)
    assert (x[0].item(), float(x[2]), int(x[2]), bool(x[0])) == (1.0, 3.0, 3, True)
    with pytest.raises(ValueError, match="masked out"):
        x[1].item()


@pytest.mark.parametrize(
    ("name", "error"),
    [("tolist", RuntimeError), ("numpy", RuntimeError), ("sort", TypeError), ("topk", TypeError)],
)
def test_what_needs_all_elements_is_refused(name, error):
    args = (1,) if name == "topk" else ()
    with pytest.raises(error, match="not implemented for masked tensors"):
        getattr(masked_tensor(DATA, MASK), name)(*args)


def test_numpy_gets_no_array_of_a_masked_tensor():
    with pytest.raises(RuntimeError, match="not implemented for masked tensors"):
        np.asarray(masked_tensor(DATA, MASK))


def test_only_matrices_are_converted_to_rows():
    with pytest.raises(ValueError, match="Only 2D tensors can be converted to the SparseCsr"):
        masked_tensor(DATA, MASK).to_sparse_csr()


def test_sparse_data_of_other_places_take_those_of_the_mask():
    places, kept = rg.tensor([[0, 1], [1, 1]]), rg.tensor([True])
    data = rg.sparse_coo_tensor(places, rg.tensor([1.0, 2.0]), (2, 2))
    x = as_masked_tensor(data, rg.sparse_coo_tensor(places[:, :1], kept, (2, 2)))
    same(x.to_tensor(0.0), rg.tensor([[0.0, 1.0], [0.0, 0.0]]))
