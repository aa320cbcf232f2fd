"""Sparse matrices from compressed indices: by rows or columns, of numbers or of blocks."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ....engine.registry import name_node
from ....engine.tensor import Tensor
from ....ops.core.arguments import titled
from ....ops.creation.factories import shape_of
from ....ops.creation.from_data import check_device
from .array import Sparse
from .factories import NNZ, as_integers, as_leaf, entries_of
from .methods import COMPRESSED
from .pattern import Form, Pattern, elements_of
from .rules import regrouped

__all__ = [
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor",
]  # fmt: skip

ROWS = ("crow_indices", "col_indices", "ncols")
COLUMNS = ("ccol_indices", "row_indices", "nrows")


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Sparse matrices (..., n, m) by rows or columns, as `layout` says: row i has `values[a:b]`.

    They are in the columns `plain_indices[a:b]`, where `a, b` are `compressed_indices[i]` and
    `[i + 1]`. With the layouts of blocks, values are (count, rows, columns), and indices count
    blocks. Leading dimensions of all three are batches of matrices; further ones of the values are
    dense. Without `size`, it is the smallest that holds them. Columns are sorted, and those named
    twice added up. Raises RuntimeError for sizes that do not fit, and indices outside. Source:
    PyTorch's `sparse_compressed_tensor`.

    >>> x = rg.sparse_compressed_tensor([0, 1], [1], rg.ones(1, 2, 1), layout=rg.sparse_bsr)
    >>> x.to_dense()
    tensor([[0., 1.],
            [0., 1.]])
    """
    check_device(device)
    name = getattr(layout, "name", layout)
    if name not in COMPRESSED:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}: "
            "layout=sparse_csr, sparse_csc, sparse_bsr or sparse_bsc"
        )
    entries = entries_of(values, dtype)
    names = names_of(name)
    starts, across = as_integers(compressed_indices, names[0]), as_integers(plain_indices, names[1])
    form = Form(name, max(across.ndim - 1, 0), None, index_dtype(compressed_indices))
    if name in ("sparse_bsr", "sparse_bsc"):
        block: Any = tuple(entries.shape[across.ndim : across.ndim + 2])
        form = form._replace(block=block)
    check_parts(starts, across, entries, form, names)
    inner = entries.shape[across.ndim + (2 if form.block else 0) :]
    matrix = size_of(starts, across, form)
    shape = (*across.shape[:-1], *matrix, *inner)
    if size is not None:
        shape = checked_size(shape_of((size,), f"{name}_tensor"), shape, form, names)
    places = elements_of(blocks_at(starts, across), form)
    line = shape[form.batch + (not form.by_columns)] // (form.block or (1, 1))[not form.by_columns]
    if across.size and (across.min() < 0 or across.max() >= line):
        raise RuntimeError(f"`0 <= {names[1]} < {names[2]}` is not satisfied.")
    found = regrouped(entries.reshape(places.shape[1], *inner), places, shape, form)
    return as_leaf(name_node(found, "SparseCompressedTensorBackward0"), requires_grad)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, layout: Any
) -> None:
    """Raise RuntimeError unless these are the parts of compressed matrices of a size.

    >>> indices = rg.tensor([0, 1]), rg.tensor([0])
    >>> rg._validate_sparse_compressed_tensor_args(*indices, rg.ones(1), (1, 2), rg.sparse_csr)
    """
    parts = (compressed_indices, plain_indices, values.detach())
    sparse_compressed_tensor(*parts, size, layout=layout)


def names_of(layout: str) -> tuple[str, str, str]:
    """PyTorch's names of a layout's two tables of indices, and of the second's bound."""
    return COLUMNS if layout in ("sparse_csc", "sparse_bsc") else ROWS


def index_dtype(indices: Any) -> Any:
    """The dtype in which indices are shown: int32 if they were given so."""
    given = getattr(indices, "dtype", None)
    given = getattr(given, "numpy", given)
    return given if given == np.int32 else Form().index


def check_parts(starts: Any, across: Any, values: Tensor, form: Form, names: Any) -> None:
    """Raise RuntimeError unless indices and values are the parts of matrices of a form."""
    if (
        not starts.ndim
        or starts.ndim != across.ndim
        or values.ndim < across.ndim
        or (form.block is not None and (len(form.block) != 2 or 0 in form.block))
    ):
        raise RuntimeError(
            f"{names[0]}, {names[1]} and values must have the same batch dimensions, and values of "
            f"blocks two more: they are of shapes {list(starts.shape)}, {list(across.shape)}, "
            f"{list(values.shape)}"
        )
    steps, ends = np.diff(starts), (starts[..., :1], starts[..., -1:])
    if (
        not starts.shape[-1]
        or starts.shape[:-1] != across.shape[:-1]
        or (ends[0] != 0).any()
        or (ends[1] != across.shape[-1]).any()
        or (steps < 0).any()
    ):
        raise RuntimeError(
            f"`{names[0]}[..., 0] == 0`, `{names[0]}[..., -1] == nnz`, rising, is not satisfied: "
            f"{starts.tolist()} for {across.shape[-1]} {names[1]}"
        )
    if tuple(values.shape[: across.ndim]) != across.shape:
        raise RuntimeError(NNZ.format(across.shape[-1], list(values.shape[: across.ndim])))


def size_of(starts: Any, across: Any, form: Form) -> tuple[int, int]:
    """The smallest shape of matrices with these indices."""
    n, m = form.block or (1, 1)
    lines, others = starts.shape[-1] - 1, int(across.max(initial=-1)) + 1
    return (others * n, lines * m) if form.by_columns else (lines * n, others * m)


def checked_size(given: Any, least: Any, form: Form, names: Any) -> Any:
    """The size that is asked for; RuntimeError for one that the parts do not fit."""
    at = form.batch + form.by_columns  # of the dimension that is compressed
    if len(given) != len(least) or given[at] != least[at]:
        raise RuntimeError(
            f"{names[0]}.shape[-1] must be equal to the number of compressed dimensions plus one: "
            f"indices and values are of a tensor of size {list(least)}, but got {list(given)}"
        )
    n, m = form.block or (1, 1)
    rows, columns = given[form.batch : form.batch + 2]
    others = (*given[: form.batch], *given[form.batch + 2 :])
    if rows % n or columns % m or others != (*least[: form.batch], *least[form.batch + 2 :]):
        raise RuntimeError(
            f"indices and values of blocks of {[n, m]} are of a tensor of size {list(least)}, with "
            f"at least as much across, but got {list(given)}"
        )
    return given


def blocks_at(starts: Any, across: Any) -> list[Any]:
    """Where blocks are: in batches, in lines that are compressed, and across."""
    lead, count = across.shape[:-1], starts.shape[-1] - 1
    batch = np.indices(lead).reshape(len(lead), int(np.prod(lead)))
    line = np.tile(np.arange(count), batch.shape[1])
    return [
        *np.repeat(batch, across.shape[-1], 1),
        np.repeat(line, np.diff(starts).reshape(-1)),
        across.reshape(-1),
    ]


def in_layout(layout: str, doc: str) -> Any:
    """The function `sparse_compressed_tensor` for one layout, with PyTorch's names of indices."""
    full = inspect.signature(sparse_compressed_tensor)
    _, _, *others = [each for each in full.parameters.values() if each.name != "layout"]
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
        for name in names_of(layout)[:2]
    ]
    signature = full.replace(parameters=[*first, *others])

    def make(*args: Any, **kwargs: Any) -> Tensor:
        given = signature.bind(*args, **kwargs).arguments
        parts = [given.pop(each.name) for each in first]
        return sparse_compressed_tensor(*parts, layout=layout, **given)

    make.__signature__ = signature  # type: ignore[attr-defined]
    return titled(make, f"{layout}_tensor", doc)


sparse_csr_tensor = in_layout(
    "sparse_csr",
    """`sparse_compressed_tensor` by rows.

    >>> rg.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """,
)
sparse_csc_tensor = in_layout(
    "sparse_csc",
    """`sparse_compressed_tensor` by columns.

    >>> rg.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4.0, 3.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """,
)
sparse_bsr_tensor = in_layout(
    "sparse_bsr",
    """`sparse_compressed_tensor` by rows of blocks, values of shape (count, rows, columns).

    >>> rg.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 1., 2.]])
    """,
)
sparse_bsc_tensor = in_layout(
    "sparse_bsc",
    """`sparse_compressed_tensor` by columns of blocks.

    >>> rg.sparse_bsc_tensor([0, 0, 1], [0], [[[1.0, 2.0]]]).to_dense()
    tensor([[0., 0., 1., 2.]])
    """,
)


def without_entries(shape: tuple[int, ...], layout: Any, target: Any) -> Sparse:
    """An array of zeros in a sparse layout that has no blocks."""
    entries = layout.name == "sparse_coo"
    if not entries and len(shape) < 2:
        raise RuntimeError(f"layout={layout} takes matrices, but the shape is {list(shape)}")
    form = Form() if entries else Form(layout.name, len(shape) - 2)
    pattern = Pattern(np.zeros((len(shape), 0), np.int64), shape, True, form)
    return Sparse(np.zeros(0, target), pattern)
