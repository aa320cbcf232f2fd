"""Arguments of calls in one form; the values are PyTorch's, where a call is not ambiguous there."""

from __future__ import annotations

import operator

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import fx
from retrograd.torch.fx.operator_schemas import (
    check_for_mutable_operation,
    get_signature_for_torch_op,
    normalize_function,
    normalize_module,
)


class Own(nn.Module):
    def forward(self, a, b=3):
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.own = nn.Linear(2, 2), Own()

    def forward(self, x):
        return rg.add(self.lin(x), x)


def test_defaults_are_filled_in():
    dropout = nn.functional.dropout
    assert normalize_function(dropout, (1,), {"p": 0.1}) == (
        (1,),
        {"p": 0.1, "training": True, "inplace": False},
    )
    assert normalize_function(dropout, (1,), {"p": 0.1}, normalize_to_only_use_kwargs=True) == (
        (),
        {"input": 1, "p": 0.1, "training": True, "inplace": False},
    )
    assert normalize_function(rg.add, (1, 2)) == ((1, 2), {"alpha": 1})


def test_what_has_no_names_for_all_arguments_is_not_normalized():
    assert normalize_function(operator.add, (1, 2)) is None
    assert normalize_function(len, (1,)) is None
    assert normalize_function(lambda *a: 1, (1,)) is None


def test_arguments_that_are_not_taken_raise():
    with pytest.raises(TypeError, match="too many positional arguments"):
        normalize_function(nn.functional.dropout, (1, 2, 3, 4, 5))


def test_layers_are_normalized_and_other_modules_are_not():
    assert normalize_module(Net(), "lin", (1,), normalize_to_only_use_kwargs=True) == (
        (),
        {"input": 1},
    )
    assert normalize_module(Net(), "own", (1,)) is None
    with pytest.raises(RuntimeError, match="target nope but root did not have that target"):
        normalize_module(Net(), "nope", (1,))


def test_nodes_say_their_arguments():
    traced = fx.symbolic_trace(Net())
    x, lin, add, output = traced.graph.nodes
    assert x.normalized_arguments(traced) is output.normalized_arguments(traced) is None
    assert lin.normalized_arguments(traced, normalize_to_only_use_kwargs=True).kwargs == {
        "input": x
    }
    assert add.normalized_arguments(traced) == ((lin, x), {"alpha": 1})


def test_functions_of_the_package_have_a_signature():
    (found,) = get_signature_for_torch_op(rg.lerp)
    assert list(found.parameters)[:3] == ["input", "end", "weight"]
    assert get_signature_for_torch_op(len) is None
    with pytest.raises(NotImplementedError, match="no schemas"):
        get_signature_for_torch_op(rg.lerp, return_schemas=True)


def test_calls_that_write_are_refused():
    x = rg.ones(1)
    with pytest.raises(RuntimeError, match="Tried to trace mutable operation relu_"):
        check_for_mutable_operation(rg.relu_, (x,), {})
    with pytest.raises(RuntimeError, match="mutable operation add"):
        check_for_mutable_operation(rg.add, (x, x), {"out": x})
    check_for_mutable_operation(rg.relu, (x,), {})
