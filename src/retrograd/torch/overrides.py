"""Overriding functions of tensors: PyTorch's `torch.overrides`.

A class with a class method `__torch_function__(cls, func, types, args=(), kwargs=None)` sees the
calls of public functions that are given one of its objects, and so does a `TorchFunctionMode` while
it is entered: NOTE [Who is asked] in `engine.overriding`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import modes, providers, version
from ..engine.overriding import (
    CONVERTERS,
    ENABLED,
    FACTORIES,
    IGNORED,
    OFF,
    TENSOR,
    ask,
    count_mode,
    names,
    overloaded_args,
    unanswered,
)
from ..engine.subclasses import UNWATCHED, kept_types, watch_properties
from ..engine.tensor import Tensor
from ..ops.lazy_loading import attached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
    "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

PACKAGE = __name__.partition(".")[0]
MODULES = ("", "nn.functional", "linalg", "fft", "special")
SETTINGS = {
    *("are_deterministic_algorithms_enabled", "get_default_dtype", "get_num_interop_threads"),
    *("get_num_threads", "promote_types", "set_default_dtype", "set_flush_denormal"),
    *("set_num_interop_threads", "set_num_threads", "use_deterministic_algorithms"),
}


# -- for functions of one's own ----------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument, or a mode, would take over a call with these arguments.

    >>> rg.overrides.has_torch_function((rg.ones(2), 3))
    False
    """
    state = modes.state
    if state.function_modes and state.overriding != OFF:
        return True
    return state.overriding == ENABLED and bool(overloaded_args(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function` of one argument.

    >>> rg.overrides.has_torch_function_unary(rg.ones(2))
    False
    """
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments themselves.

    >>> rg.overrides.has_torch_function_variadic(rg.ones(2), None)
    False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The result of a call by a mode, or by the first of `relevant_args` that takes it over.

    Raises TypeError where all return NotImplemented. Source: PyTorch's `handle_torch_function`.

    >>> def double(x):
    ...     if rg.overrides.has_torch_function_unary(x):
    ...         return rg.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> class Mine(rg.Tensor):
    ...     pass
    >>> double(Mine([1.0]))
    Mine([2.])
    """
    asked = overloaded_args(relevant_args)
    answer = ask(public_api, asked, args, kwargs)
    if answer is NotImplemented:
        raise unanswered(public_api, asked)
    return answer


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator of functions whose calls may be taken over.

    `dispatcher`, called with the arguments, gives those that are asked.

    >>> @rg.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> class Mine(rg.Tensor):
    ...     pass
    >>> double(Mine([1.0]))
    Mine([2.])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            asked = dispatcher(*args, **kwargs)
            if has_torch_function(asked):
                return handle_torch_function(call, asked, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


# -- questions ---------------------------------------------------------------------------------


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or has a `__torch_function__` and so may stand for one.

    >>> rg.overrides.is_tensor_like(rg.ones(2)), rg.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def _namespaces() -> Iterator[tuple[str, Any]]:
    """The public modules whose functions can be overridden, with their names."""
    root = PACKAGE
    for name in MODULES:
        full = f"{root}.{name}" if name else root
        yield full, importlib.import_module(full)


def _functions_of(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    """The functions that a public module shows, by name."""
    for key in sorted(dir(module)):
        found = getattr(module, key)
        if callable(found) and not isinstance(found, type) and found in names:
            yield key, found


def _of_tensor() -> Iterator[tuple[str, Any]]:
    """The methods of tensors, and what gets and sets their properties, by name."""
    watch_properties()
    for name in list(vars(Tensor)):
        if not hasattr(Tensor, name):  # asking loads the method's family
            continue  # a method of NumPy's arrays, whose error says what to write
        found = vars(Tensor)[name]
        if isinstance(found, property):
            yield f"{name}.__get__", found.__get__
            if found.fset is not None:
                yield f"{name}.__set__", found.__set__
            if found.fdel is not None:
                yield f"{name}.__delete__", found.__delete__
        elif callable(found) and name not in UNWATCHED:
            yield name, found


@functools.cache
def _methods() -> dict[Any, str]:
    """What `_of_tensor` gives, with full names."""
    return {function: f"{TENSOR}{key}" for key, function in _of_tensor()}


def resolve_name(f: Any) -> str | None:
    """The full name of a function, method or getter that can be overridden, or None.

    >>> rg.overrides.resolve_name(rg.cat)
    'retrograd.cat'
    >>> rg.overrides.resolve_name(rg.Tensor.shape.__get__)
    'retrograd.Tensor.shape.__get__'
    """
    found = names.get(f) or _methods().get(f)
    return found and found.replace(PACKAGE, version.called, 1)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether `func` is a method of tensors, or gets or sets one of their properties.

    >>> rg.overrides.is_tensor_method_or_property(rg.Tensor.view)
    True
    >>> rg.overrides.is_tensor_method_or_property(rg.cat)
    False
    """
    return func in _methods()


def get_ignored_functions() -> set[Any]:
    """The public functions that `__torch_function__` does not see: factories, and settings.

    >>> rg.zeros in rg.overrides.get_ignored_functions()
    True
    """
    providers.load_families()
    found = set()
    for _, module in _namespaces():
        for name in IGNORED | FACTORIES | CONVERTERS | SETTINGS:
            function = getattr(module, name, None)
            if function is not None and not isinstance(function, type):
                found.add(function)
    owned = attached()
    return found | {owned[name] for name in IGNORED if callable(owned.get(name))}


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that `__torch_function__` sees, listed by the module or class they belong to.

    >>> rg.cat in rg.overrides.get_overridable_functions()[rg]
    True
    """
    ignored = get_ignored_functions()
    found: dict[Any, list[Any]] = {}
    for name, module in _namespaces():
        functions = dict.fromkeys(f for _, f in _functions_of(name, module))
        shown = importlib.import_module(name.replace(PACKAGE, version.called, 1))
        found[shown] = [function for function in functions if function not in ignored]
    found[Tensor] = list(dict.fromkeys(f for _, f in _of_tensor() if f not in ignored))
    return found


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For each function that can be overridden, one of the same signature that returns -1.

    >>> rg.overrides.get_testing_overrides()[rg.cat]([])
    -1
    """
    return {
        function: _stand_in(function)
        for functions in get_overridable_functions().values()
        for function in functions
    }


def _stand_in(function: Any) -> Callable[..., Any]:
    try:
        signature = inspect.signature(function)
    except ValueError:  # a getter written in C
        signature = inspect.signature(lambda self: self)

    def call(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results the default `__torch_function__` leaves as they are.

    >>> rg.Tensor.grad.__get__ in rg.overrides.get_default_nowrap_functions()
    True
    """
    return kept_types()


# -- modes -------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A context whose `__torch_function__` sees every public call of its thread, factories too.

    A subclass writes the method, in which the mode itself is out of force and outer ones are not.
    Source: PyTorch's `TorchFunctionMode`.

    >>> class Log(rg.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(rg.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = rg.ones(2).cos()
    retrograd.ones
    retrograd.cos
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        watch_properties()
        count_mode(1)
        modes.change(function_modes=(*modes.state.function_modes, self))
        return self

    def __exit__(self, *exc: object) -> None:
        if not modes.state.function_modes:
            raise RuntimeError("trying to pop from empty mode stack: this one was not entered")
        modes.change(function_modes=modes.state.function_modes[:-1])
        count_mode(-1)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    >>> with rg.overrides.BaseTorchFunctionMode():
    ...     rg.ones(1)
    tensor([1.])
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context within a `__torch_function__` in which arguments are asked again.

    >>> with rg.overrides.enable_reentrant_dispatch():
    ...     rg.ones(1)
    tensor([1.])
    """
    with modes.Changed(overriding=ENABLED):
        yield
