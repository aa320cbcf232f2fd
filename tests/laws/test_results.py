"""A law of results: one that shares no memory with what the function was given is no view.

A view that is written in place gets its history from its base, so hooks on it from before are lost;
of a result, nobody can see the base.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

from .samples import at_least, ops_format, stored

STORED = at_least(590, stored(), inner=545)


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


NEW = {  # nothing is rearranged, padded or multiplied here, yet the result is new memory
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 1),
    "pixel_shuffle of one pixel": lambda x: F.pixel_shuffle(x[..., :1, :1], 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 1),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 1),
    "unfold": lambda x: F.unfold(x, 1),
    "unfold without a batch": lambda x: F.unfold(x[0], 1),
    "fold": lambda x: F.fold(x.reshape(1, 16, 1), (1, 1), 1),
    "pad": lambda x: F.pad(x, (0, 0)),
    "reflect": lambda x: F.pad(x[0], (0, 0), mode="reflect"),
    "replicate": lambda x: F.pad(x, (0, 0, 0, 0), mode="replicate"),
    "circular": lambda x: F.pad(x, (0, 0, 0, 0), mode="circular"),
    "reflect that cuts": lambda x: F.pad(x[0], (-1, 0), mode="reflect"),
    "replicate that cuts": lambda x: F.pad(x[0], (-1, 1), mode="replicate"),
    "chain_matmul": lambda x: rg.chain_matmul(x[0, 0]),
    "sum_to_size": lambda x: x[0, 0, 0, 0].sum_to_size(()),
    "matrix_power": lambda x: rg.linalg.matrix_power(x[0, 0], 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=1),
}


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_to_a_result_leaves_the_input(name, recorded):
    x = rg.arange(16.0).reshape(1, 4, 2, 2).requires_grad_(recorded)
    base = x * 1
    with rg.set_grad_enabled(recorded):
        result = NEW[name](base)
    assert not result._is_view()
    result.detach().fill_(-1)
    assert rg.equal(base, x)
    assert base._version == 0
