"""A leaf whose dtype changes between the passes: each graph gives gradients of its own dtype."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn

HALF, SINGLE, DOUBLE = rg.float16, rg.float32, rg.float64


@pytest.mark.parametrize(
    ("convert", "target"),
    [
        (nn.Module.half, HALF),
        (nn.Module.double, DOUBLE),
        (lambda module: module.to(DOUBLE), DOUBLE),
        (lambda module: module.type(HALF), HALF),
    ],
)
def test_a_module_converted_between_the_passes_gets_gradients_of_the_forward_s_dtype(
    convert, target
):
    module = nn.Linear(2, 3)
    y = module(rg.tensor([[1.0, 2.0]])).sum()
    convert(module)
    y.backward()
    assert module.weight.dtype is module.bias.dtype is target
    assert module.weight.grad.dtype is module.bias.grad.dtype is SINGLE
    assert module.weight.grad.tolist() == [[1, 2]] * 3
    module.zero_grad()
    module(rg.tensor([[1.0, 2.0]], dtype=target)).sum().backward()
    assert module.weight.grad.dtype is target
    assert module.weight.grad.tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_the_first_gradient_has_its_dtype_and_others_are_added_to_it(first, create_graph):
    w = rg.ones(2, requires_grad=True)
    before = (w * 2).sum()
    w.data = w.data.double()
    sums = [before, (w * 3).sum()]
    sums[first].backward(create_graph=create_graph)
    kept = (SINGLE, DOUBLE)[first]
    assert w.grad.dtype is kept
    sums[1 - first].backward()
    assert w.grad.dtype is kept
    assert w.grad.tolist() == [5, 5]


def test_hooks_see_the_cotangents_of_both_graphs():
    w, seen = rg.ones(2, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g.dtype))
    w.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    before = (w * 2).sum()
    w.data = w.data.double()
    before.backward()
    (w * 3).sum().backward()
    assert seen == [SINGLE, [2, 2], DOUBLE, [5, 5]]


def test_a_leaf_that_became_complex_gets_the_real_gradient_of_the_real_graph():
    w = rg.ones(2, requires_grad=True)
    before = (w * 2).sum()
    w.data = w.data.to(rg.complex64)
    before.backward()
    assert w.grad.dtype is SINGLE
    assert w.grad.tolist() == [2, 2]


def test_the_graph_from_before_does_not_lead_to_the_leaf_as_it_is_now():
    w = rg.ones(2, requires_grad=True)
    before = (w * 2).sum()
    w.data = w.data.double()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        rg.autograd.grad(before, w)


def test_another_array_of_the_same_dtype_changes_nothing():
    w = rg.ones(2, requires_grad=True)
    before = (w * 2).sum()
    w.data = rg.zeros(2)
    (g,) = rg.autograd.grad(before, w)
    assert g.tolist() == [2, 2]
