"""Numbers that an exported graph reads as it runs: NOTE [Exported graphs] in `tracing`, 3."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from ..fx.node import has_side_effect
from ..types import SymFloat, SymInt, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..fx.node import Node

__all__ = ["FUNCTIONS", "Dynamic", "check", "number"]

BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("and_", "or_", "xor", "lshift", "rshift"),
)
UNARY = ("neg", "pos", "abs", "ceil", "floor", "trunc")
SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FUNCTIONS: dict[str, Any] = {  # of which graphs compute with sizes
    name: getattr(operator, name, None) or getattr(math, name)
    for name in (*BINARY, *UNARY, *SIGNS, "not_")
}


@has_side_effect
def check(found: Any, text: str) -> None:
    """Raise AssertionError unless what a program has found of sizes holds again."""
    if not found:
        raise AssertionError(f"Guard failed: {text}")


class Dynamic:
    """Base of both kinds of numbers: `made()` is the node, in the graph of `tracer`."""

    tracer: Any  # an ExportTracer
    made: Callable[[], Node]

    def __bool__(self) -> bool:
        return bool(self != 0)  # type: ignore[comparison-overlap]

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


class DynamicSize(Dynamic, int, SymInt):
    """A size, or what is computed of sizes."""

    __hash__ = int.__hash__


class DynamicNumber(Dynamic, float, SymFloat):
    """A real number that is computed of sizes."""

    __hash__ = float.__hash__


def number(value: Any, tracer: Any, made: Callable[[], Node]) -> Dynamic:
    """A number by its value while the graph is written down, and what gives its node."""
    found: Any = (DynamicSize if isinstance(value, int) else DynamicNumber)(value)
    found.tracer, found.made = tracer, made
    return found  # type: ignore[no-any-return]


def arithmetic(function: Any, swapped: bool = False) -> Any:
    """A method for an operator: a node, and a number of what it gives."""

    def compute(self: Dynamic, *others: Any) -> Any:
        given = (self, *others)[::-1] if swapped else (self, *others)
        if not all(isinstance(each, (int, float)) for each in given):
            return NotImplemented
        return self.tracer.sized(function, given, function(*map(plain, given)))

    return compute


def comparison(name: str) -> Any:
    """A method for a comparison, whose answer the graph checks."""

    def compare(self: Dynamic, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        found = FUNCTIONS[name](plain(self), plain(other))
        self.tracer.compared(FUNCTIONS[name], SIGNS[name], (self, other), found)
        return found

    return compare


for _name in BINARY:
    setattr(Dynamic, f"__{_name.rstrip('_')}__", arithmetic(FUNCTIONS[_name]))
    setattr(Dynamic, f"__r{_name.rstrip('_')}__", arithmetic(FUNCTIONS[_name], True))
for _name in UNARY:
    setattr(Dynamic, f"__{_name}__", arithmetic(FUNCTIONS[_name]))
for _name in SIGNS:
    setattr(Dynamic, f"__{_name}__", comparison(_name))
