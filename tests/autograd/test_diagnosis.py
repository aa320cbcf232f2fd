"""What errors say about where a program went wrong, beyond PyTorch's words."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.function import Function
from retrograd.errors import SecondBackwardError, VersionError


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_a_second_pass_through_the_same_graph_is_told_to_retain_it():
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(
        SecondBackwardError, match="An earlier pass went through the same graph"
    ) as e:
        y.backward()
    assert "The first freed value belongs to MulBackward0" in str(e.value)
    assert "retain_graph=True" in str(e.value)
    with pytest.raises(SecondBackwardError, match="An earlier pass went through the same graph"):
        autograd.grad(y, x)


def test_a_state_carried_over_from_a_freed_graph_is_told_to_be_detached():
    w = leaf(0.5)

    def step(state):
        state = (w * state).tanh()
        (state * state).sum().backward()
        return state

    state = step(leaf(1.0) * 1)
    with pytest.raises(SecondBackwardError, match="The graph looks loop-carried") as caught:
        step(state)
    assert "state = state.detach()" in str(caught.value)


def test_in_anomaly_mode_the_first_freed_node_says_where_it_was_recorded():
    with autograd.set_detect_anomaly(True):
        x = leaf(3)
        y = x * x  # the square
        y.backward()
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(SecondBackwardError, match="the square"),
        ):
            y.backward()


def saving(a):
    return a * a  # saved here


def test_in_anomaly_mode_a_version_error_shows_the_lines_that_saved_and_wrote():
    with autograd.set_detect_anomaly(True):
        a = leaf(1, 2) * 1
        y = saving(a)  # called here
        a.mul_(2)  # written here
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0") as warned,
            pytest.raises(VersionError) as caught,
        ):
            y.sum().backward()
    text = str(caught.value)
    assert "# called here" in str(warned[0].message)  # which has all frames: none stands twice
    assert text.count("  File ") == 2
    assert "# saved here" in text
    assert "written by mul_. Write out of place" in text
    assert "mul_ was called at:\n" in text
    assert "# written here" in text


def test_in_anomaly_mode_lines_begin_in_the_users_program():
    def run():
        with autograd.set_detect_anomaly(True):
            found.append((leaf(1, 2) * 1).grad_fn.trace)

    found = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0].count("  File ") == 1
    assert "found.append((leaf(1, 2) * 1).grad_fn.trace)" in found[0]


@pytest.mark.parametrize("writer", ["zero_()", "add_(1)", "copy_(b)", "index_put_(i, b)"])
def test_every_writer_is_named(writer):
    a, b = leaf(1, 2) * 1, rg.ones(2, dtype=rg.float64)
    y = a * a
    with rg.no_grad():
        eval("a." + writer, {"a": a, "b": b, "i": (rg.tensor([0, 1]),)})
    with pytest.raises(VersionError, match="written by " + writer.partition("(")[0]):
        y.sum().backward()


@pytest.mark.parametrize("several", [True, False])
def test_in_anomaly_mode_errors_about_views_show_the_line_that_made_them(several):
    with autograd.set_detect_anomaly(True):
        t = leaf(1, 2) * 1
        if several:
            view = t.unbind()[0]  # the view is made here
        else:
            with rg.no_grad():
                view = t[0]  # the view is made here
        with pytest.raises(RuntimeError, match="modified inplace") as caught:
            view.mul_(2)
    text = str(caught.value)
    assert "# the view is made here" in text
    assert ("y = view.mul(...)" if several else "view = base[...]; view.mul_(...)") in text


def test_needs_input_grad_is_about_the_pass_that_runs():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            wanted = ctx.needs_input_grad
            return g * y if wanted[0] else None, g * x if wanted[1] else None

    x, y = leaf(2), leaf(3)
    z = Product.apply(x, y)
    assert autograd.grad(z, y, retain_graph=True)[0].tolist() == [2]
    z.backward(inputs=[x], retain_graph=True)
    z.backward()
    assert seen == [(False, True), (True, False), (True, True)]
    assert (x.grad.tolist(), y.grad.tolist()) == ([6], [2])


def test_python_numbers_are_never_packed():
    def refuse(value):
        raise AssertionError("a hook saw a number")

    x = leaf(1, 2)
    with autograd.graph.saved_tensors_hooks(refuse, refuse):
        y = (x * 3).sum()
    assert autograd.grad(y, x)[0].tolist() == [3, 3]


def test_grad_fn_of_a_function_keeps_the_graph_alive():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = leaf(5)
    node = Twice.apply(x * 1).grad_fn
    assert node.saved_tensors[0].tolist() == [5]
    assert [edge.name() for edge, _ in node.next_functions] == ["MulBackward0"]
    edge = autograd.graph.GradientEdge(node, 0)
    (g,) = autograd.grad(edge, x, rg.ones(1, dtype=rg.float64))
    assert g.tolist() == [2]


def test_grad_takes_and_gives_dicts():
    x, y = leaf(2), leaf(3)
    found = autograd.grad(x * y, {"x": x, "y": y})
    assert {name: g.item() for name, g in found.items()} == {"x": 3, "y": 2}


def test_gradients_of_scalars_accumulate():
    x = rg.tensor(2.0, requires_grad=True)
    (x * x).backward()
    (x * x).backward()
    assert x.grad.item() == 8


STEP = "rg.optim.SGD([w], lr=1.0).step()"
COPY = "y = y.clone()"
# A write to what a node saved; and, with words of the message, what it advises in its place.
ADVICE = {
    "y += 1": {"y = y + value for y += value": "y = y + 1", COPY: f"{COPY}; y += 1"},
    "y -= 1": {"y = y - value for y -= value": "y = y - 1"},
    "y **= 2": {"y = y ** value for y **= value": "y = y ** 2"},
    "y.mul_(2)": {"y = y.mul(...) for y.mul_(...)": "y = y.mul(2)", COPY: f"{COPY}; y.mul_(2)"},
    "y.clamp_(0.5)": {"y = y.clamp(...)": "y = y.clamp(0.5)", COPY: f"{COPY}; y.clamp_(0.5)"},
    "y.zero_()": {"y = y.clone() just before y.zero_": f"{COPY}; y.zero_()"},
    "y.copy_(w + 2)": {"y = y.clone() just before y.copy_": f"{COPY}; y.copy_(w + 2)"},
    "y[0] = 1.0": {"y = y.clone() just before y[key] = value": f"{COPY}; y[0] = 1.0"},
    "y[y > 0] = 1.0": {"written by y[key] = value": f"{COPY}; y[y > 0] = 1.0"},
    "y[0].mul_(2)": {COPY: f"{COPY}; y[0].mul_(2)"},
    "rg.add(w.detach(), 1, out=y.detach())": {"y = add(...)": "y = rg.add(w.detach(), 1)"},
    STEP: {
        "backward() before step()": f"z.sum().backward(); {STEP}",
        "compute the result again": f"{STEP}; y = w.exp(); z = y * w",
    },
    "rg.nn.init.ones_(w)": {"run the forward pass again": "rg.nn.init.ones_(w); z = w.exp() * w"},
    "w.data = rg.ones(2)": {"Do that before": "w.data = rg.ones(2); y = w.exp(); z = y * w"},
}


@pytest.mark.parametrize("write", ADVICE)
def test_what_an_error_about_a_write_advises_works(write):
    def run(lines):
        names = {"rg": rg, "w": rg.zeros(2, requires_grad=True)}
        names["w"].grad = rg.ones(2)
        exec(f"y = w.exp(); z = y * w; {lines}; total = (y + z).sum()", names)
        return names["total"]

    with pytest.raises(VersionError) as caught:
        run(write).backward()
    for words, lines in ADVICE[write].items():
        assert words in str(caught.value)
        total = run(lines)
        if "backward()" not in lines:
            total.backward()


LEAF = "overwrite the value whose gradient is wanted. Write out of place (y = "
PART = "overwrite part of the leaf. Work on a copy (leaf.clone()), or, "
SAME = "to change the leaf itself: with retrograd.no_grad(): "
# A write that is refused; and what the error says of it.
REFUSED = {
    "w += 1": f"operation. x += value would {LEAF}x + value), or, {SAME}x += value",
    "w.add_(1)": f"operation. x.add_(...) would {LEAF}x.add(...)), or, {SAME}x.add_(...)",
    "w.copy_(w)": f"x.copy_(...) would {LEAF}x.clone(); y.copy_(...)), or, {SAME}x.copy_(...)",
    "w.zero_()": f"x.zero_(...) would {LEAF}x.clone(); y.zero_(...)), or, {SAME}x.zero_(...)",
    "w[w > 0] = 1": f"x[key] = value would {LEAF}x.clone(); y[key] = value), or, {SAME}x[key] = ",
    "w[0] = 1": f"operation. x[key] = value would {PART}{SAME}x[key] = value",
    "w[0] *= 2": f"operation. x *= value would {PART}{SAME}x *= value",
    "(w * 1).unbind()[0][...] = 1": "out-of-place one: y = view.clone(); y[key] = value",
    "v = (w * 1).unbind()[0]; v -= 1": "out-of-place one: y = view - value",
    "fixed[0] = 1": "y[key] = value: the written-to tensor of shape []",
}


@pytest.mark.parametrize("write", REFUSED)
def test_an_error_about_a_refused_write_names_it_as_it_is_written(write):
    fixed = rg.from_numpy(np.broadcast_to(np.float32(0), (1,)).view())
    with pytest.raises(RuntimeError) as caught:
        exec(write, {"w": rg.ones(2, requires_grad=True), "fixed": fixed})
    assert REFUSED[write] in str(caught.value)
