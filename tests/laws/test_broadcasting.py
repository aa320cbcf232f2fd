"""Broadcasting, strides and mixed dtypes for every elementwise op with several inputs.

Hypothesis draws shapes that broadcast, memory layouts, and which inputs are complex. Each gradient
must have its input's shape and dtype, and its inner product with a direction must be the change of
the output along it (central difference, step 1e-6, agreement to 1e-5 relative).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from retrograd import autograd
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import new_tensor

from .samples import at_least, draw, inner, like

STEP = 1e-6
EXAMPLES = [
    (op, next((e for e in op.examples if "none" not in e.specs), op.examples[0]))
    for op in OPS.values()
    if op.elementwise
    and op.vjps
    and len(op.inputs) > 1
    and all("int" not in spec for e in op.examples for spec in e.specs)
]


def laid_out(array, layout):
    """The same values in another memory layout."""
    if layout == "reversed" and array.ndim:
        return array[::-1].copy()[::-1]
    if layout == "column-major" and array.ndim:
        return np.asfortranarray(array)
    return array


@pytest.mark.parametrize(("op", "example"), at_least(40, EXAMPLES), ids=repr)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_gradient_fits_its_input_whatever_the_shapes(op, example, data):
    kinds = [spec.partition(":")[2] for spec in example.specs]
    count = len(kinds)
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    arrays = []
    for shape, kind in zip(shapes.input_shapes, kinds, strict=True):
        spec = "x".join(map(str, shape)) + (kind and f":{kind}")
        complex = op.complex and data.draw(st.booleans())
        layout = data.draw(st.sampled_from(["plain", "reversed", "column-major"]))
        arrays.append(laid_out(draw(spec, op.domain, complex, rng), layout))
    tensors = [new_tensor(a) for a in arrays]
    wanted = [
        i for i, name in enumerate(op.inputs) if name in op.vjps and arrays[i].dtype.kind in "fc"
    ]
    for i in wanted:
        tensors[i].requires_grad = True
    out = op.call(*tensors, **example.params)
    assert out.shape == shapes.result_shape
    (g,) = like([out._array], rng)
    leaves = [tensors[i] for i in wanted]
    grads = autograd.grad(out, leaves, new_tensor(g), retain_graph=True, materialize_grads=True)
    out.backward(new_tensor(g))  # which takes short cuts that `grad` does not take
    for i, leaf, grad in zip(wanted, leaves, grads, strict=True):
        if leaf.grad is not None:
            np.testing.assert_array_equal(leaf.grad._array, grad._array)
        assert grad._array.shape == arrays[i].shape
        assert grad._array.dtype == arrays[i].dtype
        (move,) = like([arrays[i]], rng)
        move = move * 0.1
        above, below = (
            op.call(*[new_tensor(a + s * STEP * move if j == i else a)
                      for j, a in enumerate(arrays)], **example.params)._array
            for s in (1, -1)
        )  # fmt: skip
        change = inner([g], [(above - below) / (2 * STEP)])
        assert inner([grad._array], [move]) == pytest.approx(change, rel=1e-5, abs=1e-5)
