"""Graphs and nodes: making, changing, checking, copying, and code."""

from __future__ import annotations

import copy
import gc
import linecache
import operator
import pickle
from collections import namedtuple
from typing import Optional

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import fx
from retrograd.torch.fx.immutable_collections import immutable_list

Pair = namedtuple("Pair", "first second")


def small():
    """x, relu(x), relu(x) + x."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(rg.relu, (x,))
    graph.output(graph.call_function(operator.add, (relu, x)))
    return graph, x, relu


def test_users_and_inputs_follow_the_arguments():
    _, x, relu = small()
    add = next(iter(relu.users))
    assert list(x.users) == [relu, add]
    assert add.all_input_nodes == [relu, x]
    add.args = (x, [x, {"a": relu}])
    assert add.all_input_nodes == [x, relu]
    assert isinstance(add.args[1], immutable_list)
    add.args = (x, 1)
    assert not relu.users


def test_arguments_refuse_to_be_changed_in_place():
    graph, x, _ = small()
    node = graph.call_function(rg.cat, ([x, x],))
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(x)
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["dim"] = 1


def test_every_use_of_a_node_can_be_replaced():
    graph, x, relu = small()
    with graph.inserting_after(relu):
        new = graph.call_function(rg.neg, (x,))
    relu.replace_all_uses_with(new)
    graph.erase_node(relu)
    graph.lint()
    module = fx.GraphModule({}, graph)
    assert module(rg.ones(1)).tolist() == [0.0]


def test_new_nodes_go_where_they_are_put():
    graph, _, relu = small()
    with graph.inserting_before(relu):
        graph.get_attr("a")
        graph.get_attr("b")
    with graph.inserting_after(relu):
        graph.get_attr("c")
        graph.get_attr("d")
    assert [n.name for n in graph.nodes] == ["x", "a", "b", "relu", "c", "d", "add", "output"]
    assert [n.name for n in reversed(graph.nodes)][:2] == ["output", "add"]


def test_the_ring_of_nodes_starts_at_its_root():
    graph = fx.Graph()
    x = graph.placeholder("x")
    assert (x.prev.op, x.next.op) == ("root", "root")


def test_nodes_can_be_moved():
    graph, x, relu = small()
    late = graph.get_attr("late")
    x.append(late)
    assert x.next is late
    assert relu.prev is late
    assert len(list(graph.nodes)) == len(graph.nodes) == 5


def test_a_node_that_is_used_is_not_erased():
    graph, _, relu = small()
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users"):
        graph.erase_node(relu)


def test_what_nothing_uses_is_eliminated_but_inputs_and_effects_stay():
    graph, x, _ = small()
    with graph.inserting_after(x):
        graph.call_function(rg.neg, (graph.call_function(rg.exp, (x,)),))
        graph.call_function(fx.has_side_effect(print), (x,))
        graph.placeholder("y")
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "print_1", "y", "relu", "add", "output"]
    assert not graph.eliminate_dead_code()


@pytest.mark.parametrize(
    ("op", "target"),
    [
        ("call_function", operator.setitem),
        ("call_function", rg.relu_),
        ("call_method", "fill_"),
    ],
)
def test_what_writes_is_not_eliminated(op, target):
    graph, x, _ = small()
    with graph.inserting_after(x):
        node = graph.create_node(op, target, (x, 0))
    assert not graph.eliminate_dead_code()
    assert node in graph.nodes


def test_code_of_a_graph_is_dropped_with_its_module():
    module = fx.symbolic_trace(lambda x: x + 1)
    name = module.forward.__code__.co_filename
    assert name in linecache.cache
    del module
    gc.collect()
    assert name not in linecache.cache


def test_lint_finds_a_use_before_the_definition():
    graph, x, relu = small()
    x.prepend(relu)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()


def test_lint_finds_a_node_of_another_graph():
    _, x, _ = small()
    other = fx.Graph()
    other.call_function(rg.relu, (x,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()


def test_lint_finds_an_attribute_that_is_missing():
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    module.graph.call_module("nothing")
    with pytest.raises(RuntimeError, match="references nonexistent attribute nothing"):
        module.graph.lint()


def test_an_op_that_is_none_is_refused():
    with pytest.raises(AssertionError, match="is not in _legal_ops"):
        fx.Graph().create_node("call", "x")


def test_names_are_unique_and_no_words_of_python():
    graph = fx.Graph()
    names = [graph.placeholder(name).name for name in ("x", "x", "x_1", "for", "float", "a.b")]
    assert names == ["x", "x_1", "x_2", "for_1", "float_1", "a_b"]


def test_a_graph_prints_its_nodes():
    graph, _, _ = small()
    assert str(graph).splitlines() == [
        "graph():",
        "    %x : [num_users=2] = placeholder[target=x]",
        "    %relu : [num_users=1] = call_function[target=retrograd.relu](args = (%x,), "
        "kwargs = {})",
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %x), "
        "kwargs = {})",
        "    return add",
    ]


def test_a_table_of_the_nodes_is_printed(capsys):
    graph = fx.Graph()
    graph.output(graph.placeholder("x"))
    graph.print_tabular()
    assert capsys.readouterr().out.splitlines() == [
        "opcode       name    target    args    kwargs",
        "-----------  ------  --------  ------  --------",
        "placeholder  x       x         ()      {}",
        "output       output  output    (x,)    {}",
    ]


def test_code_holds_values_of_all_kinds():
    graph = fx.Graph()
    x = graph.placeholder("x")
    inner = {"k": Pair(x, slice(0, x, None)), "inf": float("inf"), "t": (x,), "e": ...}
    graph.output([inner, rg.float32, rg.device("cpu"), Pair])
    module = fx.GraphModule({}, graph)
    first, *rest = module(1)
    assert first == {"k": Pair(1, slice(0, 1)), "inf": float("inf"), "t": (1,), "e": ...}
    assert rest == [rg.float32, rg.device("cpu"), Pair]


def test_annotations_are_in_the_code():
    graph = fx.Graph()
    x = graph.placeholder("x", rg.Tensor)
    y = graph.placeholder("y", list[int], None)
    graph.output((x, y), tuple[rg.Tensor, int])
    head = fx.GraphModule({}, graph).code.strip().splitlines()[0]
    assert head.startswith("def forward(self, x : retrograd.Tensor, y : typing_List[int] = None)")
    assert head.endswith("-> typing_Tuple[retrograd.Tensor,int]:")


def test_a_type_or_none_is_in_the_code():
    def function(x: rg.Tensor | None, y: Optional[int] = None):  # noqa: UP045
        return x, y

    head = fx.symbolic_trace(function).code.strip().splitlines()[0]
    assert head == (
        "def forward(self, x : typing_Union[retrograd.Tensor,NoneType], "
        "y : typing_Union[int,NoneType] = None):"
    )


def test_in_place_operators_change_their_own_result():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.iadd, (x, 1)))
    assert fx.GraphModule({}, graph)(2) == 3


def test_a_copy_of_a_graph_is_its_own():
    graph, _, _ = small()
    copied = copy.deepcopy(graph)
    copied.output_node().args = (1,)
    assert graph.output_node().args != (1,)
    assert [n.name for n in copied.nodes] == [n.name for n in graph.nodes]


def test_a_graph_can_be_put_into_another():
    inner, _, _ = small()
    outer = fx.Graph()
    y = outer.placeholder("y")
    outer.output(outer.graph_copy(inner, {next(iter(inner.nodes)): y}))
    assert fx.GraphModule({}, outer)(rg.ones(1)).tolist() == [2.0]


def test_map_aggregate_goes_into_named_tuples_and_slices():
    mapped = fx.node.map_aggregate(Pair(1, slice(2, [3])), lambda v: v and v + 1)
    assert mapped == Pair(2, slice(3, [4]))


def traced():
    return fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_a_module_is_copied_and_pickled_with_its_graph(again):
    module, x = traced(), rg.randn(4, 2)
    copied = again(module)
    assert copied.code == module.code
    assert rg.equal(copied(x), module(x))
    copied.graph.output_node().args = (0,)
    copied.recompile()
    assert copied(x) == 0
    assert rg.is_tensor(module(x))


def test_modules_are_added_and_taken_out():
    module = traced()
    assert module.add_submodule("a.b", nn.ReLU())
    assert isinstance(module.a.b, nn.ReLU)
    assert not module.delete_submodule("a.c")
    module.delete_all_unused_submodules()
    assert not hasattr(module, "a")
    assert module.delete_submodule("1")


def test_a_module_prints_what_it_holds_and_its_code():
    text = str(traced())
    assert text.startswith("Sequential(\n  (0): Linear(")
    assert "def forward(self, input" in text
    assert text.endswith("please use `graph_module.print_readable()`")


def test_the_tracebacks_of_generated_code_show_its_lines():
    module = fx.symbolic_trace(lambda x: x.nothing())
    with pytest.raises(AttributeError) as error:
        module(rg.ones(1))
    lines = [str(entry.statement).strip() for entry in error.traceback]
    assert "nothing = x.nothing();  x = None" in lines


def test_a_root_may_be_a_dict_by_path():
    graph = fx.Graph()
    graph.output(graph.get_attr("a.b"))
    assert fx.GraphModule({"a.b": rg.ones(1)}, graph)().tolist() == [1.0]
    with pytest.raises(RuntimeError, match="was not provided in root"):
        fx.GraphModule({}, graph)


class Paired(fx.CodeGen):
    """Code whose function takes one pair."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        names = ", ".join(free_vars)
        return f"def forward(self, pair){maybe_return_annotation}:\n    {names} = pair"

    def process_inputs(self, *inputs):
        return inputs[0]

    def generate_output(self, output_args):
        return f"return later({output_args})"

    def additional_globals(self):
        return [("later", lambda value: [value])]


def test_code_is_framed_by_the_code_generator_of_the_graph():
    module = fx.symbolic_trace(lambda x, y: x - y)
    module.graph.set_codegen(Paired())
    module.recompile()
    assert module([5, 3]) == [2]
    assert fx.Interpreter(module).run([5, 3]) == 2
    assert copy.deepcopy(module)([5, 3]) == [2]


def test_code_is_changed_as_it_is_made_until_a_block_ends():
    module = fx.symbolic_trace(lambda x: x + 1)

    def twice(last):
        assert last is None
        return lambda body: ["x = 2 * x\n", *body]

    with module.graph.on_generate_code(twice):
        module.recompile()
        assert module(3) == 7
        with module.graph.on_generate_code(lambda last: lambda body: ["x = -x\n", *last(body)]):
            module.recompile()
            assert module(3) == -5
    module.recompile()
    assert module(3) == 4


def test_a_module_takes_the_graph_that_it_is_given():
    first, second = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x * 3)
    graph = second.graph
    first.graph = graph
    assert first.graph is graph
    assert graph.owning_module is first
    assert (first(2), second(2)) == (6, 6)
    with pytest.raises(AssertionError, match="Expected a Graph instance"):
        first.graph = "graph"
    with pytest.raises(RuntimeError, match="Unsupported type str passed for root"):
        fx.GraphModule("root", graph)


def test_lines_of_code_can_be_changed():
    graph = fx.symbolic_trace(lambda x: x + 1).graph
    graph.on_generate_code(lambda before: lambda lines: ["# one\n", *lines])
    with graph.on_generate_code(lambda before: lambda lines: ["# two\n", *before(lines)]):
        assert "    # two\n    # one\n    add = x + 1" in graph.python_code("self").src
    module = fx.GraphModule({}, copy.deepcopy(graph))
    assert "):\n    # one\n    add = x + 1" in module.code
    assert module(2) == 3
