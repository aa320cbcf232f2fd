"""Python code for a graph: one assignment a node, each value dropped after its last use."""

from __future__ import annotations

import builtins
import enum
import json
import keyword
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from ... import version
from ...engine.tensor import Tensor, device
from ...locks import load
from .node import Node, _get_qualified_name, _type_repr, map_arg

__all__ = ["CodeGen", "Namespace", "PythonCode", "generate"]

INFIX = {
    **{"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "add": "+"},
    **{"sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**"},
    **{"lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@"},
}
PREFIX = {"pos": "+", "neg": "-", "invert": "~"}
IN_PLACE = {
    f"i{name.rstrip('_')}": f"{sign}="
    for name, sign in INFIX.items()
    if name not in ("eq", "ne", "lt", "gt", "le", "ge")
}
Describe = Callable[[Node], str] | None
WRAP = ".fx._symbolic_trace.wrap"


@dataclass
class PythonCode:
    """Source of a function, and the globals that it needs."""

    src: str
    globals: dict[str, Any] = field(repr=False)


def standing() -> dict[str, Any]:
    """The globals of all generated code."""
    return {
        "inf": inf,
        "nan": nan,
        "NoneType": type(None),
        version.called: load(version.called),
        "device": device,
    }


class Namespace:
    """Names that are given once each.

    >>> names = rg.fx.code.Namespace()
    >>> [names.create_name(name, None) for name in ("x", "x", "a.b", "float", "1")]
    ['x', 'x_1', 'a_b', 'float_1', '_1']
    """

    def __init__(self) -> None:
        self._used: dict[str, Any] = {}  # with the object, so that its id stays its own
        self._owners: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like `candidate` that is no other object's; the same again for the same object."""
        if obj is not None and id(obj) in self._owners:
            return self._owners[id(obj)]
        candidate = re.sub(r"\W", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.*)_(\d+)", candidate)
        base = match[1] if match else candidate
        number = int(match[2]) if match else self._counts.get(base, 0)
        while candidate in self._used or is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used[candidate] = obj
        self._counts[base] = number
        self._owners[id(obj)] = candidate
        return candidate


def is_taken(name: str, obj: Any) -> bool:
    """Whether a name means something else in Python, or in all generated code."""
    if keyword.iskeyword(name):
        return True
    known = vars(builtins)
    own = standing()
    return (name in known and known[name] is not obj) or (name in own and own[name] is not obj)


class CodeGen:
    """Writes the frame of a graph's code; `Graph.set_codegen` takes one of a class of your own.

    >>> class Pair(rg.fx.graph.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         head = f"def forward(self, pair){maybe_return_annotation}:"
    ...         return head + f"\\n    {', '.join(free_vars)} = pair"
    >>> module = rg.fx.symbolic_trace(lambda x, y: x - y)
    >>> module.graph.set_codegen(Pair())
    >>> module.recompile().src.split("\\n")[3:5]
    ['def forward(self, pair):', '    x, y = pair']
    >>> module([5, 3])
    2
    """

    _body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that defines the function, of these parameters, and what is to come first."""
        params = free_vars if free_vars[:1] == ["self"] else ["self", *free_vars]
        return f"def forward({', '.join(params)}){maybe_return_annotation}:"

    def generate_output(self, output_args: str) -> str:
        """The statement that returns a value."""
        return f"return {output_args}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the function as those of the placeholders: for interpreters."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The value of the output node as that of the function: for interpreters."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code needs, with their values."""
        return []


class Writer:
    """The code of one function: its globals, and how values read in it."""

    def __init__(
        self, nodes: Iterable[Node], root: str, codegen: CodeGen, describe: Describe = None
    ) -> None:
        self.nodes, self.describe, self.codegen = list(nodes), describe, codegen
        self.root = root
        self.globals = {**standing(), **dict(codegen.additional_globals())}
        self.names = Namespace()
        for node in self.nodes:
            self.names.create_name(node.name, node)
        self.wrapped: dict[str, None] = {}

    def named(self, name: str, value: Any) -> str:
        """The name by which code reaches a value."""
        if name.startswith(f"{version.called}.") and reached(name) is value:
            return name
        known: dict[str, Any] = vars(builtins)
        if known.get(name) is value and name not in self.globals:
            return name
        name = name.replace("operator.", "_operator.") if name.startswith("operator.") else name
        name = self.names.create_name(name.replace(".", "_"), value)
        self.globals[name] = value
        return name

    def kind(self, value: Any) -> str:
        """The code for a type."""
        origin = typing.get_origin(value)
        if isinstance(value, str):
            return repr(value)
        if origin is None:
            name = _type_repr(value)
            return name if name in ("None", "...") else self.named(name, value)
        if origin in (typing.Union, types.UnionType):
            head = self.named("typing.Union", typing.Union)
        elif origin in BUILT:
            short = origin.__name__.title()
            head = self.named(f"typing.{short}", getattr(typing, short))
        else:
            head = self.named(_type_repr(origin), origin)
        return f"{head}[{','.join(map(self.kind, typing.get_args(value)))}]"

    def value(self, value: Any) -> str:
        """The code for an argument."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self.named(_get_qualified_name(type(value)), type(value))
            return f"{name}({', '.join(map(self.value, value))})"
        if type(value) is tuple:
            return f"({', '.join(map(self.value, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            items = [f"{key!r}: {self.value(item)}" for key, item in value.items()]
            return "{" + ", ".join(items) + "}"
        if isinstance(value, slice):
            inner = (value.start, value.stop, value.step)
            return f"slice({', '.join(map(self.value, inner))})"
        if isinstance(value, enum.Enum):
            return f"{self.named(_get_qualified_name(type(value)), type(value))}.{value.name}"
        if callable(value) and hasattr(value, "__qualname__"):
            return self.named(
                _type_repr(value) if isinstance(value, type) else _get_qualified_name(value), value
            )
        return repr(value)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Arguments of a call."""
        named = [f"{key} = {self.value(item)}" for key, item in kwargs.items()]
        return ", ".join([*map(self.value, args), *named])

    def call(self, node: Node) -> str:
        """The expression that a node computes, or its whole statement."""
        args = [self.value(arg) for arg in node.args]
        target: Any = node.target
        if node.op == "get_attr":
            return path(self.root, target)
        if node.op == "call_module":
            return f"{path(self.root, target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            return f"{dotted(args[0], target)}({self.arguments(node.args[1:], node.kwargs)})"
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if name in INFIX:  # -2 ** x is -(2 ** x)
                left = f"({args[0]})" if name == "pow" and args[0][0] == "-" else args[0]
                return f"{left} {INFIX[name]} {args[1]}"
            if name in PREFIX:
                return f"{PREFIX[name]}{args[0]}"
            if name == "getitem":
                return f"{args[0]}[{args[1]}]"
        if target is getattr and len(args) == 2 and is_name(str(node.args[1])):
            return dotted(args[0], str(node.args[1]))
        head = self.named(_get_qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped[head] = None
        return f"{head}({self.arguments(node.args, node.kwargs)})"

    def annotation(self, node: Node) -> str:
        """The annotation after a node's name."""
        if node.type is not None:
            return f" : {self.kind(node.type)}"
        return "" if self.describe is None else self.describe(node)

    def statement(self, node: Node) -> str:
        """A node's line."""
        name = getattr(node.target, "__name__", "")
        kind = self.annotation(node)
        if node.op == "output":
            return self.codegen.generate_output(self.value(node.args[0]))
        if getattr(node.target, "__module__", None) == "_operator" and name in IN_PLACE:
            first, second = map(self.value, node.args)
            return f"{node}{kind} = {first};  {node} {IN_PLACE[name]} {second}"
        return f"{node}{kind} = {self.call(node)}"

    def write(self, show: Callable[[Node], str]) -> PythonCode:
        """The whole function; `show` says what goes above a node's line."""
        last = last_uses(self.nodes)
        params: list[str] = []
        lines: list[str] = []
        result = ""
        for node in self.nodes:
            lines += show(node).splitlines()
            if node.op == "placeholder":
                kind = self.annotation(node)
                default = f" = {self.value(node.args[0])}" if node.args else ""
                params.append(f"{node.target}{kind}{default}")
                raw = str(node.target).replace("*", "")
                lines += [f"{node} = {raw}"] if raw != node.name else []
                continue
            if node.op == "output":
                result = "" if node.type is None else f" -> {self.kind(node.type)}"
                lines.append(self.statement(node))
                continue
            unused = [*last.get(node, ()), *([] if node.users else [node])]
            drop = f";  {' = '.join(map(repr, unused))} = None" if unused else ""
            lines.append(self.statement(node) + drop)
        wraps = "\n".join(f'{version.called}{WRAP}("{name}")' for name in self.wrapped)
        if self.codegen._body_transformer is not None:
            changed = self.codegen._body_transformer([f"{line}\n" for line in lines])
            lines = "".join(changed).splitlines()
        body = "\n".join(f"    {line}" for line in [*(lines or ["pass"]), ""])
        head = self.codegen.gen_fn_def(params, result)
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}", self.globals)


BUILT = (list, dict, tuple, set)


def last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """The values that each node is the last to use."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(nodes):

        def used(value: Node, user: Node = node) -> None:
            if value not in seen:
                seen.add(value)
                last.setdefault(user, []).append(value)

        map_arg((node.args, node.kwargs), used)
    return last


def reached(name: str) -> Any:
    """The object that a dotted name of the package names, or None."""
    value: Any = load(version.called)
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def dotted(value: str, name: str) -> str:
    """An attribute of an expression, in brackets where it is a number."""
    return f"({value}).{name}" if value.isdigit() else f"{value}.{name}"


def path(root: str, target: str) -> str:
    """A module's attribute by its path, of which parts may be any text."""
    found = root
    for part in target.split("."):
        text = json.dumps(part, ensure_ascii=False)
        found = f"{found}.{part}" if is_name(part) else f"getattr({found}, {text})"
    return found


def is_name(text: str) -> bool:
    """Whether text can stand behind a dot."""
    return text.isidentifier() and not keyword.iskeyword(text)


SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c", "bool": "b8"}


def described(node: Node) -> str:
    """The dtype and shape of a node's value, where FakeTensors have told it: `: "f32[2, 3]"`."""
    value = node.meta.get("val")
    if isinstance(value, Tensor):
        word, bits = re.fullmatch(r"([a-z]+)(.*)", str(value.dtype).rpartition(".")[2]).groups()  # type: ignore[union-attr]
        sizes = getattr(value, "symbolic", None) or value._array.shape
        return f': "{SHORT.get(word, word)}{bits}[{", ".join(map(str, sizes))}]"'
    return f': "Sym({node.meta["symbolic"]})"' if "symbolic" in node.meta else ""


def generate(
    nodes: Iterable[Node],
    root: str,
    codegen: CodeGen,
    show: Callable[[Node], str] = lambda node: "",
    describe: Describe = None,
) -> PythonCode:
    """The code of a graph's nodes, as a function of a module called `root`.

    `show` says what goes above a node's line, `describe` what behind its name.
    """
    return Writer(nodes, root, codegen, describe).write(show)
