"""The machine that this runs on: LLVM's code as an object for it, and an object's address.

It is the only module that runs LLVM; `door` imports it, with what depends on it, where there is
llvmlite.
"""

from __future__ import annotations

from functools import cache as memoized
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm

from ..locks import new_lock
from . import cache

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["address", "built", "loaded"]

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

TRIPLE = llvm.get_process_triple()
CPU, FEATURES = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
HOST = f"{TRIPLE} {CPU} {FEATURES} {llvmlite.__version__}"  # what an object depends on

LOCK = new_lock()


def machine() -> Any:
    """LLVM's description of the host."""
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=CPU, features=FEATURES, opt=3, jit=True)


ENGINE = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())


def built(code: str, unrolled: bool) -> bytes:
    """The object of a module, optimized; that takes longer where loops are `unrolled`."""
    with LOCK:
        module = llvm.parse_assembly(code)
        module.verify()
        host = machine()
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = tuning.loop_interleaving = True
        tuning.loop_unrolling = unrolled
        builder = llvm.create_pass_builder(host, tuning)
        builder.getModulePassManager().run(module, builder)
        return host.emit_object(module)


def loaded(built: bytes, name: str) -> int:
    """The address of an object's function, which stays in memory for good."""
    with LOCK:
        ENGINE.add_object_file(llvm.ObjectFileRef.from_data(built))
        ENGINE.finalize_object()
        return int(ENGINE.get_function_address(name))


@memoized
def address(code: Callable[..., str], program: Any, *variant: Any, unrolled: bool = True) -> int:
    """The address of the function that `code(program, *variant, name)` writes, built once."""
    name = "k" + cache.digest(code.__name__, str(program), *map(str, variant), HOST)
    found = cache.read(name)
    if found is None:
        found = built(code(program, *variant, name), unrolled)
        cache.write(name, found)
    return loaded(found, name)
