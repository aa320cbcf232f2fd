"""The older name of modules whose parameters lie over the ranks, and loss scaling for them."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed.fsdp import (
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
)
from retrograd.torch.distributed.fsdp.fully_sharded_data_parallel import ModuleWrapPolicy
from retrograd.torch.distributed.tensor import DTensor

from .together import together, values


def test_wrapped_modules_learn_from_the_whole_batch():
    code = """
from retrograd.distributed.checkpoint.state_dict import *
from retrograd.distributed.fsdp import *
from retrograd.distributed.fsdp.fully_sharded_data_parallel import ModuleWrapPolicy
def made():
    rg.manual_seed(1)
    return nn.Sequential(nn.Sequential(nn.Linear(3, 5), nn.Tanh()), nn.Linear(5, 1)).double()
rg.manual_seed(0); x = rg.randn(8, 3, dtype=rg.float64); part = x.chunk(size)[rank]
own = FullyShardedDataParallel(made(), auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}))
alone = made(); a, b = (rg.optim.AdamW(net.parameters(), 0.05) for net in (own, alone))
def step():
    for net, opt, data in ((own, a, part), (alone, b, x)):
        opt.zero_grad(); net(data).square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1); opt.step()
step(); step()
full = StateDictOptions(full_state_dict=True)
saved, whole = get_state_dict(own, a, options=full)
assert list(saved) == list(alone.state_dict()) == list(whole["state"])
step()
set_state_dict(own, a, model_state_dict=saved, optim_state_dict=whole)
for p, q in zip(alone.parameters(), saved.values()): p.data.copy_(q)
names = dict(alone.named_parameters())
for name, kept in whole["state"].items():
    b.state[names[name]] = {k: v.clone() for k, v in kept.items()}
step()
same = [rg.allclose(p.full_tensor(), q, 1e-12)
        for p, q in zip(own.parameters(), alone.parameters())]
show(rg.tensor(same), rg.tensor(own[1].weight.to_local().shape))
"""
    assert values(code) == [[[True] * 4, [1, 5]], [[True] * 4, [0, 5]]]


def test_parameters_have_the_dtypes_of_the_precision(alone):
    seen = []

    class Net(nn.Linear):
        def forward(self, x):
            seen.append((self.weight.dtype, x.dtype))
            return super().forward(x)

    half = rg.bfloat16
    policy = MixedPrecisionPolicy(param_dtype=half)
    wrapped = FullyShardedDataParallel(Net(3, 2), mixed_precision=policy)
    wrapped(rg.ones(1, 3)).sum().backward()
    assert seen == [(half, half)]
    assert wrapped.weight.grad.dtype is rg.float32


def test_parameters_on_the_meta_device_get_memory_and_ignored_ones_stay(alone):
    made = nn.Sequential(nn.Linear(3, 2, device="meta"), nn.Linear(2, 2))
    wrapped = FullyShardedDataParallel(
        made, rg.distributed.group.WORLD, ignored_states=[made[1].bias]
    )
    assert [type(p) is nn.Parameter for p in made.parameters()] == [False] * 3 + [True]
    wrapped.to_empty(device="cpu")
    with rg.no_grad():
        for parameter in made.parameters():
            parameter.fill_(2.0)
    assert wrapped(rg.ones(1, 3)).tolist() == [[34.0, 34.0]]


def large(module, recurse, nonwrapped_numel):
    """A policy of a program: what has twenty numbers of its own."""
    return nonwrapped_numel >= 20


@pytest.mark.parametrize(
    ("policy", "cut"), [(large, [0]), (ModuleWrapPolicy({nn.Linear}), [0, 1, 2])]
)
def test_policies_choose_what_is_cut_inside(alone, policy, cut):
    shared = nn.Linear(2, 2)
    made = nn.Sequential(nn.Linear(9, 2), nn.Sequential(shared), nn.Sequential(shared))
    FullyShardedDataParallel(made, auto_wrap_policy=policy)
    layers = [made[0], made[1][0], made[2][0]]
    assert [n for n, layer in enumerate(layers) if isinstance(layer, FSDPModule)] == cut
    assert all(isinstance(p, DTensor) for p in made.parameters())


def test_all_ranks_skip_the_step_in_which_one_has_no_finite_gradient():
    found = together(
        """
from retrograd.amp import GradScaler
from retrograd.distributed.fsdp import fully_shard
net = fully_shard(nn.Linear(1, 2, bias=False)); nn.init.ones_(net.weight.to_local())
opt, scaler = rg.optim.SGD(net.parameters(), 1.0), GradScaler("cpu", init_scale=4.0)
for factor in (float("inf"), 2.0):
    opt.zero_grad(); scaler.scale((net(rg.ones(1, 1)) * rg.tensor([1.0, factor])).sum()).backward()
    print(net.weight.grad.to_local().tolist()); scaler.step(opt); scaler.update()
print(net.weight.to_local().tolist(), scaler.get_scale())
"""
    )
    assert found == ["[[4.0]]\n[[2.0]]\n[[0.0]] 2.0", "[[inf]]\n[[4.0]]\n[[-1.0]] 2.0"]
