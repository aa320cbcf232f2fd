"""Which of an operator's overloads takes a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...engine.tensor import Tensor
from .aten import Operator

__all__ = ["chosen"]

ARITHMETIC = {"add", "sub", "mul", "div", "floor_divide", "split"}  # of tensors, with numbers, too
PLACES = {"masked_fill": (2,), "lerp": (2,), "clamp": (1, 2)}  # of what decides, if not the second


def is_tensor(args: Any, *places: int) -> bool:
    """Whether there is a tensor at one of some places."""
    return any(len(args) > place and isinstance(args[place], Tensor) for place in places)


def is_number(args: Any, place: int) -> bool:
    """Whether there is a number at a place."""
    return len(args) > place and isinstance(args[place], (int, float, complex))


# By overload, in the order in which they are tried: whether it takes the arguments (by name of the
# operator, arguments, keywords).
FITS: dict[str, Callable[[str, Any, Any], bool]] = {
    "Tensor_mode": lambda name, args, named: "rounding_mode" in named,
    "stable": lambda name, args, named: "stable" in named,
    "dtype": lambda name, args, named: len(args) > 1 and isinstance(args[1], dtypes.dtype),
    "correction": lambda name, args, named: True,
    "decimals": lambda name, args, named: "decimals" in named or len(args) > 1,
    "Tensor_Tensor": lambda name, args, named: is_tensor(args, 0) and is_tensor(args, 1),
    "Tensor_Scalar": lambda name, args, named: is_tensor(args, 0) and is_number(args, 1),
    "Scalar_Tensor": lambda name, args, named: is_number(args, 0) and is_tensor(args, 1),
    "Scalar_Self": lambda name, args, named: is_number(args, 0),
    "int_Scalar": lambda name, args, named: is_number(args, 3),
    "int_Tensor": lambda name, args, named: is_tensor(args, 3),
    "Tensor": lambda name, args, named: (
        (name != "copy_" and is_tensor(args, *PLACES.get(name.rstrip("_"), (1,))))
        or (is_number(args, 1) and name.rstrip("_") in ARITHMETIC)
    ),
    "Scalar": lambda name, args, named: (
        is_number(args, 0) or is_number(args, PLACES.get(name.rstrip("_"), (1,))[0])
    ),
    **dict.fromkeys(
        ["Scalar_Other", "bin_ct", "self_int"], lambda name, args, named: is_number(args, 1)
    ),
    "m": lambda name, args, named: len(args) > 1,
    "float_float": lambda name, args, named: is_number(args, 0) and is_number(args, 1),
    "float_Tensor": lambda name, args, named: is_number(args, 0),
    "other": lambda name, args, named: is_tensor(args, 1),
    "dim_IntList": lambda name, args, named: len(args) > 1 or "dim" in named,
    "dims": lambda name, args, named: len(args) > 1 and isinstance(args[1], list),
    "dim": lambda name, args, named: len(args) > 1 or "dim" in named,
    "dim_int": lambda name, args, named: len(args) > 1 or "dim" in named,
    **dict.fromkeys(["from", "low", "start_step"], lambda name, args, named: len(args) > 2),
    "to": lambda name, args, named: len(args) > 1,
    "start": lambda name, args, named: len(args) > 1,
    "src": lambda name, args, named: is_tensor(args, 3),
    "value": lambda name, args, named: is_number(args, 3),
    "self": lambda name, args, named: True,
}


def chosen(operator: Operator, args: Any, named: Any) -> str:
    """The overload of an operator that takes these arguments."""
    name, options = operator.__name__, operator.overloads()
    for option, fits in FITS.items():
        if len(options) > 1 and option in options and fits(name, args, named):
            return option
    return "default" if "default" in options else options[0]
