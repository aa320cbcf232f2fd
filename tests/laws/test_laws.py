"""Laws that hold for every op in the registry; a new record is tested the moment it is declared.

Arrays are float64 or complex128. Derivatives are compared with central differences along every
coordinate (and 1j times it, where complex): step 1e-6, agreement to 1e-6 relative to the largest
entry, which leaves two digits above the truncation and rounding error of such differences.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from retrograd import autograd
from retrograd.autograd import forward_ad
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import Tensor, new_tensor
from retrograd.engine.transforms.forward import jvp

from .samples import at_least, inner, like, sample, samples

STEP, TOLERANCE = 1e-6, 1e-6
DIFFERENTIABLE = at_least(1900, samples())
every_sample = pytest.mark.parametrize("sample", DIFFERENTIABLE, ids=repr)


def gradients(sample, arrays=None, cotangents=None, create_graph=False):
    """(leaves, cotangents, gradients) of one call."""
    tensors = sample.tensors(arrays)
    outputs = sample.call(tensors)
    leaves = [tensors[i] for i in sample.differentiable]
    rng = np.random.default_rng(1)
    if cotangents is None:
        cotangents = like([t._array for t in outputs], rng)
    given = [g if isinstance(g, Tensor) else new_tensor(g) for g in cotangents]
    grads = autograd.grad(outputs, leaves, given, create_graph=create_graph,
                          materialize_grads=True)  # fmt: skip
    return leaves, cotangents, grads


def replaced(arrays, index, value):
    """`arrays` with one of them replaced."""
    return [value if i == index else a for i, a in enumerate(arrays)]


def directions(array):
    """Every coordinate direction of a real or complex array."""
    units = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    for place in np.ndindex(array.shape):
        for unit in units:
            d = np.zeros_like(array)
            d[place] = unit
            yield place, unit, d


def close(found, expected):
    """Assert agreement to TOLERANCE relative to the largest entry."""
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * scale)


# Of these ops, arrays are sparse, nested or masked: what holds for them is in tests of these names.
NO_EXAMPLES = {
    *("constructed", "data_of", "entries", "from_entries", "masked_of", "nested_of", "values_of"),
}


@pytest.mark.parametrize("op", OPS.values(), ids=repr)
def test_every_op_carries_examples_that_have_elements(op):
    assert op.examples or op.name in NO_EXAMPLES, f"{op.name}: without examples= it goes untested"
    made = [sample(op, example, complex=False) for example in op.examples]
    places = {i for each in made for i in each.differentiable}
    assert all(
        any(each.arrays[i].size for each in made if i in each.differentiable) for i in places
    )


@every_sample
def test_backward_equals_grad(sample):
    _, cotangents, grads = gradients(sample)
    tensors = sample.tensors()
    autograd.backward(sample.call(tensors), [new_tensor(g) for g in cotangents])
    for index, expected in zip(sample.differentiable, grads, strict=True):
        found = tensors[index].grad
        assert found is not None or not expected._array.any()
        if found is not None:
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found._array, expected._array)


@every_sample
def test_vjp_equals_finite_differences(sample):
    leaves, cotangents, grads = gradients(sample)
    for index, leaf, grad in zip(sample.differentiable, leaves, grads, strict=True):
        assert grad.shape == leaf.shape
        assert grad.dtype == leaf.dtype
        numeric = np.zeros_like(leaf._array)
        for place, unit, d in directions(leaf._array):
            above = sample.forward(replaced(sample.arrays, index, leaf._array + STEP * d))
            below = sample.forward(replaced(sample.arrays, index, leaf._array - STEP * d))
            change = [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]
            numeric[place] += unit * inner(cotangents, change)
        close(grad._array, numeric)


@every_sample
def test_create_graph_gives_the_same_gradient(sample):
    _, cotangents, raw = gradients(sample)
    _, _, recorded = gradients(sample, cotangents=cotangents, create_graph=True)
    for a, b in zip(raw, recorded, strict=True):
        np.testing.assert_allclose(b._array, a._array, rtol=1e-12, atol=1e-12)


@every_sample
def test_second_derivative_equals_differences_of_the_first(sample):
    tensors = sample.tensors()
    outputs = sample.call(tensors)
    leaves = [tensors[i] for i in sample.differentiable]
    rng = np.random.default_rng(2)
    cotangents = [new_tensor(g) for g in like([t._array for t in outputs], rng)]
    for g in cotangents:
        g.requires_grad = True
    grads = autograd.grad(outputs, leaves, cotangents, create_graph=True, materialize_grads=True)
    weights = like([g._array for g in grads], rng)
    live = [(g, w) for g, w in zip(grads, weights, strict=True) if g.requires_grad]
    wanted = [*leaves, *cotangents]
    if live:
        second = autograd.grad([g for g, _ in live], wanted, [new_tensor(w) for _, w in live],
                               materialize_grads=True)  # fmt: skip
    else:
        second = [new_tensor(np.zeros_like(t._array)) for t in wanted]
    moves = like([t._array for t in wanted], rng)
    count = len(leaves)

    def first(sign):
        arrays = list(sample.arrays)
        for i, move in zip(sample.differentiable, moves[:count], strict=True):
            arrays[i] = arrays[i] + sign * STEP * move
        shifted = [
            c._array + sign * STEP * m for c, m in zip(cotangents, moves[count:], strict=True)
        ]
        return [g._array for g in gradients(sample, arrays, shifted)[2]]

    change = [(a - b) / (2 * STEP) for a, b in zip(first(1), first(-1), strict=True)]
    expected = inner(weights, change)
    found = inner([s._array for s in second], moves)
    assert found == pytest.approx(expected, rel=2e-6, abs=2e-6)


@every_sample
def test_jvp_is_adjoint_to_vjp(sample):
    _, cotangents, grads = gradients(sample)
    rng = np.random.default_rng(3)
    tangents = [None] * len(sample.arrays)
    moves = like([sample.arrays[i] for i in sample.differentiable], rng)
    for i, move in zip(sample.differentiable, moves, strict=True):
        tangents[i] = new_tensor(move)
    out = jvp(sample.op, sample.tensors(grad=False), tangents, sample.params)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    pushed = inner(cotangents, [t._array for t in out[: sample.op.grad_outputs]])
    pulled = inner([g._array for g in grads], moves)
    assert pushed == pytest.approx(pulled, rel=1e-9, abs=1e-9)


@every_sample
def test_single_precision_is_kept(sample):
    narrow = {"f": np.float32, "c": np.complex64}
    arrays = [
        a.astype(narrow[a.dtype.kind]) if a is not None and a.dtype.kind in "fc" else a
        for a in sample.arrays
    ]
    tensors = sample.tensors(arrays)
    outputs = sample.call(tensors)
    if "dtype" not in sample.params:
        assert all(t._array.dtype.itemsize <= 8 for t in outputs)
        assert all(t._array.dtype in (np.float32, np.complex64) for t in outputs)
    leaves = [tensors[i] for i in sample.differentiable]
    cotangents = [new_tensor(np.ones_like(t._array)) for t in outputs]
    for leaf, g in zip(
        leaves, autograd.grad(outputs, leaves, cotangents, materialize_grads=True), strict=True
    ):
        assert g.dtype == leaf.dtype


def every_other(a):
    """The same values, with a gap after each row."""
    return a if a.ndim == 0 else np.repeat(a, 2, axis=0)[::2]


def column_major(a):
    """The same values, the first dimension fastest."""
    return a if a.ndim == 0 else np.asfortranarray(a)


@every_sample
def test_strided_inputs_give_the_same_results(sample):
    _, cotangents, grads = gradients(sample)
    plain = sample.forward(sample.arrays)
    for laid_out in every_other, column_major:
        if sample.op.name == "view_as_complex" and laid_out is column_major:
            continue  # raises where the last dimension has gaps
        tensors = [None if a is None else new_tensor(laid_out(a)) for a in sample.arrays]
        for i in sample.differentiable:
            tensors[i].requires_grad = True
        outputs = sample.call(tensors)
        for got, want in zip(outputs, plain, strict=True):
            np.testing.assert_allclose(got._array, want, rtol=1e-12, atol=1e-12)
        leaves = [tensors[i] for i in sample.differentiable]
        given = [new_tensor(g) for g in cotangents]
        again = autograd.grad(outputs, leaves, given, materialize_grads=True)
        for a, b in zip(again, grads, strict=True):
            np.testing.assert_allclose(a._array, b._array, rtol=1e-12, atol=1e-12)


@every_sample
def test_forward_and_backward_leave_inputs_and_cotangents_alone(sample):
    tensors = sample.tensors()
    before = [None if t is None else t._array.copy() for t in tensors]
    outputs = sample.call(tensors)
    values = [t._array.copy() for t in outputs]
    cotangents = [new_tensor(np.ones_like(t._array)) for t in outputs]
    autograd.grad(outputs, [tensors[i] for i in sample.differentiable], cotangents,
                  materialize_grads=True)  # fmt: skip
    for t, array in zip(tensors, before, strict=True):
        if t is not None:
            np.testing.assert_array_equal(t._array, array)
    for t, array in zip(outputs, values, strict=True):
        np.testing.assert_array_equal(t._array, array)
    assert all((g._array == 1).all() for g in cotangents)


@every_sample
def test_only_what_a_needed_formula_names_is_saved(sample):
    op = sample.op
    for wanted in sample.differentiable:
        tensors = sample.tensors(grad=False)
        tensors[wanted].requires_grad = True
        node = sample.call(tensors)[0]._node
        source = node.edges[0] if op.grad_outputs > 1 else node
        name = op.inputs[0 if op.variadic else wanted]
        for saved_name, value in zip(op.saves, source.saved, strict=True):
            assert (value is not None) <= (saved_name in op.needs[name])


@every_sample
def test_dropping_the_output_frees_it_without_the_collector(sample):
    gc.disable()
    try:
        tensors = sample.tensors()
        outputs = sample.call(tensors)
        refs = [weakref.ref(t._node) for t in outputs] + [weakref.ref(t) for t in outputs]
        del outputs
        assert all(ref() is None for ref in refs)
    finally:
        gc.enable()


def keeps_its_first_input(sample):
    """Whether the result of a sample fits into its first input."""
    made, first = sample.forward(sample.arrays)[0], sample.arrays[0]
    return (made.shape, made.dtype) == (first.shape, first.dtype)


INPLACE = [
    s
    for s in DIFFERENTIABLE
    if s.op.inplace and hasattr(Tensor, f"{s.op.name}_") and keeps_its_first_input(s)
]
every_write = pytest.mark.parametrize("sample", at_least(280, INPLACE), ids=repr)


@every_write
def test_in_place_equals_out_of_place(sample):
    plain = sample.forward(sample.arrays)[0]
    _, cotangents, grads = gradients(sample)
    again = sample.tensors()
    target = again[0].clone()
    version = target._version
    result = getattr(target, f"{sample.op.name}_")(*again[1:], **sample.params)
    assert result is target
    assert target._version == version + 1
    np.testing.assert_allclose(target._array, plain, rtol=1e-14, atol=0)
    found = autograd.grad(target, [again[i] for i in sample.differentiable],
                          new_tensor(cotangents[0]), materialize_grads=True)  # fmt: skip
    for a, b in zip(found, grads, strict=True):
        np.testing.assert_allclose(a._array, b._array, rtol=1e-12, atol=1e-12)


def tangents_derivative(sample, form):
    """The derivatives of the tangent of `form(first, *others, **params)` along ones."""
    leaves = sample.tensors()
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(t, t.detach().fill_(1)) if i in sample.differentiable else t
            for i, t in enumerate(leaves)
        ]
        result = form(duals[0].clone(), *duals[1:], **sample.params)
        moved = forward_ad.unpack_dual(result).tangent
    if moved is None or not moved.requires_grad:
        return []
    wanted = [leaves[i] for i in sample.differentiable]
    return autograd.grad(
        moved, wanted, new_tensor(np.ones_like(moved._array)), materialize_grads=True
    )


@every_write
def test_a_tangent_of_the_in_place_form_can_be_differentiated(sample):
    expected = tangents_derivative(sample, sample.op.call)
    found = tangents_derivative(sample, getattr(Tensor, f"{sample.op.name}_"))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a._array, b._array, rtol=1e-12, atol=1e-12)


def test_samples_depend_on_their_seed_alone():
    op = OPS["mul"]
    one, two = sample(op, op.examples[0], True), sample(op, op.examples[0], True)
    np.testing.assert_array_equal(one.arrays[0], two.arrays[0])
