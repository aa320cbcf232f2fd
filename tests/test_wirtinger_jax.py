"""Results and gradients agree with JAX's through `wirtinger`'s converter, on stored values.

`tests/data/make_jax.py` made them. Numbers agree to 1e-12 of the largest.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import wirtinger

DATA = Path(__file__).parent / "data"
spec = importlib.util.spec_from_file_location("jax_calls", DATA / "make_jax.py")
jax_calls = importlib.util.module_from_spec(spec)
spec.loader.exec_module(jax_calls)
STORED = json.loads((DATA / "jax.json").read_text())


def close(found, parts):
    expected = np.array(parts[0]) + 1j * np.array(parts[1])
    scale = max(1.0, abs(expected).max())
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-12 * scale)


def test_every_call_is_stored():
    assert [expression for expression, _ in jax_calls.calls()] == list(STORED)


@pytest.mark.parametrize(("expression", "z"), jax_calls.calls())
def test_values_and_gradients_are_those_of_jax(expression, z):
    value, gradient = STORED[expression]
    call = eval(f"lambda z: {expression}", {"np": rg})
    out = call(rg.tensor(z))
    close(out, value)
    v = rg.tensor(jax_calls.cotangent(tuple(out.shape), out.is_complex()), dtype=out.dtype)
    close(wirtinger.gradient(call, rg.tensor(z), "jax", v), gradient)
    leaf = rg.tensor(z, requires_grad=True)
    given = wirtinger.convert(v, "jax", "torch")
    (g,) = rg.autograd.grad(call(leaf), leaf, given)
    close(wirtinger.convert(g, "torch", "jax"), gradient)
