"""Classes of tensors: what an op gives for them, and how their properties are watched.

The default `__torch_function__` runs the function without asking subclasses again and gives the
results the class, as in PyTorch. A result is a new tensor, which is made a member of the class; one
of the arguments becomes a view, lest the caller's own tensor changes its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import modes, providers
from ..locks import structure
from . import overriding, views
from .graph import LEAF
from .overriding import IGNORED, NO_SUBCLASSES, form, is_asked, public, shown_as
from .placement import everything
from .tensor import Tensor, method, new_tensor, set_requires_grad


def torch_function(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Run `func` without asking subclasses, and give the tensors in its result this class.

    A subclass that overrides it sees every public function, method and property that one of its
    tensors is given to, and may call this by `super()`. NotImplemented where `types` has a class
    that is no base of this one. Source: PyTorch's `Tensor.__torch_function__`.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    kwargs = kwargs or {}
    with modes.Changed(overriding=max(modes.state.overriding, NO_SUBCLASSES)):
        found = func(*args, **kwargs)
        if cls is Tensor or func in kept_types():
            return found
        given = [t for t in _leaves([*args, *kwargs.values()]) if isinstance(t, Tensor)]
        return _converted(found, cls, given)


def _leaves(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def _converted(found: Any, cls: type[Tensor], given: list[Any]) -> Any:
    """`found` with its tensors as members of `cls`."""
    if isinstance(found, Tensor):
        if isinstance(found, cls):
            return found
        if any(found is value for value in given):
            return found.as_subclass(cls)
        return with_class(found, cls)
    if isinstance(found, (tuple, list)):
        made = [_converted(value, cls, given) for value in found]
        if any(a is not b or isinstance(a, Tensor) for a, b in zip(made, found, strict=True)):
            return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)
    return found


def with_class(tensor: Tensor, cls: type[Tensor]) -> Tensor:
    """`tensor`, which nobody else holds, as a member of `cls`."""
    try:
        tensor.__class__ = cls
        if stands_below(cls):
            providers.service("dispatch").rewrap(tensor)
        return tensor
    except TypeError:  # the class has slots of its own, so its members have another layout
        made = new_tensor(tensor._array, cls)
    everything.__get__(made).update(everything.__get__(tensor))
    made._cell = tensor._cell
    node = tensor._node
    if node is not None and node.op is LEAF:
        set_requires_grad(made, True)
    else:
        made._node = node
    if made._view_of is not None:
        views.enlist(made._view_of.base, made)
    if stands_below(cls):
        providers.service("dispatch").rewrap(made)
    return made


def make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of class `cls` on the memory of `data`, for the `__new__` of a subclass.

    Source: PyTorch's `Tensor._make_subclass`.

    >>> class Mine(rg.Tensor):
    ...     def __new__(cls, values):
    ...         return rg.Tensor._make_subclass(cls, rg.tensor(values))
    >>> Mine([1, 2])
    Mine([1, 2])
    """
    with modes.Changed(overriding=NO_SUBCLASSES):
        made = with_class(data.detach(), cls)
        set_requires_grad(made, require_grad)
    return made


def make_wrapper_subclass(cls: type[Tensor], size: Any, **settings: Any) -> Tensor:
    """A leaf of class `cls` without data, for the `__new__` of a class that keeps it elsewhere.

    The class has a `__torch_dispatch__`, which sees the operators that are called with it.
    `settings`: `strides`, `dtype`, `device`, `requires_grad`; others count as nothing. Source:
    PyTorch's `Tensor._make_wrapper_subclass`.
    """
    return providers.service("dispatch").make_wrapper(cls, size, **settings)  # type: ignore[no-any-return]


def dispatches_nothing(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run an operator on the data of its arguments, without asking classes.

    The `__torch_dispatch__` of tensors themselves, for a subclass to call by `super()`.
    """
    return providers.service("dispatch").call(func, args, kwargs or {})


def stands_below(cls: type) -> bool:
    """Whether a class of tensors has a `__torch_dispatch__` of its own."""
    found: Any = cls.__torch_dispatch__  # type: ignore[attr-defined]
    return found is not dispatches_nothing


def kept_types() -> set[Any]:
    """Functions whose results keep their class: they give back what a tensor was given."""
    owned = vars(Tensor)
    return {owned[name].__get__ for name in ("_base", "_grad", "grad")}


def _init_subclass(cls: type[Tensor], /, sees_properties: bool = True, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    kind: Any = cls
    own = getattr(kind.__torch_function__, "__func__", None) is not torch_function
    if stands_below(cls) and not (own and is_asked(cls)):  # the usual one is off then, too
        kind.__torch_function__ = staticmethod(overriding.stands_below)
    if sees_properties and is_asked(cls):
        watch_properties()


def watch_properties() -> None:
    """Let classes and modes see properties, and what the body of `Tensor` defines."""
    with structure:
        if _watched:
            return
        _watched.append(True)
        for name, found in list(vars(Tensor).items()):
            if isinstance(found, property):
                _watch(found)
            if name not in UNWATCHED:
                setattr(Tensor, name, public(found))  # also the same: what CPython caches must go


def _watch(found: Any) -> None:
    """Make the functions of a property public in place, so that it stays the same object."""
    parts = []
    for function, shown in (
        (found.fget, found.__get__),
        (found.fset, found.__set__),
        (found.fdel, found.__delete__),
    ):
        seen = None
        if function is not None:
            seen = form(function)
            shown_as[seen] = shown
        parts.append(seen)
    found.__init__(*parts, found.__doc__)


_watched: list[bool] = []
UNWATCHED = {
    *IGNORED,
    *("__dict__", "__doc__", "__module__", "__new__", "__slots__", "__weakref__"),
}

method(classmethod(torch_function), "__torch_function__")
method(staticmethod(make_subclass), "_make_subclass")
method(staticmethod(make_wrapper_subclass), "_make_wrapper_subclass")
method(staticmethod(dispatches_nothing), "__torch_dispatch__")
method(classmethod(_init_subclass), "__init_subclass__")
