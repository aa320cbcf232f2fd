"""`gradient`: derivatives of sampled functions by finite differences, as a composition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import normalize_dims
from ..shape.join import cat

__all__ = ["gradient"]


@public()
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The derivatives of sampled values along each of `dim` (all of them), of the input's shape.

    Central differences of second order inside, one-sided ones of `edge_order` (1 or 2) at the ends.
    `spacing` is the distance of the samples (1), a list with one per dimension, or a list of
    vectors with their positions. Raises RuntimeError where those do not fit or a dimension is
    shorter than `edge_order` + 1.

    >>> rg.gradient(rg.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    if input._array.dtype == np.uint8:  # whose differences wrap around
        raise RuntimeError("torch.gradient does not support uint8 input. Convert first: x.float()")
    ndim = input._array.ndim
    dims = tuple(range(ndim)) if dim is None else normalize_dims(dim, ndim)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    steps = _spacings(spacing, dims, dim is None, ndim)
    for place in dims:
        if input._array.shape[place] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, got "
                f"shape {list(input.shape)} with edge_order={edge_order}"
            )
    return tuple(
        [_along(input, place, step, edge_order) for place, step in zip(dims, steps, strict=True)]
    )


def _spacings(spacing: Any, dims: tuple[int, ...], all_dims: bool, ndim: int) -> list[Any]:
    """One spacing per dimension: a number, a 0-d tensor, or a vector of positions."""
    if not isinstance(spacing, (tuple, list)):
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal"
            f" to {f'self.dim() = {ndim}' if all_dims else f'the number of dims, {len(dims)}'}"
            f"{', since dim argument was not given' if all_dims else ''}, but got a list of length "
            f"{len(spacing)}"
        )
    return list(spacing)


def _along(input: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """The derivative along one dimension."""
    n = input._array.shape[dim]

    def part(start: int, count: int = 1) -> Any:
        return input.narrow(dim, start % n, count)

    if isinstance(step, Tensor) and step._array.ndim:
        if step._array.shape != (n,):
            raise RuntimeError(
                f"torch.gradient expected each element of spacing to be a vector of length {n}, the"
                f" size of dimension {dim}, but got shape {list(step.shape)}"
            )
        gaps = step.diff()
    else:
        gaps = None
    inner = _inside(part, n, step, gaps, [1] * dim + [-1] + [1] * (input._array.ndim - dim - 1))
    left, right = (step, step) if gaps is None else (gaps[0], gaps[-1])
    if edge_order == 1:
        first, last = (part(1) - part(0)) / left, (part(-1) - part(-2)) / right
    else:
        after, before = (step, step) if gaps is None else (gaps[1], gaps[-2])
        first = _edge([part(0), part(1), part(2)], left, after)
        last = -_edge([part(-1), part(-2), part(-3)], right, before)
    return cat([first, inner, last], dim)


def _inside(part: Any, n: int, step: Any, gaps: Any, shape: list[int]) -> Any:
    """Central differences of all but the ends, exact for parabolas at any positions."""
    if gaps is None:
        return (part(2, n - 2) - part(0, n - 2)) / (2 * step)
    left, right = (g.reshape(shape) for g in (gaps[:-1], gaps[1:]))
    both = left + right
    return (
        part(0, n - 2) * (-right / (left * both))
        + part(1, n - 2) * ((right - left) / (left * right))
        + part(2, n - 2) * (left / (right * both))
    )


def _edge(three: list[Any], near: Any, far: Any) -> Any:
    """The derivative at the first of three samples, exact for parabolas."""
    both = near + far
    return (
        three[0] * (-(near + both) / (near * both))
        + three[1] * (both / (near * far))
        - three[2] * (near / (far * both))
    )
