"""The graph in ONNX's terms: nodes, constants and their names, made of the calls of a trace.

NOTE [Rows]
1. `TABLE` has a row for each op that can be exported: a function of this builder, of the names of
   the call's inputs, and, by name after `*`, of those parameters that it needs. It adds nodes and
   gives the names of the call's outputs. The files of this folder fill it, a family each.
2. A row writes `g.Mul(x, 2)` for a node: ONNX's kind, and inputs. A number is a constant in the
   dtype of the call's result, a sequence a vector of int64.
3. An elementwise op without parameters that ONNX has by its name, or by another that a sheet says,
   needs no row: "*" has the function for all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...engine.op import camel_case
from ..sheets import said
from .errors import OnnxExporterError, UnsupportedOperatorError
from .tracing import Call, Value, place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...engine.op import Op

__all__ = ["TABLE", "Graph", "element_type", "exports", "name_of"]

ONNX = said("onnx")
TABLE: dict[str, Callable[..., Any]] = {}
SIZED: set[str] = set()  # ops whose parameters may follow the sizes of the inputs
ALIKE: set[str] = set()  # ops whose inputs are to be of the dtype of the result

NO_ROW = (
    "ONNX has no counterpart of {op} here. Write the model with other ops, or leave it out.{line}"
)
OTHER_SIZES = (
    "{op} has a parameter that changes with the sizes of the inputs ({first}, then {second}), and "
    "cannot be exported so. Leave the dimension out of dynamic_axes.{line}"
)


# How a number may follow a size: the second operand, or None.
RELATIONS: dict[str, Callable[[int, int, int, int], int | None]] = {
    "Mul": lambda first, second, m, n: (
        first // m if m and first % m == 0 and first // m * n == second else None
    ),
    "Div": lambda first, second, m, n: (
        m // first if first and m % first == 0 and m // first * second == n else None
    ),
    "Add": lambda first, second, m, n: first - m if first - m == second - n else None,
}


def exports(*rows: Any, sized: bool = False, alike: bool = False) -> Callable[[Any], Any]:
    """Enter rows into `TABLE`: those of a dictionary, or, as a decorator, one for several names.

    sized: their parameters may follow sizes; alike: inputs are cast to the dtype of the result.
    """

    def enter(row: Any, names: Any = rows) -> Any:
        TABLE.update(dict.fromkeys(names, row))
        SIZED.update(names if sized else ())
        ALIKE.update(names if alike else ())
        return row

    for table in rows:
        if isinstance(table, dict):
            for names, row in table.items():
                enter(row, names.split())
    return enter


def name_of(op: Op) -> str | None:
    """What ONNX calls an elementwise op without parameters, None if it has none."""
    (found,) = ONNX.get(op.name, [camel_case(op.name)])
    return found if op.elementwise and not op.params and onnx.defs.has(found) else None


def element_type(dtype: Any) -> int:
    """ONNX's number for a dtype."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


class Graph:
    """Nodes and constants under way: see the top of the module."""

    def __init__(self, names: dict[Any, str], inputs: Sequence[tuple[Value, Value]]) -> None:
        self.known = names  # of the model's state, by the place of its memory
        self.inputs = inputs  # of both runs
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.by_memory: dict[Any, str] = {}
        self.count = 0
        self.call: Any = None
        self.again: Any = None  # the same call of the second run

    def add(self, call: Call, again: Call) -> None:
        """The nodes of a call."""
        self.call, self.again = call, again
        name = call.op.name
        row = TABLE.get(name, TABLE["*"] if name_of(call.op) else None)
        if row is None:
            raise self.unsupported(name)
        if name not in SIZED and not same_parameters(call.params, again.params):
            raise self.sizes_error(call.params, again.params)
        names: Any = [None if each is None else self.name(each) for each in call.inputs]
        names = self.alike(names, self.dtype) if name in ALIKE else names
        code, given = row.__code__, {**(row.__kwdefaults__ or {}), **call.params}
        asked = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        found = row(self, *names, **{each: given[each] for each in asked})
        if len(call.outputs) != len(again.outputs):
            raise self.sizes_error(len(call.outputs), len(again.outputs))
        made_here = [found] if isinstance(found, str) else found
        for value, made in zip(call.outputs, made_here, strict=False):
            value.name = made

    def __getattr__(self, kind: str) -> Any:
        """A function that adds a node of a kind: NOTE [Rows], 2."""
        if not kind[0].isupper():
            raise AttributeError(kind)
        return partial(self.op, kind)

    @property
    def dtype(self) -> Any:
        """The dtype of the call's first output."""
        return self.call.outputs[0].array.dtype

    @property
    def rank(self) -> int:
        """The number of dimensions of the call's first input."""
        return int(self.call.inputs[0].array.ndim)

    def both(self, name: str) -> tuple[Any, Any]:
        """A parameter of the call, in both runs."""
        return self.call.params[name], self.again.params[name]

    def unsupported(self, what: str) -> UnsupportedOperatorError:
        """The error for what has no counterpart."""
        return UnsupportedOperatorError(NO_ROW.format(op=what, line=self.call.line))

    def sizes_error(self, first: Any, second: Any) -> OnnxExporterError:
        """The error for parameters that differ between the runs."""
        return OnnxExporterError(
            OTHER_SIZES.format(
                op=self.call.op.name, first=first, second=second, line=self.call.line
            )
        )

    def sizes(self, place: int, dim: int) -> list[int]:
        """A size of an input of the call, in both runs."""
        return [each.inputs[place].array.shape[dim] for each in (self.call, self.again)]

    def fixed(self, place: int, dim: int) -> int:
        """A size of an input of the call that must not vary."""
        first, second = self.sizes(place, dim)
        if first != second:
            raise self.sizes_error(first, second)
        return first

    def name(self, value: Value) -> str:
        """The name of a value; one that has none is a constant."""
        if value.name is None and value.varies:
            raise self.unsupported("a further result of an op")
        if value.name is None and value.again != value.array.shape:
            size = self.ints(value.array.shape, value.again)
            value.name = self.op("Expand", self.constant(value.array.flat[0]), size)
        elif value.name is None:
            value.name = self.constant(value.array)
        return value.name

    def rename(self, value: Value, name: str) -> None:
        """Give an output of the model its name."""
        self.nodes.append(helper.make_node("Identity", [self.name(value)], [name], name=name))

    def fresh(self, stem: str) -> str:
        """A name that no value has yet."""
        self.count += 1
        return f"{stem}_{self.count}"

    def constant(self, array: Any, dtype: Any = None) -> str:
        """The name of a constant: the model's own for its state."""
        array = np.asarray(array, dtype)
        key = (array.dtype, array.shape, array.tobytes() if array.size < 64 else id(array))
        if key not in self.by_memory:
            name = self.known.get(place(array)) or self.fresh("constant")
            self.by_memory[key] = name
            self.constants[name] = array
        return self.by_memory[key]

    def op(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; the name of its output, or the names."""
        made = [self.fresh(kind.lower()) for _ in range(outputs)]
        given = [self.operand(each) for each in inputs]
        while given and not given[-1]:
            given.pop()
        attributes = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, given, made, name=made[0], **attributes))
        return made[0] if outputs == 1 else made

    def operand(self, value: Any) -> str:
        """The name of an input as a row writes it: NOTE [Rows], 2; "" for None."""
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, (int, float)):
            return self.constant(value, self.dtype)
        return self.constant([int(each) for each in value], np.int64)

    def whole(self, number: int) -> str:
        """The name of a constant that is an integer."""
        return self.constant(number, np.int64)

    def to(self, name: str, dtype: Any) -> Any:
        """A value in another dtype."""
        return self.Cast(name, to=element_type(dtype))

    def cast(self, name: str, place: int, dtype: Any) -> Any:
        """An input of the call in a dtype."""
        return name if self.call.inputs[place].array.dtype == dtype else self.to(name, dtype)

    def alike(self, names: Any, dtype: Any) -> list[Any]:
        """The inputs of the call in one dtype."""
        return [name and self.cast(name, place, dtype) for place, name in enumerate(names)]

    def ints(self, first: Sequence[int], second: Sequence[int]) -> Any:
        """Sizes as a vector: a constant, or made of sizes of inputs: NOTE [Two runs], 3."""
        if list(first) == list(second):
            return self.constant(list(first), np.int64)
        parts = [
            self.constant([a], np.int64) if a == b else self.size(a, b)
            for a, b in zip(first, second, strict=True)
        ]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def size(self, first: int, second: int) -> Any:
        """A number that was `first`, then `second`: a multiple of a size, a part, or next to it."""
        pairs = zip(self.call.inputs, self.again.inputs, strict=True)
        sizes = [
            (a, dim, m, n)
            for a, b in (*[(a, b) for a, b in pairs if a and a.varies], *self.inputs)
            for dim, (m, n) in enumerate(zip(a.array.shape, b.array.shape, strict=True))
            if m != n
        ]
        for kind, relation in RELATIONS.items():
            for value, dim, m, n in sizes:
                by = relation(first, second, m, n)
                if by is not None:
                    found = self.op("Shape", self.name(value), start=dim, end=dim + 1)
                    same = by == (kind != "Add")
                    return found if same else self.op(kind, found, self.constant([by], np.int64))
        raise self.sizes_error(first, second)

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any], opset: int) -> onnx.ModelProto:
        """The ONNX model of the whole graph, checked."""
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            inputs,
            outputs,
            [
                numpy_helper.from_array(np.asarray(a, order="C"), n)
                for n, a in self.constants.items()
            ],
        )
        made = helper.make_model(
            graph, producer_name="retrograd", opset_imports=[helper.make_opsetid("", opset)]
        )
        made.ir_version = 10
        onnx.checker.check_model(made)
        return made


def same_parameters(a: Any, b: Any) -> bool:
    """Whether two values of parameters are the same."""
    if isinstance(a, dict):
        return all(same_parameters(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b) or repr(a) == repr(b)


def described(name: str, value: Value, dynamic: dict[int, str]) -> Any:
    """An input or output for ONNX, with names for the dimensions that vary."""
    labels = {dim % max(value.array.ndim, 1): label for dim, label in dynamic.items()}
    shape = [labels.get(dim, size) for dim, size in enumerate(value.array.shape)]
    return helper.make_tensor_value_info(name, element_type(value.array.dtype), shape)
