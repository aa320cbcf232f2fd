"""Saved tensors: what a node's formulas named, as the formulas and the user read it back.

Most saved values are stored bare: an input as the tensor itself, an output as its array. Hooks
replace a value by a `Packed`, which holds what the pack hook returned.

NOTE [Reading a saved value]
1. A bare value is intact if its version cell was not written after the node was recorded
   (NOTE [One clock] in `graph`). A packed one is never checked: it is the hook's business.
2. `raw` gives arrays, for an ordinary backward pass; `tensors` gives tensors that carry history,
   for `create_graph=True`: an input with the edge it had when saved, an output with the node.
3. The pack hook is called once, with a detached alias; the unpack hook at every reading.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..errors import SecondBackwardError, VersionError
from .graph import FREED, Cell, Node
from .tensor import Tensor, alias, new_tensor

if TYPE_CHECKING:
    from .op import Op

__all__ = ["Packed", "SavedTensor", "raw", "saved_properties", "tensors"]

ndarray = np.ndarray

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward. "
    "The first freed value belongs to {node}{trace}"
)

WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{dtype} {shape}], which is {what} of {node}, is at version {now}; expected "
    "version {then} instead. It was written by {writer}. Write out of place there (for example "
    "y = x * 2 for x.mul_(2)), or clone first: x = x.clone(){trace}"
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
    """What a pack hook made of a saved value, in that value's place in `node.saved`."""

    __slots__ = ("content", "unpack_hook")

    def __init__(self, bare: Any, pack_hook: Any, unpack_hook: Any) -> None:
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("incompatible function arguments: both hooks must be callable")
        shown = new_tensor(bare.array if isinstance(bare, Tensor) else bare)
        shown.cell = watched = Cell()
        before = modes.change(grad=False, saved_hooks=())
        try:
            self.content = pack_hook(shown)
        finally:
            modes.change(**before)
        if watched.version:
            raise RuntimeError(PACK_WROTE)
        self.unpack_hook = unpack_hook

    def unpack(self) -> Tensor:
        """The tensor that the unpack hook gives back."""
        before = modes.change(grad=False, saved_hooks=())
        try:
            value = self.unpack_hook(self.content)
        finally:
            modes.change(**before)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        return value


class SavedTensor:
    """The handle to one saved value, `grad_fn._raw_saved_<name>`; takes a pair of hooks."""

    __slots__ = ("node", "place")

    def __init__(self, node: Node, place: int) -> None:
        self.node = node
        self.place = place

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Replace the value by what `pack_hook` makes of it; `unpack_hook` turns that back.

        Raises RuntimeError when hooks are set already, when the value was freed, or when the pack
        hook writes to the tensor it is given; TypeError for a hook that cannot be called.
        """
        saved = self.node.saved
        if saved is FREED:
            raise RuntimeError(HOOKS_AFTER_FREE)
        bare = saved[self.place]
        if isinstance(bare, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        if bare is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        packed = Packed(bare, pack_hook, unpack_hook)
        self.node.saved = (*saved[: self.place], packed, *saved[self.place + 1 :])


def saved_properties(op: Op) -> dict[str, property]:
    """The attributes `_saved_<name>` and `_raw_saved_<name>` of an op's nodes, in PyTorch's names.

    Properties, not `__getattr__`: a class with that loses CPython's fast attribute access.
    """
    found: dict[str, property] = {}
    for place, name in enumerate(op.saves):
        shown = {op.inputs[0]: "self", "out": "result"}.get(name, name)
        found[f"_saved_{shown}"] = property(partial(_saved, place=place))
        found[f"_raw_saved_{shown}"] = property(partial(handle, place=place))
    for place, name in enumerate(op.facts):
        found[f"_saved_{name}"] = property(partial(_fact, place=place))
    return found


def _saved(node: Node, place: int) -> Any:
    return tensors(node)[place]


def _fact(node: Node, place: int) -> Any:
    return node.params[place]


def handle(node: Node, place: int) -> SavedTensor:
    """The handle to one saved value, while it is there."""
    if node.saved is FREED:
        raise freed_error(node)
    return SavedTensor(node, place)


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
            cell = value.cell
            append(value.array)
        elif value is None:
            append(None)
            continue
        elif kind is ndarray:
            cell = node.cell if node.cells is None else node.cells[len(values)]
            append(value)
        elif kind is Packed:
            append(value.unpack().array)
            continue
        else:
            cell = value.cell
            append(value.array)
        if cell is not None and cell.last > seq:
            raise written_error(node, len(values) - 1, cell)
    if node.params:
        values += node.params
    return values


def tensors(node: Any) -> list[Any]:
    """The same values as tensors with history: what `create_graph=True` and the user read."""
    raw_values = raw(node)
    values: list[Any] = []
    for place, value in enumerate(node.saved):
        if value is None:
            values.append(None)
            continue
        history = node.op.history(node, place)
        if isinstance(value, Tensor) and value.node is history:
            values.append(value)
            continue
        shown = new_tensor(raw_values[place])
        shown.node = history
        if value.__class__ is not Packed:
            if isinstance(value, Tensor):
                shown = alias(value, history)
            else:
                shown.cell = node.cell if node.cells is None else node.cells[place]
        values.append(shown)
    return [*values, *raw_values[len(values) :]]


def freed_error(node: Node) -> SecondBackwardError:
    """The error for reading freed values of `node`."""
    trace = f", recorded at:\n{node.trace}" if node.trace else "."
    return SecondBackwardError(BACKWARD_TWICE.format(node=node.name(), trace=trace))


def written_error(node: Any, place: int, cell: Cell) -> VersionError:
    """The error for a saved value that was written after it was saved."""
    value = node.saved[place]
    array = value.array if isinstance(value, Tensor) else value
    later = cell.writes_after(node.seq)
    kind = f"retrograd.{dtypes.of_numpy(array.dtype).name}Tensor"
    trace = f"\nThe node was recorded at:\n{node.trace}" if node.trace else ""
    name = f"`{node.op.saves[place]}`" if node.op.formulas else "a saved tensor"
    return VersionError(
        WRITTEN.format(
            dtype=kind,
            shape=list(array.shape),
            what={"`out`": "the output"}.get(name, name),
            node=node.name(),
            now=cell.version,
            then=cell.version - len(later),
            writer=", then ".join(writer for _, writer in later),
            trace=trace,
        )
    )
