"""An error in a formula, a hook or a tangent says where it happened, in one note."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.engine.registry import OPS

UNTRACED = "No forward pass information available"


def leaf():
    return rg.tensor([1.0, 2.0], requires_grad=True)


def fail(*args):
    return np.ones(2) + np.ones(3)  # NumPy's own message, which names no op


@pytest.fixture
def broken(monkeypatch):
    """`sin`, whose formula fails as NumPy does."""
    op = OPS["sin"]
    monkeypatch.setattr(op, "formulas", (fail,))
    monkeypatch.setattr(op, "derivative", fail)


def note_of(program, kind=ValueError, text="could not be broadcast"):
    """The one note of the error that a program raises."""
    with pytest.raises(kind, match=text) as caught:
        program()
    (note,) = caught.value.__notes__
    return note


def test_a_formula(broken):
    note = note_of(lambda: (leaf() * 1).sin().sum().backward())
    assert note.startswith("Error detected in SinBackward0 (op sin). " + UNTRACED)


@pytest.mark.parametrize(
    "run",
    [
        lambda y, x: y.backward(create_graph=True),
        lambda y, x: autograd.grad(y, x),
        lambda y, x: (y * 1).register_hook(lambda g: g) and y.backward(),
        lambda y, x: autograd.backward([y, y * 2]),
    ],
    ids=["create_graph", "grad", "hooks", "roots"],
)
def test_a_formula_however_the_pass_is_run(broken, run):
    x = leaf()
    y = (x * 1).sin().sum()
    assert "SinBackward0 (op sin)" in note_of(lambda: run(y, x))


def test_in_anomaly_mode_the_note_has_the_line(broken):
    with autograd.set_detect_anomaly(True):
        y = leaf().sin().sum()  # the line to be found
        with pytest.warns(UserWarning, match="Error detected in SinBackward0") as warned:
            note = note_of(y.backward)
    assert "the line to be found" in note
    assert warned[0].filename == __file__


def test_the_trace_of_the_forward_is_told_without_the_mode_in_the_backward(broken):
    with autograd.set_detect_anomaly(True):
        y = leaf().sin().sum()  # the line to be found
    assert "the line to be found" in note_of(y.backward)


@pytest.mark.parametrize(
    ("name", "program"),
    [("cat", lambda: rg.cat([leaf(), leaf()])), ("unbind", lambda: rg.stack(leaf().unbind()))],
)
def test_a_formula_of_many_inputs_and_one_of_many_outputs(monkeypatch, name, program):
    y = program().sum()
    op = OPS[name]
    monkeypatch.setattr(op, "formulas", (fail,) * len(op.formulas))
    assert f"(op {name})" in note_of(y.backward)


def test_a_function_of_the_users():
    class Mine(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    note = note_of(Mine.apply(leaf()).sum().backward, KeyError, "mine")
    assert note.startswith("Error detected in MineBackward (op")


def test_the_innermost_of_nested_passes(broken):
    class Nested(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with rg.enable_grad():
                leaf().sin().sum().backward()

    assert "SinBackward0" in note_of(Nested.apply(leaf()).sum().backward)


def hooked(register):
    x = leaf()
    y = x * 1
    register(x, y)
    return lambda: (y.sum().backward(), x)


HOOKS = {
    "tensor hook": lambda x, y: y.register_hook(fail),
    "hook": lambda x, y: y.grad_fn.register_hook(fail),
    "pre-hook": lambda x, y: y.grad_fn.register_prehook(fail),
    "post-accumulate-grad hook": lambda x, y: x.register_post_accumulate_grad_hook(fail),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_hook(kind):
    note = note_of(hooked(HOOKS[kind]))
    assert note.startswith(f"Error detected in the {kind} fail, ")
    assert f"{__file__}:" in note


def test_a_hook_of_a_leaf_and_one_that_has_no_name():
    class Hook:
        def __call__(self, g):
            raise KeyError("my")

        def __repr__(self):
            return "<my hook>"

    note = note_of(hooked(lambda x, y: x.register_hook(Hook())), KeyError, "my")
    assert note == "Error detected in the tensor hook <my hook>"


def test_a_tangent(broken):
    note = note_of(lambda: rg.func.jvp(rg.sin, (rg.ones(2),), (rg.ones(2),)))
    assert note == "Error detected in the forward derivative of op sin"


def test_accumulation():
    x = leaf()
    y = (x * 1).sum()
    x.grad = rg.ones(2)
    x.grad._array = np.ones((2, 3))
    with pytest.raises(RuntimeError, match="invalid gradient") as caught:
        y.backward()
    assert caught.value.__notes__[0].startswith(
        "Error detected in torch::autograd::AccumulateGrad (op leaf)"
    )


@pytest.mark.parametrize("hooked", [False, True])
def test_accumulation_into_a_gradient_of_another_shape(hooked):
    x = rg.ones(2, requires_grad=True)
    y = (x * 2).sum()
    if hooked:
        y.register_hook(lambda g: g * 2)
    x.grad = rg.ones(2)
    x.grad.data = rg.ones(3)
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert "AccumulateGrad (op leaf)" in caught.value.__notes__[0]


def test_errors_that_name_the_node_need_no_note():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="MulBackward0") as caught:
        y.backward()
    assert not hasattr(caught.value, "__notes__")
    y = (x * x).sum()
    with rg.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="MulBackward0") as caught:
        y.backward()
    assert not hasattr(caught.value, "__notes__")


def test_an_interruption_passes_as_it_is():
    def interrupt(g):
        raise KeyboardInterrupt

    x = leaf()
    y = x * 1
    y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        y.sum().backward()
    assert not hasattr(caught.value, "__notes__")


def test_an_exception_that_takes_no_notes_is_raised_all_the_same():
    class Bare(Exception):
        def add_note(self, note):
            raise TypeError

    def hook(g):
        raise Bare

    x = leaf()
    x.register_hook(hook)
    with pytest.raises(Bare):
        (x * 1).sum().backward()
