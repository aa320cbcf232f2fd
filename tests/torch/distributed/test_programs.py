"""What libraries take from the smaller modules of `distributed`: optimizers, contexts, errors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import retrograd as rg
from retrograd.torch.distributed import autograd, rpc
from retrograd.torch.distributed.optim import ZeroRedundancyOptimizer

from .together import together, values

ZERO = """
from retrograd.distributed.optim import ZeroRedundancyOptimizer as Zero
def made():
    rg.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
def train(net, opt, steps=3):
    for _ in range(steps):
        opt.zero_grad(); net(x).square().mean().backward(); opt.step()
rg.manual_seed(0); x = rg.randn(5, 3, dtype=rg.float64)
own, alone = made(), made()
opt, whole = Zero(own.parameters(), rg.optim.Adam, lr=0.1), rg.optim.Adam(alone.parameters(), 0.1)
"""


def test_an_optimizer_cut_up_among_ranks_steps_as_one():
    code = """
train(own, opt)
for group in (opt, whole): group.param_groups[0]["lr"] = 0.05
train(alone, whole, 0); whole.param_groups[0]["lr"] = 0.1; train(alone, whole)
for group in (opt, whole): group.param_groups[0]["lr"] = 0.01
train(own, opt); train(alone, whole)
show(*(rg.tensor(rg.equal(p, q)) for p, q in zip(own.parameters(), alone.parameters())),
     rg.tensor(len(opt.optim.state)))
"""
    assert values(ZERO + code) == [[True] * 4 + [1], [True] * 4 + [3]]


@pytest.mark.parametrize("views", [False, True])
def test_parameters_travel_in_a_message_for_each_dtype(views):
    code = f"""
own.append(nn.Linear(1, 2).float()); sent = []; world = dist.group.WORLD.world
opt = Zero(own.parameters(), rg.optim.SGD, parameters_as_bucket_view={views}, lr=0.1)
before = [p.clone() for p in own.parameters()]
for p in own.parameters(): p.grad = rg.ones_like(p)
run = world.fill
def noted(call, array, counts):
    sent.append((str(array.dtype), counts)); return run(call, array, counts)
world.fill = noted; opt.step()
lie = [memory is not None and np.shares_memory(memory.numpy(), p.detach().numpy())
       for held, _, memory in opt._buckets for p in held]
assert lie == [{views}] * 6
print(sorted(sent), all(rg.allclose(p, q - 0.1) for p, q in zip(own.parameters(), before)))
"""
    found = together(ZERO + code)
    assert found[0] == found[1]
    assert found[0] == "[('float32', [0, 4]), ('float64', [13, 8])] True"


def test_its_consolidated_state_is_that_of_one_optimizer_and_loads_again():
    code = """
train(own, opt); train(alone, whole); opt.consolidate_state_dict(to=1)
if rank == 0: error(opt.state_dict)
lot = [opt.state_dict() if rank else None]; dist.broadcast_object_list(lot, 1); state = lot[0]
other = made(); other.load_state_dict(own.state_dict())
again = Zero(other.parameters(), rg.optim.Adam, lr=0.9); again.load_state_dict(state)
one = made(); one.load_state_dict(own.state_dict())
loaded = rg.optim.Adam(one.parameters()); loaded.load_state_dict(state)
for net, o in ((other, again), (one, loaded), (alone, whole)): train(net, o)
assert type(state["state"][0]["exp_avg"]) is rg.Tensor
print([rg.equal(p, r) and rg.equal(q, r) for p, q, r in zip(
    other.parameters(), one.parameters(), alone.parameters())])
"""
    first, second = together(ZERO + code)
    assert "Optimizer state has not been consolidated on this rank" in first
    assert first.endswith("[True, True, True, True]")
    assert second == "[True, True, True, True]"


@pytest.mark.usefixtures("alone")
def test_groups_come_before_the_first_step():
    x, y = (rg.ones(1, requires_grad=True) for _ in range(2))
    optimizer = ZeroRedundancyOptimizer([x], rg.optim.SGD, lr=0.5, momentum=0.9)
    optimizer.add_param_group({"params": [y], "lr": 0.25})
    (x + y).sum().backward()
    optimizer.step()
    assert [x.item(), y.item()] == [0.5, 0.75]
    with pytest.raises(RuntimeError, match="add groups before the first step"):
        optimizer.add_param_group({"params": [rg.ones(1)]})


def test_nothing_crosses_to_other_processes_by_calls():
    assert not autograd.is_available()
    with pytest.raises(RuntimeError, match=r"distributed\.autograd\.context"), autograd.context():
        pass
    assert not rpc.is_available()


def test_libraries_find_modules_by_all_their_names():
    code = """
import retrograd.as_torch, torch
from torch.distributed._composable.fsdp import FSDPModule
from torch.distributed._tensor import DTensor
from torch.distributed._tensor.experimental import implicit_replication
import torch.distributed.tensor, torch.distributed.fsdp, functorch
assert torch.distributed.tensor.DTensor is DTensor
assert torch.distributed.fsdp.FSDPModule is FSDPModule
assert functorch.vmap is torch.func.vmap
print(torch.distributed.device_mesh.DeviceMesh.__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "DeviceMesh"
