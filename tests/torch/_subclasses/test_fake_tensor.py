"""Tensors without data that say they are on any device."""

from __future__ import annotations

import copy

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn import functional as F
from retrograd.torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)


@pytest.fixture
def mode():
    with FakeTensorMode() as mode:
        yield mode


@pytest.mark.parametrize("make", [
    lambda: rg.empty(2, 3),
    lambda: rg.tensor([[1.0, 2.0, 3.0]] * 2),
    lambda: rg.randn(2, 4)[:, 1:],
    lambda: rg.eye(3)[:2],
    lambda: F.interpolate(rg.ones(1, 2, 3), size=3)[0],
    lambda: rg.func.vmap(lambda x: x.sin())(rg.ones(2, 3)),
    lambda: nn.LSTM(4, 3)(rg.randn(2, 4))[0],
    lambda: nn.MultiheadAttention(3, 1)(*[rg.randn(2, 3)] * 3)[0],
])  # fmt: skip
def test_what_is_made_in_the_mode_has_a_shape_and_no_data(mode, make):
    found = make()
    assert type(found) is FakeTensor
    assert found.shape == (2, 3)
    assert found.device.type == "cpu"
    with pytest.raises(DataDependentOutputException, match=r"aten\._local_scalar_dense"):
        found.sum().item()


def test_modules_made_in_the_mode_hold_no_memory(mode):
    net = nn.Sequential(nn.Linear(10**6, 10**6), nn.BatchNorm1d(10**6))
    assert all(isinstance(p, FakeTensor) and isinstance(p, nn.Parameter) for p in net.parameters())
    assert all(isinstance(b, FakeTensor) for b in net.buffers())
    net(rg.ones(2, 10**6)).sum().backward()
    assert net[0].weight.grad.shape == (10**6, 10**6)
    rg.optim.Adam(net.parameters()).step()
    assert isinstance(copy.deepcopy(net)[0].weight, nn.Parameter)


def test_a_fake_tensor_stands_for_a_tensor():
    mode, real = FakeTensorMode(), rg.randn(3, 4)[1:]
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    assert fake.fake_mode is mode
    assert (fake.shape, fake.stride(), fake.storage_offset()) == ((2, 4), (4, 1), 4)
    assert repr(fake @ fake.T) == "FakeTensor(..., size=(2, 2))"
    assert repr(mode.from_tensor(nn.Parameter(real))) == (
        "Parameter(FakeTensor(..., size=(2, 4), requires_grad=True))"
    )
    assert isinstance(fake + real, FakeTensor)
    with mode, pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors"):
        real.add_(1)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        fake + FakeTensorMode().from_tensor(real)


def test_a_fake_tensor_says_to_be_on_a_device_that_is_not_here(mode):
    x = rg.randn(3, device="cuda")
    assert repr(x + 1) == "FakeTensor(..., device='cuda:0', size=(3,))"
    with pytest.raises(RuntimeError, match="found two different devices cpu, cuda:0"):
        x + rg.ones(3)


def test_what_asks_for_values_raises(mode):
    x = rg.ones(3)
    number = r"aten\._local_scalar_dense\.default"
    for ask, op in (
        (lambda: bool(x.sum() > 0), number),
        (x.tolist, number),
        (lambda: rg.equal(x, x), r"aten\.equal\.default"),
    ):
        with pytest.raises(DataDependentOutputException, match=op):
            ask()
    for ask, op in (
        (x.nonzero, r"aten\.nonzero\.default"),
        (lambda: x[x > 0], r"aten\.index\.Tensor"),
    ):
        with pytest.raises(DynamicOutputShapeException, match=op):
            ask()


def test_one_number_that_tensor_was_given_is_known_until_it_is_written(mode):
    x = rg.tensor(5)
    assert x.item() == 5
    x.add_(1)
    with pytest.raises(DataDependentOutputException, match=r"aten\._local_scalar_dense"):
        x.item()


def test_the_mode_can_be_left_for_a_while(mode):
    with unset_fake_temporarily() as found:
        assert found is mode
        assert rg.ones(2).tolist() == [1.0, 1.0]
    assert isinstance(rg.ones(2), FakeTensor)


def test_sizes_are_no_symbols():
    with pytest.raises(NotImplementedError, match="sizes are numbers here"):
        FakeTensorMode(shape_env=object())


def test_new_tensor_of_a_fake_tensor_is_fake(mode):
    with mode:
        x = rg.ones(2, dtype=rg.float64)
        for made in (x.new_tensor([1.0, 2.0]), x.new([1.0, 2.0])):
            assert isinstance(made, FakeTensor)
            assert (made.shape, made.dtype) == ((2,), rg.float64)
    assert isinstance(x.new_tensor([1]), FakeTensor)


def test_transforms_of_fake_tensors_give_fake_tensors():
    func, layer = rg.func, rg.nn.Linear(2, 3)
    with FakeTensorMode() as mode:
        x = rg.rand(5, 2)
        found = [
            func.vmap(func.grad(lambda x: (x**2).sum()))(x),
            func.vmap(func.vmap(func.grad(lambda x: x**3)))(x),
            func.vmap(lambda x: x.new_ones(2) * rg.ones_like(x))(x),
            func.vmap(func.hessian(lambda x: x.sin().sum()))(x),
        ]
        given = {name: mode.from_tensor(p) for name, p in layer.named_parameters()}
        each = func.grad(lambda p, x: func.functional_call(layer, p, x).sum())
        found.append(func.vmap(each, in_dims=(None, 0))(given, x)["weight"])
    assert [type(t) for t in found] == [FakeTensor] * 5
    assert [t.shape for t in found] == [(5, 2), (5, 2), (5, 2), (5, 2, 2), (5, 3, 2)]
    assert {t.device.type for t in found} == {"cpu"}


def test_quantiles_and_bags_of_fake_tensors_have_shapes():
    with FakeTensorMode():
        x, at = rg.rand(5, 4), rg.tensor([0, 1, 3])
        found = [
            rg.quantile(x, 0.5, dim=1),
            rg.nanquantile(x, rg.tensor([0.1, 0.5]), dim=0, keepdim=True),
            rg.nn.functional.embedding_bag(at, x, rg.tensor([0, 2]), padding_idx=0),
            rg.nn.functional.embedding_bag(at.reshape(1, 3), x, mode="max"),
        ]
    assert [t.shape for t in found] == [(5,), (2, 1, 4), (2, 4), (1, 4)]


@pytest.mark.parametrize("make", [
    lambda: rg.ones(2, requires_grad=True),
    lambda: rg.rand(2, requires_grad=True),
    lambda: rg.zeros_like(rg.ones(2), requires_grad=True),
    lambda: rg.ones(3).new_full((2,), 1.0, requires_grad=True),
    lambda: rg.tensor([1.0, 2.0], requires_grad=True),
])  # fmt: skip
def test_factories_make_fake_leaves(mode, make):
    x = make()
    assert x.requires_grad
    assert x.is_leaf
    (g,) = rg.autograd.grad((x * 2).sum(), x)
    assert g.shape == (2,)


def test_indices_of_no_dimension_are_fake_tensors(mode):
    x, place = rg.ones(3, 2), rg.tensor(1)
    assert x[place].shape == (2,)
    x[place] = 5
    assert type(x) is FakeTensor


def test_a_fake_tensor_knows_whether_it_is_on_a_gpu(mode):
    assert rg.ones(2, device="cuda").is_cuda
    assert not rg.ones(2).is_cuda
