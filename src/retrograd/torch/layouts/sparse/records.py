"""The records under sparse tensors: NOTE [Sparse tensors] in `array`, 2; products of matrices.

By them, `lookup` of rows of a table whose gradient is sparse: `embedding(sparse=True)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine.dispatch import as_non_view
from ....engine.registry import declare, example, name_node
from ....engine.tensor import Tensor, new_tensor
from ....kernels.allocation import copied
from .array import Sparse
from .pattern import Pattern, product, sampled

TWICE = Pattern(np.array([[2, 0, 2], [1, 1, 1]]), (3, 2))  # two entries at one place
ROWS = Pattern(np.array([[2, 0, 2]]), (3, 2))


def _taken(input: Any, *, pattern: Pattern) -> Any:
    return input.taken(pattern) if isinstance(input, Sparse) else input[pattern.places(input)]


def _entries_of(xp: Any, g: Any, pattern: Pattern) -> Any:
    array = g._array if isinstance(g, Tensor) else g
    return (xp.entries if isinstance(array, Sparse) else xp.picked)(g, pattern=pattern)


from_entries = declare(
    "from_entries(values, *, pattern)",
    lambda values, *, pattern: Sparse(copied(values), pattern),
    values=lambda xp, g, pattern: _entries_of(xp, g, pattern),
    linear="values",
    batch=None,
    node_name="SparseCooTensorWithDimsAndTensorsBackward0",
    doc="""A sparse tensor with these entries.""",
)

entries = declare(
    "entries(input, *, pattern)",
    _taken,
    input=lambda xp, g, pattern: xp.from_entries(g, pattern=pattern),
    linear="input",
    batch=None,
    node_name="ValuesBackward0",
    doc="""The values at the places of a pattern, with a sparse cotangent.""",
)

picked = declare(
    "picked(input, *, pattern)",
    _taken,
    input=lambda xp, g, pattern: xp.densify(g, pattern=pattern),
    linear="input",
    batch=None,
    node_name="SparseMaskBackward0",
    examples=[example("3x2", pattern=TWICE), example("3x2", pattern=ROWS)],
    doc="""The values at the places of a pattern, with a dense cotangent.""",
)

densify = declare(
    "densify(values, *, pattern)",
    lambda values, *, pattern: Sparse(values, pattern).dense(),
    values=lambda xp, g, pattern: _entries_of(xp, g, pattern),
    adds="values",
    batch=None,
    node_name="ToDenseBackward0",
    examples=[example("3", pattern=TWICE), example("3x2", pattern=ROWS)],
    doc="""A dense tensor of zeros to which the entries are added.""",
)

sparse_mm = declare(
    "sparse_mm(values, dense, *, pattern)",
    product,
    values=lambda xp, g, dense, pattern: xp.sampled_mm(g, xp.conj(dense), pattern=pattern),
    dense=lambda xp, g, values, pattern: xp.sparse_mm(
        xp.conj(values), g, pattern=pattern.turned((1, 0))
    ),
    linear="values | dense",
    batch=None,
    node_name="SparseAddmmBackward0",
    examples=[example("3, 2x2", pattern=TWICE), example("3, 2x0", pattern=TWICE)],
    doc="""The product of a sparse matrix with these entries and a dense one.""",
)

sampled_mm = declare(
    "sampled_mm(a, b, *, pattern)",
    sampled,
    a=lambda xp, g, b, pattern: xp.sparse_mm(g, xp.conj(b), pattern=pattern),
    b=lambda xp, g, a, pattern: xp.sparse_mm(g, xp.conj(a), pattern=pattern.turned((1, 0))),
    linear="a | b",
    batch=None,
    node_name="SampledAddmmBackward0",
    examples=[example("3x4, 2x4", pattern=TWICE)],
    doc="""The entries of `a @ b.T` at the places of a pattern.""",
)


def lookup(weight: Tensor, input: Tensor, skip: int | None) -> Tensor:
    """The rows of `weight`, (V, D), at the indices `input` (*): (*, D); none goes to row `skip`."""
    flat = input._array.reshape(-1).astype(np.int64)
    if skip is None or not (flat == skip).any():
        rows = rows_at(weight, flat)
    else:
        kept = np.flatnonzero(flat != skip)
        every = picked(weight.detach(), pattern=Pattern(flat[None], weight.shape))
        rows = every.index_copy(0, new_tensor(kept), rows_at(weight, flat[kept]))
    found = as_non_view(rows.reshape((*input.shape, weight.shape[1])))
    return name_node(found, "EmbeddingBackward0")


def rows_at(weight: Tensor, indices: Any) -> Tensor:
    """The rows at a vector of indices."""
    return entries(weight, pattern=Pattern(indices[None], weight.shape))
