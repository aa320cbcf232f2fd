"""Activation functions of neural networks, real and complex.

NOTE [Complex activations]
1. What is analytic extends holomorphically: sigmoid, silu, mish, gelu, softplus, logsigmoid,
   tanhshrink, glu.
2. What is defined piece by piece on the real line acts on the real and on the imaginary part, each
   by itself: relu, relu6, leaky_relu, prelu, rrelu, elu, selu, celu, hardtanh, hardsigmoid,
   hardswish, hardshrink, softshrink, threshold. PyTorch refuses complex input to these.
3. softsign, x / (1 + |x|), shrinks the absolute value and keeps the angle.

NOTE [Slopes at kinks], as PyTorch's: 0 for relu at 0 (least norm), the left-hand one for
leaky_relu, prelu, elu and threshold, 0 at both ends of hardtanh, relu6, hardsigmoid and hardswish
and at those of the dead zones of hardshrink and softshrink.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.inplace import in_place, write
from ...engine.namespaces import arrays, reals
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import empty, is_seen
from ...kernels.layout import choose
from ..core.arguments import public
from ..core.pointwise import PAIRS, SINGLE, attach, holds_complex, pointwise, single
from ..creation.from_data import fill_value
from ..elementwise.complex import by_parts
from ..elementwise.complex_parts import real
from ..elementwise.trigonometry import tanh
from ..random.factories import rand_like
from ..random.generator import default_generator
from .smooth import (
    activation,
    gelu,
    glu,
    logsigmoid,
    mish,
    sigmoid,
    silu,
    softplus,
    softsign,
    tanhshrink,
)

__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid",
    "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _plain(input: Tensor, call: Callable[..., Tensor], params: dict[str, Any]) -> Tensor:
    if holds_complex(input):
        return by_parts(lambda part: call(part, **params), input)
    return call(input, **params)


def _piecewise(call: Any, input: Tensor, inplace: bool, **params: Any) -> Tensor:
    """Apply a real op, to each part of a complex tensor; into `input` itself if `inplace`.

    Raises RuntimeError for a parameter that is finite, but not in the dtype of `input`, or that is
    not real. Beside integers it is one, too: a fraction is rounded towards 0.
    """
    kind = dtypes.real_of(input._array.dtype)
    params = {name: dtypes.real_scalar(value, kind) for name, value in params.items()}
    if kind.kind in "iu":
        params = {name: fill_value(value, kind).item() for name, value in params.items()}
    if inplace:
        made = write(input, f"{call.__name__}_", _plain, (call, params), {})
        if call.__name__ in ("elu", "leaky_relu", "threshold"):  # there by another derivative
            made = name_node(made, call.op.node_name.replace("0", "1"))
        return made
    return _plain(input, call, params)


def _gate_array(input: Any, signal: Any, chosen: Any = choose) -> Any:
    if input.dtype.kind != "c":
        return chosen(signal <= 0, 0, input)
    out = empty(input, np.broadcast_shapes(input.shape, signal.shape))
    out.real[...] = np.where(signal.real <= 0, 0, input.real)
    out.imag[...] = np.where(signal.imag <= 0, 0, input.imag)
    return out


pointwise(
    "gate(input, signal)",
    _gate_array,
    input=lambda xp, g, signal: xp.gate(g, signal),
    linear="input",
    leads="signal",
    examples=PAIRS[:1],
    node_name="ThresholdBackwardBackward0",
    doc="""`input` with zeros where `signal` is not positive, part by part; for `relu`.""",
)
arrays.gate = reals.gate = partial(_gate_array, chosen=np.where)  # the formula's leader decides


def _relu_array(x: Any) -> Any:
    kind = x.dtype.char
    if kind not in "eFD?":
        return np.maximum(0, x)  # of two zeros the second, but the first of float16
    if kind == "e":
        return np.maximum(x, 0)
    if kind == "?":
        raise RuntimeError("Boolean inputs not supported for relu. Convert first: x.float()")
    out = empty(x, x.shape)
    np.maximum(x.real, 0, out=out.real)
    np.maximum(x.imag, 0, out=out.imag)
    return out


_relu = declare(
    "relu(input)",
    _relu_array,
    input=lambda xp, g, out: xp.gate(g, out),
    leads="out",
    piecewise=True,
    elementwise=True,
    examples=SINGLE,
)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x), elementwise, on each part of a complex number; derivative 0 at 0.

    Raises RuntimeError for bool tensors.

    >>> rg.relu(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return in_place(_relu)(input) if inplace else _relu(input)


def _clip_array(input: Any, *, min_val: float, max_val: float) -> Any:
    if input.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh. Convert first: x.float()")
    return np.clip(input, min_val, max_val).astype(input.dtype, copy=False)


_hardtanh = activation(
    "hardtanh(input, *, min_val, max_val)",
    _clip_array,
    "fiub",
    piecewise=True,
    input=lambda xp, g, input, min_val, max_val: xp.zero_where(
        g, ~((input > min_val) & (input < max_val))
    ),
    examples=[example("3x4", min_val=-1.0, max_val=1.0), example("0", min_val=0.0, max_val=6.0)],
)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Each element bounded by `min_val` and `max_val`; derivative 0 at and beyond the bounds.

    Raises ValueError where `min_val` exceeds `max_val`, RuntimeError where it is negative beside
    unsigned integers.

    >>> rg.nn.functional.hardtanh(rg.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    kind = dtypes.real_of(input._array.dtype)
    min_val, max_val = dtypes.real_scalar(min_val, kind), dtypes.real_scalar(max_val, kind)
    if kind.kind in "iu":
        whole = np.dtype(np.int64)
        min_val, max_val = fill_value(min_val, whole).item(), fill_value(max_val, whole).item()
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, but {min_val} > {max_val}")
    if kind.kind == "u" and min_val < 0:
        raise RuntimeError(
            "cannot do hardtanh on an unsigned type with negative limits. Convert first: x.float()"
        )
    return _piecewise(_hardtanh, input, inplace, min_val=min_val, max_val=max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(0, x), 6), elementwise; derivative 0 at 0 and 6.

    >>> rg.nn.functional.relu6(rg.tensor([-2.0, 3.0, 7.0]))
    tensor([0., 3., 6.])
    """
    return _piecewise(_hardtanh, input, inplace, min_val=0.0, max_val=6.0)


_leaky_relu = activation(
    "leaky_relu(input, *, negative_slope)",
    lambda x, *, negative_slope: np.where(x > 0, x, x * negative_slope),
    piecewise=True,
    input=lambda xp, g, input, negative_slope: xp.where(input > 0, g, g * negative_slope),
    leads="input",
    examples=[example("3x4", negative_slope=0.1), example("0", negative_slope=0.1)],
)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else negative_slope * x, elementwise.

    >>> rg.nn.functional.leaky_relu(rg.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """
    return _piecewise(_leaky_relu, input, inplace, negative_slope=negative_slope)


_prelu = activation(
    "prelu(input, weight)",
    lambda x, weight: np.where(x > 0, x, x * weight),
    piecewise=True,
    input=lambda xp, g, input, weight: xp.where(input > 0, g, g * xp.zero_where(weight, input > 0)),
    leads="input",
    weight=lambda xp, g, input: xp.zero_where(g, input > 0) * xp.zero_where(input, input > 0),
    examples=PAIRS,
    node_name="PreluKernelBackward0",
)


@public(methods="prelu")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight * x, with one weight for all or one per channel (dimension 1).

    Of a complex tensor both parts go through it, with a real weight, or the real part of a complex
    one. Raises RuntimeError for a weight of another size or dtype.

    >>> rg.prelu(rg.tensor([[-1.0, -1.0]]), rg.tensor([0.5, 0.25]))
    tensor([[-0.5000, -0.2500]])
    """
    shape, sizes = input.shape, weight.shape
    if len(sizes) > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(sizes)}"
        )
    if sizes.numel() != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if sizes[0] != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{sizes[0]} and channel size = {channels}."
            )
    if holds_complex(input):
        weight = real(weight)
    if dtypes.real_of(input._array.dtype) != weight._array.dtype:
        a, b = (dtypes.legacy_name(t.dtype) for t in (input, weight))
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {a} and {b}. Convert first: "
            "weight.to(x.dtype)"
        )
    if len(sizes) == 1:
        weight = weight.reshape((*sizes, *[1] * (len(shape) - 2)) if len(shape) > 1 else ())
    if holds_complex(input):
        return by_parts(_prelu, input, weight)
    return _prelu(input, weight)


def _random_leak(input: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    if holds_complex(input):
        return by_parts(_random_leak, input, lower, upper, generator)
    array = input._array
    if not is_seen(array):
        return _prelu(input, rand_like(input, generator=generator) * (upper - lower) + lower)
    below = array <= 0  # the others take no number
    drawn = generator.uniform((int(below.sum()),), np.dtype(np.float64))
    slopes = np.ones_like(array)
    slopes[below] = drawn * (upper - lower) + lower
    return _prelu(input, new_tensor(slopes))


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Any = None,
) -> Tensor:
    """`leaky_relu` whose slope is drawn evenly from lower to upper; their mean if not `training`.

    Raises RuntimeError for a lower bound above the upper.

    >>> rg.rrelu(rg.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    kind = dtypes.real_of(input._array.dtype)
    lower, upper = dtypes.real_scalar(lower, kind), dtypes.real_scalar(upper, kind)
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound, but got lower = "
            f"{lower} and upper = {upper}"
        )
    if not training:
        made = leaky_relu(input, (lower + upper) / 2, inplace)
        return name_node(made if inplace else made.contiguous(), "RreluWithNoiseBackward0")
    bounds = (lower, upper, generator or default_generator)
    if inplace:
        made = write(input, "rrelu_", _random_leak, bounds, {})
        return name_node(made, "RreluWithNoiseBackward1")
    return name_node(_random_leak(input, *bounds).contiguous(), "RreluWithNoiseBackward0")


def _elu_array(input: Any, *, alpha: float, scale: float, input_scale: float) -> Any:
    decay = np.expm1(np.minimum(0, input) * input_scale) * (alpha * scale)  # -0 stays -0
    return np.where(input > 0, input * scale, decay)


def _elu_input(xp: Any, g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = xp.zero_where(input, input >= 0)  # lest exp overflow where it is not wanted
    decay = xp.exp(below * input_scale) * (alpha * scale * input_scale)
    return xp.laid_out(xp.where(input > 0, g * scale, g * decay), g, input)


_elu = activation(
    "elu(input, *, alpha, scale, input_scale)",
    _elu_array,
    input=_elu_input,
    examples=[
        example("3x4", alpha=1.5, scale=1.0, input_scale=1.0),
        example("0", alpha=1.0, scale=1.2, input_scale=0.5),
    ],
)
_celu = renamed(_elu, "CeluBackward0")


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x) - 1), elementwise.

    >>> rg.nn.functional.elu(rg.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _piecewise(_elu, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and alpha that keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> rg.selu(rg.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    scales = {"alpha": SELU_ALPHA, "scale": SELU_SCALE, "input_scale": 1.0}
    return _piecewise(_elu, input, inplace, **scales)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1): `elu` with a continuous derivative.

    Raises RuntimeError for alpha 0.

    >>> rg.celu(rg.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _piecewise(_celu, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0 / alpha)


_hardsigmoid = activation(
    "hardsigmoid(input)",
    lambda x: np.clip(x + 3, 0, 6) / 6,
    piecewise=True,
    input=lambda xp, g, input: xp.zero_where(g, ~((input > -3) & (input < 3))) * (1.0 / 6.0),
    domain=(-5.0, 5.0),
)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6, elementwise.

    >>> rg.nn.functional.hardsigmoid(rg.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """
    return _piecewise(_hardsigmoid, input, inplace)


def _hardswish_input(xp: Any, g: Any, input: Any) -> Any:
    input = single(xp, input)
    low, high = input <= -3, input >= 3
    middle = xp.zero_where(input * (1.0 / 3.0) + 0.5, low | high)  # finite, also for a tangent 0
    return xp.where(high, g, xp.zero_where(g, low) * middle)


_hardswish = activation(
    "hardswish(input)",
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    input=_hardswish_input,
    domain=(-5.0, 5.0),
)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x relu6(x + 3) / 6, elementwise.

    >>> rg.nn.functional.hardswish(rg.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """
    return _piecewise(_hardswish, input, inplace)


_hardshrink = activation(
    "hardshrink(input, *, lambd)",
    lambda x, *, lambd: np.where((x >= -lambd) & (x <= lambd), 0, x),
    piecewise=True,
    input=lambda xp, g, input, lambd: xp.zero_where(g, (input >= -lambd) & (input <= lambd)),
    examples=[example("3x4", lambd=0.5), example("0", lambd=0.5)],
)


@public(out=True, methods="hardshrink")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, else 0, elementwise.

    >>> rg.hardshrink(rg.tensor([0.25, 2.0]))
    tensor([0., 2.])
    """
    if input._array.dtype.kind == "V":  # compared in this dtype, though computed in another one
        lambd = float(input._array.dtype.type(lambd))
    return _piecewise(_hardshrink, input, False, lambd=lambd)


def _shrunk(x: Any, *, lambd: float) -> Any:
    """What is left of x, with its sign even where that is 0."""
    return np.copysign(x - np.clip(x, -lambd, lambd), x)


_softshrink = activation(
    "softshrink(input, *, lambd)",
    _shrunk,
    piecewise=True,
    input=lambda xp, g, input, lambd: xp.zero_where(g, (input >= -lambd) & (input <= lambd)),
    examples=[example("3x4", lambd=0.5), example("0", lambd=0.5)],
)


@public(out=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 where |x| <= lambd, elementwise.

    Raises RuntimeError for a negative lambd.

    >>> rg.nn.functional.softshrink(rg.tensor([0.25, 2.0]))
    tensor([0.0000, 1.5000])
    """
    lambd = dtypes.real_scalar(lambd, dtypes.real_of(input._array.dtype))
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _piecewise(_softshrink, input, False, lambd=lambd)


_threshold = activation(
    "threshold(input, *, threshold, value)",
    lambda x, *, threshold, value: np.where(x <= threshold, x.dtype.type(value), x),
    "fiu",
    piecewise=True,
    input=lambda xp, g, input, threshold: xp.zero_where(g, input <= threshold),
    leads="input",
    examples=[example("3x4", threshold=0.1, value=2.0), example("0", threshold=0.1, value=2.0)],
)


@public(out=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value, elementwise.

    Raises RuntimeError for numbers that the dtype of x does not hold.

    >>> rg.threshold(rg.tensor([0.5, 2.0]), 1.0, 7.0)
    tensor([7., 2.])
    """
    return _piecewise(_threshold, input, inplace, threshold=threshold, value=value)


attach(_relu, "relu")
