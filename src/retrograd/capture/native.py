"""From lowered loops to LLVM's code: one function `void name(char **arrays, char *arena)`.

Sizes and strides are numbers in the code, so the loops of small arrays are unrolled or run in
vectors, one after the other, and nothing is between them. Loops of one kind are one function. A
part lies in array `i` of the first argument, or at an offset of the arena; which of the two, and
where, its storage says: ("array", i, offset of the array in it) or ("arena", offset).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from llvmlite import ir

from ..compiler import machine
from ..compiler.emission import LONG, POINTER, constant, parallel
from ..compiler.emission import Loop as Innermost
from ..compiler.mathematics import DTYPES, EMIT
from ..compiler.values import BOOL, Complex, Value, convert, ir_type, select
from .lowering import Loop, Number
from .storages import Part

__all__ = ["address", "can", "layout"]

BYTE = ir.IntType(8)
KNOWN = "?bBhHiIlLqQfdFD"  # dtypes, as NumPy's characters
FREE = ("reassoc", "contract")  # of sums in products, which BLAS orders in its own way, too


def can(loop: Loop) -> bool:
    """Whether there is code for a loop."""
    parts = [loop.out, *loop.operands]
    if any(p.dtype.char not in KNOWN or not p.dtype.isnative for p in parts):
        return False
    if loop.kind != "map" or loop.function in ("copy", "select"):
        return True
    takes = DTYPES.get(loop.function, "")
    return loop.function in EMIT and all(d.char in takes for d in loop.dtypes[:-1])


def layout(arrays: Any) -> bytes:
    """How arrays lie, as `run_steps` in C checks it; of each, whether it is written, too."""
    facts: list[int] = []
    for array, written in arrays:
        facts += [array.dtype.num, int(written), array.ndim, *array.shape, *array.strides]
    return struct.pack(f"{len(facts)}q", *facts)


def address(loops: tuple[Loop, ...]) -> int:
    """Where the native function of some loops is."""
    return machine.address(code, loops)


def code(loops: tuple[Loop, ...], name: str) -> str:
    """The module of the function."""
    return Emission(name).code(loops)


def apart(loop: Loop) -> tuple[Loop, list[Part]]:
    """A loop whose parts are arguments, the first numbered 0; and the parts that they are."""
    parts: list[Part] = []

    def at(part: Any) -> Any:
        if not isinstance(part, Part):
            return part
        parts.append(part)
        return part._replace(storage=len(parts) - 1, offset=0)

    out = at(loop.out)
    return loop._replace(out=out, operands=tuple(map(at, loop.operands))), parts


class Emission:
    """Writes the function, which calls one for each kind of loop that there is."""

    def __init__(self, name: str) -> None:
        self.module = ir.Module(name)
        self.name = name
        self.loops: dict[str, Any] = {}  # functions, by their loops
        self.innermost: list[Innermost] = []

    def code(self, loops: tuple[Loop, ...]) -> str:
        """The text of the module."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER, POINTER])
        main = ir.Function(self.module, kind, self.name)
        self.entry = ir.IRBuilder(main.append_basic_block("entry"))
        self.bases: dict[Any, Any] = {}
        calls = []
        for loop in loops:
            general, parts = apart(loop)
            function = self.loops.get(str(general))
            if function is None:
                function = self.loops[str(general)] = self.emitted(general, len(parts))
            calls.append((function, parts))
        for function, parts in calls:
            self.entry.call(function, [self.where(main, part) for part in parts])
        self.entry.ret_void()
        return parallel(self.module, self.innermost)

    def where(self, main: Any, part: Part) -> Any:
        """Where a part begins."""
        kind, number, *offset = part.storage
        if part.storage not in self.bases:
            if kind == "arena":
                self.bases[part.storage] = main.args[1]
            else:
                at = self.entry.gep(main.args[0], [LONG(number)], source_etype=POINTER)
                self.bases[part.storage] = self.entry.load(at, typ=POINTER)
        fixed = part.offset + (number if kind == "arena" else -offset[0])
        return self.entry.gep(self.bases[part.storage], [LONG(fixed)], source_etype=BYTE)

    def emitted(self, loop: Loop, count: int) -> Any:
        """The function of one loop."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * count)
        self.function = ir.Function(self.module, kind, f"{self.name}_{len(self.loops)}")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        getattr(self, loop.kind)(loop)
        self.b.ret_void()
        return self.function

    # -- memory ----------------------------------------------------------------------------------

    def at(self, part: Part, index: Any) -> Any:
        """The address of an element: `index` has a value and a stride for each dimension."""
        fixed, place = part.offset, None
        for i, stride in index:
            if isinstance(i, int):
                fixed += i * stride
            elif stride:
                step = self.b.mul(i, LONG(stride))
                place = step if place is None else self.b.add(place, step)
        start = self.b.gep(self.function.args[part.storage], [LONG(fixed)], source_etype=BYTE)
        return start if place is None else self.b.gep(start, [place], source_etype=BYTE)

    def load(self, part: Any, index: Any, lanes: int = 0) -> Any:
        """An element, or some of them side by side."""
        if isinstance(part, Number):
            return constant(self.b, part.text, part.dtype)
        address = self.at(part, index)
        if part.dtype.kind == "c":
            half = np.dtype(f"f{part.dtype.itemsize // 2}")
            return Complex(*[self.loaded(address, half, i) for i in (0, 1)])
        return self.loaded(address, part.dtype, 0, lanes)

    def loaded(self, address: Any, dtype: Any, i: int, lanes: int = 0) -> Value:
        kind = BYTE if dtype == BOOL else ir_type(dtype, lanes)
        place = self.b.gep(address, [LONG(i * dtype.itemsize)], source_etype=BYTE)
        held = self.b.load(place, align=dtype.itemsize, typ=kind)
        if dtype == BOOL:
            held = self.b.icmp_unsigned("!=", held, BYTE(0))
        return Value(self.b, held, dtype)

    def store(self, part: Part, index: Any, value: Any) -> None:
        """Write an element."""
        address = self.at(part, index)
        parts = (value.real, value.imag) if isinstance(value, Complex) else (value,)
        for i, x in enumerate(parts):
            held = self.b.zext(x.ir, BYTE) if x.dtype == BOOL else x.ir
            place = self.b.gep(address, [LONG(i * x.dtype.itemsize)], source_etype=BYTE)
            self.b.store(held, place, align=x.dtype.itemsize)

    # -- loops -----------------------------------------------------------------------------------

    def loop(self, count: int, each: Any, start: Any = ()) -> Any:
        """Do something for each index below `count`, carrying values; what they are in the end."""
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
        more = self.b.icmp_signed("<", after, LONG(count))
        branch = self.b.cbranch(more, block, end)
        if self.b.block is block and not start:
            self.innermost.append(Innermost(before, block, branch))
        self.b.position_at_end(end)
        return found

    def nest(self, shape: Any, strides: Any, each: Any, indices: Any = ()) -> None:
        """Do something for each element: `each` is given, for each operand, index and stride."""
        if not shape:
            each([[(i, s[d]) for d, i in enumerate(indices)] for s in strides])
            return

        def inner(index: Any, carried: Any) -> Any:
            self.nest(shape[1:], strides, each, (*indices, index))

        self.loop(shape[0], inner)

    def map(self, loop: Loop) -> None:
        """A function of each element."""
        out, operands = loop.out, loop.operands
        every = [out, *operands]
        strides = [broadcast(p, out.shape) for p in every]
        shape, strides = collapsed(out.shape, strides)

        def each(indices: Any) -> None:
            values = [self.load(p, i) for p, i in zip(operands, indices[1:], strict=True)]
            values = [convert(v, d) for v, d in zip(values, loop.dtypes, strict=False)]
            if loop.function == "copy":
                found = values[0]
            elif loop.function == "select":
                found = select(*values)
            else:
                found = EMIT[loop.function](*values)
            self.store(out, indices[0], convert(found, out.dtype))

        self.nest(shape, strides, each)

    def reduce(self, loop: Loop) -> None:
        """A sum, a maximum or a minimum along axes."""
        out, (x,) = loop.out, loop.operands
        axes = loop.axes
        kept = [d for d in range(len(x.shape)) if d not in axes]
        long = [s for s, n in zip(out.strides, out.shape, strict=True) if n > 1]
        if len(out.shape) == len(x.shape):
            towards = [out.strides[d] for d in kept]
        elif len(out.shape) == len(kept):
            towards = list(out.strides)
        else:
            assert not long
            towards = [0] * len(kept)
        shape = tuple([x.shape[d] for d in kept])
        along = tuple([x.shape[d] for d in axes])
        steps = [x.strides[d] for d in axes]
        (along, (steps,)) = collapsed(along, [tuple(steps)])
        (shape, (towards, rows)) = collapsed(
            shape, [tuple(towards), tuple([x.strides[d] for d in kept])]
        )

        def each(indices: Any) -> None:
            self.store(out, indices[0], self.total(loop.function, x, indices[1], along, steps))

        self.nest(shape, [towards, rows], each)

    def total(self, function: str, x: Part, row: Any, along: Any, steps: Any) -> Any:
        """One element of a reduction."""
        real = np.dtype(f"f{x.dtype.itemsize // 2}") if x.dtype.kind == "c" else x.dtype
        many = 2 if x.dtype.kind == "c" else 1
        wide = np.dtype(np.float64)
        if function != "add":
            first = self.load(x, [*row, *[(0, s) for s in steps]])

            def larger(index: Any, carried: Any) -> Any:
                value = self.load(x, [*row, *index])
                return [EMIT[function](Value(self.b, carried[0], x.dtype), value).ir]

            return Value(self.b, self.carry(along, steps, larger, [first.ir])[0], x.dtype)

        zero = ir.Constant(ir.DoubleType(), 0.0)

        def added(index: Any, carried: Any) -> Any:
            value = self.load(x, [*row, *index])
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

    def carry(self, shape: Any, steps: Any, each: Any, start: Any, index: Any = ()) -> Any:
        """Carry values through all elements of a row."""
        if not shape:
            return each(list(index), start)
        return self.loop(
            shape[0],
            lambda i, carried: self.carry(
                shape[1:], steps[1:], each, carried, (*index, (i, steps[0]))
            ),
            start,
        )

    def matmul(self, loop: Loop) -> None:
        """Products of matrices, in stacks."""
        out, (x, y) = loop.out, loop.operands
        lead = out.shape[:-2]
        stacks = [(*broadcast(p, (*lead, *p.shape[-2:]))[:-2],) for p in (out, x, y)]
        rows, columns, inner = out.shape[-2], out.shape[-1], x.shape[-1]
        beside = y.strides[-1] == y.dtype.itemsize and out.strides[-1] == out.dtype.itemsize

        def stack(indices: Any) -> None:
            to, left, right = indices

            def dot(i: Any, j: Any) -> Any:
                def each(k: Any, carried: Any) -> Any:
                    a = self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])
                    c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
                    term = self.b.fmul(a.ir, c.ir, flags=FREE)
                    return [self.b.fadd(carried[0], term, flags=FREE)]

                zero = ir.Constant(ir_type(x.dtype), 0.0)
                found = self.loop(inner, each, [zero])[0]
                place = [*to, (i, out.strides[-2]), (j, out.strides[-1])]
                self.store(out, place, Value(self.b, found, out.dtype))

            def row(i: Any) -> None:
                def clear(j: Any, carried: Any) -> None:
                    zero = Value(self.b, ir.Constant(ir_type(x.dtype), 0.0), out.dtype)
                    self.store(out, [*to, (i, out.strides[-2]), (j, out.strides[-1])], zero)

                def step(k: Any, carried: Any) -> None:
                    a = self.load(x, [*left, (i, x.strides[-2]), (k, x.strides[-1])])

                    def each(j: Any, carried: Any) -> None:
                        place = [*to, (i, out.strides[-2]), (j, out.strides[-1])]
                        c = self.load(y, [*right, (k, y.strides[-2]), (j, y.strides[-1])])
                        term = self.b.fmul(a.ir, c.ir, flags=FREE)
                        before = self.load(out, place)
                        total = self.b.fadd(before.ir, term, flags=FREE)
                        self.store(out, place, Value(self.b, total, out.dtype))

                    self.loop(columns, each)

                self.loop(columns, clear)
                self.loop(inner, step)

            if beside and columns > 1:
                self.loop(rows, lambda i, carried: row(i))
            else:
                self.loop(rows, lambda i, carried: self.loop(columns, lambda j, c: dot(i, j)))

        self.nest(lead, stacks, stack)


def broadcast(part: Any, shape: Any) -> tuple[int, ...]:
    """The strides of a part, broadcast to a shape."""
    if isinstance(part, Number):
        return (0,) * len(shape)
    missing = len(shape) - len(part.shape)
    own = [s if n > 1 else 0 for s, n in zip(part.strides, part.shape, strict=True)]
    return (0,) * missing + tuple(own)


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
