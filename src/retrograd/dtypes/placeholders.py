"""Dtypes that programs compare with, and that no tensor has."""

from __future__ import annotations

from typing import Any

from . import NO_COMPLEX32, dtype

__all__ = ["chalf", "complex32", "qint8", "qint32", "quint2x4", "quint4x2", "quint8"]

QUANTIZED = (
    "NumPy has no quantized dtypes. Compute in float32, or in an integer dtype with a scale; "
    "fake_quantize_per_tensor_affine rounds as they would"
)


class Placeholder(dtype):
    """A dtype without one of NumPy's, which whoever asks for it is told.

    >>> rg.complex32, rg.ones(1).dtype == rg.complex32
    (retrograd.complex32, False)
    >>> rg.ones(1, dtype=rg.complex32)
    Traceback (most recent call last):
        ...
    TypeError: retrograd.complex32 is not supported: there is no complex dtype of two half floa...
    """

    __slots__ = ("why",)

    def __init__(self, name: str, itemsize: int, category: int, signed: bool, why: str) -> None:
        self.name, self.itemsize, self.category, self.why = name, itemsize, category, why
        self.is_floating_point, self.is_complex, self.is_signed = False, category == 3, signed

    @property
    def numpy(self) -> Any:  # type: ignore[override]
        """Raise TypeError: there is none."""
        raise TypeError(self.why)

    def __reduce__(self) -> Any:
        return self.name


def _quantized(name: str, itemsize: int) -> Placeholder:
    """A dtype of integers that stand for real numbers by a scale.

    >>> rg.zeros(2).to(rg.qint8)
    Traceback (most recent call last):
        ...
    TypeError: retrograd.qint8 is not supported: NumPy has no quantized dtypes. Compute in floa...
    """
    why = f"retrograd.{name} is not supported: {QUANTIZED}"
    return Placeholder(name, itemsize, 1, not name.startswith("qu"), why)


complex32 = chalf = Placeholder("complex32", 4, 3, True, NO_COMPLEX32)
qint8, quint8, qint32 = _quantized("qint8", 1), _quantized("quint8", 1), _quantized("qint32", 4)
quint4x2, quint2x4 = _quantized("quint4x2", 1), _quantized("quint2x4", 1)
