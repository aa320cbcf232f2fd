"""What PyTorch keeps in a module is found under that module's name."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.torch.alias.finder import TWINS, home_of

from .children import printed

NAMES = json.loads((Path(__file__).parents[2] / "data" / "names.json").read_text())

# Of these, what is not here is only looked up, and absent.
OWN = (
    *(
        "torch._C._functorch",
        "torch._custom_ops",
        "torch._dynamo",
        "torch._guards",
        "torch._higher_order_ops",
        "torch._inductor",
        "torch._subclasses",
        "torch.ao",
        "torch.compiler",
    ),
    *("torch.jit.annotations", "torch.utils.benchmark.utils"),
    *("torch.onnx", "torch.ops", "torch._ops", "torch.distributed._tensor.experimental"),
)


@pytest.mark.parametrize("path", [path for path in sorted(TWINS) if not path.startswith(OWN)])
def test_every_module_that_is_elsewhere_is_compared(path):
    assert path.removeprefix("torch.") in NAMES  # compared by tests/test_names.py


@pytest.mark.parametrize(
    "path",
    [
        *("distributed.autograd", "distributed.rpc", "fx.experimental.proxy_tensor"),
        *("fx.passes.shape_prop", "nn.attention", "utils.weak"),
    ],
)
def test_a_module_that_pytorch_loads_with_what_is_around_it_needs_no_import(path):
    code = f"print(retrograd.{path}.__name__.replace('.torch', ''))"
    assert printed(code, "retrograd") == f"retrograd.{path}\n"


def test_layers_are_in_modules_by_their_name():
    assert rg.nn.modules.Linear is rg.nn.Linear
    with pytest.raises(AttributeError, match=r"'retrograd.nn.modules' has no attribute 'Liner'"):
        rg.nn.modules.Liner


def test_bases_of_normalization_are_where_programs_import_them():
    batchnorm = importlib.import_module(home_of("torch.nn.modules.batchnorm"))
    instancenorm = importlib.import_module(home_of("torch.nn.modules.instancenorm"))
    assert isinstance(rg.nn.BatchNorm2d(1), batchnorm._BatchNorm)
    assert isinstance(rg.nn.InstanceNorm2d(1), instancenorm._InstanceNorm)
    for layer in (rg.nn.BatchNorm2d(1), rg.nn.InstanceNorm2d(1)):
        assert isinstance(layer, batchnorm._NormBase)
    assert not isinstance(rg.nn.GroupNorm(1, 1), batchnorm._NormBase)


def test_bases_of_convolutions_and_losses_are_where_programs_import_them():
    conv = importlib.import_module(home_of("torch.nn.modules.conv"))
    loss = importlib.import_module(home_of("torch.nn.modules.loss"))
    assert isinstance(rg.nn.Conv2d(1, 1, 1), conv._ConvNd)
    assert isinstance(rg.nn.ConvTranspose1d(1, 1, 1), conv._ConvTransposeNd)
    assert isinstance(rg.nn.NLLLoss(), loss._WeightedLoss)


def test_fans_have_pytorch_s_private_name():
    fans = rg.nn.init._calculate_fan_in_and_fan_out
    assert [fans(rg.ones(2, 3)), fans(rg.ones(4, 3, 5, 5))] == [(3, 2), (75, 100)]


def test_a_schedule_may_derive_from_the_older_name():
    class Halving(rg.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = Halving(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5]
    assert isinstance(schedule, rg.optim.lr_scheduler.LRScheduler)


def test_functorch_has_its_older_names_and_those_that_were_tried_there():
    code = """
import torch, functorch, functorch.experimental, functorch.experimental.control_flow
from functorch.experimental import replace_all_batch_norm_modules_
assert functorch.functionalize is functorch.experimental.functionalize is torch.func.functionalize
assert replace_all_batch_norm_modules_ is torch.func.replace_all_batch_norm_modules_
assert functorch.experimental.control_flow.cond is torch.cond
graph = functorch.make_fx(functorch.vmap(lambda x: x.sin()))(torch.ones(3)).graph
print([node.op for node in graph.nodes])
"""
    assert printed(code).split() == ["['placeholder',", "'call_function',", "'output']"]
