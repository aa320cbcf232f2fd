"""The older wrapper of modules whose parameters lie over the ranks."""

from __future__ import annotations

from functools import partial

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed.fsdp import (
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
    wrap,
)
from retrograd.torch.distributed.tensor import DTensor, Replicate

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


@pytest.mark.parametrize("kind", ["FULL_SHARD", "NO_SHARD"])
def test_wrapped_modules_learn_from_the_whole_batch(kind):
    code = f"""
kind = "{kind}"
{LEARN}
saved, named = own.state_dict(), FullyShardedDataParallel.optim_state_dict(own, a)
assert list(saved) == list(alone.state_dict()) == list(named["state"])
step()
own.load_state_dict(saved)
FullyShardedDataParallel.optim_state_dict_to_load(own, a, named, load_directly=True)
for p, q in zip(alone.parameters(), saved.values()): p.data.copy_(q)
names = dict(alone.named_parameters())
for name, kept in named["state"].items():
    b.state[names[name]] = {{k: v.clone() for k, v in kept.items()}}
step()
with FullyShardedDataParallel.summon_full_params(own):
    same = [rg.allclose(p, q, 1e-12) for p, q in zip(own.parameters(), alone.parameters())]
show(rg.tensor(same), rg.tensor(own[1].weight.to_local().shape))
"""
    lengths = [[1, 5], [1, 5]] if kind == "NO_SHARD" else [[1, 5], [0, 5]]
    assert values(code) == [[[True] * 4, length] for length in lengths]


@pytest.fixture
def net(alone):
    """A wrapped layer of this process alone."""
    rg.manual_seed(0)
    return FullyShardedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))


def test_what_is_written_to_whole_parameters_stays(net):
    name = "_fsdp_wrapped_module.0.weight"
    assert next(iter(dict(net.named_parameters()))) == name
    with net.summon_full_params(net):
        assert "0.weight" in dict(net.named_parameters())
        assert type(net[0].weight) is nn.Parameter
        net[0].weight.data.fill_(3.0)
    assert isinstance(net[0].weight, DTensor)
    assert net.state_dict()["0.weight"].tolist() == [[3.0] * 3] * 2
    with net.summon_full_params(net, writeback=False):
        net[0].weight.data.fill_(4.0)
    assert net.state_dict()["0.weight"].max() == 3.0


def test_whole_parameters_may_be_of_the_first_rank_alone():
    code = f"""
kind = "FULL_SHARD"
{LEARN}
with FullyShardedDataParallel.summon_full_params(own, writeback=False, rank0_only=True):
    print([type(p) is nn.Parameter for p in own.parameters()].count(True))
def both(): own.summon_full_params(own, rank0_only=True).__enter__()
error(both)
"""
    said = "NotImplementedError writeback=True and rank0_only=True"
    assert [out.split(":")[0] for out in together(code)] == [f"{n}\n{said}" for n in (4, 0)]


def test_states_are_whole_or_in_parts_as_it_was_said(net):
    assert net.get_state_dict_type(net).state_dict_config == FullStateDictConfig()
    with net.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        state = net.state_dict()
        assert isinstance(state["0.weight"], DTensor)
        assert list(state)[:2] == ["0.weight", "0.bias"]
        state["0.bias"] = state["0.bias"] + 1
        net.load_state_dict(state)
    assert type(net.state_dict()["0.weight"]) is rg.Tensor
    assert rg.equal(net.state_dict()["0.bias"], state["0.bias"].full_tensor())


def test_what_has_no_effect_is_refused(net):
    with pytest.raises(ValueError, match=r"LOCAL_STATE_DICT is not supported: .* x\.to_local\(\)"):
        net.set_state_dict_type(net, StateDictType.LOCAL_STATE_DICT)
    for more in ({"limit_all_gathers": False}, {"device_id": 0}):
        with pytest.raises(ValueError, match="parameters are on the cpu"):
            FullyShardedDataParallel(nn.Linear(1, 1), **more)


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


def test_parameters_on_the_meta_device_are_made_and_ignored_ones_left(alone):
    made = nn.Sequential(nn.Linear(3, 2, device="meta"), nn.Linear(2, 2))
    kept = made[1]
    wrapped = FullyShardedDataParallel(made, ignored_modules=[kept])
    assert type(kept.weight) is nn.Parameter
    with wrapped.summon_full_params(wrapped):
        expected = kept(nn.functional.linear(rg.ones(1, 3), made[0].weight, made[0].bias))
    assert expected.isfinite().all()
    assert wrapped(rg.ones(1, 3)).equal(expected)


def test_all_parameters_are_whole_where_functions_are_applied(net):
    net.apply(lambda part: nn.init.ones_(part.weight) if isinstance(part, nn.Linear) else None)
    assert net.state_dict()["0.weight"].tolist() == [[1.0] * 3] * 2
    assert (net.rank, net.world_size) == (0, 1)


def test_gradients_of_several_passes_add_up(net):
    x = rg.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    with net.no_sync():
        net(x).sum().backward()
    net(x).sum().backward()
    assert net[1].bias.grad.full_tensor().tolist() == [4.0, 4.0]
    assert net.fsdp_modules(net) == net.fsdp_modules(net, root_only=True) == [net]


POLICIES = {
    "always": wrap.always_wrap_policy,
    "size": partial(wrap.size_based_auto_wrap_policy, min_num_params=20),
    "classes": partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}),
    "wanted": partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: m is not None),
}


@pytest.mark.parametrize(
    ("policy", "count"), [("always", 3), ("size", 2), ("classes", 3), ("wanted", 3)]
)
def test_policies_choose_what_is_wrapped_inside(alone, policy, count):
    made = nn.Sequential(nn.Linear(9, 2), nn.Linear(2, 1))
    wrapped = FullyShardedDataParallel(
        made, auto_wrap_policy=POLICIES[policy], sharding_strategy=ShardingStrategy.NO_SHARD
    )
    assert len(wrapped.fsdp_modules(wrapped)) == count
    assert wrapped[0].weight.placements == (Replicate(),)


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
