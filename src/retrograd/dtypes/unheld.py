"""A dtype that programs compare with, and that no tensor has."""

from __future__ import annotations

from typing import Any

from . import NO_COMPLEX32, dtype

__all__ = ["chalf", "complex32"]


class Unheld(dtype):
    """A complex dtype without one of NumPy's, which whoever asks for it is told.

    >>> rg.complex32, rg.ones(1).dtype == rg.complex32
    (retrograd.complex32, False)
    >>> rg.ones(1, dtype=rg.complex32)
    Traceback (most recent call last):
        ...
    TypeError: retrograd.complex32 is not supported: there is no complex dtype of two half floa...
    """

    __slots__ = ()

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize, self.category = name, itemsize, 3
        self.is_floating_point, self.is_complex, self.is_signed = False, True, True

    @property
    def numpy(self) -> Any:  # type: ignore[override]
        """Raise TypeError: there is none."""
        raise TypeError(NO_COMPLEX32)

    def __reduce__(self) -> str:
        return self.name


complex32 = chalf = Unheld("complex32", 4)
