"""Parameters that are whole only while they are needed."""

from __future__ import annotations

import tracemalloc

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import distributed as dist
from retrograd.torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    fully_shard,
    register_fsdp_forward_method,
)

from .together import together, values

LARGE = 200 * 200 * 4  # bytes of a parameter
FORMS = {"fully_shard": fully_shard, "wrapper": FullyShardedDataParallel}


def layers(count=4):
    rg.manual_seed(0)
    return [nn.Linear(200, 200, bias=False) for _ in range(count)]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("form", FORMS)
def test_whole_parameters_leave_memory_between_the_passes(form):
    net = FORMS[form](nn.Sequential(*map(FORMS[form], layers())))
    x = rg.randn(2, 200)
    net(x).sum().backward()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        out = net(x)
        held, most = tracemalloc.get_traced_memory()
        assert held - before < LARGE / 2  # activations
        assert most - before < 4 * LARGE  # one parameter, the next on its way, not four
        out.sum().backward()
        after, _ = tracemalloc.get_traced_memory()
        assert after - before < LARGE / 2
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("alone")
def test_those_that_stay_are_cut_after_the_backward_pass():
    net = fully_shard(layers(1)[0], reshard_after_forward=False, offload_policy=CPUOffloadPolicy())
    loss = net(rg.ones(1, 200)).sum()
    assert type(net.weight) is rg.Tensor
    loss.backward()
    assert net.weight is next(iter(net._unit.parameters))
    net.set_reshard_after_forward(True)
    net(rg.ones(1, 200))
    assert net.weight is next(iter(net._unit.parameters))
    assert net.unshard(async_op=True).wait() is None


NETS = """
from retrograd.distributed.fsdp import *
from retrograd.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 4, bias=False)
        self.c = nn.Parameter(rg.randn(5, 4)); self.frozen = nn.Parameter(rg.randn(4, 4), False)
    def forward(self, x):
        x = checkpoint(self.a, x, use_reentrant=False).tanh()
        x = self.b(x)[:, 1:3] @ self.c[1::2, ::2].T @ self.c[:2]
        return {"out": [(x @ self.frozen).relu() @ self.c.T.conj()]}
def made(): rg.manual_seed(1); return Net().double()
rg.manual_seed(0); x = rg.randn(8, 3, dtype=rg.float64)
alone = made(); alone(x)["out"][0].square().mean().backward()
own = made()
if form == "wrapper": own = FullyShardedDataParallel(own)
else:
    mesh = dist.init_device_mesh("cpu", (size,) if form == "line" else (2, size // 2))
    fully_shard(own.b, mesh=mesh); fully_shard(own, mesh=mesh)
part = x.chunk(size)[rank].requires_grad_(); run = lambda: own(part)["out"][0].square().mean()
run().backward() if not outer else checkpoint(run, use_reentrant=False).backward()
found = [p.grad is None and q.grad is None or rg.allclose(p.grad.full_tensor(), q.grad, 1e-12)
         for p, q in zip(own.parameters(), alone.parameters())]
"""


@pytest.mark.parametrize("form", ["line", "wrapper", "mesh"])
@pytest.mark.parametrize("outer", [False, True])
def test_gradients_are_those_of_whole_parameters(form, outer):
    code = f"form, outer = {form!r}, {outer}{NETS}show(rg.tensor(found))"
    size = 4 if form == "mesh" else 2
    assert values(code, size) == [[[True] * 5]] * size


def test_second_derivatives_gather_again():
    code = """
from retrograd.distributed.fsdp import fully_shard
rg.manual_seed(0); x = rg.randn(4, 3, dtype=rg.float64); a, b = nn.Linear(3, 3).double(), None
b = nn.Linear(3, 3).double(); b.load_state_dict(a.state_dict()); a = fully_shard(a)
def twice(net, x):
    x = x.clone().requires_grad_()
    (g,) = rg.autograd.grad(net(x).tanh().sum(), x, create_graph=True)
    g.square().sum().backward(); return net.weight.grad
print(rg.allclose(twice(a, x).full_tensor(), twice(b, x), 1e-12))
"""
    assert together(code) == ["True"] * 2


@pytest.mark.usefixtures("alone")
def test_a_parameter_written_before_the_backward_pass_is_an_error():
    net = fully_shard(nn.Linear(3, 3))
    x = rg.ones(1, 3, requires_grad=True)
    loss = net(x).sum()
    with rg.no_grad():
        net.weight.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        loss.backward()


@pytest.mark.usefixtures("alone")
def test_hooks_around_see_what_is_no_parameter():
    net, seen = fully_shard(nn.Linear(3, 2), reshard_after_forward=True), []

    def pack(x):
        seen.append(tuple(x.shape))
        return x

    x = rg.ones(4, 3, requires_grad=True)
    with rg.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        out = net(x)
    out.sum().backward()
    assert seen == [(4, 3)]
    assert x.grad.shape == (4, 3)


@pytest.mark.usefixtures("alone")
def test_a_forward_that_fails_leaves_parameters_cut():
    net = fully_shard(nn.Sequential(fully_shard(nn.Linear(3, 2)), nn.Linear(3, 1)))
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(1x2 and 3x1\)"):
        net(rg.ones(1, 3))
    assert [len(p.placements) for p in net.parameters()] == [1] * 4
    assert rg.ones(1, requires_grad=True).exp().grad_fn._raw_saved_result.unpack_hook is None


@pytest.mark.usefixtures("alone")
def test_other_methods_see_whole_parameters_once_they_are_named():
    class Net(nn.Linear):
        def scaled(self, x, factor):
            return type(self.weight) is rg.Tensor, (x @ self.weight.T).sum() * factor

    net = fully_shard(Net(3, 2, bias=False))
    register_fsdp_forward_method(net, "scaled")
    whole, loss = net.scaled(rg.ones(1, 3), factor=2)
    loss.backward()
    assert whole
    assert net.weight.grad.full_tensor().tolist() == [[2.0] * 3] * 2


def test_layers_cut_over_other_ranks_learn_from_the_whole_batch():
    code = """
from retrograd.distributed.fsdp import fully_shard
from retrograd.distributed.tensor.parallel import *
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
def made():
    rg.manual_seed(1)
    layers = nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Linear(2, 1)
    return nn.Sequential(nn.Sequential(*layers)).double()
rg.manual_seed(0); x = rg.randn(6, 3, dtype=rg.float64); part = x.chunk(2)[rank // 2]
own, alone = made(), made()
parallelize_module(own[0], mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
fully_shard(own[0], mesh=mesh["dp"]); fully_shard(own, mesh=mesh["dp"])
own(part).square().mean().backward(); alone(x).square().mean().backward()
print([rg.allclose(p.grad.full_tensor(), q.grad, 1e-12)
       for p, q in zip(own.parameters(), alone.parameters())])
"""
    assert together(code, 4) == [f"{[True] * 6}"] * 4


@pytest.mark.usefixtures("alone")
def test_meshes_of_more_dimensions_are_refused():
    mesh = dist.init_device_mesh("cpu", (1, 1, 1))
    with pytest.raises(ValueError, match="expects a mesh of one or two dimensions"):
        fully_shard(nn.Linear(3, 2), mesh=mesh)
