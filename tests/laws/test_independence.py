"""The law of structural zeros: what an output does not depend on hears nothing of its cotangent.

The cotangent is infinite at one element of the outputs and 0 elsewhere. Where moving an element of
an input leaves that output element as it is, the gradient must not be NaN, as `inf * 0` would be.
"""

from __future__ import annotations

import numpy as np
import pytest

from retrograd import autograd
from retrograd.engine.tensor import new_tensor
from retrograd.engine.transforms.forward import jvp

from .samples import at_least, samples

STEP = 1e-3

# In these the zero is a number that is computed with, as it is in PyTorch.
EXCEPTIONS = {
    **dict.fromkeys(["remainder", "fmod"], "the derivative is a quotient, which may round to 0"),
    **dict.fromkeys(["igamma", "igammac", "orthogonal"], "the derivative is a number, maybe 0"),
    **dict.fromkeys(["softmax", "log_softmax"], "the derivative of a single element is g - g"),
    **dict.fromkeys(["adjugate", "adjugate_derivative", "cholesky_ex", "lu_factor_ex", "qr"],
                    "formulas of matrix products, in which zeros are numbers"),
    **dict.fromkeys(["conv", "conv_weight"], "padding is zeros that are multiplied"),
    **dict.fromkeys(["attention", "attention_derivative", "attention_bias_derivative"],
                    "products with weights that are 0"),
    "fft_c2r": "a complex product with the imaginary part 0",
    "masked_scale": "dropped elements are multiplied by 0, forward and backward",
    "linear_recurrence": "the recurrence starts from the number 0",
}  # fmt: skip

CASES = at_least(1750, [s for s in samples() if s.op.name not in EXCEPTIONS])


def dependence(sample, index):
    """For each output, (*output shape, *input shape): whether moving the input changes it."""
    base, array = sample.forward(sample.arrays), np.asarray(sample.arrays[index])
    found = [np.zeros(out.shape + array.shape, bool) for out in base]
    steps = (STEP, -STEP, 1j * STEP, -1j * STEP) if array.dtype.kind == "c" else (STEP, -STEP)
    for place in np.ndindex(array.shape):
        for step in steps:
            moved = array.copy()
            moved[place] += step
            arrays = [moved if i == index else a for i, a in enumerate(sample.arrays)]
            for changes, out, old in zip(found, sample.forward(arrays), base, strict=True):
                changes[(..., *place)] |= out != old
    return found


@pytest.mark.parametrize("sample", CASES, ids=repr)
def test_an_infinite_cotangent_gives_no_nan_where_the_output_does_not_depend_on_the_input(sample):
    tensors = sample.tensors()
    outputs = sample.call(tensors)
    leaves = [tensors[i] for i in sample.differentiable]
    depends = [dependence(sample, i) for i in sample.differentiable]
    for k, output in enumerate(outputs):
        for place in np.ndindex(output.shape):
            if all(d[k][place].all() for d in depends):
                continue
            cotangents = [np.zeros_like(t._array) for t in outputs]
            cotangents[k][place] = np.inf
            given = [new_tensor(g) for g in cotangents]
            grads = autograd.grad(outputs, leaves, given, retain_graph=True, materialize_grads=True)
            for d, g in zip(depends, grads, strict=True):
                assert not np.isnan(g._array[~d[k][place]]).any()


@pytest.mark.parametrize("sample", CASES, ids=repr)
def test_an_infinite_tangent_gives_no_nan_where_the_output_does_not_depend_on_the_input(sample):
    for index in sample.differentiable:
        array = np.asarray(sample.arrays[index])
        changes = dependence(sample, index)
        for place in np.ndindex(array.shape):
            move = np.zeros_like(array)
            move[place] = np.inf
            tangents = [new_tensor(move) if i == index else None for i in range(len(sample.arrays))]
            out = jvp(sample.op, sample.tensors(grad=False), tangents, sample.params)
            found = out if isinstance(out, (tuple, list)) else [out]
            for depends, t in zip(changes, found[: len(changes)], strict=True):
                free = ~depends[(..., *place)]
                assert not np.isnan(t._array[free]).any()
