"""Tensors over the ranks of a mesh, and modules whose parameters are such."""

from __future__ import annotations

import copy
from collections import namedtuple
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.torch import distributed as dist
from retrograd.torch.distributed.fsdp import FSDPModule, fully_shard
from retrograd.torch.distributed.tensor import Partial, Shard, distribute_tensor
from retrograd.torch.distributed.tensor.array import wholes
from retrograd.torch.distributed.tensor.experimental import implicit_replication

from .together import together, values

MESH = """
from retrograd.distributed.tensor import *
from retrograd.distributed.fsdp import fully_shard, MixedPrecisionPolicy
mesh = dist.init_device_mesh("cpu", (size,)); rg.manual_seed(0)
"""


def test_parts_are_cut_as_chunk_cuts():
    code = """
x = distribute_tensor(rg.arange(5), mesh, [Shard(0)]); print(tuple(x.shape), x.to_local().tolist())
print(x.full_tensor().tolist(), x.redistribute(mesh, [Replicate()]).to_local().tolist())
"""
    last = "\n[0, 1, 2, 3, 4] [0, 1, 2, 3, 4]"
    assert together(MESH + code, 4) == [f"(5,) {part}{last}" for part in ([0, 1], [2, 3], [4], [])]


def test_copies_are_those_of_the_first_rank_where_they_are_checked():
    code = """
x = rg.tensor([rank + 1.0, 2.0], requires_grad=True)
for check, lying in ((True, Replicate()), (False, Replicate()), (True, Shard(0))):
    y = DTensor.from_local(x, mesh, [lying], run_check=check); print(y.to_local().tolist())
(y * 3).sum().backward(); print(x.tolist(), x.grad.tolist())
"""
    own = ["[1.0, 2.0]", "[2.0, 2.0]"]
    assert together(MESH + code) == [
        f"[1.0, 2.0]\n{each}\n{each}\n{each} [3.0, 3.0]" for each in own
    ]


def test_the_elements_of_several_ranks_are_no_array():
    code = """
x = distribute_tensor(rg.arange(4), mesh, [Shard(0)])
for function in x.numpy, lambda: np.asarray(x):
    try: function()
    except RuntimeError as error: print(str(error)[:50])
print(x.full_tensor().numpy().tolist(), x.to_local().numpy().tolist())
"""
    text = ".numpy() is not supported for tensor subclasses: t\n" * 2
    found = together("import numpy as np" + MESH + code, 2)
    assert found == [f"{text}[0, 1, 2, 3] [{part}]" for part in ("0, 1", "2, 3")]


def test_every_move_gives_the_same_tensor():
    code = """
import itertools
x = rg.arange(15.0).reshape(3, 5); same = []; lying = Shard(0), Shard(1), Replicate(), Partial()
for a, b in itertools.product(lying, repeat=2):
    y = distribute_tensor(x, mesh, [Replicate()]).redistribute(mesh, [a]).redistribute(mesh, [b])
    same.append(rg.equal(y.full_tensor(), x) and y.placements == (b,))
show(rg.tensor(all(same)))
"""
    assert values(MESH + code, 2) == [[True]] * 2


def test_two_dimensions_of_a_mesh_cut_one_after_the_other():
    code = """
mesh = dist.init_device_mesh("cpu", (2, 2)); x = rg.arange(6)
y = distribute_tensor(x, mesh, [Shard(0), Shard(0)])
z = y.redistribute(mesh, [Replicate(), Shard(0)])
show(y.to_local(), z.to_local(), y.full_tensor(), z.full_tensor())
"""
    whole = [list(range(6))] * 2
    assert values(MESH + code, 4) == [
        [[0, 1], [0, 1, 2], *whole],
        [[2], [3, 4, 5], *whole],
        [[3, 4], [0, 1, 2], *whole],
        [[5], [3, 4, 5], *whole],
    ]


def test_summands_are_added_and_means_taken():
    code = """
x = rg.tensor([1.0 + rank, 2j])
show(DTensor.from_local(x, mesh, [Partial()]).full_tensor(),
     (DTensor.from_local(x, mesh, [Partial("avg")]) * 2).to_local())
"""
    assert values(MESH + code) == [[[[3.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [0.0, 4.0]]]] * 2


def test_what_is_made_like_summands_is_whole():
    code = """
x = DTensor.from_local(rg.tensor([0.5, 1.0 - 2 * rank]), mesh, [Partial()])
show(rg.ones_like(x).full_tensor(), rg.full_like(x, 3).full_tensor(), x.to(rg.int64).full_tensor(),
     x.bool().full_tensor())
"""
    assert values(MESH + code) == [[[1.0, 1.0], [3.0, 3.0], [1, 0], [True, False]]] * 2


def test_dimensions_are_counted_from_the_last_too():
    code = """
x = rg.arange(6).reshape(2, 3); y = distribute_tensor(x, mesh, [Shard(-1)])
z = DTensor.from_local(x, mesh, [Shard(-1)])
print(y.placements, y.to_local().tolist(), y.redistribute(mesh, [Shard(-2)]).to_local().tolist())
print(tuple(z.shape), z.placements)
"""
    parts = [[[0, 1], [3, 4]], [[2], [5]]], [[[0, 1, 2]], [[3, 4, 5]]]
    assert together(MESH + code) == [
        f"(Shard(dim=1),) {a} {b}\n(2, 6) (Shard(dim=1),)" for a, b in zip(*parts, strict=True)
    ]


def test_what_a_ufunc_does_not_write_stays():
    code = """
x = distribute_tensor(rg.arange(4.0), mesh, [Shard(0)])._array
out = distribute_tensor(rg.full((4,), 7.0), mesh, [Shard(0)])._array
np.exp2(x, out=out, where=np.array([True, False, True, False])); first = out.full().tolist()
np.add(np.ones(4), 1.0, out=out)
print(first, out.full().tolist())
"""
    assert together(MESH + code) == ["[1.0, 7.0, 4.0, 7.0] [2.0, 2.0, 2.0, 2.0]"] * 2


def test_elementwise_functions_stay_in_parts_and_others_are_whole():
    code = """
x = distribute_tensor(rg.arange(6.0).reshape(3, 2), mesh, [Shard(0)])
b = distribute_tensor(rg.tensor([1.0, 2.0]), mesh, [Replicate()])
y = (x * b + 1).abs().square().sqrt(); assert y.placements == (Shard(0),)
print(y.to_local().tolist(), (x @ x.T).placements, x.sum(0).full_tensor().tolist())
"""
    said = "(Replicate(),) [6.0, 9.0]"
    assert together(MESH + code) == [
        f"[[1.0, 3.0], [3.0, 7.0]] {said}",
        f"[[5.0, 11.0]] {said}",
    ]


def test_gradients_are_those_of_the_whole():
    code = """
def loss(w, x): return ((x @ w.T).tanh() * w[:, 0]).softmax(0).abs().square().sum()
same = []
for dtype in (rg.float64, rg.complex128):
    w = rg.randn(5, 3, dtype=dtype, requires_grad=True); x = rg.randn(4, 3, dtype=dtype)
    loss(w, x).backward() if dtype is rg.float64 else None
    for lying in ([Shard(0)], [Shard(1)], [Replicate()]):
        if dtype is not rg.float64: break
        d = distribute_tensor(w, mesh, lying); loss(d, distribute_tensor(x, mesh)).backward()
        same.append(rg.allclose(d.grad.full_tensor(), w.grad, 1e-14))
w = rg.randn(5, dtype=rg.complex128, requires_grad=True); (w * w.conj() * 1j).sum().abs().backward()
d = distribute_tensor(w, mesh, [Shard(0)]); (d * d.conj() * 1j).sum().abs().backward()
show(rg.tensor([*same, rg.allclose(d.grad.full_tensor(), w.grad, 1e-14)]))
"""
    assert values(MESH + code) == [[[True] * 4]] * 2


def test_gradients_of_local_parts_come_from_the_whole_and_go_there():
    code = """
x = rg.tensor([1.0 + rank], requires_grad=True)
(DTensor.from_local(x, mesh, [Shard(0)]).cumsum(0) ** 2).sum().backward()
y = distribute_tensor(rg.ones(2), mesh, [Replicate()]).requires_grad_()
(y.to_local(grad_placements=[Partial()]) * (1 + rank)).sum().backward()
show(x.grad, y.grad.to_local())
"""
    assert values(MESH + code) == [[[8.0], [3.0, 3.0]], [[6.0], [3.0, 3.0]]]


def test_writes_keep_how_a_tensor_lies():
    code = """
x = distribute_tensor(rg.arange(6.0), mesh, [Shard(0)]); before = x._version
x.mul_(2).add_(distribute_tensor(rg.ones(6), mesh)); x.clamp_(max=7.0)
print(x.placements, x.to_local().tolist(), x._version > before); error(x.__setitem__, 4, 0.0)
"""
    first, second = together(MESH + code)
    assert first.startswith("(Shard(dim=0),) [1.0, 3.0, 5.0] True\nRuntimeError")
    assert second.startswith("(Shard(dim=0),) [7.0, 7.0, 7.0] True\nRuntimeError")
    assert "stands on read-only memory" in first  # a view of parts is a copy


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "LBFGS", "Muon"])
def test_optimizers_and_clipping_see_the_whole(optimizer):
    code = f"""
w = rg.randn(5, 4, dtype=rg.float64); x = rg.randn(6, 5, dtype=rg.float64)
parameters = nn.Parameter(distribute_tensor(w, mesh, [Shard(0)])), nn.Parameter(w.clone())
for p, data in zip(parameters, (distribute_tensor(x, mesh), x)):
    opt = rg.optim.{optimizer}([p], lr=0.1)
    def closure():
        opt.zero_grad(); loss = (data @ p).tanh().square().mean(); loss.backward()
        nn.utils.clip_grad_norm_([p], 0.05); return loss
    for _ in range(3): opt.step(closure)
p, q = parameters
show(rg.tensor([rg.allclose(p.full_tensor(), q, 1e-12), p.placements == (Shard(0),),
                isinstance(p, nn.Parameter), isinstance(p, DTensor)]))
"""
    assert values(MESH + code) == [[[True] * 4]] * 2


def test_a_module_is_distributed():
    code = """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)); x = rg.randn(5, 3)
y = net(x); y.sum().backward(); before = [p.grad for p in net.parameters()]; net.zero_grad()
def cut(name, part, mesh):
    if name == "0":
        part.weight = nn.Parameter(distribute_tensor(part.weight, mesh, [Shard(0)]))
def enter(part, inputs, mesh): return tuple(distribute_tensor(x, mesh) for x in inputs)
net = distribute_module(net, mesh, cut, enter, lambda part, out, mesh: out.to_local())
z = net(x); z.sum().backward()
show(rg.tensor([rg.allclose(y, z), *(rg.allclose(g, p.grad.full_tensor())
                                    for g, p in zip(before, net.parameters()))]),
     rg.tensor(net[0].weight.to_local().shape))
"""
    assert values(MESH + code) == [[[True] * 5, [2, 3]]] * 2


def test_fully_sharded_modules_learn_from_the_whole_batch():
    code = """
def made():
    rg.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
own, alone = made(), made(); x = rg.randn(8, 3, dtype=rg.float64); part = x.chunk(size)[rank]
fully_shard(own[0], mesh=mesh); fully_shard(own, mesh=mesh)
a, b = (rg.optim.AdamW(net.parameters(), 0.05) for net in (own, alone))
for _ in range(3):
    for net, opt, data in ((own, a, part), (alone, b, x)):
        opt.zero_grad(); net(data).square().mean().backward()
        if net is own: lengths = [len(p.grad.to_local()) for p in own.parameters()]
        nn.utils.clip_grad_norm_(net.parameters(), 0.1); opt.step()
show(rg.tensor([rg.allclose(p.full_tensor(), q, 1e-12)
                for p, q in zip(own.parameters(), alone.parameters())]),
     rg.tensor([len(own[0].weight.to_local()), lengths[2]]))
assert type(own).__name__ == "FSDPSequential" and list(own.state_dict()) == list(alone.state_dict())
"""
    assert values(MESH + code) == [[[True] * 4, [3, 1]], [[True] * 4, [2, 0]]]


def test_parameters_are_whole_in_the_dtype_of_the_policy():
    code = """
seen = []
class Net(nn.Linear):
    def forward(self, x):
        seen.append((self.weight.dtype, x.dtype, tuple(self.weight.shape)))
        return super().forward(x)
half = rg.bfloat16
net = fully_shard(Net(3, 2), mp_policy=MixedPrecisionPolicy(half, rg.float32, rg.float32))
y = net(rg.ones(1, 3)); y.sum().backward()
assert seen == [(half, half, (2, 3))] and y.dtype is rg.float32
show(net.bias.grad.to_local())
"""
    assert values(MESH + code) == [[[1.0]]] * 2


@pytest.fixture
def mesh(alone):
    """A mesh of this process alone."""
    return dist.init_device_mesh("cpu", (1,))


def test_plain_tensors_beside_those_over_ranks_are_refused(mesh):
    x = distribute_tensor(rg.ones(2), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match=r"got mixed torch\.Tensor and DTensor"):
        x + rg.ones(2)
    assert (x + rg.tensor(1.0)).full_tensor().tolist() == [2.0, 2.0]
    with implicit_replication():
        assert (x + rg.ones(2)).full_tensor().tolist() == [2.0, 2.0]


def test_what_cannot_be_distributed_says_why(mesh):
    with pytest.raises(ValueError, match="takes Shard and Replicate, got a Partial"):
        distribute_tensor(rg.ones(2), mesh, [Partial()])
    with pytest.raises(ValueError, match="same length as `device_mesh"):
        distribute_tensor(rg.ones(2), mesh, [Shard(0), Shard(0)])
    with pytest.raises(IndexError, match="Sharding dim 1 greater than tensor ndim 1"):
        distribute_tensor(rg.ones(2), mesh, [Shard(1)])
    with pytest.raises(RuntimeError, match="distribute leaf tensors! but found non-leaf"):
        distribute_tensor(rg.ones(2, requires_grad=True) * 2, mesh, [Shard(0)])
    with pytest.raises(ValueError, match="do you want to call `redistribute`"):
        distribute_tensor(distribute_tensor(rg.ones(2), mesh, [Shard(0)]), mesh)
    with pytest.raises(TypeError, match=r"is not saved: save x\.full_tensor"):
        rg.save(distribute_tensor(rg.ones(2), mesh), "/dev/null")


def test_a_distributed_tensor_is_distributed_already(mesh):
    x = distribute_tensor(rg.ones(2), mesh, [Shard(0)])
    assert distribute_tensor(x, mesh, [Shard(-1)]) is x


def test_a_deep_copy_lies_as_what_it_is_of(mesh):
    x = distribute_tensor(rg.ones(2), mesh, [Shard(0)])
    y = copy.deepcopy({"x": x})["x"].add_(1)
    assert (y.placements, y.to_local().tolist(), x.to_local().tolist()) == (
        (Shard(0),),
        [2, 2],
        [1, 1],
    )


def test_named_tuples_of_arrays_become_whole(mesh):
    pair = namedtuple("pair", "a b")
    x = distribute_tensor(rg.ones(2), mesh, [Shard(0)])._array
    found = wholes(pair(x, 1))
    assert type(found) is pair
    assert found.a.tolist() == [1.0, 1.0]


def test_a_sharded_module_keeps_its_class_below(mesh):
    net = fully_shard(rg.nn.Linear(2, 1))
    assert isinstance(net, FSDPModule)
    assert isinstance(net, rg.nn.Linear)
    net.unshard()
    assert type(net.weight) is rg.Tensor
    net.reshard()
    assert net.weight.placements == (Shard(0),)


def test_large_parameters_are_updated_in_parts():
    code = """
w = rg.randn(300, 200, dtype=rg.float64); p = nn.Parameter(distribute_tensor(w, mesh, [Shard(0)]))
q = w.clone().requires_grad_()
for a in (p, q):
    opt = rg.optim.AdamW([a], 0.1)
    for _ in range(2): opt.zero_grad(); (a ** 2).sum().backward(); opt.step()
show(rg.tensor([rg.allclose(p.full_tensor(), q, 1e-14), p.placements == (Shard(0),)]))
"""
    assert values(MESH + code) == [[[True, True]]] * 2


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_step_of_an_optimizer_sends_nothing(optimizer):
    code = f"""
for shape in ((300, 200), (3, 2)):
    for dtype in (rg.float32, rg.complex64):
        p = nn.Parameter(distribute_tensor(rg.randn(*shape, dtype=dtype), mesh, [Shard(0)]))
        opt = rg.optim.{optimizer}([p], 0.1); p.grad = rg.ones_like(p)
        world, before = dist.group.WORLD.world, p.to_local().clone()
        world.do = None; opt.step(); del world.do
        assert not rg.equal(p.to_local(), before)
print("nothing")
"""
    assert together(MESH + code) == ["nothing"] * 2


def test_a_view_of_what_a_function_made_is_written():
    code = """
x = distribute_tensor(rg.arange(4.0), mesh, [Shard(0)]); y = x * 2; y[1:3] += 1.0
print(y.full_tensor().tolist(), x.placements)
"""
    assert together(MESH + code) == ["[0.0, 3.0, 5.0, 6.0] (Shard(dim=0),)"] * 2


LAW = """
import warnings; warnings.simplefilter("ignore")
sys.path.insert(0, {root!r})
from retrograd.engine.tensor import new_tensor
from retrograd.distributed.tensor.array import cut
from tests.laws.samples import samples
from tests.laws.test_seam import EXCEPTIONS
def spread(x):
    if x is None: return None
    lying = [Shard(0) if x.ndim else Replicate()]
    made = new_tensor(cut(np.array(x._array), mesh, lying), DTensor)
    return made.requires_grad_(x.requires_grad)
def run(sample, lay):
    rg.manual_seed(0); rng = np.random.default_rng(1)
    inputs = [lay(x) for x in sample.tensors()]
    outs = sample.call(inputs); ways = [out for out in outs if out.requires_grad]
    leaves = [inputs[i] for i in sample.differentiable]; grads = []
    if leaves and ways:
        gs = [lay(new_tensor(rng.standard_normal(o.shape).astype(o._array.dtype))) for o in ways]
        grads = rg.autograd.grad(ways, leaves, gs, allow_unused=True)
    return [x.full_tensor() if isinstance(x, DTensor) else x for x in (*outs, *grads)]
def same(a, b):
    if a is None or b is None: return a is b
    return a.dtype is b.dtype and a.shape == b.shape and rg.allclose(a, b, 1e-10, 1e-12, True)
wrong, count = [], 0
for sample in samples(differentiable=False):
    if sample.op.name in EXCEPTIONS or sample.params.get("gauge") == "project": continue
    try: expected = run(sample, lambda x: x)
    except (RuntimeError, ValueError, NotImplementedError): continue
    count += 1
    if not all(map(same, run(sample, spread), expected)): wrong.append(repr(sample))
print(wrong, count > 1000)
"""


def test_every_op_and_its_derivative_give_what_they_give_on_one_rank():
    root = str(Path(__file__).parents[3])
    assert together(MESH + LAW.format(root=root)) == ["[] True"] * 2


def test_optimizers_update_complex_parts_as_they_do_the_whole():
    code = """
same = []
for dtype in (rg.float32, rg.complex64):
    start, goal, found = rg.randn(4, 3, dtype=dtype), rg.randn(4, 3, dtype=dtype), []
    for place in (lambda x: x, lambda x: distribute_tensor(x, mesh, [Shard(0)])):
        p, aim = rg.nn.Parameter(place(start.clone())), place(goal)
        optimizer = rg.optim.Adam([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p - aim).abs().pow(2).sum().backward()
            optimizer.step()
        found.append(p)
    same.append(rg.equal(found[1].full_tensor(), found[0]) and not rg.equal(found[0], start))
show(rg.tensor(same))
"""
    assert values(MESH + code, 2) == [[[True, True]]] * 2
