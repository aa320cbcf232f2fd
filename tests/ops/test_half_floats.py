"""Functions of several steps count half floats in float32 and round once."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

FUNCTIONS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "addcmul": lambda x: rg.addcmul(x, x.flip(0), x, value=0.3),
    "addcdiv": lambda x: rg.addcdiv(x, x.flip(0), x, value=0.3),
    "linear": lambda x: F.linear(x, x, x[:, 0]),
    "addmm": lambda x: rg.addmm(x, x, x.flip(1), alpha=0.3, beta=0.7),
    "addmv": lambda x: rg.addmv(x[0], x, x[1], alpha=0.3),
    "addr": lambda x: rg.addr(x, x[0], x[1], beta=0.7),
    "baddbmm": lambda x: rg.baddbmm(x[None], x[None], x[None], alpha=0.3),
    "addbmm": lambda x: rg.addbmm(x, x[None], x[None], alpha=0.3),
    "attention": lambda x: F.scaled_dot_product_attention(x / 9, x.flip(0), x.abs()),
    "masked attention": lambda x: F.scaled_dot_product_attention(
        x / 9, x, x.abs(), attn_mask=x.flip(0)
    ),
    "embedding_bag": lambda x: F.embedding_bag(rg.arange(39).reshape(13, 3), x),
    "weighted embedding_bag": lambda x: F.embedding_bag(
        rg.arange(39).reshape(13, 3), x, mode="sum", per_sample_weights=x[:13, :3]
    ),
}
GRADIENTS = {  # and what they are, of values that were rounded
    "softmax": (lambda x: x.softmax(1), lambda x, w, g: w * (g - (w * g).sum(1, keepdim=True))),
    "log_softmax": (
        lambda x: x.log_softmax(1),
        lambda x, out, g: g - out.exp() * g.sum(1, keepdim=True),
    ),
    "hardswish": (
        F.hardswish,
        lambda x, out, g: g * rg.where(x >= 3, 1.0, rg.where(x <= -3, 0.0, x / 3 + 0.5)),
    ),
}


@pytest.fixture(params=["float16", "bfloat16"])
def drawn(request):
    """A function that gives numbers of a half float's dtype: of some deviation."""
    if request.param == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="it has the dtype")
    draw = np.random.default_rng(0)
    dtype = getattr(rg, request.param)
    return lambda deviation: rg.tensor(draw.normal(0, deviation, (40, 40))).to(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_within_a_unit_in_the_last_place(name, drawn):
    x = drawn(3)
    found, exact = FUNCTIONS[name](x), FUNCTIONS[name](x.double())
    assert found.dtype is x.dtype
    unit = rg.finfo(x.dtype).eps
    exact = exact.numpy()
    error = np.abs(found.double().numpy() - exact)
    normal = np.abs(exact) > rg.finfo(x.dtype).tiny
    assert (error[normal] / np.abs(exact[normal])).max() <= 1.2 * unit


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_rounded_once(name, drawn):
    x, g = drawn(2), drawn(2)
    function, gradient = GRADIENTS[name]
    y = function(x.requires_grad_())
    (found,) = rg.autograd.grad(y, x, g)
    exact = gradient(*[t.detach().double() for t in (x, y, g)])
    unit = rg.finfo(x.dtype).eps
    error = (found.double() - exact).abs() - rg.finfo(x.dtype).smallest_normal
    assert (error <= 0.6 * unit * exact.abs()).all()


def test_linear_of_integers_of_two_bytes_is_exact():
    x = rg.tensor([[3, 5]], dtype=rg.int16)
    assert F.linear(x, x, rg.tensor([7], dtype=rg.int16)).tolist() == [[41]]
