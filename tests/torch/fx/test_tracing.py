"""Tracing: what proxies write down, as code and as values."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import fx
from retrograd.torch.fx.proxy import TraceError


def doubled(x):
    return x * 2


fx.wrap("doubled")


def body(module):
    """The generated lines."""
    return [line.strip() for line in module.code.strip().splitlines()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(rg.full((4,), 2.0))
        self.register_buffer("shift", rg.ones(4))
        self.plain = rg.zeros(4)

    def forward(self, x, power: float = 2.0):
        y = self.layers(x) * self.scale.abs() + self.shift - self.plain
        return y**power


def test_a_module_computes_the_same_from_its_graph():
    net, x = Net(), rg.randn(5, 3)
    assert rg.equal(fx.symbolic_trace(net)(x), net(x))
    assert rg.equal(fx.symbolic_trace(net)(x, 3.0), net(x, 3.0))


def test_code_names_modules_parameters_and_buffers_and_drops_values():
    assert body(fx.symbolic_trace(Net())) == [
        "def forward(self, x, power : float = 2.0):",
        'layers_0 = getattr(self.layers, "0")(x);  x = None',
        'layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None',
        "scale = self.scale",
        "abs_1 = scale.abs();  scale = None",
        "mul = layers_1 * abs_1;  layers_1 = abs_1 = None",
        "shift = self.shift",
        "add = mul + shift;  mul = shift = None",
        "plain = self.plain",
        "sub = add - plain;  add = plain = None",
        "pow_1 = sub ** power;  sub = power = None",
        "return pow_1",
    ]


def test_parameters_are_shared_and_get_gradients():
    net = Net()
    traced = fx.symbolic_trace(net)
    assert traced.scale is net.scale
    traced(rg.ones(1, 3)).sum().backward()
    found = net.scale.grad.clone()
    net.zero_grad()
    net(rg.ones(1, 3)).sum().backward()
    assert found.equal(net.scale.grad)


def test_modules_call_and_look_up_as_before_after_tracing_and_after_an_error():
    before = (nn.Module.__call__, nn.Module.__getattr__, nn.Module.__getattribute__)
    fx.symbolic_trace(Net())
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: x + 1 / 0)
    assert before == (nn.Module.__call__, nn.Module.__getattr__, nn.Module.__getattribute__)
    assert "__getattribute__" not in vars(nn.Module)


def test_functions_of_the_package_are_named_as_they_are_called():
    module = fx.symbolic_trace(lambda x: rg.cat([rg.relu(x), x], dim=-1).to(rg.float64))
    assert body(module)[1:4] == [
        "relu = retrograd.relu(x)",
        "cat = retrograd.cat([relu, x], dim = -1);  relu = x = None",
        "to = cat.to(retrograd.float64);  cat = None",
    ]
    assert module(rg.tensor([-1.0])).tolist() == [0.0, -1.0]


def test_a_number_may_stand_on_the_left_of_every_operator():
    module = fx.symbolic_trace(lambda x: (1 - x) * (2**x) + 3 / x)
    assert module(rg.tensor([2.0])).tolist() == [-2.5]


def test_subscripts_and_attributes_are_written_down():
    module = fx.symbolic_trace(lambda x: x[..., None, 1:].T.view(x.shape[0], -1))
    assert body(module)[1] == "getitem = x[(Ellipsis, None, slice(1, None, None))]"
    assert "getattr_1 = x.shape;  x = None" in body(module)


def test_a_tensor_that_is_made_becomes_a_constant_of_the_module():
    module = fx.symbolic_trace(lambda x: x + rg.ones(2))
    assert module._tensor_constant0.tolist() == [1.0, 1.0]
    assert module(rg.ones(2)).tolist() == [2.0, 2.0]


def test_sizes_of_inputs_make_tensors_in_the_graph():
    def function(x):
        rows, columns = x.shape[0], x.size(1)
        made = rg.zeros(rows, columns, dtype=x.dtype) + rg.full([1, columns], 2.0)
        return made + rg.arange(columns) + rg.eye(rows, columns) + rg.rand((rows, 1)) * 0

    module = fx.symbolic_trace(function)
    for example in (rg.ones(1, 2), rg.ones(2, 3)):
        np.testing.assert_array_equal(module(example).numpy(), function(example).numpy())


@pytest.mark.parametrize("convert", [rg.tensor, rg.as_tensor, rg.asarray, rg.Tensor, np.asarray])
def test_a_proxy_is_no_data(convert):
    with pytest.raises(TraceError, match="no value is known while a function is traced"):
        fx.symbolic_trace(lambda x: convert(x))


def test_a_method_is_recorded_by_its_own_name():
    module = fx.symbolic_trace(lambda x: rg.ones(2).new_tensor(x))
    assert [n.target for n in module.graph.nodes if n.op == "call_method"] == ["new_tensor"]
    assert module([3.0]).tolist() == [3.0]


def test_a_tensor_may_be_the_first_operand():
    assert fx.symbolic_trace(lambda x: rg.ones(2) - x)(rg.ones(2)).tolist() == [0.0, 0.0]


def test_starred_and_keyword_only_parameters_are_inputs():
    def function(x, *rest, scale=2, **named):
        return x * scale + rest[0] + named["a"]

    assert (
        body(fx.symbolic_trace(function))[0] == "def forward(self, x, scale = 2, *rest, **named):"
    )


def test_unpacking_takes_as_many_items_as_there_are_names():
    def function(x):
        a, b = x
        return a - b

    assert fx.symbolic_trace(function)((3, 1)) == 2


@pytest.mark.parametrize(
    ("function", "phrase"),
    [
        (lambda x: 1 if x else 2, "symbolically traced variables cannot be used as inputs to"),
        (lambda x: list(x), "Proxy object cannot be iterated"),
        (lambda x: 3 in x, "Proxy object cannot be iterated"),
    ],
)
def test_what_needs_a_value_raises_a_trace_error(function, phrase):
    with pytest.raises(TraceError, match=phrase):
        fx.symbolic_trace(function)


def test_len_says_to_wrap_it():
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing"):
        fx.symbolic_trace(lambda x: len(x))


def test_a_concrete_argument_chooses_the_branch_and_is_checked():
    def function(x, flag):
        return x + 1 if flag else x - 1

    module = fx.symbolic_trace(function, concrete_args={"flag": False})
    assert module(3, False) == 2
    with pytest.raises(AssertionError, match="flag has been specialized to have value False"):
        module(3, True)


def test_what_is_checked_of_a_concrete_argument_is_not_eliminated():
    module = fx.symbolic_trace(lambda x, flag: x if flag else -x, concrete_args={"flag": True})
    assert not module.graph.eliminate_dead_code()


def test_a_negative_base_of_a_power_is_in_brackets():
    assert fx.symbolic_trace(lambda x: (-2) ** x)(rg.tensor([2.0])).tolist() == [4.0]


def test_modules_may_be_called_by_any_text():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"class": nn.ReLU(), 'a"b': nn.Identity()})

        def forward(self, x):
            return self.parts["class"](x) + self.parts['a"b'](x)

    assert fx.symbolic_trace(Net())(rg.tensor([-1.0, 2.0])).tolist() == [-1.0, 4.0]


def test_a_concrete_argument_keeps_its_default():
    module = fx.symbolic_trace(lambda x, k=2: x * k, concrete_args={"k": 2})
    assert module(3) == 6


def test_a_concrete_argument_that_is_none_is_checked():
    def function(x, y=None):
        return x if y is None else x + y

    module = fx.symbolic_trace(function, concrete_args={"y": None})
    assert module(3) == 3
    with pytest.raises(AssertionError, match="y has been specialized to have value None"):
        module(3, 4)


def test_a_wrapped_function_is_one_node():
    module = fx.symbolic_trace(lambda x: doubled(x) + 1)
    assert [node.op for node in module.graph.nodes] == [
        *("placeholder", "call_function", "call_function", "output"),
    ]
    assert module(4) == 9
    assert fx.symbolic_trace(module).graph.find_nodes(op="call_function", target=doubled)


def test_functions_of_math_are_nodes():
    module = fx.symbolic_trace(lambda x: math.sqrt(x))
    assert module(9.0) == 3.0
    assert math.sqrt(4) == 2.0


def test_a_tracer_decides_what_is_a_leaf():
    class Through(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    graph = Through().trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [
        *(nn.functional.linear, nn.functional.relu),
    ]
    assert [n.target for n in graph.find_nodes(op="get_attr")] == ["0.weight", "0.bias"]


def test_a_tracer_sees_paths_of_modules():
    seen = []

    class Paths(fx.Tracer):
        def call_module(self, m, forward, args, kwargs):
            seen.append(self.path_of_module(m))
            return super().call_module(m, forward, args, kwargs)

    Paths().trace(Net())
    assert seen == ["layers", "layers.0", "layers.1"]


def test_another_thread_calls_its_modules_while_a_function_is_traced():
    net, results = Net(), []

    def function(x):
        other = threading.Thread(target=lambda: results.append(net(rg.ones(1, 3))))
        other.start()
        other.join()
        return x

    fx.symbolic_trace(function)
    assert rg.equal(results[0], net(rg.ones(1, 3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: rg.einsum("ij,jk->ik", a, b),
        lambda a, b: rg.einsum("ij,jk->ik", (a, b)),
        lambda a, b: rg.einsum("ij,jk->ik", [a, b]),
    ],
)
def test_operands_of_einsum_are_written_one_by_one_however_they_are_given(call):
    module = fx.symbolic_trace(call)
    a, b, made, _ = module.graph.nodes
    assert made.args == ("ij,jk->ik", a, b)
    x, y = rg.arange(6.0).reshape(2, 3), rg.ones(3, 2)
    assert rg.equal(module(x, y), x @ y)


def test_operands_of_einsum_with_numbered_dimensions_are_written_as_they_are_given():
    module = fx.symbolic_trace(lambda a, b: rg.einsum(a, [0, 1], b, [1, 2], [0, 2]))
    a, b, made, _ = module.graph.nodes
    assert made.args == (a, [0, 1], b, [1, 2], [0, 2])


def test_what_code_cannot_hold_is_refused():
    with pytest.raises(NotImplementedError, match="argument of type"):
        fx.symbolic_trace(lambda x: x + object())


def test_a_traced_module_is_traced_again_to_the_same_code():
    module = fx.symbolic_trace(Net())
    assert fx.symbolic_trace(module).code == module.code


def test_the_graph_of_a_sequence_has_no_types():
    traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    assert str(traced.graph).startswith("graph():\n    %input_1 : [num_users=1] = placeholder")


def test_a_tracer_with_a_root_knows_paths_and_free_names():
    tracer = fx.Tracer()
    tracer.root = nn.Sequential(nn.ReLU())
    assert tracer.path_of_module(tracer.root[0]) == "0"
    with pytest.raises(NameError, match="not installed as a submodule"):
        tracer.path_of_module(nn.ReLU())
    tracer.root.scale0 = 1
    assert tracer.get_fresh_qualname("scale") == "scale1"


def test_a_tracer_may_make_its_own_proxies():
    class Named(fx.Proxy):
        pass

    class Tracer(fx.Tracer):
        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, make=None):
            own = make or (lambda node: Named(node, self))
            return super().create_proxy(kind, target, args, kwargs, name, type_expr, own)

    seen = []

    def function(x):
        seen.append(type(x + 1))
        return x

    Tracer().trace(function)
    assert seen == [Named]


def test_concrete_arguments_may_be_a_tuple():
    module = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args=(fx.PH, True))
    assert module(1, True) == 2
    with pytest.raises(RuntimeError, match="expected 2 arguments but got 1"):
        fx.symbolic_trace(lambda x, y: x, concrete_args=(1,))


class Wide(nn.Module):
    """A layer whose way depends on the shape of its parameter."""

    def __init__(self, rows):
        super().__init__()
        self.weight = nn.Parameter(rg.ones(rows, 2))

    def forward(self, x):
        w = self.weight
        assert w.dim() == w.ndim == 2
        assert w.numel() == w.nelement() == w.size(0) * w.shape[1]
        return x @ w if w.shape[0] < 3 else -(x @ w)


@pytest.mark.parametrize("rows", [2, 4])
def test_branches_may_depend_on_the_shapes_of_parameters(rows):
    module, x = Wide(rows), rg.ones(1, rows)
    with pytest.raises(TraceError, match="no value is known while a function is traced"):
        fx.Tracer().trace(module)
    graph = fx.Tracer(param_shapes_constant=True).trace(module)
    assert rg.equal(fx.GraphModule(module, graph)(x), module(x))


def test_a_module_that_came_after_the_root_has_a_path():
    tracer = fx.Tracer()
    tracer.root = nn.Module()
    tracer.root.inner = nn.ReLU()
    assert tracer.path_of_module(tracer.root.inner) == "inner"
