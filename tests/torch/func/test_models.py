"""Modules as functions of their state: `make_functional`, its form with buffers, ensembles."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.func import (
    combine_state_for_ensemble,
    grad,
    make_functional,
    make_functional_with_buffers,
    vmap,
)

X = rg.tensor([[3.0, 4.0]])


class Shared(nn.Module):
    """One layer under two names, and a buffer under two names."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = self.a
        self.register_buffer("shift", rg.ones(2))
        self.register_buffer("other", self.shift)

    def forward(self, x):
        return self.b(self.a(x)) + self.shift + self.other


def test_the_function_computes_with_the_values_given_and_the_model_keeps_its_own():
    line = nn.Linear(2, 1)
    before = line.weight.tolist()
    function, _ = make_functional(line)
    assert function((rg.ones(1, 2), rg.ones(1)), X).tolist() == [[8.0]]
    assert line.weight.tolist() == before


def test_parameters_are_leaves_of_their_own():
    line = nn.Linear(2, 1)
    _, (weight, bias) = make_functional(line)
    assert weight is not line.weight
    assert weight.tolist() == line.weight.tolist()
    assert weight.is_leaf
    assert bias.requires_grad


def test_untracked_parameters_require_no_grad_and_the_model_s_still_do():
    line = nn.Linear(2, 1)
    _, params = make_functional(line, disable_autograd_tracking=True)
    assert [p.requires_grad for p in params] == [False, False]
    assert line.weight.requires_grad


def test_what_is_shared_comes_once_and_counts_everywhere():
    function, params, buffers = make_functional_with_buffers(Shared())
    assert (len(params), len(buffers)) == (1, 1)
    found = function((2 * rg.eye(2),), (rg.tensor([1.0, 0.0]),), X)
    assert found.tolist() == [[14.0, 16.0]]


def test_gradients_flow_to_the_parameters_given():
    function, params = make_functional(nn.Linear(2, 1))
    found = grad(lambda own: function(own, X).sum())(params)
    assert [g.tolist() for g in found] == [[[3.0, 4.0]], [1.0]]


def test_running_statistics_are_written_into_the_buffers_given():
    norm = nn.BatchNorm1d(1)
    function, params, buffers = make_functional_with_buffers(norm)
    function(params, buffers, rg.tensor([[10.0], [30.0]]))
    assert buffers[0].tolist() == [2.0]
    assert buffers[2].item() == 1
    assert norm.running_mean.tolist() == [0.0]


def test_make_functional_refuses_a_model_with_buffers():
    with pytest.raises(RuntimeError, match="Please use make_functional_with_buffers"):
        make_functional(nn.BatchNorm1d(1))


def test_another_number_of_parameters_is_refused():
    function, params = make_functional(nn.Linear(2, 1))
    with pytest.raises(ValueError, match=r"got 1 params, expected 2, for \['weight', 'bias'\]"):
        function(params[:1], X)


def test_an_ensemble_runs_under_vmap():
    models = [Shared() for _ in range(3)]
    function, params, buffers = combine_state_for_ensemble(models)
    xs = rg.arange(6.0).reshape(3, 1, 2)
    found = vmap(function)(params, buffers, xs)
    expected = rg.stack([model(x) for model, x in zip(models, xs, strict=True)])
    assert not params[0].requires_grad
    assert rg.allclose(found, expected, rtol=1e-6)
