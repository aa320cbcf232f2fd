"""DataParallel: chunks in threads, shared parameters, thread-local state."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.autograd.graph import saved_tensors_hooks


class Scale(nn.Module):
    """Remembers the threads and chunk sizes it was called with."""

    calls: list = []  # noqa: RUF012 (shared by the replicas on purpose)

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(rg.tensor(3.0))

    def forward(self, x, offset=0.0):
        self.calls.append((threading.get_ident(), len(x)))
        return x * self.factor + offset


@pytest.fixture
def calls():
    Scale.calls.clear()
    return Scale.calls


def test_outputs_are_joined_and_gradients_reach_the_parameters(calls):
    net = nn.DataParallel(Scale(), device_ids=3)
    x = rg.arange(7.0).requires_grad_()
    out = net(x, offset=1.0)
    assert out.tolist() == [3.0 * i + 1 for i in range(7)]
    assert sorted(size for _, size in calls) == [1, 3, 3]
    assert threading.get_ident() not in [thread for thread, _ in calls]
    out.sum().backward()
    assert net.module.factor.grad.item() == 21.0
    assert x.grad.tolist() == [3.0] * 7


def test_a_small_batch_uses_fewer_threads(calls):
    assert nn.DataParallel(Scale(), device_ids=[0, 1, 2, 3])(rg.ones(2)).tolist() == [3.0, 3.0]
    assert len(calls) == 2


def test_the_result_equals_that_of_the_module():
    module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    x = rg.randn(9, 4, dtype=rg.float64)
    module(x).square().sum().backward()
    expected = [p.grad._array.copy() for p in module.parameters()]
    module.zero_grad()
    nn.DataParallel(module, 4)(x).square().sum().backward()
    for p, grad in zip(module.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad._array, grad, rtol=1e-12, atol=1e-14)


def test_complex_modules_have_the_gradients_that_they_have_alone():
    z, module = rg.randn(5, 3, dtype=rg.complex128), nn.complex.Linear(3, 2, dtype=rg.complex128)
    grads = []
    for called in (module, nn.DataParallel(module, device_ids=2)):
        (called(z).abs() ** 2).sum().backward()
        grads.append(module.weight.grad)
        module.zero_grad()
    rg.testing.assert_close(grads[1], grads[0], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("devices", [1, [0, 1]])
def test_saved_tensor_hooks_of_the_caller_do_not_reach_the_module(devices):
    packed = []

    def pack(x):
        packed.append(tuple(x.shape))
        return x

    net = nn.DataParallel(nn.Tanh(), device_ids=devices)
    x = rg.ones(5, 5, requires_grad=True)
    with saved_tensors_hooks(pack, lambda x: x):
        out = net(x)
    assert not {(5, 5), (3, 5), (2, 5)} & {*packed}
    out.sum().backward()
    np.testing.assert_allclose(x.grad._array, 1 - np.tanh(x._array) ** 2, rtol=1e-6)


def test_grad_mode_is_carried_into_the_threads():
    net = nn.DataParallel(Scale(), 2)
    with rg.no_grad():
        assert not net(rg.ones(2)).requires_grad
    assert net(rg.ones(2)).requires_grad


def test_running_statistics_follow_the_first_chunk():
    net = nn.DataParallel(nn.BatchNorm1d(1, momentum=1.0), 2)
    net(rg.tensor([[1.0], [3.0], [100.0], [300.0]]))
    assert net.module.running_mean.tolist() == [2.0]
    assert net.module.num_batches_tracked.item() == 1


def test_nested_arguments_and_outputs():
    class Nested(nn.Module):
        def forward(self, pair, *, by):
            return {"sum": pair[0] + pair[1]["x"], "first": pair[0].sum(), "by": by}

    net = nn.DataParallel(Nested(), 2)
    out = net((rg.tensor([1.0, 2.0]), {"x": rg.tensor([10.0, 20.0])}), by=7)
    assert out["sum"].tolist() == [11.0, 22.0]
    assert out["first"].tolist() == [1.0, 2.0]
    assert out["by"] == 7


def test_another_dimension_can_be_the_batch(calls):
    class Sum(nn.Module):
        def forward(self, x):
            return x * 2

    x = rg.tensor([[1.0, 2.0, 3.0, 4.0]])
    assert nn.DataParallel(Sum(), 2, dim=1)(x).tolist() == [[2.0, 4.0, 6.0, 8.0]]


def test_an_exception_in_a_thread_is_raised_with_a_note():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside") as caught:
        nn.DataParallel(Fails(), 2)(rg.ones(2))
    assert caught.value.__notes__ == ["Raised in replica 0 of DataParallel."]


def test_a_module_without_devices_is_called_itself_on_the_whole_batch():
    norm = nn.BatchNorm1d(1, momentum=1.0)
    found = nn.DataParallel(norm)(rg.arange(8.0).reshape(8, 1))
    assert found.grad_fn.name() == "NativeBatchNormBackward0"
    assert norm.running_mean.tolist() == [3.5]
    assert nn.DataParallel(norm).device_ids == []
