"""A call of a model as a list of op calls, seen twice to know what depends on the inputs.

NOTE [Two runs]
1. A watcher sees the op calls of one forward, by which a value is what made its memory. What no op
   made is a constant, and so is what ops make of constants alone, if it is the same in both runs.
2. The model runs again on other inputs: turned round, negated (integers, which may be indices, one
   nearer to 0; truth values the other ones), and longer where a dimension may vary, by another
   prime for each name, so that no multiple of one size looks like another. Ops
   that differ are a branch on values; a constant that differs is a value that went past the ops, or
   a random one. Both raise, so nothing of the example is frozen in silence. One number in a shape
   that differs, such as zeros to begin with, is made in the graph.
3. An op's sizes that differ between the runs are found among sizes of its inputs and of the
   model's (`Graph.size`). What differs and is not found raises.
4. A write in place is the call before it whose result the tensor has now.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import modes
from ...engine.tensor import Tensor, new_tensor
from ...engine.trace import where
from ...engine.transforms.watch import Watcher
from ...kernels.memory import address
from .errors import OnnxExporterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...engine.op import Op

__all__ = ["Call", "Trace", "Value", "is_in_onnx_export", "matched", "other", "place"]

BRANCH = (
    "the model takes another way for other inputs: it called {op} where it had called {first}. A "
    "branch on values cannot be exported: write torch.where.{line}"
)
FROZEN = (
    "{op} takes a value that changes with the inputs and that no op made of them: it is random, or "
    "went through NumPy, .item() or a shape. Call model.eval(), and compute with tensors.{line}"
)
WRITTEN = (
    "{op} takes a tensor that was written in place through a view or by copying, which has no "
    "counterpart in ONNX. Compute a new tensor: torch.where, torch.cat, x + y.{line}"
)


class Value:
    """A value of the graph: an array, made by an op or not; its name in ONNX comes later."""

    def __init__(self, array: Any, varies: bool) -> None:
        self.array, self.varies = array, varies
        self.name: str | None = None
        self.source: Call | None = None
        self.again: tuple[int, ...] = array.shape  # in the second run, of a constant


class Call:
    """A call of an op: values, parameters, and the line of the program."""

    def __init__(
        self, op: Op, inputs: list[Value | None], params: dict[str, Any], outputs: list[Value]
    ) -> None:
        self.op, self.params, self.outputs = op, params, outputs
        self.inputs: list[Any] = inputs
        self.line = f"\n{where(1)}".rstrip()
        self.varies = any(each is not None and each.varies for each in inputs)
        for each in outputs:
            each.source, each.varies = self, self.varies


class Trace(Watcher):
    """The op calls of a forward: NOTE [Two runs]."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.values: dict[Any, tuple[int, Value]] = {}
        self.alive: list[Tensor] = []  # lest another one gets the memory of one that is known
        self.before: list[list[tuple[Any, int]]] = []  # places and versions of calls' inputs

    def enter(self, tensor: Tensor, varies: bool) -> Value:
        """Give a tensor a name in the graph, for its present value."""
        value = Value(tensor._array, varies)
        self.values[place(tensor._array)] = tensor._version, value
        self.alive.append(tensor)
        return value

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """Add the nodes of a call that was recorded."""
        taken = [None if each is None else self.value(each, op.name) for each in inputs]
        tensors = [each for each in inputs if isinstance(each, Tensor)]
        self.before.append([(place(each._array), each._version) for each in tensors])
        self.calls.append(Call(op, taken, params, [self.enter(each, False) for each in outputs]))

    def value(self, given: Any, name: str) -> Value:
        """The value that an input of the op of this name, or an output of the model, is."""
        if not isinstance(given, Tensor):
            return Value(np.asarray(given), False)
        known = self.values.get(place(given._array))
        if known is None:
            return self.enter(given, False)
        version, value = known
        return value if version == given._version else self.written(given, version, value, name)

    def written(self, given: Tensor, version: int, value: Value, name: str) -> Value:
        """The value of a tensor that was written in place since it was known: by whom."""
        for call, before in zip(reversed(self.calls), reversed(self.before), strict=True):
            made = call.outputs[0]
            if (place(given._array), version) in before and same(made.array, given._array):
                self.values[place(given._array)] = given._version, made
                return made
        if value.varies:
            line = f"\n{where(1)}".rstrip()
            raise OnnxExporterError(WRITTEN.format(op=name, line=line))
        return self.enter(given, False)


def is_in_onnx_export() -> bool:
    """Whether a model runs in this thread to be exported.

    >>> rg.onnx.is_in_onnx_export()
    False
    """
    return any(isinstance(each, Trace) for each in modes.state.watchers)


def place(array: Any) -> Any:
    """The identity of an array's elements: arrays that have the same are the same value."""
    return address(array), array.shape, array.strides, array.dtype


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same elements."""
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and np.array_equal(a, b, equal_nan=a.dtype.kind in "fcV")
    )


def other(tensor: Tensor, longer: dict[int, int]) -> Tensor:
    """Another input of the same kind: NOTE [Two runs], 2; longer by so much in dimensions."""
    array = np.flip(tensor._array)
    for dim, more in longer.items():
        size = array.shape[dim]
        array = array.take(np.arange(size + more) % max(size, 1), dim)
    if array.dtype.kind in "fcV":
        array = array * array.dtype.type(-0.875)
    elif array.dtype.kind in "iu":
        array = array - np.sign(array)
    elif array.dtype.kind == "b":
        array = ~array
    return new_tensor(np.ascontiguousarray(array))


def fits(x: Value, y: Value) -> bool:
    """Whether constants of both runs are the same, or one number in shapes of one rank."""
    a, b = x.array, y.array
    if same(a, b):
        return True
    return bool(a.ndim == b.ndim and a.size and b.size and same(a.flat[:1], b.flat[:1])
                and np.all(a == a.flat[0]) and np.all(b == b.flat[0]))  # fmt: skip


def reconcile(x: Value | None, y: Value | None, name: str, line: str) -> None:
    """See to it that a value of both runs can be in the graph; raise where it cannot.

    The op of this name takes it, at that line of the program.
    """
    if x is None or y is None or x.varies or y.varies:
        alike = (x and x.varies) == (y and y.varies)
    elif fits(x, y):
        alike, x.again = True, y.array.shape
    else:
        a, b = x.source, y.source
        alike = a is not None and b is not None and a.op is b.op
        if a is not None and b is not None and alike:
            for one, two in zip(a.inputs, b.inputs, strict=True):
                reconcile(one, two, a.op.name, a.line)
            a.varies = b.varies = True
            for each in (*a.outputs, *b.outputs):
                each.varies = True
    if not alike:
        raise OnnxExporterError(FROZEN.format(op=name, line=line))


def matched(
    first: Trace, second: Trace, outputs: Iterable[tuple[Value, Value]]
) -> list[tuple[Call, Call]]:
    """The calls that the graph needs, of both runs; OnnxExporterError where these differ.

    outputs: of the model, in both runs.
    """
    for a, b in itertools.zip_longest(first.calls, second.calls):
        if a is None or b is None or a.op is not b.op:
            names = ["nothing" if each is None else each.op.name for each in (a, b)]
            raise OnnxExporterError(BRANCH.format(first=names[0], op=names[1], line=(a or b).line))
        if a.varies or b.varies:
            for x, y in zip(a.inputs, b.inputs, strict=True):
                reconcile(x, y, a.op.name, a.line)
    for x, y in outputs:
        reconcile(x, y, "the model's output", "")
    return [(a, b) for a, b in zip(first.calls, second.calls, strict=True) if a.varies]
