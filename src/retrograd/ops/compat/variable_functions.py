"""`torch._VF`: PyTorch's functions without the Python around some of them.

They are those of the package, but for what stands here, which is found nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...locks import load
from ..sorting.sort import unique

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__: list[str] = []


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
