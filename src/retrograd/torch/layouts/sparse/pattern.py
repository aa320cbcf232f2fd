"""Where the entries of a sparse array are, and what products over them compute.

A pattern is never written, so what is derived from it, such as the order of its rows, is kept.
Nothing here knows of tensors.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ....kernels import sums
from ....kernels.allocation import empty, table
from ....locks import load

__all__ = ["COO", "Form", "Pattern", "product", "sampled"]

BLOCK = 1 << 16  # numbers that `sampled` takes at once: they stay in the cache
SCIPYS = "fdFDil"  # dtypes that SciPy's loops compute in


class Form(NamedTuple):
    """How users see the places of entries: those of matrices in compressed form.

    `batch` dimensions come before those of the matrices, with as many entries in each matrix;
    `block` is the shape of the blocks (n, m) of which all elements are entries; `index` the dtype
    of indices. Within a pattern it is all one: places are those of elements.
    """

    layout: str = "sparse_coo"
    batch: int = 0
    block: tuple[int, int] | None = None
    index: Any = np.dtype(np.int64)

    @property
    def by_columns(self) -> bool:
        """Whether the compressed dimension is that of columns."""
        return self.layout in ("sparse_csc", "sparse_bsc")

    @property
    def turned(self) -> Form:
        """The form of the transposed matrices."""
        layout = TURNED[self.layout]
        return self._replace(layout=layout, block=self.block and self.block[::-1])

    def divided(self, indices: Any) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
        """Where the blocks of places are, by the order in which they are told; places in them."""
        *batch, row, column = indices
        n, m = self.block or (1, 1)
        outer = (row // n, column // m)
        return (*batch, *(outer[::-1] if self.by_columns else outer)), (row % n, column % m)


COO = Form()
TURNED = {
    "sparse_csr": "sparse_csc",
    "sparse_csc": "sparse_csr",
    "sparse_bsr": "sparse_bsc",
    "sparse_bsc": "sparse_bsr",
}


class Pattern:
    """The places of entries in an array of `shape`: column e of `indices` (D, n) is one.

    They index the first D dimensions; an entry is an array of the shape of the others. In a pattern
    that is `coalesced`, as one of fewer than two entries is, places are sorted and differ; in
    another one, entries at one place add up.
    """

    def __init__(self, indices: Any, shape: Any, coalesced: bool = False, form: Form = COO) -> None:
        self.indices, self.shape = indices, tuple(shape)
        if math.prod(self.shape) >= 2**63:  # places are numbered in int64
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
        self.coalesced, self.form = coalesced or self.indices.shape[1] < 2, form
        self._turned: dict[tuple[int, ...], Pattern] = {}

    def __reduce__(self) -> Any:
        return Pattern, (self.indices, self.shape, self.coalesced, self.form)

    def __repr__(self) -> str:
        return f"<{self.form.layout} pattern of {self.count} places in {list(self.shape)}>"

    @property
    def count(self) -> int:
        """The number of entries."""
        return self.indices.shape[1]  # type: ignore[no-any-return]

    @property
    def dims(self) -> int:
        """The number of dimensions that are sparse."""
        return len(self.indices)

    def places(self, like: Any) -> tuple[Any, ...]:
        """The index that picks the entries out of a dense array."""
        if not self.dims:  # the whole array is the one entry, if it is there
            return (table(like, np.array(self.count > 0)),)
        return tuple([table(like, index) for index in self.indices])

    @cached_property
    def keys(self) -> Any:
        """For each entry, the number of its place, counted in row-major order."""
        return raveled(self.indices, self.shape)

    @cached_property
    def merged(self) -> tuple[Pattern, Any]:
        """The coalesced pattern, and which of its entries each of these adds to."""
        if self.coalesced:
            return self, np.arange(self.count)
        keys, first, inverse = np.unique(self.keys, return_index=True, return_inverse=True)
        indices = self.indices[:, first] if len(keys) else self.indices[:, :0]
        return self.at(indices, True), inverse.reshape(-1)

    @cached_property
    def rows(self) -> tuple[Any, Any, Any]:
        """Of a matrix: where each row begins, the columns by row, and the entries in that order.

        The last is None where that is their own.
        """
        row, column = self.indices
        starts = np.zeros(self.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=self.shape[0]), out=starts[1:])
        if (row[1:] >= row[:-1]).all():
            return starts, column, None
        order = np.argsort(row, kind="stable")
        return starts, column[order], order

    def turned(self, order: tuple[int, ...]) -> Pattern:
        """The pattern with its sparse dimensions in another order; entries keep theirs."""
        found = self if order == tuple(sorted(order)) else self._turned.get(order)
        if found is None:
            shape = (*[self.shape[dim] for dim in order], *self.shape[len(order) :])
            found = self._turned[order] = Pattern(self.indices[list(order)], shape)
        return found

    def at(self, indices: Any, coalesced: bool = False) -> Pattern:
        """Other places in an array of the shape and form of this one."""
        return Pattern(indices, self.shape, coalesced, self.form)

    def laid_out(self, form: Form) -> Pattern:
        """The same places in another form; of the blocks they are in, all, in order."""
        if form == self.form:
            return self
        indices = self.indices
        if form.block is not None and form.block != self.form.block:
            outer, _ = form.divided(indices)
            indices = elements_of(np.unique(np.stack(outer), axis=1), form)
            keys = np.argsort(raveled(indices, self.shape), kind="stable")
            return Pattern(indices[:, keys], self.shape, True, form)
        return Pattern(indices, self.shape, self.coalesced, form)

    @cached_property
    def compressed(self) -> tuple[Any, Any, Any]:
        """Of compressed matrices: where rows (or columns) of blocks begin, those across, an order.

        Of shapes (..., blocks of a column + 1) and (..., blocks); the entries are told in that
        order. Raises RuntimeError for matrices of a batch with different numbers of entries.
        """
        form, lead = self.form, self.shape[: self.form.batch]
        n, m = form.block or (1, 1)
        rows, columns = self.shape[form.batch] // n, self.shape[form.batch + 1] // m
        lines, across = (columns, rows) if form.by_columns else (rows, columns)
        outer, (i, j) = form.divided(self.indices)
        number = raveled(np.stack(outer), (*lead, lines, across)) * (n * m) + i * m + j
        order = np.argsort(number, kind="stable")
        blocks = number[order[:: n * m]] // (n * m)
        counts = np.bincount(blocks // max(1, across), minlength=math.prod(lead) * lines)
        counts = counts.reshape(*lead, lines)
        starts = np.zeros((*lead, lines + 1), np.int64)
        np.cumsum(counts, -1, out=starts[..., 1:])
        ends = starts[..., -1]
        if ends.size and (ends != ends.flat[0]).any():
            raise RuntimeError(
                f"Expect the same number of specified elements per batch, but they are {ends}. "
                "Keep coordinates: x.to_sparse()"
            )
        count = int(ends.flat[0]) if ends.size else 0
        return starts, (blocks % max(1, across)).reshape(*lead, count), order

    def find(self, other: Pattern) -> tuple[Any, Any]:
        """For places of `other`, entries of this (coalesced) pattern, and whether each is one."""
        if not self.count:
            none = np.zeros(other.count, np.int64)
            return none, none.astype(np.bool_)
        at = np.minimum(np.searchsorted(self.keys, other.keys), self.count - 1)
        return at, self.keys[at] == other.keys


def elements_of(outer: Any, form: Form) -> Any:
    """The places of all elements of blocks (D, n), block by block, from those of `compressed`."""
    *batch, line, across = outer
    n, m = form.block or (1, 1)
    row, column = (across, line) if form.by_columns else (line, across)
    i, j = np.divmod(np.arange(n * m), m)
    within = [np.repeat(index, n * m) for index in batch]
    rows, columns = row[:, None] * n + i, column[:, None] * m + j
    return np.stack([*within, rows.reshape(-1), columns.reshape(-1)])


def raveled(indices: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of places in row-major order."""
    out = np.zeros(indices.shape[1], np.int64)
    for index, size in zip(indices, shape, strict=False):
        out *= size
        out += index
    return out


def product(values: Any, dense: Any, *, pattern: Pattern) -> Any:
    """The product of a sparse matrix (n, m), of which `values` are the entries, and `dense` (m, k).

    By SciPy's loop where it is installed, which makes no products first.
    """
    sparse = load_scipy()
    starts, column, order = pattern.rows
    values = values if order is None else values[table(values, order)]
    if sparse is not None and values.dtype.char in SCIPYS and dense.__class__ is np.ndarray:
        return sparse.csr_matrix((values, column, starts), pattern.shape) @ dense
    row = np.repeat(np.arange(pattern.shape[0]), np.diff(starts))
    terms = values[:, None] * dense[table(dense, column)]
    return sums.scattered_rows(terms, table(terms, row), pattern.shape[0])


def sampled(a: Any, b: Any, *, pattern: Pattern) -> Any:
    """The entries of `a @ b.T` at the places of a pattern, for `a` (n, k) and `b` (m, k)."""
    row, column = pattern.indices
    out = empty(a, pattern.count, np.result_type(a.dtype, b.dtype))
    step = max(1, BLOCK // max(1, math.prod(a.shape[1:])))
    for start in range(0, pattern.count, step):
        part = slice(start, start + step)
        out[part] = (a[table(a, row[part])] * b[table(b, column[part])]).sum(-1)
    return out


def load_scipy() -> Any:
    """SciPy's sparse matrices, None where SciPy is not installed."""
    try:
        return load("scipy.sparse")
    except ImportError:
        return None
