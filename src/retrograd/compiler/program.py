"""Programs: what a function computes of arrays, as a list of calls; and passes over them.

A program is in static single assignment form: each call makes one value, whose number is the
call's place in the list, and takes values before it. Passes are functions from a program to an
equal one.

NOTE [Axes]
1. A program knows no sizes. The axes of its largest array fall into two classes: the inner ones
   make a row, the outer ones say which row. A value varies along both, along those of one class,
   as a mean of each row does, or along none. `Call.axes` has a bit for each class.
2. A function of NumPy's broadcasts its operands: its value varies along whatever one of them does.
   It computes an element of the result from the same element of each. A program of nothing else is
   elementwise.
3. A reduction, one of `REDUCTIONS`, takes its operand as broadcast to all axes, and joins the
   elements along one class: what is left are the axes of the other. A `total` joins all elements.
4. What is no function of NumPy's: an "input", whose `static` says what it is for whoever recorded
   the program; a "constant", whose `static` is what Python writes for the number; a "cast", a
   "select", which is `np.where`, a "complex" of two parts, and a "broadcast" to all axes.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ALL", "INNER", "OUTER", "REDUCTIONS", "Call", "Program", "Refused", "along", "anonymous",
    "broadcast", "folded", "live", "merged", "simplified",
]  # fmt: skip

OUTER, INNER = 1, 2
ALL = OUTER | INNER
# Sums are held in more than their own dtype, plain ones in that, wide ones in float64.
REDUCTIONS = {"sum", "plain sum", "wide sum", "max", "min"}


class Refused(TypeError):  # noqa: N818 (it is no fault)
    """A function does what no program says."""


class Call(NamedTuple):
    """One call: a function's name, the values it takes, and the value that it makes.

    `dtype` is NumPy's character, `axes` are those along which the value varies: NOTE [Axes].
    """

    function: str
    operands: tuple[int, ...]
    dtype: str
    static: Any = None
    axes: int = ALL

    def moved(self, place: Sequence[int]) -> Call:
        """The same call, where value `i` is at `place[i]`."""
        return self._replace(operands=tuple([place[i] for i in self.operands]))

    @property
    def name(self) -> str:
        """The function's name, which says so of a reduction across rows, or of everything."""
        return self.function + " across" * self.across + " of all" * self.total

    @property
    def across(self) -> bool:
        """Whether it is a reduction over the outer axes."""
        return self.function in REDUCTIONS and self.axes == INNER

    @property
    def total(self) -> bool:
        """Whether it is a reduction over all axes."""
        return self.function in REDUCTIONS and not self.axes


class Program(NamedTuple):
    """Calls, which of their values come out, and where these are written to.

    For each output, `targets` names the input in whose memory it goes, -1 for new memory.
    """

    calls: tuple[Call, ...]
    outputs: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def inputs(self) -> list[int]:
        """The values that are inputs."""
        return [i for i, call in enumerate(self.calls) if call.function == "input"]

    @property
    def length(self) -> int:
        """How many calls there are; inputs are none."""
        return len(self.calls) - len(self.inputs)

    def dtype(self, value: int) -> np.dtype[Any]:
        """The dtype of a value."""
        return np.dtype(self.calls[value].dtype)

    def __str__(self) -> str:
        lines = []
        for i, call in enumerate(self.calls):
            inside = ", ".join(f"%{operand}" for operand in call.operands)
            if call.function == "input":
                text = "input" if call.axes & INNER else "input per row"
            else:
                text = f"{call.name}({call.static if call.function == 'constant' else inside})"
            lines.append(f"%{i}: {np.dtype(call.dtype)} = {text}")
        for value, target in zip(self.outputs, self.targets, strict=True):
            lines.append(f"return %{value}" + ("" if target < 0 else f" in place of %{target}"))
        return "\n".join(lines)

    def rebuilt(self, calls: Iterable[Call], place: Sequence[int]) -> Program:
        """A program of other calls, where value `i` of this one is at `place[i]`."""
        outputs, targets = ([place[i] if i >= 0 else i for i in part] for part in self[1:])
        return Program(tuple(calls), tuple(outputs), tuple(targets))


def merged(program: Program) -> Program:
    """Common subexpressions: of equal calls on equal values, the first is kept."""
    place: list[int] = []
    known: dict[Call, int] = {}
    for call in program.calls:
        place.append(known.setdefault(call.moved(place), len(known)))
    return program.rebuilt(known, place)


def folded(program: Program) -> Program:
    """The program without calls that only give back their operand, or a part it was made of."""
    place: list[int] = []
    for number, call in enumerate(program.calls):
        place.append(number)
        if not call.operands:
            continue
        inner = place[call.operands[0]]
        source = program.calls[inner]
        real = call.function == "conjugate" and call.dtype in "fd?"
        same = source.dtype == call.dtype and (call.function == "cast" or real)
        if call.function == "positive" or same:
            place[number] = inner
        elif source.function == "complex" and call.function in ("real", "imag"):
            place[number] = place[source.operands[call.function == "imag"]]
    return program.rebuilt([call.moved(place) for call in program.calls], place)


def live(program: Program) -> Program:
    """The program without calls that no output needs, inputs among them."""
    needed = {*program.outputs, *program.targets}
    for number in reversed(range(len(program.calls))):
        if number in needed:
            needed.update(program.calls[number].operands)
    place, calls = [], list[Call]()
    for number, call in enumerate(program.calls):
        place.append(len(calls))
        if number in needed:
            calls.append(call.moved(place))
    return program.rebuilt(calls, place)


def simplified(program: Program) -> Program:
    """All passes, in the order in which each leaves least to the next."""
    return live(merged(folded(program)))


def anonymous(program: Program) -> Program:
    """The program, whose inputs are any: two that compute the same are equal then."""
    calls = [c._replace(static=None) if c.function == "input" else c for c in program.calls]
    return program._replace(calls=tuple(calls))


def along(program: Program, axes: Sequence[int]) -> Program:
    """The program, where inputs vary along these axes, and all else along what follows of them."""
    calls, given = list[Call](), iter(axes)
    for call in program.calls:
        if call.function == "input":
            own = next(given)
        elif call.function in REDUCTIONS or call.function == "broadcast":
            own = call.axes
        else:
            own = reduce(or_, [calls[i].axes for i in call.operands], 0)
        calls.append(call._replace(axes=own))
    return program._replace(calls=tuple(calls))


def broadcast(program: Program, outputs: Iterable[int]) -> Program:
    """The program, where these of its outputs are broadcast to all axes."""
    calls, made = [*program.calls], [*program.outputs]
    for i in outputs:
        call = calls[made[i]]
        if not call.axes & INNER:
            calls.append(Call("broadcast", (made[i],), call.dtype))
            made[i] = len(calls) - 1
    return program._replace(calls=tuple(calls), outputs=tuple(made))
