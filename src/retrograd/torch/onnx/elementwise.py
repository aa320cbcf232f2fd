"""Elementwise ops in ONNX: arithmetic, comparisons, activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from .graph import Graph, element_type, exports, name_of

ON_BOOL = {
    **{"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor", "BitwiseNot": "Not"},
    **{"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"},
}
OF_TRUTH = {"And", "Not", "Or", "Xor"}
COMPARING = {"Equal", "Greater", "GreaterOrEqual", "IsNaN", "Less", "LessOrEqual"}

exports(
    {
        "pow": lambda g, x, *, exponent: g.Pow(x, exponent),
        "pow_base": lambda g, x, *, base: g.Pow(base, x),
        "add_scaled": lambda g, x, y, *, alpha: g.Add(x, g.Mul(y, alpha)),
        "sub_scaled": lambda g, x, y, *, alpha: g.Sub(x, g.Mul(y, alpha)),
        "addcmul": lambda g, x, y, z, *, value: g.Add(x, g.Mul(g.Mul(y, z), value)),
        "addcdiv": lambda g, x, y, z, *, value: g.Add(x, g.Mul(g.Div(y, z), value)),
        "lerp": lambda g, x, y, weight: g.Add(x, g.Mul(g.Sub(y, x), weight)),
        "lerp_number": lambda g, x, y, *, weight: g.Add(x, g.Mul(g.Sub(y, x), weight)),
        "fmod": lambda g, x, y: g.Mod(x, y, fmod=1),
        "rsqrt": lambda g, x: g.Reciprocal(g.Sqrt(x)),
        "log2": lambda g, x: g.Div(g.Log(x), math.log(2)),
        "log10": lambda g, x: g.Div(g.Log(x), math.log(10)),
        "log1p": lambda g, x: g.Log(g.Add(x, 1)),
        "expm1": lambda g, x: g.Sub(g.Exp(x), 1),
        "exp2": lambda g, x: g.Pow(2, x),
        "silu": lambda g, x: g.Mul(x, g.Sigmoid(x)),
        "log_sigmoid": lambda g, x: g.Neg(g.Softplus(g.Neg(x))),
        "gelu": lambda g, x: half_more(g, x, g.Erf(g.Mul(x, math.sqrt(0.5)))),
        "leaky_relu": lambda g, x, *, negative_slope: g.LeakyRelu(x, alpha=float(negative_slope)),
        "hardsigmoid": lambda g, x: g.HardSigmoid(x, alpha=1 / 6, beta=0.5),
        "hardtanh": lambda g, x, *, min_val, max_val: g.Clip(x, min_val, max_val),
        "hardshrink": lambda g, x, *, lambd: g.Shrink(x, lambd=float(lambd), bias=0.0),
        "softshrink": lambda g, x, *, lambd: g.Shrink(x, lambd=float(lambd), bias=float(lambd)),
        "threshold": lambda g, x, *, threshold, value: g.Where(g.Greater(x, threshold), x, value),
        "prelu": lambda g, x, weight: g.PRelu(x, weight),
        "clamp_numbers": lambda g, x, *, min, max: g.Clip(x, min, max),
        "zeros_like": lambda g, x: g.Mul(x, 0),
    },
    alike=True,
)
exports(
    {
        "cast": lambda g, x: g.Cast(x, to=element_type(g.dtype)),
        "isinf": lambda g, x: g.IsInf(x),
        "isfinite": lambda g, x: g.Not(g.Or(g.IsInf(x), g.IsNaN(x))),
        "masked_fill": lambda g, x, value, mask: g.Where(mask, g.cast(value, 1, g.dtype), x),
    }
)


@exports("*", "contiguous", "piecewise")
def by_name(g: Graph, *inputs: str) -> Any:
    """What ONNX has by a name: inputs broadcast, in the dtype of the result or of what is asked."""
    kind, dtype = name_of(g.call.op) or "Identity", g.dtype
    if dtype.kind == "b":
        kind = ON_BOOL.get(kind, kind)
    if kind in OF_TRUTH:
        dtype = np.dtype(bool)
    elif kind in COMPARING:
        dtype = dtypes.common(*[each.array for each in g.call.inputs])
    return g.op(kind, *g.alike(inputs, dtype))


@exports("ne")
def unequal(g: Graph, *inputs: str) -> Any:
    """Not equal, in the dtype to which they promote."""
    dtype = dtypes.common(*[each.array for each in g.call.inputs])
    return g.Not(g.Equal(*g.alike(inputs, dtype)))


@exports("floor_div", "trunc_div", "remainder", alike=True)
def division(g: Graph, x: str, y: str) -> Any:
    """Division that rounds, and what it leaves."""
    name = g.call.op.name
    if g.dtype.kind in "iu":
        if name == "trunc_div":
            return g.Div(x, y)
        rest = g.Mod(x, y)
        return rest if name == "remainder" else g.Div(g.Sub(x, rest), y)
    whole = g.Div(x, y)
    if name == "trunc_div":
        return g.Mul(g.Floor(g.Abs(whole)), g.Sign(whole))
    whole = g.Floor(whole)
    return whole if name == "floor_div" else g.Sub(x, g.Mul(whole, y))


def half_more(g: Graph, x: str, share: str) -> Any:
    """x / 2 and the same times a share."""
    return g.Mul(g.Mul(x, 0.5), g.Add(share, 1))


@exports("gelu_tanh")
def gelu_tanh(g: Graph, x: str) -> Any:
    """What approximates x Phi(x) by tanh."""
    cube = g.Mul(g.Mul(x, x), x)
    inner = g.Mul(g.Add(x, g.Mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return half_more(g, x, g.Tanh(inner))


@exports("elu")
def elu(g: Graph, x: str, *, alpha: float, scale: float, input_scale: float) -> Any:
    """Exponential units, of three numbers."""
    inner = x if input_scale == 1 else g.Mul(x, input_scale)
    low = g.Mul(g.Sub(g.Exp(inner), 1), alpha)
    found = g.Where(g.Greater(x, 0), x, low)
    return found if scale == 1 else g.Mul(found, scale)


@exports("softplus")
def softplus(g: Graph, x: str, *, beta: float, threshold: float) -> Any:
    """log(1 + exp(beta x)) / beta, and x itself from a threshold on."""
    by = g.Mul(x, beta)
    return g.Where(g.Greater(by, threshold), x, g.Div(g.Softplus(by), beta))


@exports("clamp_tensors", alike=True)
def clamp_tensors(g: Graph, x: str, low: str | None, high: str | None) -> Any:
    """Export `clamp` with tensors as bounds."""
    x = x if low is None else g.Max(x, low)
    return x if high is None else g.Min(x, high)


@exports("where")
def where(g: Graph, condition: str, x: str, y: str) -> Any:
    """Export `where`: one value or the other, by a condition."""
    x, y = g.cast(x, 1, g.dtype), g.cast(y, 2, g.dtype)
    return g.Where(g.cast(condition, 0, np.dtype(bool)), x, y)
