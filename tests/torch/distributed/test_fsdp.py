"""The older wrapper of modules whose parameters lie over the ranks."""

from __future__ import annotations

from functools import partial

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed.fsdp import (
    BackwardPrefetch,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
    wrap,
)
from retrograd.torch.distributed.tensor import DTensor

from .together import together, values

LEARN = """
from retrograd.distributed.fsdp import *
from retrograd.distributed.fsdp.wrap import ModuleWrapPolicy
def made():
    rg.manual_seed(1)
    return nn.Sequential(nn.Sequential(nn.Linear(3, 5), nn.Tanh()), nn.Linear(5, 1)).double()
rg.manual_seed(0); x = rg.randn(8, 3, dtype=rg.float64); part = x.chunk(size)[rank]
own = FullyShardedDataParallel(made(), auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}),
                               sharding_strategy=ShardingStrategy[kind])
alone = made(); a, b = (rg.optim.AdamW(net.parameters(), 0.05) for net in (own, alone))
def step():
    for net, opt, data in ((own, a, part), (alone, b, x)):
        opt.zero_grad(); net(data).square().mean().backward()
        net.clip_grad_norm_(0.1) if net is own else nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        opt.step()
step(); step()
"""


@pytest.mark.parametrize("kind", ["FULL_SHARD", "SHARD_GRAD_OP"])
def test_wrapped_modules_learn_from_the_whole_batch(kind):
    code = f"""
from retrograd.distributed.checkpoint.state_dict import *
kind = "{kind}"
{LEARN}
saved = own.state_dict()
whole = get_optimizer_state_dict(own, a, options=StateDictOptions(full_state_dict=True))
assert list(saved) == list(alone.state_dict()) == list(whole["state"])
step()
own.load_state_dict(saved); set_optimizer_state_dict(own, a, whole)
for p, q in zip(alone.parameters(), saved.values()): p.data.copy_(q)
names = dict(alone.named_parameters())
for name, kept in whole["state"].items():
    b.state[names[name]] = {{k: v.clone() for k, v in kept.items()}}
step()
same = [rg.allclose(p.full_tensor(), q, 1e-12)
        for p, q in zip(own.parameters(), alone.parameters())]
show(rg.tensor(same), rg.tensor(own[1].weight.to_local().shape))
"""
    assert values(code) == [[[True] * 4, [1, 5]], [[True] * 4, [0, 5]]]


@pytest.fixture
def net(alone):
    """A wrapped layer of this process alone."""
    rg.manual_seed(0)
    return FullyShardedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))


def test_states_may_be_of_the_first_rank_alone():
    code = f"""
kind = "FULL_SHARD"
{LEARN}
with own.state_dict_type(own, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
    print(len(own.state_dict()))
print(len(own.state_dict()))
"""
    assert together(code) == ["4\n4", "0\n4"]


def test_states_are_whole_or_in_parts_as_it_was_said(net):
    assert next(iter(dict(net.named_parameters()))) == "_fsdp_wrapped_module.0.weight"
    with net.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        state = net.state_dict()
        assert isinstance(state["0.weight"], DTensor)
        assert list(state)[:2] == ["0.weight", "0.bias"]
        state["0.bias"] = state["0.bias"] + 1
        net.load_state_dict(state)
    assert type(net.state_dict()["0.weight"]) is rg.Tensor
    assert rg.equal(net.state_dict()["0.bias"], state["0.bias"].full_tensor())


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ({"sharding_strategy": ShardingStrategy.NO_SHARD}, "NO_SHARD. Use DistributedDataParallel"),
        ({"backward_prefetch": BackwardPrefetch.BACKWARD_POST}, "BACKWARD_POST. Use BACKWARD_PRE"),
        ({"param_init_fn": nn.init.ones_}, "param_init_fn. Use net.module.to_empty"),
        ({"limit_all_gathers": False}, "limit_all_gathers=False. Use True"),
        ({"device_id": 0}, "device_id. Use the cpu"),
    ],
)
def test_what_has_no_effect_is_refused(given, instead):
    with pytest.raises(ValueError, match=instead):
        FullyShardedDataParallel(nn.Linear(1, 1), **given)


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ([StateDictType.LOCAL_STATE_DICT], r"LOCAL_STATE_DICT. Use SHARDED.*x\.to_local\(\)"),
        ([StateDictType.FULL_STATE_DICT, None, True], "Use .*state_dict.get_optimizer_state_dict"),
    ],
)
def test_other_states_are_refused(net, given, instead):
    with pytest.raises(ValueError, match=instead), net.state_dict_type(net, *given):
        pass


def test_states_that_do_not_fit_are_refused(net):
    with pytest.raises(RuntimeError, match=r"Unexpected key.*2\.weight"):
        net.load_state_dict({**net.state_dict(), "2.weight": rg.ones(1)})


def test_parameters_and_buffers_have_the_dtypes_of_the_precision(alone):
    seen = []

    class Net(nn.Linear):
        def forward(self, x):
            seen.append((self.weight.dtype, x.dtype, self.shift.dtype))
            return super().forward(x)

    layer = Net(3, 2)
    layer.register_buffer("shift", rg.zeros(2))
    half = rg.bfloat16
    wrapped = FullyShardedDataParallel(layer, mixed_precision=MixedPrecision(half, half, half))
    wrapped(rg.ones(1, 3)).sum().backward()
    assert seen == [(half, half, half)]
    assert wrapped.weight.grad.dtype is rg.float32


def test_parameters_on_the_meta_device_get_memory_and_ignored_ones_stay(alone):
    made = nn.Sequential(nn.Linear(3, 2, device="meta"), nn.Linear(2, 2), nn.Linear(2, 2))
    wrapped = FullyShardedDataParallel(
        made, ignored_modules=[made[1]], ignored_states=[made[2].weight]
    )
    assert [type(p) is nn.Parameter for p in made.parameters()] == [False] * 2 + [True] * 3 + [
        False
    ]
    wrapped.module.to_empty(device="cpu")
    with rg.no_grad():
        for parameter in made.parameters():
            parameter.fill_(2.0)
    assert wrapped(rg.ones(1, 3)).tolist() == [[138.0, 138.0]]


def test_buffers_are_those_of_the_first_rank():
    code = """
from retrograd.distributed.fsdp import FullyShardedDataParallel
norm = nn.BatchNorm1d(2); norm.running_mean.fill_(rank + 1.0)
show(FullyShardedDataParallel(norm, sync_module_states=True).running_mean)
"""
    assert values(code) == [[[1.0, 1.0]]] * 2


def test_gradients_of_several_passes_add_up(net):
    x = rg.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    with net.no_sync():
        net(x).sum().backward()
    net(x).sum().backward()
    assert net[1].bias.grad.full_tensor().tolist() == [4.0, 4.0]
    assert net.fsdp_modules(nn.Sequential(net)) == [net]


LINEAR = {nn.Linear}
POLICIES = {
    "size": partial(wrap.size_based_auto_wrap_policy, min_num_params=20),
    "classes": partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls=LINEAR),
    "wanted": partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: m is not None),
    "module": wrap.ModuleWrapPolicy(LINEAR),
}


@pytest.mark.parametrize(
    ("policy", "cut"),
    [("size", [0]), ("classes", [0, 1, 2]), ("wanted", [0, 1, 2]), ("module", [0, 1, 2])],
)
def test_policies_choose_what_is_cut_inside(alone, policy, cut):
    shared = nn.Linear(2, 2)
    made = nn.Sequential(nn.Linear(9, 2), nn.Sequential(shared), nn.Sequential(shared))
    FullyShardedDataParallel(made, auto_wrap_policy=POLICIES[policy])
    layers = [made[0], made[1][0], made[2][0]]
    assert [n for n, layer in enumerate(layers) if isinstance(layer, FSDPModule)] == cut
    assert isinstance(made[2], FSDPModule) is (policy == "wanted")
    assert all(isinstance(p, DTensor) for p in made.parameters())


def test_all_ranks_skip_the_step_in_which_one_has_no_finite_gradient():
    found = values(
        """
from retrograd.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
p = rg.ones(2, requires_grad=True); opt = rg.optim.SGD([p], 1.0)
scaler = ShardedGradScaler("cpu", init_scale=4.0)
for factor in (float("inf") if rank else 1.0, 1.0):
    opt.zero_grad(); scaler.scale((p * factor).sum()).backward()
    scaler.step(opt); scaler.update()
show(p.detach(), rg.tensor(scaler.get_scale()))
"""
    )
    assert found == [[[0.0, 0.0], 2.0]] * 2
