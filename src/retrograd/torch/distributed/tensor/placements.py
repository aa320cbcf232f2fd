"""How a tensor lies over the ranks of a mesh: whole, in parts, or as summands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Partial", "Placement", "Replicate", "Shard", "counted", "without_sums"]


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is in parts, along dimension `dim` if that is said."""
        return isinstance(self, Shard) and dim in {None, self.dim}

    def is_replicate(self) -> bool:
        """Whether every rank has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether every rank has a summand."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank has the whole tensor.

    >>> from retrograd.distributed.tensor import Replicate
    >>> Replicate().is_replicate()
    True
    """


@dataclass(frozen=True)
class Shard(Placement):
    """Every rank has a part along dimension `dim`, cut as `chunk` cuts; the last may be empty.

    >>> from retrograd.distributed.tensor import Shard
    >>> Shard(1).is_shard(1), Shard(dim=1)
    (True, Shard(dim=1))
    """

    dim: int


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the reduction of what the ranks have: "sum", or "avg".

    >>> from retrograd.distributed.tensor import Partial
    >>> Partial()
    Partial(reduce_op='sum')
    """

    reduce_op: str = "sum"

    def __post_init__(self) -> None:
        if self.reduce_op not in {"sum", "avg"}:
            raise ValueError(
                f'Partial takes reduce_op="sum" or "avg", which have derivatives, got '
                f"{self.reduce_op!r}"
            )


def without_sums(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """The placements, but whole where they are of summands."""
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


def counted(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """The placements of a tensor of `ndim` dimensions, all counted from the first.

    Raises IndexError for a dimension that it has not.
    """
    for placement in placements:
        if isinstance(placement, Shard) and not -ndim <= placement.dim < ndim:
            raise IndexError(
                f"Sharding dim {placement.dim} greater than tensor ndim {ndim}: a tensor of {ndim} "
                "dimensions cannot be cut there"
            )
    return tuple(
        replace(placement, dim=placement.dim % ndim) if isinstance(placement, Shard) else placement
        for placement in placements
    )
