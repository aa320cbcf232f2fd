"""Batch normalization over processes is that of the whole batch in one process."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn

from .together import together, values

# The whole batch on each rank, of which it takes its own rows; weights of the loss are one more.
CODE = """
def whole(dtype, *shape):
    rg.manual_seed(0)
    x, w = (rg.randn(*shape, dtype=dtype) * 2 + 30 for _ in range(2))
    return x, w
def layer(kind, dtype, **more):
    rg.manual_seed(1)
    bn = kind(3, dtype=dtype, **more)
    for p in bn.parameters():
        rg.nn.init.normal_(p)
    return bn
def step(bn, x, w):
    x = x.clone().requires_grad_()
    out = bn(x)
    (out * w).real.square().sum().backward()
    return out.detach(), x.grad, *(p.grad for p in bn.parameters()), bn.running_mean, bn.running_var
"""
RUN = (
    CODE
    + """
dtype, rows = rg.{dtype}, {rows}
x, w = whole(dtype, sum(rows), 3, {inner})
mine = slice(sum(rows[:rank]), sum(rows[:rank + 1]))
bn = layer(nn.SyncBatchNorm, dtype, momentum={momentum})
found = [step(bn, x[mine], w[mine]) for _ in range(2)][-1]
show(*found)
"""
)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("rows", [(4, 4), (5, 2, 1), (3, 0)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_ranks_normalize_by_the_whole_batch(dtype, rows, momentum):
    code = RUN.format(dtype=dtype, rows=rows, inner=2, momentum=momentum)
    ranks = [[array(v, dtype) for v in shown] for shown in values(code, len(rows))]
    names = {"rg": rg, "nn": nn}
    exec(CODE, names)
    x, w = names["whole"](getattr(rg, dtype), sum(rows), 3, 2)
    bn = names["layer"](nn.BatchNorm1d, getattr(rg, dtype), momentum=momentum)
    out, grad, *of_parameters, mean, var = [names["step"](bn, x, w) for _ in range(2)][-1]
    for given, expected in zip(
        (np.concatenate([r[i].reshape(-1, 3, 2) for r in ranks]) for i in range(2)),
        (out, grad),
        strict=True,
    ):
        assert np.allclose(given, expected.numpy(), rtol=1e-10, atol=1e-10)
    for i, expected in enumerate(of_parameters, 2):
        added = sum(r[i] for r in ranks)
        assert np.allclose(added, expected.numpy(), rtol=1e-10, atol=1e-10)
    for r in ranks:
        assert np.allclose(r[4], mean.numpy(), rtol=1e-12, atol=0)
        assert np.allclose(r[5], var.numpy(), rtol=1e-12, atol=0)


def array(shown, dtype):
    if dtype == "complex128" and len(shown) == 2 and not np.isscalar(shown[0]):
        return np.asarray(shown[0]) + 1j * np.asarray(shown[1])
    return np.asarray(shown)


def test_means_far_from_zero_keep_their_variance():
    code = """
x = rg.full((4, 1), 123456.0) + rg.tensor([[0.0], [1], [2], [3]]) + 4 * rank
bn = nn.SyncBatchNorm(1, eps=0.0, affine=False, momentum=1.0)
show(bn(x), bn.running_var)
"""
    deviation = math.sqrt(5.25)
    for rank, (out, var) in enumerate(values(code)):
        expected = (np.arange(4) + 4 * rank - 3.5) / deviation
        assert np.allclose(np.ravel(out), expected, rtol=1e-6, atol=0)
        assert np.allclose(var, [6.0], rtol=1e-6, atol=0)


def test_second_derivatives_go_through_all_ranks():
    code = """
from retrograd.distributed.nn import all_reduce
def loss(x):
    return all_reduce((nn.SyncBatchNorm(2, affine=False).double()(x) ** 3).sum()) / size
rg.manual_seed(rank); x = rg.randn(3, 2, dtype=rg.float64, requires_grad=True)
g, = rg.autograd.grad(loss(x), x, create_graph=True)
rg.manual_seed(2 + rank); v = rg.randn(3, 2, dtype=rg.float64); h = 1e-5
hv, = rg.autograd.grad((g * v).sum(), x)
up, down = ((x + s * v).detach().requires_grad_() for s in (h, -h))
gu, = rg.autograd.grad(loss(up), up); gd, = rg.autograd.grad(loss(down), down)
show(hv, (gu - gd) / (2 * h))
"""
    for exact, by_differences in values(code):
        assert np.allclose(exact, by_differences, rtol=1e-6, atol=1e-6)


def test_a_group_of_one_and_evaluation_exchange_nothing():
    code = """
x = rg.arange(12.0).reshape(4, 3) * (1 + rank)
alone = [dist.new_group([r]) for r in range(size)][rank]
plain = nn.BatchNorm1d(3)
assert rg.equal(nn.SyncBatchNorm(3, process_group=alone)(x), plain(x))
if rank == 0:  # the other rank does not take part
    assert rg.equal(nn.SyncBatchNorm(3).eval()(x), nn.BatchNorm1d(3).eval()(x))
print("done")
"""
    assert together(code) == ["done"] * 2


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (2, 3, 4, 4), (2, 3, 2, 2, 2)])
def test_without_a_group_it_is_batch_norm(shape):
    x = rg.arange(float(math.prod(shape))).reshape(shape).sin()
    ours, plain = nn.SyncBatchNorm(3), nn.BatchNorm1d(3)
    expected = plain(x.flatten(2)) if len(shape) > 2 else plain(x)
    assert rg.equal(ours(x).reshape(expected.shape), expected)
    assert rg.equal(ours.running_var, plain.running_var)
    with pytest.raises(ValueError, match="expected at least 2D input"):
        ours(rg.ones(3))
    with pytest.raises(ValueError, match="number of input channels should be non-zero"):
        ours(rg.ones(3, 0))


def test_converted_layers_keep_their_parameters_and_state():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3, momentum=None)))
    norm = net[1][0]
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert made is net
    assert type(made[1][0]) is nn.SyncBatchNorm
    assert made[1][0].weight is norm.weight
    assert made[1][0].momentum is None
    assert list(made.state_dict()) == [
        "0.weight", "0.bias", "1.0.weight", "1.0.bias",
        "1.0.running_mean", "1.0.running_var", "1.0.num_batches_tracked",
    ]  # fmt: skip
