"""Collectives with derivatives, and meshes of ranks."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.torch import distributed as dist
from retrograd.torch.distributed.nn import all_reduce
from retrograd.torch.distributed.tensor import distribute_tensor

from .together import together, values

NN = "from retrograd.distributed import nn as dnn\n"


def test_the_gradient_of_an_all_reduce_is_the_sum_of_gradients():
    code = """
x = rg.tensor([1.0 + rank], requires_grad=True); y = dnn.all_reduce(x)
(y * (2 + rank)).sum().backward(); show(y, x.grad)
"""
    assert values(NN + code) == [[[3.0], [5.0]]] * 2


def test_the_gradient_of_a_mean_over_complex_ranks():
    code = """
x = rg.tensor([1j * rank], requires_grad=True); y = dnn.all_reduce(x, dist.ReduceOp.AVG)
(y * (1 + 1j * rank)).real.sum().backward(); show(y, x.grad)
"""
    assert values(NN + code) == [[[[0.0], [0.5]], [[1.0], [-0.5]]]] * 2


def test_gradients_of_gathered_tensors_are_added_where_they_are_from():
    code = """
x = rg.tensor([1.0 + rank], requires_grad=True); y = dnn.all_gather(x)
((10 ** rank) * (y[0] + 2 * y[1])).sum().backward(); show(*y, x.grad)
"""
    assert values(NN + code) == [[[1.0], [2.0], [11.0]], [[1.0], [2.0], [22.0]]]


def test_the_gradient_of_a_reduce_scatter_is_gathered():
    code = """
xs = [rg.tensor([1.0 + rank], requires_grad=True) for _ in range(size)]
y = dnn.reduce_scatter(rg.zeros(1), xs); (y * (3 + rank)).sum().backward()
show(y, *(x.grad for x in xs))
"""
    assert values(NN + code) == [[[3.0], [3.0], [4.0]]] * 2


def test_gradients_of_a_broadcast_are_added_at_its_source():
    code = """
x = rg.tensor([1.0 + rank], requires_grad=True); y = dnn.broadcast(x, 1)
(y * (3 + rank)).sum().backward(); show(y, x.grad)
"""
    assert values(NN + code) == [[[2.0], [0.0]], [[2.0], [7.0]]]


def test_gather_scatter_and_reduce_have_each_other_as_adjoints():
    code = """
x = rg.tensor([1.0 + rank], requires_grad=True); parts = dnn.gather(x, 1)
y = dnn.scatter([3 * part for part in parts], 1); z = dnn.reduce(y * x, 0)
z.sum().backward(); show(y, z, x.grad)
"""
    assert values(NN + code) == [[[3.0], [15.0], [6.0]], [[6.0], [0.0], [12.0]]]


def test_exchanges_are_exchanged_back():
    code = """
x = rg.arange(3.0, requires_grad=True); lengths = [1 + rank] * 2
out = dnn.all_to_all_single(rg.zeros(2 + 2 * rank), x, lengths, [1, 2])
(out * (1 + rank)).sum().backward(); ys = [rg.ones(1, requires_grad=True) for _ in range(size)]
sum(y.sum() * (rank + 1) for y in dnn.all_to_all([rg.zeros(1)] * 2, ys)).backward()
show(out, x.grad, *(y.grad for y in ys))
"""
    assert values(NN + code) == [
        [[0.0, 0.0], [1.0, 2.0, 2.0], [1.0], [2.0]],
        [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 2.0], [1.0], [2.0]],
    ]


def test_second_derivatives_go_through():
    code = """
x = rg.tensor(1.0 + rank, requires_grad=True)
(g,) = rg.autograd.grad(dnn.all_reduce(x) ** 3, x, create_graph=True)
g.backward(); show(g, x.grad)
"""
    assert values(NN + code) == [[54.0, 72.0]] * 2


@pytest.mark.usefixtures("alone")
def test_a_maximum_over_ranks_has_no_derivative():
    x = rg.ones(1, requires_grad=True)
    y = all_reduce(x, dist.ReduceOp.MAX)
    with pytest.raises(ValueError, match=r"ReduceOp\.MAX has no derivative here"):
        y.sum().backward()


# -- meshes ----------------------------------------------------------------------------------------


def test_a_mesh_has_a_group_along_each_dimension():
    code = """
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
rows, columns = rg.tensor(rank), rg.tensor(rank)
dist.all_reduce(rows, group=mesh.get_group("tp")); dist.all_reduce(columns, group=mesh.get_group(0))
show(rows, columns, rg.tensor(mesh.get_coordinate()), mesh["dp"].mesh,
     rg.tensor([mesh.get_local_rank("tp"), mesh["dp"].get_local_rank(), mesh.size(), mesh.ndim]))
assert mesh["dp", "tp"] == mesh and mesh._flatten().size() == 4
assert repr(mesh) == "DeviceMesh((dp=2, tp=2), 'cpu', stride=(2, 1))"
"""
    assert values(code, 4) == [
        [1, 2, [0, 0], [0, 2], [0, 0, 4, 2]],
        [1, 4, [0, 1], [1, 3], [1, 0, 4, 2]],
        [5, 2, [1, 0], [0, 2], [0, 1, 4, 2]],
        [5, 4, [1, 1], [1, 3], [1, 1, 4, 2]],
    ]


def test_a_rank_outside_of_a_mesh_has_no_place():
    code = """
mesh = dist.init_device_mesh("cpu", (1,)); print(mesh.get_coordinate())
if rank: error(mesh.get_local_rank)
"""
    first, second = together(code)
    assert first == "(0,)"
    assert second.startswith("None\nRuntimeError rank 1 is not in the mesh DeviceMesh((1,), ")


@pytest.mark.usefixtures("alone")
def test_meshes_that_cannot_be_say_why():
    with pytest.raises(RuntimeError, match="Mesh should not be bigger than default world size 1"):
        dist.init_device_mesh("cpu", (2,))
    with pytest.raises(RuntimeError, match="mesh_dim_names should have same length"):
        dist.init_device_mesh("cpu", (1,), mesh_dim_names=("a", "b"))
    with pytest.raises(RuntimeError, match="got \\('a', 'a', 'b'\\) for \\(1, 1\\)"):
        dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("a", "a", "b"))
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    with pytest.raises(KeyError, match="Invalid mesh_dim_name c"):
        mesh["c"]
    with pytest.raises(RuntimeError, match="`mesh_dim` needs to be specified"):
        mesh.get_group()


@pytest.mark.usefixtures("alone")
def test_a_mesh_prints_its_sizes_and_strides():
    mesh = dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("a", "b"))
    assert repr(mesh) == "DeviceMesh((a=1, b=1), 'cpu', stride=((), ()))"
    total = distribute_tensor(rg.tensor(2.0), mesh["a"])
    assert repr(total).startswith("DTensor(local_tensor=2.0, device_mesh=")
