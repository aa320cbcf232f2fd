"""The plan of a kernel: the sweeps over a row's elements in which its program is computed.

NOTE [Sweeps]
1. A sweep is a loop over the inner axis. A value that varies along that axis is computed of each
   element, in every sweep that needs it: a row stays in the cache. One that does not is a number of
   the row, computed between sweeps.
2. Reductions along a row that do not depend on each other are done in one sweep, so there are as
   few sweeps as reductions depend on each other; one more writes what is as long as a row.
3. A value that is dear, and needed both by a reduction and by what is written, is written in place
   of an output as soon as one sweep has it, and read by the others.
4. Sums across the rows have a sweep of their own before the last, which may write over what waits.
5. A program without reductions has one sweep, which writes.
6. What is computed of sums across rows is NumPy's: there are few such numbers. So it is with the
   sums of everything, of which a kernel gives the parts that rows have, in float64, and with
   constants that come out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .program import INNER, OUTER, REDUCTIONS, Call, Refused, live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .program import Program

__all__ = ["EASY", "LIGHT", "Plan", "Sweep", "of_columns", "plan", "within_rows"]

LIGHT = {
    *("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square"),
    *("reciprocal", "maximum", "minimum", "conjugate", "rint", "floor", "ceil", "trunc", "equal"),
    *("not_equal", "less", "less_equal", "greater", "greater_equal", "logical_not", "logical_and"),
    *("logical_or", "isnan", "isfinite", "isinf", "sign", "copysign"),
}
EASY = LIGHT | {"constant", "cast", "select", "real", "imag", "complex", "broadcast", "input"}


class Sweep(NamedTuple):
    """One loop over a row; `numbers` of the row are computed before it.

    Of each element, it computes `values`, in order; it joins them in `reductions`, and writes each
    value of `stored` to the output beside it. Where it is `easy`, nothing dear is computed.
    """

    values: list[int]
    reductions: list[int]
    stored: list[tuple[int, int]]
    easy: bool
    numbers: Sequence[int] = ()


class Plan(NamedTuple):
    """A kernel's sweeps in their order, of which the last writes; `numbers` are computed before it.

    `across` is the sweep of sums across rows, which comes before the last, if there are any.
    """

    sweeps: list[Sweep]
    numbers: list[int]
    across: Sweep
    last: Sweep


def needed(program: Program, values: Iterable[int], known: Iterable[int] = ()) -> list[int]:
    """What is computed of each element for these values, in order; what is `known` is read."""
    found: set[int] = set()
    left = [*values]
    while left:
        value = left.pop()
        call = program.calls[value]
        if call.axes & INNER and value not in found:
            found.add(value)
            left += () if value in known else call.operands
    return sorted(found)


def depths(program: Program) -> list[int]:
    """For each value, how many reductions along rows, one after the other, it needs."""
    found: list[int] = []
    for call in program.calls:
        below = max([found[i] for i in call.operands], default=0)
        found.append(below + (call.function in REDUCTIONS and not call.across))
    return found


def parked(program: Program, reduced: Iterable[int], written: Sequence[tuple[int, int]]
           ) -> dict[int, int]:  # fmt: skip
    """The outputs in whose place values wait: NOTE [Sweeps], 3."""
    early = needed(program, reduced)
    found: dict[int, int] = {}
    for value in reversed(range(len(program.calls))):
        late = {*needed(program, [v for v, _ in written])}.difference(found)
        call = program.calls[value]
        if call.function not in EASY and value in late.intersection(early):
            free = [i for v, i in written if program.calls[v].dtype == call.dtype]
            free = [i for i in free if i not in found.values()]
            if free:
                found[value] = free[0]
    return found


def plan(program: Program) -> Plan:
    """The sweeps of a program: NOTE [Sweeps]."""
    calls, depth = program.calls, depths(program)
    along = [i for i, c in enumerate(calls) if c.function in REDUCTIONS and not c.across]
    numbers = [i for i, c in enumerate(calls) if not c.axes & INNER and i not in along]
    sums = [i for i in program.outputs if calls[i].across]
    written = [
        (v, i) for i, v in enumerate(program.outputs) if calls[v].axes & INNER and v not in sums
    ]
    places = parked(program, operands(program, along), written)
    waiting: set[int] = set()

    def sweep(reductions: Sequence[int], stored: Sequence[tuple[int, int]] = ()) -> Sweep:
        values = [*operands(program, reductions), *[v for v, _ in stored]]
        reach = needed(program, values)
        easy = all(calls[i].function in EASY for i in reach)
        return Sweep(needed(program, values, waiting), [*reductions], [*stored], easy)

    sweeps = []
    for level in range(1, max(depth, default=0) + 1):
        own = sweep([i for i in along if depth[i] == level])
        early = [(v, i) for v, i in places.items() if v in own.values and v not in waiting]
        ready = [i for i in numbers if depth[i] == level - 1]
        sweeps.append(own._replace(numbers=ready, stored=early))
        waiting.update(v for v, _ in early)
    ready = [i for i in numbers if depth[i] == len(sweeps)]
    return Plan(sweeps, ready, sweep(sums), sweep((), written))


def operands(program: Program, values: Iterable[int]) -> list[int]:
    """The operands of the calls that give these values."""
    return [i for value in values for i in program.calls[value].operands]


def in_columns(program: Program) -> list[int]:
    """The values that are sums across rows or of everything, or are made of them."""
    found: set[int] = set()
    for value, call in enumerate(program.calls):
        if call.across or call.total or not found.isdisjoint(call.operands):
            found.add(value)
    return sorted(found)


def totals_and_sums(program: Program) -> tuple[list[int], list[int]]:
    """The values that are sums of everything, and those that are sums across rows."""
    every = [*enumerate(program.calls)]
    return [i for i, call in every if call.total], [i for i, call in every if call.across]


def within_rows(program: Program) -> Program:
    """What a kernel computes: numbers for elements and rows, parts of totals, sums across rows."""
    calls, found, (totals, sums) = [*program.calls], in_columns(program), totals_and_sums(program)
    for value in found:
        call = calls[value]
        taken = {calls[i].function for i in call.operands if i not in found}
        if value in sums or value in totals:
            if not taken:
                raise Refused("sums across rows of such sums")
        elif taken - {"constant"}:
            raise Refused("what is summed across rows, beside them")
        elif call.function not in ("cast", "select") and not hasattr(np, call.function):
            raise Refused(f"{call.function} of sums across rows")
    outputs = [i for i in program.outputs if i not in found and calls[i].function != "constant"]
    if not all(calls[i].axes for i in outputs):
        raise Refused("a number beside the rows")
    for value in totals:
        outputs.append(len(calls))
        name = "sum" if calls[value].dtype == "d" else "wide sum"
        calls.append(Call(name, calls[value].operands, "d", axes=OUTER))
    outputs += sums
    targets = (-1,) * len(outputs)
    return live(program._replace(calls=tuple(calls), outputs=tuple(outputs), targets=targets))


def of_columns(program: Program) -> Callable[[Sequence[Any]], dict[int, Any]]:
    """What computes, of totals and then sums across rows, all made of them; constants, too."""
    calls, found, (totals, sums) = program.calls, in_columns(program), totals_and_sums(program)
    given = [*totals, *sums]
    constants = {
        i: np.dtype(call.dtype).type(float(call.static))
        for i, call in enumerate(calls) if call.function == "constant"
    }  # fmt: skip
    steps = []
    for value in found:
        call = calls[value]
        name = "where" if call.function == "select" else call.function
        if name == "cast":
            steps.append((value, partial(np.ndarray.astype, dtype=call.dtype), call.operands))
        elif value not in given:
            steps.append((value, getattr(np, name), call.operands))

    def computed(sums: Sequence[Any]) -> dict[int, Any]:
        known = constants | dict(zip(given, sums, strict=True))
        for value, function, taken in steps:
            known[value] = np.asarray(function(*[known[i] for i in taken]))
        return known

    return computed
