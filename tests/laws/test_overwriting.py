"""A law of soundness: what a call was given or gave is overwritten, and its backward pass raises
or gives the gradient of the values from before. Never that of others, and it raises only where the
graph saved memory that was written.

The calls are those of `tests/data/ops.json`: functions that are compositions, too, which may hand
an array on without its versions. Records have their own law in `tests/engine/test_writers.py`.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.errors import VersionError

from .samples import at_least, ops_format, stored

STORED = {
    name: [call for call in calls if call[3] and any(g is not None for g in call[3])]
    for name, calls in stored().items()
}
NAMES = [name for name, calls in STORED.items() if calls]


def overwrite(t):
    """Other values, that indices may have, too."""
    kind = t._array.dtype.kind
    if kind == "b":
        t.logical_not_()
    elif kind in "iu":
        t.copy_(t.flip(*range(t.ndim))) if t.ndim and len(t.unique()) > 1 else t.bitwise_xor_(1)
    else:
        t.mul_(1.5).add_(0.25)


@functools.cache
def numbers(shape):
    """An array that differs from place to place."""
    return np.linspace(0.3, 0.9, math.prod(shape)).reshape(shape)


def weights(t):
    """A cotangent for `t` that differs from place to place."""
    return rg.tensor(numbers(tuple(t.shape)), dtype=t.dtype)


def gradients(expression, inputs, place, order):
    """Those of one call, of which tensor number `place` is overwritten, and the call's tensors.

    Of order 2 they are those of the gradients; these and their cotangents may be overwritten, too.
    """
    rg.manual_seed(0)
    given = [
        rg.tensor(np.array(array), dtype=getattr(rg, dtype), requires_grad=needs)
        for dtype, array, needs in inputs
    ]
    leaves = [t for t in given if t.requires_grad]
    used = [t.clone() for t in given]
    value, _ = ops_format.run(rg, expression, used, False)
    tensors = [*used, *ops_format.tensors(value)]
    kept = [t * 1 for t in tensors[len(used) :] if t.requires_grad]
    if order == 2 and kept:
        cotangents = [weights(t).requires_grad_() for t in kept]
        found = grad(kept, leaves, cotangents, create_graph=True, allow_unused=True)
        known = [g for g in found if g is not None and g.requires_grad]
        tensors += [*cotangents, *known]
        kept, leaves = [g * 1 for g in known], [*leaves, *cotangents]
    if place is not None and 0 not in tensors[place].stride():
        overwrite(tensors[place].detach())
    if not kept:
        return [], []
    found = grad(kept, leaves, [weights(t) for t in kept], allow_unused=True)
    return [rg.zeros(()) if g is None else g.numpy() for g in found], tensors


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", at_least(440, NAMES, inner=400))
@pytest.mark.filterwarnings("ignore")
def test_overwritten_tensors_raise_where_they_were_saved_or_do_not_matter(name, order):
    for expression, inputs, _, _ in STORED[name]:
        saved = []
        with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            _, tensors = gradients(expression, inputs, None, order)
        wanted, _ = gradients(expression, inputs, None, order)  # hooks may round otherwise
        for place, written in enumerate(tensors):
            try:
                found, _ = gradients(expression, inputs, place, order)
            except VersionError:
                memory = written._array
                assert not memory.size or any(np.shares_memory(t._array, memory) for t in saved)
                continue
            for mine, before in zip(found, wanted, strict=True):
                if np.array_equal(mine, before):  # as most are; this is quickly seen
                    continue
                np.testing.assert_allclose(mine, before, 1e-6, 1e-9)
