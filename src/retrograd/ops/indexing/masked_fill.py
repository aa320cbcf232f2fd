"""Writing where a mask is true: `masked_fill` and `masked_scatter`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, name_node, renamed
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import has_values
from ...kernels.memory import in_rows
from ..core.arguments import public
from ..shape.basic_views import basic
from ..shape.expand import broadcast_tensors
from .index import check_mask, index_put_op
from .scatter import zero_dim

__all__ = ["masked_fill", "masked_scatter"]


_masked_fill_op = declare(
    "masked_fill(input, value, mask)",
    lambda input, value, mask: in_rows(np.where(mask, value.astype(input.dtype), input)),
    input=lambda xp, g, mask: xp.zero_where(g, mask),
    value=lambda xp, g, mask: xp.zero_where(g, ~mask),
    keeps="input, value",
    contiguous="input",
    batch="elementwise",
    examples=["2x3, , 2x3:bool", "2x3, , 3:bool", "3, , 2x3:bool", ", , :bool", "0x3, , 3:bool"],
    node_name="MaskedFillBackward1",
    doc="""`value`, 0-d, where the mask is true, and `input` elsewhere.""",
)
_masked_fill_number = renamed(_masked_fill_op, "MaskedFillBackward0", lambda node: (0,))


@public(methods="masked_fill masked_fill_")
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value`, a number or a 0-d tensor, where `mask` is true, and `input` elsewhere.

    Both broadcast. Raises RuntimeError for a mask that is not boolean and for a value with
    dimensions.

    >>> rg.masked_fill(rg.tensor([1.0, 2.0]), rg.tensor([True, False]), 0.0)
    tensor([0., 2.])
    """
    if isinstance(mask, Tensor) and mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}. "
            "Compare first: mask != 0"
        )
    check_mask(mask, "masked_fill")
    fill = _masked_fill_op if isinstance(value, Tensor) else _masked_fill_number
    return fill(input, zero_dim(input, value, "masked_fill_"), mask)


@public(methods="masked_scatter masked_scatter_")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where `mask` is true take the elements of `source`, in order.

    `mask` and `input` broadcast. Raises RuntimeError where `source` has too few elements.

    >>> rg.masked_scatter(rg.zeros(3), rg.tensor([True, False, True]), rg.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    check_mask(mask, "masked_scatter_")
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {input.dtype} "
            f"and {source.dtype}"
        )
    expanded, expanded_mask = broadcast_tensors(input, mask)
    cells = _true_cells(expanded_mask._array, source._array.size)
    if source._array.size < cells.size:
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask: {source._array.size} < "
            f"{cells.size}"
        )
    values = basic(source.reshape(-1), index=(slice(cells.size),))
    flat = expanded.reshape(-1)
    changed = index_put_op(flat, values, new_tensor(cells), dims=(0,), accumulate=False)
    return name_node(as_non_view(changed.reshape(expanded._array.shape)), "MaskedScatterBackward0")


def _true_cells(mask: Any, most: int) -> Any:
    """The places of True in a mask; of one without values as many as there can be, up to `most`."""
    if not has_values(mask):
        return np.zeros_like(mask.reshape(-1)[:most], dtype=np.int64)
    return np.flatnonzero(mask)
