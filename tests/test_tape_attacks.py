"""What must not break a `GradientTape`: writes, views, hooks, errors, modes and threads."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.errors import VersionError


def variable(value):
    return rg.nn.Parameter(rg.tensor(value))


def state(x):
    return x.requires_grad, x.is_leaf, x._gradient, x._version, x.tolist()


# -- what is left of a tape ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["constant", "variable", "result", "view"])
def test_tensors_are_as_before_afterwards(kind):
    x = rg.tensor([1.0, 2.0], requires_grad=kind in ("variable", "result"))
    x = {"result": x * 2, "view": x[:1]}.get(kind, x)
    before, node = state(x), x._node
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = (x * x).sum()
    tape.gradient(y, x)
    assert state(x) == before
    assert x._node is node


def test_tensors_are_as_before_after_an_error():
    x = rg.tensor(2.0)
    with pytest.raises(ValueError, match="not a Tensor"), rg.GradientTape() as tape:
        tape.watch([x, None])
    assert not x.requires_grad
    assert modes.state.tapes == ()


def test_an_error_in_the_gradient_leaves_the_tape_as_it_was():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        tape.gradient(y, x, output_gradients=rg.ones(3))
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]


def test_a_tensor_that_was_watched_is_copied_and_pickled_as_before():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert not other.requires_grad
        assert not hasattr(other, "_lent") or other._lent is None


def test_a_tensor_that_was_watched_becomes_a_leaf_of_its_own():
    x = rg.tensor(2.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        x.requires_grad_(False)
    x.requires_grad_()
    (x * x).backward()
    assert x.grad.item() == 4.0


@pytest.mark.parametrize("before", [(), (False,)])
def test_a_watched_tensor_that_is_made_to_require_grad_goes_on_to_do_so(before):
    x = rg.tensor(2.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        for value in (*before, True):
            x.requires_grad_(value)
        z = x * y
    assert tape.gradient(z, x).item() == 12.0
    assert x.requires_grad
    (x * 5).backward()
    assert x.grad.item() == 5.0


def test_a_backward_pass_inside_gives_a_watched_constant_no_grad():
    x, w = rg.tensor(2.0), variable(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * w
        y.backward(retain_graph=True)
    assert tape.gradient(y, x).item() == 3.0
    assert x.grad is None
    assert w.grad.item() == 2.0


def test_a_gradient_leaves_grad_alone():
    w = variable(3.0)
    w.grad = rg.tensor(7.0)
    with rg.GradientTape() as tape:
        y = w * w
    tape.gradient(y, w)
    assert w.grad.item() == 7.0


def test_a_tape_is_no_part_of_a_cycle():
    x = rg.tensor(2.0)
    gc.collect()
    gc.disable()
    try:
        with rg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x.exp()
            tape.watch(y)
            z = rg.custom_gradient(lambda y: (y * y, lambda g: g * y))(y)
        tape.gradient(z, [x, y])
        refs = [weakref.ref(t) for t in (tape, y, z)]
        del tape, y, z
        assert [ref() for ref in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_gradient_frees_what_only_this_tape_recorded():
    x = variable([1.0, 2.0])
    with rg.GradientTape() as tape:
        y = x.exp()
        z = (y * y).sum()
    tape.gradient(z, x)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.backward()


def test_what_another_tape_recorded_too_is_not_freed():
    x = variable([1.0, 2.0])
    with rg.GradientTape() as a, rg.GradientTape() as b:
        y = (x * x).sum()
    assert b.gradient(y, x).tolist() == a.gradient(y, x).tolist() == [2.0, 4.0]


def test_two_gradients_do_not_share_memory():
    x, z = rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0])
    g = rg.ones(2)
    with rg.GradientTape() as tape:
        tape.watch([x, z])
        y = x + z
    a, b = tape.gradient(y, [x, z], output_gradients=g)
    a.add_(5)
    assert (b.tolist(), g.tolist()) == ([1.0, 1.0], [1.0, 1.0])


# -- writes and views ------------------------------------------------------------------------------


def test_a_watched_tensor_must_not_be_written():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.mul_(2)
        with pytest.raises(RuntimeError, match="view of a leaf Variable that requires grad"):
            x[0].mul_(2)
    x.mul_(2)
    assert x.tolist() == [2.0, 4.0]


def test_a_result_that_is_written_has_the_gradient_of_what_it_is():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x.clone()
        y.mul_(x)
        y[0] = x[1] * 7
        z = (y * y).sum()
    by_x, by_y = tape.gradient(z, [x, y])
    assert by_x.tolist() == [0.0, 2 * 14 * 7 + 2 * 4 * 4]
    assert by_y.tolist() == [28.0, 8.0]


def test_a_saved_value_that_is_written_raises():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with rg.no_grad():
            x.add_(1)
    with pytest.raises(VersionError, match="modified by an inplace operation"):
        tape.gradient(y, x)


def test_constants_may_take_in_what_is_watched():
    x, buffer = rg.tensor([1.0, 2.0]), rg.zeros(3)
    with rg.GradientTape() as tape:
        tape.watch(x)
        buffer[1:] = x * x
        y = (buffer * rg.tensor([1.0, 10.0, 100.0])).sum()
    assert tape.gradient(y, x).tolist() == [20.0, 400.0]


def test_a_view_whose_base_was_written_is_a_target_and_a_source():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        base = x * 3
        view = base[1:]
        base.mul_(x)
    assert tape.gradient(view, x).tolist() == [0.0, 12.0]
    with tape:
        z = view * view
    assert tape.gradient(z, view).tolist() == [24.0]


def test_views_of_a_watched_tensor_made_before_are_other_tensors():
    x = rg.tensor([1.0, 2.0])
    view = x[1:]
    with rg.GradientTape() as tape:
        tape.watch(x)
        assert not view.requires_grad
        y = x.sum() * view
    by_x, by_view = tape.gradient(y, [x, view])
    assert (by_x.tolist(), by_view) == ([2.0, 2.0], None)


def test_a_view_that_is_watched_leaves_its_base_alone():
    x = rg.tensor([1.0, 2.0])
    view = x[1:]
    with rg.GradientTape() as tape:
        tape.watch(view)
        y = x.sum() * view
    by_x, by_view = tape.gradient(y, [x, view])
    assert (by_x, by_view.tolist()) == (None, [3.0])


# -- hooks and Functions ---------------------------------------------------------------------------


def test_hooks_see_and_change_what_passes():
    x, seen = rg.tensor(2.0), []
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        y.register_hook(lambda g: seen.append(g.item()) or g * 10)
        z = y * 3
    assert tape.gradient(z, x).item() == 120.0
    assert seen == [3.0]


def test_a_hook_may_ask_a_tape_for_gradients():
    x, found = rg.tensor(2.0), []

    def hook(g):
        with rg.GradientTape() as inner:
            inner.watch(g)
            square = g * g
        found.append(inner.gradient(square, g).item())

    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        y.register_hook(hook)
        z = y * 3
    assert tape.gradient(z, x).item() == 12.0
    assert found == [6.0]


def test_an_error_in_a_hook_goes_through():
    x = rg.tensor(2.0)

    def hook(g):
        raise KeyError("hook")

    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        y.register_hook(hook)
    with pytest.raises(KeyError, match="hook"):
        tape.gradient(y, x)
    assert modes.state.tapes == ()


class Doubled(rg.autograd.Function):
    """A Function with two results and a derivative of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x * x

    @staticmethod
    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        return a * 2 + b * x * 2


def test_functions_are_recorded():
    x = rg.tensor(3.0)
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            a, b = Doubled.apply(x)
            y = a * b
        derivative = inner.gradient(y, x)
    assert derivative.item() == 54.0
    assert outer.gradient(derivative, x).item() == 36.0


def test_variables_used_by_a_function_are_watched():
    x = variable(3.0)
    with rg.GradientTape() as tape:
        Doubled.apply(x)
    assert tape.watched_variables() == (x,)


# -- modes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [rg.no_grad, rg.inference_mode])
def test_a_tape_records_in_modes_around_it(mode):
    x, w = rg.tensor(3.0), variable(2.0)
    with mode(), rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x * w
    assert tape.gradient(y, [x, w]) == [rg.tensor(12.0), rg.tensor(9.0)]


def test_no_grad_within_a_tape_holds():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        with rg.no_grad():
            constant = x * 2
        y = x * constant
    assert tape.gradient(y, x).item() == 6.0


def test_modes_are_as_before_after_a_tape():
    with rg.no_grad():
        with rg.GradientTape() as tape:
            assert rg.is_grad_enabled()
            with tape.stop_recording():
                assert not rg.is_grad_enabled()
        assert not rg.is_grad_enabled()
    assert rg.is_grad_enabled()


def test_tapes_may_be_left_in_any_order():
    x = rg.tensor(3.0)
    a, b = rg.GradientTape(persistent=True), rg.GradientTape()
    a.__enter__()
    a.watch(x)
    b.__enter__()
    b.watch(x)
    y = x * x
    a.__exit__(None, None, None)
    assert x.requires_grad
    z = x * y
    b.__exit__(None, None, None)
    assert not x.requires_grad
    assert a.gradient(z, x) is None
    assert a.gradient(y, x).item() == 6.0
    assert b.gradient(z, x).item() == 27.0


def test_saved_tensor_hooks_apply_within_a_tape():
    x, packed = rg.tensor(3.0), []
    hooks = rg.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t)
    with rg.GradientTape() as tape, hooks:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).item() == 6.0
    assert packed


def test_anomaly_mode_finds_nan_in_a_tape():
    x = rg.tensor(0.0)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = rg.autograd.detect_anomaly()
    with mode, rg.GradientTape() as tape:
        tape.watch(x)
        y = x.sqrt() * 0
        with (
            pytest.raises(RuntimeError, match="returned nan values"),
            pytest.warns(UserWarning, match="Error detected in SqrtBackward"),
        ):
            tape.gradient(y, x)


# -- threads ---------------------------------------------------------------------------------------


def run(*functions):
    """Run functions in threads of their own; raise what they raise."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_what_another_thread_computes_is_not_on_the_tape():
    x, found = variable(3.0), []
    with rg.GradientTape() as tape:
        mine = x * x
        run(lambda: found.append(x * x))
        y = mine + found[0]
    assert tape.gradient(y, x).item() == 6.0


def test_tapes_of_several_threads_watch_one_constant():
    x, barrier, found = rg.tensor(3.0), threading.Barrier(4), {}

    def work(power):
        for _ in range(50):
            with rg.GradientTape() as tape:
                tape.watch(x)
                y = x**power
            found.setdefault(power, set()).add(tape.gradient(y, x).item())
            barrier.wait()

    run(*[lambda p=p: work(p) for p in range(1, 5)])
    assert found == {p: {p * 3.0 ** (p - 1)} for p in range(1, 5)}
    assert not x.requires_grad


def test_a_tape_that_ends_while_another_thread_watches_leaves_that_its_leaf():
    x, entered, ended, found = rg.tensor(3.0), threading.Event(), threading.Event(), []

    def other():
        with rg.GradientTape() as tape:
            tape.watch(x)
            entered.set()
            ended.wait(30)
            y = x**2
        found.append(tape.gradient(y, x).item())

    thread = threading.Thread(target=other)
    with rg.GradientTape() as tape:
        tape.watch(x)
        thread.start()
        entered.wait(30)
        y = x**3
    assert tape.gradient(y, x).item() == 27.0
    ended.set()
    thread.join()
    assert found == [6.0]
    assert not x.requires_grad


def test_accumulators_of_several_threads_share_a_primal():
    x, barrier, found = rg.tensor(3.0), threading.Barrier(4), {}

    def work(scale):
        for _ in range(50):
            with rg.ForwardAccumulator(x, rg.tensor(float(scale))) as forward:
                y = x * x
            found.setdefault(scale, set()).add(forward.jvp(y).item())
            barrier.wait()

    run(*[lambda s=s: work(s) for s in range(1, 5)])
    assert found == {s: {6.0 * s} for s in range(1, 5)}
    assert x._tangents is None


# -- transforms ------------------------------------------------------------------------------------


def derivative(x):
    """The gradient of a sum of cubes, by a tape."""
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = (x**3).sum()
    return tape.gradient(y, x)


def test_a_tape_inside_of_a_transform():
    x = rg.tensor([1.0, 2.0])
    assert rg.func.jacrev(derivative)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert rg.func.jacfwd(derivative)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert rg.func.grad(lambda x: derivative(x).sum())(x).tolist() == [6.0, 12.0]
    assert rg.vmap(derivative)(rg.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[3, 12], [27, 48]]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x: rg.func.grad(f)(x),
        lambda f, x: rg.func.vjp(f, x)[1](rg.tensor(1.0))[0],
        lambda f, x: rg.stack([rg.func.jvp(f, (x,), (e,))[1] for e in rg.eye(2)]),
        lambda f, x: rg.func.jacfwd(f)(x),
        lambda f, x: rg.autograd.functional.jacobian(f, x, create_graph=True),
    ],
)
def test_a_transform_inside_of_a_tape(transform):
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = transform(lambda x: (x**3).sum(), x)
    assert y.tolist() == [3.0, 12.0]
    assert tape.gradient(y, x).tolist() == [6.0, 12.0]


def test_autograd_grad_inside_of_a_tape_is_recorded_with_create_graph():
    x = variable([1.0, 2.0])
    with rg.GradientTape() as tape:
        (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    assert tape.gradient(g, x).tolist() == [6.0, 12.0]


def test_a_tape_agrees_with_autograd_on_a_long_chain():
    x = variable(np.linspace(0.1, 1.0, 7))
    with rg.GradientTape() as tape:
        y = x
        for _ in range(2000):
            y = (y * 1.001).sin() + 0.01 * x
        z = y.sum()
    (expected,) = rg.autograd.grad(z, x, retain_graph=True)
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), expected.numpy())
