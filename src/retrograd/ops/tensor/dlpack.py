"""DLPack: tensors handed to and taken from other array libraries, on the same memory.

NumPy makes and reads the capsules; a capsule says where the memory is, and keeps its owner alive.
NumPy has no bfloat16 and no floats of 8 bits: it sees unsigned integers of their size, and the type
that a capsule names is written here. No history travels, so a tensor that requires grad is not
handed out.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.overriding import CONVERTERS, named_in
from ...engine.tensor import Tensor, has_history, method, new_tensor
from ..creation.from_data import check_device, from_numpy

__all__ = ["from_dlpack"]

REQUIRES_GRAD = (
    "Can't export tensors that require gradient, use tensor.detach(). What another library "
    "computes is not recorded, so the gradient would be lost."
)
USED = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
    "once, so you might have already constructed a tensor from it once. Give the array itself"
)

# From version 1 on a capsule says whether its memory may be written; older NumPy has none of these.
VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class DLDeviceType(IntEnum):
    """DLPack's numbers for kinds of devices; the only one here is the cpu."""

    kDLCPU = 1  # noqa: N815 (DLPack's name)


class Elements(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
    )  # fmt: skip


class Versioned(ctypes.Structure):
    """DLPack's `DLManagedTensorVersioned`, in which the elements come last."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2), ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("elements", Elements),
    )  # fmt: skip


UNSIGNED = 1  # the code of NumPy's unsigned integers
CODES = {
    "bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
}  # fmt: skip

pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def elements_in(capsule: Any) -> Elements:
    """What a capsule that nobody has imported yet says of its elements; writing changes it."""
    if is_versioned(capsule):
        start = pointer_in(capsule, b"dltensor_versioned")
        return Versioned.from_address(start).elements  # type: ignore[no-any-return]
    return Elements.from_address(pointer_in(capsule, b"dltensor"))


def is_versioned(capsule: Any) -> bool:
    """Whether a capsule is of DLPack's version 1 or later."""
    return '"dltensor_versioned"' in repr(capsule)


class Source:
    """What NumPy imports from: another library's array, or a bare capsule.

    It notes whether the capsule `tells` if its memory may be written, and the dtype of its elements
    if NumPy has none of this kind.
    """

    def __init__(self, owner: Any) -> None:
        self.owner, self.tells = owner, False
        self.narrow: np.dtype[Any] | None = None

    def __dlpack__(self, **wishes: Any) -> Any:
        capsule = self.owner
        if not is_capsule(capsule):
            capsule = capsule.__dlpack__(**wishes)
        if '"used_' in repr(capsule):
            raise RuntimeError(USED)
        self.tells, elements = is_versioned(capsule), elements_in(capsule)
        for name, code in CODES.items():
            if code == elements.code:
                self.narrow, elements.code = dtypes.by_name(name).numpy, UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        if is_capsule(self.owner):
            return DLDeviceType.kDLCPU, 0
        return self.owner.__dlpack_device__()  # type: ignore[no-any-return]


class Memory:
    """The memory of an array that NumPy holds for read-only, as one that may be written."""

    def __init__(self, array: Any) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def is_capsule(value: Any) -> bool:
    """Whether a value is a bare capsule."""
    return type(value).__name__ == "PyCapsule"


def _dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule on the tensor's memory, or on a copy of it if `copy`.

    Raises BufferError for a tensor that requires grad, for a device that is not here and, unless
    `max_version` is at least (1, 0), for memory that must not be written.

    >>> x = rg.zeros(2)
    >>> np.from_dlpack(x)[0] = 1.0  # the same memory
    >>> x
    tensor([1., 0.])
    """
    if has_history(self):
        raise BufferError(REQUIRES_GRAD)
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != (DLDeviceType.kDLCPU, 0):
        raise BufferError(
            f"cannot export a tensor on the cpu to the DLPack device {tuple(dl_device)}. Leave "
            "dl_device away."
        )
    array = self._array.copy() if copy else self._array
    code = CODES.get(dtypes.of_numpy(array.dtype).name)
    if code is not None:
        array = array.view(f"u{array.dtype.itemsize}")
    if max_version is not None and max_version[0] >= 1 and VERSIONED:
        capsule = array.__dlpack__(max_version=max_version)
    elif array.flags.writeable:
        capsule = array.__dlpack__()
    else:
        raise BufferError(
            f"this tensor of shape {list(array.shape)} must not be written, as an expanded one or "
            "one on a read-only array, which the consumer would not learn. Export a copy: "
            "x.clone()"
        )
    if code is not None:
        elements_in(capsule).code = code
    return capsule


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """Where the memory lies in DLPack's numbers: (1, 0), the cpu. ValueError for a meta tensor."""
    if self.device.type == "meta":
        raise ValueError("Unknown device type meta for Dlpack: it has no data. Make one with data")
    return DLDeviceType.kDLCPU, 0


@named_in(CONVERTERS)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or on a copy of it if `copy`.

    `ext_tensor` has the methods `__dlpack__` and `__dlpack_device__`, or is a capsule that nobody
    has imported yet. Raises TypeError for anything else, BufferError where the memory cannot be
    had (on another device, or with a gradient attached).

    >>> a = np.zeros(2)
    >>> x = rg.from_dlpack(a)
    >>> a[0] = 1.0
    >>> x
    tensor([1., 0.], dtype=retrograd.float64)
    """
    check_device(device)
    if not (is_capsule(ext_tensor) or hasattr(ext_tensor, "__dlpack__")):
        raise TypeError(
            f"from_dlpack(): expected an array with __dlpack__ or a DLPack capsule, but got "
            f"{type(ext_tensor).__name__}. For data of other kinds use retrograd.as_tensor."
        )
    source = Source(ext_tensor)
    kind, number = source.__dlpack_device__()
    if kind != DLDeviceType.kDLCPU:
        raise BufferError(
            f"the array lies on the DLPack device {(int(kind), number)}, but tensors live on the "
            "cpu. Move it there first."
        )
    if isinstance(ext_tensor, np.ndarray):
        array = from_numpy(ext_tensor)._array
    else:
        array = np.from_dlpack(source)
        if not (array.flags.writeable or source.tells):  # NumPy is careful, PyTorch is not
            array = np.asarray(Memory(array))
        if source.narrow is not None:
            array = array.view(source.narrow)
    return new_tensor(array.copy() if copy else array)


method(_dlpack, "__dlpack__")
method(_dlpack_device, "__dlpack_device__")
