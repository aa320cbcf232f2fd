"""Threads: modes and hooks stay with their thread, and no lock is held while user code runs.

Where threads have to meet, they meet at barriers and events, so that no test depends on time. The
interpreter switches threads as often as it can (`eager`).
"""

from __future__ import annotations

import threading
import warnings

import pytest

import retrograd as rg
from retrograd import autograd, modes
from retrograd.autograd import forward_ad
from retrograd.autograd.graph import (
    register_multi_grad_hook,
    saved_tensors_hooks,
)
from retrograd.engine.transforms.watch import Watcher

from .together import eager, elsewhere, in_threads, leaf  # noqa: F401 (a fixture)

# -- modes ---------------------------------------------------------------------------------------


def test_grad_and_inference_mode_are_those_of_the_thread():
    with rg.no_grad():
        assert elsewhere(rg.is_grad_enabled)
        assert elsewhere(lambda: leaf(1) * 2).requires_grad
    with rg.inference_mode():
        assert not elsewhere(rg.is_inference_mode_enabled)
        assert not elsewhere(lambda: rg.ones(1)).is_inference()


def test_saved_tensor_hooks_are_those_of_the_thread():
    packed = []

    def pack(x):
        packed.append(threading.get_ident())
        return x

    def work(number):
        x = leaf(1)
        if number:
            for _ in range(50):
                x.exp().sum().backward()
            return 0
        with saved_tensors_hooks(pack, lambda x: x):
            for _ in range(50):
                x.exp().sum().backward()
        return threading.get_ident()

    ident = in_threads(4, work)[0]
    assert packed == [ident] * 50


def test_anomaly_mode_is_that_of_the_thread():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.detect_anomaly():
            assert (leaf(1) * 1)._node.trace is not None
            assert elsewhere(lambda: (leaf(1) * 1)._node.trace) is None
            assert not elsewhere(rg.is_anomaly_enabled)


def test_forward_levels_are_those_of_the_thread():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(rg.tensor(3.0), rg.tensor(1.0))
        assert elsewhere(lambda: modes.state.levels) == ()
        assert elsewhere(lambda: x * x).item() == 9
        assert forward_ad.unpack_dual(x * x).tangent.item() == 6

    def work(number):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(rg.tensor(float(number)), rg.tensor(1.0))
            return forward_ad.unpack_dual((dual * dual).sin().cos() * dual).tangent.item()

    alone = [elsewhere(lambda n=n: work(n)) for n in range(4)]
    for _ in range(20):
        assert in_threads(4, work) == alone


def test_other_threads_modes_change_no_result():
    """Threads that switch modes all the time beside threads that record."""
    x = leaf(1, 2)

    def work(number):
        for _ in range(100):
            if number % 2:
                with rg.no_grad():
                    assert not (x * x).requires_grad
                with rg.inference_mode():
                    assert (x * x).is_inference()
            else:
                (x * x).sum().backward()

    in_threads(4, work)
    assert x.grad.tolist() == [400, 800]
    assert modes.special == 0


def test_a_thread_that_ends_in_another_mode_leaves_nothing_switched_on():
    assert modes.special == 0
    elsewhere(lambda: rg.set_grad_enabled(False))
    assert modes.special == 0
    assert (leaf(1) * 2).requires_grad


def test_watchers_see_the_calls_of_their_thread_only():
    class Count(Watcher):
        seen = 0

        def compute(self, op, arrays, params, proceed):
            self.seen += 1
            return proceed(arrays, params)

    def work(number):
        x = leaf(1)
        count = Count()
        for _ in range(20):
            with count:
                x * x
            x * x
        return count.seen

    assert in_threads(4, work) == [20] * 4
    assert modes.special == 0


# -- user code -----------------------------------------------------------------------------------


def other_thread_uses(x):
    """Let another thread do everything that takes a lock, on the same leaf, and wait for it."""

    def work():
        (x * x).sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (x * x).sum().backward(create_graph=True)
        view = x.detach()[:1]
        view.add_(0)
        (x * 2).register_hook(lambda g: g)
        rg.rand(1)
        with rg.no_grad():
            x.unbind()

    elsewhere(work)


HOOKED = {
    "tensor hook": lambda x, y, f: y.register_hook(lambda g: f()),
    "leaf hook": lambda x, y, f: x.register_hook(lambda g: f()),
    "post-accumulate hook": lambda x, y, f: x.register_post_accumulate_grad_hook(lambda t: f()),
    "node pre-hook": lambda x, y, f: y.grad_fn.register_prehook(lambda g: f()),
    "node hook": lambda x, y, f: y.grad_fn.register_hook(lambda gi, go: f()),
    "multi-grad hook": lambda x, y, f: register_multi_grad_hook((x, y), lambda g: f()),
    "any-grad hook": lambda x, y, f: register_multi_grad_hook((x, y), lambda g: f(), mode="any"),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", HOOKED)
def test_no_lock_is_held_while_a_hook_runs(kind, create_graph):
    """The hook waits for a thread that takes every lock: a lock held here would never be free."""
    x = leaf(1, 2)
    y = x * 3
    calls = []

    def use():
        if not calls:
            calls.append(kind)
            other_thread_uses(x)

    HOOKED[kind](x, y, use)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.sum().backward(create_graph=create_graph)
    assert calls == [kind]
    assert x.grad.tolist() == [3 + 4, 3 + 8]
    x.grad = None


def test_no_lock_is_held_while_a_function_or_a_pack_hook_runs():
    x = leaf(1, 2)
    calls = []

    def use(what, *, of=x):
        calls.append(what)
        other_thread_uses(of)

    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            use("forward")
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            use("backward")
            ctx.saved_tensors
            return 2 * g

    def pack(t):
        use("pack", of=leaf(1, 2))  # what is packed may not be written meanwhile
        return t

    def unpack(t):
        use("unpack")
        return t

    with saved_tensors_hooks(pack, unpack):
        y = Twice.apply(x).sum()
    y.backward()
    assert calls == ["forward", "pack", "backward", "unpack"]


def test_no_lock_is_held_while_a_watcher_sees_the_sum_of_gradients():
    x = leaf(1, 2)
    x.sum().backward()
    seen = []

    class Use(Watcher):
        def made(self, op, inputs, params, outputs):
            if op.name == "add" and not seen:
                seen.append(op.name)
                other_thread_uses(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x.sum()
        with Use():
            y.backward(create_graph=True)
    assert seen == ["add"]
    assert x.grad.tolist() == [1 + 1 + 4, 1 + 1 + 8]
    x.grad = None


def test_hooks_run_in_the_thread_that_called_backward():
    y = leaf(1) * 1
    idents = []
    y.register_hook(lambda g: idents.append(threading.get_ident()))
    assert elsewhere(lambda: (y.sum().backward(), threading.get_ident())[1]) == idents[0]


def test_multi_grad_hooks_tell_passes_in_several_threads_apart():
    x, y = leaf(1), leaf(2)
    calls = []
    register_multi_grad_hook((x, y), lambda grads: calls.append([g.item() for g in grads]))

    def work(number):
        for _ in range(50):
            (number * x + 10 * number * y).sum().backward()

    in_threads(4, work)
    assert sorted(calls) == sorted([[n, 10 * n] for n in range(4)] * 50)


@pytest.mark.parametrize(
    "outer", [{}, {"grad": False}, {"inference": True}, {"anomaly": True}], ids=repr
)
def test_grad_alone_changes_as_with_the_others(outer):
    with modes.Changed(**outer):
        found = []
        for change in (lambda on: modes.swap("grad", on), lambda on: modes.change(grad=on)["grad"]):
            before = change(False)
            inside = modes.state.grad, modes.state.kind, modes.state.deviates, modes.special
            modes.swap_back("grad", before)
            after = modes.state.grad, modes.state.kind, modes.state.deviates, modes.special
            found.append((before, inside, after))
        assert found[0] == found[1]
