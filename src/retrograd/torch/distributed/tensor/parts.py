"""Functions of arrays over ranks that compute on parts, beside those of single elements.

NOTE [Computing on parts]
1. A product of matrices is cut as its factors are: along rows of the first, along columns of the
   second. Where both are cut along what is summed, each rank has a summand of the product.
2. Other orders and lengths of dimensions leave a cut where it is, if the cut dimension stays one.
3. Sums over what is cut add up on each rank first, so that sums are sent and not what was summed.
4. Rows that are looked up are cut as the table is along its columns; of a table cut along its rows,
   each rank has a summand: the rows that it has, and zeros.
5. Each function gives None where it has no rule; then the whole is gathered.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .placements import Partial, Placement, Replicate, Shard

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["looked_up", "ordered", "product_placements", "reshaped", "sum_placements"]


def product_placements(
    a: Sequence[Placement], b: Sequence[Placement], ndim: int
) -> list[Placement] | None:
    """How `a @ b` lies, for a matrix `b` and an `a` of `ndim` dimensions."""
    found: list[Placement] = []
    for left, right in zip(a, b, strict=True):
        sums = left.is_shard(ndim - 1) and right.is_shard(0)
        if sums or (Partial() in (left, right) and (left.is_replicate() or right.is_replicate())):
            found.append(Partial())
        elif right.is_replicate() and not left.is_shard(ndim - 1) and left != Partial("avg"):
            found.append(left)
        elif left.is_replicate() and right.is_shard(1):
            found.append(Shard(ndim - 1))
        else:
            return None
    return found


def ordered(placements: Sequence[Placement], order: Sequence[int]) -> list[Placement]:
    """How a tensor lies whose dimensions are in another order."""
    return [Shard(order.index(p.dim)) if isinstance(p, Shard) else p for p in placements]


def reshaped(
    placements: Sequence[Placement], shape: Sequence[int], to: Sequence[int], local: Sequence[int]
) -> tuple[list[Placement], list[int]] | None:
    """How a tensor of another shape lies, and the shape of this rank's part `local` then."""
    found: list[Placement] = []
    lengths = [*to]
    for placement in placements:
        if not isinstance(placement, Shard):
            found.append(placement)
            continue
        ahead, length = prod(shape[: placement.dim]), shape[placement.dim]
        dims = [d for d, n in enumerate(to) if n == length and prod(to[:d]) == ahead]
        if not dims:
            return None
        lengths[dims[0]] = local[placement.dim]
        found.append(Shard(dims[0]))
    return found, lengths


def sum_placements(
    placements: Sequence[Placement], axes: Sequence[int], keepdims: bool
) -> list[Placement]:
    """How sums over `axes` lie, of what is summed on each rank."""
    found: list[Placement] = []
    for placement in placements:
        if isinstance(placement, Shard) and placement.dim in axes:
            found.append(Partial())
        elif isinstance(placement, Shard) and not keepdims:
            found.append(Shard(placement.dim - sum(axis < placement.dim for axis in axes)))
        else:
            found.append(placement)
    return found


def looked_up(
    local: Any, placements: Sequence[Placement], index: Any, length: int, bounds: Any
) -> Any:
    """Rows of a table by whole numbers, and how they lie; `bounds`: which rows this rank has."""
    cuts = [p for p in placements if not p.is_replicate()]
    if len(cuts) != 1 or not isinstance(cuts[0], Shard):
        return None
    if cuts[0].dim:
        lying = Shard(cuts[0].dim + index.ndim - 1)
        return local[index], [Replicate() if p.is_replicate() else lying for p in placements]
    begin, stop = bounds
    index = np.where(index < 0, index + length, index)
    here = (index >= begin) & (index < stop)
    found = np.zeros((*index.shape, *local.shape[1:]), local.dtype)
    found[here] = local[index[here] - begin]
    return found, [Replicate() if p.is_replicate() else Partial() for p in placements]
