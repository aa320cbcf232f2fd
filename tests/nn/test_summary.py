"""`summary`: shapes and sizes of a model's layers, which leave the model as it was."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn


class Two(nn.Module):
    """Two inputs, one by keyword, and a dictionary of a tuple, a number and nothing."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)

    def forward(self, x, *, other, pair=(None, None)):
        both = self.first(x) + self.first(other)
        return {"both": (both, both[0]), "count": 2, "none": pair[0]}


def outputs(found):
    return {layer.name: layer.output for layer in found.layers}


def test_each_layer_has_its_output_and_its_own_sizes():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten())
    found = rg.summary(net, rg.ones(4, 1, 5, 5))
    conv, norm = found.layers[1:3]
    assert outputs(found) == {"": (4, 18), "0": (4, 2, 3, 3), "1": (4, 2, 3, 3), "2": (4, 18)}
    assert (conv.kind, conv.parameters, conv.trainable, conv.bytes) == ("Conv2d", 20, 20, 80)
    assert (norm.parameters, norm.bytes) == (4, 4 * 4 + 4 * 4 + 8)  # and buffers, one of int64
    assert (found.parameters, found.trainable, found.bytes) == (24, 24, 120)


def test_outputs_may_be_containers_and_inputs_come_by_keyword():
    found = rg.summary(Two(), rg.ones(2, 3), other=rg.ones(3))
    assert outputs(found)[""] == {"both": ((2, 4), (4,)), "count": "int", "none": None}
    found = rg.summary(nn.LSTM(3, 5), rg.ones(7, 2, 3), (rg.zeros(1, 2, 5), rg.zeros(1, 2, 5)))
    assert found.layers[0].output == ((7, 2, 5), ((1, 2, 5), (1, 2, 5)))


def test_a_layer_in_two_places_is_one_row_that_was_called_twice():
    shared = nn.Linear(3, 3)
    found = rg.summary(nn.Sequential(shared, nn.ReLU(), shared), rg.ones(1, 3))
    assert [(each.name, each.calls) for each in found.layers] == [("", 1), ("0", 2), ("1", 1)]
    assert found.parameters == 12
    assert "(1, 3) x2" in str(found)


def test_a_tied_parameter_counts_once():
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[1].weight = net[0].weight
    assert [each.parameters for each in rg.summary(net, rg.ones(1, 3)).layers] == [0, 9, 0]


def test_frozen_parameters_are_not_trainable():
    net = nn.Linear(3, 2)
    net.bias.requires_grad = False
    found = rg.summary(net, rg.ones(3))
    assert (found.parameters, found.trainable) == (8, 6)


def test_a_complex_parameter_counts_its_numbers_and_all_their_bytes():
    found = rg.summary(nn.Linear(3, 2).to(rg.complex128), rg.ones(1, 3, dtype=rg.complex128))
    assert (found.parameters, found.bytes) == (8, 128)


def test_a_lazy_layer_is_counted_and_stays_lazy():
    net = nn.Sequential(nn.LazyLinear(4))
    found = rg.summary(net, rg.ones(2, 3))
    assert (found.layers[1].kind, found.parameters) == ("Linear", 16)
    assert type(net[0]) is nn.LazyLinear
    assert net[0].has_uninitialized_params()


def test_a_model_without_data_is_measured_without_data():
    with rg.device("meta"):
        net, x = nn.Linear(100_000, 100_000), rg.empty(2, 100_000)
    found = rg.summary(net, x)
    assert found.layers[0].output == (2, 100_000)
    assert found.bytes == 4 * (100_000**2 + 100_000)


def test_a_layer_that_was_not_called_says_so():
    net = Two()
    net.spare = nn.Linear(1, 1)
    found = rg.summary(net, rg.ones(3), other=rg.ones(3))
    assert (found.layers[2].calls, found.layers[2].output) == (0, None)
    assert "spare: Linear  not called" in str(found)


def test_model_inputs_and_random_state_stay_as_they_were():
    net = nn.Sequential(nn.ReLU(inplace=True), nn.BatchNorm1d(3), nn.Dropout(0.5))
    net[2].eval()
    net[1].register_forward_hook(lambda module, args, output: None)
    x = -rg.ones(4, 3)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    random, handles = rg.get_rng_state(), [len(each._hooks.forward) for each in net if each._hooks]
    rg.summary(net, x)
    assert all((net.state_dict()[name] == value).all() for name, value in state.items())
    assert [each.training for each in net.modules()] == [True, True, True, False]
    assert [len(each._hooks.forward) for each in net if each._hooks] == handles == [1]
    assert (rg.get_rng_state() == random).all()
    assert x.tolist() == [[-1.0] * 3] * 4
    assert all(each.grad is None for each in net.parameters())


def test_random_state_and_hooks_survive_an_error_of_the_model():
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))
    random = rg.get_rng_state()
    with pytest.raises(RuntimeError, match="shapes"):
        rg.summary(net, rg.ones(1, 4))
    assert (rg.get_rng_state() == random).all()
    assert all(each._hooks is None for each in net.modules())


def test_a_tensor_with_history_that_a_layer_keeps_is_no_obstacle():
    net = nn.Linear(3, 1)
    net.kept = net.weight * 2
    assert rg.summary(net, rg.ones(1, 3)).parameters == 4


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match=r"expects a retrograd\.nn\.Module, but got int"):
        rg.summary(2, rg.ones(1))
