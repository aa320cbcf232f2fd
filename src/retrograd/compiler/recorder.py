"""The recorder: the program of a function, by running it once on abstract arrays.

It runs a forward, a formula or an update rule over NumPy's protocols: NOTE [The seam] in
`kernels.allocation`. Whatever no program says raises an error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .abstract import SHAPE, Abstract, Trace
from .program import ALL, INNER, OUTER, Program, Refused, along, broadcast, simplified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]

__all__ = ["FLOAT", "PASSING", "Operand", "Recording", "flat", "positional", "record"]

PASSING = (MemoryError, RecursionError)  # that say nothing of the function that is recorded


class Operand(NamedTuple):
    """What is known of an array: its dtype, as NumPy's character, and its shape.

    A parameter that is a Python float has None.
    """

    dtype: str
    shape: Shape | None


FLOAT = Operand("d", None)


class Recording(NamedTuple):
    """A function's program; the shape of its largest array, and which dimensions are inner axes.

    `made` are the shapes of what the function gives: a tuple, or a `single` array. An input's
    `static` is its number among the operands and its shape, with all dimensions.
    """

    program: Program
    shape: Shape
    dim: Shape
    made: list[Shape]
    single: bool


def positional(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function with operands alone, the last of which it takes under `names`."""

    def call(*given: Any) -> Any:
        count = len(given) - len(names)
        return function(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return call


def flat(operands: Any) -> list[Any]:
    """Operands, and what is in tuples among them."""
    found: list[Any] = []
    for x in operands:
        found += flat(x) if isinstance(x, tuple) and not isinstance(x, Operand) else [x]
    return found


def record(
    function: Callable[..., Any], operands: Sequence[Any], writes: bool = False,
    in_rows: bool = False,
) -> Recording:  # fmt: skip
    """The program of a function, by running it on abstract operands; whatever stops it, it raises.

    Of the operands, and of what is in tuples among them, an `Operand` stands for what is not known,
    and anything else for itself. The outputs are what the function returns; if it `writes`, they
    are the operands that it has written.
    """
    shapes = [x.shape for x in flat(operands) if isinstance(x, Operand) and x.shape]
    if not shapes:
        raise Refused("there is no array")
    trace = Trace(max(shapes, key=math.prod), in_rows)
    inputs: list[Abstract] = []

    def abstract(x: Any) -> Any:
        if isinstance(x, Operand):
            inputs.append(input_of(trace, len(inputs), *x))
            return inputs[-1]
        return tuple(map(abstract, x)) if isinstance(x, tuple) else x

    given = [abstract(x) for x in operands]
    before = [x.place for x in inputs]
    result = function(*given)
    several = isinstance(result, tuple)
    results, targets = [*result] if several else [result], list[int]()
    if writes:
        changed = [(x, old) for x, old in zip(inputs, before, strict=True) if x.place != old]
        results, targets = [x for x, _ in changed], [old for _, old in changed]
    if trace.shape != SHAPE and not trace.dim:
        trace.dim = broadcast_along(trace.shape, shapes)
    fits = not (several and trace.shape == SHAPE) and all(is_result(trace, x) for x in results)
    if not results or not fits:
        raise Refused("the result is no array of the operands' shape")
    program = program_of(trace, results, targets or [-1] * len(results))
    if trace.shape == SHAPE:
        kept = [program.calls[i].static for i in program.inputs]
        if not {*program.inputs}.isdisjoint(program.outputs) or SHAPE not in [s for _, s in kept]:
            raise Refused("nothing is computed")
    made = [x.shape for x in results]
    return Recording(program, trace.shape, trace.dim, made, single=not several)


def input_of(trace: Trace, number: int, dtype: str, shape: Shape | None) -> Abstract:
    """The array that an operand is known as: rule 2 of NOTE [Shapes] in `abstract`."""
    weak, shape = shape is None, shape or ()
    whole = (1,) * (len(trace.shape) - len(shape)) + shape
    if len(whole) > len(trace.shape):
        raise Refused("a small array of more dimensions")
    few = 0 < len(shape) < len(whole)
    place = trace.call("input", (), dtype, (number, None if few else whole))
    apart = trace.call("input", (), dtype, (number, whole)) if few else -1
    return Abstract(trace, place, dtype, shape, weak, apart)


def varies(trace: Trace, shape: Shape) -> int:
    """The axes along which an input of a shape varies; all, where sizes are not known."""
    if trace.shape == SHAPE:
        return ALL
    inner, outer = (
        any(n > 1 for d, n in enumerate(shape) if (d in trace.dim) == own) for own in (True, False)
    )
    return INNER * inner | OUTER * outer


def program_of(trace: Trace, results: Sequence[Abstract], targets: Sequence[int]) -> Program:
    """The program that makes these results."""
    row, _ = trace.shapes(False)
    calls = list(trace.calls)
    for i, call in enumerate(calls):
        if call.function == "input":
            number, shape = call.static
            calls[i] = call._replace(static=(number, shape or row))
    axes = [varies(trace, call.static[1]) for call in calls if call.function == "input"]
    made = Program(tuple(calls), tuple([x.place for x in results]), tuple(targets))
    whole = [i for i, x in enumerate(results) if x.shape == trace.shape]
    return simplified(broadcast(along(made, axes), whole))


def broadcast_along(shape: Shape, shapes: Sequence[Shape]) -> Shape:
    """The inner axes where no rows are reduced: those of arrays that are broadcast, or the last."""
    whole = [own for own in shapes if len(own) == len(shape)]
    thin = [d for d, n in enumerate(shape) if n > 1 and any(own[d] == 1 for own in whole)]
    return tuple(thin) or (max([d for d, n in enumerate(shape) if n > 1], default=0),)


def is_result(trace: Trace, x: Any) -> bool:
    """Whether a function gives an array that a program can make."""
    if not isinstance(x, Abstract):
        return False
    if x.place in trace.totals:
        return x.size == 1
    if trace.dim and x.shape in trace.shapes(x.columns):
        return True
    return x.shape == trace.shape and not x.columns
