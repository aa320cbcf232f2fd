"""Fused layers, stateless calls, and modules that are made without drawing their parameters."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn


@pytest.mark.parametrize("transpose", [False, True])
def test_a_fused_convolution_does_what_both_did(transpose):
    rg.manual_seed(0)
    kind = nn.ConvTranspose2d if transpose else nn.Conv2d
    conv, bn = kind(2, 3, 3, bias=False), nn.BatchNorm2d(3)
    x = rg.randn(4, 2, 5, 5)
    bn(conv(x))
    conv.eval(), bn.eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, bn, transpose)
    assert rg.allclose(fused(x), bn(conv(x)), atol=1e-5)
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        nn.utils.fuse_conv_bn_eval(conv.train(), bn)


def test_a_fused_bias_requires_grad_where_the_bias_did():
    weight, one = nn.Parameter(rg.ones(1, 1, 1)), rg.ones(1)
    assert not nn.utils.fuse_conv_bn_weights(weight, None, one, one, 0.0, one, one)[1].requires_grad
    bias = nn.Parameter(rg.ones(1))
    assert nn.utils.fuse_conv_bn_weights(weight, bias, one, one, 0.0, one, one)[1].requires_grad


def test_skipping_initialization_spends_no_random_numbers():
    rg.manual_seed(0)
    expected = rg.rand(2)
    rg.manual_seed(0)
    nn.utils.skip_init(nn.Linear, 3, 4)
    assert rg.equal(rg.rand(2), expected)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)


def test_a_stateless_call_leaves_the_module_as_it_was():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    given = {"weight": rg.ones(1, 2, requires_grad=True), "bias": rg.zeros(1)}
    out = nn.utils.stateless.functional_call(layer, given, rg.tensor([1.0, 2.0]))
    assert out.item() == 3.0
    assert layer.weight is weight
    out.backward()
    assert given["weight"].grad.tolist() == [[1.0, 2.0]]


def test_a_module_has_other_values_within_a_context():
    layer, given = nn.Linear(2, 2), rg.ones(2, 2)
    before = layer.weight
    with nn.utils.stateless._reparametrize_module(layer, {"weight": given, "unknown": rg.ones(2)}):
        assert layer.weight is given
    assert layer.weight is before
    with (
        pytest.raises(RuntimeError, match="Missing key"),
        nn.utils.stateless._reparametrize_module(layer, {"weight": given}, strict=True),
    ):
        pass
