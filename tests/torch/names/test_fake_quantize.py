"""Fake quantization; the values are PyTorch's, to the last bit."""

from __future__ import annotations

import math

import pytest

import retrograd as rg

per_tensor = rg.fake_quantize_per_tensor_affine
per_channel = rg.fake_quantize_per_channel_affine


def ints(*values):
    return rg.tensor(values, dtype=rg.int32)


def test_values_are_rounded_to_even_and_bounded():
    x = rg.tensor([-3.0, -0.26, -0.25, -0.24, 0.05, 0.15, 0.35, 2.0, math.nan, math.inf])
    tenths = [-8, -3, -2, -2, 0, 2, 4, 7, -8, 7]
    rg.testing.assert_close(per_tensor(x, 0.1, 0, -8, 7), rg.tensor(tenths) * 0.1)
    shifted = [-10, -3, -2, -2, 0, 2, 4, 5, -10, 5]
    made = per_tensor(x, rg.tensor(0.1), rg.tensor(2), -8, 7)
    rg.testing.assert_close(made, rg.tensor(shifted) * 0.1)


def test_the_gradient_goes_straight_through_within_the_bounds():
    x = rg.tensor([-3.0, -0.26, 0.0, 1.0, math.nan, -math.inf], requires_grad=True)
    per_tensor(x, 0.1, 0, -8, 7).backward(rg.arange(1.0, 7.0))
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    w = rg.arange(12.0).view(3, 4).sub(6).requires_grad_()
    per_channel(w, rg.tensor([0.1, 0.5, 2.0]), ints(0, 1, 2), 0, -8, 7).sum().backward()
    assert w.grad.tolist() == [[0.0] * 4, [1.0] * 4, [1.0] * 4]


def test_each_channel_has_its_scale():
    w = rg.arange(12.0).view(3, 4) - 6
    made = per_channel(w, rg.tensor([0.5, 0.5, 2.0]), ints(0, 1, 2), 0, -8, 7)
    assert made.tolist() == [[-4.0] * 3 + [-3.0], [-2.0, -1.0, 0.0, 1.0], [2.0, 4.0, 4.0, 4.0]]
    columns = per_channel(w.T, rg.tensor([0.5, 0.5, 2.0]), ints(0, 1, 2), -1, -8, 7)
    assert columns.tolist() == made.T.tolist()
    halves = per_channel(w.double(), rg.ones(3), rg.full((3,), 9.5), 0, -8, 70)
    assert halves[0].tolist() == [-5.5, -5.5, -3.5, -3.5]


def test_arithmetic_is_that_of_float32():
    x = rg.linspace(-1, 1, 7, dtype=rg.float64)
    assert per_tensor(x, 0.1, 0, -8, 7)[1].item().hex() == "-0x1.6666660000000p-1"
    made = per_channel(x.view(1, 7), rg.tensor([0.1]), ints(0), 0, -8, 7)
    assert made[0, 1].item().hex() == "-0x1.666666c000000p-1"
    half = per_tensor(x.half(), 0.1, 0, -8, 7)
    assert (half.dtype, half[0].item()) == (rg.float16, -0.7998046875)


def test_wrong_arguments_are_refused():
    w = rg.ones(3, 4)
    with pytest.raises(RuntimeError, match="`quant_min` should be less than or equal"):
        per_tensor(w, 0.1, 0, 7, -8)
    with pytest.raises(RuntimeError, match="`zero_point` must be between"):
        per_tensor(w, 0.1, 30, -8, 7)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        per_tensor(w.long(), 0.1, 0, -8, 7)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        per_tensor(w, 0.1, 0.5, -8, 7)
    with pytest.raises(RuntimeError, match="Scale must be Float or BFloat16"):
        per_channel(w, rg.ones(3).double(), ints(0, 0, 0), 0, -8, 7)
    with pytest.raises(RuntimeError, match="not consistent with input tensor"):
        per_channel(w, rg.ones(4), ints(0, 0, 0, 0), 0, -8, 7)
    with pytest.raises(IndexError, match="Dimension out of range"):
        per_channel(w, rg.ones(3), ints(0, 0, 0), 5, -8, 7)


def test_the_node_has_pytorchs_name():
    x = rg.ones(2, requires_grad=True)
    name = type(per_tensor(x, 0.1, 0, -8, 7).grad_fn).__name__
    assert name == "FakeQuantizePerTensorAffineCachemaskBackward0"
    name = type(per_tensor(x, rg.tensor(0.1), rg.tensor(0), -8, 7).grad_fn).__name__
    assert name == "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"


def test_a_scale_with_a_history_is_refused_where_its_derivative_would_be_lost():
    def of_scale(scale):
        return per_tensor(rg.ones(2), scale, 0, -8, 7)

    scale = rg.tensor(0.5, requires_grad=True)
    match = (
        r"fake_quantize_per_tensor_affine\(\): argument 'scale'.* must be .*no derivative. "
        "Write scale="
    )
    with pytest.raises(TypeError, match=match):
        of_scale(scale)
    with pytest.raises(TypeError, match=match):
        rg.func.jvp(of_scale, (scale.detach(),), (rg.tensor(1.0),))
    of_scale(scale.detach())  # a constant is a number


def test_learnable_scales_and_zero_points_have_pytorchs_derivatives():
    x = rg.tensor([[-3.0, -0.44, 0.13], [0.26, 0.91, 5.0]], requires_grad=True)
    scale, zero = rg.tensor([0.1], requires_grad=True), rg.tensor([1.6], requires_grad=True)
    y = rg._fake_quantize_learnable_per_tensor_affine(x, scale, zero, -8, 7, 0.5)
    rg.testing.assert_close(y, rg.tensor([[-10, -4, 1], [3, 5, 5]]) * 0.1)
    assert type(y.grad_fn).__name__ == "FakeQuantizeLearnablePerTensorAffineBackward0"
    y.backward(rg.arange(1.0, 7.0).view(2, 3))
    rg.testing.assert_close(x.grad, rg.tensor([[0.0, 2.0, 3.0], [4.0, 0.0, 0.0]]))
    rg.testing.assert_close(scale.grad, rg.tensor([23.25]))
    rg.testing.assert_close(zero.grad, rg.tensor([-0.6]))


def test_learnable_scales_along_an_axis():
    x = rg.tensor([[-3.0, -0.44, 0.13], [0.26, 0.91, 5.0]], requires_grad=True)
    scale = rg.tensor([0.1, 0.3], requires_grad=True)
    zero = rg.tensor([1.2, -40.0], requires_grad=True)  # the second is bounded to -8
    y = rg._fake_quantize_learnable_per_channel_affine(x, scale, zero, 0, -8, 7, 0.25)
    rg.testing.assert_close(y, rg.tensor([[-0.9, -0.4, 0.1], [0.3, 0.9, 4.5]]))
    y.backward(rg.arange(1.0, 7.0).view(2, 3))
    rg.testing.assert_close(x.grad, rg.tensor([[0.0, 2.0, 3.0], [4.0, 5.0, 0.0]]))
    rg.testing.assert_close(scale.grad, rg.tensor([-2.275, 22.591667]))
    rg.testing.assert_close(zero.grad, rg.tensor([-0.025, -0.45]))


def test_learnable_scales_keep_the_dtype_of_half_precision():
    x, scale = rg.ones(2, dtype=rg.float16), rg.tensor([0.25], requires_grad=True)
    y = rg._fake_quantize_learnable_per_tensor_affine(x, scale, rg.zeros(1), -8, 7)
    assert y.dtype == rg.float16
    assert y.tolist() == [1.0, 1.0]
