"""What runs over graphs: interpreters, transformers, and the rewriter."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import fx
from retrograd.torch.fx.passes.shape_prop import ShapeProp
from retrograd.torch.fx.passes.split_module import split_module
from retrograd.torch.fx.subgraph_rewriter import replace_pattern_with_filters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.bias = nn.Parameter(rg.ones(2))

    def forward(self, x, y=3):
        return rg.sigmoid(self.linear(x)).add(self.bias) * y


def test_an_interpreter_computes_what_the_code_does():
    module, x = fx.symbolic_trace(Net()), rg.randn(4, 2)
    assert rg.equal(fx.Interpreter(module).run(x), module(x))
    assert rg.equal(fx.Interpreter(module).run(x, 5), module(x, 5))


def test_an_interpreter_starts_from_values_that_are_known():
    module = fx.symbolic_trace(lambda x: rg.neg(x) + 1)
    neg = module.graph.find_nodes(op="call_function", target=rg.neg)[0]
    assert fx.Interpreter(module).run(0, initial_env={neg: 5}) == 6


def test_an_interpreter_says_at_which_node_it_failed():
    module = fx.symbolic_trace(lambda x: x.nothing())
    with pytest.raises(AttributeError) as error:
        fx.Interpreter(module).run(rg.ones(1))
    assert "While executing %nothing : " in error.value.__notes__[0]


def test_an_argument_that_is_missing_is_named():
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(fx.symbolic_trace(Net())).run()


def test_values_are_dropped_after_their_last_use():
    interpreter = fx.Interpreter(fx.symbolic_trace(lambda x: rg.neg(rg.exp(x))))
    interpreter.run(rg.ones(1))
    assert [node.name for node in interpreter.env] == ["neg", "output"]


def test_a_transformer_makes_a_module_of_what_its_methods_return():
    class Swapped(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is rg.sigmoid:
                return rg.relu(args[0]) - 1
            return super().call_function(target, args, kwargs)

    net, x = Net(), rg.randn(4, 2)
    module = Swapped(fx.symbolic_trace(net)).transform()
    assert rg.equal(module(x), (rg.relu(net.linear(x)) - 1).add(net.bias) * 3)
    assert module.bias is net.bias


def test_every_match_is_replaced():
    def function(x, w1, w2):
        m1 = rg.cat([rg.neg(w1), w2]).sum()
        m2 = rg.cat([rg.neg(w1), w2]).sum()
        return x + rg.max(m1) + rg.max(m2)

    module = fx.symbolic_trace(function)
    matches = fx.replace_pattern(
        module, lambda a, b: rg.cat([rg.neg(a), b]).sum(), lambda a, b: rg.stack([a, b])
    )
    assert [match.anchor.name for match in matches] == ["sum_1", "sum_2"]
    assert [line.strip() for line in module.code.strip().splitlines()][1:] == [
        "stack = retrograd.stack([w1, w2])",
        "max_1 = retrograd.max(stack);  stack = None",
        "add = x + max_1;  x = max_1 = None",
        "stack_1 = retrograd.stack([w1, w2]);  w1 = w2 = None",
        "max_2 = retrograd.max(stack_1);  stack_1 = None",
        "add_1 = add + max_2;  add = max_2 = None",
        "return add_1",
    ]


def test_matches_that_overlap_count_once():
    module = fx.symbolic_trace(lambda x: rg.neg(rg.neg(rg.neg(rg.neg(x)))))
    matches = fx.replace_pattern(module, lambda x: rg.neg(rg.neg(x)), lambda x: rg.neg(x))
    assert len(matches) == 2
    assert module(rg.ones(1)).tolist() == [1.0]


def test_two_arguments_of_a_pattern_match_no_one_node():
    module = fx.symbolic_trace(lambda x: rg.add(x, x) + rg.add(x, rg.neg(x)))
    matches = fx.replace_pattern(module, lambda x, y: rg.add(x, y), lambda x, y: rg.sub(x, y))
    assert len(matches) == 1
    assert module(rg.tensor(3.0)).item() == 12.0


def test_what_the_rest_of_the_graph_needs_is_no_match():
    def function(x):
        y = rg.exp(x)
        return rg.neg(y) + y

    assert not fx.replace_pattern(
        fx.symbolic_trace(function), lambda x: rg.neg(rg.exp(x)), lambda x: x
    )


def test_a_pattern_may_have_several_results():
    def exchanged(function):
        module = fx.symbolic_trace(function)
        pattern = lambda x: (rg.neg(x), rg.exp(x))
        matches = fx.replace_pattern(module, pattern, lambda x: (rg.relu(x), rg.abs(x)))
        module.graph.lint()
        return len(matches), module(rg.tensor([-1.0, 2.0]))

    count, found = exchanged(lambda x: rg.neg(x) * rg.exp(x))
    assert (count, found.tolist()) == (1, [0.0, 4.0])
    count, found = exchanged(lambda x: rg.neg(rg.exp(x)) * rg.exp(x))  # of two tensors
    assert count == 0
    assert found.allclose(-rg.tensor([-2.0, 4.0]).exp())


def test_a_replacement_of_another_number_of_results_leaves_the_graph_as_it_was():
    module = fx.symbolic_trace(lambda x: rg.neg(rg.exp(x)))
    before = str(module.graph)
    with pytest.raises(AssertionError, match="the pattern has 1 results, its replacement 2"):
        fx.replace_pattern(module, lambda x: rg.neg(x), lambda x: (rg.relu(x), rg.abs(x)))
    assert str(module.graph) == before


def test_the_replacements_modules_are_copied_in():
    module = fx.symbolic_trace(lambda x: rg.neg(x))
    replacement = nn.Sequential(nn.Linear(1, 1))
    fx.replace_pattern(module, lambda x: rg.neg(x), fx.symbolic_trace(replacement))
    x = rg.ones(1, 1)
    assert rg.equal(module(x), replacement(x))


def test_literals_match_their_equals_unless_ignored():
    def function(x):
        return x + 1

    three = fx.symbolic_trace(lambda x: x + 3)
    assert not fx.replace_pattern(three, function, lambda x: x)
    assert replace_pattern_with_filters(three, function, lambda x: x, ignore_literals=True)
    assert three(5) == 5


def test_filters_choose_among_matches():
    def late(match, graph, pattern):
        return match.anchor.name == "neg_1"

    module = fx.symbolic_trace(lambda x: rg.neg(x) + rg.neg(x))
    done = replace_pattern_with_filters(module, lambda x: rg.neg(x), lambda x: rg.exp(x), [late])
    assert [node.name for node in done[0].replacements] == ["exp"]
    assert module(rg.zeros(1)).tolist() == [1.0]


def test_pattern_and_replacement_have_as_many_parameters():
    module = fx.symbolic_trace(lambda x: rg.neg(x))
    with pytest.raises(AssertionError, match="the pattern has 1 inputs, its replacement 2"):
        fx.replace_pattern(module, lambda x: rg.neg(x), lambda x, y: x + y)


def test_a_function_can_be_inlined_by_proxies():
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    tracer = fx.proxy.GraphAppendingTracer(module.graph)
    node = module.graph.find_nodes(op="call_module")[0]
    with module.graph.inserting_before(node):
        made = rg.relu(fx.Proxy(node.args[0], tracer)) + 1
    node.replace_all_uses_with(made.node)
    module.graph.erase_node(node)
    module.recompile()
    assert module(rg.tensor([-1.0, 1.0])).tolist() == [1.0, 2.0]


def test_shapes_are_noted_in_nodes():
    module = fx.symbolic_trace(Net())
    assert rg.equal(ShapeProp(module).propagate(rg.ones(4, 2)), module(rg.ones(4, 2)))
    linear = module.graph.find_nodes(op="call_module")[0]
    assert linear.meta["tensor_meta"] == ((4, 2), rg.float32, True, (2, 1))
    assert "# linear: TensorMetadata(" in module.print_readable(print_output=False)


class Branches(nn.Module):
    """Two layers, an attribute, and values that several parts use."""

    def __init__(self):
        super().__init__()
        self.first, self.scale = nn.Sequential(nn.Linear(2, 2)), nn.Parameter(rg.full((2,), 3.0))
        self.second = nn.Linear(2, 2)

    def forward(self, x, y=3):
        p = self.first(x) + y
        q = p * self.scale
        r = rg.relu(q) - p
        return self.second(r) + q, {"r": r}


PARTS = {"first_0": 0, "add": 0, "mul": 0, "relu": 1, "sub": 1, "second": 2, "add_1": 2}


def test_parts_of_a_graph_become_modules_that_compute_the_same():
    module, names = Branches(), {}
    split = split_module(fx.symbolic_trace(module), module, lambda n: PARTS[n.name], names)
    assert split.code.strip().split("\n")[1:] == [
        "    scale = self.scale",
        "    submod_0 = self.submod_0(x, y, scale);  x = y = scale = None",
        "    getitem = submod_0[0]",
        "    getitem_1 = submod_0[1];  submod_0 = None",
        "    submod_1 = self.submod_1(getitem, getitem_1);  getitem_1 = None",
        "    submod_2 = self.submod_2(submod_1, getitem);  getitem = None",
        "    return (submod_2, {'r': submod_1})",
    ]
    assert names == {"submod_0.first_0": "first.0", "submod_2.second": "second"}
    x = rg.ones(1, 2)
    assert split(x)[0].equal(module(x)[0])
    assert split(x)[1]["r"].equal(module(x)[1]["r"])
    assert split.submod_0.first_0.weight is module.first[0].weight
    own = [name for name, _ in split.named_children()]
    assert own == ["submod_0", "submod_1", "submod_2"]


def test_parts_have_the_name_that_is_asked_for_and_may_return_tuples():
    whole = fx.symbolic_trace(lambda x: x.relu() + 1)
    split = split_module(whole, None, lambda n: "a", partition_affix="p", tuple_return=True)
    assert split.submod_p_a(rg.ones(1)) == (2.0,)
    assert split(rg.ones(1)).tolist() == [2.0]


def test_parts_that_need_each_other_are_refused():
    whole = fx.symbolic_trace(lambda x: x.relu().neg().exp())
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(whole, None, lambda n: n.name == "neg")


def halves(x, y):
    a, b = rg.relu(x), rg.relu(y)
    return rg.relu(a) * b


HOMES = {"relu": 1, "relu_1": 0, "relu_2": 2, "mul": 2}


@pytest.mark.parametrize(
    ("how", "order", "inner"),
    [
        ({}, ["submod_0", "submod_1", "submod_2"], ["relu", "relu_1", "relu_2", "mul"]),
        (
            {"keep_original_order": True},
            ["submod_1", "submod_0", "submod_2"],
            ["relu", "relu_1", "relu_2", "mul"],
        ),
        (
            {"keep_original_node_name": True, "keep_original_input_name": False},
            ["submod_0", "submod_1", "submod_2"],
            ["arg_0", "arg_1", "relu_2", "mul"],
        ),
    ],
)
def test_the_order_of_parts_and_the_names_in_them_can_be_kept(how, order, inner):
    whole = fx.symbolic_trace(halves)
    split = split_module(whole, None, lambda node: HOMES[node.name], **how)
    assert [node.name for node in split.graph.nodes][2:-1] == order
    assert [node.name for node in split.submod_2.graph.nodes][:-1] == inner
    x, y = rg.randn(3), rg.randn(3)
    assert rg.equal(split(x, y), whole(x, y))


def test_passes_are_found_by_their_modules_without_an_import():
    assert rg.fx.passes.split_module.split_module is split_module
    assert rg.fx.operator_schemas.normalize_function
