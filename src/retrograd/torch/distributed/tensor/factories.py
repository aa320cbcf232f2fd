"""Factories of tensors over ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import ops
from .api import distribute_tensor

if TYPE_CHECKING:
    from .api import DTensor

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def over_ranks(name: str) -> Any:
    """The factory `name` of the package, for DTensors."""
    plain = getattr(ops, name)

    def make(
        *size: Any, requires_grad: bool = False, device_mesh: Any = None, placements: Any = None,
        **options: Any,
    ) -> DTensor:  # fmt: skip
        made = distribute_tensor(plain(*size, **options), device_mesh, placements)
        made.requires_grad_(requires_grad)
        return made

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"As `{name}` of the package, over the ranks of `device_mesh`; values are those of rank 0."
        f"\n\n    Other arguments, shapes, dtypes and errors are those of `{name}`.\n    "
    )
    return make


empty, full, ones, rand, randn, zeros = map(
    over_ranks, ("empty", "full", "ones", "rand", "randn", "zeros")
)
