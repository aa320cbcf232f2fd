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
from typing import TYPE_CHECKING, Any

from .. import modes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

CLASS_DECORATED = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only "
    "decorate functions or methods. To preserve the current behavior of class decoration, you can "
    "directly decorate the `__init__` method and nothing else."
)


class Mode:
    """A change of the calling thread's modes; may be entered again, also while it is entered."""

    __slots__ = ("before",)

    fields: dict[str, bool]

    def __init__(self) -> None:
        self.before: list[dict[str, Any]] = []

    def fresh(self) -> Mode:
        """Another manager of the same change."""
        return type(self)()

    def __enter__(self) -> Any:
        self.before.append(modes.change(**self.fields))
        return None

    def __exit__(self, *exc: object) -> None:
        modes.change(**self.before.pop())

    def __call__(self, function: Any) -> Any:
        return decorate(function, self.fresh)


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


class _Bare(Mode):
    """A mode that decorates with and without parentheses: `@no_grad` and `@no_grad()`."""

    __slots__ = ()

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        if function is None:
            return made
        if not callable(function):
            raise TypeError(f"{cls.__name__}() takes no arguments, but {function!r} was given")
        return decorate(function, cls)


class no_grad(_Bare):  # noqa: N801 (PyTorch's name)
    """Nothing is recorded: results do not require grad. Context manager and decorator.

    Factories still make leaves that require grad if asked to. Source: PyTorch's `no_grad`.

    >>> import retrograd as rg
    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ()
    fields = {"grad": False}  # noqa: RUF012


class enable_grad(_Bare):  # noqa: N801 (PyTorch's name)
    """Operations are recorded, also inside `no_grad`. Context manager and decorator.

    Inside `inference_mode` it changes nothing. Source: PyTorch's `enable_grad`.

    >>> import retrograd as rg
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

    >>> import retrograd as rg
    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ("fields", "initial", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        _check_bool(mode, "set_grad_enabled", "enabled")
        self.mode = mode
        self.fields = {"grad": mode}
        self.initial: dict[str, Any] | None = modes.change(grad=mode)

    def fresh(self) -> Mode:
        """A manager that leaves the mode alone until it is entered."""
        made = object.__new__(set_grad_enabled)
        made.mode, made.fields, made.before, made.initial = self.mode, self.fields, [], None
        return made

    def __enter__(self) -> None:
        """Set the mode; leaving the block gives back what was before this manager was made."""
        now = modes.change(**self.fields)
        self.before.append(now if self.before or self.initial is None else self.initial)

    def __call__(self, function: Any) -> Any:
        """Decorate `function`; the present mode is what it was before this manager was made."""
        if self.initial is not None:
            modes.change(**self.initial)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"retrograd.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):  # noqa: N801 (PyTorch's name)
    """Nothing is recorded, and what is made here can never join a graph. Manager and decorator.

    Tensors made inside have no version counter and may not be saved for a backward pass; `clone()`
    makes a normal tensor of one. With `mode` False, inference mode is left, and recording is on.
    Source: PyTorch's `inference_mode`.

    >>> import retrograd as rg
    >>> with rg.inference_mode():
    ...     y = rg.ones(2) * 2
    >>> y.is_inference()
    True
    """

    __slots__ = ("fields", "mode")

    def __new__(cls, mode: Any = True) -> Any:
        """A manager for a bool, a decorated function for a function."""
        made = object.__new__(cls)
        if isinstance(mode, bool):
            return made
        if not callable(mode):
            _check_bool(mode, "inference_mode", "mode")
        return decorate(mode, cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode
        self.fields = {"grad": not mode, "inference": mode}

    def fresh(self) -> Mode:
        """Another manager of the same mode."""
        return inference_mode(self.mode)


class set_multithreading_enabled(Mode):  # noqa: N801 (PyTorch's name)
    """Accepted for PyTorch's programs: a backward pass always runs in the thread that asked for it.

    >>> import retrograd as rg
    >>> with rg.autograd.set_multithreading_enabled(False):
    ...     pass
    """

    __slots__ = ("fields", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        _check_bool(mode, "set_multithreading_enabled", "mode")
        self.mode = mode
        self.fields = {}

    def fresh(self) -> Mode:
        """Another manager of the same mode."""
        return set_multithreading_enabled(self.mode)


def _check_bool(value: Any, name: str, argument: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(
            f"{name}(): argument '{argument}' (position 1) must be bool, not {type(value).__name__}"
        )


def is_grad_enabled() -> bool:
    """Whether the calling thread records operations.

    >>> import retrograd as rg
    >>> rg.is_grad_enabled()
    True
    """
    return modes.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether the calling thread is in inference mode.

    >>> import retrograd as rg
    >>> rg.is_inference_mode_enabled()
    False
    """
    return modes.state.inference
