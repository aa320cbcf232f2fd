"""Elementwise ops in ONNX: arithmetic, comparisons, activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from .graph import Graph, element_type, exports, name_of
from .tracing import Call

ON_BOOL = {
    **{"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor", "BitwiseNot": "Not"},
    **{"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"},
}
OF_TRUTH = {"And", "Not", "Or", "Xor"}
COMPARING = {"Equal", "Greater", "GreaterOrEqual", "IsNaN", "Less", "LessOrEqual"}


def dtype_of(call: Call) -> Any:
    """The dtype of a call's first output."""
    return call.outputs[0].array.dtype


def number(g: Graph, call: Call, value: float) -> Any:
    """A number in the dtype of the result."""
    return g.constant(value, dtype_of(call))


def alike(g: Graph, call: Call, names: Any, dtype: Any) -> list[str]:
    """Inputs in one dtype."""
    return [
        g.cast(name, value.array.dtype, dtype)
        for name, value in zip(names, call.inputs, strict=True)
        if value is not None
    ]


@exports("*", "contiguous", "piecewise")
def by_name(g: Graph, call: Call, *names: str) -> Any:
    """What ONNX has by a name: inputs broadcast, in the dtype of the result or of what is asked."""
    kind, dtype = name_of(call.op) or "Identity", dtype_of(call)
    if dtype.kind == "b":
        kind = ON_BOOL.get(kind, kind)
    if kind in OF_TRUTH:
        dtype = np.dtype(bool)
    elif kind in COMPARING:
        dtype = dtypes.common(*[each.array for each in call.inputs])
    return g.op(kind, *alike(g, call, names, dtype))


@exports("ne")
def unequal(g: Graph, call: Call, x: str, y: str) -> Any:
    """Not equal, in the dtype to which they promote."""
    dtype = dtypes.common(*[each.array for each in call.inputs])
    return g.op("Not", g.op("Equal", *alike(g, call, (x, y), dtype)))


@exports("pow")
def power(g: Graph, call: Call, x: str) -> Any:
    """A number as exponent."""
    x = alike(g, call, [x], dtype_of(call))[0]
    return g.op("Pow", x, number(g, call, call.params["exponent"]))


@exports("pow_base")
def power_of(g: Graph, call: Call, x: str) -> Any:
    """A number as base."""
    x = alike(g, call, [x], dtype_of(call))[0]
    return g.op("Pow", number(g, call, call.params["base"]), x)


@exports("add_scaled", "sub_scaled")
def with_multiple(g: Graph, call: Call, x: str, y: str) -> Any:
    """The sum or difference with a multiple."""
    x, y = alike(g, call, [x, y], dtype_of(call))
    return g.op(
        "Add" if call.op.name == "add_scaled" else "Sub",
        x,
        g.op("Mul", y, number(g, call, call.params["alpha"])),
    )


@exports("rsqrt", "log2", "log10", "log1p", "expm1", "exp2", "silu", "log_sigmoid")
def several_nodes(g: Graph, call: Call, x: str) -> Any:
    """Functions that are two or three nodes in ONNX."""
    x = alike(g, call, [x], dtype_of(call))[0]
    match call.op.name:
        case "rsqrt":
            return g.op("Reciprocal", g.op("Sqrt", x))
        case "log2" | "log10":
            base = math.log(2 if call.op.name == "log2" else 10)
            return g.op("Div", g.op("Log", x), number(g, call, base))
        case "log1p":
            return g.op("Log", g.op("Add", x, number(g, call, 1)))
        case "expm1":
            return g.op("Sub", g.op("Exp", x), number(g, call, 1))
        case "exp2":
            return g.op("Pow", number(g, call, 2), x)
        case "silu":
            return g.op("Mul", x, g.op("Sigmoid", x))
        case _:
            return g.op("Neg", g.op("Softplus", g.op("Neg", x)))


@exports("floor_div", "trunc_div", "remainder", "fmod")
def division(g: Graph, call: Call, x: str, y: str) -> Any:
    """Division that rounds, and what it leaves."""
    dtype = dtype_of(call)
    x, y = alike(g, call, (x, y), dtype)
    if call.op.name == "fmod":
        return g.op("Mod", x, y, fmod=1)
    if dtype.kind in "iu" and call.op.name == "remainder":
        return g.op("Mod", x, y)
    if dtype.kind in "iu" and call.op.name == "trunc_div":
        return g.op("Div", x, y)
    if dtype.kind in "iu":
        return g.op("Div", g.op("Sub", x, g.op("Mod", x, y)), y)
    whole = g.op("Div", x, y)
    if call.op.name == "trunc_div":
        return g.op("Mul", g.op("Floor", g.op("Abs", whole)), g.op("Sign", whole))
    whole = g.op("Floor", whole)
    return whole if call.op.name == "floor_div" else g.op("Sub", x, g.op("Mul", whole, y))


@exports("gelu", "gelu_tanh")
def gelu(g: Graph, call: Call, x: str) -> Any:
    """x Phi(x), or what approximates it by tanh."""
    half, one = number(g, call, 0.5), number(g, call, 1)
    if call.op.name == "gelu":
        inner = g.op("Erf", g.op("Mul", x, number(g, call, math.sqrt(0.5))))
    else:
        cube = g.op("Mul", g.op("Mul", x, x), x)
        sum_ = g.op("Add", x, g.op("Mul", cube, number(g, call, 0.044715)))
        inner = g.op("Tanh", g.op("Mul", sum_, number(g, call, math.sqrt(2 / math.pi))))
    return g.op("Mul", g.op("Mul", x, half), g.op("Add", inner, one))


@exports("addcmul", "addcdiv", "lerp", "lerp_number")
def combined(g: Graph, call: Call, x: str, y: str, z: str = "") -> Any:
    """One input plus a product, a quotient, or a part of the way to another."""
    inputs = [name for name in (x, y, z) if name]
    x, y, *rest = alike(g, call, inputs, dtype_of(call))
    if call.op.name.startswith("lerp"):
        by = rest[0] if rest else number(g, call, call.params["weight"])
        return g.op("Add", x, g.op("Mul", g.op("Sub", y, x), by))
    part = g.op("Mul" if call.op.name == "addcmul" else "Div", y, rest[0])
    return g.op("Add", x, g.op("Mul", part, number(g, call, call.params["value"])))


@exports("leaky_relu", "elu", "hardsigmoid", "softplus", "hardtanh", "hardshrink", "softshrink",
         "threshold")  # fmt: skip
def activation(g: Graph, call: Call, x: str) -> Any:
    """Activations with numbers."""
    p = call.params
    match call.op.name:
        case "leaky_relu":
            return g.op("LeakyRelu", x, alpha=float(p["negative_slope"]))
        case "elu":
            inner = x
            if p["input_scale"] != 1:
                inner = g.op("Mul", x, number(g, call, p["input_scale"]))
            low = g.op("Sub", g.op("Exp", inner), number(g, call, 1))
            low = g.op("Mul", low, number(g, call, p["alpha"]))
            found = g.op("Where", g.op("Greater", x, number(g, call, 0)), x, low)
            return found if p["scale"] == 1 else g.op("Mul", found, number(g, call, p["scale"]))
        case "hardsigmoid":
            return g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        case "softplus":
            by = g.op("Mul", x, number(g, call, p["beta"]))
            soft = g.op("Div", g.op("Softplus", by), number(g, call, p["beta"]))
            return g.op("Where", g.op("Greater", by, number(g, call, p["threshold"])), x, soft)
        case "hardtanh":
            return g.op("Clip", x, number(g, call, p["min_val"]), number(g, call, p["max_val"]))
        case "threshold":
            above = g.op("Greater", x, number(g, call, p["threshold"]))
            return g.op("Where", above, x, number(g, call, p["value"]))
        case kind:
            by = float(p["lambd"])
            return g.op("Shrink", x, lambd=by, bias=by if kind == "softshrink" else 0.0)


@exports("prelu")
def prelu(g: Graph, call: Call, x: str, weight: str) -> Any:
    """A slope of its own for each channel."""
    return g.op("PRelu", x, weight)


@exports("clamp_numbers")
def clamp(g: Graph, call: Call, x: str) -> Any:
    """Between numbers."""
    ends = [call.params[name] for name in ("min", "max")]
    return g.op("Clip", x, *[None if end is None else number(g, call, end) for end in ends])


@exports("clamp_tensors")
def clamp_tensors(g: Graph, call: Call, x: str, low: str | None, high: str | None) -> Any:
    """Between tensors."""
    x, *ends = alike(g, call, (x, low, high), dtype_of(call))
    if low is not None:
        x = g.op("Max", x, ends[0])
    return x if high is None else g.op("Min", x, ends[-1])


@exports("where")
def where(g: Graph, call: Call, condition: str, x: str, y: str) -> Any:
    """One or the other."""
    dtypes = [each.array.dtype for each in call.inputs]
    x, y = (g.cast(n, d, dtype_of(call)) for n, d in zip((x, y), dtypes[1:], strict=True))
    return g.op("Where", g.cast(condition, dtypes[0], np.dtype(bool)), x, y)


@exports("masked_fill")
def masked_fill(g: Graph, call: Call, x: str, value: str, mask: str) -> Any:
    """A value where a mask is true."""
    value = g.cast(value, call.inputs[1].array.dtype, dtype_of(call))
    return g.op("Where", mask, value, x)


@exports("cast")
def cast(g: Graph, call: Call, x: str) -> Any:
    """Another dtype."""
    return g.op("Cast", x, to=element_type(dtype_of(call)))


@exports("isinf", "isfinite")
def special(g: Graph, call: Call, x: str) -> Any:
    """Infinite, or neither that nor nan."""
    found = g.op("IsInf", x)
    return found if call.op.name == "isinf" else g.op("Not", g.op("Or", found, g.op("IsNaN", x)))


@exports("zeros_like")
def zeros_like(g: Graph, call: Call, x: str) -> Any:
    """Zeros in its shape."""
    return g.op("Mul", x, number(g, call, 0))
