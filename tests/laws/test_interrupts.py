"""Modes unwind on every exception, also on one that strikes while they are being left."""

from __future__ import annotations

import contextlib

import pytest

import retrograd as rg
from retrograd import modes
from retrograd.autograd import forward_ad, functional
from retrograd.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
)
from retrograd.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = rg.tensor([[1.0, 2.0], [3.0, 4.0]])


def within(*makers):
    """A program that calls a function within contexts, and runs backward through it."""

    def run(f):
        with contextlib.ExitStack() as stack:
            for make in makers:
                stack.enter_context(make())
            out = f(X.clone().requires_grad_())
            if out.requires_grad:
                out.backward()

    return run


def dual(f):
    with forward_ad.dual_level():
        return f(forward_ad.make_dual(X, X))


def checkpointed(f):
    x = X.clone().requires_grad_()
    rg.utils.checkpoint.checkpoint(f, x, use_reentrant=False).backward()


def decorated_generator(f):
    @rg.no_grad()
    def steps():
        yield f(X)

    list(steps())


def taped(f):
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(X)
        with tape.stop_recording():
            f(X)
        out = f(X)
        tape.gradient(out, X)


def accumulated(f):
    with rg.ForwardAccumulator(X, X) as forward, rg.GradientTape() as tape:
        tape.watch(X)
        out = rg.custom_gradient(lambda x: (f(x), lambda g: g * x))(X)
        forward.jvp(tape.gradient(out, X))


def forward_columns(f):
    how = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    return functional.hessian(f, X, **how)


PROGRAMS = {
    "no_grad": within(rg.no_grad),
    "enable_grad in no_grad": within(rg.no_grad, rg.enable_grad),
    "inference_mode": within(rg.inference_mode),
    "set_grad_enabled": within(lambda: rg.set_grad_enabled(False)),
    "a decorated generator": decorated_generator,
    "anomaly": within(rg.autograd.detect_anomaly),
    "saved hooks": within(save_on_cpu, save_on_cpu),
    "disabled hooks": within(lambda: disable_saved_tensors_hooks("no")),
    "mutation": within(allow_mutation_on_saved_tensors),
    "profile": within(rg.autograd.profiler.profile),
    "checkpoint": checkpointed,
    "dual_level": dual,
    "a tape": taped,
    "an accumulator and a tape": accumulated,
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "jvp of jvp": lambda f: jvp(lambda x: jvp(f, (x,), (x,))[1], (X,), (X,)),
    "grad": lambda f: grad(f)(X),
    "vjp": lambda f: vjp(f, X),
    "linearize": lambda f: linearize(f, X),
    "vmap": lambda f: vmap(f)(X),
    "vmap of grad": lambda f: vmap(grad(f))(X),
    "jacrev": lambda f: jacrev(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "functional.jacobian": lambda f: functional.jacobian(f, X, vectorize=True),
    "functional.hessian": forward_columns,
    "functional.vhp": lambda f: functional.vhp(f, X, X),
}
FIELDS = [name for name, value in vars(modes.State).items() if name[0] != "_" and name != "member"]


def assert_defaults():
    changed = {name for name in FIELDS if getattr(modes.state, name) != getattr(modes.State, name)}
    assert not changed
    assert modes.special == 0
    assert not X.requires_grad  # which tapes lend it a leaf for


def sines(x):
    return (x.sin() * x).sum()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, ZeroDivisionError])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_modes_unwind_when_the_function_raises(program, kind):
    def struck(x):
        sines(x)
        raise kind("struck")

    with pytest.raises(kind, match="struck"):
        program(struck)
    assert_defaults()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "set_grad_enabled"])
def test_modes_unwind_when_an_interrupt_strikes_as_they_change(name, monkeypatch):
    # `set_grad_enabled(False)` changes the mode when it is made, for good if it is not entered.
    program = PROGRAMS[name]
    change, calls, strike_at = modes.change, 0, 0

    def struck(**fields):
        nonlocal calls
        calls += 1
        if calls == strike_at:
            raise KeyboardInterrupt("struck")
        return change(**fields)

    monkeypatch.setattr(modes, "change", struck)
    program(sines)
    for strike_at in range(1, calls + 1, max(1, calls // 50)):  # noqa: B007 (read by `struck`)
        calls = 0
        with pytest.raises(KeyboardInterrupt, match="struck"):
            program(sines)
        assert_defaults()


@pytest.mark.parametrize("wrap", [rg.no_grad(), rg.inference_mode()], ids=["no_grad", "inference"])
def test_a_decorated_generator_holds_its_mode_only_while_it_runs(wrap):
    @wrap
    def steps():
        try:
            yield (X * rg.ones(1, requires_grad=True)).requires_grad
        finally:
            seen.append(rg.is_grad_enabled())

    seen = []
    running = steps()
    assert next(running) is False
    assert_defaults()
    running.close()
    assert seen == [False]
    assert_defaults()
