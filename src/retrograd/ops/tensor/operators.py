"""Python's operators over functions that are no op of two inputs themselves.

An operator gives NotImplemented for an operand that it does not know, so that Python asks the
operand next; a function raises. A binary op's own operator is `engine.registry.operator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.dispatch import NUMBERS, operand
from ...engine.inplace import write
from ...engine.overriding import operators, shown_as
from ...engine.tensor import Tensor, method, new_tensor
from ..lazy_loading import attached

OPERANDS = (Tensor, *NUMBERS)  # an array's operator, which Python asks next, makes a tensor of it


def attach_operator(function: Callable[..., Any], *names: str, called: str = "") -> None:
    """`self OP other`, which is function(self, other); overrides may know it as `called`."""

    def call(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    _attach(call, *names, called=called)


def attach_reflected(function: Callable[..., Any], name: str) -> None:
    """`other OP self`, which is function(other, self) with `other` as a tensor."""

    def call(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return function(operand(other, self._array.dtype), self)

    _attach(call, name)


def attach_in_place(function: Callable[..., Any], name: str, sign: str, called: str = "") -> None:
    """`self OP= other`, which writes function(self, other) into self; `sign` is `OP=`."""

    def call(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (*OPERANDS, np.ndarray)):
            return NotImplemented
        if isinstance(other, np.ndarray):  # whose own operator would not write `self`
            other = new_tensor(other)
        return write(self, sign, function, (other,), {})

    _attach(call, name, called=called)


BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("matmul", "and", "or", "xor", "lshift", "rshift"),
)
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
SHOWN = {  # what overrides of operators are told, where it is not the operator
    "__add__": "add",
    "__iadd__": "add_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__imul__": "mul_",
    "__isub__": "sub_",
    "__itruediv__": "div_",
    "__matmul__": "matmul",
    "__mod__": "remainder",
    "__mul__": "mul",
    "__radd__": "add",
    "__rand__": "bitwise_and",
    "__rmul__": "mul",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__sub__": "sub",
    "__truediv__": "div",
    **{f"__{name}__": name for name in COMPARISONS if name != "eq"},
}


def show_operators() -> None:
    """Enter the operators that are attached by now, with the methods that PyTorch tells instead.

    A family that attaches some calls this when it has attached all of them.
    """
    owned = {name: value for name, value in attached().items() if callable(value)}
    known = [f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")]
    for name in (*known, *[f"__{name}__" for name in COMPARISONS]):
        if name in owned:  # `x @= y` makes another tensor
            operators.add(owned[name])
    for name, shown in SHOWN.items():
        if name in owned:
            shown_as[owned[name]] = owned[shown]


def _attach(call: Callable[..., Any], *names: str, called: str = "") -> None:
    call.__name__ = call.__qualname__ = called or names[0]
    method(call, *names)
