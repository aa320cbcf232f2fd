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
4. Sums of float64 are pairs, as good as in twice the precision; of float32 they are float64. Those
   that ask for a dtype are held in it. A few terms are added in float32 before: `UNROLLED` vectors
   of a row, two by two, where nothing dear is computed for them, so that additions need not wait
   for each other; and across, `BLOCK` rows.
5. Sums across the rows have a pass of their own, before the last, which may write over what waits.
   It goes over a block of rows, by strips of `UNROLLED` vectors whose sums stay in registers until
   they are added to those in memory; what is known of each row waits on the stack. Each piece that
   a thread does at once has its own sums in memory, which the caller adds up, in order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from .emission import POINTER, constant, emitted
from .kernels import EASY
from .reductions import JOINS, in_pairs, in_tree, wide
from .row_plan import (
    LANES,
    REDUCTIONS,
    Places,
    along_rows,
    depths,
    needed,
    parked,
    parts_of,
)
from .values import BOOL, Value, convert, inverse, ir_type, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Call, Program
    from .row_plan import Variant

__all__ = ["row_code"]

BIT, LONG, INT = ir.IntType(1), ir.IntType(64), ir.IntType(32)
UNROLLED = 8  # vectors of a row that are read at once
SOME = 4  # those of what is left at its end
BLOCK = 8  # rows that are added before memory is


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
        self.at: list[Any] = []  # where the row lies in each operand
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
        first, last = self.function.args[1:]
        if any(self.parts):
            self.loop(first, last, lambda row: self.block(row, last), BLOCK)
        else:
            self.loop(first, last, self.row)
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
        self.begin(index)
        self.finish()

    def block(self, first: Any, last: Any) -> None:
        """All passes over some rows whose sums across are added at once."""
        left = self.b.sub(last, first)
        count = self.b.select(self.b.icmp_signed("<", left, LONG(BLOCK)), left, LONG(BLOCK))
        slots: list[Any] = []

        def begin(n: Any) -> None:
            self.begin(self.b.add(first, n))
            for x in self.known():
                slots.append(self.entry.alloca(x.type, BLOCK))
                self.b.store(x, self.b.gep(slots[-1], [n], source_etype=x.type))
            if not self.waiting:
                self.finish()

        def again(n: Any) -> None:
            kinds = [x.type for x in self.known()]
            places = [
                self.b.gep(slot, [n], source_etype=t) for slot, t in zip(slots, kinds, strict=True)
            ]
            self.know([self.b.load(p, typ=t) for p, t in zip(places, kinds, strict=True)])

        def finish(n: Any) -> None:
            again(n)
            self.finish()

        self.loop(LONG(0), count, begin)
        self.runs(partial(self.add_across, count, again), UNROLLED, lambda shift: shift)
        if self.waiting:
            self.loop(LONG(0), count, finish)

    def known(self) -> list[Any]:
        """What is known of the row at hand: where it lies, and its numbers."""
        numbers = [x for x in self.scalars.values() if not isinstance(x.ir, ir.Constant)]
        pairs = [x for pair in self.inverses.values() for x in pair]
        return [*self.at, *[x.ir for x in (*numbers, *pairs)]]

    def know(self, values: Sequence[Any]) -> None:
        """Have another row at hand, of which that is known."""
        rest = iter(values)
        self.at = [next(rest) for _ in self.at]
        for i, x in self.scalars.items():
            if not isinstance(x.ir, ir.Constant):
                self.scalars[i] = x.made(next(rest))
        for i, (factor, scale) in self.inverses.items():
            self.inverses[i] = factor.made(next(rest)), scale.made(next(rest))

    def begin(self, index: Any) -> None:
        """The numbers of a row, by as many passes as they depend on each other."""
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

    def finish(self) -> None:
        """Write the results of a row whose numbers are known."""
        whole = [
            i for i, value in enumerate(self.program.outputs)
            if not self.kinds[value] and not self.parts[i]
        ]  # fmt: skip
        if whole:
            computed = self.computed([self.program.outputs[i] for i in whole])
            self.runs(partial(self.write, whole), SOME if self.easy(computed) else 1)
        for i, value in enumerate(self.program.outputs):
            if self.kinds[value]:
                self.b.store(self.scalars[value].ir, self.at[self.inputs + i])

    def computed(self, values: Sequence[int]) -> set[int]:
        """What must be computed of each element for these values."""
        return needed(self.program, values, [i in self.scalars for i in range(len(self.kinds))])

    def easy(self, computed: set[int]) -> bool:
        """Whether none of it is dear."""
        return all(self.program.calls[i - self.inputs].function in EASY for i in computed)

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

    def runs(
        self,
        each: Callable[[Any, list[Any], Any], None],
        times: int = 1,
        start: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        """Do something for each vector of the row, or so many: a run, places in it, a mask.

        `start` gives the run of the bytes by which operands go on; pointers, if none is given.
        """
        kept, outer = self.variant.kept, self.variant.outer
        length = self.size[kept + outer]

        def dimension(d: int, shift: list[Any]) -> None:
            if d == outer:
                self.run((start or self.moved_by)(shift), length, each, times)
                return
            self.loop(LONG(0), self.size[kept + d], lambda n: dimension(d + 1, [
                self.b.add(s, self.b.mul(n, own[kept + d]))
                for s, own in zip(shift, self.stride, strict=True)
            ]))  # fmt: skip

        dimension(0, [LONG(0)] * len(self.dtypes))

    def moved_by(self, shift: list[Any]) -> list[Any]:
        """Pointers to a run of the row at hand; inputs that are one number in it are read."""
        at = [self.moved(p, s) for p, s in zip(self.at, shift, strict=True)]
        self.fixed = {
            i: self.loaded(i, at[i])
            for i in range(self.inputs)
            if not self.kinds[i] and not self.variant.steps[i]
        }
        return at

    def run(
        self, at: Any, length: Any, each: Callable[[Any, list[Any], Any], None], times: int
    ) -> None:
        """One run: so many vectors at a time, then some, then single ones, then the rest."""
        done = LONG(0)
        for count in sorted({times, min(times, SOME), 1}, reverse=True):
            step = self.lanes * count
            whole = self.b.and_(length, LONG(-step))
            places = range(0, step, self.lanes)

            def vectors(j: Any, places: Sequence[int] = places) -> None:
                each(at, [self.b.add(j, LONG(k)) for k in places], None)

            self.loop(done, whole, vectors, step)
            done = whole
        more, end = (self.function.append_basic_block() for _ in range(2))
        self.b.cbranch(self.b.icmp_signed("<", done, length), more, end)
        self.b.position_at_end(more)
        lanes = ir.Constant(ir.VectorType(LONG, self.lanes), list(range(self.lanes)))
        left = self.splat(Value(self.b, self.b.sub(length, done), np.int64))
        each(at, [done], self.b.icmp_signed("<", lanes, left.ir))
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

    def write(self, whole: list[int], at: list[Any], offsets: list[Any], mask: Any) -> None:
        """Write the outputs that are as long as a row."""
        for offset in offsets:
            value = self.vectors(at, offset, mask)
            for i in whole:
                self.put(value(self.program.outputs[i]), at[self.inputs + i], offset, mask)

    def add_across(
        self, count: Any, again: Callable[[Any], None], shift: Any, offsets: list[Any], mask: Any
    ) -> None:
        """Add a strip of so many rows to the sums in memory; `again` has one at hand."""
        sums = [i for i, parts in enumerate(self.parts) if parts]
        calls = {i: self.program.calls[self.program.outputs[i] - self.inputs] for i in sums}
        kinds = {i: ir_type(np.dtype(call.dtype), self.lanes) for i, call in calls.items()}
        held = {
            (i, k): [self.entry.alloca(kinds[i]) for _ in range(self.parts[i])]
            for i in sums for k in range(len(offsets))
        }  # fmt: skip
        for (i, _), places in held.items():
            for place in places:
                self.b.store(ir.Constant(kinds[i], [0.0] * self.lanes), place)

        def row(n: Any) -> None:
            again(n)
            at = self.moved_by(shift)
            for k, offset in enumerate(offsets):
                value = self.vectors(at, offset, mask)
                for i in sums:
                    x = value(calls[i].operands[0])
                    self.join(calls[i], held[i, k], x, x.dtype, mask)

        self.loop(LONG(0), count, row)
        for (i, k), places in held.items():
            pointer = self.moved(self.base[self.inputs + i], shift[self.inputs + i])
            first = self.b.gep(pointer, [offsets[k]], source_etype=ir.DoubleType())
            whole = [first, self.moved(first, self.room)]
            for place in places:
                x = Value(self.b, self.b.load(place, typ=kinds[i]), np.dtype(calls[i].dtype))
                self.join(calls[i], whole[: self.parts[i]], x, np.dtype(np.float64))

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
            kind = ir_type(wide(call), self.lanes)
            count = 1 + in_pairs(call)
            held[number] = [self.entry.alloca(kind) for _ in range(count)]
            for place, value in zip(held[number], (start, 0.0), strict=False):
                self.b.store(ir.Constant(kind, [value] * self.lanes), place)

        operands = [i for n in numbers for i in self.program.calls[n - self.inputs].operands]
        computed = self.computed(operands)
        dear = (self.parked.keys() & computed) - self.waiting
        calls = {number: self.program.calls[number - self.inputs] for number in numbers}
        once = not self.easy(computed) or any(map(in_pairs, calls.values()))

        def add(at: list[Any], offsets: list[Any], mask: Any) -> None:
            found: dict[int, list[Value]] = {number: [] for number in numbers}
            for offset in offsets:
                value = self.vectors(at, offset, mask)
                for number in dear:
                    self.put(value(number), at[self.inputs + self.parked[number]], offset, mask)
                for number, call in calls.items():
                    found[number].append(value(call.operands[0]))
            for number, call in calls.items():
                join = JOINS[call.function]
                x = in_tree(lambda a, b, join=join: join(b, a)[0], found[number])  # type: ignore[misc]
                self.join(call, held[number], x, wide(call), mask)

        self.runs(add, 1 if once else UNROLLED)
        self.waiting |= dear
        for number, call in calls.items():
            self.scalars[number] = self.total(call, held[number])

    def join(self, call: Call, places: list[Any], x: Value, dtype: Any, mask: Any = None) -> None:
        """Add a vector to what is held at `places`, of that dtype."""
        if mask is not None:
            x = select(Value(self.b, mask, BOOL), x, REDUCTIONS.get(call.function, 0.0))
        kind, size = ir_type(dtype, self.lanes), dtype.itemsize
        held = [self.b.load(place, align=size, typ=kind) for place in places]
        made = JOINS[call.function](convert(x, dtype), *[Value(self.b, h, dtype) for h in held])
        for place, value in zip(places, made, strict=True):
            self.b.store(value.ir, place, align=size)

    def total(self, call: Call, places: list[Any]) -> Value:
        """What all lanes give together, one half of them joined to the other again and again."""
        dtype, lanes = wide(call), self.lanes
        held = [Value(self.b, self.b.load(p, typ=ir_type(dtype, lanes)), dtype) for p in places]
        while lanes > 1:
            lanes //= 2
            halves = [[self.lanes_of(x, at, lanes) for x in held] for at in (0, lanes)]
            held = self.pair(call, *halves)
        high, *low = [x.made(self.b.extract_element(x.ir, INT(0))) for x in held]
        return convert(high + low[0] if low else high, call.dtype)

    def lanes_of(self, x: Value, first: int, count: int) -> Value:
        """Some lanes of a vector."""
        places = ir.Constant(ir.VectorType(INT, count), list(range(first, first + count)))
        return x.made(self.b.shuffle_vector(x.ir, ir.Constant(x.ir.type, ir.Undefined), places))

    def pair(self, call: Call, a: list[Value], b: list[Value]) -> list[Value]:
        """Two lanes as one."""
        high, *low = JOINS[call.function](b[0], *a)
        return [high, *[x + y for x, y in zip(low, b[1:], strict=True)]]


def row_code(program: Program, rows: Sequence[bool], variant: Variant, name: str) -> str:
    """The module of a program's kernel: NOTE [Rows]."""
    return Writer(program, rows, variant, name).code()
