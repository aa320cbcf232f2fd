"""Fused layers, and modules that are made without drawing their parameters."""

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
