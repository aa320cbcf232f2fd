"""Lazy layers: what they are before and after the first call, and how they are saved."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn.modules.lazy import LazyModuleMixin


def test_parameters_have_no_shape_before_the_first_call():
    layer = nn.LazyLinear(3)
    assert layer.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        _ = layer.weight.shape
    assert repr(layer) == "LazyLinear(in_features=0, out_features=3, bias=True)"


def test_parameters_stay_the_same_objects():
    layer = nn.LazyLinear(3)
    weight = layer.weight
    optimizer = rg.optim.SGD(layer.parameters(), lr=0.1)
    layer(rg.ones(2, 4)).sum().backward()
    assert layer.weight is weight
    assert type(weight) is nn.Parameter
    before = weight.detach().clone()
    optimizer.step()
    assert not rg.equal(weight, before)


def test_a_saved_state_gives_the_shapes():
    source = nn.Linear(4, 3)
    layer = nn.LazyLinear(3)
    layer.load_state_dict(source.state_dict())
    x = rg.ones(2, 4)
    assert rg.equal(layer(x), source(x))
    assert layer.in_features == 4


def test_a_state_without_shapes_can_be_saved_and_loaded():
    state = nn.LazyLinear(3).state_dict()
    assert isinstance(state["weight"], nn.UninitializedParameter)
    layer = nn.LazyLinear(3)
    layer.load_state_dict(state)
    assert layer(rg.ones(1, 2)).shape == (1, 3)


def test_conversion_comes_before_or_after_the_first_call():
    layer = nn.LazyBatchNorm1d().to(rg.complex128)
    assert layer.has_uninitialized_params()
    layer(rg.ones(4, 2, dtype=rg.complex128))
    assert layer.weight.dtype is rg.complex128
    assert layer.running_mean.shape == (2,)


def test_a_copy_is_lazy_too():
    model = nn.Sequential(nn.LazyConv2d(2, 3), nn.ReLU())
    twin = copy.deepcopy(model)
    model(rg.ones(1, 5, 4, 4))
    assert twin[0].has_uninitialized_params()
    assert twin(rg.ones(1, 2, 4, 4)).shape == (1, 2, 2, 2)


def test_an_input_that_does_not_fit_raises():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\)"):
        nn.LazyConv2d(2, 3)(rg.ones(1, 2))
    with pytest.raises(ValueError, match="divisible by groups"):
        nn.LazyConv1d(2, 1, groups=2)(rg.ones(1, 3, 4))
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        nn.LazyBatchNorm1d()(rg.ones(1, 2, 3, 4))


COMPUTATIONS = {
    "an operator": lambda p: p * 2,
    "its reflection": lambda p: 2 - p,
    "an operator of another": lambda p: rg.ones(2) * p,
    "a method": lambda p: p.sum(),
    "a function": lambda p: rg.exp(p),
    "a list": lambda p: rg.cat([rg.ones(2), p]),
    "a layer's function": lambda p: nn.functional.linear(rg.ones(1, 2), p),
    "an index": lambda p: p[0],
    "an assignment": lambda p: p.__setitem__(0, 1.0),
    "a write": lambda p: p.fill_(0.0),
    "a result": lambda p: rg.add(rg.ones(2), 1, out=p),
    "a view": lambda p: p.view(-1),
    "no history": lambda p: p.detach(),
    "a copy": lambda p: p.clone(),
    "numbers": lambda p: p.tolist(),
    "an array": lambda p: np.asarray(p),
    "the size": lambda p: p.numel(),
    "an initialiser": nn.init.zeros_,
    "a gradient": lambda p: rg.autograd.grad(rg.ones(()), p),
}


@pytest.mark.parametrize("name", COMPUTATIONS)
@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_what_has_no_shape_computes_nothing(kind, name):
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        COMPUTATIONS[name](kind())


def test_what_has_no_shape_is_converted_copied_and_asked():
    p = nn.UninitializedParameter()
    assert p.double().dtype is rg.float64
    assert p.is_floating_point()
    assert p.requires_grad
    assert p.is_leaf
    assert p.grad is None
    for twin in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(twin) is nn.UninitializedParameter
    assert len({p, p}) == 1
    assert p.size() == rg.Size([0])
    assert p.size(0) == p.size(-1) == 0
    with pytest.raises(IndexError, match="Dimension out of range"):
        p.size(1)


def test_what_got_a_shape_computes_as_any_parameter():
    p = nn.UninitializedParameter()
    p.materialize((2,))
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2.0, 2.0]


def test_lazy_layers_leave_properties_unwatched():
    code = "import retrograd as rg; print(rg.Tensor.shape.fget.__code__.co_name, rg.nn.LazyLinear)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("shape ")


class Scale(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter()
        self.calls = 0

    def initialize_parameters(self, input):
        self.calls += 1
        self.weight.materialize(input.shape[-1:])
        nn.init.ones_(self.weight)

    def forward(self, input):
        return input * self.weight


def test_statistics_without_weights_begin_where_those_beside_weights_do():
    lazy = nn.LazyBatchNorm1d(affine=False)
    lazy(rg.ones(4, 3))
    assert lazy.running_var.tolist() == pytest.approx([0.9] * 3, rel=1e-6)
    assert lazy.running_mean.tolist() == pytest.approx([0.1] * 3, rel=1e-6)
    assert lazy.num_batches_tracked == 1


def test_a_lazy_layer_of_ones_own_learns_its_shape_once():
    layer = Scale()
    for _ in range(2):
        assert rg.equal(layer(rg.ones(2, 3)), rg.ones(2, 3))
    assert layer.calls == 1
    assert type(layer) is Scale


def test_a_lazy_layer_that_leaves_a_parameter_open_raises():
    layer = Scale()
    layer.bias = nn.UninitializedParameter()
    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        layer(rg.ones(2, 3))


def test_memory_without_a_shape_is_not_shared():
    with pytest.raises(RuntimeError, match="share memory on an uninitialized"):
        nn.LazyLinear(2).share_memory()


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_a_weight_without_a_shape_is_not_normalized(norm):
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(ValueError, match="can't have uninitialized parameters"),
    ):
        norm(nn.LazyLinear(2))


def test_the_names_of_lazy_state_are_where_pytorch_has_them():
    assert nn.parameter.is_lazy(nn.parameter.UninitializedParameter())
    assert nn.parameter.is_lazy(nn.parameter.UninitializedBuffer())
    assert not nn.parameter.is_lazy(nn.Parameter(rg.ones(1)))
