"""For every op in the registry: tapes on constants give what `autograd.grad` gives on leaves, and
the Wirtinger pair gives the gradient that the backward pass gives, for any cotangent.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, wirtinger
from retrograd.engine.tensor import new_tensor

from .samples import at_least, like, samples

CASES = at_least(1900, samples())
COMPLEX = at_least(830, [case for case in CASES if case.complex and case.differentiable])


def cotangents_of(outputs, seed):
    return [new_tensor(g) for g in like([t._array for t in outputs], np.random.default_rng(seed))]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_tape_gives_the_gradient_of_constants_and_leaves_them_alone(case):
    tensors = case.tensors()
    leaves = [tensors[i] for i in case.differentiable]
    outputs = case.call(tensors)
    cotangents = cotangents_of(outputs, 1)
    expected = autograd.grad(outputs, leaves, cotangents, allow_unused=True)

    constants = case.tensors(grad=False)
    sources = [constants[i] for i in case.differentiable]
    with rg.GradientTape() as tape:
        tape.watch(sources)
        targets = case.call(constants)
    found = tape.gradient(targets, sources, output_gradients=cotangents)
    for a, b, x in zip(found, expected, sources, strict=True):
        if b is None:
            assert a is None
        else:
            assert a._array.tobytes() == b._array.tobytes()
        assert (x.requires_grad, x._gradient, x._version) == (False, None, 0)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_nested_tapes_give_the_second_derivative(case):
    tensors = case.tensors()
    leaves = [tensors[i] for i in case.differentiable]
    outputs = case.call(tensors)
    cotangents = cotangents_of(outputs, 1)
    first = autograd.grad(outputs, leaves, cotangents, create_graph=True, materialize_grads=True)
    live = [g for g in first if g.requires_grad]
    ones = [new_tensor(np.ones_like(g._array)) for g in live]
    expected = [None] * len(leaves)
    if live:
        expected = autograd.grad(live, leaves, ones, allow_unused=True)

    constants = case.tensors(grad=False)
    sources = [constants[i] for i in case.differentiable]
    with rg.GradientTape() as outer:
        outer.watch(sources)
        with rg.GradientTape() as inner:
            inner.watch(sources)
            targets = case.call(constants)
        derivatives = inner.gradient(targets, sources, cotangents, unconnected_gradients="zero")
    for a, b in zip(outer.gradient(derivatives, sources), expected, strict=True):
        found, known = (0.0 if g is None else g._array for g in (a, b))
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", COMPLEX, ids=repr)
def test_the_pair_gives_the_gradient_for_any_cotangent(case):
    tensors = case.tensors()
    for place in case.differentiable:
        z = tensors[place]
        if not z.is_complex():
            continue

        def f(z, place=place):
            given = [z if i == place else t for i, t in enumerate(tensors)]
            outputs = case.call(given)
            return rg.cat([out.reshape(-1) for out in outputs])

        s = f(z)
        if not s.numel():  # no cotangents to pull back
            continue
        with warnings.catch_warnings():  # some ops run once per example, and say so
            warnings.simplefilter("ignore", UserWarning)
            matrix = wirtinger.jacobian(f, z, form="augmented").detach()
        (v,) = cotangents_of([s], 2)
        (expected,) = autograd.grad(s, z, v, materialize_grads=True)
        a, b = (m.numpy() for m in wirtinger.from_augmented(matrix))
        found = a.conj().T @ v.numpy() + b.T @ v.numpy().conj()
        np.testing.assert_allclose(found, expected.numpy().ravel(), rtol=1e-9, atol=1e-9)
