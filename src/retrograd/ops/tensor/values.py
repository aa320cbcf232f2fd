"""How a tensor leaves for Python and NumPy: numbers, lists and arrays.

And what Python asks an object: `len`, `bool`, `float`, iteration. Nothing is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor, has_tangent, method
from ...engine.trace import users_level
from ...kernels.allocation import has_values
from ...locks import load
from ..core.engine_ops import held_by
from .inspection import strided

__all__: list[str] = []

LOSES_HISTORY = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: the "
    "number has no history. If that is meant, detach the tensor first: x.detach(). Otherwise "
    "keep tensors: retrograd.stack([x, y]) joins them with their gradients"
)
NO_NUMPY = (
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. What "
    "NumPy computes is not recorded, so the gradient would be lost."
)
ASKED = NO_NUMPY + " {} asked for the values. {}"
USE = "Use {}, or, for a constant, pass x.detach()"
JOINS = USE.format("functions of retrograd, such as retrograd.stack([x, y]) for np.array([x, y])")
RETURNS = "Give it numbers: return loss.item() and x.grad.numpy()"
OTHERWISE = {"expm": "matrix_exp"}  # SciPy's names of functions that have another one here
CONVOLVES = "convolve", "fftconvolve"
HOMES = "retrograd", "retrograd.fft", "retrograd.linalg", "retrograd.signal", "retrograd.special"
NO_NUMPY_META = (
    "can't convert meta device type tensor to numpy: it has a shape, and no values. Make one with "
    "data: empty_like(x, device='cpu')"
)
NO_NUMPY_FORWARD = (
    "Can't call numpy() on Tensor that has a tangent: it is part of a forward derivative. What "
    "NumPy computes is not recorded, so the derivative would be lost. Compute with functions of "
    "retrograd or in an autograd.Function with a jvp; for a constant: tensor.detach().numpy()"
)


class Absent:
    """A method of NumPy's arrays that tensors lack, as in PyTorch: the error says what to write."""

    def __init__(self, name: str, instead: str) -> None:
        self.text = f"'Tensor' object has no attribute '{name}'. Write {instead}"

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        raise AttributeError(self.text)


def item(self: Tensor) -> Any:
    """The single element as a Python number; RuntimeError for any other number of elements.

    >>> rg.tensor([2.5]).item()
    2.5
    """
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar. Reduce it "
            "first (x.sum().item()), or take all of them: x.tolist()"
        )
    return self._array.item()


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; of a 0-d tensor, the number."""
    return self._array.tolist()


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The elements as a NumPy array on the same memory.

    Raises RuntimeError for a tensor that requires grad, unless `force`, or where nothing is
    recorded; so too for one that has a tangent in a forward derivative in progress. Writing to the
    array is not noticed by the version check of saved values.

    >>> x = rg.zeros(2); x.numpy()[0] = 5.0; x
    tensor([5., 0.])
    """
    if self.layout is not strided and not self.is_nested:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if not has_values(self._array):
        raise TypeError(NO_NUMPY_META)
    if self._node is not None and not force and modes.state.records:
        raise RuntimeError(NO_NUMPY)
    if has_tangent(self) and not force:
        raise RuntimeError(NO_NUMPY_FORWARD)
    return self._array.view()


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    if self._node is not None and modes.state.records and has_values(self._array):
        raise RuntimeError(ASKED.format(*_asking()))
    array = numpy(self)
    if copy is False and dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError(f"a copy is needed to convert a tensor of {self.dtype} to {dtype}")
    if dtype is not None:
        array = held_by(np.dtype(dtype), array)
    return array.astype(array.dtype if dtype is None else dtype, copy=bool(copy))


def _asking() -> tuple[str, str]:
    """Which function of NumPy or SciPy asks for an array; and what a program can use in its place.

    The outermost of SciPy's frames has the name that the program called. NumPy's are in C.
    """
    who, module, frame = "", "", sys._getframe(2)
    while frame.f_back is not None:
        home, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if not home.startswith(("numpy.", "scipy.")):
            break
        if home.startswith("scipy.") and not (home.startswith("scipy._") or name.startswith("_")):
            who, module = name, home.split(".")[1]
        frame = frame.f_back
    if not who:
        return "A function of NumPy", JOINS
    called = f"scipy.{module}.{who}()"
    if module == "optimize":
        return called, RETURNS
    if who in CONVOLVES:
        return called, USE.format("np.convolve(x, y), which takes tensors")
    who = OTHERWISE.get(who, who)
    for home in (f"retrograd.{module}", "retrograd"):
        if home in HOMES and hasattr(load(home), who):
            return called, USE.format(f"{home}.{who}")
    return called, JOINS


def _single(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars, this one has shape "
            f"{list(self.shape)}. Reduce it first, or take all elements: x.tolist()"
        )
    return self._array.item()


def _real(self: Tensor, kind: str) -> Any:
    value = _single(self)
    if isinstance(value, complex):
        if value.imag != 0:
            raise RuntimeError(
                f"value cannot be converted to type {kind} without overflow: {value} is not real. "
                "Take x.real or x.abs() first."
            )
        return value.real
    return value


def warn_of_history(x: Tensor) -> None:
    """Warn, once, that a number made of a tensor has no history."""
    if x.requires_grad:
        modes.warn_once(LOSES_HISTORY, users_level() + 1)


def _float(self: Tensor) -> float:
    warn_of_history(self)
    return float(_real(self, "double"))


def _int(self: Tensor) -> int:
    return int(_real(self, "int64_t"))


def _complex(self: Tensor) -> complex:
    warn_of_history(self)
    return complex(_single(self))


def _index(self: Tensor) -> int:
    if self._array.size != 1 or dtypes.category(self._array.dtype) > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


def _bool(self: Tensor) -> bool:
    if self._array.size != 1:
        which = "more than one value" if self._array.size else "no values"
        raise RuntimeError(
            f"Boolean value of Tensor with {which} is ambiguous. Use x.any() or x.all()."
        )
    return bool(self._array)


def _len(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex, np.generic)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool(recorded.eq(self, element).any())


def _reversed(self: Tensor) -> Tensor:
    """The rows in the opposite order; a 0-d tensor as it is."""
    return self.flip(0)


for function in (item, tolist, numpy):
    method(function)
method(_array, "__array__")
method(_float, "__float__")
method(_int, "__int__")
method(_complex, "__complex__")
method(_index, "__index__")
method(_bool, "__bool__")
method(_len, "__len__")
method(_iter, "__iter__")
method(_contains, "__contains__")
method(_reversed, "__reversed__")
for name, instead in {"astype": "x.to(dtype)", "copy": "x.clone()"}.items():
    setattr(Tensor, name, Absent(name, instead))
