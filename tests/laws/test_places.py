"""Laws of ops that compute no element: each stays, goes elsewhere or is added, as records say."""

from __future__ import annotations

import numpy as np
import pytest

from .samples import at_least, samples

SAMPLES = [
    s
    for s in samples()
    if (s.op.keeps or s.op.moves or s.op.adds)
    and not s.complex
    and all(a is not None and a.size for a in (*s.arrays, *s.forward(s.arrays)))
]


def moving(sample):
    """Which inputs the op is linear in."""
    every = range(len(sample.arrays))
    return [
        i
        for i in every
        if sample.op.variadic or sample.op.inputs[i] in sample.op.linear.split(", ")
    ]


def matrix(sample):
    """The op as a matrix: what each element of what it is linear in adds to each of the result."""
    places = moving(sample)
    zeros = [np.zeros_like(a) if i in places else a for i, a in enumerate(sample.arrays)]
    columns = []
    for i in places:
        for one in np.eye(zeros[i].size).reshape(-1, *zeros[i].shape):
            (found,) = sample.forward([*zeros[:i], one, *zeros[i + 1 :]])
            columns.append(found.ravel())
    return np.stack(columns, 1)


KEPT = [s for s in SAMPLES if s.op.keeps and s.forward(s.arrays)[0].shape == s.arrays[0].shape]


@pytest.mark.parametrize("sample", at_least(12, KEPT), ids=repr)
def test_an_op_that_keeps_elements_where_they_are_gives_each_for_itself(sample):
    found = matrix(sample)[:, : sample.arrays[0].size]
    np.testing.assert_array_equal(found, np.diag(np.diag(found)))


@pytest.mark.parametrize("sample", at_least(40, [s for s in SAMPLES if not s.op.keeps]), ids=repr)
def test_an_op_that_moves_elements_gives_them_as_they_are_and_one_that_adds_their_sums(sample):
    found = matrix(sample)
    assert {*found.ravel()} <= {0, 1, 1j}
    repeats = any(a.dtype.kind == "i" for a in sample.arrays)  # two may be put to one place
    assert sample.op.adds or repeats or found.real.sum(1).max() <= 1
