"""Calls of shape and index functions, and what PyTorch gives for each.

As a script, with PyTorch installed, this writes `shape_index.json`. A case is an expression in
`L` (the library) and the tensors of `inputs`; its reference is the shape, dtype and elements of
every result, and the gradients of the float64 inputs for a fixed cotangent; or the error's type and
the start of its text.
"""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np

SHAPES = """
x.reshape(4, 3)
x.reshape((2, -1))
x.reshape([-1])
x.reshape(2, 5)
x.reshape(-1, -1)
x.reshape(-2, 3)
x.reshape(2.0)
z.reshape(1, 1)
e.reshape(-1, 0)
e.reshape(3, 0, 2)
x.view(2, 6)
x.t().view(12)
x.t().reshape(12)
x[:, ::2].view(6)
x.view(L.int64).shape
x.view_as(L.zeros(2, 6, dtype=L.float64))
x.reshape_as(L.zeros(6, 2))
x.permute(1, 0)
y.permute(2, 0, -2)
y.permute((0, 2, 1))
y.permute(0, 1)
y.permute(0, 1, 1)
L.permute(y, (2, 1, 0))
x.transpose(0, 1)
y.transpose(-1, 0)
y.transpose(0, 5)
z.transpose(0, -1)
x.swapaxes(0, 1)
x.swapdims(-1, 0)
x.t()
v.t()
z.t()
y.t()
x.T
y.mT
v.mT
c.H
c.mH
y.H
L.adjoint(c)
y.movedim(0, 2)
y.movedim((0, 1), (2, 0))
y.moveaxis(-1, 0)
y.movedim((0, 0), (1, 2))
m.expand(4, 3, 5, 2)
m.expand(-1, -1, 5, -1)
v.expand(2, 5)
v.expand(-1, 5)
v.expand(2, 4)
y.expand(3, 4)
z.expand(2, 2)
v.expand_as(L.zeros(3, 5))
L.broadcast_to(v, (2, 5))
L.broadcast_tensors(m, L.zeros(4, 1))
L.broadcast_tensors(v, L.zeros(4))
m.squeeze()
m.squeeze(0)
m.squeeze(1)
m.squeeze((0, 2))
m.squeeze(-2)
m.squeeze(4)
z.squeeze(0)
x.unsqueeze(0)
x.unsqueeze(-1)
x.unsqueeze(3)
z.unsqueeze(0)
y.flatten()
y.flatten(1)
y.flatten(0, 1)
y.flatten(2, 1)
z.flatten()
x.unflatten(1, (2, 2))
x.unflatten(1, (2, -1))
x.unflatten(-1, (3, 2))
x.ravel()
x.t().ravel()
x.t().contiguous()
x.select(0, 1)
y.select(-1, -2)
x.select(0, 3)
z.select(0, 0)
x.narrow(1, 1, 2)
x.narrow(1, -2, 2)
x.narrow(0, 2, 2)
x.narrow(0, 4, 1)
v.unfold(0, 2, 1)
v.unfold(0, 3, 2)
x.unfold(1, 2, 2)
x.unfold(1, 5, 1)
x.unfold(1, 2, 0)
z.unfold(0, 1, 1)
x.diagonal()
x.diagonal(1)
x.diagonal(-1)
x.diagonal(9)
y.diagonal(0, 1, 2)
y.diagonal(-1, 2, 0)
y.diagonal(0, 1, 1)
v.diagonal()
x.split(2)
x.split(3, 1)
x.split([1, 3], -1)
x.split([1, 2], 1)
x.split(0)
x.split(-1)
z.split(1)
x.split_with_sizes([1, 2], 0)
x.chunk(2)
x.chunk(3, 1)
x.chunk(7)
x.chunk(0)
x.tensor_split(2)
x.tensor_split((1, 2), 1)
x.tensor_split((3, 1), 1)
v.tensor_split(7)
x.tensor_split(0)
x.unbind()
x.unbind(1)
z.unbind()
x.hsplit(2)
x.hsplit(3)
x.vsplit((1,))
y.dsplit(2)
v.vsplit(1)
v.hsplit((2,))
L.as_strided(x, (2, 2), (4, 1), 1)
L.as_strided(v, (4, 2), (1, 1))
L.as_strided(v, (4, 3), (1, 1))
L.cat([x, x * 2])
L.cat([x, x[:, :1]], 1)
L.cat([x, v])
L.cat([x, x[:2]], 1)
L.cat([])
L.cat([z, z])
L.cat([x.float(), x])
L.cat([L.zeros(0, dtype=L.float64), x])
L.cat([L.tensor([1, 2]), L.tensor([0.5])])
L.cat(x)
L.concat((v, v))
L.stack([x, x * 2])
L.stack([x, x], -1)
L.stack([z, z])
L.stack([x, v])
L.stack([])
L.stack([x, x], 3)
L.hstack([v, v])
L.hstack([x, x])
L.vstack([v, v])
L.dstack([x, x])
L.column_stack([L.zeros(3, dtype=L.float64), x])
x.repeat(2, 1)
x.repeat(2, 1, 2)
v.repeat(0)
x.repeat(2)
z.repeat(3)
x.tile((2,))
v.tile(2, 2)
v.repeat_interleave(2)
x.repeat_interleave(2, 1)
x.repeat_interleave(L.tensor([1, 0, 2]), 0)
x.repeat_interleave(L.tensor([1, 2]), 0)
L.repeat_interleave(L.tensor([1, 0, 3]))
x.flip(0)
x.flip(0, 1)
x.flip((-1,))
x.flip(0, 0)
x.flip(2)
x.fliplr()
v.flipud()
v.fliplr()
x.roll(1)
x.roll(-1, 0)
x.roll((1, 2), (0, 1))
x.roll((1, 2))
x.roll((1, 2), 0)
z.roll(1)
x.rot90()
x.rot90(2)
x.rot90(-1)
y.rot90(1, (1, 2))
x.rot90(1, (0, 0))
x.tril()
x.tril(-1)
y.triu(1)
x.triu(-1)
v.tril()
L.tril_indices(3, 4, 1)
L.triu_indices(3, 3)
v.diag()
v.diag(-1)
x.diag()
x.diag(1)
y.diag()
L.diag_embed(x)
L.diag_embed(v, 1)
L.diag_embed(x, 0, 0, 2)
L.diag_embed(v, 0, 1, 1)
L.diagflat(x[:2, :2])
L.meshgrid(v, v[:2], indexing="ij")
L.meshgrid(v, v[:2], indexing="xy")
L.meshgrid(v, z, indexing="no")
L.cartesian_prod(v[:2], v[2:])
L.block_diag(x, v, z)
L.kron(x[:2, :2], v)
L.atleast_1d(z)
L.atleast_2d(v)
L.atleast_3d(v)
L.atleast_3d(x)
L.atleast_2d(z, v)
L.nn.functional.pad(x, (1, 2))
L.nn.functional.pad(x, (1, 2, 0, 1), value=3.0)
L.nn.functional.pad(x, (-1, 1, 1, -1))
L.nn.functional.pad(x, (1,))
L.nn.functional.pad(v, (1, 1, 1, 1))
L.nn.functional.pad(x, (-3, -3))
L.nn.functional.pad(x, (2, 1), mode="reflect")
L.nn.functional.pad(x, (2, 1), mode="replicate")
L.nn.functional.pad(x, (2, 1), mode="circular")
L.nn.functional.pad(y, (1, 0, 2, 1), mode="replicate")
L.nn.functional.pad(y, (1, 0, 2, 1), mode="reflect")
L.nn.functional.pad(y, (1, 0, 2, 1), mode="circular")
L.nn.functional.pad(x, (4, 0), mode="reflect")
L.nn.functional.pad(x, (5, 0), mode="circular")
L.nn.functional.pad(x, (1, 1), mode="other")
L.nn.functional.pad(x, (-1, 1), mode="replicate")
L.constant_pad_nd(v, (1, 1), 2.0)
c.t()
c.flip(0)
c.roll(1, 0)
c.repeat(1, 2)
L.cat([c, x[:2, :3]])
L.stack([c, c])
c.tril()
c.diagonal()
L.nn.functional.pad(c, (1, 1), mode="reflect")
"""

INDICES = """
x[0]
x[-1, 2]
x[3]
x[0, -5]
x[0, 0, 0]
x[1:]
x[:, 1::2]
x[:, 5:]
x[..., 0]
x[None]
x[:, None, 1]
x[()]
x[...]
x[::-1]
x[1.0]
z[0]
z[None]
z[...]
z[:]
x[[0, 2]]
x[[0, 2], [1, 3]]
x[:, [0, 0, 3]]
x[L.tensor([[0, 1], [2, 0]])]
x[L.tensor([5])]
x[:, L.tensor([-5])]
x[L.tensor([0, 1]), L.tensor([0, 1, 2])]
x[L.tensor([0.5])]
x[L.tensor(1)]
x[x > 0]
x[L.tensor([True, False, True])]
x[L.tensor([True, False])]
x[:, L.tensor([True, False, True, True])]
x[True]
x[False]
x[None, True, 1]
y[0, :, [0, 1]]
y[:, [0, 1], 1]
y[[0, 1], :, [0, 1]]
y[L.tensor([0, 1]), ..., L.tensor([1, 2])]
y[:, L.tensor([[0], [2]]), L.tensor([1, 3])]
y[..., [0, 1], None]
y[0, L.tensor([True, False, True])]
x[L.tensor([1, 0], dtype=L.int32)]
x[L.tensor([1, 0], dtype=L.int16)]
x.take(L.tensor([0, -1, 5]))
x.take(L.tensor([12]))
x.index_select(0, L.tensor([2, 0, 0]))
x.index_select(1, L.tensor([1]))
x.index_select(0, L.tensor([-1]))
x.index_select(0, L.tensor([[0]]))
z.index_select(0, L.tensor([0]))
x.gather(1, L.tensor([[0, 0, 3], [1, 2, 3]]))
x.gather(0, L.tensor([[2, 0, 1, 1]]))
x.gather(1, L.tensor([[4]]))
x.gather(1, L.tensor([[-1]]))
x.gather(1, L.tensor([0]))
x.gather(1, L.tensor([[0], [0], [0], [0]]))
x.gather(0, L.tensor([[0]], dtype=L.int32))
z.gather(0, L.tensor([0, 0]))
L.take_along_dim(x, L.tensor([[1], [0], [2]]), 1)
L.take_along_dim(x, L.tensor([3, 1]))
L.take_along_dim(x, L.tensor([[1, 0]]), 1)
x.scatter(1, L.tensor([[0, 1], [3, 2]]), y[0, :2, :2])
x.scatter(0, L.tensor([[1, 2, 0, 0]]), y[1, :1])
x.scatter(1, L.tensor([[0], [3], [1]]), 5.0)
x.scatter(1, L.tensor([[0], [3], [1]]), value=5.0)
x.scatter(1, L.tensor([[4]]), 5.0)
x.detach().scatter(1, L.tensor([[0, 0]]), y[0, :1, :2].detach(), reduce="add")
x.detach().scatter(1, L.tensor([[0, 0]]), y[0].detach(), reduce="multiply")
x.scatter(1, L.tensor([[0]]), y[0].float())
x.scatter_add(1, L.tensor([[0, 0], [3, 3]]), y[0, :2, :2])
x.scatter_add(0, L.tensor([[2, 2, 0, 1], [2, 0, 0, 1]]), y[0, :2])
x.scatter_add(0, L.tensor([[3]]), y[0])
x.index_add(0, L.tensor([0, 0]), y[0, :2])
x.index_add(1, L.tensor([3, 1, 3]), y[1, :, :3], alpha=2)
x.index_add(0, L.tensor([0, 1]), y[0])
x.index_add(0, L.tensor([3]), y[0, :1])
x.index_copy(0, L.tensor([2, 0]), y[0, :2])
x.index_copy(1, L.tensor([1]), y[0, :, :1])
x.index_fill(1, L.tensor([0, 2]), 7.0)
x.index_fill(1, L.tensor([0, 2]), z)
x.index_fill(1, L.tensor([0, 2]), v)
x.masked_fill(x > 0, 0.0)
x.masked_fill(L.tensor([True, False, True, False]), z)
x.masked_fill(x > 0, v)
x.masked_fill(L.ones(3, 4), 0.0)
v.masked_fill(L.tensor([[True], [False]]), 2.0)
x.masked_select(x > 0)
v.masked_select(L.tensor([[True], [False]]))
x.masked_select(x)
x.masked_scatter(x > 0, y)
x.masked_scatter(x > -9, v)
x.index_put((L.tensor([0, 0]),), y[0, :2], accumulate=True)
x.index_put((L.tensor([0, 2]), L.tensor([1, 1])), v[:2])
x.index_put((L.tensor([0, 2]),), z)
x.index_put((L.tensor([0, 2]),), v)
x.index_put((L.tensor([0, 3]),), z)
x.index_put((L.tensor([True, False, True]),), y[0, :2])
x.index_put((L.tensor([0]),), z.float())
x.put(L.tensor([0, 5]), v[:2])
x.put(L.tensor([0, 0]), v[:2], accumulate=True)
L.fill(x, 2.0)
L.fill(x, z)
c[:, [0, 0]]
c.masked_fill(L.tensor([True, False, True]), 1j)
c.scatter_add(1, L.tensor([[0, 0], [2, 2]]), c[:, :2])
"""

# Statements, run on b = x * 1 (and b's value is the result).
WRITES = """
b[0] = v[:4]
b[0] = 2.0
b[:, 1] = z
b[...] = v[:4]
b[:] = y[0]
b[0, 0] = v
b[0] = v
b[1:, ::2] = y[0, :2, :2]
b[[0, 2]] = v[:4]
b[[0, 2], [1, 3]] = v[:2]
b[b > 0] = 0.0
b[b > 0] = z
b[L.tensor([True, False, True])] = y[1, :2]
b[L.tensor([True, False, True])] = y[1, :1]
b[:, L.tensor([0, 1])] = y[:1, :, :2]
b[3] = 1.0
b[[3]] = 1.0
b[None, 0] = v[:4]
b[[0]] = "no"
b[0] = L.tensor([1, 2, 3, 4])
b[0] = 1j
b.copy_(y[0])
b.copy_(v[:4])
b.copy_(v)
b.copy_(L.tensor([[1], [2], [3]]))
b.fill_(z)
b.fill_(2)
b.fill_(v)
b.zero_()
b.t().mul_(2)
b.tril_()
b.triu_(1)
b.index_add_(0, L.tensor([0, 0]), y[0, :2])
b.index_copy_(0, L.tensor([1]), y[0, :1])
b.index_fill_(0, L.tensor([1]), 2.0)
b.index_put_((L.tensor([0, 0]),), v[:4], accumulate=True)
b.index_put_((L.tensor([1]), L.tensor([1])), z)
b.masked_fill_(b > 0, 1.0)
b.masked_fill_(b > 0, z)
b.masked_scatter_(b > 0, y)
b.put_(L.tensor([1, 5]), v[:2])
b.scatter_(1, L.tensor([[0, 1], [3, 2]]), y[0, :2, :2])
b.scatter_(1, L.tensor([[0, 1], [3, 2]]), 2.0)
b.scatter_add_(1, L.tensor([[0, 0], [3, 3]]), y[0, :2, :2])
b.diagonal().fill_(1.0)
b.diagonal(1).copy_(v[:3])
b.unfold(1, 2, 2)[0].mul_(3)
b.view(2, 6)[1].exp_()
b.permute(1, 0)[2] = v[:3]
b.squeeze().select(1, 2).add_(z)
b.narrow(0, 1, 2).transpose(0, 1)[1:3] = 0.5
b.flatten()[::5] = v[:3]
b.unsqueeze(0).expand(1, 3, 4)[0].mul_(z)
"""


def inputs(lib):
    """The tensors that the cases use."""

    def leaf(*shape, start):
        n = math.prod(shape)
        values = [round(math.sin(start + 1.3 * k) * 2, 3) for k in range(n)]
        return lib.tensor(values, dtype=lib.float64).reshape(shape).requires_grad_()

    parts = [complex(round(math.cos(k), 3), round(math.sin(2 * k), 3)) for k in range(6)]
    return {
        "L": lib,
        "x": leaf(3, 4, start=0.1),
        "y": leaf(2, 3, 4, start=0.7),
        "v": leaf(5, start=0.4),
        "z": leaf(start=1.1),
        "m": leaf(1, 3, 1, 2, start=2.0),
        "e": leaf(0, 3, start=0.0),
        "c": lib.tensor(parts, dtype=lib.complex128).reshape(2, 3).requires_grad_(),
    }


def listed(t):
    """The elements as nested lists of reals, rounded."""
    if t.is_complex():
        return [listed(t.real), listed(t.imag)]
    return [round(float(value), 9) for value in t.detach().reshape(-1).tolist()]


def shares(t, others):
    """Whether `t` has memory in common with one of `others`."""
    if hasattr(t, "_array"):
        return any(np.may_share_memory(t._array, x._array) for x in others if hasattr(x, "_array"))
    places = [x.untyped_storage().data_ptr() for x in others if hasattr(x, "untyped_storage")]
    return t.numel() > 0 and t.untyped_storage().data_ptr() in places


def weights(lib, t, phase):
    """A fixed cotangent for `t`."""
    n = math.prod(t.shape)
    values = [round(math.cos(phase + 0.9 * k), 6) for k in range(n)]
    return lib.tensor(values, dtype=lib.float64).reshape(tuple(t.shape)).to(t.dtype)


def evaluate(lib, case):
    """What a case gives: see the module's text."""
    given = inputs(lib)
    try:
        if case.startswith("b"):
            given["b"] = given["x"] * 1
            exec(case, given)
            results = given["b"]
        else:
            results = eval(case, given)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    if not isinstance(results, lib.Tensor):
        if not all(isinstance(t, lib.Tensor) for t in results):
            return {"value": list(results)}
    else:
        results = [results]
    found = {
        "results": [[list(t.shape), str(t.dtype).split(".")[-1], listed(t)] for t in results],
        "shares": [shares(t, given.values()) for t in results],
    }
    tracked = [t for t in results if t.requires_grad]
    if tracked:
        leaves = [given[name] for name in "xyvzmc"]
        grads = lib.autograd.grad(
            tracked, leaves, [weights(lib, t, 0.3 * n) for n, t in enumerate(tracked)],
            allow_unused=True,
        )  # fmt: skip
        found["grads"] = [None if g is None else listed(g) for g in grads]
    return found


def references(group):
    """The (expression, reference) pairs of one group, as they stand in the file."""
    path = Path(__file__).with_name("shape_index.json")
    return [(case, want) for name, case, want in json.loads(path.read_text()) if name == group]


def agree(got, want):
    """Equal to the nine decimals that the references carry; no gradient counts as zeros."""
    if got is None or want is None:
        assert not np.any(got if want is None else want)
        return
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=2e-9)


def check(lib, case, want, copied=()):
    """Assert that a case gives its reference; those in `copied` need not share memory."""
    found = evaluate(lib, case)
    assert found.get("error") == want.get("error"), found
    if "error" in want:
        return
    if "value" in want:
        assert found == want
        return
    assert [r[:2] for r in found["results"]] == [r[:2] for r in want["results"]]
    for got, expected in zip(found["results"], want["results"], strict=True):
        agree(got[2], expected[2])
    assert case in copied or found["shares"] == want["shares"]
    assert ("grads" in found) == ("grads" in want)
    for got, expected in zip(found.get("grads", ()), want.get("grads", ()), strict=True):
        agree(got, expected)


def main():
    """Write the file."""
    torch = importlib.import_module("torch")
    groups = {"shape": SHAPES, "index": INDICES + WRITES}
    lines = [
        json.dumps([group, case, evaluate(torch, case)])
        for group, text in groups.items()
        for case in text.split("\n")
        if case
    ]
    path = Path(__file__).with_name("shape_index.json")
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
