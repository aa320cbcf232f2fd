"""Shapes, views, joining, rearranging and padding: PyTorch's results, errors and corner cases."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg

spec = importlib.util.spec_from_file_location(
    "shape_cases", Path(__file__).parents[2] / "data" / "make_shape_index.py"
)
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)

# Conjugates are new arrays here, where PyTorch sets a flag.
COPIED = {"c.H", "c.mH", "L.adjoint(c)"}


@pytest.mark.parametrize(("case", "want"), cases.references("shape"), ids=lambda v: str(v)[:40])
def test_call_gives_pytorchs_values_gradients_and_errors(case, want):
    cases.check(rg, case, want, COPIED)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.reshape(2, 5), RuntimeError,
         r"shape '\[2, 5\]' is invalid for input of size 12"),
        (lambda x: x.reshape(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (lambda x: x.transpose(0, 5), IndexError,
         r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)"),
        (lambda x: x.t().view(12), RuntimeError,
         "view size is not compatible with input tensor's size"),
        (lambda x: x.expand(3, 8), RuntimeError,
         r"The expanded size of the tensor \(8\) must match the existing size \(4\)"),
        (lambda x: x.split([1, 1]), RuntimeError, "split_with_sizes expects split_sizes to sum"),
        (lambda x: x.split(0), RuntimeError, "split_size can only be 0 if dimension size is 0"),
        (lambda x: x.permute(0, 0), RuntimeError, "duplicate dims are not allowed"),
        (lambda x: x[None].t(), RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions"),
        (lambda x: rg.cat([]), ValueError, "expected a non-empty list of Tensors"),
        (lambda x: rg.cat([x, x[:, :2]]), RuntimeError,
         "Sizes of tensors must match except in dimension 0. Expected size 4 but got size 2"),
        (lambda x: rg.cat([x, 1.0]), TypeError, "expected Tensor as element 1"),
        (lambda x: rg.stack([x, x[0]]), RuntimeError, "stack expects each tensor to be equal size"),
        (lambda x: x.movedim((0, 1), 0), RuntimeError, "same number of dims"),
        (lambda x: x[0].triu(), RuntimeError, "at least 2 dimensions"),
        (lambda x: x.select(1, -5), IndexError, r"index -5 out of range for tensor of size .* 1$"),
        (lambda x: x[:, 0].view(rg.complex64), RuntimeError, r"self.size\(-1\) must be divisible"),
        (lambda x: x.unflatten(0, ()), RuntimeError, "sizes must be non-empty"),
        (lambda x: x.reshape("a"), TypeError, "must be tuple of ints"),
        (lambda x: x.unsqueeze(1.5), TypeError, "argument 'dim' must be int"),
    ],
)  # fmt: skip
def test_errors_have_pytorchs_key_phrases(call, kind, text):
    with pytest.raises(kind, match=text):
        call(rg.zeros(3, 4))


def test_views_share_memory_and_know_their_base():
    x = rg.zeros(2, 3)
    view = x.t()[1:].unsqueeze(0)
    view.fill_(1)
    assert view._base is x
    assert x.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    assert not x.t().reshape(6)._is_view()


def test_all_pieces_of_a_split_have_one_node():
    x = rg.zeros(4, 2, requires_grad=True)
    pieces = x.split([1, 3])
    assert pieces[0].grad_fn is pieces[1].grad_fn
    assert pieces[0].grad_fn.name() == "SplitWithSizesBackward0"
    assert x.split(2)[1].grad_fn.name() == "SplitBackward0"
    assert [piece.output_nr for piece in pieces] == [0, 1]
    assert x.unbind()[3].grad_fn.name() == "UnbindBackward0"


def test_unused_pieces_count_as_zero():
    x = rg.ones(4, requires_grad=True)
    a, _, c = x.split([1, 2, 1])
    (2 * a + 3 * c).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x.reshape(12), "ViewBackward0"),
        (lambda x: x.permute(1, 0), "PermuteBackward0"),
        (lambda x: x.transpose(0, 1), "TransposeBackward0"),
        (lambda x: x.H, "TransposeBackward0"),
        (lambda x: x.t(), "TBackward0"),
        (lambda x: x.expand(2, 3, 4), "ExpandBackward0"),
        (lambda x: x.squeeze(), "SqueezeBackward0"),
        (lambda x: x[None], "UnsqueezeBackward0"),
        (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[1:], "SliceBackward0"),
        (lambda x: x.diagonal(), "DiagonalBackward0"),
        (lambda x: rg.cat([x, x]), "CatBackward0"),
        (lambda x: rg.stack([x, x]), "StackBackward0"),
        (lambda x: x.repeat(2, 1), "RepeatBackward0"),
        (lambda x: x.t().contiguous(), "CloneBackward0"),
    ],
)
def test_nodes_have_pytorchs_names(make, name):
    assert make(rg.zeros(3, 4, requires_grad=True)).grad_fn.name() == name


def test_contiguous_returns_the_tensor_itself_where_it_can():
    x = rg.zeros(2, 3)
    assert x.contiguous() is x
    assert x.t().contiguous().is_contiguous()


def test_view_of_another_dtype_reads_the_same_bytes_without_history():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    bits = x.view(rg.int32)
    assert bits.tolist() == [0x3F800000, 0x40000000]
    assert not bits.requires_grad
    assert rg.zeros(2, 4).view(rg.float64).shape == (2, 2)
    assert rg.zeros(2, 4).view(rg.uint8).shape == (2, 16)
    assert rg.zeros(2, 4).view(int).dtype is rg.int64
    with pytest.raises(RuntimeError, match="must be divisible by 2 to view Float as Double"):
        rg.zeros(2, 3).view(float)


@pytest.mark.parametrize("dtype", [rg.float64, rg.int64, rg.float32])
def test_a_write_to_a_view_of_a_dtype_reaches_the_memory_but_no_history(dtype):
    x = rg.tensor([1.0, 2.0, 3.0], dtype=rg.float64, requires_grad=True)
    y = x * 3
    view = y.view(dtype)
    view[:] = view.clone()
    (y * 2).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]
    assert y.grad_fn.name() == "MulBackward0"
    assert view._base is None


def test_a_write_to_a_view_of_a_dtype_counts_as_a_write_to_what_was_saved():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = y * y
    y.view(rg.int32).add_(1)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_view_of_a_dtype_gets_the_history_of_what_is_written_to_it():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = rg.ones(2)
    view = y.view(rg.float32)
    view.mul_(x)
    assert y.tolist() == [1.0, 2.0]
    assert not y.requires_grad
    (view * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_view_of_the_dtype_of_a_leaf_may_be_written():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    x.view(rg.float32).mul_(2)
    assert x.tolist() == [2.0, 4.0]
    assert x.is_leaf


def test_cat_promotes_and_casts_gradients_back():
    a = rg.tensor([1.0], requires_grad=True)
    b = rg.tensor([2.0 + 1j], dtype=rg.complex128, requires_grad=True)
    out = rg.cat([a, b, rg.tensor([3])])
    assert out.dtype is rg.complex128
    out.abs().sum().backward()
    assert a.grad.dtype is rg.float32
    assert a.grad.tolist() == [1.0]


def test_zero_size_pieces_and_repeats_have_gradients():
    x = rg.ones(2, 3, requires_grad=True)
    out = rg.cat([x[:0], x.repeat(0, 1), x[:, 3:].reshape(0, 3), x])
    out.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_as_strided_adds_up_where_elements_are_shared():
    x = rg.ones(4, requires_grad=True)
    rg.as_strided(x, (3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


STRIDED = {
    "transposed": (lambda x: x.t(), ((2, 2), (1, 2)), [[0, 2], [1, 3]], [1, 3, 2, 4, 0, 0]),
    "row": (lambda x: x[1:], ((2,), (1,)), [3, 4], [0, 0, 0, 1, 2, 0]),
    "row, from the start": (lambda x: x[1:], ((2,), (1,), 0), [0, 1], [0] * 6),
    "row, beyond": (lambda x: x[0], ((2,), (1,), 2), [2, 3], [0, 0, 1, 0, 0, 0]),
    "column": (lambda x: x[:, 1], ((2, 2), (1, 1), 1), [[1, 2], [2, 3]], [0, 1, 0, 0, 0, 0]),
    "expanded": (
        lambda x: x[0].expand(2, 3), ((2, 3), (1, 1), 0),
        [[0, 1, 2], [1, 2, 3]], [1, 6, 8, 0, 0, 0],
    ),
    "one element": (lambda x: x[0, 0].expand(3), ((2,), (0,)), [0, 0], [3, 0, 0, 0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("case", STRIDED)
def test_as_strided_counts_in_all_of_the_storage(case):
    make, (size, *rest), values, expected = STRIDED[case]
    x = rg.arange(6.0, dtype=rg.float64).reshape(2, 3).requires_grad_()
    y = make(x).as_strided(size, *rest)
    assert y.tolist() == values
    assert y.data_ptr() - x.data_ptr() == 8 * y.storage_offset()
    (y * rg.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
    assert x.grad.reshape(-1).tolist() == expected


@pytest.mark.parametrize(
    ("make", "how"),
    [
        (lambda x: x.t(), ((2, 2), (1, 2))),
        (lambda x: x[0].expand(2, 3), ((2, 2), (1, 1), 0)),
        (lambda x: x[0, 0].expand(3), ((2,), (0,))),
        (lambda x: x[0].unfold(0, 2, 1), ((3,), (1,))),
    ],
    ids=["transposed", "expanded", "one element", "windows"],
)
def test_as_strided_of_a_view_has_derivatives_of_both_modes_and_orders(make, how):
    x = rg.arange(6.0, dtype=rg.float64).reshape(2, 3).requires_grad_()
    for function in (lambda x: make(x).as_strided(*how), lambda x: make(x * x).as_strided(*how)):
        assert rg.autograd.gradcheck(function, x, check_forward_ad=True)
        assert rg.autograd.gradgradcheck(function, x)


def test_as_strided_beyond_the_storage_is_refused():
    with pytest.raises(RuntimeError, match="storage offset 5 are out of bounds for storage of siz"):
        rg.zeros(6)[3:].as_strided((2,), (1,), 5)
    with pytest.raises(RuntimeError, match=r"Negative strides are not supported .*: \[1, -1\]"):
        rg.zeros(6).as_strided((1, 1), (1, -1))
    with pytest.raises(RuntimeError, match=r"calculation overflowed with sizes=\[-2\] and strides"):
        rg.zeros(6).as_strided((-2,), (1,))
    with pytest.raises(RuntimeError, match="invalid storage offset -1"):
        rg.zeros(6).as_strided((2,), (1,), -1)


def test_a_view_of_other_elements_than_its_bases_is_written_without_history_only():
    x = rg.zeros(2, 3)
    x.t().as_strided((2,), (3,), 1).add_(1)
    assert x.tolist() == [[0, 1, 0], [0, 1, 0]]
    view = x.requires_grad_().mul(1).t().as_strided((2,), (3,), 1)
    with pytest.raises(RuntimeError, match="it shows all of the storage"):
        view.add_(1)


@pytest.mark.parametrize("of", ["as_strided_", "as_strided_scatter"])
def test_other_elements_of_the_storage_are_not_for(of):
    x = rg.zeros(4)[1:]
    args = (rg.ones(1),) if of.endswith("scatter") else ()
    with pytest.raises(RuntimeError, match="has other elements than the view"):
        getattr(x, of)(*args, (1,), (1,), 0)


def test_unfold_adds_overlapping_windows():
    x = rg.ones(5, requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]


def test_detach_of_an_expanded_view_keeps_its_shape():
    x = rg.ones(1, requires_grad=True)
    assert np.shares_memory(x.expand(5).detach().numpy(), x.detach().numpy())


@pytest.mark.parametrize("cut", ["tensor_split", "hsplit", "vsplit"])
def test_pieces_of_tensor_split_may_be_written(cut):
    x = rg.ones(2, 4, requires_grad=True)
    base = x.clone()
    first, second = getattr(base, cut)(2)
    assert first._base is base
    first.mul_(3)
    assert second.tolist() == rg.ones(second.shape).tolist()
    base.sum().backward()
    assert x.grad.sum() == 4 * 3 + 4


def test_a_dimension_without_entries_is_cut_into_pieces_without_any():
    x = rg.ones(0, 2)
    assert [piece.shape for piece in rg.chunk(x, 3)] == [(0, 2)] * 3
    assert [piece.shape for piece in rg.split(x, 2)] == [(0, 2)]


def test_columns_are_the_second_dimension():
    assert [piece.shape for piece in rg.hsplit(rg.ones(2, 4, 3), 2)] == [(2, 2, 3)] * 2


def test_several_tensors_in_a_list_get_dimensions_each():
    found = rg.atleast_2d([rg.ones(2), rg.tensor(3.0)])
    assert [x.tolist() for x in found] == [[[1.0, 1.0]], [[3.0]]]


def test_block_diag_takes_its_blocks_one_by_one():
    with pytest.raises(TypeError, match=r"expected Tensor as element 0, but got list.*\*blocks"):
        rg.block_diag([rg.ones(1)])


EMPTY, WIDE = rg.zeros(0, 3), rg.zeros(2, 0, 3)


@pytest.mark.parametrize(
    ("view", "expected"),  # of PyTorch
    [
        (EMPTY, (3, 1)),
        (EMPTY.t(), (1, 3)),
        (EMPTY.t()[None], (3, 1, 3)),
        (EMPTY[:, ::2], (3, 2)),
        (EMPTY[:, 0], (3,)),
        (EMPTY.select(1, 0), (3,)),
        (EMPTY.unbind(1)[0], (3,)),
        (EMPTY.expand(2, 0, 3), (0, 3, 1)),
        (rg.zeros(3, 0).t(), (1, 1)),
        (rg.zeros(4, 0).split(2)[1], (1, 1)),
        (WIDE.transpose(0, 1), (3, 3, 1)),
        (WIDE.transpose(0, 2), (1, 3, 3)),
        (WIDE.permute(2, 0, 1), (1, 3, 3)),
        (rg.zeros(3, 4)[:, 0:0], (4, 1)),
        (rg.zeros(3, 4).t()[0:0], (1, 4)),
        (rg.zeros(3, 4)[1:1, ::2], (4, 2)),
        (rg.zeros(3, 4).diagonal(4), (5,)),
        (rg.zeros(3, 1).expand(3, 4)[0:0], (1, 0)),
        (rg.zeros(2, 3, 4)[0:0].permute(2, 1, 0), (1, 4, 12)),
        (rg.zeros(3, 4)[:, None], (4, 4, 1)),
        (rg.zeros(3, 4).t()[:, :, None], (1, 4, 1)),
        (rg.zeros(5)[::2][None], (6, 2)),
        (rg.view_as_complex(rg.zeros(0, 2)), (1,)),
    ],
)
def test_views_without_elements_have_the_strides_of_views_of_some(view, expected):
    assert view.stride() == expected


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.size(0),
        lambda x: x.stride(0),
        lambda x: rg.fft.fft(x),
        lambda x: rg.fft.fftshift(x, dim=(0,)),
        lambda x: rg.trapezoid(x),
        lambda x: rg.tensordot(x, x, dims=([0], [0])),
        lambda x: rg.linalg.cross(x, x),
    ],
    ids=["size", "stride", "fft", "fftshift", "trapezoid", "tensordot", "cross"],
)
def test_a_0d_tensor_has_no_dimension_to_name(program):
    with pytest.raises(IndexError, match=r"Dimension specified as -?\d but tensor has no dim"):
        program(rg.tensor(1.0))


def test_a_tensor_that_has_the_common_shape_is_broadcast_to_itself():
    x = rg.ones(2, requires_grad=True)
    same, wider = rg.broadcast_tensors(x, rg.ones(()))
    assert same is x
    assert wider.shape == (2,)


def test_a_method_is_told_the_sizes_to_broadcast_to_one_by_one_or_together():
    x = rg.ones(2)
    assert x.broadcast_to(3, 2).shape == x.broadcast_to((3, 2)).shape == (3, 2)
    assert rg.broadcast_to(x, size=(3, 2)).shape == (3, 2)


def test_a_tensor_that_has_the_size_is_summed_to_itself():
    x = rg.ones(2, 3)
    assert x.sum_to_size(2, 3) is x
    assert x.sum_to_size(1, 3).tolist() == [[2.0, 2.0, 2.0]]


def test_a_tensor_without_dimensions_has_none_to_unflatten():
    with pytest.raises(RuntimeError, match="Dimension specified as 0 but tensor has no dimensions"):
        rg.tensor(2.0).unflatten(0, (1, -1))


@pytest.mark.parametrize("shape", [(0, 2), (0,), (3, 0, 2)])
def test_bytes_of_a_tensor_without_elements_are_read_as_another_dtype(shape):
    x = rg.zeros(shape)
    assert x.view(rg.uint8).shape == (*shape[:-1], shape[-1] * 4)
    assert x.view(rg.float64).shape == (*shape[:-1], shape[-1] // 2)
    with pytest.raises(RuntimeError, match="must be divisible by 2 to view"):
        rg.zeros(0, 3).view(rg.float64)


def test_wider_elements_begin_where_they_could_in_the_whole_memory():
    x = rg.arange(32, dtype=rg.int8)
    assert x[4:12].view(rg.int32).tolist() == [117835012, 185207048]
    with pytest.raises(RuntimeError, match=r"storage_offset\(\) must be divisible by 4 to view"):
        x[1:5].view(rg.int32)
    with pytest.raises(
        RuntimeError, match=r"stride\(0\) must be divisible by 2 to view Char as Sh"
    ):
        x.as_strided((2, 2), (1, 1)).view(rg.int16)
    assert x.as_strided((1, 2), (1, 1)).view(rg.int16).shape == (1, 1)  # a step that is not taken
    seen = rg.func.vmap(lambda row: row.view(rg.int16))(x.view(4, 8))
    assert seen.shape == (4, 4)


@pytest.mark.parametrize("dim", [0, 1, -2, 3])
def test_empty_vectors_join_along_any_dim(dim):
    assert rg.cat([rg.ones(0), rg.ones(0)], dim=dim).shape == (0,)


def test_repeats_are_a_vector_of_integers_from_zero_on():
    with pytest.raises(RuntimeError, match="only accept 1D vector as repeat"):
        rg.repeat_interleave(rg.ones(2, 2, dtype=rg.int64))
    with pytest.raises(RuntimeError, match="repeats must be 0-dim or 1-dim tensor"):
        rg.repeat_interleave(rg.ones(4), rg.ones(2, 2, dtype=rg.int64))
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        rg.repeat_interleave(rg.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        rg.repeat_interleave(rg.tensor([1, -2]))
    for repeats in (2, rg.tensor([1, 3])):
        assert rg.ones(2).repeat_interleave(repeats, output_size=4).shape == (4,)
        with pytest.raises(RuntimeError, match="Invalid output_size, expected 4 but got 5"):
            rg.ones(2).repeat_interleave(repeats, output_size=5)
    with pytest.raises(RuntimeError, match="Invalid output_size, expected 3 but got 0"):
        rg.repeat_interleave(rg.tensor([1, 2]), output_size=0)


def test_one_number_of_repeats_in_a_vector_is_that_of_each_entry():
    assert rg.tensor([3, 4, 5]).repeat_interleave(rg.tensor([2])).tolist() == [3, 3, 4, 4, 5, 5]


def test_roll_needs_a_shift():
    with pytest.raises(RuntimeError, match="`shifts` required"):
        rg.arange(3).roll((), ())


def test_no_blocks_make_a_row_without_columns():
    assert rg.block_diag().shape == (1, 0)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (rg.adjoint, 1 - 2j),
        (lambda x: x.mH, 1 - 2j),
        (lambda x: x.H, 1 - 2j),
        (lambda x: x.mT, 1 + 2j),
    ],
)
def test_a_number_is_its_own_transpose_with_a_warning(turn, expected):
    with pytest.warns(UserWarning, match="is deprecated on 0-D tensors"):
        assert turn(rg.tensor(1 + 2j)).item() == expected


@pytest.mark.parametrize(
    ("turn", "name"), [(rg.adjoint, r"adjoint\(\)"), (lambda x: x.mH, "mH"), (lambda x: x.mT, "mT")]
)
def test_a_vector_has_no_transpose_of_matrices(turn, name):
    with pytest.raises(RuntimeError, match=f"tensor.{name} is only supported on mat"):
        turn(rg.ones(2))


def test_reversing_other_dimensions_than_two_by_t_warns():
    with pytest.warns(UserWarning, match="Consider `x.mT`"):
        assert rg.ones(2, 3, 4).T.shape == (4, 3, 2)
    with pytest.warns(UserWarning, match=r"Tensor\.T is deprecated on 0-D tensors"):
        assert rg.ones(()).T.shape == ()


def test_rot90_of_one_dimension_is_refused():
    with pytest.raises(RuntimeError, match="expected total dims >= 2"):
        rg.ones(3).rot90()


def test_rot90_of_one_or_three_dimensions_is_refused():
    for dims in [(0,), (0, 1, 2)]:
        with pytest.raises(
            RuntimeError, match=f"total rotation dims == 2, but got dims = {len(dims)}"
        ):
            rg.rot90(rg.ones(2, 2, 2), 1, dims)


def test_tensor_split_of_a_number_is_refused():
    with pytest.raises(
        RuntimeError, match="at least a 1-dimensional tensor, but got a tensor with 0"
    ):
        rg.tensor_split(rg.tensor(1.0), 2)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(("shape", "pad"), [((4,), (1, 1)), ((4, 4, 4, 4), (1, 1)), ((4, 4), (1,))])
def test_borders_of_other_dimensions_are_refused(mode, shape, pad):
    with pytest.raises(NotImplementedError, match="Only 2D, 3D, 4D, 5D padding"):
        rg.nn.functional.pad(rg.ones(shape), pad, mode)


def test_a_dimension_to_move_may_be_a_number_in_a_tensor():
    x = rg.arange(6).reshape(2, 3)
    assert rg.movedim(x, rg.tensor(1), rg.tensor(0)).tolist() == x.T.tolist()


def test_a_tensor_of_no_dimensions_has_one_to_move():
    assert rg.movedim(rg.tensor(3.0), 0, -1).tolist() == 3


@pytest.mark.parametrize("diagonal", [-(2**63), 2**63 - 1])
def test_a_diagonal_may_be_any_integer_of_64_bits(diagonal):
    x, below = rg.ones(2, 3), diagonal > 0
    assert rg.tril(x, diagonal).sum() == 6 * below
    assert rg.triu(x, diagonal).sum() == 6 * (not below)
    assert rg.tril_indices(2, 3, diagonal).shape == (2, 6 * below)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_grids_in_both_orders_are_numpys(n):
    axes = [np.arange(float(k + 2)) for k in range(n)]
    for order in ("ij", "xy"):
        found = rg.meshgrid(*map(rg.tensor, axes), indexing=order)
        for grid, expected in zip(found, np.meshgrid(*axes, indexing=order), strict=True):
            np.testing.assert_array_equal(grid.numpy(), expected)


def test_grids_without_an_order_warn_that_it_is_to_be_said():
    with pytest.warns(UserWarning, match="required to pass the indexing argument") as warned:
        found = rg.meshgrid(rg.zeros(2), rg.zeros(3))
    assert [grid.shape for grid in found] == [(2, 3), (2, 3)]
    assert warned[0].filename == __file__


def test_wider_elements_begin_behind_an_even_number_of_others():
    x = rg.arange(16, dtype=rg.int16)
    assert x[4:8].view(rg.int64).tolist() == [4 + (5 << 16) + (6 << 32) + (7 << 48)]
    with pytest.raises(RuntimeError, match=r"storage_offset\(\) must be divisible by 4 to view"):
        x[2:6].view(rg.int64)


@pytest.mark.parametrize("dtype", [rg.int8, rg.float64])
def test_what_is_empty_is_viewed_as_any_dtype_whatever_its_strides(dtype):
    assert rg.zeros(3, 5)[:, :0].view(dtype).shape == (3, 0)


def test_a_circular_border_continues_what_a_negative_one_leaves():
    x = rg.arange(5.0)[None]
    assert rg.nn.functional.pad(x, (-1, 2), "circular").tolist() == [[1, 2, 3, 4, 1, 2]]
    assert rg.nn.functional.pad(x, (2, -1), "circular").tolist() == [[2, 3, 0, 1, 2, 3]]


def test_what_is_raveled_is_copied_unless_it_lies_by_rows():
    x = rg.arange(12.0).reshape(3, 4)
    for gaps in (x[:, ::2], x[:, 0], x.diagonal(), x.t()):
        gaps.ravel().zero_()
    assert x.tolist() == rg.arange(12.0).reshape(3, 4).tolist()
    x[1:].ravel().zero_()
    assert x[1:].count_nonzero() == 0
    assert rg.zeros(0, 3).ravel().shape == (0,)
    assert rg.zeros(()).ravel().shape == (1,)


def test_dimensions_and_borders_may_be_given_one_by_one():
    x = rg.ones(1, 1, 4)
    assert x.squeeze(0, 1).shape == x.clone().squeeze_(0, 1).shape == (4,)
    assert x.squeeze(0, 2).shape == (1, 4)
    assert rg.eye(3).count_nonzero(0, 1).item() == 3
    cube = rg.ones(4, 4, 4)
    for split, dim in ((cube.vsplit, 0), (cube.hsplit, 1), (cube.dsplit, 2)):
        assert [part.shape[dim] for part in split(1, 3)] == [1, 2, 1]
