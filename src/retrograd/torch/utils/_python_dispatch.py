"""Modes and classes with a `__torch_dispatch__`, under PyTorch's names.

What they see: NOTE [What is seen] in `library.dispatch`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ... import modes
from ...engine.overriding import count_mode
from ...engine.subclasses import stands_below
from ...engine.tensor import Tensor
from ..library.dispatch import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """A context whose `__torch_dispatch__` sees the operators that its thread computes with.

    A subclass writes the method; in it the mode itself is out of force, outer ones are not, and
    nothing is recorded. What it returns stands for the result. Source: PyTorch's class.

    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = rg.ones(2, requires_grad=True)
    >>> with Log():
    ...     y = (x * 2).sum()
    aten.mul.Tensor
    aten.sum.default
    >>> y.backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        count_mode(1)
        modes.change(dispatchers=(*modes.state.dispatchers, Dispatcher(self)))
        return self

    def __exit__(self, *exc: object) -> None:
        if not modes.state.dispatchers:
            raise IndexError("pop from an empty stack of modes: this one was not entered")
        modes.change(dispatchers=modes.state.dispatchers[:-1])
        count_mode(-1)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode serves PyTorch's compiler: no mode does."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing.

    >>> with BaseTorchDispatchMode():
    ...     rg.ones(1) + 1
    tensor([2.])
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether the calling thread is in a mode.

    >>> is_in_torch_dispatch_mode()
    False
    """
    return bool(modes.state.dispatchers)


def _get_current_dispatch_mode() -> Any:
    """The innermost mode of the calling thread, or None."""
    stack = modes.state.dispatchers
    return stack[-1].mode if stack else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of the calling thread, the innermost last."""
    return [each.mode for each in modes.state.dispatchers]


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context in which no mode of the calling thread is in force."""
    stack = _get_current_dispatch_mode_stack()
    with modes.Changed(dispatchers=()):
        yield stack


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class has a `__torch_dispatch__` and says which tensors its own hold.

    >>> is_traceable_wrapper_subclass_type(rg.Tensor)
    False
    """
    flat = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return issubclass(t, Tensor) and stands_below(t) and flat


def is_traceable_wrapper_subclass(t: object) -> bool:
    """`is_traceable_wrapper_subclass_type` of the class of an object.

    >>> is_traceable_wrapper_subclass(rg.ones(2))
    False
    """
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, Tensor], Tensor],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """A tensor like `t`, of what `callback`, given a name and a tensor that `t` holds, returns.

    `t` has PyTorch's `__tensor_flatten__` and `__tensor_unflatten__`.

    >>> class Pair(rg.Tensor):
    ...     def __new__(cls, held):
    ...         made = rg.Tensor._make_wrapper_subclass(cls, held.shape)
    ...         made.held = held
    ...         return made
    ...
    ...     def __tensor_flatten__(self):
    ...         return ["held"], None
    ...
    ...     @staticmethod
    ...     def __tensor_unflatten__(inner, context, size, stride):
    ...         return Pair(inner["held"])
    ...
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> transform_subclass(Pair(rg.ones(2)), lambda name, held: held * 3).held
    tensor([3., 3.])
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.shape if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result that a `__torch_dispatch__` returns: the argument itself if `func` writes it.

    Views of a tensor without memory of its own share what the class lets them share.

    >>> from retrograd.library.ops import aten
    >>> x = rg.ones(2)
    >>> return_and_correct_aliasing(aten.add_.Tensor, (x, 1), {}, x + 1) is x
    True
    """
    if func._schema.is_mutable and isinstance(out, Tensor):
        return args[0]
    return out
