"""What `Module.to` and its like make of the tensors of a module, and the arguments of `to`."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..engine.placement import device
from ..engine.subclasses import with_class
from ..engine.tensor import Tensor, new_tensor
from ..ops.creation.like import empty_like
from ..ops.creation.memory_format import arranged, check_format, memory_format
from ..ops.tensor.conversion import convert
from .parameter import Buffer

__all__ = ["cast", "empty_on", "in_memory_format", "is_real", "of_kind", "on_device", "parse_to"]

overwrites = False  # whether a module that is converted gets new parameters: `torch.__future__`


def is_real(t: Tensor) -> bool:
    """Whether a tensor is floating-point."""
    return t.dtype.is_floating_point


def cast(t: Tensor, target: dtypes.dtype) -> Tensor:
    """`t` itself if it has the dtype, else a converted tensor; a buffer keeps its history."""
    if t.dtype is target:
        return t
    if t.requires_grad:
        return convert(t, target.numpy)
    return of_kind(t, convert(new_tensor(t._array), target.numpy)._array)


def of_kind(t: Tensor, array: Any) -> Tensor:
    """`array` as what `t` is to a module, and of its class."""
    made = new_tensor(array)
    if isinstance(t, Buffer):
        return Buffer(made, persistent=t.persistent)
    return made if type(t) is Tensor else with_class(made, type(t))


def on_device(t: Tensor, place: device) -> Tensor:
    """`t` on a device: AssertionError where there is none, NotImplementedError from meta."""
    return t if t.device.type == place.type else of_kind(t, t.detach().to(place)._array)


def empty_on(t: Tensor, place: device | None) -> Tensor:
    """A tensor like `t` on a device, by default its own, with whatever its memory holds."""
    return of_kind(t, empty_like(t.detach(), device=place)._array)


def in_memory_format(t: Tensor, format: memory_format) -> Tensor:
    """`t`, its elements in the order of `format` in memory where that is one of its dimensions."""
    if format.ndim not in (0, t._array.ndim):
        return t
    array = arranged(t._array, format)
    return t if array is t._array else of_kind(t, array)


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, `non_blocking` and the memory format that `Module.to` is asked for.

    What it is not asked for is None.
    """
    if "copy" in kwargs:
        raise RuntimeError(".to() does not accept copy argument. Copy first: deepcopy(module)")
    names: tuple[str, ...] = ("device", "dtype", "non_blocking")
    if args and isinstance(args[0], Tensor):
        names = ("tensor", "non_blocking")
    elif args and isinstance(args[0], dtypes.dtype):
        names = ("dtype", "non_blocking")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    extra = given.keys() - {"tensor", "device", "dtype", "non_blocking", "memory_format"}
    target = given["tensor"].dtype if "tensor" in given else given.get("dtype")
    if (
        extra
        or len(given) < len(args) + len(kwargs)
        or not (target is None or isinstance(target, dtypes.dtype))
    ):
        raise TypeError(
            "to() received an invalid combination of arguments: expected to(device, dtype, "
            "non_blocking), to(dtype, non_blocking) or to(tensor, non_blocking), each with an "
            f"optional memory_format=, but got {[*map(repr, args), *kwargs]}"
        )
    tensor = given.get("tensor")
    place = given.get("device") if tensor is None else tensor.device
    if place is not None and not isinstance(place, device):
        place = device(place)
    format = given.get("memory_format")
    if format is not None:
        check_format(format, format.ndim if isinstance(format, memory_format) else 0, "to")
    return place, target, bool(given.get("non_blocking")), format
