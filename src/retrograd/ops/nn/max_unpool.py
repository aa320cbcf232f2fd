"""Unpooling: the partial inverses of max pooling, which put values back at saved indices."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...engine.tensor import Tensor
from .pool import check_input, of_dims, pool_put
from .sizes import for_dims, per_dim


def _max_unpool(name: str, dims: int) -> Any:
    record = of_dims(pool_put, "MaxUnpool{}DBackward0", dims)

    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        check_input(name, dims, input)
        if indices._array.dtype.kind not in "iu":
            raise RuntimeError(
                "elements in indices should be type int64 but got: "
                f"{dtypes.legacy_name(indices.dtype)}. Take those that max_pool gave"
            )
        kernel = per_dim(kernel_size, dims, "kernel_size", name)
        steps = kernel if stride is None else per_dim(stride, dims, "stride", name)
        pads = per_dim(padding, dims, "padding", name)
        if tuple(input.shape) != tuple(indices.shape):
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ("
                f"{list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
            )
        default = tuple(
            [
                (n - 1) * s - 2 * p + k
                for n, s, p, k in zip(input.shape[-dims:], steps, pads, kernel, strict=True)
            ]
        )
        size = default if output_size is None else tuple(output_size)[-dims:]
        for dim, (n, m, s) in enumerate(zip(size, default, steps, strict=True)):
            if not m - s < n < m + s:
                raise ValueError(
                    f'invalid output_size "{size}" (dim {dim} must be between {m - s} and {m + s})'
                )
        index = indices._array
        bad = index[(index < 0) | (index >= math.prod(size))]
        if bad.size:
            volume = "x".join(str(n) for n in size)
            raise RuntimeError(
                f"Found an invalid max index: {bad[0]} (output volumes are of size {volume})"
            )
        return record(input, indices, size=size)  # type: ignore[no-any-return]

    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = for_dims(
    _max_unpool,
    "max_unpool",
    """Partial inverse of `max_pool1d`: zeros with each maximum back at its index.

    `input` and `indices` are what `max_pool1d(..., return_indices=True)` gives for the same kernel,
    stride and padding; `output_size` decides between the input sizes that fit. Of values with the
    same index, which overlapping windows give, one is put there. Raises RuntimeError for an index
    out of range, ValueError for an output size that does not fit.

    >>> values, indices = rg.max_pool1d(rg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> max_unpool1d(values, indices, 2)
    tensor([[0., 3., 2., 0.]])
    """,
    """Partial inverse of `max_pool2d`; see `max_unpool1d`.

    >>> values, indices = rg.max_pool2d(rg.ones(1, 2, 4), 2, return_indices=True)
    >>> max_unpool2d(values, indices, 2)
    tensor([[[1., 0., 1., 0.],
             [0., 0., 0., 0.]]])
    """,
    """Partial inverse of `max_pool3d`; see `max_unpool1d`.

    >>> values, indices = rg.max_pool3d(rg.ones(1, 2, 2, 2), 2, return_indices=True)
    >>> max_unpool3d(values, indices, 2).shape
    retrograd.Size([1, 2, 2, 2])
    """,
)
