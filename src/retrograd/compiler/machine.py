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
    from collections.abc import Callable, Iterable

__all__ = ["address", "addresses", "built"]

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

TRIPLE = llvm.get_process_triple()
CPU, FEATURES = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
HOST = f"{TRIPLE} {CPU} {FEATURES} {llvmlite.__version__}"  # what an object depends on

LOCK = new_lock()
KNOWN: dict[str, int] = {}  # the addresses of functions
ADDED: set[str] = set()  # the entries of the cache whose objects are in memory


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


def loaded(objects: dict[str, bytes], names: list[str]) -> None:
    """Let functions of objects be known, which stay in memory for good."""
    with LOCK:
        for name, held in objects.items():
            ENGINE.add_object_file(llvm.ObjectFileRef.from_data(held))
            ADDED.add(name)
        ENGINE.finalize_object()
        found = {name: int(ENGINE.get_function_address(name)) for name in names}
        KNOWN.update({name: address for name, address in found.items() if address})


def named(code: Callable[..., str], *parts: Any) -> str:
    """The name of the function that `code` writes for a program and its variant."""
    return "k" + cache.digest(code.__name__, *map(str, parts), HOST)


def linked(names: list[str], code: Callable[[list[str]], str], unrolled: bool) -> list[int]:
    """The addresses of functions; `code` writes those that are nowhere yet, as one module.

    In the cache the entry of the first has the object of all, and those of others have its name.
    """
    objects: dict[str, bytes] = {}
    wanted = [name for name in dict.fromkeys(names) if name not in KNOWN]
    for name in wanted:
        held, whole = cache.read(name), name
        if held is not None and held[:1] == b"k":
            whole = held.decode()
            held = None if whole in ADDED or whole in objects else cache.read(whole)
        if held is not None and whole not in ADDED:
            objects[whole] = held
    if wanted:
        loaded(objects, wanted)
    if missing := [name for name in wanted if name not in KNOWN]:
        made = built(code(missing), unrolled)
        for name in missing:
            cache.write(name, made if name == missing[0] else missing[0].encode())
        loaded({missing[0]: made}, missing)
    return [KNOWN[name] for name in names]


@memoized
def address(code: Callable[..., str], program: Any, *variant: Any) -> int:
    """The address of the function that `code(program, *variant, name)` writes, built once."""
    name = named(code, program, *variant)
    return linked([name], lambda _: code(program, *variant, name), unrolled=True)[0]


def addresses(code: Callable[..., str], programs: Iterable[Any], source: str) -> list[int]:
    """The addresses of functions that `code({name: program})` writes, which is of a `source`."""
    own = {named(code, program, source): program for program in programs}
    return linked([*own], lambda names: code({n: own[n] for n in names}), unrolled=False)
