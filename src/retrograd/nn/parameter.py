"""Tensors that a module registers when they are assigned to it: parameters and buffers.

Neither adds anything to what a tensor can do; the class is the mark by which `Module` knows them.
This module knows no layer.
"""

from __future__ import annotations

import copy
import functools
from typing import Any, Self

import numpy as np

from .. import dtypes, modes, version
from ..dtypes import dtype
from ..engine.overriding import names, never, overrides_nothing
from ..engine.placement import DeviceLike, as_device, default
from ..engine.tensor import (
    Size,
    Tensor,
    array_of,
    cell_of,
    new_tensor,
    node_of,
    set_requires_grad,
    shared,
)
from ..kernels.allocation import copied, has_class
from ..locks import load
from ..ops.core.dims import integers, place_of

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


def _same_memory(data: Any, cls: Any) -> Any:
    """A `cls` without history on the memory, and with the version, of the tensor `data`."""
    if data is None:
        data = new_tensor(np.empty(0, dtypes.default_numpy()))
    if not isinstance(data, Tensor):
        raise TypeError(
            f"{cls.__name__} data must be a Tensor, not {type(data).__name__}. Make one first: "
            f"{cls.__name__}(retrograd.tensor(data))"
        )
    made: Any = new_tensor(array_of(data), cls)
    if has_class(made._array) and issubclass(cls, type(data)):
        made._array.after_store(made)
    if made._inference is not data._inference:
        made._inference = data._inference
    if not data._inference:
        made._cell = cell_of(data)
    return made


def _detached(data: Any) -> Any:
    """`data` without its history, as its class gives it; RuntimeError if that is of another one."""
    alone = data.detach()
    if type(alone) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            "detach() returns an instance of the same type, but return type "
            f"{type(alone).__name__} was found instead"
        )
    return alone


def _as_plain(tensor: Any) -> Tensor:
    """The same values and history as a plain tensor, to be shown as one."""
    plain = new_tensor(tensor._array)
    plain._node = node_of(tensor)
    return plain


def empty(shape: tuple[int, ...], place: Any, dtype: dtype | None) -> Tensor:
    """An uninitialized tensor on the device `place`."""
    if modes.state.dispatchers or modes.state.function_modes:  # which make it
        return load("retrograd.ops").empty(shape, device=place, dtype=dtype)  # type: ignore[no-any-return]
    target = dtypes.default_numpy() if dtype is None else dtypes.to_numpy(dtype)
    shape = integers((shape,), "empty", "size")
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    if (default.device if place is None else as_device(place)).type == "meta":
        return new_tensor(load("retrograd.kernels.meta").empty(shape, target))
    return new_tensor(np.empty(shape, target))


class Parameter(Tensor):
    """A tensor that is a module parameter: assigned to a module, it appears in `parameters()`.

    data: any tensor; its memory is shared, its history is not. requires_grad: real floating and
    complex dtypes only, else RuntimeError. Ops on parameters give plain tensors.
    Source: PyTorch's `nn.Parameter`.

    >>> w = rg.nn.Parameter(rg.tensor([1.0, 2.0]))
    >>> w.requires_grad, w.is_leaf, isinstance(w * 2, rg.nn.Parameter)
    (True, True, False)
    """

    __module__ = f"{version.called}.nn.parameter"
    __slots__ = ()
    __torch_function__ = overrides_nothing

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        """A parameter on the memory of `data`, and of its class, too."""
        kind: Any = type(data)
        if cls is not Parameter or kind is Tensor or not issubclass(kind, Tensor):
            made: Self = _same_memory(data, cls)
        elif hasattr(kind, "_parameter"):
            made = _same_memory(data, kind._parameter)
        elif issubclass(kind, (Parameter, Buffer)):
            made = _same_memory(data, cls)
        else:  # a class of programs, which may give attributes to what it detaches
            alone = _detached(data)
            made = _same_memory(alone, _of_both(kind))
            made.__dict__.update(alone.__dict__)
        set_requires_grad(made, requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter of its own with the same values; the gradient stays behind, as in PyTorch."""
        found = memo.get(id(self))
        if found is None:
            array = self._array
            wrapped = has_class(array)
            data = copy.deepcopy(shared(self)) if wrapped else new_tensor(copied(array))
            found = memo[id(self)] = type(self)(data, self.requires_grad)
        return found

    def __repr__(self) -> str:
        return f"Parameter containing:\n{_as_plain(self)!r}"


_ParameterMeta = type(Parameter)


@functools.cache
def _of_both(kind: Any) -> Any:
    """The class of parameters that are tensors of `kind`, whose name it has.

    What is computed of them, and what the class gives when it is called, is of `kind` alone.
    """
    members: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__}
    members |= {"__deepcopy__": _deepcopy, "__repr__": kind.__repr__}
    members["__reduce_ex__"] = lambda self, protocol: (
        Parameter,
        (self.detach(), self.requires_grad),
    )
    members["__new__"] = lambda cls, *args, **kwargs: kind(*args, **kwargs)
    members["__init__"] = lambda self, *args, **kwargs: None  # what `Parameter` was given
    if kind.__repr__ is Tensor.__repr__:
        members["__repr__"] = lambda self: f"Parameter({Tensor.__repr__(self)})"
    for name in ("__torch_function__", "__torch_dispatch__"):
        members[name] = classmethod(functools.partial(_asked, kind, name))
    return type(kind.__name__, (kind, Parameter), members)


def _asked(
    kind: Any, name: str, cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """What `kind` answers to a call in which there are parameters of its class."""
    types = tuple([kind if each is cls else each for each in types])
    return getattr(kind, name)(func, types, args, kwargs or {})


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A parameter of its own with the same values."""
    if id(self) not in memo:
        memo[id(self)] = Parameter(copy.deepcopy(self.detach(), memo), self.requires_grad)
    return memo[id(self)]


class Buffer(Tensor):
    """A tensor that is module state without being a parameter, such as a running mean.

    Assigned to a module, it appears in `buffers()`, and in the module's `state_dict` if
    `persistent`. The memory of `data` is shared. Source: PyTorch's `nn.Buffer`.

    >>> module = rg.nn.Module()
    >>> module.steps = rg.nn.Buffer(rg.tensor(0))
    >>> [name for name, _ in module.named_buffers()]
    ['steps']
    """

    __module__ = f"{version.called}.nn.parameter"
    __slots__ = ()

    __torch_function__ = overrides_nothing

    persistent: bool = True

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        """A buffer on the memory of `data`."""
        made: Self = _same_memory(data, cls)
        made.persistent = persistent
        return made

    def __repr__(self) -> str:
        return repr(_as_plain(self))


# -- without a shape ----------------------------------------------------------------------------

UNKNOWN = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


USED = (
    "Attempted to use an uninitialized parameter in {function}. It has no shape and no values "
    "until its module has been called once: module(input), or until it is given a shape: "
    "p.materialize(shape)"
)

# What may be called for a tensor without a shape, besides its properties.
DEFINED = frozenset(
    {
        *("__copy__", "__deepcopy__", "__hash__", "__reduce_ex__", "copy_", "cpu", "cuda", "size"),
        *("char", "double", "float", "half", "int", "is_complex", "is_floating_point", "long"),
        *("short", "to"),
    }
)


class UninitializedTensorMixin(Tensor, sees_properties=False):
    """A tensor whose shape is not known yet; `becomes` is its class once it is."""

    __slots__ = ()

    becomes: type[Any]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Raise ValueError: nothing can be computed yet."""
        name, property_of = names.get(func, ""), type(func).__name__ == "method-wrapper"
        if not property_of and name.rpartition(".")[2] not in DEFINED:
            raise ValueError(USED.format(function=name or func))
        return overrides_nothing(func, types, args, kwargs)

    @property
    def shape(self) -> Any:
        """Unknown: raises RuntimeError."""
        raise RuntimeError(UNKNOWN)

    def size(self, dim: int | None = None) -> Any:
        """That of no elements, as in PyTorch."""
        return self._array.shape[place_of(dim, 1)] if dim is not None else Size(self._array.shape)

    def materialize(
        self, shape: Any, device: DeviceLike = None, dtype: dtype | None = None
    ) -> None:
        """Become an ordinary parameter or buffer of this shape, its values still undetermined."""
        kind = self._array.dtype if dtype is None else None
        sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        made = empty(sizes, device, dtype)._array
        self._array = made if kind is None else made.astype(kind)
        self.__class__ = self.becomes
        if self._node is not None:
            self._node.shape, self._node.dtype = self._array.shape, self._array.dtype

    def share_memory_(self) -> Any:
        """There is none yet: raises RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter, sees_properties=False):  # type: ignore[misc]
    """A parameter without a shape, until `materialize(shape)` gives it one.

    >>> p = rg.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', retrograd.Size([2, 3]))
    """

    __slots__ = ()

    becomes = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: DeviceLike = None, dtype: dtype | None = None
    ) -> Any:
        """A parameter of no size."""
        return super().__new__(cls, empty((0,), device, dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self.requires_grad, None, self.dtype)
        return found


class UninitializedBuffer(UninitializedTensorMixin, Buffer, sees_properties=False):  # type: ignore[misc]
    """A buffer without a shape, until `materialize(shape)` gives it one.

    >>> rg.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()

    becomes = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        persistent: bool = True,
    ) -> Any:
        """A buffer of no size."""
        return super().__new__(cls, empty((0,), device, dtype), persistent=persistent)


def is_lazy(value: Any) -> bool:
    """Whether `value` is a parameter or buffer without a shape."""
    return isinstance(value, UninitializedTensorMixin)


def check_shaped(value: Any, by: str) -> None:
    """Raise ValueError for a parameter without a shape, which `by` could not normalize."""
    if is_lazy(value):
        raise ValueError(
            f"The module passed to `{by}` can't have uninitialized parameters. Call it once "
            "before: module(input)"
        )


never(Parameter, Buffer)
