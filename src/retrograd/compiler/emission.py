"""From a program to LLVM's code: one loop over elements, whatever the number of its calls.

A kernel is a C function `void name(char **pointers, int64_t n)`. The pointers lead to the inputs,
then to the outputs: n elements of each, side by side. Of an input that is a number there is one
element, for all.

NOTE [Parallel accesses]
The loop says of its loads and stores that those of different elements never meet. So LLVM needs no
check of overlaps to make vectors of it, also where an output is written over an input: this is right
as long as an output is either the very memory of an input, or apart from all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from .mathematics import DTYPES, EMIT
from .values import BOOL, Complex, Value, convert, ir_type, select

if TYPE_CHECKING:
    from .program import Call, Program

__all__ = ["code", "known"]

BYTE, LONG, POINTER = ir.IntType(8), ir.IntType(64), ir.PointerType()
INPUTS, VALUES = "?fdFD", "?bBhHiIlLqQfdFD"  # dtypes, as NumPy's characters
STRUCTURE = {
    "cast": None,
    "constant": None,
    "select": select,
    "complex": Complex,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
}


def known(program: Program) -> bool:
    """Whether there is code for each of a program's calls, of these dtypes."""
    return {*program.inputs} <= {*INPUTS} and all(
        call.dtype in VALUES
        and (
            call.function in STRUCTURE
            or all(program.dtype(i).char in DTYPES.get(call.function, "") for i in call.operands)
        )
        for call in program.calls
    )


def code(program: Program, numbers: int, name: str) -> str:
    """The module of a program's kernel; bit i of `numbers` says that input i is one number."""
    module = ir.Module(name)
    kind = ir.FunctionType(ir.VoidType(), [POINTER, LONG])
    function = ir.Function(module, kind, name)
    pointers, count = function.args
    entry, loop, end = (function.append_basic_block(name) for name in ("entry", "loop", "end"))
    builder = ir.IRBuilder(entry)
    dtypes = [*map(np.dtype, program.inputs), *map(program.dtype, program.outputs)]
    bases = [
        builder.load(builder.gep(pointers, [LONG(i)], source_etype=POINTER), typ=POINTER)
        for i in range(len(dtypes))
    ]
    inputs = len(program.inputs)
    values = {
        i: loaded(builder, bases[i], LONG(0), dtypes[i]) for i in range(inputs) if numbers >> i & 1
    }
    builder.cbranch(builder.icmp_signed(">", count, LONG(0)), loop, end)
    builder.position_at_end(loop)
    index = builder.phi(LONG)
    index.add_incoming(LONG(0), entry)
    for i in range(inputs):
        if i not in values:
            values[i] = loaded(builder, bases[i], index, dtypes[i])
    for number, call in enumerate(program.calls, inputs):
        values[number] = emitted(builder, call, [values[i] for i in call.operands])
    for i, value in enumerate(program.outputs, inputs):
        stored(builder, bases[i], index, values[value])
    after = builder.add(index, LONG(1))
    index.add_incoming(after, loop)
    branch = builder.cbranch(builder.icmp_signed("<", after, count), loop, end)
    builder.position_at_end(end)
    builder.ret_void()
    return parallel(module, loop, branch)


def emitted(builder: Any, call: Call, operands: list[Any]) -> Any:
    """The value of one call."""
    if call.function == "constant":
        return constant(builder, call.text, np.dtype(call.dtype))
    if call.function == "cast":
        return convert(operands[0], call.dtype)
    return STRUCTURE.get(call.function, EMIT.get(call.function))(*operands)


def constant(builder: Any, text: str, dtype: np.dtype[Any]) -> Any:
    """The number that Python writes so."""
    number = text == "True" if dtype == BOOL else complex(text) if dtype.kind == "c" else float(text)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return Complex(*(constant(builder, repr(x), part) for x in (number.real, number.imag)))
    exact = dtype.type(int(text) if dtype.kind in "iu" else number).item()
    return Value(builder, ir.Constant(ir_type(dtype), exact), dtype)


def loaded(builder: Any, base: Any, index: Any, dtype: np.dtype[Any]) -> Any:
    """Element number `index` of an array."""
    if dtype.kind == "c":
        part, twice = np.dtype(f"f{dtype.itemsize // 2}"), builder.shl(index, LONG(1))
        return Complex(*(loaded(builder, base, builder.or_(twice, LONG(i)), part) for i in (0, 1)))
    kind = BYTE if dtype == BOOL else ir_type(dtype)
    place = builder.gep(base, [index], source_etype=kind)
    held = builder.load(place, align=dtype.itemsize, typ=kind)
    if dtype == BOOL:
        return Value(builder, builder.icmp_unsigned("!=", held, BYTE(0)), dtype)
    return Value(builder, held, dtype)


def stored(builder: Any, base: Any, index: Any, value: Any) -> None:
    """Write element number `index` of an array."""
    if isinstance(value, Complex):
        twice = builder.shl(index, LONG(1))
        for i, part in enumerate((value.real, value.imag)):
            stored(builder, base, builder.or_(twice, LONG(i)), part)
        return
    held = builder.zext(value.ir, BYTE) if value.dtype == BOOL else value.ir
    place = builder.gep(base, [index], source_etype=held.type)
    builder.store(held, place, align=value.dtype.itemsize)


def parallel(module: Any, loop: Any, branch: Any) -> str:
    """The module's text, its loop marked as NOTE [Parallel accesses] says.

    A loop is told from others by metadata that names itself, which llvmlite cannot say.
    """
    group = module.add_metadata(["group"])
    facts = module.add_metadata(["llvm.loop.parallel_accesses", group])
    itself = module.add_metadata(["loop", facts])
    for instruction in loop.instructions:
        if instruction.opname in ("load", "store"):
            instruction.set_metadata("llvm.access.group", group)
    branch.set_metadata("llvm.loop", itself)
    text = str(module).replace('!{ !"group" }', "distinct !{}")
    return text.replace('!{ !"loop", ', f"distinct !{{ {itself.get_reference()}, ")
