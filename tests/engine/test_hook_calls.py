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
    rows = table("### Which hooks fire for which call")
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
