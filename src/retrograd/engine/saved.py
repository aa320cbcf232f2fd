"""Saved tensors: what a node's formulas named, as the formulas and the user read it back.

Most saved values are stored bare: an input as the tensor itself, an output as its array. Hooks
replace a value by a `Packed`, which holds what the pack hook returned.

NOTE [Reading a saved value]
1. A bare value is intact if its version cell was not written after the node was recorded
   (NOTE [One clock] in `graph`). A packed one is never checked: it is the hook's business.
2. `raw` gives arrays, for an ordinary backward pass; `tensors` gives tensors that carry history,
   for `create_graph=True`: an input with the edge it had when saved, an output with the node.
3. The pack hook is called once: with the saved input itself or, for a result, with a detached
   alias, so that one who keeps it closes no cycle. The unpack hook is called at every reading, in
   the grad mode of who reads: of the pass, or of the user's program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes, version
from ..errors import SecondBackwardError, VersionError
from ..locks import structure
from .graph import FREED, LEAF, Cell, Node, target
from .tensor import Tensor, array_of, cell_of, known_cell, tensor_of, twin
from .trace import AT, innermost

if TYPE_CHECKING:
    from .op import Op

ndarray = np.ndarray

TIMES_TWO = (
    "incompatible function arguments: register_hooks takes two functions, pack_hook(tensor) and "
    "unpack_hook(packed)"
)

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward. "
    "The first freed value belongs to {node}{trace}"
)

WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{dtype} {shape}]{maker} is at version {now}; expected version {then} instead. "
    "{node} saved it as {what}, and then it was written by {writers}. {advice}. {hint}"
)
COPY = "write into a copy: y = y.clone() just before {write}"
ASSIGNED = "[]="  # the name of the write `x[key] = value`, as `+=` is that of `x += value`
STEPPED = "Call backward() before {writer}(), or compute the result again after it"
OTHERWISE = "Do that before the forward pass, or run the forward pass again after it"
OF_GRADIENT = "The result was computed from a .grad, which changes: compute it from x.grad.clone()"
HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with retrograd.autograd.set_detect_anomaly(True, check_nan=False)."
)
HINT_TRACED = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later. {node} was recorded at:\n"
    "{trace}{places}"
)


PACK_WROTE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook can not be modified by in-place operations as this can lead to unexpected side-effects. "
    "Let the hook work on a copy: tensor = tensor.clone()"
)

HOOKS_AFTER_FREE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved tensors after calling backward."
)


class Packed:
    """What a pack hook made of a saved value, in that value's place in `node.saved`.

    What the hook is given shares the value's memory and its version cell. Hooks are for values:
    the tangents of the saved tensor, `tangents`, are kept beside.
    """

    __slots__ = ("content", "tangents", "unpack_hook")

    def __init__(self, node: Node, place: int, pack_hook: Any, unpack_hook: Any) -> None:
        given = bare = node.saved[place]
        cell = cell_at(node, place, bare)
        if not isinstance(bare, Tensor) or bare._tangents:
            given = tensor_of(array_of(bare) if isinstance(bare, Tensor) else bare)
            given._cell = cell
        version = cell.version
        before = modes.change(grad=False, saved_hooks=())
        try:
            self.content = pack_hook(given)
        finally:
            modes.restore(before)
        if cell.version != version:
            raise RuntimeError(PACK_WROTE)
        self.tangents = bare._tangents if isinstance(bare, Tensor) else None
        self.unpack_hook = unpack_hook

    def unpack(self, **mode: bool) -> Tensor:
        """The tensor that the unpack hook, which runs in the grad mode `grad`, gives back."""
        before = modes.change(saved_hooks=(), **mode)
        try:
            value = self.unpack_hook(self.content)
        finally:
            modes.restore(before)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        return value


class PackedValues(tuple[Any, ...]):
    """The values of a node of which some are packed: reading them runs code of the user's."""

    __slots__ = ()


class OnTensors(PackedValues):
    """The values of a node whose formulas run on tensors, for there its arrays carry out ops."""

    __slots__ = ()


def on_tensors_from(node: Node) -> None:
    """Let the formulas of a node and of all before it run on tensors: any cotangent may arrive.

    What lies before a node for which that was done has been seen.
    """
    left, seen = [node], {node}
    while left:
        node = left.pop()
        held = node.saved
        if held.__class__ is OnTensors:
            continue
        if node.op.formulas and isinstance(held, tuple):
            node.saved = OnTensors(held)
        before = {edge for edge in node.edges if edge is not None} - seen
        seen |= before
        left += before


class SavedTensor:
    """The handle to one saved value, `grad_fn._raw_saved_<name>`; takes a pair of hooks.

    `place` is that in `node.saved`, None for the handle of None.

    Raises RuntimeError where a program makes one itself.

    >>> y = rg.ones(1, requires_grad=True).exp()
    >>> isinstance(y.grad_fn._raw_saved_result, rg.autograd.SavedTensor)
    True
    """

    __slots__ = ("node", "place")

    def __init__(self, node: Node | None = None, place: int | None = None) -> None:
        if node is None:
            raise RuntimeError(
                "Trying to create a SavedTensor object from Python is forbidden. They are found at "
                "nodes: y.grad_fn._raw_saved_result"
            )
        self.node = node
        self.place = place

    def unpack(self) -> Tensor | None:
        """The saved tensor, with its history, as `grad_fn._saved_<name>`.

        Raises as a backward pass does where it was freed, or written since.

        >>> y = rg.zeros(2, requires_grad=True).exp()
        >>> y.grad_fn._raw_saved_result.unpack()
        tensor([1., 1.], grad_fn=<ExpBackward0>)
        """
        return None if self.place is None else _saved(self.node, self.place)

    @property
    def data(self) -> Any:
        """What is kept: what the pack hook returned, or the value; None once it is freed."""
        held = self._held()
        if isinstance(held, Packed):
            return held.content
        return held if held is None or isinstance(held, Tensor) else tensor_of(held)

    @property
    def unpack_hook(self) -> Any:
        """The hook that reads the value, None where there is none."""
        return getattr(self._held(), "unpack_hook", None)

    def _held(self) -> Any:
        saved = self.node.saved
        return None if self.place is None or saved is FREED else saved[self.place]

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """`register_hooks(pack_hook, unpack_hook)`: store the value as `pack_hook(value)`.

        `unpack_hook` turns that back, at every reading. Raises RuntimeError when hooks are set
        already, when the value was freed, or when the pack hook writes to the tensor it is given;
        TypeError for a hook that cannot be called.
        """
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            raise TypeError(TIMES_TWO)
        saved = self.node.saved
        if saved is FREED:
            raise RuntimeError(HOOKS_AFTER_FREE)
        bare = self._held()
        if isinstance(bare, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        if self.place is None or bare is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        packed = Packed(self.node, self.place, *hooks)
        self.node.saved = PackedValues((*saved[: self.place], packed, *saved[self.place + 1 :]))


def saved_properties(op: Op) -> dict[str, property]:
    """The attributes `_saved_<name>` and `_raw_saved_<name>` of an op's nodes, in PyTorch's names.

    What the record has another name for, in `saved`, has that name only.
    Properties, not `__getattr__`: a class with that loses CPython's fast attribute access.
    """
    found: dict[str, property] = {}
    elsewhere = {source for source in op.saved.values() if isinstance(source, str)}
    for place, name in enumerate(op.saves):
        if name in elsewhere:
            continue
        its = {op.inputs[0]: "self", "out": "result"}.get(name, name)
        found[f"_saved_{its}"] = property(partial(_saved, place=place))
        found[f"_raw_saved_{its}"] = property(partial(SavedTensor, place=place))
    for place, name in enumerate(op.facts):
        found[f"_saved_{name}"] = property(partial(_fact, place=place))
        if name.endswith("_shape"):
            of = name.removesuffix("_shape")
            of = "self" if of == op.inputs[0] else of
            found[f"_saved_{of}_sym_sizes"] = property(partial(_fact, place=place))
    for name, source in op.saved.items():
        if isinstance(source, tuple):
            found[f"_saved_{name}"], found[f"_raw_saved_{name}"] = map(property, source)
        elif not isinstance(source, str):
            found[f"_saved_{name}"] = property(partial(_made, make=source))
        elif source in op.saves:
            place = op.saves.index(source)
            found[f"_saved_{name}"] = property(partial(_saved, place=place))
            found[f"_raw_saved_{name}"] = property(partial(SavedTensor, place=place))
        else:
            found[f"_saved_{name}"] = property(partial(_fact, place=op.facts.index(source)))
    return found


def _saved(node: Node, place: int) -> Any:
    held = node.saved
    if held is FREED:
        raise freed_error(node)
    return tensor_at(node, place, held)


def _fact(node: Node, place: int) -> Any:
    return node.params[place]


def _made(node: Node, make: Callable[..., Any]) -> Any:
    """What a function makes of values or attributes of a node, which its arguments name."""
    op, code = node.op, make.__code__
    return make(*[
        _saved(node, op.saves.index(name)) if name in op.saves
        else _fact(node, op.facts.index(name)) if name in op.facts
        else getattr(node, name)
        for name in code.co_varnames[: code.co_argcount]
    ])  # fmt: skip


def raw(node: Any) -> Any:
    """The saved values as arrays, then the facts: what an ordinary backward pass reads."""
    saved = node.saved
    if not saved:
        return node.params
    if saved is FREED:
        raise freed_error(node)
    values: list[Any] = []
    append, seq = values.append, node.seq
    for value in saved:
        kind = value.__class__
        if kind is Tensor:
            cell = value._cell
            if cell is None and value._node is not None:
                cell = value._node._cell  # as `known_cell`
            append(value._array)
        elif value is None:
            append(None)
            continue
        elif kind is Packed:
            return unpacked(node, saved)
        elif kind is not ndarray and isinstance(value, Tensor):  # of a subclass
            cell = known_cell(value)
            append(value._array)
        else:
            cell = node._cell if node.cells is None else node.cells[len(values)]
            append(value)
        if cell is not None and cell.last > seq:
            raise written_error(node, len(values) - 1, cell, values[-1])
    if node.params:
        values += node.params
    return values


def unpacked(node: Any, held: Any) -> list[Any]:
    """The values of `raw`, some of which are packed: unpack hooks are called in their order."""
    found: dict[int, Any] = {}
    for place in node.op.read_order(held):
        value = held[place]
        packed = value.__class__ is Packed
        value = value.unpack(grad=False) if packed else tensor_at(node, place, held)
        found[place] = None if value is None else value._array
    return [*map(found.get, range(len(held))), *node.params]


def tensors(node: Any) -> list[Any]:
    """The values of `raw` as tensors with history: for `create_graph=True` and the user."""
    held = node.saved  # read once: another thread may free the node meanwhile
    if held is FREED:
        raise freed_error(node)
    found = {place: tensor_at(node, place, held) for place in node.op.read_order(held)}
    return [*map(found.get, range(len(held))), *node.params]


def tensor_at(node: Node, place: int, held: Any) -> Tensor | None:
    """One of the values that a node held, as a tensor with history, checked as in `raw`."""
    value = held[place]
    if value is None:
        return None
    history = node.op.history(node, place)
    tangents = node._tangents and node._tangents.get(place)
    if value.__class__ is Packed:
        found = value.unpack()
        tangents = tangents or value.tangents
        if history is found._node is tangents is None:
            return found
        made = tensor_of(array_of(found))
        made._cell = cell_of(found)
    elif isinstance(value, Tensor):
        check(node, place, known_cell(value), value._array)
        outside = node.level is not None and not node.level.holds(value)
        return value if value._node is history or outside else twin(value, history)
    else:
        made = tensor_of(value)
        made._cell = cell_at(node, place, value)
        check(node, place, made._cell, value)
    made._node, made._tangents = history, tangents
    return made


def cell_at(node: Node, place: int, value: Any) -> Cell:
    """The version cell of a value that a node saved, made now if there is none."""
    if isinstance(value, Tensor):
        return cell_of(value)
    with structure:  # an output gets the same one, when it is made or in `cell_of`
        if node.cells is None and node.op.outputs == 1:
            node._cell = node._cell or Cell()
            return node._cell
        node.cells = {} if node.cells is None else node.cells
        return node.cells.setdefault(place, Cell())


def check(node: Node, place: int, cell: Cell | None, array: Any) -> None:
    """Raise if a saved value was written after it was saved."""
    if cell is not None and cell.last > node.seq:
        raise written_error(node, place, cell, array)


def freed_error(node: Node) -> SecondBackwardError:
    """The error for reading freed values of `node`."""
    trace = f", recorded at:\n{innermost(node.trace)}" if node.trace else "."
    error = SecondBackwardError(BACKWARD_TWICE.format(node=node.name(), trace=trace))
    error.node = node
    return error


def forward_name(node: Node) -> str:
    """The name of the operation that made a node, as errors give it: `Mul` for MulBackward0."""
    return re.sub(r"Backward\d*$", "", node.name())


def as_code(writer: str, x: str) -> str:
    """A write to the tensor `x` as a program has it: `x.mul_(...)`, `x += value`."""
    if writer.endswith("="):
        return f"{x}[key] = value" if writer == ASSIGNED else f"{x} {writer} value"
    return f"{x}.{writer}(...)" if hasattr(Tensor, writer) else writer


def as_text(writer: str) -> str:
    """A writer as a sentence has it: `mul_`, `SGD.step`, `y += value`."""
    return as_code(writer, "y") if writer.endswith("=") else writer


def out_of_place(writer: str, x: str) -> str | None:
    """The code for the same result in a new tensor, such as `x * value`; "" if there is none."""
    if writer.endswith("="):
        return None if writer == ASSIGNED else f"{x} {writer[:-1]} value"
    plain = writer.removesuffix("_")
    return f"{x}.{plain}(...)" if hasattr(Tensor, plain) else None


def instead_of(writer: str) -> str:
    """What to write in place of a write that overwrote a saved value."""
    if writer.endswith("(out=)"):
        return f"Leave out= away there: y = {writer.removesuffix('(out=)')}(...)"
    if writer.endswith(".step"):
        return STEPPED.format(writer=writer.rpartition(".")[2])
    if writer in ("backward()", "zero_grad", "unscale_"):
        return OF_GRADIENT
    if not (writer.endswith("=") or hasattr(Tensor, writer)):
        return OTHERWISE
    plain, code = out_of_place(writer, "y"), as_code(writer, "y")
    if plain is None:
        return "Let it " + COPY.format(write=code)
    return f"Write out of place: y = {plain} for {code}. Or " + COPY.format(write="that")


def written_error(node: Any, place: int, cell: Cell, array: Any) -> VersionError:
    """The error for a saved value that was written after it was saved."""
    later = cell.writes_after(node.seq)
    kind = f"{version.called}.{dtypes.legacy_name(array.dtype)}Tensor"
    history = node.op.history(node, place)
    maker = ""
    if history is not None and history.op is not LEAF:
        source, number = target(history)
        maker = f", which is output {number} of {forward_name(source)},"
    name = f"`{node.op.saves[place]}`" if node.op.formulas else f"number {place}"
    writers = [writer.partition(AT)[0] for _, writer in later]
    places = "".join(
        f"{as_text(writer)} was called at:\n{line}"
        for writer, found, line in (writer.partition(AT) for _, writer in later)
        if found
    )
    hint = version.named(HINT)
    if node.trace:
        hint = HINT_TRACED.format(node=node.name(), trace=innermost(node.trace), places=places)
    return VersionError(
        WRITTEN.format(
            dtype=kind,
            shape=list(array.shape),
            maker=maker,
            what={"`out`": "its result"}.get(name, name),
            node=node.name(),
            now=cell.version,
            then=max(cell.version - len(later), 0),
            writers=", then ".join(map(as_text, writers)),
            advice=instead_of(writers[0] if writers else ""),
            hint=hint,
        )
    )
