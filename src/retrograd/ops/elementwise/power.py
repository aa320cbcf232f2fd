"""Powers: `pow` in its three forms, and what is made of it.

NOTE [Derivatives of x ** y where a factor is infinite]
1. y * x ** (y - 1) at y = 0 is 0, also where x ** -1 is not finite: at x = 0, below the normal
   numbers, and for NaN, since NaN ** 0 is 1.
2. x ** y * log(x) at x = 0 is its limit 0 for every y >= 0, and -inf for y < 0.
The formulas reach these values without multiplying 0 by an infinity, so that the second derivatives
are finite wherever the mathematics has them finite. At x = y = 0, where x ** (y - 1) has a pole of
either sign, they are 0.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import NUMBERS, as_tensor, operand
from ...engine.inplace import in_place
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor, method, new_tensor
from ...kernels.allocation import known_true
from ...kernels.layout import in_rows, laid_out
from ..core.arguments import public, titled
from ..core.pointwise import PAIRS, holds_complex, pointwise, unsupported
from ..tensor.operators import attach_in_place, attach_operator, show_operators

__all__ = ["float_power", "pow", "square"]


def _cube(x: Any) -> Any:
    return x * x * x


def _reciprocal(x: Any) -> Any:
    return 1.0 / x if x.dtype.kind == "c" else np.reciprocal(x)  # which is NaN for a complex 0


QUICK: dict[float, Any] = {
    0: lambda x: laid_out(np.ones_like(x), x),
    1: lambda x: laid_out(np.copy(x), x),
    2: np.square,
    3: _cube,
    0.5: np.sqrt,
    -0.5: lambda x: 1.0 / np.sqrt(x),
    -1: _reciprocal,
}
IN_STEPS: dict[float, Any] = {3: _cube, -2: lambda x: np.reciprocal(x * x)}  # as PyTorch's


def _complex_power(base: Any, exponent: Any) -> Any:
    """base ** exponent; for a negative integer NumPy divides 1 by a product, which may overflow."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            return np.power(base, exponent)
    except FloatingPointError:
        steps = (exponent.real < 0) & (exponent == np.rint(exponent.real))
        base = np.where(steps, np.where(np.isinf(base), 0, _reciprocal(base)), base)
        return np.power(base, np.where(steps, -exponent, exponent))


def _power(base: Any, exponent: Any) -> Any:
    """base ** exponent of arrays of one dtype; a negative power of an integer is truncated."""
    if base.dtype.kind == "b":
        raise unsupported("pow", base.dtype)
    if base.dtype.kind == "c":
        return _complex_power(base, exponent)
    if base.dtype.kind not in "iu":
        return np.power(base, exponent)
    negative = exponent < 0
    if known_true(np.logical_not(negative.any())):
        return np.power(base, exponent)
    found = np.power(base, np.where(negative, exponent & 1, exponent))  # 1 and -1 keep their parity
    return np.where(negative & (np.abs(base) != 1), 0, found).astype(base.dtype)


def _pow_number(input: Any, *, exponent: Any) -> Any:
    if input.dtype.kind in "fV" and input.dtype.char not in "efd":  # narrower: rounded once
        if exponent in IN_STEPS:
            return IN_STEPS[exponent](input)
        found = _pow_number(dtypes.converted(input, dtypes.float32.numpy), exponent=exponent)
        return found.astype(input.dtype) if found.dtype == np.float32 else found
    if input.dtype.char != "e" and input.dtype.kind in "fc" and exponent.__class__ is not complex:
        quick = QUICK.get(exponent)
        if quick is not None:
            return quick(input)
    if input.dtype.kind == "b" and exponent.__class__ is bool:
        return QUICK[exponent](input)
    if input.dtype.kind in "biu" and isinstance(exponent, (int, np.integer)) and exponent < 0:
        raise RuntimeError(
            "Integers to negative integer powers are not allowed. Convert first: x.float() ** "
            f"{exponent}"
        )
    return _power(*dtypes.promote(input, dtypes.scalar_array(exponent, input.dtype)))


def _pow_derivative(input: Any, *, exponent: Any, order: int) -> Any:
    factor = math.prod(exponent - k for k in range(order))
    left = exponent - order
    return factor * (input if left == 1 else _pow_number(input, exponent=left))


def _next_derivative(xp: Any, g: Any, input: Any, exponent: Any, order: int = 0) -> Any:
    """`g * conj(exponent * input ** (exponent - 1))`; 0 for exponent 0; higher orders likewise."""
    if exponent == order:
        return xp.zeros_like(input)
    return g * xp.conj(xp.pow_derivative(input, exponent=exponent, order=order + 1))


pointwise(
    "pow_derivative(input, *, exponent, order)",
    _pow_derivative,
    input=_next_derivative,
    examples=[
        example("3x4", exponent=2, order=1),
        example("3x4", exponent=2, order=2),
        example("3x4", exponent=2.5, order=1),
        example("", exponent=2 - 1j, order=2),
        example("0", exponent=-1, order=1),
    ],
    domain=(0.5, 2.0),
    doc="""The derivative of that order of `input ** exponent`; for formulas.""",
)


_pow = pointwise(
    "pow(input, *, exponent)",
    _pow_number,
    input=lambda xp, g, input, exponent: _next_derivative(xp, g, input, exponent),
    examples=[
        *[example("3x4", exponent=e) for e in (0, 1, 2, 3, 4, 0.5, -1, -0.5, 2.5, 2 - 1j)],
        example("", exponent=2),
        example("0", exponent=1.5),
    ],
    domain=(0.5, 2.0),
)


declare(
    "pow_edge(input, exponent)",
    lambda input, exponent: (exponent == 0) & ~np.isfinite(1.0 / input),
    elementwise=True,
    examples=PAIRS,
    doc="""Where rule 1 of NOTE [Derivatives of x ** y ...] applies; for formulas.""",
)

declare(
    "zero_base(input, exponent)",
    lambda input, exponent: (input == 0) & (exponent.real >= 0) & (exponent.imag == 0),
    elementwise=True,
    examples=PAIRS,
    doc="""Where rule 2 of NOTE [Derivatives of x ** y ...] has the limit 0; for formulas.""",
)


def _pow_tensors_input(xp: Any, g: Any, input: Any, exponent: Any) -> Any:
    edge = xp.pow_edge(input, exponent)
    power = xp.pow_tensors(input, exponent - 1.0 + edge)
    slope = xp.zero_where(exponent, edge) * power
    return xp.laid_out(g * xp.conj(slope), exponent, g, input)


def _pow_tensors_exponent(xp: Any, g: Any, input: Any, exponent: Any, out: Any) -> Any:
    """`g * conj(out * log(input))`; 0 where input is 0 and the exponent is 0 or more."""
    at_zero = xp.zero_base(input, exponent)
    base = xp.zero_where(input, at_zero) + at_zero
    if holds_complex(out) and not holds_complex(base):
        base = base + 0j  # the logarithm of a negative real base is complex here
    return g * xp.conj(xp.mul(out, xp.log(base)))


_pow_tensors = pointwise(
    "pow_tensors(input, exponent)",
    _power,
    input=_pow_tensors_input,
    exponent=_pow_tensors_exponent,
    examples=PAIRS,
    domain=(0.5, 2.0),
    node_name="PowBackward1",
)


def _pow_base(exponent: Any, *, base: Any) -> Any:
    e, b = dtypes.promote(exponent, operand(base, exponent.dtype)._array)
    return _power(b, in_rows(e))


def _pow_base_exponent(xp: Any, g: Any, exponent: Any, out: Any, base: Any) -> Any:
    """`g * conj(out * log(base))`; for base 0, 0 where the exponent is 0 or more."""
    if base == 0:
        return g * xp.conj(xp.zero_where(-out, xp.zero_base(exponent * 0.0, exponent)))
    if holds_complex(out):
        return g * xp.conj(out * cmath.log(base))
    return g * (out * (math.log(base) if base > 0 else math.nan))


_pow_of_number = pointwise(
    "pow_base(exponent, *, base)",
    _pow_base,
    exponent=_pow_base_exponent,
    examples=[example("3x4", base=2.0), example("", base=3), example("0", base=0.5)],
    node_name="PowBackward2",
    saved={"self": "base", "exponent": "exponent"},
)


@public(out=True, methods="pow pow_")
def pow(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent`, elementwise; one of the two may be a number.

    Both broadcast and promote. Raises RuntimeError for a tensor of integers or booleans and a
    negative integer number, NotImplementedError for two bool tensors, TypeError without a tensor.
    0 ** y has derivative 0 in y for y >= 0, and x ** 0 has derivative 0 in x everywhere; a negative
    real base gives NaN for a fractional exponent.

    >>> rg.pow(rg.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> rg.pow(2, rg.tensor([1.0, 2.0, 3.0]))
    tensor([2., 4., 8.])
    """
    if isinstance(exponent, np.ndarray):
        exponent = new_tensor(exponent)
    elif isinstance(exponent, np.generic):  # whose dtype would be that of gradients
        exponent = exponent.item()
    if isinstance(input, Tensor):
        if isinstance(exponent, Tensor):
            return _pow_tensors(input, exponent)
        if isinstance(exponent, NUMBERS):
            return _pow(input, exponent=exponent)
    elif isinstance(exponent, Tensor) and isinstance(input, NUMBERS):
        return _pow_of_number(exponent, base=input)
    raise TypeError(
        "pow() received an invalid combination of arguments - got "
        f"({type(input).__name__}, {type(exponent).__name__}), but expected a Tensor and a Tensor "
        "or a number"
    )


@public(out=True, methods="square")
def square(input: Tensor) -> Tensor:
    """`input ** 2`, elementwise.

    >>> rg.square(rg.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
    return pow(input, 2)


@public(methods="square_")
def square_(input: Tensor) -> Tensor:
    """In-place form of `square`: writes the result into `input` and returns it.

    >>> rg.tensor([1.0, -3.0]).square_()
    tensor([1., 9.])
    """
    return input.pow_(2)


@public(out=True, methods="float_power")
def float_power(input: Any, exponent: Any) -> Tensor:
    """`pow` in double precision: float64, or complex128 where an argument is complex.

    >>> rg.float_power(rg.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=retrograd.float64)
    """
    pair = [as_tensor(value, np.dtype(np.float64)) for value in (input, exponent)]
    is_complex = any(value._array.dtype.kind == "c" for value in pair)
    target = np.dtype(np.complex128 if is_complex else np.float64)
    made = [
        recorded.cast(value, dtype=target) if value._array.dtype != target else value
        for value in pair
    ]
    if not isinstance(exponent, Tensor):
        return pow(made[0], exponent)
    if not isinstance(input, Tensor):
        return pow(input, made[1])
    return pow(*made)


def _kept_power(input: Tensor, exponent: Any) -> Tensor:
    found = float_power(input, exponent)
    if found.dtype is not input.dtype:
        base, wanted = (dtypes.legacy_name(each.dtype) for each in (input, found))
        raise RuntimeError(
            f"the base given to float_power_ has dtype {base} but the operation's result requires "
            f"dtype {wanted}. Write x = x.float_power(...)"
        )
    return found


attach_operator(pow, "__pow__", called="pow")
attach_operator(lambda self, other: pow(other, self), "__rpow__")
method(in_place(titled(_kept_power, "float_power", "See `float_power`.")))
attach_in_place(pow, "__ipow__", "**=", called="pow_")
show_operators()
