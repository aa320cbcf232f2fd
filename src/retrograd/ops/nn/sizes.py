"""Kernel sizes, strides and their like: one number per spatial dimension."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..core.arguments import titled
from ..core.dims import is_size

Sizes = tuple[int, ...]

COUNT_NAMES = {1: "one int", 2: "two ints", 3: "three ints"}


def per_dim(value: Any, dims: int, argument: str, pooling: str | None = None) -> Sizes:
    """A number or a sequence of numbers as one number per spatial dimension.

    Raises TypeError for what is no integer or sequence of integers, RuntimeError for another number
    of them, in the words of the function called `pooling`, or else of convolutions.
    """
    if value.__class__ is int:
        return (value,) * dims
    sizes = sizes_in(value, argument, pooling or f"conv{dims}d")
    if len(sizes) == 1:
        return sizes * dims
    if len(sizes) == dims:
        return sizes
    if pooling is None:
        raise RuntimeError(
            f"expected {argument} to be a single integer value or a list of {dims} values to match "
            f"the convolution dimensions, but got {argument}={list(sizes)}"
        )
    raise RuntimeError(
        f"{pooling}: {argument} must either be a single int, or a tuple of {COUNT_NAMES[dims]}, "
        f"but is {sizes}"
    )


def sizes_in(value: Any, argument: str, function: str) -> Sizes:
    """The integers in a sequence, or one integer as a sequence; TypeError for anything else."""
    if value.__class__ is int:
        return (value,)
    several = isinstance(value, (tuple, list))
    sizes = value if several else (value,)
    for place, size in enumerate(sizes):
        if not is_size(size, place):
            kind = "tuple of ints, but found element of type" if several else "tuple of ints, not"
            raise TypeError(
                f"{function}(): argument '{argument}' must be {kind} {type(size).__name__}"
            )
    return tuple(map(operator.index, sizes))


def for_dims(
    make: Callable[[str, int], Any], prefix: str, *docs: str, first: int = 1, suffix: str = ""
) -> list[Any]:
    """The functions `prefix1d`, `prefix2d`, ... that `make(name, dims)` gives, with docstrings."""
    return [
        titled(make(f"{prefix}{dims}d", dims), f"{prefix}{dims}d{suffix}", doc)
        for dims, doc in enumerate(docs, first)
    ]
