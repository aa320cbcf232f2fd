"""Rows of a table whose gradient is sparse: `embedding(sparse=True)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine.tensor import Tensor, new_tensor
from .pattern import Pattern
from .records import entries, picked


def lookup(weight: Tensor, input: Tensor, skip: int | None) -> Tensor:
    """The rows of `weight`, (V, D), at the indices `input` (*): (*, D); none goes to row `skip`."""
    flat = input._array.reshape(-1).astype(np.int64)
    if skip is None or not (flat == skip).any():
        rows = rows_at(weight, flat)
    else:
        kept = np.flatnonzero(flat != skip)
        every = picked(weight.detach(), pattern=Pattern(flat[None], weight.shape))
        rows = every.index_copy(0, new_tensor(kept), rows_at(weight, flat[kept]))
    return rows.reshape((*input.shape, weight.shape[1]))


def rows_at(weight: Tensor, indices: Any) -> Tensor:
    """The rows at a vector of indices."""
    return entries(weight, pattern=Pattern(indices[None], weight.shape))
