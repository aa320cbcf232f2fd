"""Numbers by their digits: mantissa and exponent, neighbours, common divisors and multiples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, version
from ...engine.namespaces import recorded
from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ..core import return_types
from ..core.arguments import public
from ..core.pointwise import binary, only, pointwise, unsupported, zero_derivative
from .arithmetic import mul
from .complex_parts import real
from .power import pow

__all__ = ["frexp", "gcd", "lcm", "ldexp", "nextafter"]

BEYOND = 2000.0  # 2**BEYOND overflows every dtype

gcd, lcm = [
    binary(
        name,
        only(name, "iu", ufunc, "It is of integers."),
        f"The {about}.",
        ("[12, -9]", "[8, 6]", shown),
        complex=False,
        examples=["3x4:int<9, 3x4:int<9", "3x1:int<9, 4:int<9"],
    )
    for name, ufunc, about, shown in (
        ("gcd", np.gcd, "greatest common divisor, not negative; of 0 and 0 it is 0", "[4, 3]"),
        ("lcm", np.lcm, "least common multiple, not negative; 0 where one is 0", "[24, 18]"),
    )
]


def _nextafter(input: Any, other: Any) -> Any:
    if input.dtype.kind not in "fV":
        raise unsupported("nextafter", input.dtype)
    return np.nextafter(input, other)  # of half floats, too: float32 has others in between


nextafter = binary(
    "nextafter",
    _nextafter,
    "The number next to `input` towards `other`: derivative 1 in `input`, 0 where they are equal.",
    ("[1.0, 1.0]", "[1.0, 1.0]", "[1., 1.]"),
    input=lambda xp, g, input, other: xp.zero_where(g, input == other),
    leads="input",
    other=zero_derivative,
    contiguous="other",
    complex=False,
    domain=(0.5, 2.0),
)

_frexp = declare(
    "frexp(input) -> mantissa, exponent",
    np.frexp,
    input=lambda xp, g, exponent: xp.times_power_of_two(g, -exponent),
    nondiff=["exponent"],
    complex=False,
    batch="elementwise",
    examples=["3x4", ""],
    domain=(1.1, 1.9),
)

pointwise(
    "times_power_of_two(input, exponent)",
    np.ldexp,
    input=lambda xp, g, exponent: xp.times_power_of_two(g, exponent),
    linear="input",
    complex=False,
    examples=["3x4, 3x4:int<5", "3x1, 4:int<5"],
    doc="""input * 2**exponent for real `input` and int32 `exponent`, exactly.""",
)


@public(out=True, methods="frexp")
def frexp(input: Tensor) -> Any:
    """(mantissa, exponent) with input = mantissa * 2**exponent and 0.5 <= |mantissa| < 1.

    `input` is real and floating; the exponent is int32, 0 for 0, inf and NaN. The gradient of the
    mantissa is scaled by 2**-exponent. Raises RuntimeError for other dtypes.

    >>> rg.frexp(rg.tensor([3.0, 0.5]))
    retrograd.return_types.frexp(
    mantissa=tensor([0.7500, 0.5000]),
    exponent=tensor([2, 0], dtype=retrograd.int32))
    """
    if input._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"{version.called}.frexp() only supports floating-point dtypes, but this one is "
            f"{input.dtype}"
        )
    return return_types.frexp(*_frexp(input))


@public(out=True, methods="ldexp ldexp_")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other, elementwise, with broadcasting; both may be real or complex.

    2**other is applied in two halves, so it may overflow where the result does not. Integers count
    as the default floating dtype. Raises TypeError where `other` is no tensor.

    >>> rg.ldexp(rg.tensor([1.0, 3.0]), rg.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
    if not isinstance(other, Tensor):
        raise wrong_type("ldexp", "other", "Tensor", other, 2)
    target = dtypes.common(input._array, other._array)
    if target.kind in "iub":
        target = dtypes.default_numpy()
    x, exponent = recorded.cast(input, dtype=target), recorded.cast(other, dtype=target)
    half = recorded.trunc(real(exponent) * 0.5).clamp(-BEYOND, BEYOND)  # inf - inf is no exponent
    return name_node(mul(mul(x, pow(2.0, half)), pow(2.0, exponent - half)), "LdexpBackward0")
