"""Data over ranks: parts of a data set, shards of one that is iterated, and seeds of workers."""

from __future__ import annotations

import multiprocessing

import pytest

from .together import together, values

LOADED = """
import warnings
from retrograd.utils.data import *
warnings.filterwarnings("ignore", "This DataLoader will create")  # on one processor
def gathered(value):
    out = [None] * size; dist.all_gather_object(out, value); return out
class Shards(IterableDataset):
    def __init__(self, count): self.count = count
    def __iter__(self):
        info = get_worker_info()
        number, count = (info.id, info.num_workers) if info else (0, 1)
        yield from range(dist.get_rank() * count + number, self.count, size * count)
def loader(data, kind, **more):
    return DataLoader(data, num_workers=2 if kind else 0, multiprocessing_context=kind, **more)
"""
KINDS = [None, "thread"] + ["fork"] * ("fork" in multiprocessing.get_all_start_methods())


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_deal_each_epoch_s_order_out_in_turn(size):
    code = """
for drop_last in (False, True):
    sampler = DistributedSampler(range(11), seed=5, drop_last=drop_last)
    most = 11 // size * size if drop_last else -(-11 // size) * size
    for epoch in (0, 3):
        sampler.set_epoch(epoch)
        order = rg.randperm(11, generator=rg.Generator().manual_seed(5 + epoch)).tolist()
        dealt = [n for row in zip(*gathered([*sampler])) for n in row]
        assert dealt == (order + order)[:most] and len(sampler) * size == most
"""
    together(LOADED + code, size)


@pytest.mark.parametrize("size", [2, 3])
def test_training_on_parts_is_training_on_whole_batches(size):
    code = """
def made():
    rg.manual_seed(1); return nn.Linear(3, 1).double()
def step(net, opt, x, y):
    opt.zero_grad(); (net(x) - y).square().mean().backward(); opt.step()
x = rg.randn(12, 3, dtype=rg.float64); data = TensorDataset(x, x.sin().sum(1, keepdim=True))
net, whole = DDP(made()), made()
sampler = DistributedSampler(data)
opts = [rg.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (net, whole)]
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, 2, sampler=sampler): step(net, opts[0], x, y)
    order = rg.randperm(12, generator=rg.Generator().manual_seed(epoch)).tolist()
    for x, y in DataLoader(data, 2 * size, sampler=order): step(whole, opts[1], x, y)
show(*(p - q for p, q in zip(net.parameters(), whole.parameters())))
"""
    for weight, bias in values(LOADED + code, size):
        assert max(map(abs, weight[0] + bias)) < 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3])
def test_each_worker_of_each_rank_gives_its_shard(size, kind):
    code = f"""
own = [batch.tolist() for batch in loader(Shards(17), {kind!r}, batch_size=2)]
count = {2 if kind else 1}
for number in range(count):
    shard = [*range(rank * count + number, 17, size * count)]
    assert [n for batch in own if batch[0] in shard for n in batch] == shard
assert sorted(n for part in gathered(own) for batch in part for n in batch) == [*range(17)]
"""
    together(LOADED + code, size)


def test_shards_of_other_lengths_train_until_the_longest_ends():
    code = """
net = DDP(nn.Linear(1, 1, bias=False).double()); net.module.weight.data.fill_(1.0); seen = []
with net.join(divide_by_initial_world_size=False):
    for n in loader(Shards(5), None, batch_size=1):
        net.zero_grad(); net(n.double().reshape(1, 1)).sum().backward()
        seen.append(net.module.weight.grad.item())
print(seen)
"""
    assert together(LOADED + code, 3) == ["[1.0, 3.5]", "[1.0, 3.5]", "[1.0]"]


@pytest.mark.skipif("fork" not in KINDS, reason="there is no fork")
def test_workers_draw_alike_on_ranks_of_one_seed_and_otherwise_apart():
    code = """
class Drawn(Dataset):
    def __len__(self): return 2
    def __getitem__(self, _): return get_worker_info().seed, rg.rand(1).item(), np.random.rand()
def drawn(seed):
    rg.manual_seed(seed); return gathered([*loader(Drawn(), "fork", batch_size=None)])
alike, apart = drawn(7), drawn(7 + rank)
assert all(each == alike[0] for each in alike) and alike[0] == apart[0]
for column in zip(*(row for each in apart for row in each)): assert len({*column}) == 2 * size
"""
    together(LOADED + code, 3)
