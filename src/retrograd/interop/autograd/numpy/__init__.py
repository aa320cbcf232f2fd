"""NumPy for programs that are differentiated: its names, on arrays and on boxes.

NumPy asks a box before it computes, so most functions are NumPy's own. Those here are the ones
that look into lists of boxes, which NumPy would read as lists of objects, and those that make
arrays of numbers, which NumPy would read from a box.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

import numpy

from ..boxes import isbox
from . import fft, linalg, random

__all__ = [
    "array", "asarray", "c_", "fft", "full", "full_like", "linalg", "make_diagonal", "r_", "random",
]  # fmt: skip

# What takes a list of arrays, each an array of its own.
OF_LISTS = {
    *("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block", "select"),
    *("broadcast_arrays", "meshgrid", "piecewise", "ix_", "lexsort", "row_stack", "concat"),
}


def holds_boxes(value: Any) -> bool:
    """Whether nested lists and tuples hold a box."""
    return isinstance(value, (list, tuple)) and any(isbox(x) or holds_boxes(x) for x in value)


def array(object: Any, dtype: Any = None, *, ndmin: int = 0, **options: Any) -> Any:
    """NumPy's `array`, which also makes one of nested lists that hold boxes.

    >>> import retrograd.interop.autograd.numpy as anp
    >>> from retrograd.interop.autograd import grad
    >>> float(grad(lambda x: anp.array([[x, 1.0], [2.0, x]])[1].sum())(3.0))
    1.0
    """
    if not isbox(object) and not holds_boxes(object):
        return numpy.array(object, dtype, ndmin=ndmin, **options)
    found = object if isbox(object) else numpy.stack([array(part) for part in object])
    found = found if dtype is None else found.astype(dtype)
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if found.ndim < ndmin else found


def asarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """NumPy's `asarray`, which takes boxes and lists of them: see `array`."""
    if isbox(a) or holds_boxes(a):
        return array(a, dtype)
    return numpy.asarray(a, dtype, **options)


def full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    """NumPy's `full`, filled with a box, too.

    >>> import retrograd.interop.autograd.numpy as anp
    >>> from retrograd.interop.autograd import grad
    >>> float(grad(lambda x: anp.full((2, 3), x).sum())(1.0))
    6.0
    """
    if not isbox(fill_value) and not holds_boxes(fill_value):
        return numpy.full(shape, fill_value, dtype, **options)
    return array(numpy.broadcast_to(array(fill_value), shape), dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    """NumPy's `full_like`, filled with a box, too.

    >>> import retrograd.interop.autograd.numpy as anp
    >>> from retrograd.interop.autograd import grad
    >>> float(grad(lambda x: anp.full_like(np.ones((2, 3)), x).sum())(1.0))
    6.0
    """
    if not isbox(fill_value) and not holds_boxes(fill_value):
        return numpy.full_like(a, fill_value, dtype, **options)
    made = array(a)
    return full(made.shape, fill_value, made.dtype if dtype is None else dtype)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """HIPS autograd's own: matrices (..., N, N) with the vectors (..., N) as diagonals.

    It is for offset=0, axis1=-1, axis2=-2 alone; NotImplementedError for others.

    >>> import retrograd.interop.autograd.numpy as anp
    >>> anp.make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal() is for offset=0, axis1=-1, axis2=-2")
    return D[..., None] * numpy.eye(numpy.shape(D)[-1])


class Indexed:
    """`r_` or `c_`: NumPy's places the numbers of the elements, which are then taken."""

    def __init__(self, places: Any) -> None:
        self.places = places

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(map(isbox, parts)):
            return self.places[key]
        vectors: list[Any] = []
        numbered: list[Any] = []
        count = 0
        for part in parts:
            if isinstance(part, str):
                numbered.append(part)
                continue
            values = part if isbox(part) else self.places[part] if isinstance(part, slice) else part
            shape = numpy.shape(values)
            size = int(numpy.prod(shape))
            numbered.append(numpy.arange(count, count + size).reshape(shape))
            vectors.append(numpy.ravel(values))
            count += size
        return numpy.concatenate(vectors)[self.places[tuple(numbered)]]


r_, c_ = Indexed(numpy.r_), Indexed(numpy.c_)


@cache
def listening(name: str) -> Any:
    """NumPy's function of a name, to which lists of boxes are arrays."""
    function = getattr(numpy, name)

    @wraps(function, updated=())
    def call(*args: Any, **options: Any) -> Any:
        return function(*[array(x) if holds_boxes(x) else x for x in args], **options)

    return call


def __getattr__(name: str) -> Any:
    found = getattr(numpy, name)
    takes_arrays = callable(found) and not isinstance(found, type) and name not in OF_LISTS
    return listening(name) if takes_arrays else found


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(numpy)})
