"""Programs by which somebody made compiled steps differ from eager ones, and what they must do."""

from __future__ import annotations

import abc
import argparse
import array
import collections
import contextlib
import ctypes
import enum
import functools
import gc
import importlib
import io
import itertools
import sys
import threading
import types
import typing
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.capture.program import NATIVE

nn, F = rg.nn, rg.nn.functional
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def both(step, *calls, before=()):
    """Compare a step and its compiled form, over calls; before each, run what is given."""
    compiled = rg.compile(step)
    for number, given in enumerate(calls):
        if number < len(before):
            before[number]()
        rg.manual_seed(number)
        expected = step(*given)
        after = rg.get_rng_state()
        rg.manual_seed(number)
        found = compiled(*given)
        assert bool((rg.get_rng_state() == after).all())
        rg.testing.assert_close(found, expected, equal_nan=True)
        for fact in ("_version", "is_leaf", "requires_grad"):
            assert getattr(found, fact) == getattr(expected, fact)
        assert found.stride() == expected.stride()
    return compiled.compiled


def test_zeros_beside_a_tensor_are_zeros_in_each_call():
    calls = [(rg.randn(2, 3),) for _ in range(3)]
    assert both(lambda x: x.new_zeros(1, 2, 3)[0].mm(x.t()) + 1, *calls).variants
    layer = nn.RNN(3, 2)

    def recurrent(x):
        with rg.no_grad():
            return layer(x)[0] * 1

    both(recurrent, *calls)


def test_tensors_that_share_memory_in_the_first_call_only():
    data = rg.arange(12.0)
    both(lambda a, b: a - b, (data[:4], data[:4]), (data[:4], data[4:8]), (data[4:8], data[8:]))
    x = rg.randn(3)
    both(lambda a, b: a * b, (x, x.detach()), (x, rg.ones(3)))
    kept = rg.randn(4)
    both(lambda a: kept * a + (kept - a), (kept,), (rg.ones(4),), (rg.zeros(4),))


@pytest.mark.parametrize(
    "look",
    [
        lambda w, i: F.embedding(i, w),
        lambda w, i: w.index_select(0, i),
        lambda w, i: w.gather(0, i[:, None]),
        lambda w, i: w[i],
    ],
)
def test_indices_out_of_range_are_refused_in_each_call(look):
    w = rg.randn(3, 2)
    step = rg.compile(lambda i: look(w, i) * 2)
    for _ in range(2):
        step(rg.tensor([0, 2]))
    with pytest.raises((IndexError, RuntimeError)):
        step(rg.tensor([0, 5]))


def test_iterators_from_outside_advance():
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    step = rg.compile(lambda x: x * next(numbers))
    assert [step(rg.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_methods_of_lists_and_dictionaries_that_are_bound_outside():
    kept, settings = [], {"by": 2.0}
    append, get, values = kept.append, settings.get, settings.values()

    @rg.compile
    def noted(x):
        append(1)
        return x * get("by") + sum(values)

    assert [noted(rg.ones(1)).item() for _ in range(2)] == [4.0, 4.0]
    settings["by"] = 3.0
    assert noted(rg.ones(1)).item() == 6.0
    assert len(kept) == 3


class Base:
    value = 1.0

    def scaled(self, x):
        return x * 2

    @property
    def offset(self):
        return self.value


class Derived(Base):
    def scaled(self, x):
        return super().scaled(x) + self.offset


class Other(Derived):
    def scaled(self, x):
        return x * 100


def test_classes_that_change_are_read_anew(monkeypatch):
    thing = Derived()
    step = rg.compile(lambda x: thing.scaled(x))
    assert [step(rg.ones(1)).item() for _ in range(2)] == [3.0, 3.0]
    monkeypatch.setattr(Base, "scaled", lambda self, x: x * 9)
    assert step(rg.ones(1)).item() == 10.0
    monkeypatch.setattr(Base, "offset", property(lambda self: 5.0))
    assert step(rg.ones(1)).item() == 14.0
    thing.__class__ = Other
    assert step(rg.ones(1)).item() == 100.0


def test_partial_functions_are_read_anew():
    shifts = [1.0]
    added = functools.partial(lambda shifts, x, by: x * by + shifts[0], shifts, by=2.0)
    step = rg.compile(lambda x: added(x))
    assert [step(rg.ones(1)).item() for _ in range(2)] == [3.0, 3.0]
    shifts[0], added.keywords["by"] = 5.0, 4.0
    assert step(rg.ones(1)).item() == 9.0


def test_a_tensor_and_a_function_in_a_partial_function_are_those_of_each_call(monkeypatch):
    weight, state = rg.ones(2), {"by": rg.ones(2)}

    def scaled(x, y, more):
        return x * y + more["by"]

    act = functools.partial(scaled, weight, more=state)
    step = rg.compile(lambda x: functools.partial(act, x * 2)(), fullgraph=True)
    assert [step(rg.ones(2)).tolist() for _ in range(2)] == [[3, 3]] * 2
    weight.mul_(3)
    assert step(rg.ones(2)).tolist() == [7, 7]
    state["by"] = rg.zeros(2)
    assert [step(rg.ones(2)).tolist() for _ in range(2)] == [[6, 6]] * 2
    monkeypatch.setattr(scaled, "__code__", (lambda x, y, more: x - y).__code__)
    assert [step(rg.ones(2)).tolist() for _ in range(2)] == [[1, 1]] * 2
    assert step.compiled.reasons == []


@pytest.mark.parametrize("chosen", [
    lambda model: (p for p in model.parameters()),
    lambda model: filter(rg.is_tensor, model.parameters()),
])  # fmt: skip
def test_an_iterator_of_parameters_has_them_in_each_call(chosen):
    model = nn.Linear(3, 2)

    def clipped(norm):
        model.zero_grad()
        (100 * model(rg.ones(4, 3))).sum().backward()
        if norm:
            nn.utils.clip_grad_norm_(chosen(model), 1.0)
        else:
            nn.utils.clip_grad_value_(parameters=chosen(model), clip_value=0.5)

    step = rg.compile(clipped)
    for _ in range(3):
        step(True)
        grads = rg.cat([p.grad.flatten() for p in model.parameters()])
        assert grads.norm().item() == pytest.approx(1.0, rel=1e-4)
        step(False)
        assert all(p.grad.max().item() == 0.5 for p in model.parameters())


def test_what_an_object_has_is_asked_in_each_call():
    thing = types.SimpleNamespace(other=1)
    step = rg.compile(lambda x: x * 2 if hasattr(thing, "double") else x, fullgraph=True)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [1.0] * 2
    thing.double = True
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2.0] * 2
    del thing.double
    assert step(rg.ones(1)).item() == 1.0


def test_distributions_are_made_of_the_arguments_of_each_call():
    def drawn(x):
        return rg.distributions.Bernoulli(logits=x).sample() * 1

    both(drawn, *[(rg.full((3,), value),) for value in (-50.0, 50.0, -50.0)])


def test_functions_that_draw_in_a_way_of_their_own_keep_the_stream():
    both(lambda x: F.rrelu(x, training=True), *[(-rg.ones(3),)] * 3)


def test_functions_that_write_what_they_are_given_are_no_views():
    bad = rg.tensor([float("nan"), float("inf"), 1.0])
    both(lambda x: rg.nan_to_num(x) * 1, (bad,), (rg.ones(3),), (bad,))


def test_results_have_versions_of_their_own():
    w = rg.ones(2, requires_grad=True)
    other = rg.ones(2, requires_grad=True)

    @rg.compile
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    step(rg.ones(2))
    first = step(rg.ones(2)).detach()
    kept = (other * first).sum()
    step(rg.ones(2)).detach().mul_(2)
    kept.backward()
    assert other.grad.tolist() == [2.0, 2.0]

    def written(x):
        made = rg.zeros(2)
        made[0] = x[1]
        return made.add_(1)

    both(written, *[(rg.randn(2),) for _ in range(3)])


def test_memory_that_is_not_aligned():
    room = np.zeros(4 * 3 + 1, np.uint8)
    odd = rg.from_numpy(room[1:].view(np.float32))
    both(lambda x: x * 2 + 1, (rg.ones(3),), (odd,), (rg.ones(3),))
    both(lambda x: x * 2 + 1, (odd,), (rg.ones(3),))


def test_dimensions_of_one_element_may_have_any_stride():
    w = rg.randn(4, 3).requires_grad_()
    x = rg.randn(4, 3)

    def step():
        y = w * x
        y[:, None, 1:] *= 2.0
        (y * y).sum().backward()
        return y.detach() * 1

    both(step, (), (), ())


def test_iterators_of_their_own_and_functions_that_ask_for_the_frame():
    class Itself:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return 2.0

    @rg.compile
    def product(x):
        for value in Itself():
            x = x * value
        return x

    @rg.compile
    def local(x):
        by = 3.0
        return x * locals()["by"] + len(globals()) * 0

    for _ in range(3):
        assert product(rg.ones(1)).item() == 4.0
        assert local(rg.ones(1)).item() == 3.0


def test_parameters_that_a_function_gives_other_memory():
    model = nn.Linear(2, 1)

    @rg.compile
    def shrunk(x):
        vector = nn.utils.parameters_to_vector(model.parameters()).detach()
        nn.utils.vector_to_parameters(vector / 2, model.parameters())
        return model(x).sum()

    nn.init.constant_(model.weight, 8.0)
    for expected in (4.0, 2.0, 1.0, 0.5):
        shrunk(rg.ones(1, 2))
        assert model.weight.tolist() == [[expected, expected]]


def test_a_step_that_writes_through_an_alias_spoils_graphs_from_before():
    w = rg.ones(2, requires_grad=True)

    @rg.compile
    def halved(x):
        w.detach().mul_(x)

    halved(rg.ones(2))
    saved = w.exp() * w
    halved(rg.full((2,), 0.5))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


# -- results with a history ------------------------------------------------------------------------


def test_second_derivatives_of_what_was_written_since_are_refused():
    w = rg.ones(2, requires_grad=True)
    step = rg.compile(lambda x: (w.exp() * x).sum())
    step(rg.ones(2))
    kept = step(rg.ones(2))
    with rg.no_grad():
        w.add_(1)
    (g,) = rg.autograd.grad(kept, w, retain_graph=True)  # of the exponential that was saved
    rg.testing.assert_close(g, rg.full((2,), np.e, dtype=rg.float32))
    with pytest.raises(RuntimeError, match="what it read was written since"):
        rg.autograd.grad(kept, w, create_graph=True)


def test_results_with_graphs_of_their_own_are_gone_through_one_by_one():
    a, b = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    step = rg.compile(lambda x: ((x * a).exp().sum(), (x * b).exp().sum()))
    for _ in range(3):
        a.grad = b.grad = None
        first, second = step(rg.ones(2))
        first.backward()
        assert b.grad is None
        second.backward()
        rg.testing.assert_close(a.grad, b.grad)


def test_what_no_cotangent_reaches_gets_no_gradient():
    w, u = rg.ones(2, requires_grad=True), rg.zeros(2, requires_grad=True)

    def step(x):
        hidden = (x * w).exp()
        return hidden * 1, (hidden.detach() * u.sqrt() + hidden).sum()

    compiled = rg.compile(step)
    for create in (False, False, False, True):
        w.grad = u.grad = None
        hidden, _ = compiled(rg.ones(2))
        g = rg.autograd.grad(hidden.sum(), [w, u], allow_unused=True, create_graph=create)
        assert g[1] is None
        rg.testing.assert_close(g[0].detach(), rg.full((2,), np.e, dtype=rg.float32))
        compiled(rg.ones(2))[1].backward()
        assert bool(u.grad.isinf().all())
    assert compiled.compiled.variants


def test_zeros_for_an_absent_cotangent_are_no_infinities():
    w = rg.zeros(2, requires_grad=True)

    def step(x):
        hidden = (x * w).exp()
        return hidden * 1, (w.sqrt() + hidden).sum()

    compiled = rg.compile(step)
    for _ in range(3):
        w.grad = None
        compiled(rg.ones(2))[0].sum().backward()
        assert w.grad.tolist() == [1.0, 1.0]
    assert compiled.compiled.variants


def test_the_gradient_of_a_result_comes_through_others_too():
    w = rg.zeros(2, requires_grad=True)

    @rg.compile
    def step(x):
        hidden = (x * w).exp()
        return hidden, (hidden * 2).sum()

    for _ in range(3):
        w.grad = None
        hidden, loss = step(rg.ones(2))
        hidden.retain_grad()
        hidden.register_hook(lambda g: g * 10)
        (hidden.sum() + loss).backward()
        assert hidden.grad.tolist() == w.grad.tolist() == [30.0, 30.0]
        hidden, loss = step(rg.ones(2))
        assert rg.autograd.grad(loss, hidden)[0].tolist() == [2.0, 2.0]


class Asks(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx, a, b):
        return (100 if a is None else a) + (1000 if b is None else b * 2)


def test_a_custom_function_may_ask_which_of_its_results_got_a_gradient():
    w = rg.ones(2, requires_grad=True)
    step = rg.compile(lambda x: Asks.apply(x * w))
    for _ in range(3):
        w.grad = None
        step(rg.ones(2))[0].sum().backward()
        assert w.grad.tolist() == [1001.0, 1001.0]


def test_batched_gradients_have_no_history():
    step = rg.compile(lambda x: x.sin() * 2)
    for _ in range(2):
        x = rg.randn(3).requires_grad_()
        (g,) = rg.autograd.grad(step(x), x, rg.ones(4, 3), is_grads_batched=True)
        assert not g.requires_grad


def test_each_result_has_a_node_of_its_own():
    w = rg.ones(2, requires_grad=True)

    def step(x):
        loss = (x * w).sum()
        loss.backward()
        return loss

    compiled = rg.compile(step)
    assert compiled(rg.ones(2)).grad_fn.name() == "SumBackward0"
    first, second = compiled(rg.ones(2)), compiled(rg.ones(2))
    assert first.grad_fn is not second.grad_fn
    first.register_hook(lambda g: pytest.fail("this is the hook of another result"))
    with pytest.raises(RuntimeError, match="second time"):
        (second * 2).backward()


def test_results_that_are_views_of_one_tensor_share_its_version():
    def parts(x):
        y = x * 2
        return y[0], y[1]

    def chunks(x):
        return (x * 2).chunk(2)

    compiled, split = rg.compile(parts), rg.compile(chunks)
    for _ in range(3):
        first, second = compiled(rg.ones(2, 2))
        first.add_(1)
        assert second._version == 1
        with pytest.raises(RuntimeError, match="view"):
            split(rg.ones(4).requires_grad_())[0].add_(1)


# -- what is read ----------------------------------------------------------------------------------


class Listed(list):
    pass


class Keyed(dict):
    pass


Pair = collections.namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("held", "change"),
    [
        (collections.deque([1]), lambda held: held.append(1)),
        (array.array("d", [1.0]), lambda held: held.append(1.0)),
        (bytearray(b"a"), lambda held: held.append(1)),
        (Listed([1]), lambda held: held.append(1)),
        (collections.UserList([1]), lambda held: held.append(1)),
        (collections.OrderedDict(a=1), lambda held: held.update(b=2)),
        (collections.defaultdict(int, a=1), lambda held: held["b"]),
        (collections.UserDict(a=1), lambda held: held.update(b=2)),
        (collections.ChainMap({"a": 1}), lambda held: held.update(b=2)),
        (Keyed(a=1), lambda held: held.update(b=2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_of_every_kind_are_read_anew(held, change):
    def step(x, more=held):
        first = [*held]
        return x * len(held) + len(first) + len([*more])

    compiled = rg.compile(step)
    for _ in range(3):
        assert compiled(rg.ones(1)).item() == 3 * len(held)
        change(held)


def test_what_a_named_tuple_holds_is_read_anew():
    pair = Pair([1.0], {"by": 2.0})

    @rg.compile
    def step(x):
        first, second = pair
        return x * first[0] * second["by"] + pair[0][0]

    for number in range(1, 4):
        pair.first[0] = float(number)
        assert step(rg.ones(1)).item() == 3.0 * number
    assert step.compiled.variants


class Found(NamedTuple):
    value: object

    def doubled(self):
        return self.value * 2


def test_a_method_of_a_named_tuple_that_is_made_within_is_that_of_each_call(monkeypatch):
    step = rg.compile(lambda x: Found(x).doubled(), fullgraph=True)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2.0] * 2
    monkeypatch.setattr(Found, "doubled", lambda self: self.value * 5)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [5.0] * 2


class Noted(Pair):
    made = 0

    def __init__(self, *parts):
        Noted.made += 1


def test_named_tuples_hold_the_values_of_each_call_and_run_the_code_of_their_class():
    @rg.compile(fullgraph=True)
    def step(x):
        return Pair(x.sum().item(), [Found(x * 2)])

    for number in range(3):
        total, (found,) = step(rg.full((2,), float(number)))
        assert type(total) is float
        assert total == 2 * number
        assert type(found) is Found
        assert found.value.tolist() == [2 * number] * 2
    noted = rg.compile(lambda x: Noted(x, x * 2).second)
    for number in range(3):
        assert noted(rg.ones(1)).item() == 2.0
        assert Noted.made == number + 1


def test_defaults_that_are_changed_within_are_changed_in_each_call():
    def step(x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    compiled = rg.compile(step)
    for number in range(1, 4):
        assert compiled(rg.ones(1)).item() == number
        assert len(step.__defaults__[0]) == number
        if number == 2:
            step.__defaults__[0].pop()
            compiled(rg.ones(1))


def test_attributes_of_functions_are_read_anew():
    def step(x):
        return x * step.by

    step.by = 1.0
    compiled = rg.compile(step)
    for by in (1.0, 1.0, 3.0):
        step.by = by
        assert compiled(rg.ones(1)).item() == by


def power(x, n):
    return x if n == 0 else power(x * 2, n - 1)


def test_a_function_that_calls_itself_by_a_global_name():
    compiled = rg.compile(power)
    for n in (3, 3, 4):
        assert compiled(rg.ones(1), n).item() == 2.0**n
    assert len(compiled.compiled.variants) == 2


def test_containers_within_themselves():
    held = [1.0]
    held.append(held)
    compiled = rg.compile(lambda x, given: x * held[0] * given[0])
    for number in range(1, 4):
        held[0] = float(number)
        assert compiled(rg.ones(1), held).item() == number**2


def test_lists_from_outside_are_returned_themselves():
    held = [1, 2]
    compiled = rg.compile(lambda x, given: (x * 2, held, given))
    for _ in range(3):
        given = [rg.ones(1)]
        found = compiled(rg.ones(1), given)
        assert found[1] is held
        assert found[2] is given


def test_seeds_are_read_in_each_call():
    seeded = rg.compile(lambda x: x * (rg.initial_seed() % 7))
    for number in (1, 1, 2):
        rg.manual_seed(number)
        assert seeded(rg.ones(1)).item() == number
    assert seeded.compiled.variants
    fresh = rg.compile(lambda x: x + rg.seed())
    drawn = rg.initial_seed()
    for _ in range(3):
        fresh(rg.zeros(1))
        assert rg.initial_seed() != drawn
        drawn = rg.initial_seed()


def test_what_each_thread_has_of_its_own():
    own = threading.local()
    own.by = 2.0
    step = rg.compile(lambda x: x * own.by)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2.0, 2.0]
    found = []

    def work():
        own.by = 5.0
        found.append(step(rg.ones(1)).item())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [5.0]


def test_texts_of_objects_are_made_in_each_call():
    held = types.SimpleNamespace(by=1)
    formatted = rg.compile(lambda x: x * len(f"{held}"))
    made = rg.compile(lambda x: x * len(str(held)))
    for by in (1, 1, 100):
        held.by = by
        assert formatted(rg.ones(1)).item() == made(rg.ones(1)).item() == len(str(held))


def test_lists_of_layers_are_read_by_places():
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])

    def step(x):
        for number in range(len(layers)):
            x = layers[number](x)
        return x.detach() * 1

    assert both(step, *[(rg.randn(3, 2),) for _ in range(3)]).variants


# -- memory ----------------------------------------------------------------------------------------


def test_arrays_of_numpys_are_shown():
    shown = rg.compile(lambda x: x.numpy())
    there_and_back = rg.compile(lambda x: rg.from_numpy(x.numpy() * 2))
    for _ in range(2):
        assert type(shown(rg.ones(2))) is np.ndarray
        assert there_and_back(rg.ones(2)).tolist() == [2.0, 2.0]


def test_errors_of_the_first_call_name_the_values():
    step = rg.compile(lambda i, w: F.embedding(i, w, max_norm=1.0) * 2)
    for _ in range(2):
        with pytest.raises(IndexError, match="run from 1 to 7"):
            step(rg.tensor([1, 7]), rg.randn(3, 2))


def test_an_argument_that_is_turned_is_turned_in_each_call():
    @rg.compile
    def turned(x):
        x.t_()
        return x * 2

    for _ in range(3):
        x = rg.ones(2, 3)
        assert turned(x).shape == x.shape == (3, 2)


def test_channels_stay_innermost():
    def step(x, w):
        return F.conv2d(x, w)

    x = rg.randn(2, 3, 6, 6).to(memory_format=rg.channels_last)
    both(step, *[(x, rg.randn(4, 3, 3, 3)) for _ in range(3)])


def test_what_a_transformed_function_reads_is_guarded():
    scale = [2.0]
    found = rg.func.vmap(lambda x: x * scale[0])
    calls = [(rg.randn(3, 2),) for _ in range(4)]

    def other():
        scale[0] += 1.0

    assert len(both(lambda x: found(x) + 1, *calls, before=[list, list, other]).variants) == 2


def test_a_gradient_of_a_tensor_made_within_is_set():
    def step(x):
        y = x.detach().requires_grad_()
        y.grad = None
        return y * 2

    both(step, *[(rg.randn(3),) for _ in range(3)])


def leaf_of(x):
    return (x * 2).requires_grad_()


def leaf_beside(x):
    return rg.zeros(3, requires_grad=True)


@pytest.mark.parametrize("made", [leaf_of, leaf_beside])
def test_a_leaf_that_a_step_makes_and_returns_is_a_new_one_in_each_call(made):
    w = rg.ones(3, requires_grad=True)

    def step(x):
        x = made(x)
        (x * w).sum().backward()
        return x

    compiled = rg.compile(step)
    for factor in (1.0, 2.0, 3.0):
        leaf = compiled(rg.full((3,), factor))
        assert leaf.is_leaf
        assert leaf.grad.tolist() == [1.0] * 3
        (leaf * leaf).sum().backward()
        assert leaf.grad.tolist() == (1 + 2 * leaf.detach()).tolist()


@pytest.mark.parametrize("made", [rg.zeros, rg.rand])
def test_what_a_call_makes_and_a_write_gives_a_history(made):
    w = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def step(x):
        out = made(3)
        out.mul_(0.0)
        out[1:] += (w * x)[1:]
        return out

    compiled = both(step, *[(rg.randn(3),) for _ in range(3)])
    assert compiled.variants
    (gradient,) = rg.autograd.grad(compiled(rg.tensor([3.0, 4.0, 5.0])).sum(), w)
    assert gradient.tolist() == [0.0, 4.0, 5.0]


def test_a_variable_that_is_deleted_is_an_error():
    factor = 2.0

    def delete():
        nonlocal factor
        del factor

    step = rg.compile(lambda x: x * factor)
    for _ in range(2):
        step(rg.ones(3))
    delete()
    with pytest.raises(NameError, match="factor"):
        step(rg.ones(3))


def test_nothing_is_warned_of_while_a_replay_is_written():
    step = rg.compile(lambda x: (x * 2).mean() + x.mean(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            step(rg.ones(0, 3))
    assert not caught
    assert step.compiled.variants


def test_the_arguments_of_the_first_call_are_freed():
    step = rg.compile(lambda x: (x * 2).sum())
    for _ in range(2):
        x = rg.ones(3)
        seen = weakref.ref(x)
        step(x)
        del x
        assert seen() is None
    assert step.compiled.variants


@pytest.mark.parametrize("when", ["before", "after", "held"])
@pytest.mark.parametrize(
    "read",
    [
        lambda optimizer, schedule: optimizer.param_groups[0]["lr"],
        lambda optimizer, schedule: schedule.get_last_lr()[0],
        lambda optimizer, schedule: schedule.last_epoch,
    ],
)
def test_what_a_schedule_changes_is_read_anew_in_each_call(read, when):
    def run(compiled):
        x = rg.ones(2, requires_grad=True)
        optimizer = rg.optim.SGD([x], lr=0.5)
        schedule = rg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))

        def step():
            found = [read(optimizer, schedule)] if when == "before" else []
            group = optimizer.param_groups[0] if when == "held" else None
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
            schedule.step()
            if group is not None:
                found.append(group["lr"])
            if when == "after":
                found.append(read(optimizer, schedule))
            return found

        step, found = rg.compile(step) if compiled else step, []
        for _ in range(3):
            optimizer.param_groups[0]["lr"] = 0.5
            found.append(step())
        return found

    assert run(compiled=True) == run(compiled=False)


def test_a_function_around_a_compiled_one_is_called_itself():
    energy = rg.compile(lambda w, x: (w * x).sum())
    w, x = rg.ones(2), rg.randn(3, 2)

    @functools.wraps(energy)  # as transforms do: what they wrap has the attributes of that
    def twice(w, x):
        return 2 * energy(w, x)

    for outer in (rg.func.vmap(rg.func.grad(energy), (None, 0)), twice):
        step = rg.compile(lambda w, x, outer=outer: outer(w, x) * 1)
        for _ in range(3):
            rg.testing.assert_close(step(w, x), outer(w, x))


# -- what a second round of them found -------------------------------------------------------------


def test_builtins_that_are_replaced(monkeypatch):
    step = rg.compile(lambda x: x * abs(-2))
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2.0, 2.0]
    monkeypatch.setattr("builtins.abs", lambda value: 7)
    assert step(rg.ones(1)).item() == 7.0


def test_warnings_are_given_in_each_call():
    step = rg.compile(lambda x, y: F.mse_loss(x, y) * 2)
    for _ in range(3):
        with pytest.warns(UserWarning, match="target size"):
            step(rg.ones(3, 1), rg.ones(3))


def warns_of_sizes(x):
    later = x * 2
    return F.mse_loss(x, later[:, :1])


def warns_twice(x):
    cube = x.reshape(2, 2, 1).T
    return cube.std(
        0, correction=3
    ).sum() + F.mse_loss(x, x[:1])  # fmt: skip


@pytest.mark.parametrize("step", [warns_of_sizes, warns_twice])
def test_warnings_name_the_lines_that_they_name_without_compiling(step):
    named = []
    for called in (step, rg.compile(step)):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            for _ in range(4):
                called(rg.ones(2, 2))
        named.append([(w.filename, w.lineno, str(w.message)) for w in given])
    assert named[0] == named[1]
    assert {filename for filename, *_ in named[0]} == {__file__}


def test_a_function_that_an_earlier_call_has_stored():
    factor, stored = [2.0], {}

    @rg.compile
    def step(x):
        def scaled(x):
            return x * factor[0]

        if "scaled" not in stored:
            stored["scaled"] = scaled
        return stored["scaled"](x) + 1

    assert [step(rg.ones(1)).item() for _ in range(4)] == [3.0] * 4
    factor[0] = 5.0
    assert step(rg.ones(1)).item() == 6.0


class Kind(enum.Enum):
    FIRST = 1
    SECOND = 2


def test_keys_of_dictionaries_are_of_the_same_kind():
    def step(values):
        total = 0
        for key, value in values.items():
            total = total + value * key
        return total

    x = rg.tensor([2, 3])
    calls = [({key: x},) for key in (1, 1, True, 1.0, 1, 1 << 40)]
    assert len(both(step, *calls).variants) == 3
    step = rg.compile(lambda values: values[Kind.FIRST] - values[Kind.SECOND] * 2)
    for _ in range(2):
        assert step({Kind.FIRST: x, Kind.SECOND: x}).tolist() == [-2, -3]


def test_a_number_that_is_too_long_to_be_a_text():
    long = 10**5000
    both(lambda x, n: x * (n % 7), *[(rg.ones(2), n) for n in (long, long, long + 1)])


@pytest.mark.parametrize("by", [lambda x, n: x // n, rg.remainder])
def test_a_division_by_zero_of_which_nobody_needs_the_result(by):
    def divided(x, n):
        by(n, n - 7)
        return x * 2

    step = rg.compile(divided)
    for _ in range(2):
        step(rg.ones(2), rg.tensor([1, 2]))
    assert step.compiled.variants
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        step(rg.ones(2), rg.tensor([1, 7]))


def test_a_view_of_a_gradient_counts_its_writes():
    w = rg.ones(3, requires_grad=True)

    @rg.compile
    def step(x):
        w.grad = None
        (w * x).exp().sum().backward()
        return w.grad[0]

    for _ in range(3):
        first = step(rg.zeros(3))
        w.grad.mul_(2)
        assert (first.item(), first._version) == (0.0, w.grad._version)


def test_views_that_are_gone_do_not_matter():
    w = rg.zeros(3)

    @rg.compile(fullgraph=True)
    def step(x):
        first = w[0].item()
        w.add_(x)
        return w * 2, first

    for i in range(3):
        found, first = step(rg.ones(3))
        assert (found.tolist(), first, w[0].item()) == ([2.0 + 2 * i] * 3, i, i + 1)
    assert len(step.compiled.variants) == 1


def test_errors_of_the_first_call_tell_of_nothing_else():
    def failing(x):
        raise ValueError(sorted(locals()))

    step = rg.compile(lambda x: failing(x) * 2)
    for _ in range(2):
        with pytest.raises(ValueError, match="x") as caught:
            step(rg.ones(2))
        assert caught.value.__context__ is None


class Row:
    def __init__(self):
        self.kept = [2.0, 3.0]

    def __getitem__(self, place):
        return self.kept[place]

    def __iter__(self):
        return iter(self.kept)

    def __len__(self):
        return len(self.kept)


def looped(row, x):
    total = 0
    for each in row:
        total = total + x * each
    return total


def indexed(row, x):
    return x * row[0] + row[1]


def counted(row, x):
    return x * len(row)


@pytest.mark.parametrize("read", [looped, indexed, counted])
def test_methods_that_python_looks_up_in_classes(read, monkeypatch):
    row = Row()

    def other():
        monkeypatch.setattr(Row, "__getitem__", lambda self, place: 5.0 + place)
        monkeypatch.setattr(Row, "__iter__", lambda self: iter([7.0]))
        monkeypatch.setattr(Row, "__len__", lambda self: 9)

    both(lambda x: read(row, x), *[(rg.randn(3),) for _ in range(4)], before=[list, list, other])


@pytest.mark.parametrize("holds", [nn.Sequential, nn.ModuleList])
def test_the_truth_of_a_module_is_its_length(holds):
    inner = holds()

    def step(x):
        return x * 2 if inner else x * 3 + (1 if not inner else 0)

    calls = [(rg.randn(3),) for _ in range(4)]
    grown = both(step, *calls, before=[list, list, lambda: inner.append(nn.Tanh())])
    assert len(grown.variants) == 2


def test_what_a_dictionary_of_modules_contains():
    inner = nn.ModuleDict()

    def step(x):
        return x * 2 if "act" in inner else x * 3

    both(
        step,
        *[(rg.randn(3),) for _ in range(4)],
        before=[list, list, lambda: inner.update({"act": nn.Tanh()})],
    )


BACK, ON = rg.tensor([5, 4, 3, 2, 1, 0]), rg.tensor([1, 2, 3])


def rows(y):
    y[1:].copy_(y[:-1])


def sums(y):
    y[1:].add_(y[:-1])
    rg.add(y[1:], y[:-1], out=y[:-1])


def flipped(y):
    y[:] = y.flip(0)
    y[::2] = y[:3]


def indexed(y):
    y[ON] = y[:3]


def indexed_by_itself(y):
    y[BACK] = y


def index_add(y):
    y.index_add_(0, ON, y[:3])


def index_add_of_itself(y):
    y.index_add_(0, BACK, y)


def scattered(y):
    y.scatter_(0, ON, y[:3])


def scattered_from_itself(y):
    y.scatter_(0, BACK, y)


def put(y):
    y.put_(BACK, y, accumulate=True)


@pytest.mark.parametrize(
    "write",
    [
        *(rows, sums, flipped, indexed, indexed_by_itself, index_add, index_add_of_itself),
        *(scattered, scattered_from_itself, put),
    ],
)
def test_a_write_from_memory_that_it_overwrites(write):
    def step(x):
        y = x * 2
        write(y)
        return y * 3 + 1

    assert both(step, *[(rg.arange(6.0) + n,) for n in range(3)]).variants


@pytest.mark.parametrize("extremum", [rg.amax, rg.amin])
def test_equal_extrema_share_a_gradient_in_each_call(extremum):
    w = rg.ones(3, 2).requires_grad_()

    def step(x):
        w.grad = None
        extremum(x * w, 0).sum().backward()

    compiled = rg.compile(step)
    for x in map(
        rg.tensor, ([[5.0, 7.0]] * 3, [[1.0, 7.0], [5.0, 8.0], [5.0, 7.0]], [[1.0, 2.0]] * 3)
    ):
        step(x)
        expected = w.grad
        compiled(x)
        assert w.grad.tolist() == expected.tolist()


class Factors:
    factor = 2.0

    @classmethod
    def scaled(cls, x):
        return x * cls.factor

    @staticmethod
    def shifted(x):
        return x + 1


class Own:
    def __get__(self, owner, kind):
        return 3.0


def test_methods_of_a_class_are_read_from_the_class(monkeypatch):
    step = lambda x: Factors.scaled(x) + Factors.shifted(x)
    compiled = rg.compile(step)
    assert [compiled(rg.tensor(n)).item() for n in (1.0, 2.0)] == [4.0, 7.0]
    assert compiled.compiled.variants
    monkeypatch.setattr(Factors, "factor", 4.0)
    assert compiled(rg.tensor(1.0)).item() == 6.0
    monkeypatch.setattr(Factors, "scaled", classmethod(lambda cls, x: x * 10))
    assert compiled(rg.tensor(1.0)).item() == 12.0
    monkeypatch.setattr(Factors, "shifted", staticmethod(lambda x: x))
    assert compiled(rg.tensor(1.0)).item() == 11.0
    monkeypatch.setattr(Factors, "factor", Own())
    look = rg.compile(lambda x: x * Factors.factor)
    assert [look(rg.tensor(n)).item() for n in (1.0, 2.0)] == [3.0, 6.0]


def test_memory_that_a_step_has_read_may_still_move():
    kept = rg.ones(2)
    step = rg.compile(lambda x: (x * kept.sum()).exp())
    assert step(rg.zeros(1)).item() == step(rg.zeros(1)).item() == 1.0
    first = weakref.ref(kept._array)
    kept.resize_(4).fill_(0.25)
    assert first() is None
    assert step(rg.ones(1)).item() == rg.ones(1).exp().item()


def test_a_recording_does_not_change_how_gradients_lie_in_memory():
    w, seen = rg.ones(128).requires_grad_(), []

    def step(x):
        y = x * w
        y.register_hook(lambda g: seen.append(g.stride()))
        y.sum(0).sum().backward()

    for call in (step, rg.compile(step)):
        call(rg.ones(200, 128))
    assert seen == [(128, 1)] * 2


def after_draws(buffer, x):
    kept = rg.bernoulli(rg.sigmoid(x))
    if kept.sum() > 8:
        return (kept * x).sum()
    return (kept + x).sum()


def after_a_write_to_a_view(buffer, x):
    y = x * 1
    even = y.view(-1)[::2]
    buffer.add_(1)
    even.mul_(-1.0)
    if y.sum() > 0:
        return y.sum()
    return y.sum() * 2


def after_a_write_to_a_row(buffer, x):
    buffer.mul_(0.5)
    y = x.clone()
    y[0] = x[1]
    return F.nll_loss(y, y.abs().argmin(1))  # which looks whether its targets are in bounds


@pytest.mark.parametrize("step", [after_draws, after_a_write_to_a_view, after_a_write_to_a_row])
def test_a_branch_on_a_value_that_was_written_or_drawn_after_a_change(step):
    buffers = rg.zeros(4), rg.zeros(4)
    compiled = rg.compile(step)
    for number in range(12):
        x = rg.randn(4, 4)
        found = []
        for function, buffer in zip((step, compiled), buffers, strict=True):
            rg.manual_seed(number)
            found.append((function(buffer, x), rg.rand(2)))
        rg.testing.assert_close(*found)
        assert bool((buffers[0] == buffers[1]).all())


def test_a_recording_lets_go_of_what_was_written():
    step = rg.compile(lambda x: x.mul_(2.0).sum())
    x = rg.ones(5)
    memory = weakref.ref(x._array)
    gc.disable()
    try:
        assert step(x).item() == 10.0
        del x
        assert memory() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 2)])
def test_a_diagonal_is_filled_in_each_call(shape):
    compiled = rg.compile(lambda x: (x * 2).fill_diagonal_(5.0, wrap=True))
    for k in range(3):
        x = rg.full(shape, float(k))
        found, expected = compiled(x), (x * 2).fill_diagonal_(5.0, wrap=True)
        assert found.tolist() == expected.tolist()
        assert found._version == expected._version == 1
    assert not compiled.compiled.reasons


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("of_all", [False, True])
def test_hooks_of_an_optimizer_that_change_what_the_step_reads(late, of_all):
    layer = nn.Linear(2, 1)
    optimizer = rg.optim.SGD(layer.parameters(), lr=0.1)
    state = types.SimpleNamespace(scale=1.0)
    hooks = rg.optim.optimizer

    def toggle(*given):
        state.scale = 3.0 - state.scale

    def add():
        if of_all:
            return hooks.register_optimizer_step_post_hook(toggle)
        return optimizer.register_step_post_hook(toggle)

    @rg.compile
    def step(x):
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()
        return x * state.scale

    if late:
        assert [step(rg.ones(1, 2))[0, 0].item() for _ in range(2)] == [1.0, 1.0]
        assert step.compiled.variants
    handle = add()
    assert [step(rg.ones(1, 2))[0, 0].item() for _ in range(4)] == [2.0, 1.0, 2.0, 1.0]
    handle.remove()
    assert step(rg.ones(1, 2))[0, 0].item() == 1.0
    assert len(step.compiled.variants) == late


class Decaying(rg.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 1.0})
        self.steps = 0

    def step(self):
        self.steps += 1
        for group in self.param_groups:
            group["lr"] /= 2


@pytest.mark.parametrize(
    "read",
    [
        lambda optimizer, group: optimizer.steps,
        lambda optimizer, group: optimizer.param_groups[0]["lr"],
        lambda optimizer, group: group["lr"],
        lambda optimizer, group: 2.0,
    ],
    ids=["attribute", "groups", "group", "nothing"],
)
def test_what_a_users_optimizer_changes_is_that_of_each_call(read):
    weight = rg.ones(2, requires_grad=True)
    optimizer = Decaying([weight])
    group = optimizer.param_groups[0]

    def by_number(x):
        optimizer.step()
        return x * read(optimizer, group)

    step = rg.compile(by_number)
    for number in range(1, 4):
        found = step(rg.ones(2))[0].item()
        assert optimizer.steps == number
        assert found == read(optimizer, group)


def test_branches_that_follow_a_write_keep_their_order_in_each_recording():
    count = rg.zeros(1)

    def step(x, y):
        count.add_(1)
        if x.sum() > 0:
            if y.sum() > 0:
                return x * 2
            return x * 3
        return x * 4

    compiled = rg.compile(step)
    ways = {(1, 1): 2, (-1, 1): 4, (1, -1): 3, (-1, -1): 4}
    for _ in range(3):
        for (a, b), factor in ways.items():
            found = compiled(rg.tensor([float(a)]), rg.tensor([float(b)]))
            assert found.item() == factor * a
    assert count.item() == 12
    assert len(compiled.compiled.variants) == 3


@pytest.mark.parametrize(
    "step",
    [
        lambda x: x * x.sum().item().real,
        lambda x: x * (x + 1j).sum().item().imag + x * (x + 1j).sum().item().real,
        lambda x: x * x.long().sum().item().numerator,
        lambda x: x * 2 if x.sum().item().__class__ is float else x,
    ],
)
def test_attributes_of_numbers_that_a_step_asks_for_are_those_of_each_call(step):
    compiled = rg.compile(step)
    for k in range(1, 4):
        x = rg.tensor([float(k), 1.0])
        np.testing.assert_array_equal(compiled(x), step(x))


def test_a_compiled_step_goes_backward_through_what_a_compiled_function_gave():
    weight = rg.nn.Parameter(rg.tensor([0.5, 0.5]))

    def model(x):
        return (x.sin() * weight).exp() * rg.rand(2).clamp(1, 1)

    def step(loss):
        loss.sum().backward()
        return loss.detach() * 2

    results, gradients = [], []
    for one, two in ((model, step), (rg.compile(model), rg.compile(step))):
        weight.grad = None
        results.append([two(one(rg.tensor([float(k), 1.0]))) for k in range(3)])
        gradients.append(weight.grad)
    np.testing.assert_allclose(*gradients, rtol=1e-6)
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


class Counting:
    """An object that counts how often each of its methods runs."""

    def __init__(self):
        self.counts = collections.Counter()

    @property
    def factor(self):
        self.counts["factor"] += 1
        return 2.0

    @property
    def absent(self):
        self.counts["absent"] += 1
        raise AttributeError("absent")

    def __getattr__(self, name):
        if name == "counts" or name.startswith("__"):
            raise AttributeError(name)
        self.counts[name] += 1
        return 3.0

    def __iter__(self):
        self.counts["iter"] += 1
        return itertools.chain([1.0], [2.0])

    def __reversed__(self):
        self.counts["reversed"] += 1
        return iter([4.0, 5.0])

    def __call__(self, x):
        self.counts["call"] += 1
        return x * 7.0

    def keys(self):
        self.counts["keys"] += 1
        return ["a", "b"]

    def __getitem__(self, key):
        self.counts["item"] += 1
        return 6.0


def looped_once(x, held):
    for v in held:
        x = x * v
    return x


def keyed_once(x, held):
    return x * dict(held)["a"]


@pytest.mark.parametrize(
    "step",
    [
        looped_once, keyed_once,
        lambda x, held: x * held.factor,
        lambda x, held: x * getattr(held, "factor", 1.0),
        lambda x, held: x * 2 if hasattr(held, "factor") else x,
        lambda x, held: x * getattr(held, "absent", 1.0),
        lambda x, held: x * getattr(held, "other", 1.0),
        lambda x, held: x * held.other,
        lambda x, held: x * held.absent,
        lambda x, held: held(x),
        lambda x, held: x * sum(held) + max(held),
        lambda x, held: x * sum(reversed(held)),
        lambda x, held: x * sum([*held]),
        lambda x, held: x * 2 if 1.0 in held else x,
    ],
)  # fmt: skip
def test_methods_of_an_object_run_once_in_each_call(step):
    counts = []
    for one in (step, rg.compile(step)):
        held = Counting()
        results = [one(rg.ones(2), held).tolist() for _ in range(4)]
        counts.append((results, held.counts))
    assert counts[0] == counts[1]


def test_a_step_that_goes_through_a_loader_draws_as_often():
    data = rg.utils.data.TensorDataset(rg.arange(6.0))
    loader = rg.utils.data.DataLoader(data, batch_size=2, shuffle=True)

    def step():
        return [batch * 2 for (batch,) in loader]

    found = []
    for one in (step, rg.compile(step)):
        rg.manual_seed(0)
        found.append([[batch.tolist() for batch in one()] for _ in range(4)])
    assert found[0] == found[1]


IMPORTED = """
import retrograd as rg
told = []
class Holder:
    def __contains__(self, key):
        told.append(key)
        return True
holder = Holder()
@rg.compile
def step(x):
    return x * 2 if 1 in holder else x
for _ in range(4):
    step(rg.ones(3))
"""
GROUPS = """
def step(x, index):
    try:
        print("tried")
        x = x[index]
    except* IndexError:
        print("caught")
    return x + 1
"""


def imported(text, tmp_path, monkeypatch):
    """A module of a text."""
    (tmp_path / "made_by_a_test.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_by_a_test", raising=False)
    return importlib.import_module("made_by_a_test")


def test_steps_of_a_module_that_is_being_imported(tmp_path, monkeypatch):
    assert imported(IMPORTED, tmp_path, monkeypatch).told == [1] * 4


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there is no except*")
def test_groups_of_exceptions_are_caught_in_each_call(tmp_path, monkeypatch):
    step, found = imported(GROUPS, tmp_path, monkeypatch).step, []
    for one in (step, rg.compile(step)):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            results = [one(rg.arange(3.0), rg.tensor([i])).tolist() for i in (0, 1, 2, 7, 1)]
        found.append((results, out.getvalue()))
    assert found[0] == found[1]


def test_overlapping_windows_are_written_from_the_first_call_on():
    def step(x, mask):
        x = x * 1
        with rg.no_grad():
            x.unfold(0, 2, 1).masked_fill_(mask, 9.0)
        return x

    compiled = rg.compile(step)
    mask = rg.tensor([[False, True], [False, False], [False, False], [False, False]])
    for _ in range(3):
        assert compiled(rg.arange(5.0), mask).tolist() == [0.0, 9.0, 2.0, 3.0, 4.0]
    assert not compiled.compiled.reasons


def test_a_write_that_is_not_seen_ends_the_recording_beside_other_calls_too():
    mean, var, weight = rg.zeros(3), rg.ones(3), rg.ones(3, requires_grad=True)

    @rg.compile
    def step(x):
        return rg.nn.functional.instance_norm(x, mean, var, weight) + rg.ones(2)

    x, u = rg.arange(12.0).reshape(2, 3, 2), rg.ones(3, requires_grad=True)
    for calls in (1, 2, 3):
        step(x)
        assert mean._version == var._version == calls
    loss = (u * mean).sum()
    step(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_a_class_is_counted_among_is_asked_in_each_call():
    class Kind(abc.ABC): ...  # noqa: B024

    class Above:
        pass

    @typing.runtime_checkable
    class Named(typing.Protocol):
        name: str

    class Held: ...

    class Other(Above): ...

    held = Held()

    def step(x):
        found = x * 2 if isinstance(held, Kind) else x
        found = found + (10 if isinstance(held, Named) else 0)
        found = found + (100 if type(held) is Held else 0)
        found = found + (1000 if callable(held) else 0)
        return found + (10000 if issubclass(type(held), Above) else 0)

    changes = [
        lambda: Kind.register(Held),
        lambda: setattr(held, "name", "a"),
        lambda: setattr(Held, "__call__", lambda self: 0),
        lambda: setattr(held, "__class__", Other),
    ]
    compiled, found = rg.compile(step), []
    for change in [lambda: None, *changes]:
        change()
        found.append(compiled(rg.ones(1)).item())
        assert found[-1] == compiled(rg.ones(1)).item() == step(rg.ones(1)).item()
    assert found == [101.0, 102.0, 112.0, 1112.0, 10011.0]
    assert len(compiled.compiled.variants) == 5, compiled.compiled.reasons


def test_results_lie_in_memory_as_without_compiling():
    def step(x):
        x = x[None, None]
        inside = x.clone(memory_format=rg.channels_last)
        return (
            inside,
            inside * 2,
            x.transpose(2, 3) + 1,
            x.expand(2, 1, 6, 3) * 2,
            x.mT[:, :, :0] * 1,
        )

    x, compiled = rg.randn(6, 3), rg.compile(step)
    expected = [t.stride() for t in step(x)]
    for _ in range(3):
        assert [t.stride() for t in compiled(x)] == expected
    assert len(compiled.compiled.variants) == 1, compiled.compiled.reasons


def test_an_error_of_a_call_that_goes_another_way_has_no_other_behind_it():
    @rg.compile
    def step(x):
        assert x.sum() < 10, "too much"
        return x * 2

    for value in (1.0, 2.0):
        step(rg.full((3,), value))
    with pytest.raises(AssertionError, match="too much") as raised:
        step(rg.full((3,), 9.0))
    assert raised.value.__context__ is None
    assert len(step.compiled.variants) == 1, step.compiled.reasons


class Word:
    """An object whose class has no operators at first."""


def of_array():
    held = (ctypes.c_double * 2)(1.0, 2.0)

    def step(x):
        return x * sum(held)

    return step, [lambda: held.__setitem__(0, 7.0)]


def of_names_in_settings():
    held = argparse.Namespace(rate=2.0)

    def step(x):
        return x * 2 if "decay" in held else x

    return step, [lambda: setattr(held, "decay", 1.0)]


def of_equal_settings():
    one, two = types.SimpleNamespace(a=1), types.SimpleNamespace(a=1)

    def step(x):
        return x * 2 if one == two else x

    return step, [lambda: setattr(two, "a", 2)]


def of_cells():
    value = 2.0
    (cell,) = (lambda: value).__closure__

    def step(x):
        return x * cell.cell_contents

    def change():
        nonlocal value
        value = 5.0

    return step, [change]


def of_exceptions():
    error = ValueError(3.0)
    error.scale = 2.0

    def step(x):
        return x * error.scale + error.args[0]

    return step, [lambda: setattr(error, "scale", 4.0), lambda: setattr(error, "args", (8.0,))]


def of_numbers_in_this_package():
    rg.added_for_a_test = 2.0

    def step(x):
        return x * rg.added_for_a_test

    return step, [
        lambda: setattr(rg, "added_for_a_test", 3.0),
        lambda: delattr(rg, "added_for_a_test"),
    ]


def of_operators_that_a_class_gets():
    one, two = Word(), Word()

    def step(x):
        return x * 2 if one == two else x

    return step, [
        lambda: setattr(Word, "__eq__", lambda self, other: True),
        lambda: delattr(Word, "__eq__"),
    ]


PERCENT, FIELD = "%s", "{0.a}"


def by_percent(held):
    return PERCENT % held


def by_percent_of_several(held):
    return PERCENT % (held,)


def by_format(held):
    return FIELD.format(held)


def by_map(held):
    return "".join(map(str, [held]))


def of_texts(text):
    held = types.SimpleNamespace(a=1)

    def step(x):
        return x * len(text(held))

    return step, [lambda: setattr(held, "a", 1000)]


TEXTS = [
    functools.partial(of_texts, text)
    for text in (by_percent, by_percent_of_several, by_format, by_map)
]


@pytest.mark.parametrize(
    "program",
    [
        of_array, of_names_in_settings, of_equal_settings, of_cells, of_exceptions,
        of_numbers_in_this_package, of_operators_that_a_class_gets, *TEXTS,
    ],
)  # fmt: skip
def test_what_is_read_without_an_attribute_of_an_object_of_the_users(program):
    def given(called):
        try:
            return called(rg.ones(2)).tolist()
        except AttributeError as error:
            return str(error)

    step, changes = program()
    compiled, seen = rg.compile(step), []
    for change in [lambda: None, *changes]:
        change()
        seen.append(given(step))
        assert given(compiled) == given(compiled) == seen[-1]
    assert all(a != b for a, b in itertools.pairwise(seen))


def test_modules_that_functions_of_this_package_call():
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.LeakyReLU(0.1))
    given = {name: p.detach().clone() for name, p in net.named_parameters()}
    act = nn.Hardshrink(0.1)

    def step(x):
        x = rg.func.functional_call(net, given, (x,))
        return rg.func.vmap(act)(rg.utils.checkpoint.checkpoint(act, x, use_reentrant=False))

    changes = [
        net.eval,
        lambda: setattr(net[2], "negative_slope", 0.9),
        lambda: net.append(nn.Sigmoid()),
        lambda: setattr(act, "lambd", 0.6),
        lambda: net[0].register_forward_hook(lambda module, args, out: out * 2),
        lambda: setattr(net, "forward", lambda x: x * 100),
    ]
    compiled, x, seen = rg.compile(step), rg.randn(4, 3), []
    for change in [lambda: None, *changes]:
        change()
        for called in (step, compiled, compiled):
            rg.manual_seed(1)
            seen.append(called(x))
        np.testing.assert_allclose(seen[-1], seen[-3], rtol=1e-5)
        np.testing.assert_allclose(seen[-2], seen[-3], rtol=1e-5)
    assert all(not rg.equal(a, b) for a, b in itertools.pairwise(seen[::3]))
    assert len(compiled.compiled.variants) == 5


@pytest.mark.parametrize("made", [
    lambda x: rg.zeros(2, 3).copy_(x).t_(),
    lambda x: rg.ones(2, 3).add_(x).transpose_(0, 1).mul_(2),
    lambda x: rg.empty(2, 3).copy_(x).unsqueeze_(0).swapaxes_(1, 2),
    lambda x: rg.zeros(2, 1, 3).add_(x[:, None]).squeeze_(1),
    lambda x: rg.randn(2, 3).t_().add_(x.t()),
])  # fmt: skip
def test_a_tensor_that_a_call_makes_is_turned_in_place(made):
    calls = [(rg.randn(2, 3),) for _ in range(3)]
    assert both(lambda x: made(x), *calls).variants


def test_a_tensor_that_is_turned_in_place_shares_memory_with_its_view():
    def step(x):
        made = rg.zeros(2, 3).copy_(x)
        row = made[0]
        return made.t_(), row

    compiled = rg.compile(step)
    for _ in range(3):
        turned, row = compiled(rg.arange(6.0).reshape(2, 3))
        row.add_(10)
        assert turned.tolist() == [[10, 3], [11, 4], [12, 5]]


def test_texts_of_several_lines_have_the_spaces_of_the_program():
    def step(x):
        text = """a
          b

        c"""
        return x * 2, text

    compiled = rg.compile(step)
    for _ in range(2):
        assert compiled(rg.ones(1))[1] == "a\n          b\n\n        c"
    assert compiled.compiled.variants


SOURCE = """
import retrograd as rg
k = 2.0

def scaled(x):
    return rg.relu(x * k) + 1

def step(x, n=3):
    if n and x.shape[0] in {2, "b", 1}:
        return scaled(step(x, n - 1)) * -0.0 + sum(x * a for a in (1, 2))
    return (lambda y: y + 1)(x)
"""


@pytest.mark.parametrize("edit", [("+ 1", "- 1"), ("-0.0", "0.0"), ("(1, 2)", "(1, 3)"), ("", "")])
def test_a_function_whose_source_has_changed_since_runs_as_it_is(tmp_path, monkeypatch, edit):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / f"edited_{abs(hash(edit))}.py"
    file.write_text(SOURCE)
    module = importlib.import_module(file.stem)
    if edit[0]:
        file.write_text(SOURCE.replace(*edit) + "# and this is longer\n")
    compiled, x = rg.compile(module.step), rg.tensor([1.0, -2.0])
    for _ in range(2):
        assert str(compiled(x)) == str(module.step(x))
    changed = [r for r in compiled.compiled.reasons if "whose source has changed" in r]
    assert bool(changed) == bool(edit[0]) != bool(compiled.compiled.variants)


def test_a_tensor_from_outside_gets_another_class():
    class Doubled(rg.Tensor):
        def __mul__(self, other):
            return rg.full((2,), 2.0)

    weight = rg.ones(2)
    step = rg.compile(lambda x: weight * x)
    assert [step(rg.ones(2)).tolist() for _ in range(2)] == [[1, 1]] * 2
    weight.__class__ = Doubled
    assert step(rg.ones(2)).tolist() == [2, 2]


def test_what_a_tensor_has_of_its_class_or_memory_is_that_of_each_call(monkeypatch):
    monkeypatch.setattr(rg.Tensor, "gain", 2.0, raising=False)
    step = rg.compile(lambda x: x * x.gain)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2, 2]
    monkeypatch.setattr(rg.Tensor, "gain", 5.0)
    assert step(rg.ones(1)).item() == 5
    assert step.compiled.reasons == []
    shared = rg.compile(lambda x: x * 2 if x.is_shared() else x)
    assert [shared(rg.ones(1)).item() for _ in range(2)] == [1, 1]
    assert shared(rg.ones(1).share_memory_()).item() == 2


@pytest.mark.parametrize("made", [
    lambda x: (first := rg.zeros(2, 2), first.detach()),
    lambda x: (second := rg.ones(2, 2), second.t().add_(x))[::-1],
    lambda x: (third := rg.rand(2, 2), third.t_(), third.detach())[1:],
])  # fmt: skip
def test_a_write_to_one_of_two_results_with_one_memory_counts_for_both(made):
    compiled = rg.compile(lambda x: [made(x), x * 2])
    for _ in range(3):
        (one, other), _ = compiled(rg.ones(2, 2))
        before = one._version, other._version
        one.add_(1), other.mul_(2)
        assert (one._version, other._version) == (before[0] + 2, before[1] + 2)


def test_a_tensor_that_a_call_makes_is_returned_twice():
    def step(x):
        made = rg.rand(2, 2)
        return [made, made, x * 2, made.clone()]

    compiled = rg.compile(step, fullgraph=True)
    for _ in range(3):
        one, same, _, other = compiled(rg.ones(2, 2))
        assert one is same
        assert (other == one).all()


def test_saved_tensors_may_change_within_a_step():
    weight = rg.ones(3, requires_grad=True)

    @rg.compile
    def step(x):
        with rg.autograd.graph.allow_mutation_on_saved_tensors():
            made = (weight * x).exp()
            total = made.sum()
            made.mul_(2)
            total.backward()
        return made

    for i in range(3):
        weight.grad = None
        x = rg.tensor([0.0, 1.0, 2.0]) * i
        rg.testing.assert_close(step(x).detach(), 2 * x.exp())
        rg.testing.assert_close(weight.grad, x * x.exp())


@pytest.mark.parametrize("cast", [
    lambda z: z.to(rg.float32) * 2,
    lambda z: z.float().sum(),
])  # fmt: skip
def test_a_step_that_discards_imaginary_parts_warns_in_each_call(cast):
    compiled = rg.compile(lambda z: cast(z))
    for _ in range(3):
        with pytest.warns(rg.errors.ComplexWarning) as given:
            compiled(rg.ones(3, dtype=rg.complex64))
        assert len(given) == 1
    assert "a warning is given" in compiled.compiled.reasons[0]


def test_a_view_that_is_returned_twice_is_one_tensor():
    weight = rg.ones(2, 2, requires_grad=True)

    def step(x):
        row, made = weight[0], x * 2
        return row, [made, row], {"row": row, "column": made[:, 0], "other": weight[0]}

    compiled = rg.compile(step, fullgraph=True)
    for _ in range(3):
        row, (made, same), rest = compiled(rg.ones(2, 2, requires_grad=True))
        assert row is same is rest["row"] is not rest["other"]
        assert rest["column"]._base is made
        weight.grad = None
        (row * rest["other"]).sum().backward()
        assert weight.grad.tolist() == [[2, 2], [0, 0]]


def named_inside(x):
    """A step with functions in it, whose names are seen."""

    def one(a):
        yield a

    other = lambda a: (one(b) for b in [a])
    made = one(x)
    print(made.__qualname__, other(x).__qualname__, one.__name__)  # noqa: T201
    return x * 2 if x.shape[0] == 2 else other(x, x)


def test_functions_in_a_step_have_their_names(capsys):
    compiled, names = rg.compile(named_inside), []
    for step in (named_inside, compiled, compiled):
        assert step(rg.ones(2)).tolist() == [2, 2]
        names.append(capsys.readouterr().out)
        with pytest.raises(TypeError) as caught:
            step(rg.ones(3))
        names[-1] += str(caught.value) + capsys.readouterr().out
    assert (
        names
        == [
            "named_inside.<locals>.one named_inside.<locals>.<lambda>.<locals>.<genexpr> one\n"
            "named_inside.<locals>.<lambda>() takes 1 positional argument but 2 were given"
            "named_inside.<locals>.one named_inside.<locals>.<lambda>.<locals>.<genexpr> one\n"
        ]
        * 3
    )


@pytest.mark.parametrize("made", [
    lambda x: x.new_empty(2),
    lambda x: rg.empty_like(x),
    lambda x: rg.empty(3),
])  # fmt: skip
def test_memory_that_nobody_has_written_is_filled_as_the_mode_of_each_call_says(made, monkeypatch):
    step = rg.compile(lambda x: (made(x) * 1).isnan().all() * x)
    for filled in (False, True, False, True):
        monkeypatch.setattr(modes.determinism, "enabled", filled)
        found = step(rg.ones(2))
        if filled:
            assert found.tolist() == [1, 1]
    assert step.compiled.reasons == []


def test_annotations_of_functions_in_a_step_are_not_computed():  # see the first import above
    def step(x: Nobody) -> Nobody:  # noqa: F821
        def inner(a: Nobody, *b: Nobody, c: Nobody = 1, **d: Nobody) -> Nobody:  # noqa: F821
            made: Nobody = a * c  # noqa: F821
            return made

        return inner(x) + inner(x, c=2)

    compiled = rg.compile(step, fullgraph=True)
    assert [compiled(rg.ones(1)).item() for _ in range(2)] == [3, 3]
