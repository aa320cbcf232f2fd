"""The ops that the engine itself needs: undoing broadcasts and casts, and replacing a region.

`fitting.fit` uses `sum_to`, `real` and `cast`; an in-place write to a view records `splice`.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from ...engine.namespaces import arrays, reals, recorded
from ...engine.op import held, relaid
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...engine.trace import users_level
from ...errors import ComplexWarning
from ...kernels import sums
from ...kernels.allocation import copied, empty, empty_beside, has_special, is_numpy, table
from ...kernels.layout import (
    Turned,
    channels_inside,
    channels_like_shape,
    in_order,
    is_permuted,
    laid_out,
)
from ...kernels.memory import copied_with_gaps, memory_order
from ...kernels.native.small import quick
from . import batching, batching_index

DISCARDS = (
    "Casting complex values to real discards the imaginary part. Write x.real where it is not "
    "wanted, x.abs() for the modulus, or store the result in a complex tensor."
)
SMALL = 4096  # elements; below it, filling an array costs less than a stride of 0 later


def walk(xp: Any, value: Any, path: tuple[Any, ...]) -> Any:
    """Follow a view's path from its base to itself, on arrays or on tensors."""
    for op, params, output in path:
        value = getattr(xp, op.name)(value, **params)
        if output is not None:
            value = value[output]
    return value


@lru_cache(maxsize=64)
def ones(count: int, kind: str) -> Any:
    """A vector of ones, which nobody writes; for at most `SMALL` of them."""
    return np.ones(count, kind)


@quick("sum_to")
def _sum_to(input: Any, *, shape: tuple[int, ...]) -> Any:
    lead = input.ndim - len(shape)
    plain = lead == 1 == len(shape) and input.shape[1:] == shape and not has_special(input)
    if plain and input.dtype.char in "fd":
        count = len(input)
        if count < sums.MANY or (count <= SMALL and input.size < sums.LARGE):
            weights = table(input, ones(count, input.dtype.char))
            return weights.dot(input)  # thrice as fast as to add up
    axes = [i for i, n in enumerate(shape, lead) if n == 1 and input.shape[i] != 1]
    if not lead and not axes:
        return copied(input)
    return sums.total(input, (*range(lead), *axes), True).reshape(shape)


@quick("spread")
def _spread(input: Any, *, shape: tuple[int, ...]) -> Any:
    if input.ndim == 0 and shape.__class__ is not Turned and math.prod(shape) < SMALL:
        out = empty(input, shape)  # later arithmetic wants real strides
        out[...] = input
        return out
    return _expand(input, shape=shape)


@quick("expand")
def _expand(input: Any, *, shape: tuple[int, ...]) -> Any:
    out = np.broadcast_to(input, shape)
    if (
        is_numpy(input) and input.flags.writeable
    ):  # a part of it may be written where no two elements are one
        out.flags.writeable = True
    return out


sum_to = declare(
    "sum_to(input, *, shape)",
    _sum_to,
    input=lambda xp, g, input_shape: xp.expand(g, shape=input_shape),
    adds="input",
    rows=True,
    batch=batching.sum_to,
    examples=[example("3x4", shape=(1, 4)), example("2x3x4", shape=(3, 1)), example("2", shape=())],
    node_name="SumBackward1",
    doc="""Sum over the axes along which `shape` would be broadcast to the input's shape.""",
)

expand = declare(
    "expand(input, *, shape)",
    _expand,
    input=lambda xp, g, input_shape: xp.sum_to(g, shape=input_shape),
    linear="input",
    view=True,
    batch=batching.expanded("expand"),
    examples=[example("3x1", shape=(2, 3, 4)), example("", shape=(2, 2))],
    doc="""A view with size-1 dimensions repeated to `shape`, without copying.""",
)

spread = declare(
    "spread(input, *, shape)",
    _spread,
    input=lambda xp, g, input_shape: xp.sum_to(g, shape=input_shape),
    linear="input",
    view="maybe",
    batch=batching.expanded("spread"),
    examples=[example("3x1", shape=(2, 3, 4)), example("", shape=(2, 2))],
    doc="""The input, repeated to `shape`: `expand` as a value. Small ones are filled in.""",
)


def held_by(dtype: Any, x: Any) -> Any:
    """What a dtype can hold of `x`, in whichever way a program stores it; that less is a warning.

    The engine, which takes the real parts of cotangents, calls `real` for that.
    """
    if x.dtype.kind != "c" or dtype.kind in "cbOSU":
        return x
    real = x.real  # what carries ops out itself may refuse, and is asked again
    warnings.warn(DISCARDS, ComplexWarning, stacklevel=users_level())
    return real


def _cast(input: Any, *, dtype: Any) -> Any:
    input = held_by(dtype, input)
    if not is_numpy(input) or 0 not in input.strides:
        return input.astype(dtype)
    out = empty_beside(input, dtype)
    out[...] = input
    return out


cast = declare(
    "cast(input, *, dtype)",
    _cast,
    input=lambda xp, g: g,
    keeps="input",
    batch="leading",
    examples=[example("3x2", dtype=np.dtype(np.complex128))],
    node_name="ToCopyBackward0",
    doc="""A copy with another dtype, complex to real by taking the real part.""",
)


clone = declare(
    "clone(input)",
    copied,
    input=lambda xp, g: g,
    linear="input",
    elementwise=True,
    inplace=False,
    examples=["3x2"],
    doc="""A copy with its own memory; the gradient flows back unchanged.""",
)


piecewise = declare(
    "piecewise(input)",
    lambda input: input[...],
    input=lambda xp, g: g,
    keeps="input",
    piecewise=True,
    view=True,
    batch="leading",
    examples=["3x2"],
    doc="""A view; what is composed of it has a second derivative: zeros, where there is none.""",
)

zeros_like = declare(
    "zeros_like(input)",
    np.zeros_like,
    batch="leading",
    examples=["3x2"],
    doc="""Zeros of the input's shape and dtype; for the formulas of ops whose derivative is 0.""",
)


def _laid_out_tensor(tensor: Tensor, *values: Any) -> Tensor:
    """`laid_out` for formulas on tensors."""
    return relaid(tensor, laid_out(*held((tensor, *values))), True)


arrays.laid_out = reals.laid_out = laid_out
recorded.laid_out = _laid_out_tensor
arrays.channels_like_shape = reals.channels_like_shape = channels_like_shape
recorded.channels_like_shape = lambda shape, tensor: relaid(
    tensor, channels_like_shape(shape, tensor._array), True
)


def in_axes(xp: Any, g: Any, axes: tuple[int, ...]) -> Any:
    """What a formula gave, with its axes in that order in memory."""
    if isinstance(g, Tensor):
        return relaid(g, in_axes(xp, g._array, axes), True)
    if g.__class__ is not np.ndarray:
        return g
    lead = g.ndim - len(axes)  # of a batch
    axes = (*range(lead), *[lead + axis for axis in axes])
    return g if g.transpose(axes).flags.c_contiguous else in_order(g, axes)


laid_grad = declare(
    "laid_grad(input, *, axes)",
    lambda input, *, axes: input[...],
    input=in_axes,
    linear="input",
    view=True,
    batch="leading",
    examples=[example("2x3", axes=(1, 0)), example("2x3x2", axes=(2, 0, 1))],
    node_name="AliasBackward0",
    doc="""A view of all of the input, the gradient of which has its axes in that order.""",
)


def grad_as_it_lies(t: Tensor) -> Tensor:
    """A tensor whose gradient will lie in memory as it does."""
    if not (t.requires_grad and is_permuted(t._array)):
        return t
    return laid_grad(t, axes=memory_order(t._array))


def grad_in_format(t: Tensor) -> Tensor:
    """A tensor whose gradient will be in row-major order, or have its channels innermost as it."""
    if not t.requires_grad:
        return t
    order = memory_order(t._array) if channels_inside(t._array) else None
    return laid_grad(t, axes=order or tuple(range(t.ndim)))


def _laid_out(input: Any, layout: tuple[int, ...] | None) -> Any:
    """A copy in row-major order, as it lies where `layout` is empty, or with its axes in that
    order in memory."""
    if not layout:
        return np.copy(input, "C") if layout is None else copied_with_gaps(input)
    out = empty(input, [input.shape[axis] for axis in layout])
    out = out.transpose(np.argsort(layout).tolist())
    out[...] = input
    return out


def _splice(
    xp: Any, input: Any, values: Any, *, path: tuple[Any, ...], layout: tuple[int, ...] | None
) -> Any:
    out = _laid_out(input, layout)
    np.copyto(walk(xp, out, path), held_by(out.dtype, values), casting="unsafe")
    return out


def _blank(xp: Any, input: Any, *, path: tuple[Any, ...], layout: tuple[int, ...] | None) -> Any:
    out = _laid_out(input, layout)
    walk(xp, out, path)[...] = 0
    return out


# A path may hold a reshape, which gives a view only in the memory layout of the base it was made
# of. So the axes of copies that are written through a path lie in memory as those of the base.
blank = declare(
    "blank(input, *, path, layout)",
    _blank,
    input=lambda xp, g, path, layout: xp.blank(g, path=path, layout=layout),
    moves="input",
    batch=batching_index.blank(walk),
    examples=[example("3x2", path=(), layout=None), example("3x2", path=(), layout=(1, 0))],
    doc="""A copy in which the region at the end of a view's path is zero.""",
)

splice = declare(
    "splice(input, values, *, path, layout)",
    _splice,
    input=lambda xp, g, path, layout: xp.blank(g, path=path, layout=layout),
    values=lambda xp, g, path: walk(xp, g, path),
    moves="input, values",
    batch=batching_index.splice(walk),
    examples=[
        example("3x2, 3x2", path=(), layout=None),
        example("3x2, 3x2", path=(), layout=(1, 0)),
    ],
    node_name="torch::autograd::CopySlices",
    doc="""A copy in which the region at the end of a view's path is replaced by `values`.""",
)
