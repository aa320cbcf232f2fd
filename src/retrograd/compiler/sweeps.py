"""From a program with reductions to LLVM's code: its sweeps over rows.

NOTE [Rows]
1. A kernel is a `Chunk` of the pool's: `void name(int64_t *table, int64_t begin, int64_t end)` does
   so many rows. A row is one place in the outer axes; its elements, those of the inner axes, lie in
   runs of `C`. The table has, of 8 bytes each: pointers to the inputs, then to the outputs; sizes
   of the outer axes, of those of runs, and of a run; the rows of a piece, and the bytes of its sums
   across rows; for each operand, the bytes from an element to the next along each of these axes.
2. Sweeps are those of the plan: NOTE [Sweeps] in `plan`. Where elements are divided by a number of
   the row, they are multiplied by its reciprocal.
3. A run is done `LANES` elements at a time, its end under a mask, and lanes are joined as a tree:
   the order of additions depends neither on the machine's vectors nor on the number of threads.
4. Sums of float64 are pairs, as good as in twice the precision; of float32 they are float64. Those
   that ask for a dtype are held in it. A few terms are added in float32 before: `UNROLLED` vectors
   of a row, two by two, where nothing dear is computed for them, so that additions need not wait
   for each other; and across, `BLOCK` rows.
5. The sweep of sums across rows goes over a block of rows, by strips of `UNROLLED` vectors whose
   sums stay in registers until they are added to those in memory; what is known of each row waits
   on the stack. Each piece that a thread does at once has its own sums in memory, which the caller
   adds up, in order.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir

from .emission import LONG, POINTER, WORD, Elements, Writer, loaded, stored
from .program import INNER
from .values import BOOL, Value, convert, inverse, ir_type, isnan, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .plan import Sweep
    from .program import Call, Program

    Each = Callable[[list[Any], list[Any], Any], None]

__all__ = ["LANES", "Variant", "parts_of", "row_code"]

LANES = {4: 16, 8: 8}  # elements done at once, by the bytes of the largest
UNROLLED = 8  # vectors of a row that are read at once
SOME = 4  # those of what is left at its end
BLOCK = 8  # rows that are added before memory is


class Variant(NamedTuple):
    """What code depends on beside the program: how many dimensions, and how inputs go along them.

    `kept` and `outer` count the dimensions of rows, and those of runs; `steps` says for each input
    whether it goes on along a run.
    """

    kept: int
    outer: int
    steps: tuple[bool, ...]


STARTS = {"sum": 0.0, "plain sum": 0.0, "wide sum": 0.0, "max": -math.inf, "min": math.inf}


def wide(call: Call) -> Any:
    """The dtype in which a reduction is held."""
    return np.dtype(np.float64 if call.function == "sum" else call.dtype)


def in_pairs(call: Call) -> bool:
    """Whether a reduction is held as a sum and what rounding lost of it."""
    return call.function == "sum" and call.dtype == "d"


def parts_of(call: Call) -> int:
    """How many numbers of float64 hold an element of a sum across rows; 0 for any other value."""
    return 1 + in_pairs(call) if call.across else 0


def in_tree(join: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """Values joined two by two; there are a power of two of them."""
    while len(values) > 1:
        values = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


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
    "plain sum": added,
    "wide sum": added,
    "max": larger,
    "min": smaller,
}


class RowWriter(Writer):
    """Writes the kernel of a program's rows."""

    def __init__(self, program: Program, variant: Variant, name: str) -> None:
        arrays = [i for i in program.inputs if program.calls[i].axes]
        lanes = LANES[max(program.dtype(i).itemsize for i in arrays)]
        super().__init__(program, name, [POINTER, LONG, LONG], lanes)
        self.variant, self.inputs = variant, len(program.inputs)
        self.parts = [parts_of(self.calls[value]) for value in self.outputs]
        self.dtypes[self.inputs :] = [
            np.dtype(np.float64) if parts else dtype
            for parts, dtype in zip(self.parts, self.dtypes[self.inputs :], strict=True)
        ]
        self.place = count()  # in the table, of the next number
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))
        self.divisors = {
            call.operands[1] for call in self.calls
            if call.function == "divide" and call.axes & INNER
        }  # fmt: skip
        self.at: list[Any] = []  # where the row lies in each operand
        self.waiting: dict[int, int] = {}  # operands that hold values: NOTE [Sweeps], 3
        self.fixed: dict[int, Value] = {}  # inputs that are one number in a run

    def number(self) -> Any:
        """The next number that the kernel finds in its table."""
        at = self.entry.gep(self.function.args[0], [LONG(next(self.place))], source_etype=LONG)
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
        """The module of LLVM's code for a kernel of whole rows."""
        operands, dims = len(self.dtypes), self.variant.kept + self.variant.outer
        self.base = [self.entry.inttoptr(self.number(), POINTER) for _ in range(operands)]
        self.size = [self.number() for _ in range(dims + 1)]
        self.grain, self.room = self.number(), self.number()
        self.stride = [[self.number() for _ in range(dims)] for _ in range(operands)]
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
        piece = self.b.sdiv(self.function.args[1], self.grain)
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
            for x in self.at_hand():
                slots.append(self.entry.alloca(x.type, BLOCK))
                self.b.store(x, self.b.gep(slots[-1], [n], source_etype=x.type))
            if not self.waiting:
                self.finish()

        def again(n: Any) -> None:
            kinds = [x.type for x in self.at_hand()]
            places = [
                self.b.gep(slot, [n], source_etype=t) for slot, t in zip(slots, kinds, strict=True)
            ]
            self.know([self.b.load(p, typ=t) for p, t in zip(places, kinds, strict=True)])

        def finish(n: Any) -> None:
            again(n)
            self.finish()

        self.loop(LONG(0), count, begin)
        self.runs(
            partial(self.add_across, self.plan.across, count, again), UNROLLED, lambda shift: shift
        )
        if self.waiting:
            self.loop(LONG(0), count, finish)

    def at_hand(self) -> list[Any]:
        """What is known of the row at hand: where it lies, and its numbers."""
        numbers = [x for x in self.known.values() if not isinstance(x.ir, ir.Constant)]
        pairs = [x for pair in self.inverses.values() for x in pair]
        return [*self.at, *[x.ir for x in (*numbers, *pairs)]]

    def know(self, values: Sequence[Any]) -> None:
        """Have another row at hand, of which that is known."""
        rest = iter(values)
        self.at = [next(rest) for _ in self.at]
        for i, x in self.known.items():
            if not isinstance(x.ir, ir.Constant):
                self.known[i] = x.result(next(rest))
        for i, (factor, scale) in self.inverses.items():
            self.inverses[i] = factor.result(next(rest)), scale.result(next(rest))

    def begin(self, index: Any) -> None:
        """The numbers of a row, by all sweeps but those that write and go across."""
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
        self.known, self.inverses, self.waiting = {}, {}, {}
        for sweep in self.plan.sweeps:
            self.compute_numbers(sweep.numbers)
            self.reduce(sweep)
        self.compute_numbers(self.plan.numbers)

    def compute_numbers(self, numbers: Sequence[int]) -> None:
        """Compute numbers of the row."""
        self.compute(numbers, self.known, self.number_at)
        for value in sorted(self.divisors.intersection(self.known).difference(self.inverses)):
            self.inverses[value] = inverse(self.known[value])

    def number_at(self, value: int) -> Any:
        """The number that an input has for the row."""
        i = self.operands.get(value)
        return None if i is None else loaded(self.b, self.at[i], LONG(0), self.dtypes[i])

    def finish(self) -> None:
        """Write the results of a row whose numbers are known."""
        last = self.plan.last
        if last.stored:
            self.runs(partial(self.write, last), SOME if last.easy else 1)
        for i, value in enumerate(self.outputs, self.inputs):
            if not self.calls[value].axes & INNER:
                stored(self.b, self.at[i], LONG(0), self.known[value])

    def runs(
        self,
        each: Each,
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
            value: loaded(self.b, at[i], LONG(0), self.dtypes[i])
            for value, i in self.operands.items()
            if self.calls[value].axes & INNER and not self.variant.steps[i]
        }
        return at

    def run(self, at: Any, length: Any, each: Each, times: int) -> None:
        """One run: so many vectors at a time, then some, then single ones, then the rest."""
        done = LONG(0)
        for many in sorted({times, min(times, SOME), 1}, reverse=True):
            step = self.lanes * many
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

    def vectors(self, sweep: Sweep, at: list[Any], offset: Any, mask: Any) -> Elements:
        """The values of a sweep, of elements from `offset` on, of the runs at `at`."""

        def read(value: int) -> Any:
            if value in self.fixed:
                return self.splat(self.fixed[value])
            i = self.operands.get(value, self.waiting.get(value))
            if i is None:
                return None
            return loaded(self.b, at[i], offset, self.dtypes[i], self.lanes, mask)

        made = Elements(self)
        self.compute(sweep.values, made, read)
        return made

    def write(self, sweep: Sweep, at: list[Any], offsets: list[Any], mask: Any) -> None:
        """Write the outputs that are as long as a row."""
        for offset in offsets:
            self.store(sweep, self.vectors(sweep, at, offset, mask), at, offset, mask)

    def store(self, sweep: Sweep, made: Elements, at: list[Any], offset: Any, mask: Any) -> None:
        """Write the outputs of a sweep for some elements."""
        for value, i in sweep.stored:
            stored(self.b, at[self.inputs + i], offset, made[value], mask)

    def add_across(
        self, sweep: Sweep, count: Any, again: Callable[[Any], None],
        shift: Any, offsets: list[Any], mask: Any,
    ) -> None:  # fmt: skip
        """Add a strip of so many rows to the sums in memory; `again` has one at hand."""
        sums = [i for i, parts in enumerate(self.parts) if parts]
        calls = {i: self.calls[self.outputs[i]] for i in sums}
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
                made = self.vectors(sweep, at, offset, mask)
                for i in sums:
                    x = made[calls[i].operands[0]]
                    self.join(calls[i], held[i, k], x, x.dtype, mask)

        self.loop(LONG(0), count, row)
        for (i, k), places in held.items():
            pointer = self.moved(self.base[self.inputs + i], shift[self.inputs + i])
            first = self.b.gep(pointer, [offsets[k]], source_etype=ir.DoubleType())
            whole = [first, self.moved(first, self.room)]
            for place in places:
                x = Value(self.b, self.b.load(place, typ=kinds[i]), np.dtype(calls[i].dtype))
                self.join(calls[i], whole[: self.parts[i]], x, np.dtype(np.float64))

    def reduce(self, sweep: Sweep) -> None:
        """The sweep for reductions that do not depend on each other."""
        calls = {value: self.calls[value] for value in sweep.reductions}
        held = {}
        for value, call in calls.items():
            kind = ir_type(wide(call), self.lanes)
            held[value] = [self.entry.alloca(kind) for _ in range(1 + in_pairs(call))]
            for place, start in zip(held[value], (STARTS[call.function], 0.0), strict=False):
                self.b.store(ir.Constant(kind, [start] * self.lanes), place)

        def add(at: list[Any], offsets: list[Any], mask: Any) -> None:
            found = []
            for offset in offsets:
                found.append(self.vectors(sweep, at, offset, mask))
                self.store(sweep, found[-1], at, offset, mask)
            for value, call in calls.items():
                join, terms = JOINS[call.function], [made[call.operands[0]] for made in found]
                x = in_tree(lambda a, b, join=join: join(b, a)[0], terms)  # type: ignore[misc]
                self.join(call, held[value], x, wide(call), mask)

        once = not sweep.easy or any(map(in_pairs, calls.values()))
        self.runs(add, 1 if once else UNROLLED)
        self.waiting.update({value: self.inputs + i for value, i in sweep.stored})
        for value, call in calls.items():
            self.known[value] = self.total(call, held[value])

    def join(self, call: Call, places: list[Any], x: Value, dtype: Any, mask: Any = None) -> None:
        """Add a vector to what is held at `places`, of that dtype."""
        if mask is not None:
            x = select(Value(self.b, mask, BOOL), x, STARTS[call.function])
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
        high, *low = [x.result(self.b.extract_element(x.ir, WORD(0))) for x in held]
        return convert(high + low[0] if low else high, call.dtype)

    def lanes_of(self, x: Value, first: int, count: int) -> Value:
        """Some lanes of a vector."""
        places = ir.Constant(ir.VectorType(WORD, count), list(range(first, first + count)))
        return x.result(self.b.shuffle_vector(x.ir, ir.Constant(x.ir.type, ir.Undefined), places))

    def pair(self, call: Call, a: list[Value], b: list[Value]) -> list[Value]:
        """Two lanes as one."""
        high, *low = JOINS[call.function](b[0], *a)
        return [high, *[x + y for x, y in zip(low, b[1:], strict=True)]]


def row_code(program: Program, variant: Variant, name: str) -> str:
    """The module of a program's kernel: NOTE [Rows]."""
    return RowWriter(program, variant, name).code()
