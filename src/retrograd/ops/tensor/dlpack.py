"""DLPack: tensors handed to and taken from other array libraries, on the same memory.

NumPy makes and reads the capsules; a capsule says where the memory is, and keeps its owner alive.
No history travels, so a tensor that requires grad is not handed out.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.overriding import CONVERTERS, listed
from ...engine.tensor import Tensor, has_history, method, new_tensor
from ..creation.from_data import check_device, from_numpy

__all__ = ["from_dlpack"]

REQUIRES_GRAD = (
    "Can't export tensors that require gradient, use tensor.detach(). What another library "
    "computes is not recorded, so the gradient would be lost."
)

# From version 1 on a capsule says whether its memory may be written; older NumPy has none of these.
VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class DLDeviceType(IntEnum):
    """DLPack's numbers for kinds of devices; the only one here is the cpu."""

    kDLCPU = 1  # noqa: N815 (DLPack's name)


class Source:
    """What NumPy imports from: another library's array, or a bare capsule.

    It notes whether the capsule `tells` if its memory may be written.
    """

    def __init__(self, owner: Any) -> None:
        self.owner, self.tells = owner, False

    def __dlpack__(self, **wishes: Any) -> Any:
        capsule = self.owner
        if not is_capsule(capsule):
            capsule = capsule.__dlpack__(**wishes)
        self.tells = "dltensor_versioned" in repr(capsule)
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

    Raises BufferError for a tensor that requires grad, for bfloat16, for a device that is not here
    and, unless `max_version` is at least (1, 0), for memory that must not be written.

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
    if array.dtype.kind not in "biufc":
        raise BufferError(
            f"NumPy cannot export {dtypes.of_numpy(array.dtype).name}. Convert first: x.float()"
        )
    if max_version is not None and max_version[0] >= 1 and VERSIONED:
        return array.__dlpack__(max_version=max_version)
    if not array.flags.writeable:
        raise BufferError(
            f"this tensor of shape {list(array.shape)} must not be written, as an expanded one or "
            "one on a read-only array, which the consumer would not learn. Export a copy: "
            "x.clone()"
        )
    return array.__dlpack__()


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """Where the memory lies, in DLPack's numbers: always (1, 0), the cpu."""
    return DLDeviceType.kDLCPU, 0


@listed(CONVERTERS)
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
    return new_tensor(array.copy() if copy else array)


method(_dlpack, "__dlpack__")
method(_dlpack_device, "__dlpack_device__")
