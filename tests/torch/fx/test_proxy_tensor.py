"""`make_fx`: operators as a graph, which computes the same for other values."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.func import functional_call, grad, vmap
from retrograd.torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from retrograd.torch.library import ops

X = rg.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]])


def calls(module):
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("f", [
    lambda x: x.sin().cos(),
    lambda x: (x @ x.T + 1).relu().sum(0),
    lambda x: rg.split(x, 1)[1] * 2,
    lambda x: x.max(0).values,
    lambda x: x + rg.ones(3),
    grad(lambda x: x.sin().prod()),
    vmap(grad(lambda x: (x * x.exp()).sum())),
    grad(lambda x: grad(lambda y: (y**3).sum())(x).sum()),
])  # fmt: skip
def test_a_graph_of_operators_computes_the_same_for_other_values(f):
    traced = make_fx(f)(X)
    other = X * 1.7 - 0.3
    rg.testing.assert_close(traced(other), f(other))


def test_nodes_are_pytorchs_operators_by_name():
    traced = make_fx(lambda x: (x @ x.T).relu().sum())(X)
    assert calls(traced) == [
        *("aten.permute.default", "aten.mm.default", "aten.relu.default", "aten.sum.default")
    ]
    assert "library.ops.aten.mm.default(x_1" in traced.code


def test_writes_are_nodes_that_stay():
    def f(x):
        y = x.clone()
        y.add_(1)
        y[0].mul_(3)
        return y * 2

    traced = make_fx(f)(X)
    assert "aten.mul_.Tensor" in calls(traced)
    rg.testing.assert_close(traced(X + 1), f(X + 1))


def test_containers_are_taken_apart():
    layer = rg.nn.Linear(3, 2)
    state = dict(layer.named_parameters())
    traced = make_fx(lambda state, x: functional_call(layer, state, (x,)))(state, X)
    other = {name: value * 2 for name, value in state.items()}
    rg.testing.assert_close(traced(other, X), functional_call(layer, other, (X,)))


def test_tensors_from_elsewhere_are_attributes():
    layer, shift = rg.nn.Linear(3, 2), rg.ones(2)
    traced = make_fx(lambda x: layer(x) + shift)(X)
    assert traced._tensor_constant0 is shift
    assert traced._param_constant0 is layer.weight
    rg.testing.assert_close(traced(X * 2), layer(X * 2) + shift)


def test_a_branch_on_a_value_raises():
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x if x.sum() > 0 else -x)(X)


def test_an_operator_is_replaced_by_its_decomposition():
    table = {ops.aten.sin.default: lambda x: x.cos() + 1}
    traced = make_fx(lambda x: x.sin() * 2, table)(X)
    assert calls(traced) == ["aten.cos.default", "aten.add.Tensor", "aten.mul.Tensor"]
    rg.testing.assert_close(traced(X), (X.cos() + 1) * 2)


def test_sizes_are_no_symbols():
    with pytest.raises(NotImplementedError, match="tracing_mode='symbolic'"):
        make_fx(lambda x: x, tracing_mode="symbolic")


def test_the_mode_is_known_while_a_function_is_traced():
    seen = []
    make_fx(lambda x: seen.append(get_proxy_mode()) or x.sin())(X)
    assert [type(mode).__name__ for mode in seen] == ["OperatorTracer"]
    assert get_proxy_mode() is None
