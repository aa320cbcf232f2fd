"""Modules whose layers are cut over ranks."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.distributed.tensor import DTensor, Replicate, Shard
from retrograd.torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)

from .together import together, values

pytestmark = pytest.mark.usefixtures("alone")

NETS = """
from retrograd.distributed.tensor import *
from retrograd.distributed.tensor.parallel import *
mesh = dist.init_device_mesh("cpu", (size,)); f64 = rg.float64
def made(*layers):
    rg.manual_seed(3); return nn.Sequential(*[layer() for layer in layers]).double()
def same(a, b):
    a = a.full_tensor() if isinstance(a, DTensor) else a
    return rg.allclose(a, b, 1e-12)
def grads(own, alone):
    return [same(p.grad, q.grad) for p, q in zip(own.parameters(), alone.parameters())]
rg.manual_seed(0)
"""


@pytest.mark.parametrize("size", [2, 3])
def test_columns_then_rows_give_what_one_process_does(size):
    code = """
layers = lambda: nn.Linear(3, 6), nn.ReLU, lambda: nn.Linear(6, 4)
alone, own = made(*layers), made(*layers); seen = []
parallelize_module(own, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
own[0].register_forward_hook(lambda *a: seen.append(a[2].shape[-1]))
x = rg.randn(2, 5, 3, dtype=f64); a, b = (x.clone().requires_grad_() for _ in range(2))
y, z = own(a), alone(b); y.square().sum().backward(); z.square().sum().backward()
show(rg.tensor([type(y) is rg.Tensor, same(y, z), same(a.grad, b.grad), *grads(own, alone)]),
     rg.tensor([own[0].weight.to_local().shape[0], own[2].weight.to_local().shape[1], *seen]))
"""
    n = 6 // size
    assert values(NETS + code, size) == [[[True] * 7, [n, n, n]]] * size


def test_products_send_nothing_where_factors_fit():
    code = """
x, w = rg.randn(4, 3, dtype=f64), rg.randn(6, 3, dtype=f64)
u, v = distribute_tensor(x, mesh), distribute_tensor(w, mesh, [Shard(0)])
a = distribute_tensor(rg.randn(4, 6, dtype=f64), mesh, [Shard(1)])
world = dist.group.WORLD.world; world.send = world.receive = None
print([str(p.placements[0]) for p in (u @ v.T, a @ v, a.T @ u, (a @ v) @ u.T, (a @ v) + u,
                                      a.reshape(2, 2, 6), nn.functional.linear(u, v))])
"""
    cut, sums = "'Shard(dim=1)'", "\"Partial(reduce_op='sum')\""
    lots = [cut, sums, "'Shard(dim=0)'", sums, sums, "'Shard(dim=2)'", cut]
    assert together(NETS + code) == [f"[{', '.join(lots)}]"] * 2


@pytest.mark.parametrize("style", ["ColwiseParallel", "RowwiseParallel"])
def test_tables_are_cut(style):
    code = f"""
layers = [lambda: nn.Embedding(5, 4)]; alone, own = made(*layers), made(*layers)
parallelize_module(own[0], mesh, {style}(input_layouts=Replicate(), output_layouts=Replicate()))
i = rg.tensor([[0, 4, 1], [4, 2, 3]]); y, z = own(i), alone(i)
y.square().sum().backward(); z.square().sum().backward()
show(rg.tensor([same(y, z), *grads(own, alone)]))
"""
    assert values(NETS + code) == [[[True] * 2]] * 2


def test_sequences_are_cut_between_layers():
    code = """
layers = lambda: nn.LayerNorm(4), lambda: nn.Linear(4, 6), nn.Tanh, lambda: nn.Linear(6, 4)
alone, own = made(*layers), made(*layers)
parallelize_module(own, mesh, {"0": SequenceParallel(),
    "1": ColwiseParallel(input_layouts=Shard(1)), "3": RowwiseParallel(output_layouts=Shard(1))})
x = rg.randn(2, 4, 4, dtype=f64); part = x.chunk(size, 1)[rank].clone().requires_grad_()
y, z = own(part), alone(x); y.square().sum().backward(); z.square().sum().backward()
show(rg.tensor([same(y, z.chunk(size, 1)[rank]), *grads(own, alone)]))
"""
    assert values(NETS + code) == [[[True] * 7]] * 2


def test_losses_of_cut_outputs_take_plain_targets():
    code = """
layers = [lambda: nn.Linear(3, 6)]; alone, own = made(*layers), made(*layers)
parallelize_module(own[0], mesh, ColwiseParallel(use_local_output=False))
x, t = rg.randn(5, 3, dtype=f64), rg.tensor([0, 5, 2, 3, 1]); cross = nn.functional.cross_entropy
with loss_parallel():
    loss = cross(own(x), t); loss.backward()
other = cross(alone(x), t); other.backward()
show(rg.tensor([same(loss, other), *grads(own, alone)]))
"""
    assert values(NETS + code) == [[[True] * 3]] * 2


def test_a_plan_names_layers_by_patterns():
    net = nn.Sequential(*(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)) for _ in range(2)))
    parallelize_module(net, parallelize_plan={"*.0": ColwiseParallel(), "1.1": RowwiseParallel()})
    kinds = [[type(layer.weight) for layer in part] for part in net]
    assert [[issubclass(kind, DTensor) for kind in part] for part in kinds] == [
        [True, False],
        [True, True],
    ]


def test_plans_that_do_not_fit_say_why():
    with pytest.raises(NotImplementedError, match=r"only support nn\.Linear and nn\.Embedding"):
        parallelize_module(nn.ReLU(), parallelize_plan=ColwiseParallel())
    with pytest.raises(TypeError, match="Expect Union"):
        parallelize_module(nn.ReLU(), parallelize_plan="rows")
    with pytest.warns(UserWarning, match="No parallelize_plan"):
        parallelize_module(nn.ReLU())
    with pytest.warns(UserWarning, match="no layer of the module is called 'x'"):
        parallelize_module(nn.ReLU(), parallelize_plan={"x": ColwiseParallel()})
    mesh = rg.distributed.init_device_mesh("cpu", (1, 1))
    with pytest.raises(ValueError, match="a mesh of one dimension"):
        parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
    with pytest.raises(NotImplementedError):
        ParallelStyle()._apply(nn.ReLU(), mesh)


def test_inputs_and_outputs_are_prepared():
    class Net(nn.Module):
        def forward(self, x, n, *, y=None):
            return x + 1, y, n

    cut, whole = Shard(0), Replicate()
    taken = PrepareModuleInput(
        input_layouts=(cut, None),
        desired_input_layouts=(whole, None),
        input_kwarg_layouts={"y": whole},
        desired_input_kwarg_layouts={"y": cut},
    )
    given = PrepareModuleOutput(
        output_layouts=(whole, whole, None),
        desired_output_layouts=(cut, whole, None),
        use_local_output=False,
    )
    net = parallelize_module(Net(), parallelize_plan=taken)
    net = parallelize_module(net, parallelize_plan=given)
    x, y, n = net(rg.ones(2), 3, y=rg.ones(2))
    assert (x.placements, y.placements, n) == ((cut,), (whole,), 3)
    with pytest.raises(ValueError, match="module inputs and input_layouts"):
        net(rg.ones(2))


def test_layouts_that_do_not_fit_are_refused():
    with pytest.raises(AssertionError, match="desired module inputs should not be None"):
        PrepareModuleInput(input_layouts=Shard(0))
    with pytest.raises(AssertionError, match="should have same length"):
        PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=(Shard(0), Shard(1)))


def test_loss_parallel_ends():
    with loss_parallel():
        pass
    x = DTensor.from_local(rg.ones(2))
    with pytest.raises(RuntimeError, match="mixed"):
        x + rg.ones(2)
