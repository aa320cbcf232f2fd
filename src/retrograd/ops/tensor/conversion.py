"""Changing dtype: `to`, `type` and their short forms, and the questions about promotion."""

from __future__ import annotations

from numbers import Number
from typing import Any

from ... import dtypes
from ...engine.overriding import IGNORED, named_in
from ...engine.placement import as_device
from ...engine.registry import name_node
from ...engine.tensor import Tensor, method, new_tensor
from ...engine.tensor import device as Device
from ...kernels.allocation import has_class
from ...kernels.layout import channels_inside
from ..core.arguments import public, titled
from ..core.engine_ops import cast, clone
from ..creation import from_data
from ..creation.memory_format import contiguous_format, in_format
from .inspection import strided

__all__ = ["can_cast", "result_type"]

NO_DATA = (
    "Cannot copy out of meta tensor; no data! Make one with data: empty_like(x, device='cpu'). For "
    "a module, please use torch.nn.Module.to_empty() instead of torch.nn.Module.to()"
)


def convert(t: Tensor, target: Any, copy: bool = False) -> Tensor:
    """`t` with the NumPy dtype `target`; `t` itself if it has it, unless `copy`.

    Differentiable between floating and complex dtypes; from complex to real, the real part.
    """
    if t.dtype.numpy == target:
        return name_node(clone(t), "ToCopyBackward0") if copy else t
    seen = has_class(t._array) and t._node is None  # by its class, which needs no detach
    if not (dtypes.is_differentiable(target) or seen):
        t = t.detach()
    return cast(t, dtype=target)


@public(methods="to")
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    tensor: Tensor | None = None,
) -> Tensor:
    """The tensor with another dtype or device: `to(dtype)`, `to(device, dtype)`, `to(other)`.

    Returns the tensor itself where nothing changes, unless `copy`. On the meta device it has no
    data and no history; from there nothing comes back: NotImplementedError. `memory_format` is the
    order of the result in memory, by default that of the tensor. Differentiable; complex to real
    takes the real part. Raises TypeError for what is neither dtype, device nor tensor.

    >>> rg.ones(2).to(rg.complex128).dtype
    retrograd.complex128
    """
    flags: list[Any] = []
    if tensor is not None:
        args = (tensor, *args)
    for place, value in enumerate(args):
        if value is None:
            continue
        if isinstance(value, Tensor) and place == 0:
            device, dtype = value.device, value.dtype
        elif isinstance(value, bool) and place:
            flags.append(value)
        elif isinstance(value, (str, Device)) or (type(value) is int and not place):
            device = value
        elif isinstance(value, (dtypes.dtype, type)) and place < 2:
            dtype = value
        else:
            raise TypeError(
                f"to(): argument (position {place + 1}) must be retrograd.dtype, device or Tensor, "
                f"not {type(value).__name__}"
            )
    if len(flags) > 2:
        raise TypeError(
            f"to() takes at most 2 flags (non_blocking, copy) but {len(flags)} were given"
        )
    if device is not None and as_device(device).type != self.device.type:
        if self.is_meta:
            raise NotImplementedError(NO_DATA)
        there = from_data.empty_on(self._array, as_device(device))
        self = there.tensor() if has_class(there) else new_tensor(there)
    target = self.dtype.numpy if dtype is None else from_data.check_dtype(dtype, "to")
    found = convert(self, target, flags[1] if len(flags) > 1 else copy)
    lies = memory_format is contiguous_format and not channels_inside(found._array)
    if memory_format is None or (found is self and lies):  # as PyTorch, with gaps too
        return found
    return in_format(found, memory_format, "to")


@public(methods="type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the dtype, and on the device, of `other`."""
    return to(self, other)


def _type(
    self: Tensor, dtype: Any = None, non_blocking: bool = False, *, memory_format: Any = None
) -> Any:
    """The tensor with another dtype, or, without one, the name of its type.

    >>> rg.ones(1).type(), rg.ones(1).type("retrograd.LongTensor")
    ('retrograd.FloatTensor', tensor([1]))
    """
    if dtype is None:
        place = ".meta" if self.is_meta else ".sparse" * (self.layout is not strided)
        return dtypes.type_name(self.dtype, place)
    found = convert(self, of_type(dtype))
    return found if memory_format is None else in_format(found, memory_format, "type")


def of_type(dtype: Any) -> Any:
    """NumPy's dtype for a dtype, for a class of tensors, or for the name of one."""
    if isinstance(dtype, str):
        package, _, kind = dtype.removesuffix("Tensor").partition(".")
        target = dtypes.of_legacy_name(kind) if dtype.endswith("Tensor") else None
        if target is None or package not in ("retrograd", "torch"):
            raise ValueError(f"invalid type: {dtype!r}")
        return target.numpy
    if dtype is Tensor:
        return dtypes.default_numpy()
    if hasattr(dtype, "__instancecheck__") and not isinstance(dtype, type):  # LongTensor
        dtype = dtype.dtype
    return from_data.check_dtype(dtype, "type")


@named_in(IGNORED)
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether promotion rules let values of dtype `from_` be stored as dtype `to`.

    >>> rg.can_cast(rg.float64, rg.float32), rg.can_cast(rg.float32, rg.int64)
    (True, False)
    """
    dtypes.check_dtypes("can_cast", from_=from_, to=to)
    return from_.category <= to.category


def result_type(tensor: Any, other: Any) -> dtypes.dtype:
    """The dtype that arithmetic between two tensors or numbers gives.

    >>> rg.result_type(rg.tensor([1, 2]), 1.0)
    retrograd.float32
    """
    if not isinstance(tensor, Tensor):
        tensor, other = other, tensor
    if not isinstance(tensor, Tensor):
        tensor = from_data.tensor(tensor)
    x = tensor._array
    if isinstance(other, Tensor):
        return dtypes.of_numpy(dtypes.common(x, other._array))
    kind: Any = type(other)
    one = kind(1) if isinstance(other, Number) else other  # what its value is does not matter
    y = dtypes.scalar_array(one, x.dtype)
    return dtypes.of_numpy(dtypes.promote_numpy(x.dtype, y.dtype))


SHORT = {
    "bool": dtypes.boolean,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}


def short_form(name: str, target: dtypes.dtype) -> Any:
    """The method called `name` that converts to `target`."""

    def call(self: Tensor, memory_format: Any = None) -> Tensor:
        found = convert(self, target.numpy)
        return found if memory_format is None else in_format(found, memory_format, name)

    return titled(call, name, f"The tensor as {target.name}: `to({target})`.")


@public(methods="bfloat16")
def bfloat16(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor as bfloat16: `to(retrograd.bfloat16)`.

    Needs the package ml_dtypes (pip install retrograd[bfloat16]); AttributeError without it.
    """
    found = convert(self, dtypes.by_name("bfloat16").numpy)
    return found if memory_format is None else in_format(found, memory_format, "bfloat16")


@public(methods="chalf")
def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """Raises TypeError: no complex dtype of two half floats is supported. Use `cfloat`.

    The one of ml_dtypes is not complex to NumPy: its `real` is the number itself.
    """
    raise TypeError(dtypes.NO_COMPLEX32)


for name, target in SHORT.items():
    method(short_form(name, target))
method(_type, "type")
