"""The analytic activation functions: sigmoid and what is made of it, real and complex.

Complex input is what these functions extend to holomorphically. The public functions are listed in
`piecewise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.inplace import in_place
from ...engine.registry import example, name_node
from ...engine.tensor import Tensor
from ...kernels import complexes
from ...kernels import special as kernels
from ...kernels.layout import in_rows
from ...kernels.native.small import quick
from ..core.arguments import public
from ..core.dims import place_of
from ..core.pointwise import (
    SINGLE,
    double,
    floating,
    holds_complex,
    only,
    pointwise,
    single,
    unary,
    unsupported,
)
from ..elementwise.trigonometry import squared_secant, tanh

ROOT_HALF = math.sqrt(0.5)
ROOT_PI = math.sqrt(math.pi)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715


def activation(
    signature: str, forward: Any, kinds: str = "f", **options: Any
) -> Callable[..., Tensor]:
    """Declare an activation without in-place form of its own; PyTorch's dtypes, no others."""
    name = signature.partition("(")[0]
    options.setdefault("examples", SINGLE)
    return pointwise(signature, only(name, kinds, forward), complex="c" in kinds, **options)


@quick("sigmoid")
def _sigmoid(x: Any) -> Any:
    if x.dtype.kind != "c":
        if not x.ndim:
            return 1.0 / (1.0 + np.exp(-x))
        out = np.negative(x)  # in one array from here on
        np.exp(out, out)
        out += 1.0
        return np.divide(1.0, out, out)
    return complexes.sigmoid(x)


def _sigmoid_derivative(xp: Any, input: Any, out: Any) -> Any:
    """s (1 - s) of the sigmoid s; of real numbers by the result alone, as that of tanh."""
    return squared_secant(xp, input, 2) / 4 if holds_complex(out) else out * (1.0 - out)


sigmoid = unary(
    "sigmoid",
    floating(_sigmoid),
    "1 / (1 + exp(-x)); holomorphic for complex input.",
    ("[0.0, 2.0]", "[0.5000, 0.8808]"),
    derivative=_sigmoid_derivative,
    of_complex=["input"],
)


def _softplus_array(x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    return complexes.softplus(x) if x.dtype.kind == "c" else np.logaddexp(x, x.dtype.type(0))


_logsigmoid = activation(
    "log_sigmoid(input)",
    lambda x: 0 - _softplus_array(-in_rows(x)),  # 0, not -0, where it is none
    "fc",
    derivative=lambda xp, input: xp.sigmoid(xp.laid_out(-input)),
)


@public(out=True)
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), elementwise, without overflow.

    >>> rg.nn.functional.logsigmoid(rg.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """
    return _logsigmoid(input)


def _silu_derivative(xp: Any, input: Any) -> Any:
    input = single(xp, input)
    s = xp.sigmoid(input)
    return s * (1.0 + input * (xp.sigmoid(-input) if holds_complex(input) else 1.0 - s))


_silu = activation("silu(input)", lambda x: x * _sigmoid(x), "fc", derivative=_silu_derivative)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), elementwise; holomorphic.

    >>> rg.nn.functional.silu(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return in_place(_silu)(input) if inplace else _silu(input)


def _mish_derivative(xp: Any, input: Any) -> Any:
    input = double(xp, single(xp, input))
    t = xp.tanh(xp.softplus(input, beta=1.0, threshold=20.0))
    return t + input * (1.0 - t * t) * xp.sigmoid(input)


_mish = activation(
    "mish(input)", lambda x: x * np.tanh(_softplus_array(x)), "fc", derivative=_mish_derivative
)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)), elementwise; holomorphic.

    >>> rg.nn.functional.mish(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    return in_place(_mish)(input) if inplace else _mish(input)


def _gelu_derivative(xp: Any, input: Any) -> Any:
    input = double(xp, single(xp, input))
    z = input * -ROOT_HALF
    return xp.erfc(z) * 0.5 - z * xp.exp(-z * z) * (1.0 / ROOT_PI)


def _gelu_tanh_derivative(xp: Any, input: Any) -> Any:
    input = double(xp, single(xp, input))
    square = input * input
    t = xp.tanh(input * (square * GELU_CUBIC + 1.0) * ROOT_2_OVER_PI)
    inner = (square * (3.0 * GELU_CUBIC) + 1.0) * ROOT_2_OVER_PI
    return (1.0 + t) * 0.5 + input * (1.0 - t * t) * inner * 0.5


def _gelu_tanh_array(x: Any) -> Any:
    if x.dtype.char == "F":  # the cube of a complex64 may overflow
        return _gelu_tanh_array(x.astype(np.complex128)).astype(x.dtype)
    return 0.5 * x * (1.0 + np.tanh(ROOT_2_OVER_PI * (x + GELU_CUBIC * (x * x * x))))


_gelu = activation(
    "gelu(input)",
    lambda x: 0.5 * x * kernels.erfc(x * -ROOT_HALF),
    "fc",
    derivative=_gelu_derivative,
    saved={"approximate": lambda: "none"},
)

_gelu_tanh = activation(
    "gelu_tanh(input)",
    _gelu_tanh_array,
    "fc",
    derivative=_gelu_tanh_derivative,
    node_name="GeluBackward0",
    saved={"approximate": lambda: "tanh"},
)


@public(out=True)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, elementwise; holomorphic.

    With `approximate="tanh"` by Hendrycks and Gimpel's formula. Raises RuntimeError for another
    mode.

    >>> rg.nn.functional.gelu(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"approximate argument must be either none or tanh. It is {approximate!r}"
        )
    return (_gelu if approximate == "none" else _gelu_tanh)(input)


def _softplus_forward(input: Any, *, beta: float, threshold: float) -> Any:
    scaled = input * beta
    found = _softplus_array(scaled) / beta
    return found if holds_complex(input) else np.where(scaled > threshold, input, found)


def _softplus_input(xp: Any, g: Any, input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    found = g * xp.conj(xp.sigmoid(scaled))
    return found if holds_complex(scaled) else xp.where(scaled > threshold, g, found)


_softplus = activation(
    "softplus(input, *, beta, threshold)",
    _softplus_forward,
    "fc",
    input=_softplus_input,
    examples=[
        example("3x4", beta=1.0, threshold=20.0),
        example("", beta=2.0, threshold=10.0),
        example("0", beta=1.0, threshold=20.0),
    ],
)


@public(out=True)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, elementwise, and x where beta x > threshold.

    Of complex input the principal logarithm, without threshold. Raises RuntimeError for numbers
    that a real x does not hold.

    >>> rg.nn.functional.softplus(rg.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    if not holds_complex(input):
        kind = input._array.dtype
        beta, threshold = dtypes.real_scalar(beta, kind), dtypes.real_scalar(threshold, kind)
    return _softplus(input, beta=beta, threshold=threshold)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), elementwise.

    >>> rg.nn.functional.softsign(rg.tensor([1.0, -3.0]))
    tensor([ 0.5000, -0.7500])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x), elementwise.

    >>> rg.nn.functional.tanhshrink(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second.

    Raises RuntimeError where that size is odd, IndexError for a dimension that is not there,
    NotImplementedError for integers.

    >>> rg.nn.functional.glu(rg.tensor([1.0, 0.0]))
    tensor([0.5000])
    """
    shape = input.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = place_of(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}"
        )
    if input._array.dtype.kind in "biu":
        raise unsupported("glu", input._array.dtype)
    value, gate = input.chunk(2, dim)
    return name_node(value * sigmoid(gate), "GluBackward0")
