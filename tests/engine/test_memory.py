"""Memory: no reference cycles, nothing kept too long, no recursion however long the graph."""

from __future__ import annotations

import contextlib
import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, nn
from retrograd.utils.checkpoint import checkpoint


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
    refs = refs_to(y, y.grad_fn, y._array)
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
    ref = weakref.ref(c._array)
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
    refs = [ref for ref in refs if ref().name() != "torch::autograd::AccumulateGrad"]
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


# -- many steps: nothing accumulates --------------------------------------------------------------


class Cubed(autograd.Function):
    """x³; saves its input and its output."""

    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 3 * y / x * g


def live():
    """How many array buffers and how many objects of this package's classes are alive.

    NumPy tells `tracemalloc` of each buffer it allocates, in a domain of its own, so the former is
    exact. Tensors, nodes, hooks and the like are in the collector's lists, whether it runs or not.
    """
    domain = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    buffers = len(tracemalloc.take_snapshot().filter_traces([domain]).traces)
    kinds = (kind.__module__ for kind in map(type, gc.get_objects()))
    return buffers, sum(str(module).startswith(("retrograd", __name__)) for module in kinds)


@pytest.fixture
def traced(no_collector):
    """Count from here on; nothing but reference counts frees memory."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


class Hooked(nn.Module):
    """A small network that uses every kind of hook, checkpoints and a custom Function."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.calls = 0
        self.second.register_forward_hook(lambda module, args, out: out * 1)
        self.last.register_full_backward_hook(self.count)
        self.first.weight.register_post_accumulate_grad_hook(self.count)

    def count(self, *_):
        self.calls += 1

    def forward(self, x):
        h = self.first(x).tanh()
        h.retain_grad()
        h.register_hook(lambda g: g * 1)
        h.grad_fn.register_prehook(lambda gs: None)
        h.grad_fn.register_hook(self.count)
        autograd.graph.register_multi_grad_hook((h, h * 1), self.count)
        with autograd.graph.saved_tensors_hooks(lambda t: t._array, rg.from_numpy):
            h = (h * h.exp()).sigmoid()
        h = checkpoint(lambda h: self.second(h).tanh().exp(), h, use_reentrant=False)
        parts = Cubed.apply(h).unbind(1)
        h = rg.stack(parts, 1)
        h[:, 0].mul_(2)
        return self.last(h)


def step(model, optimizer, x, y):
    """One training step with a gradient penalty."""
    optimizer.zero_grad()
    x = x.detach().requires_grad_()
    loss = ((model(x) - y) ** 2).mean()
    (dx,) = autograd.grad(loss, x, create_graph=True)
    (loss + dx.square().sum()).backward()
    reentrant = checkpoint(Cubed.apply, model.last.weight, use_reentrant=True)
    reentrant.sum().backward()
    optimizer.step()


def test_two_hundred_steps_of_training_leave_the_number_of_live_arrays_unchanged(traced):
    model = Hooked().double()
    optimizer = rg.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, y = rg.randn(5, 3, dtype=rg.float64), rg.randn(5, 1, dtype=rg.float64)
    for _ in range(5):  # caches fill, momentum buffers and gradients come to be
        step(model, optimizer, x, y)
    before, calls = live(), model.calls
    for _ in range(200):
        step(model, optimizer, x, y)
    assert live() == before
    assert model.calls == calls // 5 * 205


def test_errors_in_backward_passes_leave_nothing_behind(traced):
    """An exception holds the frames it came through; once it is gone, so is all they held."""

    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("on purpose")

    def work():
        x = leaf(1, 2)
        y = checkpoint(lambda x: Fails.apply(x.exp()), x, use_reentrant=False)
        with contextlib.suppress(ValueError):
            y.sum().backward()
        z = x.exp()
        w = (z * z).sum()
        z.mul_(2)
        with contextlib.suppress(RuntimeError):
            w.backward()

    for _ in range(5):
        work()
    before = live()
    for _ in range(100):
        work()
    assert live() == before


def test_passes_in_threads_leave_nothing_behind(traced):
    x = leaf(1, 2)

    def work():
        y = (x * x).exp()
        y.register_hook(lambda g: g * 1)
        y.sum().backward()

    def run():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run()
    before = live()
    for _ in range(50):
        run()
    assert live() == before
