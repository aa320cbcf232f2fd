"""PyTorch's operators by name: `torch.ops.aten`. The reference names are those of PyTorch 2.13."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.torch.library.ops import aten

THEIRS = json.loads((Path(__file__).parents[2] / "data" / "aten.json").read_text())


def test_every_operator_and_overload_is_one_of_pytorch_s():
    assert {
        name: missing
        for name in dir(aten)
        if (missing := set(getattr(aten, name).overloads()) - set(THEIRS.get(name, "").split()))
    } == {}


def test_every_operator_has_a_function():
    assert all(callable(getattr(aten, name).function) for name in dir(aten))


def test_an_overload_computes_what_the_function_does():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert aten.mm.default(x, x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert aten.mm(self=x, mat2=x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert aten.add.Tensor(x, x, alpha=2)[0].tolist() == [3.0, 6.0]
    assert aten.rsub.Scalar(x, 1)[0].tolist() == [0.0, -1.0]
    assert aten.linalg_det.default(x).item() == pytest.approx(-2.0)
    assert aten.slice.Tensor(x, 1, 1).tolist() == [[2.0], [4.0]]
    assert aten.index.Tensor(x, [None, rg.tensor([1])]).tolist() == [[2.0], [4.0]]
    assert aten.relu_.default(-x) is not x


def test_an_operator_is_recorded_as_its_function():
    x = rg.ones(2, requires_grad=True)
    assert type(aten.mul.Tensor(x, x).grad_fn).__name__ == "MulBackward0"


def test_an_alias_shows_the_same_memory_and_a_copy_does_not():
    x = rg.ones(2)
    assert aten.alias.default(x).data_ptr() == x.data_ptr()
    assert aten._to_copy.default(x).data_ptr() != x.data_ptr()


def test_operators_have_pytorch_s_names():
    assert aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten.mm.default.name() == "aten::mm"
    assert str(aten.mm.default) == "aten.mm.default"
    assert repr(aten.mm) == "<OpOverloadPacket(op='aten.mm')>"
    assert repr(aten.mm.default) == "<OpOverload(op='aten.mm', overload='default')>"


def test_operators_that_are_not_here_are_absent_with_a_reason():
    with pytest.raises(AttributeError, match="no attribute 'cudnn_convolution': there are no acc"):
        aten.cudnn_convolution
    with pytest.raises(AttributeError, match=r"'aten\.add' has no overload name 'Foo'"):
        aten.add.Foo
    assert not hasattr(aten, "manual_seed")


def test_a_checkpoint_keeps_the_results_of_an_operator():
    calls = []

    def kept():
        return rg.utils.checkpoint.create_selective_checkpoint_contexts([aten.exp.default])

    def run(x):
        calls.append(1)
        return x.exp().sin()

    x = rg.ones(1, requires_grad=True)
    rg.utils.checkpoint.checkpoint(run, x, use_reentrant=False, context_fn=kept).backward()
    assert x.grad.item() == pytest.approx(-2.4784, abs=1e-4)


def test_the_gradient_of_a_convolution_is_an_operator_with_a_derivative():
    generator = rg.Generator().manual_seed(0)
    x, w = (
        rg.randn(*shape, generator=generator, dtype=rg.float64, requires_grad=True)
        for shape in [(2, 4, 5, 5), (6, 2, 3, 3)]
    )
    settings = [2, 1], [1, 0], [1, 1], False, [0, 0], 2
    out = aten._convolution(x, w, None, *settings, False, False, False, False)
    g = rg.randn(*out.shape, generator=generator, dtype=rg.float64, requires_grad=True)
    by_x, by_w, by_bias = aten.convolution_backward(g, x, w, [6], *settings, [True] * 3)
    assert rg.allclose(by_x, rg.autograd.grad(out, x, g, retain_graph=True)[0])
    assert rg.allclose(by_w, rg.autograd.grad(out, w, g)[0])
    assert rg.allclose(by_bias, g.sum((0, 2, 3)))
    assert (
        aten.convolution_backward(g, x, w, [6], *settings, [False, True, False])[::2] == (None,) * 2
    )
    assert rg.autograd.gradgradcheck(lambda x, w: rg.convolution(x, w, None, *settings), (x, w))
    assert rg.autograd.gradcheck(
        lambda g: aten.convolution_backward(g, x, w, [6], *settings, [True] * 3)[:2], (g,)
    )


@pytest.mark.parametrize("dims", [2, 3])
def test_the_gradient_of_sampling_is_an_operator(dims):
    generator = rg.Generator().manual_seed(0)
    x = rg.randn(1, 2, *[4] * dims, generator=generator, dtype=rg.float64, requires_grad=True)
    at = rg.rand(1, *[3] * dims, dims, generator=generator, dtype=rg.float64, requires_grad=True)
    out = aten.grid_sampler(x, at, 0, 1, False)
    g = rg.ones_like(out)
    found = getattr(aten, f"grid_sampler_{dims}d_backward")(g, x, at, 0, 1, False, [True, True])
    assert all(map(rg.allclose, found, rg.autograd.grad(out, (x, at), g)))


@pytest.mark.parametrize(
    ("kind", "mode", "corners"),
    [
        ("nearest2d", "nearest", []),
        ("bilinear2d", "bilinear", [True]),
        ("bicubic2d", "bicubic", [False]),
    ],
)
def test_the_gradient_of_another_resolution_is_its_transpose(kind, mode, corners):
    x = rg.randn(1, 2, 3, 4, dtype=rg.float64, requires_grad=True)
    out = getattr(aten, f"upsample_{kind}")(x, [6, 8], *corners, None)
    g = rg.randn(*out.shape, dtype=rg.float64, requires_grad=True)
    backward = getattr(aten, f"upsample_{kind}_backward")
    (expected,) = rg.autograd.grad(out, x, g)
    assert rg.allclose(backward(g, [6, 8], x.shape, *corners), expected)
    assert rg.allclose(backward(g, [6, 8], x.shape, *corners, 2.0, 2.0), expected)
    assert rg.autograd.gradcheck(lambda g: backward(g, [6, 8], x.shape, *corners), (g,))


def test_a_copy_of_a_container_has_the_same_operators():
    own = rg.library.custom_op("copied::twice", lambda x: x * 2, mutates_args=())
    for operator in (aten.mm, aten.mm.default, own):
        assert copy.deepcopy({operator: 1}) == {operator: 1}
        assert copy.deepcopy([operator])[0] is operator


def test_an_overload_knows_its_operator_by_the_private_name_too():
    own = rg.library.custom_op("known::twice", lambda x: x * 2, mutates_args=())
    assert aten.add.Tensor._overloadpacket is aten.add.Tensor.overloadpacket is aten.add
    assert own.default._overloadpacket is own._opoverload is own


X = rg.tensor([[-1.5, -0.25, 0.5, 2.0]], dtype=rg.float64)
IMAGE, CLASSES = rg.arange(16.0, dtype=rg.float64).reshape(1, 1, 4, 4).cos(), rg.tensor([1, 0])
ROWS = rg.arange(8.0, dtype=rg.float64).reshape(2, 4).sin()
WEIGHTS = rg.tensor([0.5, 1.0, 2.0, 1.5], dtype=rg.float64)
F = rg.nn.functional
POOL = [2, 2], [2, 2], [0, 0]
# What an operator takes beside the cotangent, and a function whose gradient by `x` it gives.
GRADIENTS = {
    "_adaptive_avg_pool2d": (IMAGE, [], lambda x: F.adaptive_avg_pool2d(x, (2, 1))),
    "_cdist": (ROWS, [X, 2.0, None], lambda x: rg.cdist(x, X)),
    "_pdist": (ROWS, [2.0, None], lambda x: F.pdist(x)),
    "adaptive_max_pool2d": (IMAGE, [None], lambda x: F.adaptive_max_pool2d(x, (2, 1))),
    "avg_pool2d": (IMAGE, [*POOL, False, True, None], lambda x: F.avg_pool2d(x, 2)),
    "binary_cross_entropy": (
        *(ROWS.sigmoid(), [ROWS.cos() ** 2, None, 2]),
        lambda x: F.binary_cross_entropy(x, ROWS.cos() ** 2, reduction="sum"),
    ),
    "gelu": (X, [], F.gelu),
    "glu": (X, [1], lambda x: F.glu(x, 1)),
    "hardshrink": (X, [0.5], F.hardshrink),
    "hardsigmoid": (X, [], F.hardsigmoid),
    "hardswish": (X, [], F.hardswish),
    "hardtanh": (X, [-1.0, 1.0], F.hardtanh),
    "huber_loss": (X, [X.cos(), 1, 0.5], lambda x: F.huber_loss(x, X.cos(), delta=0.5)),
    "leaky_relu": (X, [0.1, False], lambda x: F.leaky_relu(x, 0.1)),
    "log_sigmoid": (X, [X], F.logsigmoid),
    "logit": (X.sigmoid(), [None], rg.logit),
    "max_pool2d_with_indices": (
        *(IMAGE, [[2, 2], [], [0, 0], [1, 1], False, None]),
        lambda x: F.max_pool2d(x, 2),
    ),
    "mish": (X, [], F.mish),
    "mse_loss": (X, [X.cos(), 0], lambda x: F.mse_loss(x, X.cos(), reduction="none")),
    "nll_loss": (
        *(ROWS, [CLASSES, WEIGHTS, 1, -100, None]),
        lambda x: F.nll_loss(x, CLASSES, WEIGHTS),
    ),
    "reflection_pad2d": (IMAGE, [[1, 2, 0, 1]], lambda x: F.pad(x, (1, 2, 0, 1), "reflect")),
    "replication_pad2d": (IMAGE, [[1, 2, 0, 1]], lambda x: F.pad(x, (1, 2, 0, 1), "replicate")),
    "silu": (X, [], F.silu),
    "smooth_l1_loss": (X, [X.cos(), 1, 0.5], lambda x: F.smooth_l1_loss(x, X.cos(), beta=0.5)),
    "softplus": (X, [2.0, 20.0], lambda x: F.softplus(x, 2.0)),
    "softshrink": (X, [0.5], F.softshrink),
    "threshold": (X, [0.1], lambda x: F.threshold(x, 0.1, 3.0)),
    "diagonal": (rg.Size([2, 4]), [1, 0, 1], lambda x: x.diagonal(1)),
    "select": (rg.Size([2, 4]), [1, 2], lambda x: x.select(1, 2)),
    "slice": (rg.Size([2, 4]), [1, 0, 4, 2], lambda x: x[:, 0:4:2]),
    "unfold": (rg.Size([2, 4]), [1, 3, 1], lambda x: x.unfold(1, 3, 1)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_an_operator_is_an_operator_with_a_derivative(name):
    first, more, function = GRADIENTS[name]
    x = rg.zeros(first, dtype=rg.float64) if isinstance(first, rg.Size) else first.clone()
    out = function(x.requires_grad_())
    g = (rg.arange(float(out.numel()), dtype=rg.float64).reshape(out.shape) + 1).requires_grad_()
    backward = getattr(aten, f"{name}_backward")
    given = first if isinstance(first, rg.Size) else x.detach()
    expected = rg.autograd.grad(out, x, g)[0]
    assert backward(g.detach(), given, *more).tolist() == expected.tolist()
    assert rg.autograd.gradcheck(lambda g: backward(g, given, *more), (g,))


def test_the_gradients_of_normalizations_are_operators_that_know_the_moments():
    x = IMAGE.repeat(2, 4, 1, 1) * rg.arange(8.0, dtype=rg.float64).reshape(2, 4, 1, 1).exp()
    w, b, g = WEIGHTS, WEIGHTS.cos(), x.roll(1, 3)
    flat = x.transpose(1, 3).contiguous()
    group = aten.native_group_norm(x, w, b, 2, 4, 16, 2, 1e-3)[1:]
    batch = aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-3)[1:]
    layer = aten.native_layer_norm(flat, [4], w, b, 1e-3)[1:]
    every = [True] * 3
    for function, found, given in (
        (
            lambda x, w, b: F.group_norm(x, 2, w, b, 1e-3),
            aten.native_group_norm_backward(g, x, *group, w, 2, 4, 16, 2, every),
            x,
        ),
        (
            lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-3),
            aten.native_batch_norm_backward(g, x, w, None, None, *batch, True, 1e-3, every),
            x,
        ),
        (
            lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-3),
            aten.native_layer_norm_backward(g, flat, [4], *layer, w, b, every),
            flat,
        ),
    ):
        _, vjp = rg.func.vjp(function, given, w, b)
        assert all(map(rg.allclose, found, vjp(g)))
    assert (
        aten.native_layer_norm_backward(g, flat, [4], *layer, None, None, every)[1:] == (None,) * 2
    )


def test_gradients_that_know_the_result_are_those_of_the_functions():
    g = rg.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=rg.float64)
    for function, backward, more in (
        (rg.sigmoid, aten.sigmoid_backward, []),
        (rg.tanh, aten.tanh_backward, []),
        (lambda x: x.softmax(-1), aten._softmax_backward_data, [-1, rg.float64]),
        (lambda x: x.log_softmax(1), aten._log_softmax_backward_data, [1, rg.float64]),
        (F.elu, lambda g, out: aten.elu_backward(g, 1.0, 1.0, 1.0, True, out), []),
    ):
        out, vjp = rg.func.vjp(function, X)
        assert rg.allclose(backward(g, out, *more), vjp(g)[0], rtol=1e-12)
    assert rg.autograd.gradcheck(
        aten.tanh_backward, (g.requires_grad_(), X.clone().requires_grad_())
    )


def test_the_gradients_of_tables_and_weights_are_operators():
    g = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = aten.embedding_dense_backward(g, rg.tensor([1, 1, 0]), 3, 0, False)
    assert found.tolist() == [[0.0, 0.0], [4.0, 6.0], [0.0, 0.0]]
    found = aten._prelu_kernel_backward(g[:1], rg.tensor([[-2.0, 3.0]]), rg.tensor([0.5]))
    assert [each.tolist() for each in found] == [[[0.5, 2.0]], [[-2.0, 0.0]]]
    assert aten.native_dropout_backward(g[0], rg.tensor([True, False]), 2.0).tolist() == [2.0, 0.0]


def test_the_core_operators_that_are_written_otherwise_give_their_values():
    x = rg.arange(12.0).reshape(3, 4)
    assert aten._unsafe_view(x.t(), [12])[:4].tolist() == [0.0, 4.0, 8.0, 1.0]
    assert aten.reflection_pad1d(x[:1], [1, 1]).tolist() == [[1.0, 0.0, 1.0, 2.0, 3.0, 2.0]]
    assert (aten.sym_numel(x), aten.sym_stride.int(x, 0), aten.sym_storage_offset(x[1:])) == (
        *(12, 4, 4),
    )
    bins = aten._fft_r2c(x, [1], 1, True)
    assert rg.allclose(bins, rg.fft.rfft(x, norm="ortho"))
    assert rg.allclose(aten._fft_c2r(bins, [1], 1, 4), x, atol=1e-5)
    assert rg.allclose(aten._fft_c2c(x + 0j, [0, 1], 2, False), rg.fft.ifft2(x))
    loss, total = aten.nll_loss_forward(ROWS, CLASSES, WEIGHTS, 1, -100)
    assert (total.item(), loss.item()) == (1.5, F.nll_loss(ROWS, CLASSES, WEIGHTS).item())
    columns = aten.im2col(IMAGE, [2, 2], [1, 1], [0, 0], [2, 2])
    assert rg.equal(aten.col2im(columns, [4, 4], [2, 2], [1, 1], [0, 0], [2, 2]), IMAGE)
    with pytest.raises(NotImplementedError, match="scaled_dot_product_attention"):
        aten._scaled_dot_product_flash_attention(x, x, x)


def test_an_operator_resamples_to_a_size_or_by_scales():
    x = rg.tensor([[[1.0, 2.0]]])
    for found in (
        aten.upsample_nearest1d(x, [4]),
        aten.upsample_nearest1d.vec(x, None, [2.0]),
        aten.upsample_nearest1d.default(x, [4], 2.0),
        aten._upsample_nearest_exact1d.default(x, [4]),
    ):
        assert found.tolist() == [[[1.0, 1.0, 2.0, 2.0]]]
