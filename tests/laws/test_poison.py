"""NaN and infinity stay in what depends on them.

One element of one input of an elementwise record is NaN or infinite: results and gradients that are
computed from other elements alone are the bits that they are without it. Of public functions they
are finite where PyTorch's are: `tests/data/make_poison.py` has asked it.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import new_tensor

from .samples import at_least, sample

VALUES = (np.nan, np.inf, -np.inf)


def cases():
    for op in OPS.values():
        for example in op.examples:
            made = sample(op, example, False)
            if op.elementwise and made.differentiable and not op.variadic:
                yield pytest.param(op, example, id=repr(made))


def reached(arrays, place, index):
    """Which elements of the result, and then of each input, meet one element of one input."""
    marks = [None if a is None else np.zeros(a.shape, bool) for a in arrays]
    marks[place][index] = True
    shape = np.broadcast_shapes(*[m.shape for m in marks if m is not None])
    out = np.broadcast_to(marks[place], shape)
    found = [out]
    for mark in marks:
        if mark is None:
            found.append(None)
            continue
        numbers = np.broadcast_to(np.arange(mark.size).reshape(mark.shape), shape)
        mark.reshape(-1)[np.unique(numbers[out])] = True
        found.append(mark)
    return found


def computed(op, arrays, params, places):
    """The result, and the gradients of the inputs at `places`; None for the others."""
    tensors = [None if a is None else new_tensor(a.copy()) for a in arrays]
    for place in places:
        tensors[place].requires_grad_()
    out = op.call(*tensors, **params)
    out = out[0] if isinstance(out, tuple) else out
    if out.requires_grad:
        out.backward(new_tensor(np.ones_like(out._array)))
    grads = [None if t is None or t.grad is None else t.grad._array for t in tensors]
    return [out.detach()._array, *grads]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "example"), at_least(430, list(cases())))
def test_what_does_not_depend_on_an_element_stays(op, example):
    made = sample(op, example, False)
    places = made.differentiable
    expected = computed(op, made.arrays, made.params, places)
    for place in places:
        for index in list(np.ndindex(made.arrays[place].shape))[::5]:
            meets = reached(made.arrays, place, index)
            for value in VALUES:
                arrays = [None if a is None else a.copy() for a in made.arrays]
                arrays[place][index] = value
                found = computed(op, arrays, made.params, places)
                for a, b, met in zip(found, expected, meets, strict=True):
                    if a is not None and b is not None:
                        np.testing.assert_array_equal(a[~met], b[~met])


def test_most_elementwise_records_are_asked():
    assert len({case.values[0].name for case in cases()}) > 100


PATH = Path(__file__).parents[1] / "data" / "make_poison.py"
SPEC: Any = importlib.util.spec_from_file_location("make_poison", PATH)
made = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(made)
ANSWERS = list(zip(made.cases(), json.loads(made.FILE.read_text()), strict=True))
NAN_COUNTS = (  # their result for NaN is NaN, where PyTorch's passes it by
    "x.sign()", "x.sgn()", "F.multi_margin_loss", "F.embedding_bag",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("call", made.CALLS)
def test_what_is_finite_in_pytorch_is_finite(call):
    """A gradient at the element itself aside, which is NaN for NaN."""
    asked = 0
    for case, (out, gradient) in ANSWERS:
        if case[0] == call:
            found = made.answer(rg, *case)
            assert call.startswith(NAN_COUNTS) or not found[0] & ~out, case
            assert not found[1] & ~gradient & ~(1 << case[1]), case
            asked += 1
    assert asked == len(made.PLACES) * len(made.VALUES)


@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
def test_a_row_that_is_not_scaled_down_has_the_gradient_of_the_identity(p):
    x = rg.tensor([[3.0, 4.0], [np.nan, 1.0], [0.1, 0.1]], requires_grad=True)
    (g,) = rg.autograd.grad(rg.renorm(x, p, 0, 1.0).sum(), x)
    assert g[1:].tolist() == [[1.0, 1.0], [1.0, 1.0]]
