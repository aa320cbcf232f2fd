"""DataParallel without a GPU, as PyTorch has it: the module is called on the whole batch."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn


@pytest.mark.parametrize("devices", [None, [0, 1]])
def test_a_module_is_called_itself_on_the_whole_batch(devices):
    norm = nn.BatchNorm1d(1, momentum=1.0)
    net = nn.DataParallel(norm, device_ids=devices)
    found = net(rg.arange(8.0).reshape(8, 1))
    assert found.grad_fn.name() == "NativeBatchNormBackward0"
    assert norm.running_mean.tolist() == [3.5]
    assert (net.device_ids, next(iter(net.state_dict()))) == ([], "module.weight")


def test_copies_on_gpus_cannot_be_made():
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        nn.parallel.replicate(nn.ReLU(), [0, 1])


def test_nested_arguments_are_split_and_outputs_joined():
    given = (rg.tensor([1.0, 2.0]), {"x": rg.tensor([[10.0, 20.0]]).T}, "by")
    parts = nn.parallel.scatter(given, [0, 1])
    assert [(p[0].tolist(), p[1]["x"].tolist(), p[2]) for p in parts] == [
        ([1.0], [[10.0]], "by"), ([2.0], [[20.0]], "by"),
    ]  # fmt: skip
    whole = nn.parallel.gather([[p[0], p[0].sum(), p[2]] for p in parts])
    assert (whole[0].tolist(), whole[1].tolist(), whole[2]) == ([1.0, 2.0], [1.0, 2.0], "by")
    assert nn.parallel.scatter((), [0, 1]) == [(), ()]
    with pytest.raises(ValueError, match="same number of keys"):
        nn.parallel.gather([{"a": rg.ones(1)}, {}])
