"""The records under the normalisations, and the sums and products their formulas are made of.

NOTE [One normalisation]
1. Batch, layer, group and instance normalisation differ in the dimensions they reduce and in where
   the weight varies. Two records do them all; each is fused because a composition would keep
   five arrays of the input's size for the backward pass and pass over memory thrice as often.
2. The records give mean and variance too, without a derivative. The formulas read them, and where
   the formulas are themselves recorded, these are computed anew from the input (`_moments`), so
   that they are exact when they are differentiated again.
3. Complex input: the mean is complex and the variance is the real E|x - mean|^2, so that the output
   has second moment 1; the weight, real or complex, multiplies. (PyTorch refuses complex input.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engine.namespaces import recorded
from ...engine.op import held
from ...engine.registry import declare, example
from ...kernels import sums
from ...kernels.layout import formatted, kept_shape
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ..core import batching
from ..core.engine_ops import _sum_to as sum_to_arrays


@quick("dot_to")
def _dot_to(x: Any, y: Any, *, shape: tuple[int, ...]) -> Any:
    """The sum of a product to `shape`, without the temporary product where that can be."""
    ndim, trailing = x.ndim, 0
    for size in reversed(shape):
        if size != 1:
            break
        trailing += 1
    alike = x.shape == y.shape and len(shape) == ndim and x.size
    if alike and trailing and x.flags.c_contiguous and y.flags.c_contiguous:
        products = sums.dots(y, x, tuple(range(ndim - trailing, ndim)))
        return sum_to_arrays(products, shape=shape)
    return sum_to_arrays(x * y.conj(), shape=shape)


declare(
    "dot_to(x, y, *, shape)",
    _dot_to,
    x=lambda xp, g, y, x_shape: xp.spread(g, shape=x_shape) * y,
    y=lambda xp, g, x: xp.conj(g) * x,
    linear="x",
    rows=True,
    batch=batching.dot_to("dot_to"),
    examples=[
        example("3x4, 3x4", shape=(3, 1)),
        example("2x3x2x2, 2x3x2x2", shape=(1, 3, 1, 1)),
        example("2x3, 3", shape=(1, 3)),
        example("2x3, 2x3", shape=(3,)),
        example("0x3, 0x3", shape=(1, 3)),
    ],
    doc="""The sum of `x * conj(y)` over the axes along which `shape` would be broadcast to `x`.""",
)


@quick("dot_to")
def _real_dot_to(x: Any, y: Any, *, shape: tuple[int, ...]) -> Any:
    return _dot_to(x, y, shape=shape).real


declare(
    "real_dot_to(x, y, *, shape)",
    _real_dot_to,
    x=lambda xp, g, y, x_shape: xp.spread(g, shape=x_shape) * y,
    y=lambda xp, g, x: g * x,
    batch=batching.dot_to("real_dot_to"),
    examples=[
        example("3x4, 3x4", shape=(3, 1)),
        example("2x3x2x2, 2x3x2x2", shape=(1, 3, 1, 1)),
        example("2x3, 3", shape=(1, 3)),
    ],
    doc="""The real part of `dot_to`: linear in both inputs over the reals.""",
)


@quick("blend")
def _blend(x: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
    out = np.multiply(x, a, dtype=np.result_type(x, y, a, b, c))
    out += y * b
    out += c
    return out


declare(
    "blend(x, y, a, b, c)",
    _blend,
    x=lambda xp, g, a: g * xp.conj(a),
    y=lambda xp, g, b: g * xp.conj(b),
    a=lambda xp, g, x, a_shape: xp.dot_to(g, x, shape=a_shape),
    b=lambda xp, g, y, b_shape: xp.dot_to(g, y, shape=b_shape),
    c=lambda xp, g: g,
    batch=batching.like_input("blend"),
    examples=["2x3, 2x3, 2x1, 1x3, 1x1", "2x3x2, 2x3x2, 1x3x1, 1x3x1, 1x3x1"],
    doc="""`x*a + y*b + c` in place on one buffer; `a`, `b`, `c` broadcast to `x`, of y's shape.""",
)


def _standardize(x: Any, dim: tuple[int, ...], eps: float) -> tuple[Any, Any, Any, Any]:
    """The centred input, its mean and variance over `dim`, and 1/sqrt(variance + eps).

    Those of no elements are 0, so that the sums in the gradients, 0 too, stay 0.
    """
    centred, mean, var = sums.moments(x, dim, _count(x, dim))
    return centred, mean, var, 1.0 / np.sqrt(var + eps)


def _scaled(centred: Any, factors: Sequence[Any], bias: Any) -> Any:
    """The product of all, plus the bias; in the memory of `centred` where the dtype allows."""
    for factor in factors:
        if factor.dtype.kind == "c" and centred.dtype.kind != "c":
            centred = centred * factor
        else:
            centred *= factor
    if bias is None:
        return centred
    if bias.dtype.kind == "c" and centred.dtype.kind != "c":
        return centred + bias
    centred += bias
    return centred


@quick("batch_norm")
def _batch_forward(
    input: Any, weight: Any, bias: Any, *, dim: tuple[int, ...], eps: float
) -> tuple[Any, Any, Any]:
    centred, mean, var, scale = _standardize(formatted(input), dim, eps)
    factors = [scale if weight is None else scale * weight]
    return _scaled(centred, factors, bias), mean, var


@quick("layer_norm")
def _layer_forward(
    input: Any, weight: Any, bias: Any, *, dim: tuple[int, ...], eps: float
) -> tuple[Any, Any, Any]:
    centred, mean, var, scale = _standardize(in_rows(input), dim, eps)
    factors = [scale] if weight is None else [scale, weight]
    return _scaled(centred, factors, bias), mean, var


def _count(input: Any, dim: tuple[int, ...]) -> Any:
    return max(1, math.prod([input.shape[d] for d in dim]))


def _moments(xp: Any, input: Any, mean: Any, var: Any, dim: Any, eps: float) -> tuple[Any, Any]:
    """The centred input and 1/sqrt(variance + eps), by rule 2."""
    if xp is not recorded:
        return input - mean, xp.rsqrt(var + eps)
    shape, share = mean.shape, 1.0 / _count(input, dim)
    centred = input - xp.sum_to(input, shape=shape) * share
    return centred, xp.rsqrt(xp.real_dot_to(centred, centred, shape=shape) * share + eps)


def batch_input(
    xp: Any, g: Any, input: Any, weight: Any, mean: Any, var: Any, dim: Any, eps: float
) -> Any:
    """The share of the input where the weight is constant over `dim` and so leaves the sums."""
    shape, share = mean.shape, 1.0 / _count(input, dim)
    centred, scale = _moments(xp, input, mean, var, dim, eps)
    slope = scale
    if weight is None:
        along = xp.real_dot_to(g, centred, shape=shape)
    else:
        slope = scale * xp.conj(weight)
        along = xp.real_dot_to(xp.dot_to(g, centred, shape=shape), weight, shape=shape)
    shift = slope * xp.sum_to(g, shape=shape) * -share
    inward = along * (scale * scale * scale) * -share
    found = xp.blend(g, centred, slope, inward, shift)
    like = kept_shape(*held([input])) if input.ndim == 4 and 0 in dim else ()
    return xp.channels_like_shape(like, found)


def layer_input(
    xp: Any, g: Any, input: Any, weight: Any, mean: Any, var: Any, dim: Any, eps: float
) -> Any:
    """The share of the input where the weight varies within `dim`."""
    shape, share = mean.shape, 1.0 / _count(input, dim)
    centred, scale = _moments(xp, input, mean, var, dim, eps)
    if weight is not None:
        g = g * xp.conj(weight)
    along = xp.real_dot_to(g, centred, shape=shape)
    shift = scale * xp.sum_to(g, shape=shape) * -share
    inward = along * (scale * scale * scale) * -share
    return xp.blend(g, centred, scale, inward, shift)


def batch_weight(xp: Any, g: Any, input: Any, mean: Any, var: Any, dim: Any, eps: float) -> Any:
    """The share of a weight that is constant over the reduced dims."""
    centred, scale = _moments(xp, input, mean, var, dim, eps)
    return xp.dot_to(g, centred, shape=mean.shape) * scale


def layer_weight(
    xp: Any, g: Any, input: Any, mean: Any, var: Any, dim: Any, eps: float, weight_shape: Any
) -> Any:
    """The share of a weight that varies within the reduced dims."""
    centred, scale = _moments(xp, input, mean, var, dim, eps)
    return xp.dot_to(g, centred * scale, shape=weight_shape)


native_batch_norm = declare(
    "native_batch_norm(input, weight, bias, *, dim, eps) -> out, mean, var",
    _batch_forward,
    input=batch_input,
    weight=batch_weight,
    bias=lambda xp, g, bias_shape: xp.sum_to(g, shape=bias_shape),
    nondiff=["mean", "var"],
    batch=batching.standardized("native_batch_norm"),
    rows=True,
    examples=[
        example("4x3, 3, 3", dim=(0,), eps=0.1),
        example("2x2x3, 1x2x1, 1x2x1", dim=(0, 2), eps=0.1),
        example("4x2, none, none", dim=(0,), eps=0.1),
        example("2x2x2x2, 1x2x1x1, none", dim=(2, 3), eps=0.1),
    ],
    saved={
        "input": "input",
        "result1": lambda mean: mean.flatten(),
        "result2": lambda var, eps: (var + eps).rsqrt().flatten(),
        "training": lambda: True,
    },
    doc="""Standardise over `dim`, then scale and shift by what is constant there; see the NOTE.""",
)

native_layer_norm = declare(
    "native_layer_norm(input, weight, bias, *, dim, eps) -> out, mean, var",
    _layer_forward,
    input=layer_input,
    weight=layer_weight,
    bias=lambda xp, g, bias_shape: xp.sum_to(g, shape=bias_shape),
    nondiff=["mean", "var"],
    contiguous="input",
    batch=batching.standardized("native_layer_norm"),
    rows=True,
    examples=[
        example("3x4, 4, 4", dim=(1,), eps=0.1),
        example("2x2x3, 2x3, none", dim=(1, 2), eps=0.1),
        example("2x2x2x2, 1x2x2x1, 1x2x2x1", dim=(2, 3), eps=0.1),
        example("3x4, none, none", dim=(1,), eps=0.1),
    ],
    saved={
        "input": "input",
        "normalized_shape": lambda shape, dim: shape[-len(dim) :],
        "result1": "mean",
        "result2": lambda var, eps: (var + eps).rsqrt(),
    },
    doc="""Standardise over `dim`, then scale and shift by what may vary there; see the NOTE.""",
)
