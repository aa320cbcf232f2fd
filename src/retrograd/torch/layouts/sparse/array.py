"""The array of a sparse tensor: entries of a dense array at the places of a pattern.

NOTE [Sparse tensors]
1. A sparse tensor is a tensor whose array is `Sparse`. That holds no history, and is not written:
   in-place forms give the tensor another one. Rules compute on entries, by ops (NOTE [Layouts] in
   `layouts.layout`).
2. Four linear records lead in and out (`records`): `from_entries` and `densify` make a sparse or a
   dense array of entries, `entries` and `picked` take those of a sparse or a dense one. A cotangent
   may be sparse, too: that of a sparse tensor, and of an embedding's table. It stands for the whole
   array, in which other places are 0.
3. Cotangents meet by `+`, which is all of NumPy's arithmetic that the array knows itself. One
   that a custom Function made sparse is made dense for the formulas of an op.
4. Entries at one place add up. Whatever is not linear in them coalesces first, so what it takes
   are the array's values.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ....engine.registry import name_node
from ....engine.tensor import Tensor
from ....kernels import sums
from ....kernels.allocation import copied, table, zeros
from ..layout import Layout
from .pattern import COO, Form, Pattern

if TYPE_CHECKING:
    from ....engine.graph import Node
    from ....engine.op import Op

__all__ = ["Sparse", "common", "is_sparse", "refused", "rule"]

NO_ROOM = "a sparse result cannot be written into a dense tensor. Make it dense first: y.to_dense()"
NO_SUM = (
    "add(sparse, dense) is not supported for numbers and other shapes. Use add(dense, sparse) "
    "instead: x.to_dense() + y"
)


SPARSE = ("add", "from_entries")  # ops that a Function's sparse arguments may come from


def common(a: Pattern, b: Pattern) -> Form:
    """The form of places that are in one of two patterns, or in both."""
    same = (a.form.block, a.form.batch) == (b.form.block, b.form.batch)
    return a.form if same else COO


class Sparse(Layout):
    """An array of which only entries are there: `values` (n, ...), at the places of `pattern`."""

    __slots__ = ("dtype", "ndim", "pattern", "shape", "values")

    offset = 0
    parts = ("values", "pattern")
    own = ("entries", "add")
    no_rule = (
        "Could not run '{}' with arguments from the 'SparseCPU' backend: it is not there for {}. "
        "Make them dense: x.to_dense()"
    )

    def __init__(self, values: Any, pattern: Pattern) -> None:
        self.values, self.pattern = values, pattern
        self.shape, self.dtype, self.ndim = pattern.shape, values.dtype, len(pattern.shape)

    @property
    def layout(self) -> str:
        """The name of the layout."""
        return self.pattern.form.layout

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Zeros, as in PyTorch: elements have no place in memory of their own."""
        return (0,) * self.ndim

    @property
    def flags(self) -> Any:
        """Flags of memory: elements are in no order."""
        if self.layout != "sparse_coo":
            kind = self.layout.removeprefix("sparse_").upper()
            raise NotImplementedError(f"Sparse {kind} tensors do not have is_contiguous")
        return SimpleNamespace(c_contiguous=False)

    def interpret(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result of an op by its rule, whose node has the name of the op."""
        found = super().interpret(op, inputs, params)
        if not isinstance(found, Tensor) or any(found is each for each in inputs):
            return found
        return name_node(found, op.node_name)

    def merged(self) -> Sparse:
        """This array, coalesced."""
        if self.pattern.coalesced:
            return self
        pattern, inverse = self.pattern.merged
        flat = self.values.reshape(len(inverse), math.prod(self.values.shape[1:]))
        found = sums.scattered_rows(flat, table(flat, inverse), pattern.count).astype(
            self.dtype, copy=False
        )
        return Sparse(found.reshape(pattern.count, *self.values.shape[1:]), pattern)

    def dense(self) -> Any:
        """The dense array."""
        return self.added_to(zeros(self.values, self.shape))

    def added_to(self, array: Any) -> Any:
        """`array`, which is written, with the entries added."""
        own = self.merged()
        places = own.pattern.places(array)
        array[places] = array[places] + own.values
        return array

    def item(self) -> Any:
        """The number that the one element is."""
        return self.dense().item()

    def taken(self, pattern: Pattern) -> Any:
        """The values at the places of a pattern, zeros where there is no entry."""
        own = self.merged()
        if own.pattern is pattern:
            return own.values
        if own.pattern.dims != pattern.dims:
            dense = self.dense()
            return dense[pattern.places(dense)]
        if not own.pattern.count:
            return zeros(self.values, (pattern.count, *self.values.shape[1:]))
        at, there = own.pattern.find(pattern)
        there = there.reshape(-1, *[1] * (self.values.ndim - 1))
        none = zeros(self.values, (), self.dtype)
        return np.where(table(own.values, there), own.values[table(own.values, at)], none)

    # -- sums of cotangents --------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: Any, how: str, x: Any, y: Any = None, out: Any = None, **options: Any
    ) -> Any:
        if ufunc is not np.add or how != "__call__" or options:
            raise refused(ufunc.__name__)
        if x.shape != y.shape:
            raise RuntimeError(NO_SUM)
        if isinstance(x, Sparse) and isinstance(y, Sparse) and out is None:
            return x.joined(y)
        mine, dense = (x, y) if isinstance(x, Sparse) else (y, x)
        if out is None:
            return mine.added_to(copied(dense))
        if out[0] is not dense:
            raise ValueError(NO_ROOM)
        return mine.added_to(dense)

    def joined(self, other: Sparse) -> Any:
        """The sum of two sparse arrays, dense where other dimensions of theirs are sparse."""
        a, b = self.pattern, other.pattern
        if a is b or np.array_equal(a.indices, b.indices):
            return Sparse(self.values + other.values, a)
        if a.dims != b.dims:
            return other.added_to(self.dense())
        values = np.concatenate([self.values, other.values])
        indices = np.concatenate([a.indices, b.indices], 1)
        found = Sparse(values, Pattern(indices, a.shape, False, common(a, b)))
        return found.merged() if a.coalesced and b.coalesced else found

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    __radd__ = __add__

    # -- what the engine asks of what stands for an array ----------------------------------------

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` is sparse, too: writes replace its array."""
        if not is_sparse(target):
            raise RuntimeError(NO_ROOM)

    def around(self, made: Tensor) -> NoReturn:
        """Raise: other than zeros, what would be like it is dense."""
        raise refused("full_like")

    def as_cotangent(self, edge: Node) -> Any:
        """This array for leaves, Functions and ops that give sparse tensors; else dense."""
        behind = edge.edges if edge.op.name == "add" else (edge,)
        taken = all(e is None or not e.op.formulas or e.op.name in SPARSE for e in behind)
        return self if taken else self.dense()

    def zeroed(self, dtype: Any) -> Sparse:
        """Zeros of this form: no entries."""
        pattern = self.pattern.at(self.pattern.indices[:, :0], True)
        return Sparse(zeros(self.values, (0, *self.values.shape[1:]), dtype), pattern)


is_sparse, refused, rule = Sparse.holds, Sparse.refused, Sparse.rule
