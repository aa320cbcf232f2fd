"""`aot`: a function with its weights as one file, which `retrograd.runtime` runs by NumPy alone.

NOTE [Ahead of time]
1. The function runs on traced arrays, arguments and weights alike. Forwards, formulas and update
   rules are calls of NumPy's there, and each call is loops on memory (`primitives`). A call that
   is not, or that `runtime` does not list, ends it.
2. What stays from run to run are the tensors to which names in the function lead, and what
   optimizers keep of them. Any other tensor is a constant, and must not be written.
3. A number that is asked of an array, such as a count of steps, is an array, too, and meets numbers
   alone. A branch on a value is noted: a run that would take the other one is refused.
4. Everything is put back afterwards. Where gradients are left, the function runs once more with
   zeros in their place: so it is known whether its next run adds to them.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ... import modes, runtime
from ...engine.record import walk
from ...engine.tensor import Tensor, new_tensor
from ...engine.trace import PACKAGE
from ...engine.views import live_views
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ...optim.rules import Rule
from ...pytree import map_leaves
from ...quiet import calm
from ...serialization import safetensors
from ...serialization.files import write
from ..compiled import apart
from ..loops.grouping import arranged, living
from ..loops.primitives import Loop, Number, copied, inner, primitive
from ..recording import FACTS, Recording
from ..steps import Call, places_in
from ..loops.storages import Opaque, Part, Storage, Storages, owner_of
from ..traced import TracedArray, held

__all__ = ["aot"]

OTHERS = PACKAGE, np.__path__[0], "<"  # where code lies that is not the user's
CONSTANTS = "retrograd.constants"
MEETS = "a number that was asked of a tensor meets one: let it be a tensor, x * loss"
NUMBERS: dict[str, Any] = {"f": float, "c": complex, "i": int, "u": int, "b": "True".__eq__}


class Tracing(Recording):
    """What a function does with arrays, as loops on memory: NOTE [Ahead of time]."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Storages()
        self.loops: list[Loop] = []
        self.asked: set[int] = set()  # slots of numbers
        self.begun: dict[str, Part] = {}  # where what stays lies
        self.first: dict[str, Any] = {}  # its arrays before
        self.changed: list[tuple[Tensor, Any]] = []  # constants that were written, as they were

    def stop(self, reason: str) -> None:
        """The function cannot be saved."""
        self.stopped = self.stopped or reason
        raise Opaque(reason)

    def enter(self, array: Any, kind: str, name: Any) -> TracedArray:
        """The traced array for memory of a kind."""
        if array.size and self.world.find(array) is None:
            whole = owner_of(array)
            self.world.enter(whole, Storage(kind, name, whole))
        return super().slot(array)

    def begin(self, name: str, array: Any) -> TracedArray:
        """The traced array for one that stays: a copy, so that nothing changes."""
        self.first[name] = array
        made = self.enter(np.array(array, order="C"), "state", name)
        self.begun[name] = self.part(made)
        return made

    def slot(self, array: Any) -> TracedArray:
        """The traced array for one that was computed."""
        return self.enter(array, "inner", None)

    def constant(self, array: Any) -> TracedArray:
        """The traced array for what is there, as it is now; or for a part of known memory."""
        if array.size and self.world.find(array) is not None:
            return self.slot(array)
        made = self.enter(array.copy(), "constant", None)
        self.constants[made.slot] = made.array
        return made

    def given(self, value: Any) -> Any:
        """An argument as a program keeps it: every array by its slot."""
        return super().given(self.constant(value) if isinstance(value, np.ndarray) else value)

    def part(self, value: Any) -> Part:
        """Where an array lies."""
        array = self.constant(held(value)).array
        if not array.size:
            self.stop("an array is empty")
        return self.world.part(array)

    def call(self, function: Any, args: Any, options: Any) -> Any:
        """What a function gives for arrays, noted as loops."""
        plain, named = held(tuple(args)), held(dict(options))
        if function in FACTS:
            return calm(function, *plain, **named)
        if any(isinstance(value, Tensor) for value in args):
            self.stop(MEETS)
        self.check_target(function, args, options)
        given = tuple([self.given(v) for v in args]), self.given(dict(options))
        reads = {*places_in(given)} - self.constants.keys()
        numbers = bool(reads & self.asked) and function is not np.ndarray.astype
        if numbers and reads - self.asked:
            self.stop(MEETS)
        found = calm(function, *plain, **named)
        if isinstance(found, np.bool_) and not reads:  # of constants
            return self.constant(np.asarray(found))
        try:
            made, slots = self.result(found)
            loops = self.loops_of(Call(function, *given, slots))
        except (Opaque, TypeError, ValueError, KeyError, NotImplementedError) as error:
            self.stop(f"{getattr(function, '__name__', function)}: {error}")
        for loop in loops:
            if loop.function not in {*runtime.KINDS[loop.kind][1], "along"}:
                self.stop(f"retrograd.runtime has no function {loop.function}")
            for part in (loop.out, *loop.operands):
                if runtime.DTYPES.get(part.dtype.name) != part.dtype:
                    self.stop(f"retrograd.runtime has no dtype {part.dtype}")
        self.loops += loops
        self.asked |= {slots} if numbers else set()
        return made

    def loops_of(self, step: Call) -> list[Loop]:
        """The loops of a call, none where there is nothing to compute."""
        sizes = {self.arrays[slot].size for slot in places_in(step.args)}
        if isinstance(step.made, int) and 0 in sizes | {self.arrays[step.made].size}:
            if self.arrays[step.made].size:
                raise Opaque("an array is empty")
            return []
        return primitive(step, self.arrays, self.world, self.constants, self.world)

    def compute(self, op: Any, arrays: Any, params: Any, proceed: Any) -> Any:
        """The forward of an op: what it is given beside traced arrays is a constant."""
        if any(a.__class__ is TracedArray for a in arrays):
            arrays = [self.constant(a) if a.__class__ is np.ndarray else a for a in arrays]
        return proceed(arrays, params)

    def made(self, *seen: Any) -> None:
        """Nothing is asked about the tensors of a call."""

    def differentiate(self, node: Any, g: Any, proceed: Any) -> Any:
        """Formulas are traced as they run."""
        return proceed()

    def draw(self, proceed: Any) -> Any:
        """No program draws."""
        self.stop("random numbers are drawn")

    def check_target(self, function: Any, args: Any, options: Any) -> None:
        """Stop where memory is written that a program does not have."""
        out = options.get("out")
        targets = [*out] if isinstance(out, tuple) else [out]
        if getattr(function, "__name__", "") in ("copyto", "setitem", "at", "put_along_axis"):
            targets.append(args[0])
        for target in targets:
            array = held(target)
            known = array is None or not array.size or self.world.find(array)
            if known is None or (array is not None and self.is_constant(array)):
                self.stop("a constant is written")

    def is_constant(self, array: Any) -> bool:
        """Whether an array lies in memory that no run may write."""
        return bool(array.size) and self.part(array).storage.kind == "constant"

    def truth(self, array: TracedArray) -> bool:
        """The truth of an array, which every run has to find again."""
        value, part = bool(array.array), self.part(array)
        if part.storage.kind != "constant":
            self.loops.append(Loop("check", str(value).lower(), part, (part,)))
        return value

    def value(self, array: TracedArray, name: str) -> Any:
        """A number that is asked for: an array of no dimensions."""
        if name != "item":
            self.stop(f"a value of a tensor is asked for ({name})")
        return partial(self.number_of, array)

    def number_of(self, array: Any) -> TracedArray:
        """An array of one element as a number of Python's."""
        kind: Any = {"f": np.float64, "c": np.complex128}.get(array.dtype.kind, np.int64)
        made: TracedArray = array.reshape(()).astype(kind)
        self.asked.add(made.slot)
        return made

    def before_write(self, target: Tensor) -> None:
        """See a write: a tensor that the function made is no constant from then on."""
        base = target if target._view_of is None else target._view_of.base
        if base._array.__class__ is not TracedArray:
            self.changed.append((base, base._array))
            base._array = self.call(np.ndarray.copy, (base._array,), {})
            for view in list(live_views(base)):
                view._array = walk(base, view._view_of.path)._array


# -- what stays ------------------------------------------------------------------------------------


def names_in(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in code, and in functions within it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from names_in(each)


def leads_to(each: Any) -> dict[Any, Any]:
    """What is reached from an object, by name."""
    if isinstance(each, MethodType):
        return {"": each.__func__, "self": each.__self__}
    if isinstance(each, partial):
        return {"": each.func, **dict(enumerate(each.args)), **each.keywords}
    if isinstance(each, FunctionType):
        names = [*names_in(each.__code__)]
        found = {n: each.__globals__[n] for n in names if n in each.__globals__}
        for outer in [v for v in found.values() if isinstance(v, ModuleType)]:
            found |= {n: vars(outer)[n] for n in names if n in vars(outer)}
        for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
            with suppress(ValueError):  # it is empty
                found[name] = cell.cell_contents
        return found | dict(enumerate(each.__defaults__ or ())) | (each.__kwdefaults__ or {})
    if isinstance(each, Module):
        return {**dict(each.named_parameters()), **dict(each.named_buffers()), **vars(each)}
    if isinstance(each, (list, tuple, set)):
        return dict(enumerate(each))
    if isinstance(each, dict):
        return each
    return {} if isinstance(each, (type, ModuleType)) else getattr(each, "__dict__", {})


class Kept:
    """What stays from run to run: tensors by name; and the dictionaries that hold them."""

    def __init__(self, function: Any) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.holders: list[tuple[Any, Any]] = []  # and what is in them
        self.groups: list[Any] = []
        self.names: dict[int, str] = {}
        waiting: list[tuple[str, Any]] = [("", function)]
        seen: dict[int, Any] = {}
        optimizers: list[tuple[str, Optimizer]] = []
        for name, each in waiting:  # which grows
            inside = (getattr(each, "__module__", None) or "").startswith(("retrograd.", "numpy"))
            if id(each) in seen or (inside and isinstance(each, FunctionType)):
                continue
            seen[id(each)] = each
            if isinstance(each, Tensor):
                self.add(name, each)
            elif isinstance(each, Optimizer):
                optimizers.append((name, each))
            else:
                waiting += [(f"{name}.{n}".strip("."), v) for n, v in leads_to(each).items()]
            if isinstance(each, Module):
                self.hold(vars(each), each._parameters, each._buffers)
        for name, optimizer in optimizers:
            self.hold(optimizer.state, *optimizer.param_groups)
            self.groups += optimizer.param_groups
            for group in optimizer.param_groups:
                for number, p in enumerate(group["params"]):
                    self.add(f"{name}.params.{number}", p)
                    own = state_of(optimizer, group, p)
                    self.hold(own)
                    for key, value in own.items():
                        if isinstance(value, Tensor):
                            self.add(f"{name}.{self.names[id(p)]}.{key}", value)

    def hold(self, *holders: Any) -> None:
        """Remember what is in dictionaries."""
        self.holders += [(each, dict(each)) for each in holders]

    def add(self, name: str, tensor: Tensor) -> None:
        """One more tensor that stays, if it has not been found before."""
        if self.names.setdefault(id(tensor), name or "tensor") == (name or "tensor"):
            self.tensors[name or "tensor"] = tensor

    @contextmanager
    def traced(self, tracing: Tracing, left: frozenset[str]) -> Iterator[None]:
        """Within it all that stays is traced; gradients of those in `left` begin as zeros."""
        old = [(t, t._array, t._node, t._gradient) for t in self.tensors.values()]
        cells: list[Any] = []  # of tensors and nodes, and what is in them
        for each in [e for t in self.tensors.values() for e in (t, t._node) if e is not None]:
            cell = each._cell
            cells.append((each, cell, cell and cell.state()))
        try:
            for name, tensor in self.tensors.items():
                grad, array = tensor._gradient, tensor._array
                if grad is not None or name in left:
                    start = np.zeros_like(array) if grad is None else grad._array
                    tensor._gradient = new_tensor(tracing.begin(f"{name}.grad", start))
                tensor._array = tracing.begin(name, array)
            yield
        finally:
            tracing.settle()
            for tensor, array in tracing.changed:
                tensor._array = array
            for tensor, *parts in old:
                tensor._array, tensor._node, tensor._gradient = parts
            for each, cell, inside in cells:
                each._cell = cell
                if cell is not None:
                    cell.restore(inside)
            for holder, inside in self.holders:
                holder.clear()
                holder.update(inside)

    def last(self, tracing: Tracing, function: Any) -> dict[str, Part]:
        """Where what stays lies in the end."""
        for group, inside in [
            pair for pair in self.holders if any(pair[0] is g for g in self.groups)
        ]:
            if any(group[key] is not inside[key] for key in inside):
                raise Opaque("a setting of an optimizer changes: let the step keep its settings")
        found = Kept(function).tensors
        grads = {f"{name}.grad": t._gradient for name, t in found.items()}
        every = {name: t for name, t in (found | grads).items() if t is not None}
        return {name: tracing.part(t._array) for name, t in every.items()}


def state_of(optimizer: Optimizer, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
    """The state of a parameter, begun where it is not yet there."""
    own: dict[str, Any] = optimizer.state.get(p, {})
    if own or not isinstance(optimizer, Rule):
        return own
    if not optimizer.counted:
        if not optimizer.state_names(group):
            return own
        if optimizer.numbers(group, True) != optimizer.numbers(group, False):
            raise Opaque("the first step of an optimizer is unlike the others: make it before")
    made = optimizer.state[p] = optimizer.begin(p._array, group)
    return made


# -- the file --------------------------------------------------------------------------------------


def described(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """What stands in a file for containers: for what they hold that which `leaf` gives."""
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [described(v, leaf) for v in value]}
    if isinstance(value, dict):
        return {"dict": {key: described(v, leaf) for key, v in value.items()}}
    return None if value is None else {"array": leaf(value)}


class Writer:
    """A program as it stands in a file."""

    def __init__(self, tracing: Tracing, loops: list[Loop], results: list[Part]) -> None:
        self.tracing, self.results = tracing, results
        shown = [copied(part, part) for part in results]  # whose memory is there in the end
        every = {part.storage for loop in (*loops, *shown) for part in loop.parts}
        inside = {s for s in every if s.kind in ("inner", "input")} - {p.storage for p in results}
        self.loops = living(loops, inside, lambda loop: loop.kind in ("check", "gather", "scatter"))
        self.placed: dict[Any, Any] = {s: None if s.kind == "inner" else ("", 0) for s in every}
        used = [[part.storage for part in loop.parts] for loop in (*self.loops, *shown)]
        self.arena = arranged(used, self.placed)
        self.parts: dict[Any, int] = {}
        self.pool, self.places = bytearray(), dict[bytes, int]()  # of constants
        self.state: dict[str, int] = {}

    def at(self, part: Any) -> int:
        """The number of a part."""
        if isinstance(part, Number):
            array = np.array(NUMBERS[part.dtype.kind](part.text), part.dtype)
            part = Part(Storage("constant", -1, array), 0, (), (), part.dtype)
        storage, offset = part.storage, part.offset
        name = storage.slot
        if storage.kind == "constant":
            name, offset = CONSTANTS, offset + self.constant(storage.whole)
        elif storage.kind == "inner":
            name, offset = None, offset + self.placed[storage][1]
        entry = (name, offset, part.dtype.name, part.shape, part.strides)
        number = self.parts.setdefault(entry, len(self.parts))
        if storage.kind == "state" and name not in self.state:
            self.state[name] = -1  # until its own part is known
            self.state[name] = self.at(self.tracing.begun[name])
        return number

    def constant(self, array: Any) -> int:
        """Where the bytes of a constant begin."""
        data = array.tobytes()
        place = self.places.setdefault(data, len(self.pool))
        if place == len(self.pool):
            self.pool += data + bytes(-len(data) % 16)
        return place

    def call(self, loop: Loop) -> list[Any]:
        """A call as it stands in a file."""
        out, axes, name, operands = loop.out, loop.axes, loop.function, [*loop.operands]
        if loop.kind in ("reduce", "first") and len(out.shape) == len(loop.operands[0].shape):
            kept = [d for d in range(len(out.shape)) if d not in axes]  # as without keepdims
            out = out._replace(
                shape=tuple([out.shape[d] for d in kept]),
                strides=tuple([out.strides[d] for d in kept]),
            )
        elif loop.function == "along":  # as with an index for every axis
            axes = tuple(range(len(out.shape)))
            operands[1:] = [
                operands[1] if d in loop.axes else counting(operands[1], d) for d in axes
            ]
            name = "copy"
        elif loop.kind in ("gather", "scatter"):
            axes = axes[2:]
        places = [] if loop.kind == "check" else [self.at(x) for x in operands]
        dtypes = [dtype.name for dtype in loop.dtypes]
        return [loop.kind, name, self.at(out), places, dtypes, list(axes)]

    def bytes(self, inputs: Any, returned: Any) -> bytes:
        """The file of a program that gives what is `returned`: containers of numbers of results."""
        program = {
            "version": runtime.VERSION,
            "arena": self.arena,
            "inputs": inputs,
            "calls": [self.call(loop) for loop in self.loops],
            "results": described(returned, lambda number: self.at(self.results[number])),
            "state": self.state,
            "parts": list(self.parts),
        }
        tensors = {name: stored(self.tracing.first[name]) for name in self.state}
        if self.pool:
            tensors[CONSTANTS] = stored(np.array(self.pool, np.uint8))
        text = json.dumps(program, separators=(",", ":"))
        return safetensors.save(tensors, {runtime.KEY: text})


def counting(index: Part, axis: int) -> Part:
    """An index of the same shape that counts along an axis."""
    count = np.arange(index.shape[axis])
    strides = [count.itemsize if d == axis else 0 for d in range(len(index.shape))]
    return Part(Storage("constant", -1, count), 0, index.shape, tuple(strides), count.dtype)


def stored(array: Any) -> Tensor:
    """An array as a tensor of a file: complex numbers as two real ones."""
    array = np.array(array, order="C")
    if array.dtype == np.complex128:
        array = array.reshape(-1).view(np.float64).reshape(*array.shape, 2)
    return new_tensor(array)


def aot(function: Callable[..., Any], args: tuple[Any, ...], path: Any) -> None:
    """Save what a function does with arguments such as these, and its weights, as one file.

    `function` is a module or a function of tensors, which may stand in tuples, lists and
    dictionaries; also a step of training with `backward` and an optimizer's `step`. `retrograd.
    runtime`, a file that needs NumPy alone, runs it for arrays of the same shapes and dtypes as
    `args`. Parameters, buffers and states of optimizers go on from run to run; what else the
    function reads, such as learning rates, stays as it is now. Nothing is changed here, but
    Python's own lists and numbers, if the function changes them: it runs once or twice.

    Raises RuntimeError, which names the call and its line, for what no such program can do: random
    numbers, shapes and results that depend on values, functions that the runtime lacks.

    >>> import os, tempfile
    >>> model = rg.nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.aot")
    ...     rg.aot(model, (rg.ones(3, 2),), path)
    ...     program = rg.runtime.load(path)
    >>> program(np.ones((3, 2), np.float32)).shape, list(program.state)
    ((3, 1), ['weight', 'bias'])
    """
    try:
        data = saved(function, args)
    except Opaque as error:
        frames = traceback.extract_tb(error.__traceback__)
        mine = [f for f in frames if not f.filename.startswith(OTHERS)]
        place = f", at {mine[-1].filename}:{mine[-1].lineno}" if mine else ""
        raise RuntimeError(
            f"aot cannot save {getattr(function, '__qualname__', type(function).__name__)}: "
            f"{error}{place}. docs/aot.md says what a program may do"
        ) from error
    runtime.Program(data, sys.maxsize)  # which checks it
    write(path, [data])


def saved(function: Any, args: Any, left: frozenset[str] = frozenset()) -> bytes:
    """The bytes of a file; gradients of those in `left` begin as zeros."""
    tracing = Tracing()
    results: list[Part] = []
    inputs: list[Tensor] = []

    def enter(tensor: Any) -> Any:
        if tensor is None:
            return None
        if not isinstance(tensor, Tensor):
            raise Opaque(f"a {type(tensor).__name__} is an argument: let the function know it")
        array = np.array(tensor._array, order="C")
        inputs.append(new_tensor(tracing.enter(array, "input", len(inputs))))
        inputs[-1].requires_grad = tensor.requires_grad
        return inputs[-1]

    def leave(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (Tensor, TracedArray)):
            raise Opaque(f"a {type(value).__name__} is returned: let it be a tensor")
        results.append(tracing.part(value._array if isinstance(value, Tensor) else value))
        return len(results) - 1

    given = map_leaves(enter, tuple(args))
    about = described(given, lambda t: [t._array.dtype.name, [*t.shape]])
    kept = Kept(function)
    with kept.traced(tracing, left):
        before = modes.change(before_write=tracing.before_write)
        try:
            with tracing:
                result = function(*given)
        finally:
            modes.restore(before)
        if tracing.stopped is not None:
            raise Opaque(tracing.stopped)
        returned = map_leaves(leave, result)
        del result
        last = kept.last(tracing, function)
    if any(sys.getrefcount(tensor) > 3 for tensor, _ in tracing.changed):  # list, loop, call
        raise Opaque("a tensor is written that stays, and to which no name in the function leads")
    if new := {name.removesuffix(".grad") for name in last.keys() - tracing.begun.keys()}:
        return saved(function, args, left | new)
    written = any(loop.out.storage.kind == "state" for loop in tracing.loops)
    if written and not apart([*kept.tensors.values()]):
        raise Opaque("tensors that stay share memory, and are written")
    grads = {part.storage for name, part in tracing.begun.items() if name.endswith(".grad")}
    unread = grads - {p.storage for loop in tracing.loops for p in loop.reads}
    moved = [
        (part, tracing.begun[name])
        for name, part in last.items()
        if part != tracing.begun[name] and tracing.begun[name].storage not in unread
    ]
    rooms = [inner(part.shape, part.dtype) for part, _ in moved]  # one may go where another was
    loops = [copied(part, room) for (part, _), room in zip(moved, rooms, strict=True)]
    loops += [copied(room, target) for room, (_, target) in zip(rooms, moved, strict=True)]
    return Writer(tracing, tracing.loops + loops, results).bytes(about, returned)
