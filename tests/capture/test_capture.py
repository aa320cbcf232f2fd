"""Compiled steps do what the same steps do eagerly: results, gradients, state, random numbers."""

from __future__ import annotations

import copy
import importlib
import random
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import retrograd as rg
from retrograd import capture, pytree
from retrograd.capture.compiled import setting
from retrograd.capture.program import NATIVE
from retrograd.errors import InvalidBackend

from .programs import PROGRAMS

nn, F = rg.nn, rg.nn.functional
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

CALLS = 4
# Where eager computes in loops of its own, which nobody takes who watches calls.
OWN_LOOPS = {"batch_norm", "classifier", "complex_network", "convolution", "dropout",
             "classifier_with_weights", "classifier_that_ignores_a_class",
             "classifier_with_padding"}  # fmt: skip


@pytest.fixture
def calls_alone():
    """Programs without native parts, which have eager's bits."""
    setting.native = False
    yield
    setting.native = True


def tensors(tree):
    return [t for t in pytree.flatten(tree) if isinstance(t, rg.Tensor)]


def history(tensor):
    return tensor.grad_fn and tensor.grad_fn.name()


def compared(found, expected, exact):
    assert (found is None) == (expected is None)
    if found is None:
        return
    x, y = found._array, expected._array
    assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)
    assert type(x) is np.ndarray
    if exact or x.dtype.kind in "biu":
        np.testing.assert_array_equal(x, y)
    else:
        bound = 2e-5 if np.finfo(x.dtype).bits == 32 else 1e-12
        np.testing.assert_allclose(x, y, rtol=bound, atol=bound / 10)
    assert found._version == expected._version
    assert found.requires_grad == expected.requires_grad
    assert history(found) == history(expected)


def run_both(make, exact, calls=CALLS):
    """The compiled function, after calls beside the eager one with the same draws."""
    rg.manual_seed(1)
    eager, arguments, changed = make()
    rg.manual_seed(1)
    step, _, changed_too = make()
    compiled = rg.compile(step)
    for number in range(calls):
        rg.manual_seed(100 + number)
        given = arguments()
        copies = [t.clone() for t in given]
        state = rg.get_rng_state()
        expected = eager(*given)
        after = rg.get_rng_state()
        rg.set_rng_state(state)
        found = compiled(*copies)
        assert bool((rg.get_rng_state() == after).all())
        for pairs in ((found, expected), (changed_too(), changed()), (copies, list(given))):
            for a, b in zip(*map(tensors, pairs), strict=True):
                compared(a, b, exact)
    return compiled.compiled


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_programs_give_what_the_step_gives(name):
    compiled = run_both(PROGRAMS[name], exact=False)
    assert compiled.variants, compiled.reasons
    assert not compiled.reasons


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_calls_have_the_bits_of_the_step(name, calls_alone):
    compiled = run_both(PROGRAMS[name], exact=name not in OWN_LOOPS)
    assert compiled.variants, compiled.reasons


# -- guards ----------------------------------------------------------------------------------------

SCALE = 2.0


def kinds(function):
    return len(function.compiled.variants)


def test_other_shapes_dtypes_and_strides_are_recorded_anew():
    double = rg.compile(lambda x: 2 * x)
    given = [rg.ones(3), rg.ones(4), rg.ones(3, dtype=rg.float64), rg.ones(3, 2), rg.ones(2, 3).t()]
    for number, x in enumerate(given, 1):
        for _ in range(2):
            found = double(x)
            assert found.tolist() == (x * 2).tolist()
            assert found.stride() == (x * 2).stride()
        assert kinds(double) == number


def test_a_global_that_changes_is_read_anew(monkeypatch):
    scaled = rg.compile(lambda x: x * SCALE)
    assert scaled(rg.ones(2)).tolist() == scaled(rg.ones(2)).tolist() == [2.0, 2.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert scaled(rg.ones(2)).tolist() == [3.0, 3.0]
    monkeypatch.setitem(globals(), "SCALE", 3)  # of another type
    assert scaled(rg.ones(2, dtype=rg.int64)).dtype is rg.int64


def test_a_variable_of_the_function_around_is_read_anew():
    power = 2

    @rg.compile
    def raised(x):
        return x**power

    assert raised(rg.tensor([3.0])).item() == raised(rg.tensor([3.0])).item() == 9.0
    power = 3
    assert raised(rg.tensor([3.0])).item() == 27.0


def test_attributes_and_containers_that_change_are_read_anew():
    settings = SimpleNamespace(rates=[1.0, 2.0], names={"shift": 1.0})

    @rg.compile
    def shifted(x):
        for rate in settings.rates:
            x = x * rate
        return x + settings.names["shift"]

    assert [shifted(rg.ones(1)).item() for _ in range(2)] == [3.0, 3.0]
    settings.rates.append(10.0)
    assert [shifted(rg.ones(1)).item() for _ in range(2)] == [21.0, 21.0]
    settings.names["shift"] = 0.0
    assert shifted(rg.ones(1)).item() == 20.0
    settings.rates = []
    assert shifted(rg.ones(1)).item() == 1.0


def test_a_function_that_is_called_may_be_replaced():
    def helper(x):
        return x + 1

    box = {"helper": helper}

    @rg.compile
    def outer(x):
        return box["helper"](x) * 2

    assert [outer(rg.ones(1)).item() for _ in range(2)] == [4.0, 4.0]
    box["helper"] = lambda x: x - 1
    assert outer(rg.ones(1)).item() == 0.0


def test_training_mode_is_read_anew():
    layer = nn.Dropout(0.5)
    dropped = rg.compile(lambda x: layer(x))
    x = rg.ones(64)
    assert 0.0 in dropped(x).tolist()
    assert 0.0 in dropped(x).tolist()
    layer.eval()
    assert dropped(x).tolist() == [1.0] * 64


def test_grad_mode_is_read_anew():
    w = rg.ones(2, requires_grad=True)
    doubled = rg.compile(lambda: (w * 2).detach() if rg.is_grad_enabled() else w * 2)
    assert doubled().tolist() == [2.0, 2.0]
    with rg.no_grad():
        assert not doubled().requires_grad
        assert not doubled().requires_grad


def test_hooks_that_are_added_later_run():
    w = rg.ones(2, requires_grad=True)
    layer = nn.Linear(2, 1)
    seen = []

    def plain():
        layer(w).sum().backward()

    step = rg.compile(plain)
    step()
    step()
    assert kinds(step) == 1
    handle = w.register_hook(lambda g: seen.append(g.tolist()))
    step()
    assert len(seen) == 1
    handle.remove()
    layer.register_forward_hook(lambda *_: seen.append("forward"))
    step()
    assert seen[1:] == ["forward"]


def test_parameters_that_are_frozen_or_replaced_later():
    layer = nn.Linear(2, 1, bias=False)
    step = rg.compile(lambda x: layer(x).sum().backward())
    x = rg.ones(1, 2)
    step(x)
    step(x)
    assert layer.weight.grad.tolist() == [[2.0, 2.0]]
    layer.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="does not require grad"):
        step(x)
    layer.weight = nn.Parameter(rg.zeros(1, 2))
    step(x)
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    layer.weight.grad, layer.weight.data = None, rg.ones(1, 2, dtype=rg.float64)
    step(x.double())
    assert layer.weight.grad.dtype is rg.float64


def test_parameters_may_be_written_between_calls():
    w = rg.ones(2)
    scaled = rg.compile(lambda x: x * w)
    assert scaled(rg.ones(2)).tolist() == [1.0, 1.0]
    w.fill_(5.0)
    assert scaled(rg.ones(2)).tolist() == [5.0, 5.0]
    w.set_(rg.tensor([7.0, 8.0]))
    assert scaled(rg.ones(2)).tolist() == [7.0, 8.0]


def test_arguments_that_are_one_tensor_or_share_memory():
    @rg.compile
    def swapped(x, y):
        x.add_(1)
        return x * y

    assert swapped(rg.ones(2), rg.ones(2)).tolist() == [2.0, 2.0]
    assert swapped(rg.ones(2), rg.ones(2)).tolist() == [2.0, 2.0]
    x = rg.ones(2)
    assert swapped(x, x).tolist() == [4.0, 4.0]
    base = rg.ones(3)
    assert swapped(base[:2], base[1:]).tolist() == [4.0, 2.0]
    assert base.tolist() == [2.0, 2.0, 1.0]


def test_other_arguments_than_tensors_are_guarded():
    @rg.compile
    def chosen(x, how="add", *, by=1):
        return x + by if how == "add" else x * by

    x = rg.ones(1)
    for _ in range(2):
        assert chosen(x).item() == 2.0
        assert chosen(x, by=3).item() == 4.0
        assert chosen(x, "mul", by=3).item() == 3.0
        assert chosen(x, by=3.0).item() == 4.0
    assert kinds(chosen) == 4


def test_lists_and_dictionaries_of_tensors_are_arguments_and_results():
    @rg.compile
    def summed(batch):
        return {"sum": batch["x"] + batch["more"][0], "pair": (batch["x"] * 2, 3)}

    for k in range(3):
        found = summed({"x": rg.full((2,), float(k)), "more": [rg.ones(2)]})
        assert found["sum"].tolist() == [k + 1.0] * 2
        assert found["pair"][0].tolist() == [2.0 * k] * 2
        assert found["pair"][1] == 3
    assert kinds(summed) == 1


# -- what is not captured --------------------------------------------------------------------------


def reason(function):
    (found, *_) = function.compiled.reasons
    return found


def test_values_that_python_asks_for_are_those_of_each_call():
    @rg.compile
    def scaled(x):
        return x ** x.sum().item()

    for k in (1.0, 2.0, 3.0):
        assert scaled(rg.full((2,), k)).tolist() == [k ** (2 * k)] * 2
    assert "item" in reason(scaled)


def test_what_is_done_beside_tensors_is_done_in_each_call():
    seen = []

    class Counter:
        count = 0

    counter = Counter()

    @rg.compile
    def noted(x):
        seen.extend([1])
        return x * 2

    @rg.compile
    def counted(x):
        counter.count += 1
        return x * 2

    for _ in range(4):
        assert noted(rg.ones(1)).item() == counted(rg.ones(1)).item() == 2
    assert len(seen) == counter.count == 4
    assert "from outside is changed" in reason(noted)
    assert "attribute of a Counter is set" in reason(counted)


def test_python_s_random_numbers_are_drawn_in_each_call():
    noisy = rg.compile(lambda x: x + random.random())
    assert len({noisy(rg.zeros(1)).item() for _ in range(4)}) == 4


def test_random_numbers_are_drawn_anew():
    noisy = rg.compile(lambda x: x + rg.rand_like(x) + rg.randn(2))
    rg.manual_seed(0)
    found = [noisy(rg.zeros(2)).tolist() for _ in range(3)]
    rg.manual_seed(0)
    assert found == [(rg.zeros(2) + rg.rand_like(rg.zeros(2)) + rg.randn(2)).tolist()
                     for _ in range(3)]  # fmt: skip
    assert kinds(noisy) == 1


def test_shapes_that_depend_on_values():
    @rg.compile
    def kept(x):
        return x[x > 0] * 2

    for values in ([1.0, -1.0, 2.0], [1.0, 2.0, 3.0], [-1.0, -1.0, -1.0]):
        assert kept(rg.tensor(values)).tolist() == [2 * v for v in values if v > 0]


def test_a_branch_on_a_value_goes_both_ways():
    @rg.compile
    def turned(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    for value in (1.0, 1.0, -1.0, 1.0, -1.0):
        assert turned(rg.tensor([value])).item() == (2.0 if value > 0 else -2.0)
    assert kinds(turned) == 2
    assert "branches on values go these ways: False" in capture.explain(turned).text


def test_each_way_of_branches_in_training_is_recorded_once():
    def made():
        rg.manual_seed(0)
        layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
        optimizer = rg.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()
            if x.sum() > 0:
                x = x * 2
            loss = (layer(x) - x).square().mean()
            if x[0, 0] > 0:
                loss = loss.sqrt()
            loss.backward()
            optimizer.step()
            return loss

        return step, layer

    (eager, first), (step, second) = made(), made()
    compiled = rg.compile(step)
    for number in range(16):
        x = rg.randn(8, 4)
        found = []
        for function, layer in ((eager, first), (compiled, second)):
            rg.manual_seed(number)
            loss = function(x)
            found.append([loss, rg.rand(2), *layer.parameters(), *layer.buffers(),
                          *[p.grad for p in layer.parameters()]])  # fmt: skip
        for a, b in zip(*found, strict=True):
            compared(b, a, exact=False)
    assert kinds(compiled) == 4
    assert not compiled.compiled.reasons


def test_ways_of_branches_are_recorded_as_often_as_other_kinds():
    @rg.compile
    def halved(x):
        count = 0
        while x > 1:
            x, count = x / 2, count + 1
        return x * 1, count

    for power in [*range(12), 3, 11, 0]:
        found, count = halved(rg.tensor(2.0**power))
        assert (found.item(), count) == (1.0, power)
    assert kinds(halved) == 8


def test_a_branch_that_leads_to_an_error_leads_to_it_in_each_call():
    @rg.compile
    def checked(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    for value in (1.0, -1.0, 2.0, -2.0):
        if value > 0:
            assert checked(rg.tensor([value])).item() == 2 * value
        else:
            with pytest.raises(ValueError, match="negative"):
                checked(rg.tensor([value]))
    assert kinds(checked) == 1


def test_exceptions_are_those_of_the_function_and_end_a_recording():
    @rg.compile
    def product(x, y):
        return x @ y

    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        product(rg.ones(2, 3), rg.ones(2, 3))
    assert product(rg.ones(2, 3), rg.ones(3, 2)).tolist() == [[3.0, 3.0], [3.0, 3.0]]

    @rg.compile
    def guarded(x):
        try:
            return x.view(7)
        except RuntimeError:
            return x * 2

    assert [guarded(rg.ones(2)).tolist() for _ in range(2)] == [[2.0, 2.0]] * 2


def test_generators_recursion_and_nested_functions():
    def parts(x):
        yield x
        yield x * 2

    @rg.compile
    def total(x):
        return sum(parts(x), rg.zeros(1))

    @rg.compile
    def factorial(x, n):
        return x if n == 0 else factorial(x * n, n - 1)

    @rg.compile
    def doubled(x):
        return twice(x) + 1

    @rg.compile
    def twice(x):
        return x * 2

    for _ in range(3):
        assert total(rg.ones(1)).item() == 3.0
        assert kinds(total) == 1
        assert factorial(rg.ones(1), 4).item() == 24.0
        assert doubled(rg.ones(1)).item() == 3.0


CLOSED: list[int] = []


def scales(x, count):
    for i in range(count):
        yield x * i
    yield x * SCALE


def nested(x):
    yield from scales(x, 2)
    assert (yield x.sum()) is None
    yield x * 3


def endless(x):
    while True:
        x = x * 2
        yield x


def closed(x):
    try:
        with rg.enable_grad():
            yield x * 2
        yield x * 4
    finally:
        CLOSED.append(1)


def first_of_many(x):
    for i, y in enumerate(endless(x)):
        if i == 3:
            return y


def in_order(x):
    parts = scales(x, 3)
    return next(parts) + next(parts)


def with_a_mode(x):
    parts = closed(x)
    return next(parts) + x * 2


def added_up(x):
    return sum(scales(x, 3)) + sum(v * 2 for v in (y + 1 for y in closed(x)))


def joined(x):
    return rg.cat([part.reshape(-1) for part in nested(x)])


GENERATING = (first_of_many, in_order, with_a_mode, added_up, joined)


@pytest.mark.parametrize("step", GENERATING)
def test_generator_functions_are_rewritten(step, monkeypatch):
    compiled = rg.compile(step, fullgraph=True)
    CLOSED.clear()
    for number in range(4):
        if number == 2:
            monkeypatch.setitem(globals(), "SCALE", 5.0)
        x = rg.randn(3, dtype=rg.float64, requires_grad=True)
        grads = []
        for function in (step, compiled):
            x.grad = None
            function(x).sum().backward()
            grads.append(x.grad)
        rg.testing.assert_close(*grads, rtol=1e-12, atol=0.0)
        assert len(CLOSED) in (0, 2 * number + 2)
    assert kinds(compiled) <= 2


def test_a_step_that_is_a_generator_runs_as_it_is():
    compiled = rg.compile(scales)
    for x in (rg.ones(1), rg.ones(1)):
        assert [t.item() for t in compiled(x, 1)] == [0.0, SCALE]
    assert reason(compiled) == "a generator is returned"


def test_what_a_call_returned_is_not_written_by_the_next():
    scaled = rg.compile(lambda x: x * 3)
    first = scaled(rg.ones(2))
    second = scaled(rg.full((2,), 2.0))
    assert first.tolist() == [3.0, 3.0]
    assert second.tolist() == [6.0, 6.0]
    first.add_(1)
    assert scaled(rg.ones(2)).tolist() == [3.0, 3.0]


def test_results_with_a_history_have_it():
    w = rg.ones(2, requires_grad=True)
    scaled = rg.compile(lambda x: x * w)
    for k in (1.0, 2.0, 3.0):
        w.grad = None
        scaled(rg.full((2,), k)).sum().backward()
        assert w.grad.tolist() == [k, k]


def test_a_used_up_history_is_refused_as_it_is_eagerly():
    w = rg.ones(2, requires_grad=True)

    @rg.compile
    def step():
        loss = (w * w).sum()
        loss.backward()
        return loss

    for _ in range(3):
        with pytest.raises(RuntimeError, match="second time"):
            step().backward()


def test_writes_are_counted_so_that_graphs_outside_are_refused():
    w = rg.ones(2, requires_grad=True)
    x = rg.ones(2)

    @rg.compile
    def write():
        x.mul_(2)

    write()
    loss = (w * x).sum()
    write()
    assert kinds(write) == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_other_modes_and_threads_run_the_function():
    double = rg.compile(lambda x: x * 2)
    double(rg.ones(1))
    with rg.inference_mode():
        assert double(rg.ones(1)).is_inference()
    assert rg.func.vmap(double)(rg.ones(3)).tolist() == [2.0] * 3
    found = rg.func.jvp(double, (rg.ones(1),), (rg.ones(1),))
    assert [t.item() for t in found] == [2.0, 2.0]
    results = []
    threads = [
        threading.Thread(target=lambda k=k: results.append(double(rg.full((1,), k)).item()))
        for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2.0 * k for k in range(8)]


def test_many_kinds_of_calls_warn_once():
    scaled = rg.compile(lambda x, k: x * k)
    found = [scaled(rg.ones(1), k).item() for k in range(8)]
    with pytest.warns(UserWarning, match=r"recorded 8 times.*changed last: args\[1\]") as warned:
        found.append(scaled(rg.ones(1), 8).item())
    assert warned[0].filename == __file__  # the line that calls
    assert found == [*range(9)]
    assert kinds(scaled) == 8


def test_sizes_are_no_kinds_of_calls(monkeypatch):
    monkeypatch.setattr(capture.compiled, "LATER", 2)
    scaled = rg.compile(lambda x, k: x * k)

    def called(n, k=1):
        assert scaled(rg.ones(n), k).tolist() == [k] * n
        return kinds(scaled)

    assert [called(n) for n in range(2, 12)] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]  # eight at once,
    assert [called(11), called(11), called(11), called(10)] == [8, 9, 9, 9]  # and what comes often
    assert [called(2, k) for k in range(2, 9)] == [*range(10, 17)]  # seven more kinds
    with pytest.warns(UserWarning, match="recorded 16 times"):
        called(2, 9)
    assert [called(12), called(12), called(12)] == [16, 16, 17]


def test_a_limit_that_is_given_is_for_sizes_too():
    scaled = rg.compile(lambda x: x * 2, recompile_limit=2)
    scaled(rg.ones(2)), scaled(rg.ones(3))
    with pytest.warns(UserWarning, match="recorded 2 times.* of args"):
        scaled(rg.ones(4))
    assert kinds(scaled) == 2


def test_what_many_recordings_have_alike_is_built_once(monkeypatch):
    machine, built = importlib.import_module("retrograd.compiler.machine"), []
    plain = machine.built
    monkeypatch.setattr(machine, "built", lambda *given: built.append(given) or plain(*given))
    monkeypatch.setattr(machine.cache, "read", lambda name: None)
    monkeypatch.setattr(machine, "KNOWN", {})
    weight = rg.randn(3, 3)

    @rg.compile
    def steps(x):
        h = x[0]
        for each in x[1:]:
            h = (h @ weight + each).tanh()
        return h

    for n in (5, 9, 6):
        before = len(built)
        compared(steps(x := rg.randn(n, 2, 3)), steps.__wrapped__(x), False)
        assert (len(built) > before) == (n == 5)


def test_loops_that_were_built_together_are_found_one_by_one(monkeypatch, tmp_path):
    machine, built = importlib.import_module("retrograd.compiler.machine"), []
    plain = machine.built
    monkeypatch.setattr(machine, "built", lambda *given: built.append(given) or plain(*given))
    monkeypatch.setenv("RETROGRAD_CACHE", str(tmp_path))
    x = rg.randn(3, 5)

    def both(x):
        return x.sum() + x.amax(1) * 2

    def second(x):
        return x.amax(1)

    for function, modules, files in [(both, 1, 3), (both, 0, 3), (second, 0, 3)]:
        monkeypatch.setattr(machine, "KNOWN", {})  # as in another process
        monkeypatch.setattr(machine, "ADDED", set())
        built.clear()
        step = rg.compile(function)
        step(x)
        compared(step(x), function(x), False)
        assert (len(built), len(list(tmp_path.iterdir()))) == (modules, files)


def test_fullgraph_raises_with_the_reason():
    @rg.compile(fullgraph=True)
    def asked(x):
        return x ** x.item()

    with pytest.raises(RuntimeError, match=r"fullgraph=True.*item"):
        asked(rg.ones(1))


def test_copies_methods_and_what_is_no_function():
    class Scale:
        def __init__(self, by):
            self.by = by

        @rg.compile
        def __call__(self, x):
            return x * self.by

    two, three = Scale(2), Scale(3)
    for _ in range(2):
        assert two(rg.ones(1)).item() == 2.0
        assert three(rg.ones(1)).item() == 3.0
    again = copy.deepcopy(two.__call__.__func__.compiled)
    assert again(three, rg.ones(1)).item() == 3.0
    layer = nn.Linear(1, 1)
    assert rg.compile(layer)._orig_mod is layer
    assert rg.compile(abs) is abs
    assert rg.compile(len, backend="eager") is len
    with pytest.raises(InvalidBackend, match="Invalid backend"):
        rg.compile(len, backend="unknown")
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        rg.compile(len, mode="quick")
    with pytest.raises(TypeError, match="takes a Python function"):
        capture.explain(abs)
    assert "1 recording" in capture.explain(recorded_once()).text


def recorded_once():
    double = rg.compile(lambda x: x * 2)
    double(rg.ones(1))
    return double


def test_nothing_traced_is_left_after_a_recording():
    layer = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    kept = {}

    @rg.compile
    def step(x):
        y = layer(x)
        kept["y"] = y  # which ends the recording in the middle
        y.sum().backward()
        return y

    x = rg.randn(4, 3)
    y = step(x)
    everything = [x, y, kept["y"], *layer.parameters(), *layer.buffers()]
    everything += [p.grad for p in layer.parameters()]
    assert {type(t._array) for t in everything} == {np.ndarray}


def test_a_step_is_one_native_function_where_gradients_meet():
    w = rg.ones(4).requires_grad_()

    def step():
        y = w * w * w
        (y * y + w).sum().backward()

    compiled = rg.compile(step)
    compiled()
    (variant,) = compiled.compiled.variants
    assert variant.listing.text.count("run_steps") == 1
    assert variant.listing.text.count("empty") == 1


def test_the_derivative_of_cross_entropy_has_what_the_loss_computed(monkeypatch, calls_alone):
    """A replay finds the maxima and sums of many logits once, as eager does, and anew each time."""
    records = importlib.import_module("retrograd.ops.loss.cross_entropy")
    calls, extents = [], records.extents
    monkeypatch.setattr(records, "extents", lambda x: calls.append(x) or extents(x))
    logits = rg.randn(64, 100, requires_grad=True)
    other = logits.detach().clone().requires_grad_()
    target = rg.arange(64)

    @rg.compile
    def step(x):
        x.grad = None
        F.cross_entropy(x, target).backward()

    for turn in range(CALLS):
        with rg.no_grad():
            for x in (logits, other):
                x.add_(turn * rg.arange(100.0))
        calls.clear()
        step(logits)
        assert sum(isinstance(x, np.ndarray) for x in calls) == 1
        other.grad = None
        F.cross_entropy(other, target).backward()
        np.testing.assert_array_equal(logits.grad.numpy(), other.grad.numpy())
    assert step.compiled.reasons == []


@pytest.mark.parametrize("options", [{}, {"ignore_index": 1}, {"reduction": "sum"}])
@pytest.mark.parametrize("weight", [None, rg.tensor([0.5, 2.0, 0.0])])
def test_a_loss_finds_what_targets_count_in_each_call(weight, options):
    logits = rg.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [-1.0, 0.2, 0.1]])
    step = rg.compile(lambda x, y: F.cross_entropy(x, y, weight, **options), fullgraph=True)
    ignored = options.get("ignore_index", -100)
    targets = [[ignored, 2, 0], [0, 0, 2], [ignored] * 3, [ignored, ignored, 2], [2, ignored, 0]]
    for target in map(rg.tensor, targets):
        found, expected = (logits.clone().requires_grad_() for _ in range(2))
        a, b = step(found, target), F.cross_entropy(expected, target, weight, **options)
        a.backward()
        b.backward()
        compared(a.detach(), b.detach(), exact=False)
        compared(found.grad, expected.grad, exact=False)
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        step(logits, rg.tensor([0, 7, 2]))
