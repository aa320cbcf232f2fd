"""A law of results: one that shares no memory with what the function was given is no view.

A view that is written in place gets its history from its base, so hooks on it from before are lost;
of a result, nobody can see the base.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from .samples import ops_format

STORED = ops_format.read()


def is_given(result, tensors):
    """Whether a result shows memory of one of the tensors."""
    return any(np.may_share_memory(result._array, t._array) for t in tensors)


@pytest.mark.parametrize("name", STORED)
def test_a_result_of_its_own_memory_is_no_view(name):
    for expression, inputs, _, _ in STORED[name]:
        tensors = [rg.tensor(np.array(stored)) for _, stored, _ in inputs]
        for t, (_, _, grad) in zip(tensors, inputs, strict=True):
            t.requires_grad = bool(grad)
        value, _ = ops_format.run(rg, expression, tensors, False)
        views = [t for t in ops_format.tensors(value) if t.numel() and t._is_view()]
        assert all(is_given(t, tensors) for t in views), expression


def test_a_hook_on_a_result_outlives_a_write_to_it():
    x, m = rg.ones(2, requires_grad=True), rg.ones(2, 3)
    y = x @ m
    y.register_hook(lambda g: g * 5)
    y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]
