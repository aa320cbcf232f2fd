"""Exponentials, logarithms, roots and their relatives, elementwise, real and complex.

Integer inputs count as the default floating dtype. Functions here are holomorphic where they are
differentiable; on branch cuts and outside a real domain the value is NumPy's (NaN for real input).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import half
from ...engine.namespaces import recorded
from ...engine.registry import example
from ...engine.tensor import Tensor
from ...kernels import complexes
from ...kernels.layout import laid_out
from ..core.arguments import number_in, public
from ..core.pointwise import (
    binary,
    floating,
    only,
    pointwise,
    promoted,
    through_float32,
    unary,
    unsupported,
)

__all__ = [
    "addcdiv", "addcmul", "exp", "exp2", "expm1", "lerp", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "reciprocal", "rsqrt", "sqrt",
]  # fmt: skip

LN2, LN10 = math.log(2.0), math.log(10.0)

exp = unary(
    "exp",
    floating(np.exp),
    "e to the power of each element.",
    ("[0.0, 1.0]", "[1.0000, 2.7183]"),
    derivative=lambda xp, out: out,
)


exp2 = unary(
    "exp2",
    floating(lambda x: complexes.exp2(x) if x.dtype.kind == "c" else np.exp2(x)),
    "2 to the power of each element.",
    ("[0.0, 3.0]", "[1., 8.]"),
    derivative=lambda xp, out: out * LN2,
)

expm1 = unary(
    "expm1",
    floating(np.expm1),
    "exp(x) - 1, exact for small x.",
    ("[0.0, 1.0]", "[0.0000, 1.7183]"),
    derivative=lambda xp, input: xp.exp(input),
)

log = unary(
    "log",
    floating(np.log),
    "Natural logarithm; -inf at 0 with derivative inf, NaN for negative real elements.",
    ("[1.0, 10.0]", "[0.0000, 2.3026]"),
    input=lambda xp, g, input: g / xp.conj(input),
    domain=(0.5, 3.0),
)


def _log2(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.log2(x)
    out = np.log(x, out=np.empty_like(x))
    for part in (out.real, out.imag):  # a complex division would make NaN of an infinite part
        np.divide(part, LN2, out=part)
    return out


log2 = unary(
    "log2",
    floating(_log2),
    "Logarithm to base 2, like `log`.",
    ("[1.0, 8.0]", "[0., 3.]"),
    input=lambda xp, g, input: g / (xp.conj(input) * LN2),
    domain=(0.5, 3.0),
)

log10 = unary(
    "log10",
    floating(np.log10),
    "Logarithm to base 10, like `log`.",
    ("[1.0, 50.0]", "[0.0000, 1.6990]"),
    input=lambda xp, g, input: g / (xp.conj(input) * LN10),
    domain=(0.5, 3.0),
)


def log1p_array(x: Any) -> Any:
    """log(1 + x), real or complex."""
    return complexes.log1p(x) if x.dtype.kind == "c" else np.log1p(x)


log1p = unary(
    "log1p",
    floating(log1p_array),
    "log(1 + x), exact for small x.",
    ("[0.0, 1.0]", "[0.0000, 0.6931]"),
    input=lambda xp, g, input: g / (xp.conj(input) + 1.0),
    domain=(-0.5, 3.0),
    node_name="Log1PBackward0",
)

sqrt = unary(
    "sqrt",
    floating(np.sqrt),
    "Square root; derivative inf at 0, NaN for negative real elements.",
    ("[4.0, 2.0]", "[2.0000, 1.4142]"),
    input=lambda xp, g, out: g / (xp.conj(out) * 2.0),
    domain=(0.25, 3.0),
)


rsqrt = unary(
    "rsqrt",
    floating(lambda x: 1.0 / np.sqrt(x)),
    "1 / sqrt(x); inf at 0.",
    ("[4.0, 0.25]", "[0.5000, 2.0000]"),
    input=lambda xp, g, out: g * -0.5 * xp.conj(out * out * out),
    domain=(0.25, 3.0),
)

reciprocal = unary(
    "reciprocal",
    floating(lambda x: 1.0 / x),  # that of a complex 0 is infinite; np.reciprocal has NaN
    "1 / x; inf at 0.",
    ("[4.0, 0.5]", "[0.2500, 2.0000]"),
    input=lambda xp, g, out: -g * xp.conj(out * out),
    domain=(0.5, 3.0),
)


def _logaddexp(x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    swap = x.real < y.real
    high, low = np.where(swap, y, x), np.where(swap, x, y)
    found = high + log1p_array(np.exp(low - high))
    alike = np.isinf(x.real) & (x.real == y.real)  # whose difference is NaN
    angled = (x.real > 0) & (x.imag != y.imag)  # of two directions at infinity there is no sum
    found = np.where(alike, np.where(angled, complex(np.inf, np.nan), y), found)
    return laid_out(found.astype(x.dtype), x, y)


def _share_of_sum(xp: Any, g: Any, input: Any, other: Any) -> Any:
    """g * exp(input) / (exp(input) + exp(other)); equal infinities share evenly."""
    alike = (input == other) & xp.isinf(input)
    share = xp.sigmoid(xp.zero_where(input - other, alike))
    return g * xp.conj(xp.laid_out(share, other, input))


logaddexp = binary(
    "logaddexp",
    only("logaddexp", "fc", _logaddexp),
    "log(exp(input) + exp(other)) without overflow; equal infinities share the derivative evenly.",
    ("[0.0, 1.0]", "[0.0, 1.0]", "[0.6931, 1.6931]"),
    input=_share_of_sum,
    other=lambda xp, g, input, other: _share_of_sum(xp, g, other, input),
    inplace=False,
)

logaddexp2 = binary(
    "logaddexp2",
    only("logaddexp2", "f", np.logaddexp2),
    "log2(2**input + 2**other) without overflow; like `logaddexp`, for real tensors.",
    ("[0.0, 1.0]", "[0.0, 1.0]", "[1., 2.]"),
    input=lambda xp, g, input, other: _share_of_sum(xp, g, input * LN2, xp.laid_out(other * LN2)),
    other=lambda xp, g, input, other: _share_of_sum(xp, g, other * LN2, xp.laid_out(input * LN2)),
    complex=False,
    inplace=False,
)


def _lerp_arrays(start: Any, end: Any, weight: Any) -> Any:
    """The end points exactly, whichever is nearer."""
    low = np.abs(weight) < 0.5
    step = end - start
    found = np.where(low, start + weight * step, end - step * (1 - weight))
    found = found.astype(step.dtype) if found.dtype.kind == step.dtype.kind else found
    return laid_out(found, start, end, weight)


_lerp = pointwise(
    "lerp(input, end, weight)",
    only("lerp", "fc", _lerp_arrays),
    input=lambda xp, g, weight: g * xp.conj(1.0 - weight),
    end=lambda xp, g, weight: g * xp.conj(weight),
    weight=lambda xp, g, input, end: g * xp.conj(xp.sub(end, input)),
    examples=["3x4, 3x4, 3x4", "3x1, 4, ", "0, 0, 0"],
    node_name="LerpBackward1",
)

_lerp_number = pointwise(
    "lerp_number(input, end, *, weight)",
    only("lerp", "fc", lambda input, end, *, weight: _lerp_arrays(input, end, weight)),
    input=lambda xp, g, weight: g * (1.0 - weight.conjugate()),
    end=lambda xp, g, weight: g * weight.conjugate(),
    linear="input, end",
    examples=[example("3x4, 3x4", weight=0.3), example("3x1, 4", weight=0.7)],
    node_name="LerpBackward0",
)


@public(out=True, methods="lerp lerp_")
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Interpolate linearly: `input + weight * (end - input)`, elementwise.

    `input` and `end` broadcast and have one floating or complex dtype, as has a tensor `weight`; a
    0-d one may have any, and a number do as well. Raises RuntimeError for different dtypes.

    >>> rg.lerp(rg.tensor([0.0, 10.0]), rg.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    dtype = input._array.dtype
    alone = isinstance(weight, Tensor) and not weight._array.ndim
    for name, value in {"end": end, "weight": None if alone else weight}.items():
        if isinstance(value, Tensor) and value._array.dtype != dtype:
            raise RuntimeError(
                f"expected dtype {input.dtype.name} for `{name}` but got dtype {value.dtype.name}"
            )
    if alone:
        common = dtypes.common(input._array, weight._array)
        input, end, weight = (
            t if t._array.dtype == common else recorded.cast(t, dtype=common)
            for t in (input, end, weight)
        )
    if isinstance(weight, Tensor):
        return _lerp(input, end, weight)
    factor = dtypes.float32.numpy if half(dtype) else dtype  # in which half floats are computed
    return _lerp_number(input, end, weight=dtypes.real_scalar(weight, factor))


def _addcmul_arrays(input: Any, tensor1: Any, tensor2: Any, *, value: Any) -> Any:
    input, tensor1, tensor2 = promoted(input, tensor1, tensor2)
    if input.dtype.kind == "b":
        raise unsupported("addcmul", input.dtype)
    if half(input.dtype):
        return through_float32(_addcmul_arrays, (input, tensor1, tensor2), {"value": value})
    value = dtypes.real_scalar(value, input.dtype)
    scaled = tensor1 if value == 1 else tensor1 * input.dtype.type(value)
    return laid_out(input + scaled * tensor2, input, tensor1, tensor2)


_addcmul = pointwise(
    "addcmul(input, tensor1, tensor2, *, value)",
    _addcmul_arrays,
    input=lambda xp, g: g,
    tensor1=lambda xp, g, tensor2, value: g * xp.conj(tensor2 * value),
    tensor2=lambda xp, g, tensor1, value: g * xp.conj(tensor1 * value),
    examples=[example("3x4, 3x4, 3x4", value=0.5), example("3x1, 4, ", value=1)],
)


@public(out=True, methods="addcmul addcmul_")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`, elementwise, with broadcasting.

    >>> rg.addcmul(rg.tensor([1.0, 1.0]), rg.tensor([2.0, 3.0]), rg.tensor([10.0, 10.0]), value=2)
    tensor([41., 61.])
    """
    value = number_in(value, "addcmul", "value")
    return _addcmul(input, tensor1, tensor2, value=value)


def _addcdiv_arrays(input: Any, tensor1: Any, tensor2: Any, *, value: Any) -> Any:
    if tensor1.dtype.kind in "iub" and tensor2.dtype.kind in "iub":
        raise RuntimeError(ADDCDIV)
    input, tensor1, tensor2 = promoted(input, tensor1, tensor2)
    if half(input.dtype):
        return through_float32(_addcdiv_arrays, (input, tensor1, tensor2), {"value": value})
    value = dtypes.real_scalar(value, input.dtype)
    quotient = tensor1 * input.dtype.type(value) / tensor2
    return laid_out(input + quotient, input, tensor1, tensor2)


ADDCDIV = (
    "Integer division with addcdiv is no longer supported. Convert one of tensor1 and tensor2 "
    "first: tensor1.float()"
)

_addcdiv = pointwise(
    "addcdiv(input, tensor1, tensor2, *, value)",
    _addcdiv_arrays,
    input=lambda xp, g: g,
    tensor1=lambda xp, g, tensor2, value: g * xp.conj(value / tensor2),
    tensor2=lambda xp, g, tensor1, tensor2, value: (
        -g * xp.conj(tensor1 / tensor2 * (value / tensor2))
    ),
    examples=[example("3x4, 3x4, 3x4", value=0.5), example("3x1, 4, ", value=1)],
    domain=(0.5, 2.0),
)


@public(out=True, methods="addcdiv addcdiv_")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`, elementwise, with broadcasting.

    Raises RuntimeError where both are integers.

    >>> rg.addcdiv(rg.tensor([1.0]), rg.tensor([3.0]), rg.tensor([2.0]), value=10)
    tensor([16.])
    """
    value = number_in(value, "addcdiv", "value")
    return _addcdiv(input, tensor1, tensor2, value=value)
