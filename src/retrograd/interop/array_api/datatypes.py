"""Data types: their limits, kinds and promotion, under the standard's names."""

from __future__ import annotations

from typing import Any

from ... import dtypes, ops
from ...dtypes import boolean as bool
from ...dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ...engine.tensor import Tensor
from ...ops.creation.from_data import check_device
from ...ops.tensor.conversion import convert

__all__ = [
    "astype", "bool", "broadcast_arrays", "broadcast_to", "can_cast", "complex64", "complex128",
    "finfo", "float32", "float64", "iinfo", "int8", "int16", "int32", "int64", "isdtype",
    "result_type", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
REAL = (float32, float64)
COMPLEX = (complex64, complex128)
KINDS: dict[str, tuple[dtypes.dtype, ...]] = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """The array with another dtype; itself where nothing changes and `copy` is False.

    Recorded between floating and complex dtypes. Raises TypeError for complex to real: take
    `xp.real(x)` first.

    >>> xp.astype(xp.asarray([1, 2]), xp.float64)
    tensor([1., 2.], dtype=retrograd.float64)
    """
    check_device(device)
    target = dtypes.to_numpy(dtype)
    if x._array.dtype.kind == "c" and target.kind in "iuf":
        raise TypeError(
            f"astype(): {x.dtype} does not go to {dtypes.of_numpy(target)} without losing the "
            "imaginary part. Take one part first: xp.real(x)"
        )
    return convert(x, target, copy)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays, all expanded to one shape without copying.

    >>> xp.broadcast_arrays(xp.asarray([1, 2]), xp.asarray(3))
    [tensor([1, 2]), tensor([3, 3])]
    """
    return list(ops.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array expanded to `shape` without copying.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return ops.broadcast_to(x, shape)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether promotion leads from a dtype (or an array's) to another.

    As the standard leaves promotion between integers and floating dtypes open, not between those.

    >>> xp.can_cast(xp.float32, xp.float64), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    source, target = dtype_of(from_), dtype_of(to)
    mixed = source.category != target.category and not source.is_floating_point
    return not mixed and result_type(source, target) is target


class finfo:  # noqa: N801 (the standard's name)
    """Limits of a floating dtype or of an array's; of a complex one, of its components.

    >>> xp.finfo(xp.complex64).bits, xp.finfo(xp.complex64).dtype
    (32, retrograd.float32)
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, type: Any, /) -> None:
        found = dtypes.finfo(dtype_of(type))
        self.bits: int = found.bits
        self.eps, self.max, self.min = found.eps, found.max, found.min
        self.smallest_normal: float = found.smallest_normal
        self.dtype = dtypes.by_name(found.dtype).to_real()


class iinfo:  # noqa: N801 (the standard's name)
    """Limits of an integer dtype or of an array's.

    >>> xp.iinfo(xp.int8).min, xp.iinfo(xp.int8).max
    (-128, 127)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any, /) -> None:
        found = dtypes.iinfo(dtype_of(type))
        self.bits: int = found.bits
        self.max, self.min = found.max, found.min
        self.dtype = dtypes.by_name(found.dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: a name such as "integral", a dtype, or a tuple of these.

    Raises ValueError for an unknown name.

    >>> xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.int8, (xp.int16, "bool"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, one) for one in kind]
    if not isinstance(kind, str):
        return dtype is dtypes.of_numpy(dtypes.to_numpy(kind))
    if kind not in KINDS:
        raise ValueError(f"isdtype(): no kind {kind!r}; there are {', '.join(map(repr, KINDS))}")
    return dtype in KINDS[kind]


def result_type(*arrays_and_dtypes: Any) -> dtypes.dtype:
    """The dtype to which arrays, dtypes and Python scalars promote together.

    Raises ValueError where only scalars are given.

    >>> xp.result_type(xp.int8, xp.uint8, 1), xp.result_type(xp.float64, 1j)
    (retrograd.int16, retrograd.complex128)
    """
    numbers = (int, float, complex)
    scalars = [x for x in arrays_and_dtypes if isinstance(x, numbers)]
    found = [dtype_of(x).numpy for x in arrays_and_dtypes if not isinstance(x, numbers)]
    if not found:
        raise ValueError("result_type(): at least one array or dtype must be given")
    target = found[0]
    for other in found[1:]:
        target = dtypes.promote_numpy(target, other)
    for scalar in scalars:
        target = dtypes.promote_numpy(target, dtypes.scalar_array(scalar, target).dtype)
    return dtypes.of_numpy(target)


def dtype_of(value: Any) -> dtypes.dtype:
    """A dtype itself, or that of an array."""
    if isinstance(value, Tensor):
        return value.dtype
    return dtypes.of_numpy(dtypes.to_numpy(value))
