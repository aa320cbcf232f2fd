"""The gradients of convolutions as functions, against those of the backward pass."""

import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd import nn


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_a_convolution_are_those_of_the_backward_pass(dims, dtype):
    x = rg.randn(2, 4, *[7] * dims, dtype=dtype, requires_grad=True)
    w = rg.randn(6, 2, *[3] * dims, dtype=dtype, requires_grad=True)
    settings = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    out = getattr(F, f"conv{dims}d")(x, w, None, **settings)
    g = rg.randn_like(out)
    of_input, of_weight = rg.autograd.grad(out, (x, w), g)
    found = getattr(nn.grad, f"conv{dims}d_input")(x.shape, w, g, **settings)
    assert rg.allclose(found, of_input, rtol=1e-12)
    found = getattr(F.grad, f"conv{dims}d_weight")(x, w.shape, g, **settings)
    assert rg.allclose(found, of_weight, rtol=1e-12)


def test_a_shape_without_batch_and_channels_raises():
    with pytest.raises(ValueError, match="input_size must have 4 elements"):
        nn.grad.conv2d_input((3, 3), rg.ones(1, 1, 2, 2), rg.ones(1, 1, 2, 2))
