"""`torch._VF`: PyTorch's functions without the Python around some of them.

They are those of the package, but for what stands here, which is found nowhere else.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import int32, int64
from ..engine.tensor import Tensor
from ..locks import load
from ..ops.creation.factories import arange
from ..ops.creation.from_data import tensor
from ..ops.indexing.segment_reduce import segment_reduce
from ..ops.reduction.histogram import searchsorted
from ..ops.shape.join import stack
from ..ops.sorting.sort import unique

__all__: list[str] = []

EXTREMA = {"amax": "max", "amin": "min"}


def _segment_reduce(data: Tensor, reduce: str, **settings: Any) -> Tensor:
    """`segment_reduce` by the names "amax" and "amin" for "max" and "min".

    >>> rg._segment_reduce(rg.tensor([1.0, 2.0, 4.0]), "amax", offsets=rg.tensor([0, 2, 3]))
    tensor([2., 4.])
    """
    found: Tensor = segment_reduce(data, EXTREMA.get(reduce, reduce), **settings)
    return found


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Where each of `size` rows begins, and the last one ends, of rows in order.

    >>> rg._convert_indices_from_coo_to_csr(rg.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    rows = arange(size + 1, dtype=input.dtype)
    found: Tensor = searchsorted(input, rows, out_int32=out_int32)
    return found


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Rows and columns of entries, (2, entries), of compressed rows; `transpose` turns them round.

    >>> rg._convert_indices_from_csr_to_coo(rg.tensor([0, 2, 2]), rg.tensor([1, 0]))
    tensor([[0, 0],
            [1, 0]])
    """
    rows = arange(len(crow_indices) - 1).repeat_interleave(crow_indices.diff())
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    return stack([each.to(int32 if out_int32 else int64) for each in pair])


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor of integers.

    >>> rg._shape_as_tensor(rg.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(list(self.shape), dtype=int64)


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, ...]:
    """`unique` that always gives three tensors; those that are not asked for are empty.

    >>> rg._unique2(rg.tensor([3, 1, 1]), return_counts=True)
    (tensor([1, 3]), tensor([], dtype=retrograd.int64), tensor([2, 1]))
    """
    values, *further = unique(input, sorted, True, True)
    asked = (return_inverse, return_counts)
    return values, *(
        t if wanted else t.new_empty(0) for t, wanted in zip(further, asked, strict=True)
    )


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, ...]:
    """The first two of `_unique2`.

    >>> rg._unique(rg.tensor([3, 1, 1]), return_inverse=True)
    (tensor([1, 3]), tensor([1, 0, 0]))
    """
    return _unique2(input, sorted, return_inverse)[:2]


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, ...]:
    """`unique` along a dimension: slices, where each went, and how often each occurred.

    >>> rg._VF.unique_dim(rg.tensor([[3, 1, 1]]), 1)
    (tensor([[1, 3]]), tensor([1, 0, 0]), tensor([2, 1]))
    """
    found: tuple[Tensor, ...] = unique(input, sorted, True, True, dim)
    return found


def __getattr__(name: str) -> Any:
    """The package's function of that name."""
    return getattr(load(__name__.partition(".")[0]), name)
