"""Gradients exchanged by hooks, and ranks with different numbers of inputs."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed.algorithms import join
from retrograd.torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)

from .together import together, values

HOOKS = """
from retrograd.distributed.algorithms.ddp_comm_hooks import default_hooks
rg.manual_seed(0); x = rg.randn(8, 12); part = x.chunk(size)[rank]
def made():
    rg.manual_seed(1); return nn.Sequential(nn.Linear(12, 14), nn.Tanh(), nn.Linear(14, 12))
def grads(net, x):
    net.zero_grad(); net(x).square().mean().backward()
    return [p.grad.clone() for p in net.parameters()]
def near(a, b, tolerance): return all(rg.allclose(p, q, 0, tolerance) for p, q in zip(a, b))
whole = grads(made(), x)
"""


def test_hooks_give_the_mean_as_exactly_as_they_send_it():
    code = """
right = []
for hook, tolerance in ((default_hooks.allreduce_hook, 1e-6),
                        (default_hooks.fp16_compress_hook, 1e-3),
                        (default_hooks.bf16_compress_hook, 1e-2)):
    net = DDP(made()); net.register_comm_hook(None, hook)
    right.append(near(grads(net, part), whole, tolerance))
for wrapper in (default_hooks.fp16_compress_wrapper, default_hooks.bf16_compress_wrapper):
    net = DDP(made()); net.register_comm_hook(None, wrapper(default_hooks.allreduce_hook))
    right.append(near(grads(net, part), whole, 1e-2))
show(rg.tensor(right))
"""
    assert values(HOOKS + code) == [[[True] * 5]] * 2


def test_hooks_see_buckets_by_dtype():
    code = """
seen = []
def hook(state, bucket):
    state.append((bucket.index(), bucket.is_last(), [tuple(g.shape) for g in bucket.gradients()],
                  len(bucket.parameters()), tuple(bucket.buffer().shape)))
    done = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return done.then(lambda found: found.value()[0] * 10)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Parameter(rg.ones(2, 3))
        self.b = nn.Parameter(rg.ones(2).double()); self.c = nn.Parameter(rg.ones(()))
    def forward(self): return self.a.sum() + self.b.sum() + self.c
net = DDP(Net()); net.register_comm_hook(seen, hook); net().backward()
print(seen == [(0, False, [(2, 3), ()], 2, (7,)), (1, True, [(2,)], 1, (2,))])
print(net.module.a.grad.tolist(), net.module.b.grad.tolist(), net.module.c.grad.item())
error(net.register_comm_hook, None, hook)
"""
    said = "True\n[[20.0, 20.0, 20.0], [20.0, 20.0, 20.0]] [20.0, 20.0] 20.0\nRuntimeError register"
    assert [out.startswith(said) for out in together(HOOKS + code)] == [True, True]


JOIN = """
from retrograd.distributed.algorithms.join import Join, Joinable, JoinHook
from retrograd.distributed.optim import ZeroRedundancyOptimizer as Zero
def made():
    net = nn.Linear(3, 1).double(); nn.init.ones_(net.weight); return DDP(net)
inputs = [rg.tensor([1.0, 2.0, rank], dtype=rg.float64) for _ in range(3 + 2 * rank)]
"""


@pytest.mark.parametrize("initial", [True, False])
def test_ranks_without_inputs_give_zeros(initial):
    code = f"""
net = made(); opt = rg.optim.SGD(net.parameters(), 1.0)
with net.join(divide_by_initial_world_size={initial}):
    for x in inputs: opt.zero_grad(); net(x).sum().backward(); opt.step()
show(net.module.weight)
"""
    half = 0.5 if initial else 1.0
    learnt = [[1 - 3 - 2 * half, 1 - 6 - 4 * half, 1 - 1.5 - 2 * half]]
    assert values(JOIN + code) == [[learnt]] * 2


def test_optimizers_join_with_modules():
    code = """
net = made(); opt = Zero(net.parameters(), rg.optim.SGD, lr=1.0)
with Join([net, opt]):
    for x in inputs: opt.zero_grad(); net(x).sum().backward(); opt.step()
show(net.module.weight, net.module.bias)
"""
    first, second = values(JOIN + code)
    assert first == second


def test_buffers_are_those_of_ranks_with_inputs():
    code = """
net = DDP(nn.BatchNorm1d(2)); counts = []
with Join([net]):
    for _ in range(2 + 3 * rank): net(rg.randn(4, 2)).sum().backward()
show(net.module.num_batches_tracked)
"""
    assert values(JOIN + code) == [[5], [5]]


def test_joinables_of_programs_follow():
    code = """
class Hook(JoinHook):
    def __init__(self, own): self.own = own
    def main_hook(self): dist.all_reduce(rg.zeros(1))
    def post_hook(self, is_last_joiner): self.own.last = is_last_joiner
class Counter(Joinable):
    def __init__(self): super().__init__(); self.count = rg.zeros(1)
    def __call__(self):
        Join.notify_join_context(self); one = rg.ones(1); dist.all_reduce(one); self.count += one
    def join_hook(self, **more): return Hook(self)
    join_device = rg.device("cpu"); join_process_group = dist.group.WORLD
counter = Counter()
with Join([counter]):
    for _ in inputs: counter()
print(counter.count.item(), counter.last)
def early():
    with Join([counter], throw_on_early_termination=True):
        for _ in inputs: counter()
error(early); dist.barrier()
"""
    assert together(JOIN + code) == [
        "6.0 False\nRuntimeError Rank 0 exhausted all inputs.",
        "8.0 True\nRuntimeError Detected at least one rank that exhausted inputs. "
        "Throwing across all ranks.",
    ]


def test_contexts_join_something():
    with pytest.raises(ValueError, match="at least one joinable"):
        join.Join([])


class Counted(nn.Linear):
    """A layer that counts its forwards."""

    runs = 0

    def forward(self, x):
        self.runs += 1
        return super().forward(x)


def test_checkpointed_layers_are_computed_again_and_keep_their_names():
    net = nn.Sequential(Counted(3, 2), nn.ReLU(), nn.Linear(2, 1))
    state = net.state_dict()
    x = rg.randn(4, 3)
    net(x).sum().backward()
    before = [p.grad.clone() for p in net.parameters()]
    apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, nn.Linear))
    net.load_state_dict(state)
    net.zero_grad()
    net(x).sum().backward()
    assert (list(net.state_dict()), net[0].runs) == (list(state), 3)
    assert all(map(rg.equal, before, [p.grad for p in net.parameters()]))
    again = checkpoint_wrapper(Counted(3, 2), CheckpointImpl.REENTRANT)
    again(x.requires_grad_()).sum().backward()
    assert (again.runs, rg.equal(x.grad, again.weight.detach().sum(0).expand(4, 3))) == (2, True)
