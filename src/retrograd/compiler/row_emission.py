"""From a program with sums and maxima along rows to LLVM's code.

NOTE [Rows]
1. A kernel is a `Chunk` of the pool's: `void name(int64_t *table, int64_t begin, int64_t end)` does
   so many rows. A row is one place in the dimensions that are kept; its elements, those of the
   dimensions that are reduced, lie in runs of `C`. `Places` says where the table has what.
2. Reductions are done in passes over the row, as few as they depend on each other; the last pass
   writes. What is cheap is computed in each pass anew: a row stays in the cache. A value that is
   dear is written in place of a result as soon as one pass has it, and read by the others. Where
   elements are divided by a number of the row, they are multiplied by its reciprocal.
3. A run is done `LANES` elements at a time, its end under a mask, and lanes are joined as a tree:
   the order of additions depends neither on the machine's vectors nor on the number of threads.
4. Sums are as good as in twice the precision: of float32 in float64, of float64 in pairs.
5. Sums across the rows have a pass of their own, before the last, which may write over what waits:
   for each element of a row, in memory of float64. In one pass both take longer. Each piece that
   a thread does at once has its own sums, which the caller adds up, in order.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from .emission import POINTER, constant, emitted
from .row_plan import (
    ACROSS,
    LANES,
    REDUCTIONS,
    Places,
    along_rows,
    depths,
    needed,
    parked,
    parts_of,
)
from .values import BOOL, Value, convert, ir_type, isnan, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Call, Program
    from .row_plan import Variant

__all__ = ["row_code"]

BIT, LONG, INT = ir.IntType(1), ir.IntType(64), ir.IntType(32)


class Writer:
    """Writes the code of one program's rows."""

    def __init__(self, program: Program, rows: Sequence[bool], variant: Variant, name: str) -> None:
        self.program, self.variant = program, variant
        self.inputs = len(program.inputs)
        self.kinds, self.depths = along_rows(program, rows), depths(program)
        self.parked = parked(program, rows)
        self.parts = [parts_of(program, value) for value in program.outputs]
        outputs = [
            np.dtype(np.float64) if parts else program.dtype(value)
            for value, parts in zip(program.outputs, self.parts, strict=True)
        ]
        self.dtypes = [*map(np.dtype, program.inputs), *outputs]
        self.lanes = LANES[max(program.dtype(i).itemsize for i in range(self.inputs))]
        self.places = Places(len(self.dtypes), variant)
        self.module = ir.Module(name)
        kind = ir.FunctionType(ir.VoidType(), [POINTER, LONG, LONG])
        self.function = ir.Function(self.module, kind, name)
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))
        self.scalars: dict[int, Value] = {}  # numbers of the row
        self.inverses: dict[int, tuple[Value, Value]] = {}
        self.waiting: set[int] = set()  # what is written already: NOTE [Rows], 2

    def number(self, place: int) -> Any:
        """A number of the table, read once."""
        at = self.entry.gep(self.function.args[0], [LONG(place)], source_etype=LONG)
        return self.entry.load(at, typ=LONG)

    def loop(self, first: Any, last: Any, each: Callable[[Any], None], step: int = 1) -> None:
        """Do something for each index from `first` to below `last`."""
        b, function = self.b, self.function
        variable = self.entry.alloca(LONG)
        b.store(first, variable)
        test, body, end = (function.append_basic_block() for _ in range(3))
        b.branch(test)
        b.position_at_end(test)
        index = b.load(variable, typ=LONG)
        b.cbranch(b.icmp_signed("<", index, last), body, end)
        b.position_at_end(body)
        each(index)
        b.store(b.add(b.load(variable, typ=LONG), LONG(step)), variable)
        b.branch(test)
        b.position_at_end(end)

    def code(self) -> str:
        """The module."""
        operands, dims = len(self.dtypes), self.variant.kept + self.variant.outer
        self.base = [
            self.entry.inttoptr(self.number(self.places.base(i)), POINTER) for i in range(operands)
        ]
        self.size = [self.number(self.places.size(d)) for d in range(dims + 1)]
        self.stride = [
            [self.number(self.places.stride(i, d)) for d in range(dims)] for i in range(operands)
        ]
        body = self.b.block
        self.start_sums()
        self.loop(self.function.args[1], self.function.args[2], self.row)
        self.b.ret_void()
        self.entry.branch(body)
        return str(self.module)

    def start_sums(self) -> None:
        """Zeros for the sums across rows of this piece, to which their pointers are moved."""
        grain, self.room = (self.number(self.places.grain + i) for i in range(2))
        piece = self.b.sdiv(self.function.args[1], grain)
        zeros = ir.Constant(ir.VectorType(ir.DoubleType(), self.lanes), [0.0] * self.lanes)
        for i, parts in enumerate(self.parts, self.inputs):
            if not parts:
                continue
            size = self.b.mul(self.room, LONG(parts))
            first = self.base[i] = self.moved(self.base[i], self.b.mul(piece, size))
            self.loop(
                LONG(0), size, lambda at: self.b.store(zeros, self.moved(first, at), align=8),
                8 * self.lanes,
            )  # fmt: skip

    def moved(self, pointer: Any, offset: Any) -> Any:
        return self.b.gep(pointer, [offset], source_etype=ir.IntType(8))

    def row(self, index: Any) -> None:
        """All passes over one row."""
        self.at = list(self.base)
        left = index
        for d in range(self.variant.kept - 1, -1, -1):
            if d:
                place = self.b.urem(left, self.size[d])
                left = self.b.udiv(left, self.size[d])
            else:
                place = left
            self.at = [
                self.moved(p, self.b.mul(place, self.stride[i][d])) for i, p in enumerate(self.at)
            ]
        self.scalars, self.inverses, self.waiting = {}, {}, set()
        for i in range(self.inputs):
            if self.kinds[i]:
                self.scalars[i] = self.loaded(i, self.at[i])
        self.settle(0)
        reductions = [
            i for i, call in enumerate(self.program.calls, self.inputs)
            if call.function in REDUCTIONS
        ]  # fmt: skip
        for depth in sorted({self.depths[i] for i in reductions}):
            self.reduce([i for i in reductions if self.depths[i] == depth])
            self.settle(depth)
        whole = [i for i, value in enumerate(self.program.outputs) if not self.kinds[value]]
        for some in ([i for i in whole if self.parts[i]], [i for i in whole if not self.parts[i]]):
            if some:
                self.runs(partial(self.write, some))
        for i, value in enumerate(self.program.outputs):
            if self.kinds[value]:
                self.b.store(self.scalars[value].ir, self.at[self.inputs + i])

    def loaded(self, i: int, pointer: Any) -> Value:
        """One element of an input."""
        dtype = self.dtypes[i]
        kind = ir_type(dtype)
        return Value(self.b, self.b.load(pointer, align=dtype.itemsize, typ=kind), dtype)

    def settle(self, depth: int) -> None:
        """Compute the numbers of the row that need no further reduction."""
        for number, call in enumerate(self.program.calls, self.inputs):
            ready = self.kinds[number] and self.depths[number] <= depth
            if ready and number not in self.scalars and call.function not in REDUCTIONS:
                operands = [self.scalars[i] for i in call.operands]
                self.scalars[number] = emitted(self.b, call, operands)
        for number, call in enumerate(self.program.calls, self.inputs):
            if call.function == "divide" and not self.kinds[number]:
                by = call.operands[1]
                if by in self.scalars and by not in self.inverses:
                    self.inverses[by] = inverse(self.scalars[by])

    def runs(self, each: Callable[[Any, Any, Any], None]) -> None:
        """Do something for each vector of the row: pointers to runs, place in the run, a mask."""
        kept, outer = self.variant.kept, self.variant.outer
        length = self.size[kept + outer]

        def dimension(d: int, at: list[Any]) -> None:
            if d == outer:
                self.run(at, length, each)
                return
            self.loop(LONG(0), self.size[kept + d], lambda n: dimension(d + 1, [
                self.moved(p, self.b.mul(n, self.stride[i][kept + d])) for i, p in enumerate(at)
            ]))  # fmt: skip

        dimension(0, self.at)

    def run(self, at: list[Any], length: Any, each: Callable[[Any, Any, Any], None]) -> None:
        """One run: whole vectors, then the rest."""
        self.fixed = {
            i: self.loaded(i, at[i])
            for i in range(self.inputs)
            if not self.kinds[i] and not self.variant.steps[i]
        }
        whole = self.b.and_(length, LONG(-self.lanes))
        self.loop(LONG(0), whole, lambda j: each(at, j, None), self.lanes)
        more, end = (self.function.append_basic_block() for _ in range(2))
        self.b.cbranch(self.b.icmp_signed("<", whole, length), more, end)
        self.b.position_at_end(more)
        lanes = ir.Constant(ir.VectorType(LONG, self.lanes), list(range(self.lanes)))
        left = self.splat(Value(self.b, self.b.sub(length, whole), np.int64))
        each(at, whole, self.b.icmp_signed("<", lanes, left.ir))
        self.b.branch(end)
        self.b.position_at_end(end)

    def splat(self, x: Value) -> Value:
        """A vector of one number."""
        kind = ir_type(x.dtype, self.lanes)
        empty = ir.Constant(kind, ir.Undefined)
        first = self.b.insert_element(empty, x.ir, INT(0))
        zeros = ir.Constant(ir.VectorType(INT, self.lanes), [0] * self.lanes)
        return x.made(self.b.shuffle_vector(first, empty, zeros))

    def vectors(self, at: list[Any], offset: Any, mask: Any) -> Callable[[int], Value]:
        """What gives the vector of a value: of elements from `offset` on, of the runs at `at`."""
        known: dict[int, Value] = {}

        def value(number: int) -> Value:
            if number not in known:
                known[number] = self.vector(number, value, at, offset, mask)
            return known[number]

        return value

    def vector(
        self, number: int, value: Callable[[int], Value], at: list[Any], offset: Any, mask: Any
    ) -> Value:
        if number in self.scalars:
            return self.splat(self.scalars[number])
        if number in self.fixed:
            return self.splat(self.fixed[number])
        if number < self.inputs:
            return self.read(number, at[number], offset, mask)
        if number in self.waiting:
            place = self.inputs + self.parked[number]
            return self.read(place, at[place], offset, mask)
        call = self.program.calls[number - self.inputs]
        if call.function == "constant":
            return self.splat(constant(self.b, call.text, np.dtype(call.dtype)))
        if call.function == "divide" and call.operands[1] in self.inverses:
            factor, scale = map(self.splat, self.inverses[call.operands[1]])
            return value(call.operands[0]) * factor * scale
        return emitted(self.b, call, [value(i) for i in call.operands])

    def intrinsic(self, name: str, result: Any, operands: list[Any], dtype: Any) -> Any:
        whole = f"llvm.masked.{name}.v{self.lanes}f{8 * dtype.itemsize}.p0"
        function = self.module.globals.get(whole)
        if function is None:
            kind = ir.FunctionType(result, [x.type for x in operands])
            function = ir.Function(self.module, kind, whole)
        return self.b.call(function, operands)

    def read(self, i: int, pointer: Any, offset: Any, mask: Any) -> Value:
        dtype = self.dtypes[i]
        kind = ir_type(dtype, self.lanes)
        place = self.b.gep(pointer, [offset], source_etype=ir_type(dtype))
        if mask is None:
            return Value(self.b, self.b.load(place, align=dtype.itemsize, typ=kind), dtype)
        zeros = ir.Constant(kind, [0.0] * self.lanes)
        operands = [place, INT(dtype.itemsize), mask, zeros]
        return Value(self.b, self.intrinsic("load", kind, operands, dtype), dtype)

    def write(self, whole: list[int], at: list[Any], offset: Any, mask: Any) -> None:
        """Write the outputs that are as long as a row."""
        value = self.vectors(at, offset, mask)
        for i in whole:
            pointer = at[self.inputs + i]
            if self.parts[i]:
                call = self.program.calls[self.program.outputs[i] - self.inputs]
                first = self.b.gep(pointer, [offset], source_etype=ir.DoubleType())
                places = [first, self.moved(first, self.room)][: self.parts[i]]
                self.joined(call, places, value(call.operands[0]), mask)
                continue
            self.put(value(self.program.outputs[i]), pointer, offset, mask)

    def put(self, x: Value, pointer: Any, offset: Any, mask: Any) -> None:
        """Write a vector."""
        size = x.dtype.itemsize
        place = self.b.gep(pointer, [offset], source_etype=ir_type(x.dtype))
        if mask is None:
            self.b.store(x.ir, place, align=size)
        else:
            self.intrinsic("store", ir.VoidType(), [x.ir, place, INT(size), mask], x.dtype)

    def reduce(self, numbers: list[int]) -> None:
        """One pass for reductions that do not depend on each other."""
        held = {}
        for number in numbers:
            call = self.program.calls[number - self.inputs]
            start = REDUCTIONS[call.function]
            wide = np.dtype(np.float64 if call.function == "sum" else call.dtype)
            kind = ir_type(wide, self.lanes)
            count = 1 + (call.function == "sum" and call.dtype == "d")
            held[number] = [self.entry.alloca(kind) for _ in range(count)]
            for place, value in zip(held[number], (start, 0.0), strict=False):
                self.b.store(ir.Constant(kind, [value] * self.lanes), place)

        operands = [i for n in numbers for i in self.program.calls[n - self.inputs].operands]
        computed = needed(
            self.program, operands, [i in self.scalars for i in range(len(self.kinds))]
        )
        dear = (self.parked.keys() & computed) - self.waiting

        def add(at: list[Any], offset: Any, mask: Any) -> None:
            value = self.vectors(at, offset, mask)
            for number in dear:
                self.put(value(number), at[self.inputs + self.parked[number]], offset, mask)
            for number in numbers:
                call = self.program.calls[number - self.inputs]
                self.joined(call, held[number], value(call.operands[0]), mask)

        self.runs(add)
        self.waiting |= dear
        for number in numbers:
            call = self.program.calls[number - self.inputs]
            self.scalars[number] = self.total(call, held[number])

    def joined(self, call: Call, places: list[Any], x: Value, mask: Any) -> None:
        """Add a vector to what is held at `places`."""
        if mask is not None:
            x = select(Value(self.b, mask, BOOL), x, REDUCTIONS.get(call.function, 0.0))
        wide = x.dtype if call.function in ("max", "min") else np.dtype(np.float64)
        kind = ir_type(wide, self.lanes)
        held = [Value(self.b, self.b.load(place, align=8, typ=kind), wide) for place in places]
        made = JOINS[call.function](convert(x, wide), *held)
        for place, value in zip(places, made, strict=True):
            self.b.store(value.ir, place, align=8)

    def total(self, call: Call, places: list[Any]) -> Value:
        """What all lanes give together, two by two."""
        wide = np.dtype(np.float64 if call.function == "sum" else call.dtype)
        kind = ir_type(wide, self.lanes)
        vectors = [self.b.load(place, typ=kind) for place in places]
        lanes = [
            [Value(self.b, self.b.extract_element(v, INT(i)), wide) for v in vectors]
            for i in range(self.lanes)
        ]
        while len(lanes) > 1:
            lanes = [self.pair(call, a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        high, *low = lanes[0]
        return convert(high + low[0] if low else high, call.dtype)

    def pair(self, call: Call, a: list[Value], b: list[Value]) -> list[Value]:
        """Two lanes as one."""
        high, *low = JOINS[call.function](b[0], *a)
        return [high, *[x + y for x, y in zip(low, b[1:], strict=True)]]


def inverse(x: Value) -> tuple[Value, Value]:
    """(factor, scale): y * factor * scale is y / x to a unit in the last place, for all x and y.

    The reciprocal of a very small or large x would not be normal; so that of scale * x is taken.
    """
    end, step = (100, 64) if x.dtype.itemsize == 4 else (900, 600)
    size = abs(x)
    scale = select(size < 2.0**-end, x.number(2.0**step), 1.0)
    scale = select(size > 2.0**end, 2.0**-step, scale)
    return 1.0 / (x * scale), scale


def added(x: Value, high: Value, low: Value | None = None) -> tuple[Value, ...]:
    """x more than a sum; of a pair, exactly (D. Knuth). An infinite sum has no low part."""
    total = high + x
    if low is None:
        return (total,)
    moved = total - high
    lost = (high - (total - moved)) + (x - moved)
    return total, low + select(abs(total) < math.inf, lost, 0.0)


def larger(x: Value, held: Value) -> tuple[Value]:
    """The larger of two; NaN if one is."""
    return (select((x > held) | isnan(x), x, held),)


def smaller(x: Value, held: Value) -> tuple[Value]:
    """The smaller of two; NaN if one is."""
    return (select((x < held) | isnan(x), x, held),)


JOINS: dict[str, Callable[..., Any]] = {
    "sum": added,
    ACROSS: added,
    "max": larger,
    "min": smaller,
}


def row_code(program: Program, rows: Sequence[bool], variant: Variant, name: str) -> str:
    """The module of a program's kernel: NOTE [Rows]."""
    return Writer(program, rows, variant, name).code()
