"""What the code of rows is planned from: which values a row has, in which pass, and where.

NOTE [Rows] in `row_emission` says what it is for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .emission import STRUCTURE
from .kernels import EASY
from .mathematics import DTYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .program import Program

__all__ = [
    "ACROSS",
    "LANES",
    "PLAIN",
    "REDUCTIONS",
    "Places",
    "Variant",
    "along_rows",
    "depths",
    "known_rows",
    "needed",
    "parked",
    "parts_of",
]

LANES = {4: 16, 8: 8}
ACROSS = "sum across"
PLAIN = "plain sum"  # in the dtype that is asked for
REDUCTIONS = {"sum": 0.0, PLAIN: 0.0, "max": -math.inf, "min": math.inf}
WITHOUT_VECTORS = {"sin", "cos", "tan"}  # which look numbers up


class Variant(NamedTuple):
    """What code depends on beside the program: how many dimensions, and how inputs go along them.

    `kept` and `outer` count the dimensions of rows, and those of runs; `steps` says for each input
    whether it goes on along a run.
    """

    kept: int
    outer: int
    steps: tuple[bool, ...]


class Places(NamedTuple):
    """Where numbers are in a kernel's table, of 8 bytes each."""

    operands: int
    variant: Variant

    def base(self, i: int) -> int:
        """Of an operand's memory; inputs come first, then outputs."""
        return i

    def size(self, d: int) -> int:
        """Of a dimension: those of rows, then those of runs, then the elements of a run."""
        return self.operands + d

    @property
    def grain(self) -> int:
        """Of the rows of a piece; the bytes of its sums across rows are next."""
        return self.operands + self.variant.kept + self.variant.outer + 1

    def stride(self, i: int, d: int) -> int:
        """Of the bytes by which an operand goes on along a dimension."""
        return self.grain + 2 + i * (self.variant.kept + self.variant.outer) + d

    @property
    def total(self) -> int:
        """Of all numbers."""
        return self.stride(self.operands, 0)


def along_rows(program: Program, rows: Sequence[bool]) -> list[bool]:
    """For each value, whether it is one number per row; `rows` says so of the inputs."""
    kinds = list(rows)
    for call in program.calls:
        row = call.function != ACROSS and all(kinds[i] for i in call.operands)
        kinds.append(row or call.function in REDUCTIONS)
    return kinds


def depths(program: Program) -> list[int]:
    """For each value, how many reductions one after the other it needs."""
    found = [0] * len(program.inputs)
    for call in program.calls:
        below = max([found[i] for i in call.operands], default=0)
        found.append(below + (call.function in REDUCTIONS))
    return found


def known_rows(program: Program) -> bool:
    """Whether there is code for each of a program's calls."""
    return {*program.inputs} <= {*"fd"} and all(
        call.function in REDUCTIONS
        or call.function == ACROSS
        or call.function in STRUCTURE
        or (
            call.function not in WITHOUT_VECTORS
            and all(program.dtype(i).char in DTYPES.get(call.function, "") for i in call.operands)
        )
        for call in program.calls
    )


def parts_of(program: Program, value: int) -> int:
    """How many numbers of float64 hold an element of a sum across rows; 0 for any other value."""
    number = value - len(program.inputs)
    if number < 0 or program.calls[number].function != ACROSS:
        return 0
    return 1 + (program.calls[number].dtype == "d")


def needed(program: Program, values: Sequence[int], known: Sequence[bool]) -> set[int]:
    """What must be computed of each element for these values; `known` are numbers of the row."""
    found: set[int] = set()
    waiting = [*values]
    while waiting:
        value = waiting.pop()
        if value >= len(program.inputs) and not known[value] and value not in found:
            found.add(value)
            waiting += program.calls[value - len(program.inputs)].operands
    return found


def parked(program: Program, rows: Sequence[bool]) -> dict[int, int]:
    """Values that wait in the memory of a result, whose number is given, for the last pass.

    They are dear, of the result's dtype, and needed both by a reduction and by the last pass.
    """
    count, kinds = len(program.inputs), along_rows(program, rows)
    calls = list(enumerate(program.calls, count))
    reduced = [i for _, call in calls if call.function in REDUCTIONS for i in call.operands]
    early = needed(program, reduced, kinds)
    places = [i for i, v in enumerate(program.outputs) if not kinds[v] and not parts_of(program, v)]
    found: dict[int, int] = {}
    for number, call in reversed(calls):
        last = needed(program, [program.outputs[i] for i in places], kinds).difference(found)
        dear = call.function not in EASY and number in early & last
        free = [i for i in places if i not in found.values()]
        alike = [i for i in free if program.dtype(program.outputs[i]).char == call.dtype]
        if dear and alike:
            found[number] = alike[0]
    return found
