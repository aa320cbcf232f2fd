"""Nodes of a graph, and how nodes are found and replaced within their arguments.

NOTE [Nodes]
1. A node's arguments are nested tuples, lists, dicts and slices of values and other nodes; lists
   and dicts are immutable copies, so that `users` of the nodes in them is always right.
2. The nodes of a graph are a ring that starts at its root: an erased node keeps its neighbours, so
   a loop that erases what it is at goes on.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

from ... import version
from ...engine import overriding
from ...locks import load
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any  # by PyTorch's name, for annotations: what rule 1 says
OPS = (
    *("placeholder", "get_attr", "call_function", "call_method", "call_module", "output"),
    "root",  # of the ring
)
PACKAGE = __name__.partition(".")[0]

effects: set[Any] = {operator.setitem}


def has_side_effect(fn: Any) -> Any:
    """Say of a function that a call of it is kept where nothing uses the result; returns it.

    >>> rg.fx.has_side_effect(print) is print
    True
    """
    effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`a` with `fn` of every value in its nested tuples, lists, dicts and slices.

    >>> rg.fx.node.map_aggregate({"a": (1, [2])}, lambda value: value + 1)
    {'a': (2, [3])}
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(item, fn) for key, item in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(item, fn) for item in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`a` with `fn` of every node in its nested tuples, lists, dicts and slices.

    >>> graph = rg.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> rg.fx.map_arg([x, 1], lambda node: node.name)
    ['x', 1]
    """
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def _get_qualified_name(func: Any) -> str:
    """A function's name with dots, as generated code is to read: `torch.add`, `operator.mul`.

    >>> rg.fx.node._get_qualified_name(rg.add), rg.fx.node._get_qualified_name(len)
    ('retrograd.add', 'len')
    """
    name = getattr(func, "__name__", "")
    if getattr(builtins, name, None) is func:
        return name
    module = getattr(func, "__module__", None) or ""
    operators = f"{version.called}{'' if version.called == 'torch' else '.library'}.ops"
    if hasattr(func, "overloadpacket"):
        return f"{operators}.{func}"
    if module.startswith(f"{PACKAGE}.torch._higher_order_ops."):
        return f"{operators}.higher_order.{name}"
    known = None
    if module.partition(".")[0] in (PACKAGE, version.called):
        short = getattr(load(PACKAGE), name, None) is func
        known = f"{PACKAGE}.{name}" if short else overriding.names.get(func)
    if known is None:
        known = f"{module}.{getattr(func, '__qualname__', name)}"
        if known.endswith("<lambda>") or "<locals>" in known:
            known = f"{module}.{name}"
    known = known.replace(f"{PACKAGE}.torch.", f"{PACKAGE}.", 1)  # as programs know it
    if known.startswith(f"{PACKAGE}."):
        return version.called + known.removeprefix(PACKAGE)
    return known.replace("_operator.", "operator.")


def _type_repr(kind: Any) -> str:
    """The text of a type in generated code."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        module = kind.__module__
        if module == "builtins":
            return kind.__qualname__
        if module.partition(".")[0] in (PACKAGE, version.called):
            short = getattr(load(PACKAGE), kind.__name__, None) is kind
            return f"{version.called}.{kind.__name__}" if short else _get_qualified_name(kind)
        return f"{module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    return kind.__name__ if isinstance(kind, types.FunctionType) else repr(kind)


class Node:
    """A step of a graph: an input, a constant of the module, a call, or the output.

    `op` is one of placeholder, get_attr, call_function, call_method, call_module, output; `target`
    what it names or calls; `meta` a dict for whatever passes want to keep.

    >>> graph = rg.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(rg.add, (x, 1))
    >>> y, y.args, list(x.users)
    (add, (x, 1), [add])
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not in _legal_ops: {', '.join(OPS)}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} "
                "but a Callable is expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} "
                "but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._erased = False
        self._prev = self._next = self
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self._inputs:
            node.users.pop(self, None)
        self._inputs = {}

        def used(node: Node) -> Node:
            self._inputs[node] = node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), used), map_arg(dict(kwargs), used)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments by position; set a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name; set a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The node after this one in the graph."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one in the graph."""
        return self._prev

    def update_arg(self, idx: int, arg: Any) -> None:
        """Change the argument at a position."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put an argument before a position."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Change an argument by its name."""
        self.kwargs = {**self.kwargs, key: arg}

    def prepend(self, x: Node) -> None:
        """Move `x` of the same graph to the place before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move `x` of the same graph to the place after this node."""
        if self is not x:
            self._next.prepend(x)

    def _remove(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node use another one; returns them.

        `delete_user_cb` says of a user whether it is to change.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with with a node that has meta")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put one node in place of another among the arguments."""

        def swapped(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, swapped), map_arg(self._kwargs, swapped))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node stays where nothing uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            found = module and module.get_submodule(self.target)
            return bool(getattr(found, "_is_impure", False))
        if self.op == "call_method":
            return writes(str(self.target))
        if self.op != "call_function":
            return False
        in_place = self.target in overriding.names and writes(getattr(self.target, "__name__", ""))
        in_place = in_place or getattr(getattr(self.target, "_schema", None), "is_mutable", False)
        function: Any = inspect.unwrap(self.target)  # type: ignore[arg-type]  # no name here
        home = getattr(function, "__globals__", {}).get("__name__", "")
        random = home.startswith(f"{PACKAGE}.ops.random")
        return self.target in effects or in_place or (impure_random and random)

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made the node, where they were kept."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments with defaults, as `operator_schemas` has them; None where it has none.

        `root` is the module whose layers the graph calls.
        """
        schemas = load(".operator_schemas", __package__)
        settings = {"normalize_to_only_use_kwargs": normalize_to_only_use_kwargs}
        if self.op == "call_function":
            return schemas.normalize_function(self.target, self.args, self.kwargs, **settings)
        if self.op == "call_module":
            return schemas.normalize_module(root, self.target, self.args, self.kwargs, **settings)
        return None

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: Any = None
    ) -> str | None:
        """The node in a line; what is `placeholder` or `output` goes into the lists, if given."""
        kind = "" if self.type is None else f"{_type_repr(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target} : {kind}".rstrip(" :"))
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        args, kwargs = formatted(self.args), formatted(self.kwargs)
        return f"{head}[target={self._pretty_target()}](args = {args}, kwargs = {kwargs})"

    def _pretty_target(self) -> str:
        if isinstance(self.target, str):
            return self.target
        name = _get_qualified_name(self.target)
        return name if "." in name else f"builtins.{name}"

    def __repr__(self) -> str:
        return self.name


def writes(name: str) -> bool:
    """Whether what has this name writes to its argument, as `add_` does."""
    return name.endswith("_") and not name.endswith("__")


def formatted(value: Any) -> str:
    """Arguments as `format_node` prints them: nodes with a percent sign, text without quotes."""
    if isinstance(value, Node):
        return f"%{value}"
    if isinstance(value, tuple):
        return f"({', '.join(map(formatted, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(formatted, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {formatted(item)}" for key, item in value.items()) + "}"
    return str(value)
