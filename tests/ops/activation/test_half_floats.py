"""Activations of half floats are computed in float32 and rounded once, as are their derivatives."""

from __future__ import annotations

import pytest

import retrograd as rg

F = rg.nn.functional
SMOOTH = [
    rg.sigmoid,
    rg.tanh,
    F.silu,
    F.mish,
    F.gelu,
    F.softplus,
    F.logsigmoid,
    F.elu,
    F.selu,
    F.celu,
]
PIECEWISE = [F.hardswish, F.hardsigmoid, F.relu6, F.leaky_relu]
X = (rg.arange(-60, 60) / 13).half()


@pytest.mark.parametrize("f", SMOOTH + PIECEWISE, ids=lambda f: f.__name__)
def test_a_value_is_the_nearest_to_that_of_float32(f):
    assert f(X).tolist() == f(X.float()).half().tolist()


@pytest.mark.parametrize("f", [F.silu, F.mish, F.gelu], ids=lambda f: f.__name__)
def test_a_derivative_is_the_nearest_to_that_of_float32(f):
    x, wide = X.clone().requires_grad_(), X.float().requires_grad_()
    f(x).sum().backward()
    f(wide).sum().backward()
    assert x.grad.dtype is rg.float16
    assert x.grad.tolist() == wide.grad.half().tolist()


def test_the_edge_of_hardshrink_is_rounded_to_the_dtype():
    assert F.hardshrink(rg.tensor([0.3, 0.5], dtype=rg.bfloat16), 0.3).tolist() == [0.0, 0.5]
