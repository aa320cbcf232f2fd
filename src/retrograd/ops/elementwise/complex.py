"""Complex numbers: absolute value, angle, polar form, views as pairs of reals.

For a real loss L and a complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the
direction of steepest ascent: for a cotangent g, conj(g) ∂s/∂z* + g conj(∂s/∂z). The functions here
are where it is not just g * conj(s').
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare
from ...engine.tensor import Tensor, method
from ...errors import wrong_type
from ...kernels.allocation import check_together, empty
from ...kernels.layout import in_rows, laid_out
from ..core.arguments import public
from ..core.pointwise import floating, holds_complex, only, pointwise, unary, unsupported
from .complex_parts import imag, real
from .rounding import sign_array, sign_input

__all__ = [
    "abs", "absolute", "angle", "complex", "polar", "sgn", "view_as_complex", "view_as_real",
]  # fmt: skip


def _complex_arrays(real: Any, imag: Any) -> Any:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    out = empty(real, shape, dtypes.complex_of(real.dtype))
    out.real[...], out.imag[...] = real, imag
    return out


_complex = pointwise(
    "complex(real, imag)",
    lambda real, imag: laid_out(_complex_arrays(real, imag), real, imag),
    real=lambda xp, g: xp.real(g),
    imag=lambda xp, g: xp.imag(g),
    linear="real, imag",
    complex=False,
    examples=["3x4, 3x4", "3x1, 4", ", ", "0, 0"],
)


def _check_parts(name: str, **parts: Any) -> None:
    """Raise unless both parts are real floating tensors of one dtype."""
    for position, (word, value) in enumerate(parts.items(), 1):
        if not isinstance(value, Tensor):
            raise wrong_type(name, word, "Tensor", value, position)
    first, second = parts.values()
    names = [dtypes.legacy_name(t.dtype) for t in (first, second)]
    if not {first._array.dtype.kind, second._array.dtype.kind} <= {"f"}:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and "
            f"{names[1]}"
        )
    if names[0] != names[1]:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
            "argument"
        )
    check_together(first._array, second._array)


@public(out=True)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor with these parts: floating, of one dtype, broadcast.

    Raises RuntimeError for other dtypes.

    >>> rg.complex(rg.tensor([1.0]), rg.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real=real, imag=imag)
    return _complex(real, imag)


def each_part(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, Any]:
    """What a function gives for the real and for the imaginary parts of its complex arguments."""

    def of(part: Callable[..., Tensor]) -> Any:
        def take(value: Any) -> Any:
            return part(value) if isinstance(value, Tensor) and holds_complex(value) else value

        return function(*map(take, args), **{name: take(value) for name, value in named.items()})

    return of(real), of(imag)


def by_parts(function: Callable[..., Tensor], *args: Any) -> Tensor:
    """A complex tensor with `function` applied to the real and to the imaginary parts."""
    return complex(*each_part(function, args, {}))


# -- absolute value and angle ------------------------------------------------------------------


sgn = unary(
    "sgn",
    sign_array,
    "x / |x|, and 0 at 0: the sign of a real element, the direction of a complex one.",
    ("[3 + 4j, 0j]", "[0.6000+0.8000j, 0.0000+0.0000j]"),
    input=sign_input,
    domain=(0.5, 2.0),
)


def _abs_array(x: Any) -> Any:
    if x.dtype.kind == "b":
        raise unsupported("abs", x.dtype)
    return np.abs(x)


abs = absolute = unary(
    "abs",
    _abs_array,
    "|x|, real also for complex input, over the whole range of numbers; derivative 0 at 0.",
    ("[3 + 4j, -2 + 0j]", "[5., 2.]"),
    ["absolute"],
    input=lambda xp, g, input: g * xp.sgn(input),
    domain=(0.5, 2.0),
)


def _angle_array(x: Any) -> Any:
    if x.dtype.kind == "c":
        return in_rows(np.arctan2(x.imag, x.real))
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


def _angle_input(xp: Any, g: Any, input: Any) -> Any:
    """i z / |z|^2, in two divisions that do not overflow; 0 at 0."""
    if not holds_complex(input):
        return xp.zeros_like(input)
    radius = xp.abs(input)
    return xp.zero_where(g * (xp.sgn(input) * 1j / (radius + (radius == 0))), radius == 0)


angle = unary(
    "angle",
    floating(_angle_array),
    "The angle in radians from -pi to pi; derivative 0 for real input and at 0.",
    ("[1j, -1 + 0j]", "[1.5708, 3.1416]"),
    input=_angle_input,
    leads="input",
    inplace=False,
    domain=(0.5, 2.0),
)


_polar = pointwise(
    "polar(abs, angle)",
    only(
        "polar",
        "fc",
        lambda abs, angle: laid_out(
            _complex_arrays(abs * np.cos(angle), abs * np.sin(angle)), abs, angle
        ),
    ),
    abs=lambda xp, g, angle: xp.real(g) * xp.cos(angle) + xp.imag(g) * xp.sin(angle),
    angle=lambda xp, g, out: g * xp.conj(out * 1j),
    complex=False,
    examples=["3x4, 3x4", "3x1, 4", ", ", "0, 0"],
)


@public(out=True)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex tensor abs * exp(i angle), from floating tensors of one dtype, broadcast.

    Raises RuntimeError for other dtypes.

    >>> rg.polar(rg.tensor([2.0]), rg.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts("polar", abs=abs, angle=angle)
    return _polar(abs, angle)


# -- views as pairs of reals -------------------------------------------------------------------


_view_as_real = declare(
    "view_as_real(input)",
    lambda x: x[..., None].view(dtypes.real_of(x.dtype)),
    input=lambda xp, g: xp.join_parts(g),
    linear="input",
    view=True,
    batch="leading",
    examples=["3x4:complex", ":complex"],
)

_view_as_complex = declare(
    "view_as_complex(input)",
    lambda x: x.view(dtypes.complex_of(x.dtype))[..., 0],
    input=lambda xp, g: xp.view_as_real(g),
    contiguous="input",
    linear="input",
    view=True,
    complex=False,
    batch="leading",
    examples=["3x2", "2x3x2"],
)

declare(
    "join_parts(input)",
    lambda x: _complex_arrays(x[..., 0], x[..., 1]),
    input=lambda xp, g: xp.view_as_real(g),
    moves="input",
    complex=False,
    batch="leading",
    examples=["3x2", "2"],
    doc="""`view_as_complex` as a value, whatever the strides; for formulas.""",
)


def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real view of shape (..., 2), real and imaginary parts last.

    Raises RuntimeError for a real tensor.

    >>> rg.view_as_real(rg.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not holds_complex(input):
        raise RuntimeError(
            f"view_as_real is only supported for complex tensors, but this one is {input.dtype}"
        )
    return _view_as_real(input)


def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor of shape (..., 2) as a complex view of shape (...).

    Raises RuntimeError for integers, for another last size, and for strides that do not fit; the
    last is cured by `contiguous()`.

    >>> rg.view_as_complex(rg.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    array = input._array
    if array.dtype.kind != "f":
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {dtypes.legacy_name(array.dtype)}"
        )
    if array.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if array.shape[-1] != 2:
        raise RuntimeError(
            f"Tensor must have a last dimension of size 2, but its shape is {list(array.shape)}"
        )
    if array.size and array.strides[-1] != array.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1: call contiguous()")
    if any(stride % (2 * array.itemsize) for stride in array.strides[:-1]):
        raise RuntimeError(
            "Tensor must have a stride divisible by 2 for all but last dimension: call contiguous()"
        )
    return _view_as_complex(input)


method(abs, "__abs__")
