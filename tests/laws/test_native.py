"""The hot path in C does what the one in Python does: same values to the bit, same nodes.

Where it was not built, both sides are the one in Python. `make test` runs the engine's own tests in
both ways.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import sysconfig
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.engine.graph import OUTPUT
from retrograd.engine.native import native
from retrograd.engine.registry import OPS
from retrograd.engine.saved import Packed
from retrograd.engine.tensor import Tensor, new_tensor
from retrograd.locks import ONE_AT_A_TIME

from .samples import at_least, samples

CALLS = [
    made
    for made in samples(differentiable=False)
    if native is None or isinstance(made.op.call, native.Caller)
]
in_c = pytest.mark.skipif(native is None, reason="the hot path in C is not built")


def test_it_is_built_wherever_there_is_a_compiler():
    header = Path(sysconfig.get_path("include"), "Python.h")
    can = ONE_AT_A_TIME and shutil.which("cc") is not None and header.exists()
    assert (native is not None) == (can and os.environ.get("RETROGRAD_NATIVE") != "0")


def same(found, expected):
    """Assert that two saved values, facts or results are one object or equal to the bit."""
    if isinstance(found, Tensor):
        assert isinstance(expected, Tensor)
        assert found is expected or found._node is expected._node is None
        found, expected = found._array, expected._array
    if isinstance(found, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif found is not expected and not isinstance(found, Packed):
        assert type(found) is type(expected)
        assert found == expected or (found != found and expected != expected)


def outcome(call, inputs, params):
    """What a call gives: outputs, or an error."""
    try:
        return call(*inputs, **params)
    except Exception as error:
        return error


def compare(op, inputs, params):
    """Call both callers of an op, and compare all that they made."""
    first, second = [
        outcome(call, inputs, params)
        for call in (op.call, getattr(op.call, "__wrapped__", op.call))
    ]
    assert type(first) is type(second)
    if isinstance(first, Exception):  # the example is for other dtypes
        assert str(first) == str(second)
        return
    if isinstance(first, tuple):
        assert len(first) == len(second)
        for number, (one, two) in enumerate(zip(first, second, strict=True)):
            compare_tensors(op, one, two, number)
    else:
        compare_tensors(op, first, second)


def compare_tensors(op, first, second, number=None):
    """Compare two outputs of an op."""
    same(first._array, second._array)
    assert (first._node is None) == (second._node is None)
    if first._view_of is not None:
        assert first._cell is second._cell  # that of the base
    else:
        assert (first._cell is None) == (second._cell is None)
    if first._view_of is not None:
        one, two = first._view_of, second._view_of
        assert (one.base, one.origin, one.roots, one.trace) == (two.base, two.origin, (), None)
        assert one.path == two.path
        assert {ref() for ref in one.base._views} >= {first, second}
    assert (first._view_of is None) == (second._view_of is None)
    if first._node is None:
        return
    one, two = first._node, second._node
    if first.is_leaf:  # a view that nothing recorded, of a base that requires grad
        assert one.op is two.op
        return
    if one.op is OUTPUT:
        assert one.params == two.params == (number,)
        assert (one.shape, one.dtype, one.fits) == (two.shape, two.dtype, two.fits)
        assert one._cell is first._cell
        assert two.op is OUTPUT
        assert one.__dict__ == two.__dict__ == {}
        one, two = one.edges[0], two.edges[0]
        assert one.layout == two.layout
        assert one.__dict__["_outputs"].keys() == two.__dict__["_outputs"].keys()
        assert one.__dict__["_outputs"][number]() is first._node
    else:
        assert (one.shape, one.dtype, one.fits) == (two.shape, two.dtype, two.fits)
        assert one._cell is first._cell
        assert two._cell is second._cell
        assert number in (None, 0)
    assert (one.cells or {}).keys() == (two.cells or {}).keys()
    assert one.op is two.op is op
    assert one.seq < two.seq
    assert one.edges == two.edges
    assert one.hooks is two.hooks is None
    assert len(one.saved) == len(two.saved)
    assert len(one.params) == len(two.params)
    for found, expected in zip((*one.saved, *one.params), (*two.saved, *two.params), strict=True):
        same(found, expected)


@in_c
@pytest.mark.parametrize("sample", at_least(2100, CALLS), ids=repr)
def test_both_callers_record_the_same(sample):
    places = sample.differentiable
    for wanted in product((False, True), repeat=len(places)):
        inputs = sample.tensors(grad=False)
        for place, flag in zip(places, wanted, strict=True):
            inputs[place].requires_grad = flag
        compare(sample.op, inputs, sample.params)
        with rg.no_grad():
            compare(sample.op, inputs, sample.params)


@in_c
@pytest.mark.parametrize("sample", at_least(2100, CALLS), ids=repr)
def test_no_reference_is_kept_or_lost(sample):
    inputs = sample.tensors()
    held = [t for t in inputs if t is not None]
    held += [t._array for t in held] + [t._array.dtype for t in held] + [t._node for t in held]
    held += [sample.op, sample.op.call, sample.params, *sample.params.values()]
    held = [thing for thing in held if thing is not None and not isinstance(thing, (int, bool))]

    def run():
        outputs = sample.op.call(*inputs, **sample.params)
        for out in outputs if isinstance(outputs, tuple) else [outputs]:
            if out.requires_grad and not out.is_leaf:
                out.backward(rg.zeros_like(out), retain_graph=True)

    def count():
        return [sys.getrefcount(thing) for thing in held]

    for _ in range(3):  # caches fill, `.grad` and version cells are made
        if isinstance(outcome(run, (), {}), Exception):  # the example is for other dtypes
            return
    gc.disable()  # there are no cycles here; those of other tests hold dtypes, too
    try:
        before = count()
        for _ in range(20):
            run()
        changes = [new - old for new, old in zip(count(), before, strict=True)]
    finally:
        gc.enable()
    assert all(abs(change) < 10 for change in changes), changes


VIEWS = [made for made in CALLS if made.op.view and made.op.vjps]


@in_c
@pytest.mark.parametrize("sample", at_least(145, VIEWS), ids=repr)
def test_views_of_views_and_of_written_tensors(sample):
    inputs = sample.tensors()
    for place in sample.differentiable:
        inputs[place] = inputs[place] * 1.0
    inputs[0] = inputs[0].view_as(inputs[0])
    compare(sample.op, inputs, sample.params)
    inputs[0].mul_(2.0)
    compare(sample.op, inputs, sample.params)
    for _ in range(40):  # the base sweeps its list of views now and then
        sample.op.call(*inputs, **sample.params)
    compare(sample.op, inputs, sample.params)
    assert len(inputs[0]._view_of.base._views) < 40


@pytest.mark.parametrize("name", ["mul", "add", "div", "atan2", "maximum"])
def test_both_callers_take_numbers_and_mixed_dtypes(name):
    op, x = OPS[name], rg.tensor([0.5, 2.0], requires_grad=True)
    for other in (2, 2.5, np.float64(3.0), rg.tensor(2), rg.tensor([1.0, 2.0], dtype=rg.float64)):
        compare(op, (x, other), {})
        compare(op, (x.detach(), other), {})
    if op.complex:
        compare(op, (x, 1.5 + 2j), {})
        compare(op, (x, rg.tensor([1j, 2.0], requires_grad=True)), {})


def test_broadcast_inputs_are_not_taken_to_fit():
    a, b = rg.ones(3, 1, requires_grad=True), rg.ones(4, requires_grad=True)
    c = rg.ones(3, 4, requires_grad=True)
    for op in (OPS["mul"], OPS["addcmul"]):
        inputs, params = ((a, b), {}) if op.name == "mul" else ((a, b, c), {"value": 1})
        compare(op, inputs, params)
        assert not op.call(*inputs, **params)._node.fits


def test_errors_are_those_of_the_python_caller():
    x = rg.ones(2, 3)
    for call in (
        lambda: rg.mul(x, rg.ones(4)),
        lambda: rg.mul(x, "text"),
        lambda: rg.exp("text"),
        lambda: rg.exp(x, x),
        lambda: rg.exp(),
        lambda: rg.nn.functional.linear(x, rg.ones(2, 2)),
    ):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call()
        assert "Caller" not in str(caught.value)


def test_an_inference_tensor_is_not_saved():
    with rg.inference_mode():
        made = rg.ones(2)
    x = rg.ones(2, requires_grad=True)
    assert modes.inference_seen
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        x * made
    assert (x + made).requires_grad  # nothing to save


def test_gradients_are_the_same_to_the_bit(tmp_path):
    script = Path(__file__).with_name("all_gradients.py")
    found = []
    for flag in ("1", "0"):
        file = tmp_path / f"{flag}.npz"
        environment = os.environ | {"RETROGRAD_NATIVE": flag}
        subprocess.run([sys.executable, script, file], check=True, env=environment)
        with np.load(file) as arrays:
            found.append({name: arrays[name] for name in arrays})
    assert found[0].keys() == found[1].keys()
    assert len(found[0]) > 500
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)


def test_a_numpy_array_that_is_no_tensor_is_taken():
    x = rg.ones(2, requires_grad=True)
    found = x * new_tensor(np.full(2, 3.0))
    assert (found.dtype, found.tolist()) == (rg.float64, [3.0, 3.0])
