"""A law of soundness: what a call was given or gave is overwritten, and its backward pass raises
or gives the gradient of the values from before. Never that of others.

The calls are those of `tests/data/ops.json`: functions that are compositions, too, which may hand
an array on without its versions. Records have their own law in `tests/engine/test_writers.py`.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import retrograd as rg
from retrograd.errors import VersionError

from .samples import ops_format

STORED = {
    name: [call for call in calls if call[3] and any(g is not None for g in call[3])]
    for name, calls in ops_format.read().items()
}


def overwrite(t):
    """Other values, that indices may have, too."""
    kind = t._array.dtype.kind
    if kind == "b":
        t.logical_not_()
    elif kind in "iu":
        t.copy_(t.flip(*range(t.ndim))) if t.ndim and len(t.unique()) > 1 else t.bitwise_xor_(1)
    else:
        t.mul_(1.5).add_(0.25)


def gradients(expression, inputs, place):
    """Those of one call, of which tensor number `place` is overwritten; how many tensors it has."""
    rg.manual_seed(0)
    given = [
        rg.tensor(np.array(array), dtype=getattr(rg, dtype), requires_grad=needs)
        for dtype, array, needs in inputs
    ]
    leaves = [t for t in given if t.requires_grad]
    used = [t.clone() for t in given]
    value, _ = ops_format.run(rg, expression, used, False)
    outs = ops_format.tensors(value)
    kept = [t * 1 for t in outs if t.requires_grad]
    tensors = [*used, *outs]
    if place is not None and 0 not in tensors[place].stride():
        overwrite(tensors[place].detach())
    cotangents = [rg.full_like(t, 0.7) for t in kept]
    found = rg.autograd.grad(kept, leaves, cotangents, allow_unused=True) if kept else ()
    return [rg.zeros(()) if g is None else g.numpy() for g in found], len(tensors)


@pytest.mark.parametrize("name", [name for name, calls in STORED.items() if calls])
@pytest.mark.filterwarnings("ignore")
def test_overwritten_tensors_raise_or_do_not_matter(name):
    for expression, inputs, _, _ in STORED[name]:
        wanted, count = gradients(expression, inputs, None)
        for place in range(count):
            with contextlib.suppress(VersionError):
                found, _ = gradients(expression, inputs, place)
                for mine, before in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(mine, before, 1e-6, 1e-9)
