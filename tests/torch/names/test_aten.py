"""Names that PyTorch has beside the usual ones: values, gradients, complex, empty, errors."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from tests.ops.test_bounds import TABLE, WRONG_OFFSETS

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck
from retrograd.torch.names import inplace_functions
from retrograd.utils.data._utils.pin_memory import pin_memory


def leaf(*shape, kind="float64"):
    values = np.random.normal(size=shape)
    if kind == "complex128":
        values = values + 1j * np.random.normal(size=shape)
    return rg.tensor(values, requires_grad=True)


# -- in-place functions --------------------------------------------------------------------------


@pytest.mark.parametrize("name", inplace_functions.__all__)
def test_an_in_place_function_is_the_method(name):
    assert getattr(rg, name) is getattr(rg.Tensor, name)


def test_an_in_place_function_writes_and_is_recorded():
    x = rg.tensor([1.0, -2.0], requires_grad=True)
    y = x * 1
    assert rg.abs_(y) is y
    y.sum().backward()
    assert x.grad.tolist() == [1.0, -1.0]
    assert rg.zero_(rg.ones(2)).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match=r"exp_\(\): the first argument must be a Tensor"):
        rg.exp_(1.0)


# -- memory formats ------------------------------------------------------------------------------


def test_channels_last_is_an_order_in_memory_that_ops_keep():
    x = leaf(2, 3, 4, 5)
    y = x.contiguous(memory_format=rg.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert (y == x).all()
    assert not y.is_contiguous()
    assert y.is_contiguous(memory_format=rg.channels_last)
    assert y.contiguous(memory_format=rg.channels_last) is y
    for z in (y.clone(), rg.zeros_like(y), y.to(rg.complex64), y * 2, y.cfloat()):
        assert z.is_contiguous(memory_format=rg.channels_last)
    for z in (
        y.clone(memory_format=rg.contiguous_format),
        rg.ones_like(y, memory_format=rg.contiguous_format),
        y.to(rg.float32, memory_format=rg.contiguous_format),
        y.contiguous(),
    ):
        assert z.is_contiguous()
    (y * rg.tensor(np.arange(120.0).reshape(2, 3, 4, 5))).sum().backward()
    assert x.grad.reshape(-1).tolist() == list(range(120))


def test_channels_last_of_volumes_of_empty_and_of_complex_tensors():
    x = rg.empty(2, 3, 4, 5, 6, memory_format=rg.channels_last_3d)
    assert x.stride() == (360, 1, 90, 18, 3)
    z = leaf(1, 2, 3, 2, kind="complex128")
    gradcheck(lambda t: t.clone(memory_format=rg.channels_last), z)
    gradgradcheck(lambda t: t.clone(memory_format=rg.channels_last) ** 2, z)
    assert rg.empty(0, 2, 3, 1).contiguous(memory_format=rg.channels_last).shape == (0, 2, 3, 1)


def test_memory_formats_keep_their_identity_and_name():
    assert pickle.loads(pickle.dumps(rg.channels_last)) is rg.channels_last
    assert repr(rg.preserve_format) == "retrograd.preserve_format"
    assert isinstance(rg.contiguous_format, rg.memory_format)


def test_memory_formats_that_do_not_fit_raise():
    x = rg.zeros(2, 3)
    for call in (
        lambda: x.contiguous(memory_format=rg.channels_last),
        lambda: x.clone(memory_format=rg.channels_last),
        lambda: rg.zeros_like(x, memory_format=rg.channels_last),
        lambda: rg.empty(2, memory_format=rg.channels_last),
    ):
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last"):
            call()
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        x.t().contiguous(memory_format=rg.preserve_format)
    assert x.contiguous(memory_format=rg.preserve_format) is x
    with pytest.raises(TypeError, match=r"clone\(\): argument 'memory_format' must be"):
        x.clone(memory_format="channels_last")
    assert not x.is_contiguous(memory_format=rg.channels_last)


# -- elements ------------------------------------------------------------------------------------


def test_functions_of_elements_write_what_python_gives():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda v: v * v) is x
    assert x.tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert x.t().map_(rg.tensor([1.0, 10.0]), lambda a, b: a * b).tolist() == [[1, 90], [4, 160]]
    assert rg.tensor([1, 2]).apply_(lambda v: v + 1.7).tolist() == [2, 3]
    assert rg.tensor([1j]).apply_(lambda v: v * v).tolist() == [-1 + 0j]
    assert rg.zeros(0).apply_(lambda v: v).shape == (0,)
    assert rg.tensor(2.0).apply_(lambda v: -v).item() == -2.0


def test_functions_of_elements_count_as_writes_and_refuse_history():
    x = rg.ones(2)
    before = x._version
    x.apply_(lambda v: v)
    assert x._version == before + 1
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        rg.ones(2, requires_grad=True).apply_(lambda v: v)
    with pytest.raises(TypeError, match=r"must give numbers that retrograd\.float32 can hold"):
        rg.ones(2).apply_(lambda v: 1j)
    with pytest.raises(TypeError, match="must give numbers"):
        rg.ones(2).apply_(lambda v: "a")


def test_fill_diagonal_fills_wraps_and_cuts_the_gradient():
    assert rg.zeros(2, 3).fill_diagonal_(1).tolist() == [[1, 0, 0], [0, 1, 0]]
    tall = rg.zeros(7, 2).fill_diagonal_(5, wrap=True)
    assert tall.nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1], [6, 0]]
    assert rg.zeros(2, 2, 2).fill_diagonal_(1).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert rg.zeros(0, 3).fill_diagonal_(1).shape == (0, 3)
    x = rg.ones(2, 2, requires_grad=True)
    (x * 2).fill_diagonal_(7.0).sum().backward()
    assert x.grad.tolist() == [[0, 2], [2, 0]]
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        rg.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        rg.zeros(2, 2, 3).fill_diagonal_(1)


# -- types, settings -----------------------------------------------------------------------------


def test_tensor_types_make_and_recognize_tensors():
    assert rg.LongTensor([1.5]).tolist() == [1]
    assert rg.DoubleTensor(2, 3).shape == (2, 3)
    assert rg.FloatTensor().shape == (0,)
    x = rg.ones(2)
    assert rg.FloatTensor(x).data_ptr() == x.data_ptr()
    assert isinstance(x, rg.FloatTensor)
    assert not isinstance(1.0, rg.FloatTensor)
    assert x.type(rg.IntTensor).dtype is x.type("torch.IntTensor").dtype is rg.int32
    assert x.type(rg.Tensor).dtype is rg.get_default_dtype()
    assert pickle.loads(pickle.dumps(rg.ByteTensor)) is rg.ByteTensor
    with pytest.raises(TypeError, match=r"expected a tensor of retrograd\.int64"):
        rg.LongTensor(x)
    with pytest.raises(TypeError, match="only floating-point types"):
        rg.set_default_tensor_type(rg.LongTensor)
    with pytest.raises(TypeError, match="invalid type object"):
        rg.set_default_tensor_type("nothing")


# -- older functions -----------------------------------------------------------------------------


def test_range_includes_its_end_and_warns():
    with pytest.warns(UserWarning, match="retrograd.range is deprecated") as told:
        assert rg.range(0, 1, 0.5).tolist() == [0.0, 0.5, 1.0]
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="deprecated"):
        assert rg.range(3, 1, -1, dtype=rg.int64).tolist() == [3, 2, 1]


def test_vander_has_descending_powers_and_gradients():
    x = rg.tensor([2.0, 3.0], dtype=rg.float64, requires_grad=True)
    assert rg.vander(x).tolist() == [[2, 1], [3, 1]]
    assert rg.vander(x, 4, increasing=True).tolist() == [[1, 2, 4, 8], [1, 3, 9, 27]]
    assert rg.vander(x, 1).tolist() == [[1], [1]]
    assert rg.vander(x, 0).shape == (2, 0)
    assert rg.vander(rg.tensor([True, False])).tolist() == [[1, 1], [0, 1]]
    gradcheck(lambda t: rg.vander(t, 4), x)
    gradcheck(lambda t: rg.vander(t, 4), leaf(3, kind="complex128"))
    with pytest.raises(RuntimeError, match="x must be a one-dimensional tensor"):
        rg.vander(rg.ones(2, 2))
    with pytest.raises(RuntimeError, match="N must be non-negative"):
        rg.vander(x, -1)


def test_norms_by_name_are_those_of_linalg():
    x = leaf(3, 2, 4, kind="complex128")
    assert rg.nuclear_norm(x, (0, 2)).allclose(rg.linalg.matrix_norm(x, "nuc", (0, 2)))
    assert rg.frobenius_norm(x, 1).allclose(rg.linalg.vector_norm(x, 2, 1))
    assert rg.frobenius_norm(x, ()).allclose(rg.linalg.vector_norm(x))
    assert rg.norm_except_dim(x, 2, 1).shape == (1, 2, 1)
    assert rg.norm_except_dim(x, 2, -1).shape == ()


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions_say_what_took_their_place(name):
    with pytest.raises(RuntimeError, match=r"is now removed\. Use retrograd\.linalg\."):
        getattr(rg, name)(rg.eye(2))


def test_the_order_of_dimensions_is_refused_where_there_are_several():
    images = rg.ones(2, 3, 4, 5)
    lists = [rg.contiguous_format, rg.channels_last]
    for x in (images, images.to(memory_format=rg.channels_last)):
        assert x.dim_order(ambiguity_check=True) == x.dim_order(ambiguity_check=lists)
    single = rg.ones(2, 2, 1, 2)
    assert single.dim_order() == single.dim_order(ambiguity_check=lists[:1]) == (0, 1, 2, 3)
    for x, check in (
        (single, True),
        (single, []),
        (single, lists[1:]),
        (rg.ones(2, 1, 3, 4), lists[1:]),
        (rg.ones(1, 3, 1, 1), lists),
        (rg.ones(1).expand(3, 4), True),
    ):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            x.dim_order(ambiguity_check=check)
    with pytest.raises(AttributeError, match="Can't get dim order on sparse type"):
        rg.eye(2).to_sparse().dim_order()
    for odd in (3, lists[0], (lists[0],), [3]):
        with pytest.raises(TypeError, match="a bool or a list of memory formats"):
            images.dim_order(ambiguity_check=odd)


def test_older_methods():
    x = rg.arange(6.0).reshape(2, 3)
    assert x.new([1, 2]).dtype is rg.float32
    assert x.new(4, 5).shape == (4, 5)
    assert x.resize(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.t().dim_order() == (1, 0)
    assert x.to_dense() is x
    assert (x.dense_dim(), x.sparse_dim(), x.is_distributed(), x.is_xla) == (2, 0, False, False)
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        x.pin_memory()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        pin_memory([x])
    with pytest.raises(RuntimeError, match=r"reinforce\(\) was removed"):
        x.reinforce(1.0)


def test_copies_share_no_memory_and_have_the_gradient_of_the_view():
    x = leaf(3, 4)
    for copied, view in (
        (rg.select_copy(x, 1, -1), x[:, -1]),
        (rg.slice_copy(x, -1, 1, None, 2), x[:, 1::2]),
        (rg.split_copy(x, 2)[1], x[2:]),
        (rg.view_as_real_copy(rg.complex(x, x)), rg.stack([x, x], -1)),
        (rg.view_as_complex_copy(x.reshape(3, 2, 2)), rg.complex(x[:, ::2], x[:, 1::2])),
    ):
        assert (copied == view).all()
        assert not copied._is_view()
    rg.select_copy(x, 0, 1).sum().backward()
    assert x.grad.sum(1).tolist() == [0, 4, 0]
    assert not rg.detach_copy(x).requires_grad
    out = rg.zeros(3, dtype=rg.float64)
    rg.select_copy(x.detach(), 1, 0, out=out)
    assert (out == x[:, 0]).all()


# -- random, eigenvalues -------------------------------------------------------------------------


def test_binomial_counts_successes():
    p = rg.tensor([[0.25], [0.75]], dtype=rg.float64)
    drawn = rg.binomial(rg.full((2, 4000), 8.0, dtype=rg.float64), p)
    assert drawn.mean(1).tolist() == pytest.approx([2.0, 6.0], abs=0.1)
    assert drawn.var(1).tolist() == pytest.approx([1.5, 1.5], abs=0.2)
    edges = rg.binomial(rg.tensor([3.0, -1.0, 3.0, math.nan]), rg.tensor([1.5, 0.5, -1.0, 0.5]))
    assert edges[:3].tolist() == [3, 0, 0]
    assert edges[3].isnan()
    count = rg.ones(2, requires_grad=True)
    rg.binomial(count, rg.ones(2)).sum().backward()
    assert count.grad.tolist() == [0, 0]
    with pytest.raises(ValueError, match="only supports floating-point dtypes for count, got: Lon"):
        rg.binomial(rg.tensor([1]), rg.ones(1))


def test_lobpcg_takes_sparse_matrices():
    sparse = rg.diag(rg.arange(1.0, 13.0, dtype=rg.float64)).to_sparse()
    for A in (sparse, sparse.to_sparse_csr()):
        np.testing.assert_allclose(rg.lobpcg(A, 2)[0], [12, 11], 1e-12)
        np.testing.assert_allclose(rg.lobpcg(A, 1, largest=False)[0], [1], 1e-12)
        np.testing.assert_allclose(rg.lobpcg(sparse.to_dense(), 1, A)[0], [1], 1e-12)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_solves_the_generalized_problem(kind, largest):
    x, y = leaf(2, 7, 7, kind=kind), leaf(2, 7, 7, kind=kind)
    A, B = x + x.mH, y @ y.mH + rg.eye(7)
    values, vectors = rg.lobpcg(A, 2, B, largest=largest)
    assert (A @ vectors).allclose(B @ vectors * values.unsqueeze(-2))
    inner = vectors.mH @ B @ vectors
    assert inner.allclose(rg.eye(2, dtype=inner.dtype).expand(2, 2, 2), atol=1e-10)
    all_values = rg.linalg.eigvals(rg.linalg.solve(B, A)).real.sort(-1, descending=largest)[0]
    assert values.allclose(all_values[..., :2])
    values.sum().backward()
    (expected,) = rg.autograd.grad(all_values[..., :2].sum(), x)
    assert x.grad.allclose(expected, atol=1e-8)
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable"):
        rg.lobpcg(A, 3)


# -- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag_is_that_of_functional_with_its_bags(mode):
    table, where, starts = leaf(5, 2), rg.tensor([4, 0, 1, 1]), rg.tensor([0, 3])
    bags, bag, sizes, largest = rg.embedding_bag(table, where, starts, mode=mode)
    name = ("sum", "mean", "max")[mode]
    expected = rg.nn.functional.embedding_bag(where, table, starts, mode=name)
    assert (bags == expected).all()
    assert (bag.tolist(), sizes.tolist()) == ([0, 0, 0, 1], [3, 1])
    if mode == 2:
        assert (table.gather(0, largest) == bags).all()
    with pytest.raises(ValueError, match="mode has to be 0"):
        rg.embedding_bag(table, where, starts, mode=3)


def test_native_kernels_give_what_they_kept_for_the_backward_pass():
    x = leaf(3, 4, 5)
    out, mean, rstd = rg.native_layer_norm(x, [5], None, None, 1e-5)
    assert ((x - mean) * rstd).allclose(out)
    assert mean.shape == (3, 4, 1)
    out, mean, rstd = rg.native_group_norm(x, None, None, 3, 4, 5, 2, 1e-5)
    assert mean.shape == (3, 2)
    assert ((x.reshape(3, 2, -1) - mean[..., None]) * rstd[..., None]).allclose(
        out.reshape(3, 2, -1)
    )
    out, mean, rstd = rg.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    assert ((x - mean[:, None]) * rstd[:, None]).allclose(out)
    kept = rg.native_batch_norm(x, None, None, rg.zeros(4).double(), rg.ones(4).double(), False,
                                0.1, 1e-5)  # fmt: skip
    assert kept[1].shape == kept[2].shape == (0,)
    out, mask = rg.native_dropout(x, 0.5, True)
    assert (out == x * mask * 2).all()
    assert 0 < mask.sum() < 60
    assert not rg.native_dropout(x, 1.0, True)[0].any()


def test_convolution_and_samplers_choose_by_dimensions_and_numbers():
    x, w = leaf(1, 2, 5, 5), leaf(3, 2, 2, 2)
    found = rg.convolution(x, w, None, [2, 1], [1, 0], [1, 1], False, [0, 0], 1)
    assert (found == rg.nn.functional.conv2d(x, w, None, (2, 1), (1, 0))).all()
    back = rg.convolution(found, w, None, [2, 1], [1, 0], [1, 1], True, [1, 0], 1)
    assert back.shape == x.shape
    with pytest.raises(RuntimeError, match="expected a weight"):
        rg.convolution(x, w[0, 0], None, [1], [0], [1], False, [0], 1)
    points = leaf(1, 3, 3, 2)
    for mode, name in enumerate(("bilinear", "nearest", "bicubic")):
        one = rg.grid_sampler(x, points, mode, 1, False)
        other = rg.nn.functional.grid_sample(x, points, name, "border", False)
        assert (one == other).all()
    with pytest.raises(ValueError, match="the padding mode is 0, 1 or 2, not 3"):
        rg.grid_sampler(x, points, 0, 3, False)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_recurrent_functions_are_the_layers(mode, bias, bidirectional):
    kind = {"lstm": rg.nn.LSTM, "gru": rg.nn.GRU}.get(mode, rg.nn.RNN)
    settings = {"nonlinearity": mode[4:]} if kind is rg.nn.RNN else {}
    layer = kind(2, 3, 2, bias=bias, bidirectional=bidirectional, batch_first=True,
                 dtype=rg.float64, **settings)  # fmt: skip
    x, h = leaf(4, 5, 2), leaf(4 if bidirectional else 2, 4, 3)
    hx = (h, h * 2) if mode == "lstm" else h
    expected, last = layer(x, hx)
    function, weights = getattr(rg, mode), list(layer.parameters())
    out, *states = function(x, hx, weights, bias, 2, 0.0, False, bidirectional, True)
    assert (out == expected).all()
    for one, other in zip(states, last if mode == "lstm" else [last], strict=True):
        assert (one == other).all()
    packed = rg.nn.utils.rnn.pack_padded_sequence(x, rg.tensor([5, 3, 3, 1]), batch_first=True)
    expected, last = layer(packed, hx)
    out, *states = function(
        packed.data, packed.batch_sizes, hx, weights, bias, 2, 0.0, False, bidirectional
    )
    assert (out == expected.data).all()
    assert (states[0] == (last[0] if mode == "lstm" else last)).all()


def test_a_projection_is_seen_from_the_weights_and_missing_arguments_raise():
    layer = rg.nn.LSTM(2, 4, proj_size=3)
    x, h, c = rg.ones(5, 1, 2), rg.zeros(1, 1, 3), rg.zeros(1, 1, 4)
    weights = list(layer.parameters())
    out, *_ = rg.lstm(x, (h, c), weights, True, 1, 0.0, False, False, False)
    assert (out == layer(x)[0]).all()
    with pytest.raises(TypeError, match=r"lstm\(\) missing required arguments"):
        rg.lstm(x, (h, c), weights, True)
    with pytest.raises(RuntimeError, match="lstm expects two hidden states, but got 3"):
        rg.lstm(x, (h, c, c), weights, True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match=r"gru\(\) expects 2 weights .* there are 1, but got 5"):
        rg.gru(x, h, weights, False, 1, 0.0, False, False, False)


# -- modules of names ----------------------------------------------------------------------------


def test_modules_of_names():
    assert rg.random.manual_seed is rg.manual_seed
    assert isinstance(rg.max(rg.ones(2, 2), 0), rg.return_types.max)
    assert isinstance(1.0, rg.types.Number)
    assert rg.OutOfMemoryError is rg.errors.OutOfMemoryError


def test_convolution_weights_are_laid_out_and_keep_their_values():
    model = rg.nn.Sequential(rg.nn.Conv2d(2, 3, 4), rg.nn.Conv1d(2, 3, 4), rg.nn.Linear(2, 2))
    before = [p.detach().clone() for p in model.parameters()]
    rg.nn.utils.convert_conv2d_weight_memory_format(model, rg.channels_last)
    assert model[0].weight.is_contiguous(memory_format=rg.channels_last)
    assert all((p == q).all() for p, q in zip(model.parameters(), before, strict=True))


def test_batch_norms_without_statistics_run_under_vmap():
    model = rg.func.replace_all_batch_norm_modules_(rg.nn.BatchNorm1d(2, affine=False))
    x = leaf(3, 4, 2).detach()
    found = rg.func.vmap(model)(x)
    assert found.allclose(rg.stack([model(each) for each in x]))


def test_sizes_of_a_group_norm_are_those_of_its_input():
    x = rg.ones(2, 4, 3)
    assert rg.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)[0].shape == (2, 4, 3)
    with pytest.raises(RuntimeError, match=r"numel\(\) == N \* C \* HxW"):
        rg.native_group_norm(x, None, None, 2, 4, 5, 2, 1e-5)


def test_indices_after_the_last_offset_are_in_no_bag():
    table, at, offsets = rg.eye(4), rg.tensor([0, 1, 2, 3]), rg.tensor([0, 2])
    found = rg.embedding_bag(table, at, offsets, include_last_offset=True)
    assert found[0].tolist() == [[1.0, 1.0, 0.0, 0.0]]
    assert found[2].tolist() == [2]


def test_pytorch_s_inner_functions_give_distinct_elements_and_more():
    x = rg.tensor([[3.0, 1.0], [3.0, 1.0]])
    assert [t.tolist() for t in rg._unique(x)] == [[1, 3], []]
    assert [t.tolist() for t in rg._unique2(x, True, True)] == [[1, 3], [[1, 0], [1, 0]], []]
    found = rg._VF.unique_dim(x, 0, return_counts=True)
    assert [t.tolist() for t in found] == [[[3, 1]], [0, 0], [2]]
    assert rg._VF.lstm is rg.lstm
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rg._VF.nothing


def test_native_dropout_draws_its_mask_and_is_one_node():
    rg.manual_seed(0)
    x = rg.ones(4, requires_grad=True)
    out, mask = rg.native_dropout(x, 1.0, True)
    assert not mask.any()
    assert type(out.grad_fn).__name__ == "NativeDropoutBackward0"
    drawn = rg.rand(1)
    rg.manual_seed(0)
    rg.empty(4).bernoulli_(0.5)
    assert rg.equal(rg.rand(1), drawn)


def test_reductions_are_numbers_at_the_top_level():
    x, y = rg.tensor([0.25, 0.5]), rg.tensor([1, -1])
    for number, name in enumerate(["none", "mean", "sum"]):
        found = rg.hinge_embedding_loss(x, y, 1.0, number)
        assert rg.equal(found, rg.nn.functional.hinge_embedding_loss(x, y, reduction=name))
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        rg.hinge_embedding_loss(x, y, 1.0, 3)


@pytest.mark.parametrize(("offsets", "text"), WRONG_OFFSETS)
def test_offsets_of_bags_name_places_in_the_input(offsets, text):
    with pytest.raises(RuntimeError, match=text):
        rg.embedding_bag(TABLE, rg.tensor([0, 1]), rg.tensor(offsets))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (rg.cholesky, "CholeskyBackward0"),
        (lambda x: rg.triangular_solve(x, x)[0], "TriangularSolveBackward0"),
        (lambda x: rg.permute_copy(x, (1, 0)), "PermuteBackward0_copy"),
        (rg.alias_copy, "AliasBackward0_copy"),
        (lambda x: rg.narrow_copy(x, 0, 0, 1), "NarrowCopyBackward0"),
        (lambda x: rg.unbind_copy(x)[0], "UnbindBackward0_copy"),
    ],
)
def test_a_node_has_the_name_of_the_function(call, name):
    assert call(rg.eye(3, requires_grad=True)).grad_fn.name() == name


@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_to_shuffled_channels_leaves_the_input(recorded):
    x = rg.arange(16.0).reshape(1, 4, 2, 2).requires_grad_(recorded)
    base = x * 1
    with rg.set_grad_enabled(recorded):
        result = rg.native_channel_shuffle(base, 1)
    assert not result._is_view()
    result.detach().fill_(-1)
    assert rg.equal(base, x)
    assert base._version == 0


def test_the_order_of_dimensions_in_memory():
    assert rg.ones(2, 3, 4, 5).to(memory_format=rg.channels_last).dim_order() == (0, 2, 3, 1)
    assert rg.ones(2, 3, 4, 5).dim_order() == (0, 1, 2, 3)
    thin = rg.ones(2, 3, 1, 5).to(memory_format=rg.channels_last)
    assert thin.dim_order(ambiguity_check=[rg.channels_last]) == (0, 2, 3, 1)


def test_names_of_python_2_are_those_of_python_3():
    x = rg.tensor([3.0])
    assert (x.__long__(), x.__nonzero__(), x.__div__(2).item()) == (3, True, 1.5)
    assert rg.Tensor.__bool__.__name__ == "__bool__"  # which is what classes are told
    x.__idiv__(2)
    assert x.item() == 1.5
