"""What the namespace says about itself: devices, dtypes, capabilities."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...engine.tensor import device as Device
from ...ops.creation.from_data import check_device
from .datatypes import KINDS

__all__ = ["__array_namespace_info__"]

CPU = Device("cpu")


class Info:
    """The standard's inspection functions."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What depends on data here: shapes may, and boolean indices are allowed."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new arrays: the cpu."""
        return CPU

    def devices(self) -> list[Device]:
        """All devices: the cpu."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of new arrays of Python numbers, and of indices."""
        check_device(device)
        real = dtypes.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of a kind, or of all, by name."""
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind
        names = kinds if isinstance(kinds, tuple) else (kinds,)
        unknown = [name for name in names if name not in KINDS]
        if unknown:
            raise ValueError(f"dtypes(): no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
        return {found.name: found for name in names for found in KINDS[name]}


def __array_namespace_info__() -> Info:  # noqa: N807 (the standard's name)
    """The object with the standard's inspection functions.

    >>> from retrograd.interop import array_api as xp
    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    retrograd.int64
    """
    return Info()
