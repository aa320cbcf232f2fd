"""Named blocks of a profile become part of a traced graph by operators."""

from __future__ import annotations

import retrograd as rg
from retrograd.torch import fx
from retrograd.torch.library import profiler


def test_a_graph_holds_the_begin_and_the_end_of_a_named_block():
    graph = fx.Graph()
    x = graph.placeholder("x")
    handle = graph.call_function(profiler._record_function_enter, ("mine",))
    out = graph.call_function(rg.relu, (x,))
    graph.call_function(profiler._record_function_exit, (handle,))
    graph.output(out)
    module = fx.GraphModule({}, graph)
    with rg.autograd.profiler.profile() as seen:
        module(rg.ones(2))
    assert [(e.name, [c.name for c in e.cpu_children]) for e in seen.function_events] == [
        ("mine", ["relu"]),
        ("relu", []),
    ]


def test_the_end_of_a_block_is_recorded_when_its_handle_is_a_proxy():
    tracer = fx.Tracer()

    class Net(rg.nn.Module):
        def forward(self, x):
            handle = tracer.create_proxy(
                "call_function", profiler._record_function_enter, ("mine",), {}
            )
            profiler._record_function_exit(handle)
            return x

    targets = [node.target for node in tracer.trace(Net()).nodes]
    assert profiler._record_function_exit in targets
