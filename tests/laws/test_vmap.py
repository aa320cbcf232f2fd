"""The law vmap = loop, for every op in the registry: batched, an op gives what single runs give.

One law has every input batched, the other each input alone. Results and the gradients through
them agree to 1e-12 with those of one run per example, which runs no op of a batch but `LOOPS`.
"""

from __future__ import annotations

import warnings
from unittest import mock

import numpy as np
import pytest

from retrograd import autograd
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import new_tensor
from retrograd.engine.transforms import rules
from retrograd.func import vmap

from .samples import at_least, like, sample, samples

SIZE = 3

# Ops that are run once per example in some of the cases.
LOOPS = {
    "cat", "densify", "drawn_normals", "median", "nanmedian", "picked", "pinv", "place_along",
    "put_along", "sampled_mm", "scatter", "segment_amax", "segment_amin", "segment_prod",
    "segment_share", "sparse_mm", "take_along", "unfold", "unreduce", "weighted_rows",
}  # fmt: skip
CASES = at_least(2100, samples(differentiable=False))
every_case = pytest.mark.parametrize("case", CASES, ids=repr)


def stacked(case, batched):
    """The arrays of a case, and stacks of them for several seeds where `batched` says so."""
    others = [sample(case.op, case.example, case.complex, seed) for seed in range(SIZE)]
    return [
        None if array is None
        else np.stack([other.arrays[i] for other in others]) if i in batched
        else array
        for i, array in enumerate(case.arrays)
    ]  # fmt: skip


def compare(case, batched):
    """Run the op in a batch and one by one, forward and backward, and compare."""
    arrays = stacked(case, batched)
    dims = tuple(0 if i in batched else None for i in range(len(arrays)))

    def call(*tensors):
        result = case.op.call(*tensors, **case.params)
        return result if isinstance(result, tuple) else (result,)

    tensors = [None if a is None else new_tensor(np.array(a)) for a in arrays]
    wanted = [tensors[i] for i in case.differentiable]
    for t in wanted:
        t.requires_grad = True
    with warnings.catch_warnings(), mock.patch.object(rules, "_looped", set()) as looped:
        warnings.simplefilter("ignore", UserWarning)
        found = vmap(call, in_dims=dims)(*tensors)
    assert looped <= LOOPS
    single = [
        call(*[t[k] if i in batched else t for i, t in enumerate(tensors)]) for k in range(SIZE)
    ]
    for place, out in enumerate(found):
        expected = np.stack([row[place]._array for row in single])
        assert out._array.dtype == expected.dtype
        np.testing.assert_allclose(out._array, expected, rtol=1e-12, atol=1e-12)
    count = case.op.grad_outputs
    if not wanted or not found[0].requires_grad:
        return
    cotangents = [new_tensor(g) for g in like([t._array for t in found[:count]],
                                              np.random.default_rng(1))]  # fmt: skip
    grads = autograd.grad(found[:count], wanted, cotangents, materialize_grads=True)
    rows = [row[place] for row in single for place in range(len(found[:count]))]
    parts = [g[k] for k in range(SIZE) for g in cotangents]
    one_by_one = autograd.grad(rows, wanted, parts, materialize_grads=True)
    for a, b in zip(grads, one_by_one, strict=True):
        np.testing.assert_allclose(a._array, b._array, rtol=1e-11, atol=1e-11)


@every_case
def test_a_batch_of_all_inputs_equals_a_loop(case):
    compare(case, [i for i, a in enumerate(case.arrays) if a is not None])


@pytest.mark.parametrize("case", [c for c in CASES if len(c.arrays) > 1], ids=repr)
def test_a_batch_of_one_input_equals_a_loop(case):
    for i, a in enumerate(case.arrays):
        if a is not None:
            compare(case, [i])


def test_every_op_says_how_it_is_batched():
    known = ("elementwise", "leading", "dims", None)
    assert all(op.batch in known or callable(op.batch) for op in OPS.values())


VIEWS = at_least(100, [case for case in CASES if case.op.view and case.arrays[0].size > 1])


@pytest.mark.parametrize("case", VIEWS, ids=repr)
def test_a_view_of_an_example_has_the_strides_of_a_view(case):
    """Whether `flatten()` of it is a view, too, and so is written with it, follows from them."""
    seen: list = []

    def strides(*tensors):
        found = case.op.call(*tensors, **case.params)
        made = found if isinstance(found, tuple) else (found,)
        seen.append([[s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in made])
        return made

    arrays = stacked(case, (0,))
    tensors = [new_tensor(a) for a in arrays]
    vmap(strides, in_dims=(0,) + (None,) * (len(arrays) - 1))(*tensors)
    strides(tensors[0][0].clone(), *tensors[1:])
    assert seen[0] == seen[1]
