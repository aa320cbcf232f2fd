"""The plainest loop over arrays around a function of values: what the mathematics is tested in."""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from retrograd.compiler.values import Complex, Value, ir_type

INT = ir.IntType(64)


@cache
def machine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, codemodel="jitdefault"
    )


ENGINES = []


def optimized(module):
    """The machine code's module, vectorised."""
    made = llvm.parse_assembly(str(module))
    made.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine(), options)
    builder.getModulePassManager().run(made, builder)
    return made


def address(made, name):
    """Where the function lies, once it is machine code."""
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, codemodel="jitdefault"
    )
    engine = llvm.create_mcjit_compiler(made, target)
    ENGINES.append(engine)
    engine.finalize_object()
    return engine.get_function_address(name)


def loaded(builder, pointer, index, dtype):
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    kind = ir.IntType(8) if part.kind == "b" else ir_type(part)

    def load(at):
        found = builder.load(builder.gep(pointer, [at], source_etype=kind), typ=kind)
        found.align = part.itemsize
        if part.kind == "b":
            found = builder.trunc(found, ir.IntType(1))
        return Value(builder, found, part)

    if dtype.kind != "c":
        return load(index)
    real = builder.mul(index, INT(2))
    return Complex(load(real), load(builder.add(real, INT(1))))


def stored(builder, value, pointer, index):
    if isinstance(value, Complex):
        real = builder.mul(index, INT(2))
        stored(builder, value.real, pointer, real)
        stored(builder, value.imag, pointer, builder.add(real, INT(1)))
        return
    found = value.ir
    if value.dtype.kind == "b":
        found = builder.zext(found, ir.IntType(8))
    builder.store(found, builder.gep(pointer, [index], source_etype=found.type))


def written(function, dtypes):
    """A module with a loop of `function` over arrays of these dtypes, and its results' dtypes."""
    module, pointer = ir.Module(), ir.PointerType()

    def loop(outputs):
        kind = ir.FunctionType(ir.VoidType(), [pointer] * (len(dtypes) + outputs) + [INT])
        k = ir.Function(module, kind, f"k{outputs}")
        for argument in k.args[:-1]:
            argument.add_attribute("noalias")
        builder = ir.IRBuilder(k.append_basic_block())
        body, end = k.append_basic_block(), k.append_basic_block()
        start = builder.block
        builder.cbranch(builder.icmp_signed(">", k.args[-1], INT(0)), body, end)
        builder.position_at_end(body)
        i = builder.phi(INT)
        i.add_incoming(INT(0), start)
        values = [loaded(builder, k.args[j], i, d) for j, d in enumerate(dtypes)]
        found = function(*values)
        found = found if isinstance(found, tuple) else (found,)
        for value, argument in zip(found, k.args[len(dtypes) : -1], strict=False):
            stored(builder, value, argument, i)
        after = builder.add(i, INT(1))
        i.add_incoming(after, body)
        builder.cbranch(builder.icmp_signed("<", after, k.args[-1]), body, end)
        builder.position_at_end(end)
        builder.ret_void()
        return [v.dtype for v in found]

    results = loop(0)  # to learn how many there are
    module = ir.Module()
    loop(len(results))
    return module, results


@cache
def compiled(function, dtypes):
    module, results = written(function, dtypes)
    n = len(dtypes) + len(results)
    where = address(optimized(module), f"k{len(results)}")
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n, ctypes.c_int64)
    return kind(where), results


def run(function, *arrays):
    """The function of values over arrays of one size: an array, or a tuple of them."""
    arrays = [np.ascontiguousarray(a) for a in arrays]
    call, results = compiled(function, tuple(a.dtype for a in arrays))
    outs = [np.empty(arrays[0].shape, dtype) for dtype in results]
    call(*[a.ctypes.data for a in arrays + outs], arrays[0].size)
    return outs[0] if len(outs) == 1 else tuple(outs)
