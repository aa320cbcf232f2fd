"""From a program to LLVM's code: what all kernels share, and those of elementwise programs.

An elementwise kernel is a C function `void name(char **pointers, int64_t n)`. The pointers lead to
the inputs, then to the outputs: n elements of each, side by side. Of an input that is a number
there is one element, for all.

NOTE [Parallel accesses]
The loop says of its loads and stores that those of different elements never meet. So LLVM needs no
check of overlaps to make vectors of it, also where an output is written over an input. This is
right as long as an output is either the very memory of an input, or apart from all of them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir

from .abstract import WITHOUT_VECTORS
from .mathematics import DTYPES, EMIT
from .plan import plan
from .program import ALL, OUTER, REDUCTIONS, along, broadcast
from .values import BOOL, Complex, Value, assuming, convert, ir_type, select, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Call, Program

    Read = Callable[[int], Any]

__all__ = ["LONG", "POINTER", "WORD", "Writer", "code", "loaded", "stored", "unknown"]

WIDEST = '"prefer-vector-width"="512"'  # where there are vectors so long
BIT, BYTE, WORD, LONG = (ir.IntType(width) for width in (1, 8, 32, 64))
POINTER = ir.PointerType()
# vectors of elements computed side by side, each a long chain of instructions that wait for one
# another; of programs of some calls, in longer ones there is enough to do between them
INTERLEAVED, SOME = 4, 16
INPUTS, VALUES = "?fdFD", "?bBhHiIlLqQfdFD"  # dtypes, as NumPy's characters
STRUCTURE = {
    "input": None,
    "cast": None,
    "constant": None,
    "broadcast": lambda x: x,
    "select": select,
    "complex": Complex,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
}


def unknown(program: Program, rows: bool = False) -> str:
    """The first call that there is no code for, with its dtypes; "" where there is code for all.

    In kernels of `rows`, inputs are real, and mathematics is in vectors.
    """
    read = "fd" if rows else INPUTS
    for call in program.calls:
        taken = [program.dtype(i) for i in call.operands]
        takes = DTYPES.get(call.function, "")
        plain = call.function in STRUCTURE or all(dtype.char in takes for dtype in taken)
        if rows:
            plain = call.function in REDUCTIONS or (plain and call.function not in WITHOUT_VECTORS)
        if call.function == "input" and call.dtype not in read:
            return f"an input of {np.dtype(call.dtype)}"
        if call.dtype not in VALUES or not plain:
            return f"{call.name}({', '.join(map(str, taken))}) -> {np.dtype(call.dtype)}"
    return ""


class Elements(dict[int, Any]):
    """Values of one element, or of a vector of them; a number of the row is that of all."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer

    def __missing__(self, value: int) -> Any:
        self[value] = found = self.writer.splat(self.writer.known[value])
        return found


class Writer:
    """Writes a kernel: a module of one function, which takes `arguments`.

    It computes a row's elements `lanes` at once, as vectors; with 0, one at a time.
    """

    def __init__(self, program: Program, name: str, arguments: Sequence[Any], lanes: int) -> None:
        self.calls, self.outputs, self.lanes = program.calls, program.outputs, lanes
        self.plan = plan(program)
        self.dtypes = [*map(program.dtype, (*program.inputs, *program.outputs))]
        self.operands = {value: i for i, value in enumerate(program.inputs)}  # outputs follow
        self.module = ir.Module(name)
        kind = ir.FunctionType(ir.VoidType(), arguments)
        self.function = ir.Function(self.module, kind, name)
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b = self.entry
        self.known: dict[int, Any] = {}  # numbers of the row
        self.inverses: dict[int, tuple[Value, Value]] = {}  # of those that are divided by

    def splat(self, x: Any) -> Any:
        """A vector of one number."""
        return splat(x, self.lanes)

    def compute(self, values: Sequence[int], made: dict[int, Any], read: Read) -> None:
        """Add values to those that are `made`; `read` gives what is in memory, and None else."""
        for value in values:
            found, call = read(value), self.calls[value]
            if found is None and call.function == "divide" and call.operands[1] in self.inverses:
                factor, scale = map(self.splat, self.inverses[call.operands[1]])
                found = made[call.operands[0]] * factor * scale
            elif found is None:
                found = emitted(self.b, call, [made[i] for i in call.operands])
            made[value] = found


class ElementWriter(Writer):
    """Writes the kernel of an elementwise program, as one loop whose vectors LLVM makes.

    Where some of it is quicker on condition, there is a loop for elements that all meet it, one for
    others, and a first one that finds out.
    """

    def code(self) -> str:
        """The module of LLVM's code for a kernel of single elements."""
        b, function = self.b, self.function
        end = function.append_basic_block("end")
        self.bases = [
            b.load(b.gep(function.args[0], [LONG(i)], source_etype=POINTER), typ=POINTER)
            for i in range(len(self.dtypes))
        ]
        self.compute(self.plan.numbers, self.known, lambda value: self.read(value, LONG(0)))
        with assuming() as conditions:
            loops = [looped(b, end, self.write)]
        first = loops[0].start
        if conditions:
            loops.append(looped(b, end, self.write))
            first = deciding(b, self.elements, loops[0].start, loops[1].start)
        b.position_at_end(function.entry_basic_block)
        b.cbranch(b.icmp_signed(">", function.args[1], LONG(0)), first, end)
        b.position_at_end(end)
        b.ret_void()
        some = len(self.calls) - len(self.operands) <= SOME
        return parallel(self.module, loops, INTERLEAVED if some else 1)

    def read(self, value: int, index: Any) -> Any:
        """An element of an input; None of what is none."""
        i = self.operands.get(value)
        return None if i is None else loaded(self.b, self.bases[i], index, self.dtypes[i])

    def elements(self, index: Any) -> Elements:
        """The values of one element."""
        made = Elements(self)
        self.compute(self.plan.last.values, made, lambda value: self.read(value, index))
        return made

    def write(self, index: Any) -> None:
        """Write one element of the outputs."""
        made = self.elements(index)
        for value, i in self.plan.last.stored:
            stored(self.b, self.bases[len(self.operands) + i], index, made[value])


def code(program: Program, numbers: int, name: str) -> str:
    """The module of a program's kernel; bit i of `numbers` says that input i is one number."""
    axes = [OUTER if numbers >> i & 1 else ALL for i in range(len(program.inputs))]
    whole = broadcast(along(program, axes), range(len(program.outputs)))
    return ElementWriter(whole, name, [POINTER, LONG], 0).code()


class Loop(NamedTuple):
    """A loop over all elements: the block that leads to it, its own, and its last instruction."""

    start: Any
    block: Any
    branch: Any


def looped(builder: Any, end: Any, each: Callable[[Any], None]) -> Loop:
    """Emit a loop that does something for each index, and goes on to `end`."""
    function = builder.function
    start, block = (function.append_basic_block(name) for name in ("start", "loop"))
    builder.position_at_end(start)
    builder.branch(block)
    builder.position_at_end(block)
    index = builder.phi(LONG)
    index.add_incoming(LONG(0), start)
    each(index)
    after = builder.add(index, LONG(1))
    index.add_incoming(after, block)
    more = builder.icmp_signed("<", after, function.args[1])
    return Loop(start, block, builder.cbranch(more, block, end))


def deciding(builder: Any, element: Callable[[Any], Any], quick: Any, always: Any) -> Any:
    """Emit a loop that goes on to `quick` if all elements meet its conditions; where it starts."""
    decision = builder.function.append_basic_block("decision")
    held = []

    def check(index: Any) -> None:
        before = builder.phi(BIT)
        with assuming() as conditions:
            element(index)
        held.append((before, reduce(builder.and_, [c.ir for c in conditions], before)))

    loop = looped(builder, decision, check)
    (before, after) = held[0]
    before.add_incoming(BIT(1), loop.start)
    before.add_incoming(after, loop.block)
    builder.position_at_end(decision)
    builder.cbranch(after, quick, always)
    return loop.start


def emitted(builder: Any, call: Call, operands: list[Any]) -> Any:
    """The value of one call, of single numbers or of vectors."""
    if call.function == "constant":
        return constant(builder, call.static, np.dtype(call.dtype))
    if call.function == "cast":
        return convert(operands[0], call.dtype)
    emit: Any = STRUCTURE.get(call.function) or EMIT[call.function]
    return emit(*operands)


def constant(builder: Any, text: str, dtype: np.dtype[Any]) -> Any:
    """The number that a Python literal of a program stands for."""
    number = (
        text == "True" if dtype == BOOL else complex(text) if dtype.kind == "c" else float(text)
    )
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return Complex(*(constant(builder, repr(x), part) for x in (number.real, number.imag)))
    exact = dtype.type(int(text) if dtype.kind in "iu" else number).item()
    return Value(builder, ir.Constant(ir_type(dtype), exact), dtype)


def loaded(
    builder: Any, base: Any, index: Any, dtype: np.dtype[Any], lanes: int = 0, mask: Any = None
) -> Any:
    """Element number `index` of an array, or so many from there on; zeros where a mask is false."""
    if dtype.kind == "c":
        part, twice = np.dtype(f"f{dtype.itemsize // 2}"), builder.shl(index, LONG(1))
        return Complex(*(loaded(builder, base, builder.or_(twice, LONG(i)), part) for i in (0, 1)))
    own = BYTE if dtype == BOOL else ir_type(dtype)
    kind = ir.VectorType(own, lanes) if lanes else own
    place, align = builder.gep(base, [index], source_etype=own), dtype.itemsize
    if mask is None:
        held = builder.load(place, align=align, typ=kind)
    else:
        operands = [place, WORD(align), mask, ir.Constant(kind, None)]
        held = masked(builder, "load", kind, kind, operands)
    if dtype == BOOL:
        held = builder.icmp_unsigned("!=", held, ir.Constant(kind, None))
    return Value(builder, held, dtype)


def stored(builder: Any, base: Any, index: Any, value: Any, mask: Any = None) -> None:
    """Write element number `index` of an array, or a vector from there on, where a mask is true."""
    if isinstance(value, Complex):
        twice = builder.shl(index, LONG(1))
        for i, part in enumerate((value.real, value.imag)):
            stored(builder, base, builder.or_(twice, LONG(i)), part)
        return
    own = BYTE if value.dtype == BOOL else ir_type(value.dtype)
    kind = ir.VectorType(own, value.lanes) if value.lanes else own
    held = builder.zext(value.ir, kind) if value.dtype == BOOL else value.ir
    place, align = builder.gep(base, [index], source_etype=own), value.dtype.itemsize
    if mask is None:
        builder.store(held, place, align=align)
    else:
        masked(builder, "store", ir.VoidType(), kind, [held, place, WORD(align), mask])


def masked(builder: Any, name: str, result: Any, kind: Any, operands: list[Any]) -> Any:
    """A call of LLVM's masked load or store of a vector."""
    number = {"float": "f32", "double": "f64"}.get(str(kind.element), str(kind.element))
    whole = f"llvm.masked.{name}.v{kind.count}{number}.p0"
    function = builder.module.globals.get(whole)
    if function is None:
        taken = ir.FunctionType(result, [x.type for x in operands])
        function = ir.Function(builder.module, taken, whole)
    return builder.call(function, operands)


def parallel(module: Any, loops: Sequence[Loop], interleaved: int = 1) -> str:
    """The module's text, its loops marked as NOTE [Parallel accesses] says, and interleaved.

    A loop is told from others by metadata that names itself, which llvmlite cannot say.
    """
    group = module.add_metadata(["group"])
    facts = [module.add_metadata(["llvm.loop.parallel_accesses", group])]
    if interleaved > 1:
        facts.append(module.add_metadata(["llvm.loop.interleave.count", WORD(interleaved)]))
    text = []
    for number, loop in enumerate(loops):
        itself = module.add_metadata([f"loop {number}", *facts])
        for instruction in loop.block.instructions:
            if instruction.opname in ("load", "store"):
                instruction.set_metadata("llvm.access.group", group)
        loop.branch.set_metadata("llvm.loop", itself)
        text.append((f'!{{ !"loop {number}", ', f"distinct !{{ {itself.get_reference()}, "))
    text += [('!{ !"group" }', "distinct !{}"), (")\n{", f") {WIDEST}\n{{")]
    found = str(module)
    for old, new in text:
        found = found.replace(old, new)
    return found
