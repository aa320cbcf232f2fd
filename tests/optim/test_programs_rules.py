"""Names that rules of other packages take from `optim.optimizer` and `utils._foreach_utils`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.optim import optimizer
from retrograd.utils import _foreach_utils


def test_lists_are_cut_by_device_and_dtype_of_the_first():
    a, b, c = rg.zeros(1), rg.ones(1, dtype=rg.float64), rg.ones(2)
    cut = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [None, b, None], []], True)
    assert cut.keys() == {(a.device, rg.float32), (a.device, rg.float64)}
    (params, states, empty), places = cut[a.device, rg.float32]
    assert params[0] is a
    assert params[1] is c
    assert (states, empty, places) == ([None, None], [], [0, 2])
    assert cut[a.device, rg.float64] == ([[b], [b], []], [1])
    assert _foreach_utils._group_tensors_by_device_and_dtype([[a]])[a.device, a.dtype][1] == []


@pytest.mark.parametrize("lists", [[], [[]], [[None]], [[rg.ones(1)], [None, None]]])
def test_lists_that_are_not_in_step_are_not_cut(lists):
    with pytest.raises(RuntimeError, match=r"lists of tensors of one length|first list of nested"):
        rg.optim.Optimizer._group_tensors_by_device_and_dtype(lists)


@pytest.mark.parametrize("differentiable", [False, True])
def test_a_step_of_a_program_is_recorded_only_if_differentiable(differentiable):
    class Asks(rg.optim.Optimizer):
        @optimizer._use_grad_for_differentiable
        def step(self):
            return rg.is_grad_enabled()

    asks = Asks([rg.ones(1, requires_grad=True)], {"differentiable": differentiable})
    assert asks.step() is differentiable


def test_a_rule_that_was_not_told_is_fused_only_where_that_is_asked_for():
    default = optimizer._default_to_fused_or_foreach
    x, n = rg.ones(1), rg.ones(1, dtype=rg.int64)
    assert default([x], False) == (False, False)
    assert default([x, None], False, use_fused=True) == (True, False)
    assert default([x], True, use_fused=True) == (False, False)
    assert default([x, n], False, use_fused=True) == (False, False)


def test_complex_parameters_and_their_state_become_real_views():
    params, state = [rg.ones(1), rg.ones(2, dtype=rg.complex64)], [None, rg.zeros(2) + 1j]
    optimizer._view_as_real(params, state)
    assert [tuple(p.shape) for p in params] == [(1,), (2, 2)]
    assert state[0] is None
    assert state[1].tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_numbers_are_taken_out_of_tensors():
    assert optimizer._get_value(rg.tensor(3.0)) == 3.0
    assert optimizer._get_value(3) == 3


def test_a_wrapper_of_a_rule_may_be_an_optimizer_without_parameters_of_its_own():
    class Wrapper(rg.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            self._patch_step_function()

        def step(self):
            self.inner.step()

    x = rg.ones(1, requires_grad=True)
    x.sum().backward()
    Wrapper(rg.optim.SGD([x], lr=0.5)).step()
    assert x.tolist() == [0.5]
