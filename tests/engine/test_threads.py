"""Threads: nothing is lost, nothing crashes, errors and random numbers cross over whole.

Where threads have to meet, they meet at barriers and events, so that no test depends on time. The
interpreter switches threads as often as it can (`eager`).
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
import traceback
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, locks, modes, nn
from retrograd.autograd.graph import (
    get_gradient_edge,
    increment_version,
    stand_in,
)
from retrograd.engine import graph, tensor
from retrograd.engine.backward import hooks
from retrograd.engine.backward import traversal as backward
from retrograd.engine.registry import OPS

from .together import eager, elsewhere, in_threads, leaf  # noqa: F401 (a fixture)

# -- gradients -----------------------------------------------------------------------------------


def test_eight_threads_of_500_passes_lose_no_contribution():
    x, y = leaf(1, 2, 3), leaf(4, 5, 6)

    def work(number):
        for _ in range(500):
            ((number + 1) * x * y).sum().backward()

    in_threads(8, work)
    total = 500 * sum(range(1, 9))
    assert x.grad.tolist() == [total * v for v in (4, 5, 6)]
    assert y.grad.tolist() == [total * v for v in (1, 2, 3)]


def test_large_gradients_whose_sums_let_other_threads_run_are_exact():
    x = rg.zeros(400_000, dtype=rg.float64, requires_grad=True)
    ones = rg.ones(400_000, dtype=rg.float64)

    def work(number):
        for _ in range(25):
            (x * 1).backward(ones)

    in_threads(4, work)
    assert (x.grad._array == 100).all()


def test_passes_that_create_a_graph_and_others_that_do_not_lose_nothing_together():
    x = leaf(3)

    def work(number):
        for _ in range(100):
            (x * x).sum().backward(create_graph=bool(number % 2))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_threads(6, work)
    assert x.grad.tolist() == [600 * 6]
    x.grad = None


def test_retained_gradients_of_a_shared_part_lose_nothing():
    x = leaf(1, 2)
    shared = x * 1
    shared.retain_grad()

    def work(number):
        for _ in range(100):
            (shared * 2).sum().backward(retain_graph=True)

    in_threads(4, work)
    assert shared.grad.tolist() == x.grad.tolist() == [800, 800]


def test_separate_graphs_run_at_the_same_time():
    """Each pass waits inside its hook for the others: run one by one, they would never end."""
    barrier = threading.Barrier(4, timeout=60)

    def work(number):
        x = leaf(number)
        y = x * x
        y.register_hook(lambda g: (barrier.wait(), None)[1])
        y.sum().backward()
        return x.grad.item()

    assert in_threads(4, work) == [0, 2, 4, 6]


def test_the_first_backward_of_a_graph_wins_and_the_second_raises_the_retain_graph_error():
    """The thread that comes second finds the shared part freed."""
    x = leaf(1, 2)
    shared = x.exp()
    one, other = shared.sum(), (shared * 2).sum()
    one.backward()

    def second():
        with pytest.raises(RuntimeError, match="retain_graph=True"):
            other.backward()

    elsewhere(second)
    np.testing.assert_array_equal(x.grad._array, np.exp([1, 2]))


@pytest.mark.parametrize("how", [{}, {"create_graph": True}], ids=["arrays", "create_graph"])
def test_a_graph_shared_in_part_is_differentiated_rightly_or_raises(how):
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    raised = 0
    for _ in range(40):
        x = leaf(0.5, 0.25)
        parts = Cube.apply(x.exp()).tanh().unbind()
        shared = rg.stack(parts) * x
        expected = autograd.grad(shared.sum(), x, retain_graph=True)[0]._array

        def work(number, shared=shared, x=x):
            try:
                return autograd.grad(shared.sum(), x, retain_graph=False, **how)[0]._array
            except RuntimeError as error:
                return error

        for result in in_threads(4, work):
            if isinstance(result, RuntimeError):
                raised += 1
                assert "retain_graph=True" in str(result)
            else:
                np.testing.assert_allclose(result, expected)
    assert raised


def test_with_retain_graph_a_shared_graph_serves_all_threads():
    x = leaf(0.5, 0.25)
    shared = x.exp().tanh() * x
    shared.sum().backward(retain_graph=True)
    one = x.grad._array.copy()
    x.grad = None
    in_threads(4, lambda _: [shared.sum().backward(retain_graph=True) for _ in range(50)])
    np.testing.assert_allclose(x.grad._array, 200 * one, rtol=1e-12)


def test_needs_input_grad_is_that_of_the_pass_of_the_calling_thread():
    """Each thread wants the gradient for another input of one node."""
    seen = {}
    met = threading.Barrier(2, timeout=60)

    class Product(autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            met.wait()
            wanted = ctx.needs_input_grad
            met.wait()
            seen[threading.current_thread()] = (wanted, ctx.needs_input_grad)
            met.wait()
            return (g if wanted[0] else None), (2 * g if wanted[1] else None)

    a, b = leaf(3), leaf(5)
    out = Product.apply(a, b).sum()
    found = in_threads(2, lambda n: autograd.grad(out, (a, b)[n], retain_graph=True)[0].item())
    assert found == [1, 2]
    assert sorted(seen.values()) == [((False, True),) * 2, ((True, False),) * 2]
    assert out.grad_fn.next_functions[0][0].needs_input_grad == (True, True)


# -- training ------------------------------------------------------------------------------------


def test_hogwild_training_converges():
    """Each thread computes gradients of its own and writes the shared weights without a lock.

    Through `.data`, which has a version of its own: a thread that saved weights does not mind that
    another one changes them.
    """
    inputs = rg.randn(256, 2, dtype=rg.float64)
    targets = inputs[:, :1] * inputs[:, 1:]
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)).double()
    weights = list(model.parameters())

    def loss(rows):
        return ((model(inputs[rows]) - targets[rows]) ** 2).mean()

    def train(number):
        for step in range(400):
            start = 32 * ((4 * step + number) % 8)
            grads = autograd.grad(loss(slice(start, start + 32)), weights)
            for w, g in zip(weights, grads, strict=True):
                w.data.sub_(0.05 * g)

    before = loss(slice(None)).item()
    in_threads(4, train)
    assert loss(slice(None)).item() < 0.1 * before


def test_a_thread_that_writes_weights_another_thread_has_saved_is_found_out():
    x, w = leaf(1), leaf(2)
    y = (x * w).sum()

    def step():
        with rg.no_grad():
            w.sub_(1)

    elsewhere(step)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_hogwild_gradients_of_a_shared_model_add_up():
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    batches = rg.randn(32, 4, 3, dtype=rg.float64)
    for batch in batches:
        model(batch).sum().backward()
    expected = [p.grad._array.copy() for p in model.parameters()]
    model.zero_grad()
    in_threads(8, lambda n: [model(b).sum().backward() for b in batches[4 * n : 4 * n + 4]])
    for p, grad in zip(model.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad._array, grad, rtol=1e-12, atol=1e-14)


# -- what is made on demand ----------------------------------------------------------------------


@pytest.fixture
def meet(monkeypatch):
    """`meet(module, name)`: let the two threads that call that function return from it together."""

    def patch(module, name):
        function, barrier = getattr(module, name), threading.Barrier(2)

        def together(*args):
            result = function(*args)
            with contextlib.suppress(threading.BrokenBarrierError):
                barrier.wait(10)
            return result

        monkeypatch.setattr(module, name, together)

    return patch


def test_the_first_views_of_a_shared_tensor_share_one_version(meet):
    x = rg.zeros(4)
    meet(tensor, "Cell")
    views = in_threads(2, lambda n: x[n:])
    assert views[0]._cell is views[1]._cell is x._cell
    views[0].add_(1)
    assert views[1]._version == x._version == 1


def test_many_threads_make_views_and_all_live_ones_follow_a_write_to_the_base():
    x = leaf(1, 2, 3) * 1
    kept = in_threads(4, lambda _: [x[i % 3 :] for i in range(100)][-3:])
    x.mul_(2)
    for views in kept:
        for view in views:
            assert view.grad_fn.name() == "SliceBackward0"
            assert autograd.grad(view.sum(), x, retain_graph=True)[0].sum().item() == len(view)


def test_two_hooks_registered_at_the_same_time_are_both_called(meet):
    y = leaf(1) * 1
    calls = []
    meet(hooks, "NodeHooks")
    in_threads(2, lambda n: y.register_hook(lambda g: calls.append(n)))
    y.sum().backward()
    assert sorted(calls) == [0, 1]


def test_nodes_are_shown_in_one_class_by_all_threads(meet):
    OPS["atan"].node_types.clear()
    made = [leaf(0.5).atan(), leaf(0.5).atan()]
    meet(OPS["atan"], "members")
    assert len(set(in_threads(2, lambda n: type(made[n].grad_fn)))) == 1


def test_the_context_of_a_function_is_one_object_in_all_threads():
    class Same(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    for _ in range(100):
        y = Same.apply(leaf(1))
        faces = in_threads(4, lambda _, y=y: y.grad_fn)
        assert all(face is faces[0] for face in faces)


def test_requires_grad_asked_for_by_two_threads_gives_one_leaf(meet):
    x = rg.ones(1, dtype=rg.float64)
    meet(tensor, "leaf_node")
    in_threads(2, lambda _: (x.requires_grad_() * 2).sum().backward())
    assert x.grad.tolist() == [4]


def test_an_output_that_two_threads_ask_for_has_one_place_in_the_graph(meet):
    """Two places would each deliver to it, and the node would take the second for the whole."""
    a, b = leaf(1, 2).exp().max(0)
    edge = get_gradient_edge(a)._replace(ownership_token=None)
    del a, b
    meet(graph, "new_node")
    one, other = in_threads(2, lambda _: stand_in(edge))
    assert one._node is other._node


def test_the_first_contributions_to_a_gradient_are_both_kept(monkeypatch):
    """Whoever makes the gradient lets the other thread run first."""
    x = leaf(1)
    make = backward.new_tensor
    monkeypatch.setattr(backward, "new_tensor", lambda g: (time.sleep(0.02), make(g))[1])
    in_threads(2, lambda _: (x * 3).sum().backward())
    assert x.grad.tolist() == [6]


def test_every_write_from_every_thread_is_counted_and_the_newest_known(monkeypatch):
    x = rg.zeros(1)
    number = graph.tick
    monkeypatch.setattr(graph, "tick", lambda: (number(), time.sleep(1e-5))[0])

    def work(_):
        for _ in range(50):
            increment_version(x)

    in_threads(4, work)
    assert x._version == 200
    numbers = [when for when, _ in x._cell.writes]
    assert len(set(numbers)) == len(numbers)
    assert x._cell.last == max(numbers)


def test_without_the_interpreter_lock_numbers_are_drawn_under_a_lock(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    number = locks.counter(1)
    drawn = in_threads(4, lambda _: [number() for _ in range(500)])
    assert sorted(itertools.chain(*drawn)) == list(range(1, 2001))
    assert all(each == sorted(each) for each in drawn)


# -- errors --------------------------------------------------------------------------------------


def nested(depth, fail):
    """A Function whose backward runs a backward pass of the same kind, `depth` times."""

    class Nested(autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.depth == 0:
                fail()
                return g, None
            with rg.enable_grad():
                inner = leaf(1)
                Nested.apply(inner, ctx.depth - 1).sum().backward()
            return inner.grad * g, None

    x = leaf(2)
    Nested.apply(x, depth).sum().backward()
    return x


def the_culprit():
    raise KeyError("deep inside")


def test_an_error_crosses_the_engines_own_threads_with_its_traceback():
    """Deeply nested passes go on in threads of their own."""
    assert nested(70, lambda: None).grad.tolist() == [1]
    with pytest.raises(KeyError, match="deep inside") as caught:
        nested(70, the_culprit)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "the_culprit"
    assert names.count("in_thread") == 2
    assert names[0] == "test_an_error_crosses_the_engines_own_threads_with_its_traceback"


def test_a_users_thread_gets_its_own_error_and_the_others_go_on():
    x = leaf(1)

    def work(number):
        y = x * 1
        if number == 1:
            y.register_hook(lambda g: the_culprit())
        try:
            for _ in range(20):
                y.sum().backward(retain_graph=True)
        except KeyError as error:
            return traceback.extract_tb(error.__traceback__)[-1].name
        return "done"

    assert in_threads(3, work) == ["done", "the_culprit", "done"]
    assert x.grad.tolist() == [40]
    assert modes.special == 0


# -- random numbers ------------------------------------------------------------------------------


def test_threads_that_share_a_generator_share_one_stream():
    g = rg.Generator().manual_seed(3)
    alone = rg.rand(4 * 250, dtype=rg.float64, generator=g).tolist()
    g.manual_seed(3)

    def draw(number):
        return [rg.rand(1, dtype=rg.float64, generator=g).item() for _ in range(250)]

    assert sorted(itertools.chain(*in_threads(4, draw))) == sorted(alone)


def test_the_default_generator_gives_no_number_twice():
    rg.manual_seed(3)
    drawn = in_threads(4, lambda _: [rg.randn(3).sum().item() for _ in range(100)])
    assert len(set(itertools.chain(*drawn))) > 395
