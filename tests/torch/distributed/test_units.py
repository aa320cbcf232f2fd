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


STEPS = """
from retrograd.distributed.fsdp import *
from retrograd.distributed.fsdp.fully_sharded_data_parallel import ModuleWrapPolicy
class Modulus(nn.Module):
    def forward(self, x): return x / (1 + x.abs())
class Take(nn.Module):
    def forward(self, x): return x[:, -1] if x.ndim == 3 else x.mean((2, 3))
def transformer(norm):
    layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True)
    return nn.Sequential(layer, nn.LayerNorm(4), Take(), nn.Linear(4, 2)).double(), (6, 3, 4)
def convolutions(norm):
    blocks = [nn.Sequential(nn.Conv2d(n, 3, 3), norm(3), nn.ReLU()) for n in (1, 3)]
    return nn.Sequential(*blocks, Take(), nn.Linear(3, 2)).double(), (6, 1, 6, 6)
def complexes(norm):
    blocks = [nn.Sequential(nn.Linear(n, 5), Modulus()) for n in (3, 5)]
    return nn.Sequential(*blocks, nn.Linear(5, 2)).to(rg.complex128), (6, 3)
nets = []
for wrapped in (None, *forms):
    rg.manual_seed(1); net, shape = kind(nn.BatchNorm2d if wrapped is None else nn.SyncBatchNorm)
    if wrapped == "fully_shard":
        for layer in [*net[:2]]: fully_shard(layer)
        fully_shard(net)
    elif wrapped:
        net = FullyShardedDataParallel(net, auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}))
    nets.append((net, rg.optim.SGD(net.parameters(), 0.1, momentum=0.9)))
(alone, _), *others = nets; start = [p.clone() for p in alone.parameters()]
for step in range(20):
    x = rg.randn(*shape, dtype=next(alone.parameters()).dtype)
    for net, opt in nets:
        opt.zero_grad()
        net(x if net is alone else x.chunk(size)[rank]).abs().square().mean().backward()
        opt.step()
state = alone.state_dict()
print([rg.allclose(v.full_tensor() if hasattr(v, "full_tensor") else v, state[name], 1e-12, 1e-14)
       for net, _ in others for name, v in net.state_dict().items()].count(False),
      all(not rg.allclose(p, q, 1e-3) for p, q in zip(start, alone.parameters()) if p.ndim > 1))
"""


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("kind", ["transformer", "convolutions", "complexes"])
def test_twenty_steps_are_those_of_one_process(kind, size):
    forms = ["fully_shard", *(["wrapper"] if kind == "complexes" else [])]
    code = STEPS.replace("nets = []", f"nets, kind, forms = [], {kind}, {forms}", 1)
    assert together(code, size) == ["0 True"] * size


CALLS = """
import warnings
warnings.filterwarnings("ignore", "Full backward hook is firing")  # the first layer's
from retrograd.distributed.fsdp import *
class A(nn.Linear): pass
class B(nn.Linear): pass
class C(nn.Linear): pass
world, seen = dist.group.WORLD.world, []
for name in ("all_gather", "reduce_scatter"):
    def noted(call, *args, run=getattr(world, name), name=name, **how):
        seen.append(f"{name} {call[-1]}"); return run(call, *args, **how)
    setattr(world, name, noted)
def note(module, *_): seen.append(type(module).__name__)
def made():
    rg.manual_seed(0); return nn.Sequential(A(3, 4), B(4, 4), C(4, 2)).double()
net, whole = made(), made()
for layer in net:
    fully_shard(layer); layer.register_forward_hook(note)
    layer.register_full_backward_pre_hook(lambda module, _: note(module))
fully_shard(net)
x = rg.randn(6, 3, dtype=rg.float64); part = x.chunk(size)[rank]
def step(): seen.clear(); net(part).square().mean().backward(); return " ".join(seen)
def same(factor): return all(rg.allclose(p.grad.full_tensor(), factor * q.grad, 1e-12)
                             for p, q in zip(net.parameters(), whole.parameters()))
whole(x).square().mean().backward()
"""


def test_parameters_come_ahead_and_gradients_go_beside_the_pass():
    code = """
print(step().replace("FSDP", "")); print(step().replace("FSDP", ""), same(2))
"""
    get, put = "all_gather", "reduce_scatter"
    first = f"{get} A A {get} B B {get} C C"
    again = f"{get} A {get} B A {get} C B C"
    back = f"{get} C C {get} B {put} C B {get} A {put} B A {put} A"
    for out in together(CALLS + code):
        assert out.splitlines() == [f"{first} {back}", f"{again} {back} True"]


def test_who_is_told_what_to_gather_gathers_that():
    code = """
net[0].set_modules_to_forward_prefetch([net[1], net[2]]); net[1].set_modules_to_forward_prefetch([])
net[2].set_modules_to_backward_prefetch([net[1], net[0]])
print(step().replace("FSDP", ""), same(1))
"""
    get, put = "all_gather", "reduce_scatter"
    forward = f"{get} A {get} B {get} C A B C"
    back = f"{get} C C {get} B {get} A {put} C B {put} B A {put} A"
    assert together(CALLS + code) == [f"{forward} {back} True"] * 2


def test_gradients_wait_for_the_pass_that_is_to_average_them():
    code = """
net.set_requires_gradient_sync(False); first, nothing = step(), net[0].weight.grad is None
second = step(); net.set_requires_gradient_sync(True); third = step()
print("scatter" in first + second, nothing, third.count("scatter"), same(3))
"""
    assert together(CALLS + code) == ["False True 3 True"] * 2


def test_parameters_stay_whole_where_that_is_asked():
    code = """
net[1].set_reshard_after_forward(False); net[2].set_reshard_after_backward(False); step(); step()
print(" ".join(each for each in seen if "all" in each), type(net[2].weight) is rg.Tensor)
sharded = [p for layer in net for p in layer._unit.parameters]; net[2].reshard(); print(same(2))
net[2].unshard()
with rg.no_grad(): [p.mul_(0) for p in sharded]
print(net(part).abs().max().item())  # what was written since is gathered again
"""
    gathered = "all_gather A all_gather B all_gather C all_gather A"  # C after its forward
    assert together(CALLS + code) == [f"{gathered} True\nTrue\n0.0"] * 2


def test_a_module_that_is_called_twice_learns_from_both():
    code = """
def twice(net, x): return net[2](net[1](net[1](net[0](x)).tanh()))
net.forward = lambda x: twice(net, x); whole.zero_grad(); twice(whole, x).square().mean().backward()
step(); print(same(1)); print(step().count("scatter"), same(2))
"""
    assert together(CALLS + code) == ["True\n4 True"] * 2


@pytest.mark.usefixtures("alone")
def test_the_outermost_stays_whole_until_its_backward_pass():
    net = fully_shard(nn.Sequential(fully_shard(nn.Linear(3, 3)), nn.Linear(3, 1)))
    loss = net(rg.ones(1, 3)).sum()
    assert [type(part.weight) is rg.Tensor for part in net] == [False, True]
    assert [type(value).__name__ for value in net.state_dict().values()] == ["DTensor"] * 4
    loss.backward()
    assert type(net[1].weight) is not rg.Tensor
    with rg.no_grad():
        net(rg.ones(1, 3))
    assert type(net[1].weight) is not rg.Tensor
    with pytest.raises(NotImplementedError, match="every pass waits for its gradients"):
        net.set_is_last_backward(False)
    with pytest.raises(ValueError, match="reshard_after_forward=2: parameters are cut over all"):
        fully_shard(nn.Linear(3, 1), reshard_after_forward=2)


@pytest.mark.usefixtures("alone")
def test_what_the_pass_does_not_reach_has_no_gradient():
    net = fully_shard(nn.ParameterDict({"a": rg.ones(2), "b": rg.ones(2)}))
    net.unshard()
    (net["a"] * 3).sum().backward()
    net.reshard()
    assert net["a"].grad.full_tensor().tolist() == [3.0, 3.0]
    assert net["b"].grad is None


def test_gradients_over_two_dimensions_wait_for_the_sum_over_all():
    code = """
from retrograd.distributed.fsdp import fully_shard
layer = nn.Linear(1, 3, bias=False); mesh = dist.init_device_mesh("cpu", (2, 2))
net = fully_shard(layer, mesh=mesh); net.set_requires_all_reduce(False)
x = rg.tensor([[1.0 + rank]]); net(x).sum().backward(); nothing = net.weight.grad is None
net.set_requires_all_reduce(True); net(x).sum().backward()
print(nothing, net.weight.grad.full_tensor().tolist(), len(net.weight.grad.to_local()))
"""
    found = together(code, 4)
    assert found == [f"True [[5.0], [5.0], [5.0]] {n}" for n in (2, 1, 2, 1)]


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


def test_a_penalty_on_gradients_is_that_of_the_whole_batch():
    code = """
from retrograd.distributed.fsdp import fully_shard
def made(): rg.manual_seed(1); return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
own, whole = made().double(), made().double(); fully_shard(own[0]); fully_shard(own)
x = rg.randn(6, 3, dtype=rg.float64)
for net, data in ((own, x.chunk(size)[rank]), (whole, x)):
    learns = [*net.parameters()]; loss = net(data).square().mean()
    grads = rg.autograd.grad(loss, learns, create_graph=True)
    sum(g.square().sum() for g in grads).backward()
print([rg.allclose(p.grad.full_tensor(), q.grad, 1e-12) for p, q in
       zip(own.parameters(), whole.parameters())])
"""
    assert together(code) == [f"{[True] * 4}"] * 2


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
