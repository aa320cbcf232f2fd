"""The graph as text, SVG and data: what its nodes say, and that it keeps nothing alive."""

from __future__ import annotations

import gc
import json
import re
import weakref
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.viz.layout import node_positions


def data(picture):
    """What the page holds."""
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', picture.html)[1]
    return json.loads(text)


def boxes(picture):
    return {box["label"]: box for box in data(picture)["boxes"]}


def test_a_graph_is_written_down_newest_first_with_what_each_node_saves():
    w = rg.ones(2, 3, requires_grad=True)
    x = rg.ones(3)
    text = str(rg.viz.graph((w @ x).exp().sum(), {"w": w}))
    assert text.splitlines() == [
        "graph of 4 nodes, 1 of them leaves; 8 B saved, leaves and constants not counted",
        "3  Sum  float32 ()   from 2",
        "2  Exp  float32 2    from 1  saves out float32 2",
        "1  Mv   float32 2    from 0  saves vec float32 3 (constant)",
        "0  w    float32 2×3",
    ]


def test_what_a_recording_saw_is_told_after_the_backward_pass_has_freed_it():
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    with rg.viz.recording() as seen:
        net(rg.ones(1, 3)).sum().backward()
    found = boxes(rg.viz.graph(seen.root))
    assert found["Tanh"]["module"] == "Sequential.1"
    assert found["Tanh"]["saved"] == ["out: float32 1×2, 8 B"]
    assert re.fullmatch(r".*test_graph\.py:\d+", found["Tanh"]["line"])
    assert found["Tanh"]["norm"] == pytest.approx(2**0.5)
    assert found["0.weight"]["leaf"]
    assert all(box["seconds"] > 0 for box in found.values() if not box["leaf"])


def test_the_norm_of_a_gradient_is_that_of_the_leaf():
    x = rg.tensor([3.0, 4.0], requires_grad=True)
    with rg.viz.recording() as seen:
        (x * x).sum().backward()
    found = boxes(rg.viz.graph(seen.root, {"x": x}))
    assert found["x"]["norm"] == pytest.approx(10.0)


def test_what_a_recording_saw_of_a_leaf_is_told_of_its_own_graphs_only():
    x = rg.tensor([3.0, 4.0], requires_grad=True)
    with rg.viz.recording():
        seen = (x * x).sum()
        seen.backward()
    assert boxes(rg.viz.graph(seen, {"x": x}))["x"]["norm"] == pytest.approx(10.0)
    later = boxes(rg.viz.graph((x * 0).sum(), {"x": x}))["x"]
    assert (later["norm"], later["line"], later["module"]) == (None, "", "")


def test_an_overwritten_value_says_who_wrote():
    x = rg.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sum()
    y.detach().mul_(2)
    found = boxes(rg.viz.graph(z))
    assert found["Exp"]["written"] == ["out overwritten by mul_"]
    assert found["Sum"]["written"] == []


def test_a_custom_function_and_an_op_with_several_outputs_have_boxes():
    class Twice(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = rg.ones(4, 4, requires_grad=True)
    q, r = rg.linalg.qr(Twice.apply(x) + rg.eye(4))
    found = boxes(rg.viz.graph([q.sum(), r.sum()]))
    assert found["Twice"]["saved"] == ["value 0: float32 4×4, 64 B, a leaf"]
    assert found["LinalgQr"]["kind"] == "float32 4×4, float32 4×4"
    assert (
        sum(box["title"] == "Sum" for box in data(rg.viz.graph([q.sum(), r.sum()]))["boxes"]) == 2
    )


def test_values_that_share_memory_count_once_in_the_total():
    x = rg.ones(100, requires_grad=True)
    y = x.exp()
    assert "; 400 B saved, leaves" in str(rg.viz.graph((y * y).sum()))


def test_names_that_look_like_tags_stay_text():
    x = rg.ones(1, requires_grad=True)
    picture = rg.viz.graph(x * 2, {"</script><b>": x})
    assert "</script><b>" not in picture.html
    assert "</script><b>" in boxes(picture)
    ElementTree.fromstring(picture.svg)


def test_a_picture_keeps_nothing_of_the_graph():
    x = rg.ones(2, requires_grad=True)
    y = x.exp()
    seen = weakref.ref(y.grad_fn)
    picture = rg.viz.graph(y)
    gc.disable()
    try:
        del y
        assert seen() is None
    finally:
        gc.enable()
    assert "Exp" in str(picture)


def test_recording_changes_no_result_and_leaves_no_hook():
    def result():
        rg.manual_seed(1)
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(32, 2))
        net(rg.randn(2, 1, 6, 6)).square().sum().backward()
        return [p.grad for p in net.parameters()]

    before = result()
    with rg.viz.recording():
        within = result()
    for a, b in zip(before, within, strict=True):
        assert rg.equal(a, b)
    assert not nn.Module._hooks.forward
    assert not nn.Module._hooks.forward_pre


def test_a_tensor_without_graph_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"a tensor of shape \(2,\) has no grad_fn"):
        rg.viz.graph(rg.ones(2))
    with pytest.raises(TypeError, match=r"takes a tensor, a grad_fn or a list of them, not int"):
        rg.viz.graph(3)


def test_a_picture_is_saved_by_the_ending_of_its_name(tmp_path):
    picture = rg.viz.graph(rg.ones(1, requires_grad=True).exp())
    assert picture.save(tmp_path / "a.html").read_text() == picture.html
    assert picture.save(str(tmp_path / "a.txt")).read_text() == f"{picture}\n"
    with pytest.raises(
        ValueError, match=r"not as 'a.png': for example 'a.svg', which a browser shows and prints"
    ):
        picture.save("a.png")


def test_a_notebook_shows_the_page_in_a_frame():
    picture = rg.viz.graph(rg.ones(1, requires_grad=True).exp())
    assert picture._repr_html_().startswith("<iframe style=")
    assert "srcdoc=" in picture._repr_html_()


def test_nodes_of_a_row_are_apart_and_stand_above_their_users():
    edges = [[1, 2, 3], [4], [4, 5], [5], [], []]
    spots = node_positions(edges)
    for node, targets in enumerate(edges):
        assert all(spots[node][1] > spots[each][1] for each in targets)
    for row in {row for _, row in spots}:
        columns = sorted(column for column, r in spots if r == row)
        assert all(b - a >= 1 - 1e-9 for a, b in pairwise(columns))


def test_a_chain_stands_in_one_column():
    assert {column for column, _ in node_positions([[1], [2], [3], []])} == {0.0}


def test_a_box_says_its_op_its_formula_and_what_it_saves():
    x = rg.ones(2, 3, requires_grad=True)
    w = rg.ones(4, 3, requires_grad=True)
    picture = rg.viz.graph(nn.functional.linear(x, w).relu() * 2)
    found = boxes(picture)
    assert "op linear, saves input float32 2×3 (leaf)" in str(picture)
    assert "saves other float32 () (constant)" in str(picture)
    assert found["Mm"]["op"] == "linear"
    formulas = data(picture)["formulas"]
    assert "weight: g.T @ conj(input)" in " ".join(formulas[found["Mm"]["record"]])
    relu, gate = formulas["relu"]
    assert relu == "input: gate(g, out)"
    assert gate.startswith("(gate: input with zeros where signal is not positive")
    assert found["Relu"]["op"] == ""
    assert ">saves out</text>" in picture.svg
    assert repr(picture) == str(picture)
