"""The `dim` of reductions: negative values, tuples, all, and PyTorch's errors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

__all__: list[str] = []


def rank(input: Any) -> int:
    """The number of dimensions of a tensor; raises TypeError for what has none, as a list."""
    try:
        return input.ndim  # type: ignore[no-any-return]
    except AttributeError:
        raise TypeError(
            f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        ) from None


def wrap_dim(input: Any, dim: Any) -> int:
    """`dim` of the tensor `input`, counted from the front; a 0-d tensor counts as having one.

    Raises IndexError out of range, TypeError for what is no integer.
    """
    try:
        found: int = dim.__index__()
    except AttributeError:
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}") from None
    size = rank(input) or 1
    if not -size <= found < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got "
            f"{found})"
        )
    return found + size if found < 0 else found


def wrap_dims(input: Any, dim: Any) -> tuple[int, ...]:
    """One dim of `input`, a sequence of them, or None or an empty sequence for all, sorted.

    Empty for a 0-d tensor. Raises as `wrap_dim`, and RuntimeError for a dim that appears twice.
    """
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank(input)))
    if isinstance(dim, (tuple, list)):
        dims = sorted([wrap_dim(input, d) for d in dim])
        for before, after in pairwise(dims):
            if before == after:
                raise RuntimeError(f"dim {before} appears multiple times in the list of dims")
    else:
        dims = [wrap_dim(input, dim)]
    return tuple(dims) if rank(input) else ()
