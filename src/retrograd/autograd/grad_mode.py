"""Grad mode: whether operations are recorded, as context managers and decorators.

NOTE [Decorated bodies]
The mode holds exactly while the decorated body runs. A generator or coroutine gives up control in
the middle of its body, so the mode is left at each `yield` or `await` and entered again when the
body goes on, whether by a value, an exception or closing. Each call of a decorated function enters
a manager of its own, so that recursion and threads do not meet.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar, overload

from .. import modes, version
from ..engine.tensor import Tensor, cell_of
from ..errors import check_bool

F = TypeVar("F")

__all__ = [
    "absorb_zeros", "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
    "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip

CLASS_DECORATED = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only "
    "decorate functions or methods. To preserve the current behavior of class decoration, you can "
    "directly decorate the `__init__` method and nothing else."
)


class Decorator:
    """A context manager that also decorates; each call enters one of its own, by `clone`."""

    __slots__ = ()

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __enter__")

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no __exit__")

    def clone(self) -> Any:
        """A manager with the same settings, for one more call."""
        return type(self)()

    def __call__(self, function: F) -> F:
        return decorate(function, self.clone)  # type: ignore[no-any-return]


class Mode(Decorator):
    """A change of the calling thread's modes; may be entered again, also while it is entered."""

    __slots__ = ("before",)

    fields: dict[str, bool]

    def __init__(self) -> None:
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> Any:
        self.before.append(modes.change(**self.fields))
        return None

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before.pop())


def decorate(function: Any, manager: Callable[[], Any]) -> Any:
    """`function` with a manager entered while its body runs: NOTE [Decorated bodies]."""
    if inspect.isclass(function):
        warnings.warn(CLASS_DECORATED, FutureWarning, stacklevel=3)
        function.__init__ = decorate(function.__init__, manager)  # type: ignore[method-assign]
        return function
    if inspect.isasyncgenfunction(function):
        call: Any = _async_generator(function, manager)
    elif inspect.iscoroutinefunction(function):

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await Stepped(function(*args, **kwargs), manager)

    elif inspect.isgeneratorfunction(function):

        def call(*args: Any, **kwargs: Any) -> Any:
            return (yield from stepped(function(*args, **kwargs), manager))

    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            with manager():
                return function(*args, **kwargs)

    return functools.wraps(function)(call)


def stepped(body: Any, manager: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """Run a generator or coroutine with a manager entered at each step and left in between."""
    resume, value = body.send, None
    while True:
        try:
            with manager():
                given = resume(value)
        except StopIteration as stop:
            return stop.value
        try:
            value = yield given
            resume = body.send
        except GeneratorExit:
            with manager():
                body.close()
            raise
        except BaseException as error:
            resume, value = body.throw, error


class Stepped:
    """An awaitable whose steps run under a manager."""

    __slots__ = ("body", "manager")

    def __init__(self, body: Any, manager: Callable[[], Any]) -> None:
        self.body, self.manager = body, manager

    def __await__(self) -> Generator[Any, Any, Any]:
        return stepped(self.body, self.manager)


def _async_generator(function: Any, manager: Callable[[], Any]) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        body = function(*args, **kwargs)
        step = body.asend(None)
        while True:
            try:
                given = await Stepped(step.__await__(), manager)
            except StopAsyncIteration:
                return
            try:
                step = body.asend((yield given))
            except GeneratorExit:
                await Stepped(body.aclose().__await__(), manager)
                raise
            except BaseException as error:
                step = body.athrow(error)

    return call


class BareDecorator(Decorator):
    """A manager that decorates with and without parentheses: `@no_grad` and `@no_grad()`."""

    __slots__ = ()

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, orig_func: Any = None) -> Any:
        made = object.__new__(cls)
        if orig_func is None:
            return made
        if not callable(orig_func):
            raise TypeError(f"{cls.__name__}() takes no arguments, but {orig_func!r} was given")
        return decorate(orig_func, cls)


class no_grad(BareDecorator, Mode):  # noqa: N801 (PyTorch's name)
    """A context or decorator in which nothing is recorded: results do not require grad.

    Factories still make leaves that require grad if asked to. Source: PyTorch's `no_grad`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ()
    fields = {"grad": False}  # noqa: RUF012


class enable_grad(BareDecorator, Mode):  # noqa: N801 (PyTorch's name)
    """A context or decorator in which operations are recorded, also inside `no_grad`.

    Inside `inference_mode` it changes nothing. Source: PyTorch's `enable_grad`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.no_grad(), rg.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    __slots__ = ()
    fields = {"grad": True}  # noqa: RUF012


class set_grad_enabled(Mode):  # noqa: N801 (PyTorch's name)
    """Turn recording on or off: at once as a function, or for a block or a decorated function.

    Raises TypeError for what is no bool. Source: PyTorch's `set_grad_enabled`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ("fields", "initial", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        check_bool(mode, "set_grad_enabled", "enabled")
        self.mode = mode
        self.fields = {"grad": mode}
        self.initial: dict[str, Any] | None = modes.change(grad=mode)

    def clone(self) -> Mode:
        """A manager that leaves the mode alone until it is entered."""
        made = object.__new__(set_grad_enabled)
        made.mode, made.fields, made.before, made.initial = self.mode, self.fields, [], None
        return made

    def __enter__(self) -> None:
        """Set the mode; leaving the block gives back what was before this manager was made."""
        now = modes.change(**self.fields)
        self.before.append(now if self.before or self.initial is None else self.initial)

    def __exit__(self, *exc: object) -> None:
        """Give back the mode from before the block, or, without one, before this was made."""
        modes.restore(self.before.pop() if self.before or self.initial is None else self.initial)

    def __call__(self, function: F) -> F:
        """Decorate `function`; the present mode is what it was before this manager was made."""
        if self.initial is not None:
            modes.restore(self.initial)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"{version.called}.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):  # noqa: N801 (PyTorch's name)
    """A context or decorator without recording; its results can never be part of a graph.

    Tensors made inside have no version counter and may not be saved for a backward pass; `clone()`
    makes a normal tensor of one. With `mode` False, inference mode is left, and recording is on.
    Source: PyTorch's `inference_mode`.

    >>> with rg.inference_mode():
    ...     y = rg.ones(2) * 2
    >>> y.is_inference()
    True
    """

    __slots__ = ("fields", "mode")

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        """A manager for a bool, a decorated function for a function."""
        made = object.__new__(cls)
        if isinstance(mode, bool):
            return made
        if not callable(mode):
            check_bool(mode, "inference_mode", "mode")
        return decorate(mode, cls)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = mode
        self.fields = {"grad": not mode, "inference": mode}

    def clone(self) -> Mode:
        """A manager with the same mode, for one more call."""
        return inference_mode(self.mode)


class absorb_zeros(Mode):  # noqa: N801 (beside PyTorch's modes)
    """A context, or decorator, in which backward passes take 0 times infinity or NaN to be 0.

    A branch that `where` did not select gets a cotangent of 0; where its derivative is infinite or
    NaN (the root, the logarithm or the quotient at 0), the chain rule multiplies 0 by that and
    gives NaN, as in PyTorch. In this mode an elementwise operation contributes 0 at every element
    whose cotangent is 0, so such branches are left out. It applies to the calling thread's backward
    passes, to every order, and costs a comparison and a selection per operation. PyTorch has no
    such mode; the usual way around is a second `where` inside the function.

    >>> x = rg.tensor([0.0, 4.0], requires_grad=True)
    >>> y = rg.where(x > 0, x.sqrt(), 0.0).sum()
    >>> rg.autograd.grad(y, x, retain_graph=True)
    (tensor([   nan, 0.2500]),)
    >>> with rg.autograd.absorb_zeros():
    ...     rg.autograd.grad(y, x)
    (tensor([0.0000, 0.2500]),)
    """

    __slots__ = ()
    fields = {"absorb": True}  # noqa: RUF012


class set_multithreading_enabled(Mode):  # noqa: N801 (PyTorch's name)
    """Accepted for PyTorch's programs: a backward pass always runs in the thread that asked for it.

    The flag is kept, for a block or from now on, and `is_multithreading_enabled` tells it.

    >>> with rg.autograd.set_multithreading_enabled(False):
    ...     rg.autograd.is_multithreading_enabled()
    False
    """

    __slots__ = ("fields", "mode", "outer")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        check_bool(mode, "set_multithreading_enabled", "mode")
        self.mode = mode
        self.fields = {"multithreading": mode}
        self.outer = modes.change(multithreading=mode)

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        modes.restore(self.outer)

    def clone(self) -> Mode:
        """A manager with the same mode, for one more call."""
        return set_multithreading_enabled(self.mode)


class _unsafe_preserve_version_counter(Mode):  # noqa: N801 (PyTorch's name)
    """Within this context, writes to the given tensors are not counted: autograd cannot see them.

    For a value that is put away and later put back into the same memory. Anything else gives wrong
    gradients without an error. Raises AssertionError for anything but a tensor or a tuple. Source:
    PyTorch's context of the same name.

    >>> x = rg.zeros(2)
    >>> with rg.autograd._unsafe_preserve_version_counter(x):
    ...     _ = x.add_(1)
    >>> x._version
    0
    """

    __slots__ = ("kept", "tensors")

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        super().__init__()
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("expected a tensor or a tuple of tensors")
        self.kept = [cell_of(t).state() for t in self.tensors]

    def __enter__(self) -> None:
        """Nothing is left to do: the versions are noted."""

    def __exit__(self, *exc: object) -> None:
        for t, state in zip(self.tensors, self.kept, strict=True):
            cell_of(t).restore(state)


class _force_original_view_tracking(Mode):  # noqa: N801 (PyTorch's name)
    """Accepted for PyTorch's programs: histories of views are always replayed from their base."""

    __slots__ = ("fields", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        check_bool(mode, "_force_original_view_tracking", "mode")
        self.mode, self.fields = mode, {}

    def clone(self) -> Mode:
        """A manager with the same mode, for one more call."""
        return _force_original_view_tracking(self.mode)


def is_view_replay_enabled() -> bool:
    """Whether histories of views are replayed from their base: always."""
    return True


def is_multithreading_enabled() -> bool:
    """The flag that `set_multithreading_enabled` sets, which changes nothing."""
    return modes.state.multithreading


def _enter_inference_mode(mode: bool) -> Mode:
    """Enter inference mode by a call; `_exit_inference_mode` takes what this returns."""
    manager = inference_mode(mode)
    manager.__enter__()
    return manager


def _exit_inference_mode(manager: Mode) -> None:
    """Leave the mode that `_enter_inference_mode` entered."""
    manager.__exit__(None, None, None)


def is_grad_enabled() -> bool:
    """Whether the calling thread records operations.

    >>> rg.is_grad_enabled()
    True
    """
    return modes.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether the calling thread is in inference mode.

    >>> rg.is_inference_mode_enabled()
    False
    """
    return modes.state.inference
