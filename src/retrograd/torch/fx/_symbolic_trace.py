"""Tracing: a module or function is called once with proxies, which write down what it does.

NOTE [While a function is traced]
1. Calls of modules, and what modules give as their parameters, are seen by methods of `Module` that
   stand in for its own until tracing ends; other threads do not notice. Buffers and other tensors
   become attributes of the graph where they meet a proxy.
2. Functions under `wrap`, and those of `autowrap_modules`, are replaced in their modules' globals
   likewise: a call with a proxy among its arguments is a node.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ...engine.tensor import Tensor
from ...nn.modules.container import Sequential
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .graph import Graph
from .graph_module import GraphModule
from .node import PACKAGE, Node, has_side_effect, map_aggregate
from .proxy import ParameterProxy, Proxy, TracerBase

__all__ = ["PH", "Tracer", "symbolic_trace", "wrap"]

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
tracing = RLock()  # one at a time changes what modules do

wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # globals, by their id and a name in them


class Placeholder:
    """A mark for an input that is not fixed, in `concrete_args`."""

    def __repr__(self) -> str:
        return "PH"


PH = Placeholder()


def wrap(fn_or_name: Any) -> Any:
    """Let calls of a function of the calling module be nodes, not traced through; returns it.

    Call it at module scope, with the function or its name, or decorate with it. Raises RuntimeError
    for what is neither, NotImplementedError elsewhere.

    >>> rg.fx.wrap("len")
    'len'
    >>> print(rg.fx.symbolic_trace(lambda x: len(x)).graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %len_1 : [num_users=1] = call_function[target=builtins.len](args = (%x,), kwargs = {})
        return len_1
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame: Any = inspect.currentframe()
    frame = frame.f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


@has_side_effect
def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless a condition holds; a node where it is traced."""
    if isinstance(condition, Proxy):
        args = (condition, message)
        condition.tracer.create_proxy("call_function", _assert, args, {})
        return
    if not condition:
        raise AssertionError(message)


_assert.__module__ = PACKAGE  # where code finds it


@has_side_effect
def _assert_is_none(value: Any, message: str) -> None:
    """Raise AssertionError unless a value is None; a node where it is traced."""
    _assert(value is None, message)


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of which calls with proxies are nodes."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        map_aggregate(
            (args, kwargs), lambda arg: found.append(arg) if isinstance(arg, Proxy) else None
        )
        if not found:
            return function(*args, **kwargs)
        made = found[0].tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call


class Tracer(TracerBase):
    """Makes the graph of a module or a function.

    `autowrap_modules`, `autowrap_functions`: modules whose functions, and functions which, are
    nodes when they are called with proxies. `param_shapes_constant`: whether branches may depend on
    the shapes of parameters. `is_leaf_module` says which modules are not traced
    through; `create_arg`, `create_node`, `call_module` and others can be overridden.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self.autowrap_modules = autowrap_modules
        self.autowrap_functions = autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self._root: Any = None

    @property
    def root(self) -> Any:
        """The module that is traced; for a function, one that gets its tensors."""
        return self._root

    @root.setter
    def root(self, root: Any) -> None:
        self._root = root
        modules = root.named_modules() if isinstance(root, Module) else ()
        self._paths = {module: name for name, module in modules}
        self._tensors = {id(value): path for path, value in tensors_of(root)} if modules else {}

    def get_fresh_qualname(self, prefix: str) -> str:
        """The first of `prefix0`, `prefix1`, ... that the root has no attribute of.

        >>> tracer = rg.fx.Tracer()
        >>> tracer.root = rg.nn.Linear(1, 1)
        >>> tracer.get_fresh_qualname("scale")
        'scale0'
        """
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are nodes: those of the package's, but of `Sequential`."""
        home = type(m).__module__
        own = home.startswith((f"{PACKAGE}.nn", f"{PACKAGE}.torch.nn", "torch.nn"))
        return own and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a submodule; NameError for a module that is not in the root."""
        found = self._paths.get(mod)
        if found is None:  # it came after the root was told
            found = next((name for name, each in self.root.named_modules() if each is mod), None)
        if found is None:
            raise NameError("module is not installed as a submodule")
        return found

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """The result of a submodule's call: a proxy for a leaf, else that of `forward`."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a module while it is traced: a proxy for a parameter."""
        if not isinstance(attr_val, Parameter) or id(attr_val) not in self._tensors:
            return attr_val
        path = self._tensors[id(attr_val)]
        if path not in parameter_proxy_cache:

            def made(node: Node) -> Proxy:
                return ParameterProxy(node, self, attr_val)

            own: dict[str, Any] = {"proxy_factory_fn": made} if self.param_shapes_constant else {}
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, **own)
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Any:
        """As `TracerBase.create_arg`; tensors and modules become attributes of the root."""
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._path_of_tensor(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _path_of_tensor(self, a: Tensor) -> str:
        path = self._tensors.get(id(a))
        if path is not None:
            return path
        if isinstance(a, Parameter):
            raise NameError("parameter is not a member of this module")
        path = self.get_fresh_qualname("_tensor_constant")
        self._tensors[id(a)] = path
        setattr(self.root, path, a)
        return path

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """The function to call, with its arguments: proxies, but for what is concrete.

        `concrete_args`: values by name, or a tuple of as many as there are, with `PH` for others.
        """
        args: list[Any] = [self.root] if is_module else []
        if isinstance(root_fn, MethodType):
            root_fn, args = root_fn.__func__, [root_fn.__self__]
        shown = inspect.unwrap(root_fn)
        code: CodeType = shown.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:total])
        if is_module and not names:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        parameters, kinds = inspect.signature(shown).parameters, hints(shown)
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(names) - len(args):
                raise RuntimeError(
                    f"Tracing expected {len(names) - len(args)} arguments but got "
                    f"{len(concrete_args)} concrete arguments: fill up with fx.PH"
                )
            concrete_args = dict(zip(names[len(args) :], concrete_args, strict=True))
        for name in names[len(args) :]:
            if concrete_args and concrete_args.get(name, PH) is not PH:
                args.append(self._fixed(parameters[name], concrete_args[name]))
            else:
                args.append(self._input(parameters[name], name, kinds.get(name)))
        if code.co_kwonlyargcount or code.co_flags & STARRED:
            for flag, star in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(
                        self.create_proxy("placeholder", star + code.co_varnames[total], (), {})
                    )
                    total += 1
            root_fn = flattened(shown, total)
        return root_fn, args

    def _input(self, parameter: inspect.Parameter, target: str, kind: Any = None) -> Any:
        default = () if parameter.default is parameter.empty else (parameter.default,)
        return self.create_proxy("placeholder", target, default, {}, type_expr=kind)

    def _fixed(self, parameter: inspect.Parameter, value: Any) -> Any:
        """A value of `concrete_args`: the graph checks that it is given again."""
        name = parameter.name

        def refuse(inner: Any) -> None:
            if inner is PH:
                raise NotImplementedError(
                    f"concrete_args: {name} holds PH within a collection. Pass its items as "
                    "arguments of their own"
                )

        map_aggregate(value, refuse)
        given = self._input(parameter, f"{name}_1")
        told = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, told), {})
        elif isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", _assert, (given == value, told), {})
        return value

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module, or of a function."""
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        function = getattr(type(root), self.traced_func_name) if is_module else root
        self.graph = Graph(tracer_cls=type(self))
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with tracing, self._patched(inspect.unwrap(function)):
            result = self.create_arg(function(*args))
        returned = hints(inspect.unwrap(function)).get("return")
        self.create_node("output", "output", (result,), {}, type_expr=returned)
        return self.graph

    @contextmanager
    def _patched(self, function: Any) -> Iterator[None]:
        """Let modules, and functions under `wrap`, tell this tracer of calls."""
        own = get_ident()
        cache: dict[str, Any] = {}
        call, missing, lookup = Module.__call__, Module.__getattr__, Module.__getattribute__

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(module, *args, **kwargs)

            if get_ident() != own:
                return forward(*args, **kwargs)
            return self.call_module(module, forward, args, kwargs)

        def found(module: Module, name: str) -> Any:
            value = lookup(module, name)
            return self.getattr(name, value, cache) if get_ident() == own else value

        def asked(module: Module, name: str) -> Any:
            value = missing(module, name)
            return self.getattr(name, value, cache) if get_ident() == own else value

        patches: list[tuple[dict[str, Any], str, Any]] = []

        def patch(names: dict[str, Any], name: str) -> None:
            value = names.get(name, getattr(builtins, name, None))
            if callable(value):
                patches.append((names, name, names.get(name, PH)))
                names[name] = recorded(value)

        try:
            for names, name in [(names, name) for (_, name), names in wrapped.items()]:
                patch(names, name)
            self._autowrap(getattr(function, "__globals__", {}), patch)
            Module.__call__ = called  # type: ignore[method-assign,assignment]
            Module.__getattribute__ = found  # type: ignore[method-assign,assignment]
            Module.__getattr__ = asked  # type: ignore[method-assign,assignment]
            yield
        finally:
            for names, name, value in reversed(patches):
                if value is PH:
                    del names[name]
                else:
                    names[name] = value
            Module.__call__, Module.__getattr__ = call, missing  # type: ignore[method-assign]
            del Module.__getattribute__

    def _autowrap(
        self, names: dict[str, Any], patch: Callable[[dict[str, Any], str], None]
    ) -> None:
        functions = set(self.autowrap_functions)
        for module in self.autowrap_modules:
            for name, value in list(vars(module).items()):
                if not name.startswith("_") and callable(value):
                    functions.add(value)
                    patch(vars(module), name)
        for name, value in list(names.items()):
            if (
                not name.startswith("_")
                and callable(value)
                and hashable(value)
                and value in functions
            ):
                patch(names, name)


def hints(function: Any) -> dict[str, Any]:
    """The types of a function's parameters and result; none where one of them cannot be told."""
    if function is Sequential.forward:  # whose annotations are for type checkers
        return {}
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}


def hashable(value: Any) -> bool:
    """Whether a value can be in a set."""
    return type(value).__hash__ is not None and not isinstance(value, (Module, Tensor))


def tensors_of(root: Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters, buffers and tensors that are plain attributes, by path; the first name last."""
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                yield f"{path}.{name}".lstrip("."), value
    yield from reversed(list(root.named_buffers(remove_duplicate=False)))
    yield from reversed(list(root.named_parameters(remove_duplicate=False)))


def flattened(function: Any, total: int) -> Any:
    """A function whose `total` parameters of every kind are taken by position."""
    code = function.__code__
    code = code.replace(
        co_flags=code.co_flags & ~STARRED,
        co_argcount=total,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
    )
    made = FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    made.__annotations__ = function.__annotations__
    return made


def symbolic_trace(root: Any, concrete_args: Any = None) -> GraphModule:
    """A module that does what a module or function does, with a graph that can be changed.

    `concrete_args`: values of arguments that are fixed, by name or as a tuple with `fx.PH` for the
    others, so that branches on them can be followed. Raises TraceError where the way depends on a
    value that is not known.

    >>> rg.fx.symbolic_trace(rg.nn.ReLU())(rg.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
