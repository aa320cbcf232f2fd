"""Which hooks fire for which call: as in PyTorch, event by event, and as the documentation says."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import retrograd as rg

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("hook_calls", DATA / "make_hook_calls.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
EVENTS = json.loads((DATA / "hook_calls.json").read_text())
PAGE = Path(__file__).parents[2] / "docs" / "autograd.md"


@pytest.mark.parametrize("call", programs.CALLS)
def test_each_call_fires_the_hooks_that_pytorch_fires(call):
    """Order within a branch of the graph is promised; x and w are on different branches."""
    found = programs.plain(rg, call)
    assert found == EVENTS[call]


@pytest.mark.parametrize("which", programs.WRITTEN)
def test_hooks_on_a_tensor_written_in_place_see_what_they_see_in_pytorch(which):
    assert programs.written(rg, which) == EVENTS[f"in place: {which}"]


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_hooks_on_a_written_view_and_its_base_see_what_they_see_in_pytorch():
    assert programs.views(rg, None) == EVENTS["in place: a view"]


def table(title):
    """The rows of the first table after `title` in the page: name -> cells."""
    lines = PAGE.read_text().split(title, 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    head, _, *body = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in body}


def fired(call):
    """The names of the hooks that a call fires, "retain_grad of y" among them."""
    names = [name for name, _ in programs.plain(rg, call)]
    return [re.sub(r"^y\.grad$", "retain_grad of y", name) for name in names]


def test_the_table_in_the_documentation_says_what_happens():
    rows = table("### Which hooks run for which call?")
    calls = {
        "backward()": "backward()",
        "backward(inputs=[x])": "backward(inputs=[x])",
        "backward(inputs=[y])": "backward(inputs=[y])",
        "grad(loss, x)": "grad(x)",
        "grad(loss, y)": "grad(y)",
    }
    kinds = ("tensor hook", "node pre-hook", "node hook", "post-accumulate hook", "retain_grad")
    expected = {f"{kind} of {t}" for kind in kinds for t in "xy"}
    expected -= {"post-accumulate hook of y", "retain_grad of x"}
    assert set(rows) == expected
    for name, cells in rows.items():
        assert list(cells) == list(calls)
        for call, cell in cells.items():
            assert cell.startswith(("yes", "no"))
            assert cell.startswith("yes") == (name in fired(calls[call])), (name, call)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda h, d, s: h * d, [(rg.float16, (2,)), (rg.float64, (2,))]),
        (lambda h, d, s: s + d, [(rg.float32, (1,)), (rg.float64, (2,))]),
        (lambda h, d, s: h.double(), [(rg.float16, (2,))]),
        (lambda h, d, s: rg.cat([h, d]), [(rg.float16, (2,)), (rg.float64, (2,))]),
        (lambda h, d, s: (h * 1).add_(s), [(rg.float16, (2,)), (rg.float32, (1,))]),
    ],
    ids=["mul", "add", "to", "cat", "add_"],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_nodes_see_gradients_as_the_inputs_want_them(function, expected, create_graph):
    half = rg.ones(2, dtype=rg.float16, requires_grad=True)
    double = rg.ones(2, dtype=rg.float64, requires_grad=True)
    single = rg.ones(1, requires_grad=True)
    y = function(half, double, single)
    seen = []
    y.grad_fn.register_hook(lambda grads, _: seen.extend((g.dtype, tuple(g.shape)) for g in grads))
    rg.autograd.grad(y.sum(), (half, double, single), create_graph=create_graph, allow_unused=True)
    assert seen == expected


def test_a_hook_of_a_node_replaces_the_gradient_of_a_broadcast_input():
    x, y = rg.ones(1, requires_grad=True), rg.ones(3, requires_grad=True)
    out = x * y
    out.grad_fn.register_hook(lambda grads, _: (rg.full((1,), 7.0), grads[1]))
    out.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([7.0], [1.0, 1.0, 1.0])


def test_a_leaf_that_is_complete_calls_its_hooks_before_older_nodes_run():
    seen = []
    w, x = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    older = w * 1
    older.register_hook(lambda g: seen.append("older"))
    x.register_hook(lambda g: seen.append(g.tolist()))
    (older + x * 2 + x * 3).sum().backward()
    assert seen == [[5.0, 5.0], "older"]
