"""The law ⟨u, jvp(t)⟩ = ⟨vjp(u), t⟩ for several t and u at once, for every op in the registry.

Tangents go through levels of dual numbers within a batch, cotangents through a batched backward
pass: so every op's formulas run on batches, and give what the one Jacobian says.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from retrograd.engine.tensor import new_tensor
from retrograd.func import jvp, vjp, vmap

from .samples import at_least, inner, like, samples

COUNT = 2
CASES = at_least(1900, samples())


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_batched_tangents_are_adjoint_to_batched_cotangents(case):
    places = case.differentiable
    tensors = case.tensors(grad=False)
    chosen = [tensors[i] for i in places]

    def call(*given):
        arguments = list(tensors)
        for i, t in zip(places, given, strict=True):
            arguments[i] = t
        return tuple(case.call(arguments))

    rng = np.random.default_rng(2)
    tangents = drawn([t._array for t in chosen], rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        outputs = vmap(lambda *ts: jvp(call, tuple(chosen), ts)[1])(*tangents)
        values, pull = vjp(call, *chosen)
        cotangents = drawn([t._array for t in values], rng)
        pulled = vmap(lambda *us: pull(us))(*cotangents)
    for k in range(COUNT):
        left = inner(*[[t._array[k] for t in ts] for ts in (cotangents, outputs)])
        right = inner(*[[t._array[k] for t in ts] for ts in (pulled, tangents)])
        assert left == pytest.approx(right, rel=1e-8, abs=1e-8)


def drawn(arrays, rng):
    """A batch of random tensors for each array."""
    rows = [like(arrays, rng) for _ in range(COUNT)]
    return [
        new_tensor(np.stack([np.asarray(x) for x in column])) for column in zip(*rows, strict=True)
    ]
