"""Logic on truth values and on bits, elementwise, without history."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.registry import declare, operator
from ...engine.tensor import Tensor, method
from ..core.pointwise import PAIRS, SINGLE, attach, only, with_doctest
from ..tensor.operators import (
    attach_in_place,
    attach_operator,
    attach_reflected,
    show_operators,
)

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "logical_and", "logical_not", "logical_or", "logical_xor",
]  # fmt: skip

BITS = ["3x4:int<8, 3x4:int<8", "3x1:int<8, 4:int<8", "0:int<8, 0:int<8"]
ONE = ["3x4:int<8", ":int<8"]


def _logical(name: str, function: Any, about: str, shown: str) -> Any:
    text = f"{about}, elementwise; 0 counts as false, all else (NaN too) as true."
    call = f"{name}(rg.tensor([True, True, False]), rg.tensor([True, False, False]))"
    doc = with_doctest(text, call, shown)
    made = declare(f"{name}(input, other)", function, elementwise=True, examples=PAIRS, doc=doc)
    attach(made, name)
    return made


logical_and = _logical(
    "logical_and", np.logical_and, "Whether both are true", "[ True, False, False]"
)
logical_or = _logical(
    "logical_or", np.logical_or, "Whether at least one is true", "[ True,  True, False]"
)
logical_xor = _logical(
    "logical_xor", np.logical_xor, "Whether exactly one is true", "[False,  True, False]"
)
logical_not = declare(
    "logical_not(input)",
    np.logical_not,
    elementwise=True,
    examples=SINGLE,
    doc=with_doctest(
        "Whether each element is 0 or false.",
        "logical_not(rg.tensor([0.0, 2.0]))",
        "[ True, False]",
    ),
)
attach(logical_not, "logical_not")


def _bitwise(name: str, function: Any, about: str, shown: str, symbol: str, sign: str) -> Any:
    """Declare an op on bits, with its operator, reflected and in place."""
    kinds = "iu" if "shift" in name else "iub"
    text = f"{about}, elementwise, of integers{' or bools' if 'b' in kinds else ''}."
    doc = with_doctest(text, f"{name}(rg.tensor([6, 5]), 3)", shown)
    call = declare(
        f"{name}(input, other)",
        only(name, kinds, function),
        elementwise=True,
        complex=False,
        number_first=True,
        examples=BITS,
        doc=doc,
    )

    attach(call, name)
    method(operator(call, f"__{symbol}__"), f"__{symbol}__")
    (attach_reflected if "shift" in name else attach_operator)(call, f"__r{symbol}__")
    attach_in_place(call, f"__i{symbol}__", f"{sign}=")
    return call


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, "Bits set in both", "[2, 1]", "and", "&")
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, "Bits set in either", "[7, 7]", "or", "|")
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, "Bits set in one", "[5, 6]", "xor", "^")
bitwise_left_shift = _bitwise(
    "bitwise_left_shift",
    np.left_shift,
    "Bits shifted up by `other` places",
    "[48, 40]",
    "lshift",
    "<<",
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift",
    np.right_shift,
    "Bits shifted down by `other` places",
    "[0, 0]",
    "rshift",
    ">>",
)
bitwise_not = declare(
    "bitwise_not(input)",
    only("bitwise_not", "iub", np.invert),
    elementwise=True,
    complex=False,
    examples=ONE,
    doc=with_doctest(
        "Each bit flipped, of integers or bools.",
        "bitwise_not(rg.tensor([True, False]))",
        "[False,  True]",
    ),
)
attach(bitwise_not, "bitwise_not")


def _invert(self: Tensor) -> Tensor:
    if self._array.dtype.kind not in "iub":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not on "
            f"{self.dtype}"
        )
    return bitwise_not(self)


method(_invert, "__invert__")
show_operators()
