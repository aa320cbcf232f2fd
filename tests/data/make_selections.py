"""Calls of copies, pieces, scattering, masked and statistical functions, and PyTorch's results.

As a script, with PyTorch installed, this writes `selections.json`. Cases, inputs and references are
as in `make_shape_index.py`, whose functions do the work.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

COPIES = """
L.alias_copy(x)
L.as_strided_copy(x, (2, 2), (1, 2), 1)
L.diagonal_copy(y, 1, 0, 2)
L.diagonal_copy(x, dim1=0, dim2=0)
L.expand_copy(v, (2, 5))
L.narrow_copy(x, 1, 1, 2)
x.narrow_copy(0, 2, 2)
L.permute_copy(y, (2, 0, 1))
L.split_with_sizes_copy(v, [2, 3])
L.squeeze_copy(m)
L.squeeze_copy(m, 0)
L.t_copy(c)
L.transpose_copy(y, 0, -1)
L.unbind_copy(x, 1)
L.unfold_copy(v, 0, 2, 2)
L.unsqueeze_copy(z, 0)
L.view_copy(x, (2, 6))
L.view_copy(x.detach(), L.int64)
"""

PIECES = """
L.unsafe_split(v, 2)
L.unsafe_chunk(x, 2, 1)
L.split_with_sizes(v, [4, 1])
L.combinations(v)
L.combinations(v[:3], 3, True)
L.combinations(v, 0)
L.combinations(x)
L.broadcast_shapes((3, 1), 4, (1,))
L.broadcast_shapes((2,), (3,))
L.unravel_index(L.tensor([7, 2]), (3, 4))
L.unravel_index(L.tensor(1.0), (3, 4))
x.permute(dims=(1, 0))
L.reshape(x, shape=(2, 6))
L.flip(x, dims=(0,))
L.tile(v, dims=(2,))
"""

SCATTER = """
L.select_scatter(x, v[:4], 0, 1)
L.select_scatter(x, v, 0, 1)
L.select_scatter(x, v[:4], 0, 3)
L.slice_scatter(x, y[0, :2], 0, 1)
L.slice_scatter(x, y[0, :, :2], 1, 0, None, 2)
L.slice_scatter(x, v, 0, 0, 1)
L.diagonal_scatter(x, v[:3])
L.diagonal_scatter(x, v[:2], -1)
L.diagonal_scatter(x, v)
L.as_strided_scatter(x.detach(), v[:2].detach(), (2,), (5,), 1)
L.scatter_reduce(x, 0, L.tensor([[0, 2, 0, 1], [0, 0, 1, 1]]), y[0, :2], "sum")
L.scatter_reduce(x, 1, L.tensor([[0, 2], [0, 0], [3, 3]]), y[0, :, :2], "mean")
L.scatter_reduce(x, 1, L.tensor([[0, 2], [0, 0], [3, 3]]), y[0, :, :2], "mean", include_self=False)
L.scatter_reduce(x, 0, L.tensor([[0, 2, 0, 1], [0, 0, 1, 1]]), y[0, :2], "prod")
L.scatter_reduce(x, 0, L.tensor([[0, 2, 0, 1], [0, 0, 0, 1]]), y[0, :2], "prod", include_self=False)
L.scatter_reduce(x, 0, L.tensor([[0, 2, 0, 1], [0, 0, 1, 1]]), y[0, :2], "amax")
L.scatter_reduce(x, 0, L.tensor([[0, 2, 0, 1], [0, 0, 1, 1]]), y[0, :2], "amin", include_self=False)
L.scatter_reduce(v, 0, L.tensor([0, 0, 3]), v[2:3].expand(3), "amax", include_self=False)
L.scatter_reduce(v * 0, 0, L.tensor([1, 1]), v[:2], "prod")
L.scatter_reduce(v, 0, L.tensor([1, 1]), v[:2] * 0, "prod")
L.scatter_reduce(L.tensor([5, 7, 2]), 0, L.tensor([0, 0, 1]), L.tensor([-8, 1, 3]), "mean")
L.scatter_reduce(L.tensor([5, 7, 2]), 0, L.tensor([0, 0, 1]), L.tensor([-8, 1, 3]), "amin")
L.scatter_reduce(v, 0, L.tensor([], dtype=L.int64), v[:0], "amax")
L.scatter_reduce(z, 0, L.tensor(0), v[0], "prod")
L.scatter_reduce(v, 0, L.tensor([9]), v[:1], "sum")
L.scatter_reduce(v, 0, L.tensor([0]), v[:1], "median")
L.index_reduce(x, 0, L.tensor([0, 2, 0]), y[0], "prod")
L.index_reduce(x, 1, L.tensor([1, 1]), y[0, :, :2], "mean", include_self=False)
L.index_reduce(x, 0, L.tensor([0, 0]), y[0, :2], "amax")
L.index_reduce(x, 0, L.tensor([0, 2, 0]), y[0], "amin", include_self=False)
L.index_reduce(x, 0, L.tensor([0]), y[0, :1], "sum")
L.index_add(z, 0, L.tensor([0]), v[0], alpha=2)
L.index_copy(z, 0, L.tensor([0]), v[:1])
L.index_fill(z, 0, L.tensor([0]), 3.0)
L.index_fill(x, 0, L.tensor([1, 1]), z)
L.take_along_dim(x, L.tensor([[-1], [0], [-4]]), 1)
L.gather(v, 0, L.tensor([[], []], dtype=L.int64))
b.scatter_reduce_(0, L.tensor([[0, 0, 1, 2]]), y[0, :1], "prod")
b.index_reduce_(1, L.tensor([0, 0]), y[0, :, :2], "amax")
b[1:].scatter_reduce_(0, L.tensor([[0, 0, 1, 1]]), y[0, :1], "sum")
b.renorm_(2, 0, 1.5)
b.as_strided_((2, 3), (1, 4))
"""

STATISTICS = """
L.quantile(x, 0.3)
L.quantile(x, 0.3, dim=1, keepdim=True)
L.quantile(x, L.tensor([0.1, 0.5, 1.0], dtype=L.float64), dim=0)
L.quantile(x, L.tensor([0.1, 0.5], dtype=L.float64), keepdim=True)
L.quantile(v, 0.4, interpolation="lower")
L.quantile(v, 0.4, interpolation="higher")
L.quantile(v, 0.3, interpolation="midpoint")
L.quantile(v, 0.375, interpolation="nearest")
L.quantile(L.where(v > 0, v, L.nan), 0.5)
L.nanquantile(L.where(v > 0, v, L.nan), 0.3)
L.nanquantile(L.where(x > 0, x, L.nan), 0.3, dim=0)
L.quantile(z, 0.2)
L.quantile(e, 0.5)
L.quantile(v, 1.5)
L.quantile(v, 0.5, interpolation="cubic")
L.quantile(L.tensor([1]), 0.5)
L.quantile(v, L.tensor(0.5, dtype=L.float32))
L.cov(x)
L.cov(v)
L.cov(x, correction=0, fweights=L.tensor([1, 2, 3, 1]))
L.cov(x, aweights=v.detach()[:4].abs())
L.cov(x, fweights=L.tensor([1, 2, 3, 1]), aweights=v.detach()[:4].abs())
L.cov(c)
L.cov(L.tensor([[1, 2], [3, 5]]))
L.cov(y)
L.cov(x, fweights=v[:4])
L.corrcoef(x)
L.corrcoef(c)
L.corrcoef(v)
L.corrcoef(y)
L.gradient(v)
L.gradient(x, spacing=0.5, edge_order=2)
L.gradient(y, dim=(0, 2))
L.gradient(x, spacing=(2.0, 3.0))
L.gradient(v, spacing=(L.tensor([0.0, 1.0, 3.0, 4.0, 7.0], dtype=L.float64),), edge_order=2)
L.gradient(v[:1])
L.gradient(v, edge_order=3)
L.gradient(x, spacing=[1.0])
L.histogram(v.detach(), 4)
L.histogram(v.detach(), 3, range=(-1.0, 1.0), density=True)
L.histogram(v.detach(), L.tensor([-1.0, 0.0, 2.0], dtype=L.float64), weight=v.detach().abs())
L.histogram(v.detach()[:0], 2)
L.histogram(L.tensor([1]), 2)
L.histogram(v.detach(), 2, range=(1.0, 0.0))
L.histogramdd(x.detach()[:, :2], [2, 3]).hist
L.histogramdd(x.detach()[:, :2], 2, range=[-1.0, 1.0, 0.0, 2.0], density=True).hist
L.histogramdd(v.detach(), 2)
L.isin(L.tensor([1, 2, 3]), L.tensor([3, 1]))
L.isin(L.tensor([1, 2, 3]), 2, invert=True)
L.isin(2.0, L.tensor([1, 2]))
L.isin(1, 2)
L.nonzero_static(L.tensor([[1, 0], [0, 3]]), size=3)
L.nonzero_static(L.tensor([[1, 0], [0, 3]]), size=1, fill_value=9)
L.nonzero_static(L.tensor([1]), size=-1)
L.renorm(x, 2, 0, 1.5)
L.renorm(c, 1, 1, 0.5)
L.renorm(y, 3, -1, 1.0)
L.renorm(v, 2, 0, 1.0)
L.renorm(x, 0, 0, 1.0)
L.norm(x, "nuc")
L.norm(y, "nuc", dim=(0, 2), keepdim=True)
"""

MASKED = """
L.masked.sum(x, mask=x > 0)
L.masked.sum(x, 1, keepdim=True, mask=L.tensor([True, False, True, False]))
L.masked.sum(L.tensor([3, 4], dtype=L.int32))
L.masked.prod(y, (0, 2), mask=y > -1)
L.masked.cumsum(x, 1, mask=x > 0)
L.masked.cumprod(x, 0, mask=x > 0)
L.masked.amax(x, 0, mask=x < 1)
L.masked.amin(x, (0, 1), keepdim=True, mask=x > 0)
L.masked.amax(L.tensor([3, 4]), mask=L.tensor([False, False]))
L.masked.argmax(x, 1, mask=x < 1)
L.masked.argmin(x, mask=x > 0)
L.masked.mean(x, 1, mask=x > 0)
L.masked.mean(c, mask=c.real > 0)
L.masked.mean(x, mask=x > 9)
L.masked.mean(L.tensor([1]))
L.masked.median(x, 1, mask=x > 0)
L.masked.median(L.tensor([3, 4]), 0, mask=L.tensor([False, True]))
L.masked.median(L.tensor([3, 4]), 0, mask=L.tensor([False, False]))
L.masked.logsumexp(x, 1, mask=x > 0)
L.masked.logaddexp(x, y[0], input_mask=x > 0)
L.masked.norm(x, 3.0, 1, mask=x > 0)
L.masked.norm(x, -L.inf, 1, mask=x > -1.5)
L.masked.normalize(x, 2.0, 1, mask=x > 0)
L.masked.softmax(x, 1, mask=x < 1.5)
L.masked.log_softmax(x, 0)
L.masked.softmin(x, 1, mask=x < 1.5)
L.masked.var(x, 1, mask=x > -1)
L.masked.std(x, mask=x > 0)
L.masked.var(x, 0, False, keepdim=True)
L.masked.var(c, correction=0, mask=c.real > 0)
L.masked.std(L.tensor([1, 2, 4]))
L.masked.sum(v, mask=x > 0)
"""

GROUPS = {
    "copies": COPIES,
    "pieces": PIECES,
    "scatter": SCATTER,
    "statistics": STATISTICS,
    "masked": MASKED,
}
FILE = Path(__file__).with_name("selections.json")


def machinery():
    """`make_shape_index.py` as a module."""
    path = Path(__file__).with_name("make_shape_index.py")
    spec = importlib.util.spec_from_file_location("shape_cases", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def references(*groups):
    """The (expression, reference) pairs of some groups, as they stand in the file."""
    stored = json.loads(FILE.read_text())
    return [(case, want) for group, case, want in stored if group in groups]


def main():
    """Write the file."""
    torch = importlib.import_module("torch")
    importlib.import_module("torch.masked")
    evaluate = machinery().evaluate
    lines = [
        json.dumps([group, case, evaluate(torch, case)])
        for group, text in GROUPS.items()
        for case in text.split("\n")
        if case
    ]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
