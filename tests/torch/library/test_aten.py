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
