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
    "addcmul": lambda x: rg.addcmul(x, x.flip(0), x, value=0.3),
    "addcdiv": lambda x: rg.addcdiv(x, x.flip(0), x, value=0.3),
    "linear": lambda x: F.linear(x, x, x[:, 0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_are_within_a_unit_in_the_last_place(name, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="it has the dtype")
    draw = np.random.default_rng(0)
    x = rg.tensor(draw.normal(0, 3, (40, 40))).to(getattr(rg, dtype))
    found, exact = FUNCTIONS[name](x), FUNCTIONS[name](x.double())
    assert found.dtype is x.dtype
    unit = rg.finfo(x.dtype).eps
    exact = exact.numpy()
    error = np.abs(found.double().numpy() - exact)
    normal = np.abs(exact) > rg.finfo(x.dtype).tiny
    assert (error[normal] / np.abs(exact[normal])).max() <= 1.2 * unit


def test_linear_of_integers_of_two_bytes_is_exact():
    x = rg.tensor([[3, 5]], dtype=rg.int16)
    assert F.linear(x, x, rg.tensor([7], dtype=rg.int16)).tolist() == [[41]]
