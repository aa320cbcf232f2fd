"""The `dim` of reductions: `dims` for a tensor, where None means all."""

from __future__ import annotations

from typing import Any

from .dims import normalize_dim, normalize_dims

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
    """`dim` of the tensor `input`, counted from the front; raises as `normalize_dim`."""
    return normalize_dim(dim, rank(input))


def wrap_dims(input: Any, dim: Any) -> tuple[int, ...]:
    """One dim of `input`, a sequence of them, or None or an empty sequence for all, sorted.

    Empty for a 0-d tensor. Raises as `normalize_dims`.
    """
    if dim.__class__ is int:  # the commonest case, in the fewest steps: it is timed
        ndim = rank(input)
        if -ndim <= dim < ndim:
            return (dim % ndim,)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank(input)))
    dims = normalize_dims(dim, rank(input))
    return tuple(sorted(dims)) if rank(input) else ()
