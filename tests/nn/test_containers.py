"""Containers of modules and of parameters."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import retrograd as rg
from retrograd import nn


def test_sequential_applies_modules_in_order_and_edits_like_a_list():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    net.append(nn.Sigmoid()).insert(1, nn.Identity())
    assert [type(m).__name__ for m in net] == ["ReLU", "Identity", "Tanh", "Sigmoid"]
    assert isinstance(net[-1], nn.Sigmoid)
    del net[1]
    assert list(net._modules) == ["0", "1", "2"]
    assert [type(m).__name__ for m in net[1:]] == ["Tanh", "Sigmoid"]
    net[0] = nn.Identity()
    assert net(rg.tensor(0.0)).item() == 0.5
    assert len(net + nn.Sequential(nn.ReLU())) == 4
    assert isinstance(net.pop(0), nn.Identity)
    with pytest.raises(IndexError, match="index 9 is out of range"):
        net[9]


def test_sequentials_are_added_and_repeated_like_lists():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    same = net
    net += nn.Sequential(nn.Sigmoid())
    net *= 2
    assert net is same
    assert [type(m).__name__ for m in net] == ["ReLU", "Tanh", "Sigmoid"] * 2
    assert len(net * 2) == len(2 * net) == 12
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        net * 0
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*"):
        net * 1.5
    with pytest.raises(ValueError, match="only objects of Sequential class"):
        net += [nn.ReLU()]


def test_parameter_dicts_are_joined_like_dictionaries():
    left = nn.ParameterDict({"a": rg.ones(1), "b": rg.ones(1)})
    joined = left | {"b": rg.zeros(1), "c": rg.ones(2)}
    assert list(joined) == ["a", "b", "c"]
    assert joined["b"].tolist() == [0]
    assert left["b"].tolist() == [1]
    assert list({"z": rg.ones(1)} | left) == ["z", "a", "b"]
    same = left
    left |= {"c": rg.ones(1)}
    assert left is same
    assert [type(p) for p in left.values()] == [nn.Parameter] * 3


def test_sequential_takes_names():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Linear(1, 1)))
    assert net.a is net[0]
    assert list(net.state_dict()) == ["b.weight", "b.bias"]
    assert list(net[:1]._modules) == ["a"]


def test_module_list_registers_and_shortens_its_text():
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU()])
    layers += [nn.Linear(1, 1)]
    layers.insert(0, nn.Tanh())
    assert len(layers) == 4
    assert repr(layers) == (
        "ModuleList(\n  (0): Tanh()\n  (1-2): 2 x ReLU()\n"
        "  (3): Linear(in_features=1, out_features=1, bias=True)\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert isinstance(layers[1:], nn.ModuleList)
    with pytest.raises(
        NotImplementedError, match=r'\[ModuleList\] is missing the required "forward" function'
    ):
        layers(1)


def test_module_dict_registers_by_name():
    heads = nn.ModuleDict({"a": nn.ReLU()})
    heads["b"] = nn.Linear(1, 1)
    assert "b" in heads
    assert list(heads.keys()) == ["a", "b"]
    assert len(list(heads.parameters())) == 2
    assert isinstance(heads.pop("a"), nn.ReLU)
    heads.clear()
    assert len(heads) == 0


def test_parameter_list_makes_tensors_parameters():
    values = nn.ParameterList([rg.ones(2), nn.Parameter(rg.ones(3, 4))])
    values.append(rg.zeros(1))
    assert [p.shape for p in values] == [(2,), (3, 4), (1,)]
    assert all(isinstance(p, nn.Parameter) for p in values)
    assert list(values.state_dict()) == ["0", "1", "2"]
    assert repr(values[:2]) == (
        "ParameterList(\n    (0): Parameter containing: [retrograd.float32 of size 2]\n"
        "    (1): Parameter containing: [retrograd.float32 of size 3x4]\n)"
    )
    values[0] = rg.zeros(5)
    assert values[0].shape == (5,)


def test_parameter_dict_makes_tensors_parameters():
    values = nn.ParameterDict({"a": rg.ones(2)})
    values["b"] = rg.zeros(1)
    assert [n for n, _ in values.named_parameters()] == ["a", "b"]
    assert values.pop("a").shape == (2,)
    assert values.get("a", 3) == 3
    with pytest.raises(KeyError, match="a"):
        values["a"]
    with pytest.raises(TypeError, match="is not a string"):
        values[0] = rg.ones(1)


def test_parameter_dict_takes_a_dict_in_the_order_of_its_names_and_pairs_in_their_own():
    pairs = [("b", rg.ones(1)), ("a", rg.ones(1))]
    assert list(nn.ParameterDict(dict(pairs))) == ["a", "b"]
    for given in (pairs, OrderedDict(pairs), nn.ParameterDict(pairs)):
        assert list(nn.ParameterDict(given)) == ["b", "a"]


def test_parameter_dict_has_the_methods_of_a_dictionary():
    values = nn.ParameterDict({"a": rg.ones(1), "b": rg.ones(1)})
    assert list(reversed(values)) == ["b", "a"]
    added = values.setdefault("c", rg.zeros(2))
    assert values.setdefault("c", rg.ones(1)) is added is values["c"]
    copy = values.copy()
    assert copy["a"] is values["a"]
    assert values.popitem() == ("c", added)
    values.clear()
    assert len(values) == len(list(values.parameters())) == 0
    assert list(copy) == ["a", "b", "c"]
    assert list(values.fromkeys(["x", "y"], rg.ones(1)).keys()) == ["x", "y"]
    with pytest.raises(KeyError, match="dictionary is empty"):
        values.popitem()


def test_a_module_is_compiled_as_it_is_and_goes_to_no_other_device():
    layer = nn.Linear(1, 1)
    assert layer.compile() is None
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        layer.cuda()


def test_a_list_of_one_parameter_is_shown_in_one_line_as_a_module_is():
    values = nn.ParameterList([rg.ones(2)])
    assert repr(values) == (
        "ParameterList(  (0): Parameter containing: [retrograd.float32 of size 2])"
    )


def test_places_may_be_asked_for_by_pytorchs_names():
    net = rg.nn.Sequential(rg.nn.ReLU(), rg.nn.Tanh())
    assert net._get_item_by_idx(net._modules.keys(), -1) == "1"
    assert net._get_item_by_idx(iter("ab"), 0) == "a"
    assert rg.nn.ModuleList(net)._get_abs_string_index(-2) == "0"
    with pytest.raises(IndexError, match="index 2 is out of range"):
        net._get_item_by_idx(net._modules.values(), 2)
