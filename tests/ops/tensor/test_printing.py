"""How tensors are shown; the expected texts are PyTorch's, with its name replaced."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg


@pytest.fixture(autouse=True)
def default_options():
    yield
    rg.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1.5, "tensor(1.5000)"),
        (3, "tensor(3)"),
        (True, "tensor(True)"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        ([1.5, -2.0], "tensor([ 1.5000, -2.0000])"),
        ([True, False], "tensor([ True, False])"),
        ([10, 2, -300], "tensor([  10,    2, -300])"),
        ([1e-10, 1.0], "tensor([1.0000e-10, 1.0000e+00])"),
        ([1e9], "tensor([1.0000e+09])"),
        ([0.0001, 0.5], "tensor([1.0000e-04, 5.0000e-01])"),
        ([0.0, 0.0], "tensor([0., 0.])"),
        ([math.nan, 1.0, math.inf], "tensor([nan, 1., inf])"),
        ([math.nan, 1.5, -math.inf], "tensor([   nan, 1.5000,   -inf])"),
        ([1 + 2j, -1.5j], "tensor([1.+2.0000j, -0.-1.5000j])"),
        ([1j], "tensor([0.+1.j])"),
        ([[1, 2], [3, 4]], "tensor([[1, 2],\n        [3, 4]])"),
        ([[[1.0]], [[2.0]]], "tensor([[[1.]],\n\n        [[2.]]])"),
    ],
)
def test_values_are_aligned_as_in_pytorch(data, text):
    assert repr(rg.tensor(data)) == text
    assert str(rg.tensor(data)) == text


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (rg.zeros(0), "tensor([])"),
        (rg.zeros(0, 3), "tensor([], size=(0, 3))"),
        (rg.zeros(0, dtype=rg.int64), "tensor([], dtype=retrograd.int64)"),
        (rg.ones(1, dtype=rg.float64), "tensor([1.], dtype=retrograd.float64)"),
        (rg.ones(1, dtype=rg.int32), "tensor([1], dtype=retrograd.int32)"),
        (rg.ones(1, dtype=rg.complex128), "tensor([1.+0.j], dtype=retrograd.complex128)"),
        (rg.ones(1, dtype=rg.float16), "tensor([1.], dtype=retrograd.float16)"),
    ],
)
def test_unusual_dtypes_and_empty_sizes_are_told(tensor, text):
    assert repr(tensor) == text


def test_the_history_is_told():
    x = rg.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"


def test_long_lines_are_broken_and_notes_go_to_the_next_line():
    x = rg.full((12,), 1.5, dtype=rg.float64, requires_grad=True)
    assert repr(x * 2) == (
        "tensor([3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3.],\n"
        "       dtype=retrograd.float64, grad_fn=<MulBackward0>)"
    )
    assert repr(rg.arange(30)) == (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
    )


def test_large_tensors_are_summarised():
    assert repr(rg.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    rows = repr(rg.zeros(40, 40)).split("\n")
    assert rows == [
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],",
        *["        [0., 0., 0.,  ..., 0., 0., 0.],"] * 2,
        "        ...,",
        *["        [0., 0., 0.,  ..., 0., 0., 0.],"] * 2,
        "        [0., 0., 0.,  ..., 0., 0., 0.]])",
    ]


def test_print_options_hold_for_a_block_and_are_given_back():
    before = rg.get_printoptions()
    with rg.printoptions(precision=2, threshold=4, edgeitems=1):
        assert repr(rg.tensor([1.23456])) == "tensor([1.23])"
        assert repr(rg.arange(5)) == "tensor([0,  ..., 4])"
    with pytest.raises(ZeroDivisionError), rg.printoptions(sci_mode=True):
        1 / (repr(rg.tensor([1.5])) != "tensor([1.5000e+00])")
    assert rg.get_printoptions() == before


def test_an_unknown_print_profile_raises():
    with pytest.raises(ValueError, match="profile"):
        rg.set_printoptions(profile="long")


def test_format_takes_a_number_specification_for_single_values():
    assert f"{rg.tensor(2.0):.3f}" == "2.000"
    assert f"{rg.tensor(7):03d}" == "007"
    assert f"{rg.ones(1)}" == "tensor([1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(rg.ones(2), ".2f")


def test_a_subclass_shows_its_own_name():
    class Velocity(rg.Tensor):
        pass

    assert repr(Velocity([1.0])) == "Velocity([1.])"


def test_printing_looks_at_strided_and_read_only_memory():
    view = rg.from_numpy(np.broadcast_to(np.float32(2.0), (2, 2)))
    assert repr(view) == "tensor([[2., 2.],\n        [2., 2.]])"


def test_no_digits_after_the_point_are_no_point_either():
    with rg.printoptions(precision=0):
        assert repr(rg.tensor([-0.4, 2.5, 10.6])) == "tensor([-0,  2, 11])"
        assert repr(rg.tensor([1.6 - 2.4j])) == "tensor([2-2j])"
        assert repr(rg.tensor([1.0, 2.0])) == "tensor([1., 2.])"


def test_a_storage_says_the_module_of_its_class():
    text = repr(rg.ones(1, dtype=rg.uint8).untyped_storage())
    assert text == " 1\n[retrograd.storage.UntypedStorage(device=cpu) of size 1]"


def test_a_dictionary_of_parameters_shows_types_and_a_list_dtypes():
    one = rg.nn.Parameter(rg.ones(2, 3))
    assert "(a): Parameter containing: [retrograd.FloatTensor of size 2x3]" in repr(
        rg.nn.ParameterDict({"a": one})
    )
    assert "(0): Parameter containing: [retrograd.float32 of size 2x3]" in repr(
        rg.nn.ParameterList([one])
    )


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (rg.log1p, "Log1PBackward0"),
        (rg.special.erfcx, "SpecialErfcxBackward0"),
        (rg.special.entr, "SpecialEntrBackward0"),
        (rg.special.log_ndtr, "SpecialLogNdtrBackward0"),
        (lambda x: x.sum_to_size(1), "SumBackward1"),
    ],
)
def test_nodes_have_pytorchs_names(make, name):
    assert type(make(rg.tensor([0.25, 0.5], requires_grad=True)).grad_fn).__name__ == name


def test_a_node_type_and_a_named_tuple_say_where_pytorch_has_them():
    x = rg.tensor([0.25, 0.5], requires_grad=True)
    assert repr(type(x.exp().grad_fn)) == "<class 'ExpBackward0'>"
    assert repr(type(x.max(0))) == "<class 'retrograd.return_types.max'>"


def test_only_a_plain_tensor_of_one_number_is_formatted_as_that_number():
    class Own(rg.Tensor):
        pass

    x = rg.tensor(2.5)
    assert f"{x:.2f}" == "2.50"
    for other in (rg.nn.Parameter(x), x.as_subclass(Own), x.to("meta")):
        assert f"{other}" == str(other)
        with pytest.raises(TypeError, match="unsupported format string passed to"):
            format(other, ".2f")
