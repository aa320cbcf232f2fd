"""`torch._functorch.eager_transforms`."""

from __future__ import annotations

from typing import Any

from ...func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from ...func.reverse import select

__all__ = [
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "vjp",
]  # fmt: skip


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` names, of one number the argument itself unless `as_tuple`."""
    chosen = select(args, argnums, "_slice_argnums")
    return chosen if as_tuple or isinstance(argnums, tuple) else chosen[0]
