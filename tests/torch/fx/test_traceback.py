"""What nodes keep of what is current while they are made; the values are PyTorch's."""

from __future__ import annotations

import retrograd as rg
from retrograd import nn
from retrograd.torch import fx
from retrograd.torch.fx import traceback


class Net(nn.Module):
    def forward(self, x):
        with traceback.annotate({"a": 1}):
            y = x + 1
        return y * 2


def metas(traced):
    return {node.name: node.meta for node in traced.graph.nodes}


def test_notes_go_into_the_nodes_where_they_are_preserved():
    with traceback.preserve_node_meta():
        traced = fx.symbolic_trace(Net())
    assert metas(traced) == {"x": {}, "add": {"custom": {"a": 1}}, "mul": {}, "output": {}}
    assert metas(fx.symbolic_trace(Net()))["add"] == {}


def test_notes_add_to_those_around_them():
    with traceback.annotate({"a": 1, "b": 1}), traceback.annotate({"b": 2}):
        assert traceback.get_current_meta() == {"custom": {"a": 1, "b": 2}}
    assert traceback.get_current_meta() == {}


def test_a_transformed_graph_keeps_the_notes_of_the_old_one():
    traced = fx.symbolic_trace(Net())
    for node in traced.graph.nodes:
        node.meta.update(custom={"of": node.name}, stack_trace="here", other=3)
    made = metas(fx.Transformer(traced).transform())
    assert made["add"] == {"custom": {"of": "add"}, "stack_trace": "here"}
    assert made["add"]["custom"] is not metas(traced)["add"]["custom"]


def test_an_interpreter_shows_what_the_node_keeps():
    seen = []

    class Seen(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            seen.append(dict(traceback.get_current_meta()))
            return super().call_function(target, args, kwargs)

    traced = fx.symbolic_trace(Net())
    for node in traced.graph.nodes:
        node.meta["custom"] = node.name
    Seen(traced).run(rg.ones(1))
    with traceback.preserve_node_meta():
        Seen(traced).run(rg.ones(1))
    assert seen == [{}, {}, {"custom": "add"}, {"custom": "mul"}]


def test_the_stack_is_what_was_set():
    assert "test_the_stack_is_what_was_set" in "".join(traceback.format_stack())
    with traceback.preserve_node_meta():
        assert traceback.format_stack() == [""]
        traceback.set_stack_trace(["a", "b"])
        assert traceback.format_stack() == ["ab"]
        traceback.set_stack_trace([])
        assert traceback.get_current_meta() == {}
    traceback.set_stack_trace(["a"])
    assert traceback.get_current_meta() == {}


def test_a_node_may_know_the_lines_that_made_it():
    node = next(iter(fx.symbolic_trace(lambda x: x.sin()).graph.nodes))
    assert node.stack_trace is None
    node.stack_trace = "line 3"
    assert (node.stack_trace, node.meta["stack_trace"]) == ("line 3", "line 3")
