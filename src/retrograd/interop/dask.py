"""Dask: a function of tensors over a large array, one block after the other, wherever they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..locks import load
from ..ops.creation.from_data import tensor

__all__ = ["map_batches"]


def map_batches(function: Callable[..., Any], array: Any, *args: Any) -> Any:
    """The Dask array of `function(batch, *args)` for all batches of rows of a Dask array.

    function: from a tensor (n, ...) to one (n, ...), such as a network in the mode that it is in.
    It is called with a row of zeros now, which tells the shape and dtype of its results, and
    without a graph for each block of rows once they are asked for: `array.rechunk` says how many
    rows that are. It is one entry of Dask's graph, as is each of `args`, so a worker gets it once.
    Raises ValueError for another number of rows than it was given. Needs dask.

    >>> import dask.array as da
    >>> from retrograd.interop.dask import map_batches
    >>> net = rg.nn.Linear(3, 2).requires_grad_(False)
    >>> rows = da.ones((1000, 3), chunks=(400, 3), dtype=np.float32)
    >>> out = map_batches(net, rows)
    >>> out.chunks, bool((rg.tensor(out.compute()) == net(rg.ones(1000, 3))).all())
    (((400, 400, 200), (2,)), True)
    """
    delayed, blockwise = load("dask").delayed, load("dask.array").blockwise
    like = applied(np.zeros((1, *array.shape[1:]), array.dtype), function, *args)
    sizes = {-place: size for place, size in enumerate(like.shape[1:], 1)}
    sent = [part for each in (function, *args) for part in (delayed(each, traverse=False), None)]
    return blockwise(applied, (0, *sizes), array, range(array.ndim), *sent,
                     new_axes=sizes, concatenate=True, meta=like[:0])  # fmt: skip


def applied(block: Any, function: Callable[..., Any], *args: Any) -> Any:
    """The result for a block of rows, as an array."""
    with no_grad():
        out = function(tensor(block), *args)
    if out.shape[:1] != block.shape[:1]:
        raise ValueError(
            f"map_batches() takes a function that gives a row for each row, and it gave a tensor "
            f"of shape {tuple(out.shape)} for a batch of shape {block.shape}"
        )
    return out.numpy(force=True)
