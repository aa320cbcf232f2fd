"""Memory: no reference cycles, nothing kept too long, no recursion however long the graph."""

from __future__ import annotations

import contextlib
import gc
import weakref

import pytest

import retrograd as rg
from retrograd import autograd


@pytest.fixture
def no_collector():
    """Only reference counts free memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def refs_to(*objects):
    return [weakref.ref(each) for each in objects]


def alive(refs):
    return [ref() is not None for ref in refs]


def graph_of(root):
    """All nodes behind a tensor."""
    nodes = [root.grad_fn]
    for node in nodes:
        for edge, _ in node.next_functions:
            if edge is not None and edge not in nodes:
                nodes.append(edge)
    return nodes


def test_dropping_a_result_frees_its_graph(no_collector):
    x = leaf(1, 2)
    y = (x * x).exp().sum()
    refs = refs_to(*graph_of(y)[:-1])
    assert len(refs) == 3
    del y
    assert alive(refs) == [False] * 3


def test_an_op_that_saves_its_output_closes_no_cycle(no_collector):
    y = leaf(1, 2).exp()
    refs = refs_to(y, y.grad_fn, y.array)
    del y
    assert alive(refs) == [False] * 3


def test_reading_a_saved_output_closes_no_cycle(no_collector):
    y = leaf(1, 2).exp()
    saved = y.grad_fn._saved_result
    refs = refs_to(y, y.grad_fn)
    del y, saved
    assert alive(refs) == [False] * 2


def test_dropping_a_leaf_frees_it_and_its_accumulator(no_collector):
    x = leaf(1, 2)
    y = x * 2
    refs = refs_to(x, y.grad_fn.next_functions[0][0])
    del x, y
    assert alive(refs) == [False] * 2


def test_a_pass_over_a_leaf_that_is_gone_is_no_error(no_collector):
    x, y = leaf(1), leaf(2)
    z = x + y
    del x
    z.backward()
    assert y.grad.tolist() == [1]


def test_saved_values_are_freed_while_the_pass_runs(no_collector):
    x = leaf(1, 2)
    a = x.exp()
    b = a.exp()
    c = b.exp()
    ref = weakref.ref(c.array)
    seen = []
    a.register_hook(lambda g: seen.append(ref() is None))
    loss = c.sum()
    del a, b, c
    loss.backward()
    assert seen == [True]


def test_retained_graphs_and_second_derivatives_are_freed_with_their_tensors(no_collector):
    x = leaf(1, 2)
    y = (x * x).exp().sum()
    (dx,) = autograd.grad(y, x, create_graph=True)
    (ddx,) = autograd.grad(dx.sum(), x, create_graph=True)
    refs = refs_to(*graph_of(ddx), *graph_of(y))
    refs = [ref for ref in refs if ref().name() != "AccumulateGrad"]
    del y, dx, ddx
    assert not any(alive(refs))


def test_hooks_close_no_cycle_by_themselves(no_collector):
    y = leaf(1, 2) * 2
    y.retain_grad()
    y.register_hook(lambda g: g)
    refs = refs_to(y, y.grad_fn)
    del y
    assert alive(refs) == [False] * 2


def test_views_and_their_base_are_freed(no_collector):
    a = leaf(1, 2) * 1
    view = a[:1]
    view.mul_(2)
    refs = refs_to(a, view, a.grad_fn, view.grad_fn)
    del a, view
    assert alive(refs) == [False] * 4


def test_a_failed_pass_keeps_nothing(no_collector):
    x = leaf(1, 2)
    a = x.exp()
    y = (a * a).sum()
    a.mul_(2)
    ref = weakref.ref(y.grad_fn)
    with contextlib.suppress(RuntimeError):
        y.backward()
    del y
    assert ref() is None


def test_outputs_of_an_op_with_several_live_and_die_apart(no_collector):
    x = leaf(1, 2)
    a, b = x.unbind()
    node = weakref.ref(a.grad_fn)
    del a
    assert node() is not None
    b.backward()
    assert x.grad.tolist() == [0, 1]
    del b
    assert node() is None


def test_a_chain_of_a_million_nodes_is_built_differentiated_and_freed(no_collector):
    x = rg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 0.0
    ref = weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1
    del y
    assert ref() is None


def test_a_long_chain_that_saves_values_is_freed_unused(no_collector):
    x = rg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y.exp() * 0.0 + 1.0
    ref = weakref.ref(y.grad_fn)
    del y
    assert ref() is None


def test_a_long_chain_of_custom_functions_does_not_recurse(no_collector):
    class Step(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            (_,) = ctx.saved_tensors
            return g * 1

    x = rg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Step.apply(y)
    y.backward(retain_graph=True)
    ref = weakref.ref(y.grad_fn)
    del y
    assert ref() is None
    assert x.grad.item() == 1
