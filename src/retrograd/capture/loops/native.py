"""From lowered loops to LLVM's code: a function for each kind of loop, and a table of their calls.

Sizes and strides are numbers in the code, so the loops of small arrays are unrolled or run in
vectors. Where each loop finds its parts, the table says. So a thousand steps in time take no more
code than one, and `run_steps` in C goes through the table with nothing else between the loops. A
function is built once for all recordings that have such a loop, whatever else is in them.

A function `int loop(char **parts, const int64_t *numbers)` is given where each part begins, and
what is open of the loop. `rolling` writes the table, which has a base and an offset for each part:
base 0 is the arena, the others are arrays. The function gives 0, or not 0 where an index was out of
range: nothing is read or written there.

NOTE [Lanes]
Where the last dimension has a known size, and elements lie side by side or are one for all, code is
written for vectors of elements, the last of which is shorter. LLVM would make such vectors of a
loop of single elements, but that takes most of its time. It does so for all other loops: of open
sizes, of complex numbers and integers, and those that go through memory in steps.

NOTE [Open sizes]
1. A recording may have a loop that an older one of the same function has with other sizes, strides
   or numbers. Then those that differ are open: the table gives them. So the third size of a batch,
   and all that follow, need no new code.
2. Which they are is found by comparing the two loops, whatever made them differ. A loop in which
   sizes differ by several factors is one of its own: two loops that are alike by chance.
3. An open size may be any: no code is chosen by what it is, and dimensions are joined and operands
   broadcast before loops are compared.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

from ...compiler import machine
from ...compiler.abstract import WITHOUT_VECTORS
from ...compiler.emission import LONG, POINTER, constant, parallel
from ...compiler.emission import Loop as Innermost
from ...compiler.mathematics import DTYPES, EMIT
from ...compiler.values import BOOL, Complex, Value, convert, ir_type, select, splat
from ...kernels.native import loops
from ...kernels.native.products import has_blas
from .primitives import Group, Loop, Number, broadcast, with_parts
from .storages import Part

__all__ = ["Forms", "apart", "can", "layout", "may_fail"]

BYTE, STATUS = ir.IntType(8), ir.IntType(32)
KNOWN = "?bBhHiIlLqQfdFD"  # dtypes, as NumPy's characters
SOURCE = hashlib.blake2b(Path(__file__).read_bytes()).hexdigest()
PRODUCT = 1 << 13  # multiplications that loops do; more are left to BLAS
UNROLLED = 16  # terms of a sum in a product that are written out
LANED, VECTOR = "fd?", 64  # dtypes of elements that are computed side by side; bytes of a vector
FREE = ("reassoc", "contract")  # of sums in products, which BLAS orders in its own way, too


def can(loop: Loop) -> bool:
    """Whether there is code for a loop."""
    parts = [loop.out, *loop.operands]
    if loop.kind == "matmul" and multiplications(loop) > PRODUCT:
        return by_blas(joined(loop)) is not None
    if loop.kind == "call" or any(p.dtype.char not in KNOWN or not p.dtype.isnative for p in parts):
        return False
    if loop.kind == "scatter" and loop.function not in ("copy", "along"):
        return loop.out.dtype.char in DTYPES.get(loop.function, "")
    if loop.kind != "map" or loop.function in ("copy", "select"):
        return True
    takes = DTYPES.get(loop.function, "")
    return loop.function in EMIT and all(d.char in takes for d in loop.dtypes[:-1])


def multiplications(loop: Loop) -> int:
    """How many there are in a product of matrices, or in a stack of them."""
    return prod(loop.out.shape) * int(loop.operands[0].shape[-1])


def by_blas(loop: Loop) -> list[int] | None:
    """The function in C for products, and what the table gives it; None where BLAS cannot."""
    out, (x, y) = loop.out, loop.operands
    *stack, m, n = out.shape
    if len(stack) > 1 or loop.function != "matmul" or not has_blas():
        return None
    strides = [s for part in (out, x, y) for s in (*[0] * (not stack), *part.strides)]
    sizes = *(stack or [1]), m, n, x.shape[-1]
    return loops.words_of_product(out.dtype.num, *sizes, *strides)  # type: ignore[no-any-return]


def may_fail(loop: Loop) -> bool:
    """Whether a loop sees indices that may be out of range."""
    return loop.kind in ("gather", "scatter")


def layout(arrays: Any) -> bytes:
    """How arrays lie, as `run_steps` in C checks it; of each, whether it is written, too."""
    facts: list[int] = []
    for array, written in arrays:
        facts += [array.dtype.num, int(written), array.ndim, *array.shape, *array.strides]
    return struct.pack(f"{len(facts)}q", *facts)


@dataclass(frozen=True)
class Open:
    """A size, a stride or a number that the table gives; as a size, more than any that is known."""

    place: int

    def __gt__(self, other: int) -> bool:
        return True

    def __le__(self, other: int) -> bool:
        return False


def with_values(item: Any, at: Callable[[Any], Any]) -> Any:
    """A loop or group with `at(value)` in place of each size, stride and floating number."""

    @cache
    def of_part(x: Part) -> Part:
        return x._replace(shape=tuple(map(at, x.shape)), strides=tuple(map(at, x.strides)))

    def of_number(x: Any) -> Any:
        return Number(at(x.text), x.dtype) if x.dtype.kind == "f" else x

    return with_parts(item, of_part, of_number)


@dataclass(eq=False)
class Form:
    """Loops that have one function: their values, but for those at places that are `free`."""

    values: list[Any]
    free: list[int]
    kind: Any  # of these loops, as `code` takes it
    address: int = 0  # once it is built

    def differs(self, values: list[Any]) -> list[int]:
        """Where values are others that may not be."""
        pairs = enumerate(zip(self.values, values, strict=True))
        return [i for i, (a, b) in pairs if a != b and i not in self.free]


class Forms:
    """The forms of the loops of a recording, and of `older` ones: NOTE [Open sizes]."""

    def __init__(self, older: dict[Any, list[Form]]) -> None:
        self.older = older  # by all but their values
        self.newer: dict[Any, list[Form]] = {}
        self.known: dict[Any, tuple[Form, list[int]]] = {}  # by loops with all that they are
        self.waiting: list[Form] = []

    def keep(self) -> None:
        """Let the recordings to come know those of this one."""
        for kind, forms in self.newer.items():
            self.older[kind] = self.older.get(kind, []) + forms

    def build(self) -> None:
        """Build the functions that are not there yet, all as one module."""
        found = machine.addresses(code, [form.kind for form in self.waiting], SOURCE)
        for form, address in zip(self.waiting, found, strict=True):
            form.address = address
        self.waiting.clear()

    def found(self, item: Any) -> tuple[Form, list[int]]:
        """The form of a kind of loop, and what the table gives its function beside parts."""
        if item not in self.known:
            self.known[item] = self.sought(joined(item))
        return self.known[item]

    def sought(self, item: Any) -> tuple[Form, list[int]]:
        """The same for a loop of as few dimensions as it can have, which was not met before."""
        large = item.kind == "matmul" and multiplications(item) > PRODUCT
        if large and (words := by_blas(item)):
            return Form([], [], None, words[0]), words[1:]
        values: list[Any] = []
        kind = with_values(item, values.append)
        older, newer = self.older.get(kind, []), self.newer.setdefault(kind, [])
        form = next((each for each in (*older, *newer) if not each.differs(values)), None)
        if form is None:
            likely = [each for each in older if one_factor(each.values, values)]
            nearest = min(likely, key=lambda each: len(each.differs(values)), default=None)
            free = [*nearest.free, *nearest.differs(values)] if nearest else []
            left = itertools.count()

            def opened(value: Any) -> Any:
                place = next(left)
                return Open(free.index(place)) if place in free else value

            form = Form(values, free, with_values(item, opened))
            self.waiting.append(form)
            newer.append(form)
        return form, [word(values[place]) for place in form.free]


def one_factor(before: list[Any], after: list[Any]) -> bool:
    """Whether the sizes and strides that differ do so by one factor."""
    pairs = zip(before, after, strict=True)
    sizes = [(a, b) for a, b in pairs if a != b and isinstance(a, int)]
    return all(a * sizes[0][1] == b * sizes[0][0] for a, b in sizes)


def word(value: Any) -> int:
    """A value as one of the table's."""
    if isinstance(value, int):
        return value
    return int(struct.unpack("q", struct.pack("d", float(value)))[0])


def code(kinds: dict[str, Any]) -> str:
    """The module of functions for kinds of loops, by their names."""
    module, innermost = ir.Module(), []
    for name, kind in kinds.items():
        innermost += Emission(module, name).write(kind)
    return parallel(module, innermost)


def apart(item: Any) -> tuple[Any, list[Part]]:
    """A loop or group whose parts are arguments, by numbers; and the parts that they are.

    The numbers of parts in registers follow on them.
    """
    parts = item.parts
    known = {part: number for number, part in enumerate(parts)}
    numbers = itertools.count()

    def at(part: Part) -> Part:
        is_group = isinstance(item, Group)
        number = known.setdefault(part, len(known)) if is_group else next(numbers)
        return Part(number, 0, *part[2:])

    return with_parts(item, at), parts


def joined(item: Any) -> Any:
    """A loop or group of no more dimensions than it needs, to which its operands are broadcast."""
    if item.kind in ("reduce", "first"):
        return reduced(item)
    if item.kind in ("gather", "scatter"):
        return item
    last = 2 if item.kind == "matmul" else 0
    parts, out = item.parts, item.loops[0].out if isinstance(item, Group) else item.out
    lead = out.shape[: len(out.shape) - last]
    strides = [broadcast(p, (*lead, *p.shape[len(p.shape) - last :])) for p in parts]
    lead, steps = collapsed(lead, [s[: len(lead)] for s in strides])
    made = {
        p: p._replace(shape=lead + p.shape[len(p.shape) - last :], strides=own + s[len(s) - last :])
        for p, s, own in zip(parts, strides, steps, strict=True)
    }  # fmt: skip
    return with_parts(item, lambda p: made.get(p) or p._replace(shape=lead, strides=()))


def reduced(loop: Loop) -> Loop:
    """A reduction whose operand has the dimensions of the result, and then those that go."""
    out, (x,) = loop.out, loop.operands
    kept = [d for d in range(len(x.shape)) if d not in loop.axes]
    if len(out.shape) == len(x.shape):
        towards = [out.strides[d] for d in kept]
    elif len(out.shape) == len(kept):
        towards = list(out.strides)
    else:
        towards = [0] * len(kept)
    along = tuple([x.shape[d] for d in loop.axes])
    steps = tuple([x.strides[d] for d in loop.axes])
    if loop.kind == "reduce":  # else the order of elements counts
        along, (steps,) = collapsed(along, [steps])
    shape, (towards, rows) = collapsed(
        [x.shape[d] for d in kept], [towards, [x.strides[d] for d in kept]]
    )
    return loop._replace(
        out=out._replace(shape=shape, strides=towards),
        operands=(x._replace(shape=shape + along, strides=rows + steps),),
        axes=tuple(range(len(shape), len(shape) + len(along))),
    )


class Emission:
    """Writes a function."""

    def __init__(self, module: Any, name: str) -> None:
        self.function = ir.Function(module, ir.FunctionType(STATUS, [POINTER, POINTER]), name)
        self.innermost: list[Innermost] = []
        self.lanes = 0

    def write(self, loop: Any) -> list[Innermost]:
        """Write the function of a kind of loop; the loops in it that LLVM may make vectors of."""
        self.ordered = may_fail(loop)  # whether the loop's turns may meet
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.starts = [self.start(part) for part in range(len(loop.parts))]
        self.open: dict[Open, Any] = {}
        with_values(loop, self.enter)
        self.b.ret(getattr(self, loop.kind)(loop) or STATUS(0))
        return self.innermost

    def start(self, part: int) -> Any:
        """Where a part begins."""
        place = self.b.gep(self.function.args[0], [LONG(part)], source_etype=POINTER)
        return self.b.load(place, typ=POINTER)

    def enter(self, value: Any) -> None:
        """Read an open value."""
        if isinstance(value, Open):
            at = [LONG(value.place)]
            place = self.b.gep(self.function.args[1], at, source_etype=LONG)
            self.open[value] = self.b.load(place, typ=LONG)

    def long(self, value: Any) -> Any:
        """A size, a stride or an index."""
        return LONG(value) if isinstance(value, int) else self.open.get(value, value)

    # -- memory ----------------------------------------------------------------------------------

    def at(self, part: Part, index: Any) -> Any:
        """The address of an element: `index` has a value and a stride for each dimension."""
        fixed, place = part.offset, None
        for i, stride in index:
            if isinstance(i, int) and isinstance(stride, int):
                fixed += i * stride
            elif i != 0 and stride != 0:
                step = self.b.mul(self.long(i), self.long(stride))
                place = step if place is None else self.b.add(place, step)
        return self.beyond(self.beyond(self.starts[part.storage], fixed), place)

    def beyond(self, address: Any, count: Any) -> Any:
        """The address so many bytes later; the same for 0 or None."""
        return self.b.gep(address, [self.long(count)], source_etype=BYTE) if count else address

    def load(self, part: Any, index: Any) -> Any:
        """An element, or `lanes` of them side by side."""
        if isinstance(part, Number):
            if not isinstance(part.text, Open):
                return splat(constant(self.b, part.text, part.dtype), self.lanes)
            held = self.b.bitcast(self.open[part.text], ir.DoubleType())
            found = convert(Value(self.b, held, np.dtype(np.float64)), part.dtype)
            return splat(found, self.lanes)
        address = self.at(part, index)
        if part.dtype.kind == "c":
            half = np.dtype(f"f{part.dtype.itemsize // 2}")
            return Complex(*[self.loaded(address, half, i) for i in (0, 1)])
        if self.lanes and not index[-1][1]:  # one for all
            return splat(self.loaded(address, part.dtype, 0), self.lanes)
        return self.loaded(address, part.dtype, 0, self.lanes)

    def loaded(self, address: Any, dtype: Any, i: int, lanes: int = 0) -> Value:
        kind = ir_type(np.dtype(np.uint8) if dtype == BOOL else dtype, lanes)
        place = self.beyond(address, i * dtype.itemsize)
        held = self.b.load(place, align=dtype.itemsize, typ=kind)
        if dtype == BOOL:
            held = self.b.icmp_unsigned("!=", held, ir.Constant(kind, None))
        return Value(self.b, held, dtype)

    def store(self, part: Part, index: Any, value: Any) -> None:
        """Write an element."""
        address = self.at(part, index)
        parts = (value.real, value.imag) if isinstance(value, Complex) else (value,)
        for i, x in enumerate(parts):
            own = ir_type(np.dtype(np.uint8), x.lanes)
            held = self.b.zext(x.ir, own) if x.dtype == BOOL else x.ir
            place = self.beyond(address, i * x.dtype.itemsize)
            self.b.store(held, place, align=x.dtype.itemsize)

    # -- loops -----------------------------------------------------------------------------------

    def loop(self, count: Any, each: Any, start: Any = (), lanes: int = 0) -> Any:
        """Do something for each index below `count`, carrying values; what they are in the end.

        With `lanes` it is done for so many at once: NOTE [Lanes].
        """
        if lanes:
            whole, rest = divmod(count, lanes)
            for self.lanes, first, turns in ((lanes, 0, whole), (rest, whole * lanes, 1)):
                if self.lanes and turns:
                    self.loop(turns, partial(self.side_by_side, each, first))
            self.lanes = 0
            return None
        if count == 1:
            return each(0, list(start))
        before = self.b.block
        block = self.function.append_basic_block("loop")
        end = self.function.append_basic_block("end")
        self.b.branch(block)
        self.b.position_at_end(block)
        index = self.b.phi(LONG)
        index.add_incoming(LONG(0), before)
        carried = []
        for value in start:
            phi = self.b.phi(value.type)
            phi.add_incoming(value, before)
            carried.append(phi)
        found = each(index, list(carried))
        after = self.b.add(index, LONG(1))
        index.add_incoming(after, self.b.block)
        for phi, value in zip(carried, found or (), strict=True):
            phi.add_incoming(value, self.b.block)
        more = self.b.icmp_signed("<", after, self.long(count))
        branch = self.b.cbranch(more, block, end)
        if self.b.block is block and not start and not self.ordered:
            self.innermost.append(Innermost(before, block, branch))
        self.b.position_at_end(end)
        return found

    def side_by_side(self, each: Any, first: int, index: Any, carried: Any) -> None:
        """Do something for the elements of a turn, from the place of its first."""
        each(first + index * self.lanes if isinstance(index, int)
             else self.b.mul(index, LONG(self.lanes)), carried)  # fmt: skip

    def nest(self, shape: Any, strides: Any, each: Any, lanes: int = 0) -> None:
        """Do something for each element: `each` is given, for each operand, index and stride."""

        def inner(place: Any, carried: Any) -> None:
            each([[(i, s[d]) for i, d in place] for s in strides])

        self.carry(shape, range(len(shape)), inner, lanes=lanes)

    def map(self, loop: Loop) -> None:
        """A function of each element."""
        out, operands = loop.out, loop.operands
        strides = [broadcast(p, out.shape) for p in (out, *operands)]

        def each(indices: Any) -> None:
            values = [self.load(p, i) for p, i in zip(operands, indices[1:], strict=True)]
            self.store(out, indices[0], computed(loop, values))

        self.nest(out.shape, strides, each, lanes_of([loop], (out, *operands), strides))

    def group(self, group: Group) -> None:
        """Functions of each element, one after the other."""
        parts = group.parts

        def each(indices: Any) -> None:
            places = dict(zip(parts, indices, strict=True))
            known: dict[Any, Any] = {}  # the values of parts and numbers
            made: dict[Any, Any] = {}  # what came of values, which are not computed twice

            def value(operand: Any) -> Any:
                if operand not in known:
                    known[operand] = self.load(operand, places.get(operand))
                return known[operand]

            for loop, stored in zip(group.loops, group.stored, strict=True):
                values = list(map(value, loop.operands))
                kind = loop.function, loop.dtypes, loop.out.dtype, *map(id, values)
                if kind not in made:
                    made[kind] = computed(loop, values), values
                known[loop.out], _ = made[kind]
                if stored:
                    self.store(loop.out, places[loop.out], known[loop.out])

        strides = [p.strides for p in parts]
        self.nest(group.loops[0].out.shape, strides, each, lanes_of(group.loops, parts, strides))

    def reduce(self, loop: Loop) -> None:
        """A sum, a product, a maximum, a minimum, all or any along axes."""
        out, (x,) = loop.out, loop.operands

        def each(place: Any, row: Any, along: Any, steps: Any) -> None:
            found = self.total(loop.function, x, row, along, steps, out.dtype)
            self.store(out, place, found)

        self.rows(loop, each)

    def first(self, loop: Loop) -> None:
        """Where the largest or the smallest element stands first; NaN is both."""
        out, (x,) = loop.out, loop.operands
        larger = "<" if loop.function == "argmin" else ">"

        def each(place: Any, row: Any, along: Any, steps: Any) -> None:
            start = self.load(x, [*row, *[(0, s) for s in steps]])

            def better(index: Any, carried: Any) -> Any:
                value, best = self.load(x, [*row, *index]), Value(self.b, carried[0], x.dtype)
                if x.dtype.kind == "f":
                    more = self.b.fcmp_ordered(larger, value.ir, best.ir)
                    unseen = self.b.fcmp_ordered("ord", best.ir, best.ir)
                    nan = self.b.fcmp_unordered("uno", value.ir, value.ir)
                    more = self.b.or_(more, self.b.and_(nan, unseen))
                elif x.dtype.kind == "i":
                    more = self.b.icmp_signed(larger, value.ir, best.ir)
                else:
                    more = self.b.icmp_unsigned(larger, value.ir, best.ir)
                number = carried[2]
                return [
                    self.b.select(more, value.ir, carried[0]),
                    self.b.select(more, number, carried[1]),
                    self.b.add(number, LONG(1)),
                ]

            found = self.carry(along, steps, better, [start.ir, LONG(0), LONG(0)])
            self.store(out, place, convert(Value(self.b, found[1], np.dtype(np.int64)), out.dtype))

        self.rows(loop, each)

    def rows(self, loop: Loop, do: Any) -> None:
        """Do something for each element of a reduction, given its row."""
        out, (x,) = loop.out, loop.operands
        kept = len(out.shape)

        def each(indices: Any) -> None:
            do(*indices, x.shape[kept:], x.strides[kept:])

        self.nest(out.shape, [out.strides, x.strides[:kept]], each)

    def total(self, function: str, x: Part, row: Any, along: Any, steps: Any, dtype: Any) -> Any:
        """One element of a reduction."""
        if function != "add" or dtype.kind not in "fc":
            return self.folded(function, x, row, along, steps, dtype)
        real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        many = 2 if dtype.kind == "c" else 1
        wide = np.dtype(np.float64)
        zero = ir.Constant(ir.DoubleType(), 0.0)

        def added(index: Any, carried: Any) -> Any:
            value = convert(self.load(x, [*row, *index]), dtype)
            terms = (value.real, value.imag) if many == 2 else (value,)
            sums = []
            for k, term in enumerate(terms):
                if real == wide:
                    sums += self.added_exactly(carried[2 * k], carried[2 * k + 1], term.ir)
                else:
                    sums.append(self.b.fadd(carried[k], convert(term, wide).ir))
            return sums

        count = many * (2 if real == wide else 1)
        found = self.carry(along, steps, added, [zero] * count)
        if real == wide:
            found = [self.b.fadd(found[2 * k], found[2 * k + 1]) for k in range(many)]
        values = [convert(Value(self.b, f, wide), real) for f in found]
        return Complex(*values) if many == 2 else values[0]

    def folded(self, function: str, x: Part, row: Any, along: Any, steps: Any, dtype: Any) -> Any:
        """One element of a reduction in the dtype that it gives, element by element."""

        def parts(value: Any) -> list[Any]:
            return [value.real.ir, value.imag.ir] if isinstance(value, Complex) else [value.ir]

        def value(held: Any) -> Any:
            if dtype.kind != "c":
                return Value(self.b, held[0], dtype)
            half = np.dtype(f"f{dtype.itemsize // 2}")
            return Complex(*[Value(self.b, part, half) for part in held])

        # the first element, and all: what is the same twice needs no start
        same_twice = function in ("maximum", "minimum", "logical_and", "logical_or")
        start = convert(self.load(x, [*row, *[(0, s) for s in steps]]), dtype)
        if not same_twice:
            start = start.number(0 if function == "add" else 1)

        def each(index: Any, carried: Any) -> Any:
            found = convert(self.load(x, [*row, *index]), dtype)
            return parts(EMIT[function](value(carried), found))

        return value(self.carry(along, steps, each, parts(start)))

    def added_exactly(self, total: Any, left: Any, term: Any) -> list[Any]:
        """A sum, and what its rounding has left so far."""
        b = self.b
        made = b.fadd(total, term)
        part = b.fsub(made, total)
        lost = b.fadd(b.fsub(total, b.fsub(made, part)), b.fsub(term, part))
        # beyond all numbers nothing is lost
        finite = b.fcmp_ordered("==", lost, lost)
        lost = b.select(finite, lost, ir.Constant(ir.DoubleType(), 0.0))
        return [made, b.fadd(left, lost)]

    def carry(
        self, shape: Any, steps: Any, each: Any, start: Any = (), index: Any = (), lanes: int = 0
    ) -> Any:
        """Carry values through all elements of a row."""
        if not shape:
            return each(list(index), start)
        return self.loop(
            shape[0],
            lambda i, carried: self.carry(
                shape[1:], steps[1:], each, carried, (*index, (i, steps[0])), lanes
            ),
            start,
            lanes * (len(shape) == 1),
        )

    # -- elements by indices ---------------------------------------------------------------------

    def gather(self, loop: Loop) -> Any:
        """Elements of the first operand at indices: whether one was out of range."""
        out, (x, *indices) = loop.out, loop.operands
        return self.indexed(loop, out.shape, x, indices, lambda place, at: self.store(
            out, [(i, s) for i, s in zip(place, out.strides, strict=True)], self.load(x, at)
        ))  # fmt: skip

    def scatter(self, loop: Loop) -> Any:
        """The first operand written, or combined with what is there, at indices."""
        out, (values, *indices) = loop.out, loop.operands

        def write(place: Any, at: Any) -> None:
            value = self.load(values, list(zip(place, values.strides, strict=True)))
            if loop.function not in ("copy", "along"):
                value = EMIT[loop.function](self.load(out, at), value)
            self.store(out, at, value)

        return self.indexed(loop, values.shape, out, indices, write)

    def indexed(self, loop: Loop, shape: Any, x: Part, indices: Any, do: Any) -> Any:
        """Do something with each place of `shape` and that in `x` to which indices lead."""
        bad = self.b.alloca(STATUS)
        self.b.store(STATUS(0), bad)
        along = loop.function == "along"
        first, count, *dims = (0, len(shape), *loop.axes) if along else loop.axes

        def found(part: Part, dim: int, place: Any) -> Any:
            index = self.load(part, list(zip(place, part.strides, strict=True)))
            size = self.long(x.shape[dim])
            number = convert(index, np.dtype(np.int64)).ir
            low = self.b.icmp_signed("<", number, LONG(0))
            number = self.b.select(low, self.b.add(number, size), number)
            right = self.b.icmp_unsigned("<", number, size)
            wrong = self.b.or_(
                self.b.load(bad, typ=STATUS), self.b.zext(self.b.not_(right), STATUS)
            )
            self.b.store(wrong, bad)
            return self.b.select(right, number, LONG(0))

        def each(place: Any) -> None:
            middle = place[first : first + count]
            chosen = {d: found(p, d, middle) for d, p in zip(dims, indices, strict=True)}
            rest = list(place) if along else [*place[:first], *place[first + count :]]
            at = []
            for dim, stride in enumerate(x.strides):
                if along:
                    at.append((chosen.get(dim, rest[dim]), stride))
                else:
                    at.append((chosen[dim] if dim in chosen else rest.pop(0), stride))
            do(place, at)

        self.nest(shape, [(0,) * len(shape)], lambda place: each([i for i, _ in place[0]]))
        return self.b.load(bad, typ=STATUS)

    # -- products --------------------------------------------------------------------------------

    def matmul(self, loop: Loop) -> None:
        """Products of matrices, in stacks."""
        out, (x, y) = loop.out, loop.operands
        rows, columns = out.shape[-2:]
        beside = y.strides[-1] == y.dtype.itemsize and out.strides[-1] == out.dtype.itemsize
        one = self.complex_dot if x.dtype.kind == "c" else self.dot

        def stack(indices: Any) -> None:
            def each(i: Any, carried: Any) -> None:
                self.loop(columns, lambda j, carried: one(loop, indices, i, j))

            if beside and columns > 1 and x.dtype.kind == "f":
                self.loop(rows, lambda i, carried: self.row(loop, indices, i))
            else:
                self.loop(rows, each)

        self.nest(out.shape[:-2], [p.strides[:-2] for p in (out, x, y)], stack)

    def row(self, loop: Loop, stack: Any, i: Any) -> None:
        """A row of a product, as a sum of rows."""
        out, (x, y) = loop.out, loop.operands
        to, left, right = stack
        zero = Value(self.b, ir.Constant(ir_type(x.dtype), 0.0), out.dtype)
        columns, lanes = out.shape[-1], lanes_of([], (out, y), [out.strides, y.strides])

        def place(j: Any) -> Any:
            return [*to, (i, out.strides[-2]), (j, out.strides[-1])]

        if x.shape[-1] <= UNROLLED:
            factors = [self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])
                       for k in range(x.shape[-1])]  # fmt: skip

            def whole(j: Any, carried: Any) -> None:
                total = splat(zero, self.lanes).ir
                for k, a in enumerate(factors):
                    c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
                    term = self.b.fmul(splat(a, self.lanes).ir, c.ir, flags=FREE)
                    total = self.b.fadd(total, term, flags=FREE)
                self.store(out, place(j), Value(self.b, total, out.dtype))

            self.loop(columns, whole, lanes=lanes)
            return

        def step(k: Any, carried: Any) -> None:
            a = self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])

            def each(j: Any, carried: Any) -> None:
                c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
                term = self.b.fmul(splat(a, self.lanes).ir, c.ir, flags=FREE)
                total = self.b.fadd(self.load(out, place(j)).ir, term, flags=FREE)
                self.store(out, place(j), Value(self.b, total, out.dtype))

            self.loop(columns, each, lanes=lanes)

        def clear(j: Any, carried: Any) -> None:
            self.store(out, place(j), splat(zero, self.lanes))

        self.loop(columns, clear, lanes=lanes)
        self.loop(x.shape[-1], step)

    def dot(self, loop: Loop, stack: Any, i: Any, j: Any) -> None:
        """One element of a product of reals."""
        out, (x, y) = loop.out, loop.operands
        to, left, right = stack

        def each(k: Any, carried: Any) -> Any:
            a = self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])
            c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
            return [self.b.fadd(carried[0], self.b.fmul(a.ir, c.ir, flags=FREE), flags=FREE)]

        found = [ir.Constant(ir_type(x.dtype), 0.0)]
        if x.shape[-1] <= UNROLLED:
            for k in range(x.shape[-1]):
                found = each(k, found)
        else:
            found = self.loop(x.shape[-1], each, found)
        place = [*to, (i, out.strides[-2]), (j, out.strides[-1])]
        self.store(out, place, Value(self.b, found[0], out.dtype))

    def complex_dot(self, loop: Loop, stack: Any, i: Any, j: Any) -> None:
        """One element of a product of complex numbers; "vdot" conjugates the first."""
        out, (x, y) = loop.out, loop.operands
        to, left, right = stack
        half = np.dtype(f"f{x.dtype.itemsize // 2}")

        def each(k: Any, carried: Any) -> Any:
            a = self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])
            c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
            term = (Complex(a.real, -a.imag) if loop.function == "vdot" else a) * c
            parts = zip(carried, (term.real, term.imag), strict=True)
            return [self.b.fadd(held, part.ir, flags=FREE) for held, part in parts]

        zero = ir.Constant(ir_type(half), 0.0)
        found = self.loop(x.shape[-1], each, [zero, zero])
        place = [*to, (i, out.strides[-2]), (j, out.strides[-1])]
        self.store(out, place, Complex(*[Value(self.b, f, half) for f in found]))


def lanes_of(loops: Any, parts: Any, strides: Any) -> int:
    """How many elements loops over parts of memory compute side by side, 0: NOTE [Lanes]."""
    dtypes = [p.dtype for p in parts] + [d for x in loops for d in (x.out.dtype, *x.dtypes)]
    last = parts[0].shape[-1] if parts[0].shape else 0
    outs = {x.out for x in loops}
    if (
        not isinstance(last, int)
        or last < 2
        or any(dtype.char not in LANED for dtype in dtypes)
        or not WITHOUT_VECTORS.isdisjoint([x.function for x in loops])
        or any(
            steps[-1] != part.dtype.itemsize and (steps[-1] != 0 or part in outs)
            for part, steps in zip(parts, strides, strict=True)
        )
    ):
        return 0
    return VECTOR // max(int(dtype.itemsize) for dtype in dtypes)


def computed(loop: Loop, values: list[Any]) -> Any:
    """One element of a map."""
    values = [convert(v, d) for v, d in zip(values, loop.dtypes, strict=False)]
    if loop.function == "copy":
        found = values[0]
    elif loop.function == "select":
        found = select(*values)
    else:
        found = EMIT[loop.function](*values)
    return convert(found, loop.out.dtype)


def collapsed(shape: Any, strides: Any) -> tuple[Any, Any]:
    """Dimensions as few as they can be: those of size 1 go, those that follow each other join."""
    dims = [d for d, n in enumerate(shape) if n != 1]
    sizes = [shape[d] for d in dims]
    steps = [[s[d] for d in dims] for s in strides]
    d = len(sizes) - 1
    while d > 0:
        if all(s[d - 1] == s[d] * sizes[d] for s in steps):
            sizes[d - 1] *= sizes[d]
            for s in steps:
                s[d - 1] = s[d]
                del s[d]
            del sizes[d]
        d -= 1
    return tuple(sizes), [tuple(s) for s in steps]
