"""Lazy layers: what they are before and after the first call, and how they are saved."""

from __future__ import annotations

import copy

import pytest

import retrograd as rg
from retrograd import nn


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
