"""Names that rules of other packages take from `optim.optimizer`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.optim import lbfgs, optimizer


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


def loss_and_gradient(x, step, direction):
    at = x + step * direction
    return (at**2 + at**4).sum().item(), 2 * at + 4 * at**3


@pytest.mark.parametrize(
    ("first", "settings", "expected"),  # of PyTorch's
    [
        (1.0, {}, (1.108285911403942, 0.07482077298475934, 4)),
        (1e-4, {"c2": 0.1}, (0.6388348559389897, 0.055767629671107245, 6)),
        (1.0, {"c1": 0.3, "c2": 0.4}, (1.043822050438603, 0.043903590945733144, 5)),
        (1e-4, {"max_ls": 2}, (18.2535464733224, 0.0030300024999999997, 3)),
    ],
)
def test_a_line_is_searched_by_the_private_function_as_in_pytorch(first, settings, expected):
    x = rg.tensor([2.0, -1.0], dtype=rg.float64)
    loss, g = loss_and_gradient(x, 0.0, x)
    found = lbfgs._strong_wolfe(loss_and_gradient, x, first, -g, loss, g, -g.dot(g), **settings)
    assert (found[0], found[2], found[3]) == pytest.approx(expected, rel=1e-12)
    assert found[1].tolist() == loss_and_gradient(x, found[2], -g)[1].tolist()


def test_the_least_place_of_a_cubic_is_found_within_bounds():
    slopes = rg.tensor([-1.0, 4.0], dtype=rg.float64)
    between = lbfgs._cubic_interpolate(0.0, 1.0, slopes[0], 2.0, 3.0, slopes[1])
    assert between == pytest.approx(2 / 3, rel=1e-15)
    assert lbfgs._cubic_interpolate(0.0, 1.0, -1.0, 2.0, 3.0, 4.0, (0.0, 0.5)) == 0.5


@pytest.mark.parametrize("lists", [[], [[]], [[None]], [[rg.ones(1)], [None, None]]])
def test_lists_that_are_not_in_step_are_not_cut(lists):
    with pytest.raises(RuntimeError, match=r"lists of tensors of one length|first list of nested"):
        rg.optim.Optimizer._group_tensors_by_device_and_dtype(lists)
