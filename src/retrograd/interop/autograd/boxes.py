"""A value that is being differentiated, as a program written for NumPy sees it.

NOTE [Boxes]
1. A box holds a tensor and has NumPy's attributes, methods and operators, whose meaning differs
   from a tensor's (`size`, `max`, `std`, `repeat`, steps below zero). NumPy's functions take it.
2. What is computed of boxes is a box only while there is a gradient or a tangent to be lost:
   comparisons, shapes and the like are plain arrays.
3. A box cannot be written into, and NumPy cannot read it: either would lose the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import StandIn
from ...pytree import map_leaves
from ..numpy import OPERANDS, loses

__all__ = ["ArrayBox", "boxed", "getval", "isbox", "plain", "tensor_of", "unboxed"]

UNREADABLE = (
    "NumPy cannot read a value that is being differentiated: the gradient would be lost. Make "
    "arrays of such values with array() of retrograd.interop.autograd.numpy, or, where no gradient "
    "is wanted, pass getval(x)."
)
ANSWERED = (np.result_type, np.iscomplexobj, np.isrealobj, np.shape, np.ndim, np.size)


class ArrayBox(StandIn, np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is being differentiated: NOTE [Boxes].

    >>> from retrograd.interop.autograd import grad
    >>> def double(x):
    ...     print(type(x).__name__, x.shape, x.size, x.dtype)
    ...     return 2.0 * x.sum()
    >>> grad(double)(np.ones(3))
    ArrayBox (3,) 3 float64
    array([2., 2., 2.])
    """

    __slots__ = ("_tensor",)
    __array_priority__ = 100.0

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not all(isinstance(value, (ArrayBox, *OPERANDS)) for value in inputs):
            return NotImplemented
        return boxed(getattr(ufunc, method)(*unboxed(inputs), **unboxed(options)))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if not all(issubclass(kind, (ArrayBox, Tensor, np.ndarray)) for kind in types):
            return NotImplemented
        if function in ANSWERED:
            return function(*getval(args), **getval(options))
        return boxed(function(*unboxed(args), **unboxed(options)))

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(UNREADABLE)

    shape = property(lambda self: tuple(self._tensor.shape))
    ndim = property(lambda self: self._tensor.ndim)
    size = property(lambda self: self._tensor.numel())
    dtype = property(lambda self: self._value.dtype)
    T = property(lambda self: np.transpose(self))
    real = property(lambda self: np.real(self))
    imag = property(lambda self: np.imag(self))
    _value = property(lambda self: self._tensor.detach().numpy(force=True))

    def __getitem__(self, index: Any) -> Any:
        index = getval(index)
        parts = index if isinstance(index, tuple) else (index,)
        backward = any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts)
        mixed = any(isinstance(part, (list, np.ndarray)) for part in parts) and any(
            isinstance(part, (int, np.integer)) for part in parts
        )
        if backward or mixed:
            # A tensor takes no such step, and puts the axes of arrays beside integers elsewhere;
            # the places of what is asked for say the same.
            places = np.arange(self.size).reshape(self.shape)[index]
            return boxed(self._tensor.reshape(-1)[places])
        return boxed(self._tensor[index])

    def __len__(self) -> int:
        return len(self._tensor)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"ArrayBox({self._value!r})"

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """The same values in another shape."""
        sizes = shape[0] if len(shape) == 1 else shape
        if order == "F":
            sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
            return np.transpose(np.reshape(np.transpose(self), sizes[::-1]))
        return np.reshape(self, sizes)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, by default reversed."""
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def ravel(self) -> Any:
        """All values in one dimension."""
        return np.ravel(self)

    flatten = ravel

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The values in another dtype."""
        like = np.zeros((), dtype)
        return boxed(self._tensor.to(new_tensor(like).dtype))

    def copy(self) -> Any:
        """A copy, which is differentiated too."""
        return ArrayBox(self._tensor.clone())


def method_of(function: Any) -> Callable[..., Any]:
    """NumPy's function as a method."""

    def call(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    call.__name__ = function.__name__
    call.__doc__ = f"See `numpy.{function.__name__}`."
    return call


for _name in (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "compress", "conj"),
    *("conjugate", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero"),
    *("prod", "ptp", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes"),
    *("take", "trace", "var"),
):
    setattr(ArrayBox, _name, method_of(getattr(np, _name)))
for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
):  # x += y gives a new box: rule 3
    setattr(ArrayBox, f"__i{_name}__", getattr(ArrayBox, f"__{_name}__"))


def isbox(value: Any) -> bool:
    """Whether a value is being differentiated."""
    return isinstance(value, ArrayBox)


def getval(value: Any) -> Any:
    """The arrays in place of boxes, however deep in containers: no gradient flows through them.

    >>> from retrograd.interop.autograd.tracer import getval
    >>> getval([1.0, np.ones(2)])
    [1.0, array([1., 1.])]
    """
    return map_leaves(lambda part: part._value[()] if isinstance(part, ArrayBox) else part, value)


def unboxed(value: Any) -> Any:
    """The tensors in place of boxes."""
    return map_leaves(lambda part: part._tensor if isinstance(part, ArrayBox) else part, value)


def boxed(value: Any) -> Any:
    """Boxes, or arrays where no gradient can be lost, in place of tensors."""
    return map_leaves(
        lambda part: (
            (ArrayBox(part) if loses(part) else plain(part)) if isinstance(part, Tensor) else part
        ),
        value,
    )


def plain(tensor: Tensor) -> Any:
    """A tensor as NumPy's array or scalar."""
    return tensor.detach().numpy(force=True)[()]


def tensor_of(value: Any) -> Tensor:
    """An array, a number or a box as a tensor; a float is float64, as in NumPy."""
    if isinstance(value, ArrayBox):
        return value._tensor
    array = np.asarray(value)
    if array.dtype in (np.longdouble, np.clongdouble):
        array = array.astype(np.float64 if array.dtype == np.longdouble else np.complex128)
    return new_tensor(array)
