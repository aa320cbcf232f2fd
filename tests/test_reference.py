"""Values, dtypes and gradients of every op are those of PyTorch, on stored calls.

`tests/data/make_ops.py` chose the calls and ran them with PyTorch; `tests/data/ops_format.py` says
how they are stored. Every element agrees to the tolerance of its dtype, absolute below 1 and
relative above: 1e-10 in double precision, 1e-5 in single precision; those of `ROUGH`, which PyTorch
itself has less exactly, to the tolerance stated there.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.samples import ops_format, stored

import retrograd as rg

CALLS = stored()

TOLERANCES = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5,
              "float16": 1e-3, "bfloat16": 1e-2}  # fmt: skip
ROUGH = {
    "logcumsumexp": {"float32": 2e-3},  # PyTorch's gradients go through logarithms
    "nn.functional.hardsigmoid": {"float64": 1e-7},  # PyTorch's 1/6 is a float32
    "nn.functional.layer_norm": {"float32": 2e-4},  # of one element: 1/sqrt(eps) times rounding
    "polygamma": {"float32": 2e-5},  # beside poles
    "special.polygamma": {"float32": 2e-5},
    "special.bessel_j0": {"float64": 1e-7},
    "special.bessel_j1": {"float64": 1e-7},
}


def given(dtype, array, wanted):
    """An input of a stored call."""
    return rg.tensor(array.copy(), dtype=getattr(rg, dtype), requires_grad=wanted)


def check(found, expected, what, name):
    """A tensor has the dtype, the shape and the numbers of an (dtype, array) pair."""
    dtype, array = expected
    assert str(found.dtype) == f"retrograd.{dtype}", what
    if isinstance(array, tuple):
        assert tuple(found.shape) == array, what
        return
    assert tuple(found.shape) == array.shape, what
    values = found.detach()
    values = (values.float() if dtype == "bfloat16" else values).numpy()
    if array.dtype.kind not in "fc":
        np.testing.assert_array_equal(values, array, err_msg=what)
        return
    tolerance = ROUGH.get(name, {}).get(dtype, TOLERANCES[dtype])
    np.testing.assert_allclose(values, array, rtol=tolerance, atol=tolerance, err_msg=what)


def check_call(name, expression, inputs, results, gradients):
    """One stored call gives PyTorch's results and gradients."""
    made = [given(*each) for each in inputs]
    value, grads = ops_format.run(rg, expression, made, gradients is not None)
    outs = ops_format.tensors(value)
    if isinstance(results[0], str):
        shown = tuple(value) if isinstance(value, tuple) else value
        assert repr(shown) == results[0], expression
        return
    assert len(outs) == len(results), expression
    for place, (out, expected) in enumerate(zip(outs, results, strict=True)):
        check(out, expected, f"{expression}: result {place}", name)
    if gradients is None:  # none are stored
        return
    leaves = [t for t in made if t.requires_grad]
    for place, (leaf, expected, found) in enumerate(zip(leaves, gradients, grads, strict=True)):
        nothing = str(leaf.dtype).removeprefix("retrograd."), np.zeros(leaf.shape)
        check(
            rg.zeros_like(leaf) if found is None else found,
            nothing if expected is None else expected,
            f"{expression}: gradient {place}",
            name,
        )


OWN = ["digamma", "erf", "erfc", "erfinv", "lgamma", "mvlgamma", "nn.functional.gelu", "polygamma",
       "special.erfcx", "special.log_ndtr", "special.ndtr", "special.ndtri"]  # fmt: skip


@pytest.mark.usefixtures("without_scipy")
@pytest.mark.parametrize("name", OWN)
def test_they_are_those_of_pytorch_without_scipy_too(name):
    for call in CALLS[name]:
        check_call(name, *call)


@pytest.mark.parametrize("name", CALLS)
def test_values_dtypes_and_gradients_are_those_of_pytorch(name):
    for call in CALLS[name]:
        check_call(name, *call)


def test_there_are_calls_of_more_than_500_ops_in_three_dtypes():
    assert len(CALLS) > 500
