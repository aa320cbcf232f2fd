"""Programs: what a function computes of each element, as a list of calls; and passes over them.

A program is in static single assignment form. Its values are numbered: first the inputs, then the
result of each call. It knows no shapes: an element of the result depends on the same element of
the inputs, broadcast together, alone. Passes are functions from a program to an equal one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CASTS", "Call", "Program", "folded", "live", "merged", "simplified"]

CASTS = {"cast", "constant"}  # what is no function of NumPy's


class Call(NamedTuple):
    """One call: a function's name, the values it takes, and the dtype, as NumPy's character.

    A "constant" takes nothing; its `text` is what Python writes for the number.
    """

    function: str
    operands: tuple[int, ...]
    dtype: str
    text: str = ""


class Program(NamedTuple):
    """Calls on values of the dtypes `inputs`, what comes out, and where that is written to.

    For each output, `targets` names the input in whose memory it goes, -1 for new memory.
    """

    inputs: str
    calls: tuple[Call, ...]
    outputs: tuple[int, ...]
    targets: tuple[int, ...]

    def dtype(self, value: int) -> np.dtype[Any]:
        """The dtype of a value."""
        count = len(self.inputs)
        return np.dtype(self.inputs[value] if value < count else self.calls[value - count].dtype)

    def __str__(self) -> str:
        count = len(self.inputs)
        lines = [f"%{i}: {np.dtype(char)} = input" for i, char in enumerate(self.inputs)]
        for i, call in enumerate(self.calls, count):
            inside = call.text or ", ".join(f"%{operand}" for operand in call.operands)
            lines.append(f"%{i}: {np.dtype(call.dtype)} = {call.function}({inside})")
        for value, target in zip(self.outputs, self.targets, strict=True):
            lines.append(f"return %{value}" + ("" if target < 0 else f" in place of %{target}"))
        return "\n".join(lines)

    def rebuilt(self, calls: list[Call], place: list[int]) -> Program:
        """A program of other calls, where value `i` of this one is at `place[i]`."""
        return self._replace(calls=tuple(calls), outputs=tuple([place[i] for i in self.outputs]))


def merged(program: Program) -> Program:
    """Common subexpressions: of equal calls on equal values, the first is kept."""
    count = len(program.inputs)
    place, calls = list(range(count)), list[Call]()
    known: dict[Call, int] = {}
    for call in program.calls:
        moved = call._replace(operands=tuple([place[i] for i in call.operands]))
        if moved not in known:
            known[moved] = count + len(calls)
            calls.append(moved)
        place.append(known[moved])
    return program.rebuilt(calls, place)


def folded(program: Program) -> Program:
    """Without calls that give their operand, or a part that it was made of."""
    count = len(program.inputs)
    place: list[int] = list(range(count))
    for number, call in enumerate(program.calls, count):
        place.append(number)
        if not call.operands:
            continue
        inner = place[call.operands[0]]
        alike = program.dtype(inner).char == call.dtype
        source = program.calls[inner - count] if inner >= count else None
        if call.function == "positive" or (
            alike
            and (call.function == "cast" or (call.function == "conjugate" and call.dtype in "fd?"))
        ):
            place[number] = inner
        elif (
            source is not None
            and source.function == "complex"
            and call.function in ("real", "imag")
        ):
            place[number] = place[source.operands[call.function == "imag"]]
    calls = [
        call._replace(operands=tuple([place[i] for i in call.operands])) for call in program.calls
    ]
    return program.rebuilt(calls, place)


def live(program: Program) -> Program:
    """Without dead code: calls that no output needs."""
    count = len(program.inputs)
    needed = set(program.outputs)
    for number in reversed(range(len(program.calls))):
        if number + count in needed:
            needed.update(program.calls[number].operands)
    place, calls = list(range(count)), list[Call]()
    for number, call in enumerate(program.calls, count):
        place.append(count + len(calls))
        if number in needed:
            calls.append(call._replace(operands=tuple([place[i] for i in call.operands])))
    return program.rebuilt(calls, place)


def simplified(program: Program) -> Program:
    """All passes, in the order in which each leaves least to the next."""
    return live(merged(folded(program)))
