"""PyTorch's `torch.jit`: Python itself is the program, so what would be compiled runs as it is.

NOTE [Scripts]
1. `script`, `trace` and the decorators give back the function, class or module that they are given.
   It computes the same; a traced one keeps its branches on values, which PyTorch would freeze.
2. So nothing is ever scripted or traced: `is_scripting()` and `is_tracing()` are False, and no
   object is a `ScriptModule` but of classes that derive from it.
3. Tasks that are forked have run when `fork` returns.
4. Programs in PyTorch's file format, and names of its compiler, are absent.
"""

from __future__ import annotations

import contextlib
import types
import typing
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from ...autograd.grad_mode import no_grad
from ...engine.tensor import Tensor
from ..futures import Future
from ...nn.modules.module import Module
from . import annotations  # type: ignore[assignment]  # not the feature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Attribute", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "TracerWarning",
    "annotate", "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing",
    "isinstance", "optimize_for_inference", "optimized_execution", "script", "script_if_tracing",
    "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

T = TypeVar("T")
of_type = isinstance


class Attribute(NamedTuple):
    """A value and its type, as programs declare attributes of scripted modules."""

    value: Any
    type: Any


class Error(RuntimeError):
    """The error of PyTorch's compiler of scripts; nothing here raises it."""


class TracerWarning(Warning):
    """Given by PyTorch where a trace freezes a branch; here never."""


class ScriptModule(Module):
    """A base class for modules whose methods are marked by `script_method`: an ordinary module.

    >>> class Double(rg.jit.ScriptModule):
    ...     @rg.jit.script_method
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(rg.ones(2))
    tensor([2., 2.])
    """


class ScriptFunction:
    """The class of functions that PyTorch has scripted; nothing here is one."""


class Type:
    """The types of TorchScript, by which programs tell annotations apart; no value has one here."""


class DeviceObjType(Type):
    """The type of devices."""


class TensorType(Type):
    """The type of tensors."""


def _get_trace_graph(f: Any, args: Any = (), *settings: Any, **named: Any) -> NoReturn:
    """Raise RuntimeError: what modules call is not written down as a graph of TorchScript."""
    raise RuntimeError(
        "a module's calls are not written down as a graph of TorchScript: Python itself is the "
        "program. Write fx.symbolic_trace(module), export.export(module, args), or count by "
        "utils.flop_counter.FlopCounterMode"
    )


def is_scripting() -> bool:
    """Whether the caller is being compiled, or traced: never.

    >>> rg.jit.is_scripting()
    False
    """
    return False


is_tracing = is_scripting


def script(
    obj: T,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> T:
    """The function, class or module itself: NOTE [Scripts]; TypeError for what is none of these.

    >>> @rg.jit.script
    ... def double(x: rg.Tensor) -> rg.Tensor:
    ...     return 2 * x
    >>> double(rg.ones(2))
    tensor([2., 2.])
    """
    if not callable(obj) and not of_type(obj, (list, dict)):
        raise TypeError(f"script() takes a function, a class or a module, not {type(obj).__name__}")
    return obj


def trace(
    func: T,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
) -> T:
    """The function or module itself, after one call on the example inputs: NOTE [Scripts].

    example_inputs: a tensor, or a sequence of arguments; `example_kwarg_inputs` are given by name.
    The call raises what the function raises on them, and gives lazy parameters their shapes.
    Raises RuntimeError where no example is given.

    >>> net = rg.nn.LazyLinear(2)
    >>> rg.jit.trace(net, rg.ones(1, 3)) is net, net.weight.shape
    (True, retrograd.Size([2, 3]))
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError(
            "example_kwarg_inputs should be a dict: trace(f, (x, y)) or "
            "trace(f, example_kwarg_inputs={'x': x})"
        )
    arguments = (example_inputs,) if of_type(example_inputs, Tensor) else example_inputs or ()
    called: Any = func
    with no_grad():
        called(*arguments, **(example_kwarg_inputs or {}))
    return func


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """The module itself, after one call of each method that `inputs` names: see `trace`.

    Raises AttributeError for a method that the module has not.

    >>> net = rg.nn.Linear(3, 2)
    >>> rg.jit.trace_module(net, {"forward": rg.ones(1, 3)}) is net
    True
    """
    for name, example in inputs.items():
        trace(getattr(mod, name), example)
    return mod


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Decorate a method that PyTorch would leave to Python, with or without arguments: nothing.

    >>> rg.jit.ignore(abs)(-1), rg.jit.ignore(drop=True)(abs)(-1)
    (1, 1)
    """
    return drop if callable(drop) else unused


def unused(fn: T) -> T:
    """The function or class itself, which PyTorch's compiler would treat in a way of its own.

    >>> @rg.jit._overload
    ... def double(x: float) -> float: ...
    >>> def double(x):
    ...     return 2 * x
    """
    return fn


export = interface = script_if_tracing = script_method = unused
_overload = _overload_method = _script_if_tracing = unused


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself, of which PyTorch's compiler is told the type.

    >>> rg.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object, and all that it holds, is of a type; types of containers say of what.

    target_type: a type, a generic type such as `dict[str, int]`, a union, or a tuple of such.

    >>> rg.jit.isinstance([1, 2], list[int]), rg.jit.isinstance({"a": 1.0}, dict[str, int])
    (True, False)
    """
    if of_type(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return isinstance(obj, inner)
    if origin is None:
        return of_type(obj, types.NoneType if target_type is None else target_type)
    if not of_type(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and inner[-1:] != (...,):
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return all(isinstance(each, inner[0]) for each in obj)


def freeze(
    mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Module:
    """The module itself, which PyTorch would make constant; RuntimeError for one in training.

    >>> net = rg.nn.Linear(3, 2).eval()
    >>> rg.jit.freeze(net) is net
    True
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """`freeze` of the module where it is in training, so RuntimeError; else the module itself."""
    return freeze(mod, other_methods)


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block that runs as it is, where PyTorch's compiler would optimize, or not."""
    yield


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """The result of a function as a future, or its error: it has run, NOTE [Scripts].

    >>> later = rg.jit.fork(rg.add, rg.ones(1), 2)
    >>> rg.jit.wait(later)
    tensor([3.])
    """
    made: Future[Any] = Future()
    try:
        made.set_result(func(*args, **kwargs))
    except Exception as error:
        made.set_exception(error)
    return made


def wait(future: Future[T]) -> T:
    """The result of what was forked; raises its error."""
    return future.wait()
