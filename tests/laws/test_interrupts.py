"""Modes unwind on every exception, also on one that strikes while they are being left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

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
# `set_grad_enabled(False)` changes the mode when it is made, for good if it is not entered.
ENTERED = {name: each for name, each in PROGRAMS.items() if name != "set_grad_enabled"}
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
@pytest.mark.parametrize("program", ENTERED.values(), ids=ENTERED)
@pytest.mark.parametrize("name", ["change", "sum_up"])
def test_modes_unwind_when_an_interrupt_strikes_as_they_change(name, program, monkeypatch):
    function, calls, strike_at = getattr(modes, name), 0, 0

    def struck(*args, **fields):
        nonlocal calls
        calls += 1
        if calls == strike_at:
            raise KeyboardInterrupt("struck")
        return function(*args, **fields)

    monkeypatch.setattr(modes, name, struck)
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


# -- the first use of a family ---------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def run_fresh(*command):
    """What a fresh interpreter prints, which has loaded nothing of the package."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_first_uses(module, least):
    strikes = os.environ.get("RETROGRAD_STRIKES", "3")
    found = json.loads(run_fresh("-m", module, strikes))
    assert found["failed"] == []
    assert found["struck"] > least


def test_a_first_use_that_is_struck_anywhere_leaves_the_next_one_right(tmp_path, monkeypatch):
    """`RETROGRAD_STRIKES` says how many lines of each first use are struck, 0 every one: hours."""
    monkeypatch.setenv("PLACE", str(tmp_path))
    check_first_uses("tests.laws.first_uses", 300)


IMPORTED_AGAIN = """
import importlib.util, os, sys, numpy
home = os.path.dirname(importlib.util.find_spec("retrograd").origin)
count, at = 0, 0

def trace(frame, event, arg):
    global count
    if not frame.f_code.co_filename.startswith(home):
        return None
    count += event == "line"
    if event == "line" and count == at:
        raise KeyboardInterrupt
    return trace

def use():
    import retrograd as rg
    x = rg.tensor([0.0, 1.0], requires_grad=True)
    y = x.clone()
    y[0] = 3
    (y.exp() * x).view(2).sum().backward()
    return x.grad.tolist()

def in_a_child():
    sys.settrace(trace)
    try:
        import retrograd
    except KeyboardInterrupt:
        pass
    sys.settrace(None)
    print(count, use(), flush=True)
    os._exit(0)

for at in [10**9, *range(97, 10**9, 2391)]:
    reader, writer = os.pipe()
    if not os.fork():
        os.dup2(writer, 1)
        in_a_child()
    os.close(writer)
    said = open(reader).read()
    print(said, end="")
    if int(said.split()[0]) < at < 10**9:
        break
"""


def test_an_import_that_is_struck_anywhere_is_made_good_by_the_next():
    whole, *struck = run_fresh("-c", IMPORTED_AGAIN).splitlines()
    expected = whole.partition(" ")[2]
    assert len(struck) > 10
    assert {line.partition(" ")[2] for line in struck} == {expected}


# -- a second copy ---------------------------------------------------------------------------------

COPIES = """
import sys, warnings
import retrograd as first

def use(rg):
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = (x * x)[0].view(2)
    y.sum().backward()
    z = x.detach().clone()
    z.view(-1)[1:].add_(1)
    z[0] = 7
    return repr(z), x.grad.tolist()

expected = use(first)
for name in [name for name in sys.modules if name.partition(".")[0] == "retrograd"]:
    del sys.modules[name]
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import retrograd as second
assert second is not first
for rg in (second, first, second, first):
    assert use(rg) == expected, use(rg)
assert use(second.exp(second.zeros(1)).__class__ and second) == expected
try:
    first.exp(first.zeros(1))
except ImportError as error:
    print(error)
print(len(told), *[each.message for each in told])
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_two_copies_of_the_package_work_beside_each_other(native, monkeypatch):
    monkeypatch.setenv("RETROGRAD_NATIVE", native)
    refused, told = run_fresh("-c", COPIES).splitlines()
    assert "this copy of retrograd cannot load" in refused
    assert "import retrograd" in refused
    if native == "1" and rg.engine.native.native is not None:
        assert told.startswith("1 ")
        assert "another copy" in told
    else:
        assert told == "0"


def test_a_reload_of_the_package_changes_nothing():
    code = (
        "import importlib, retrograd as rg\n"
        "x = rg.ones(2, requires_grad=True)\n"
        "again = importlib.reload(rg)\n"
        "(again.exp(x) * x).sum().backward()\n"
        "print(again is rg, isinstance(x, again.Tensor), x.grad.tolist() == (2 * x.exp()).tolist())"
    )
    assert run_fresh("-c", code).split() == ["True", "True", "True"]
