"""The conjugate, the real and the imaginary part of complex numbers.

NOTE [Conjugates are physical]
1. A conjugate is a new array, not a flag on the old one: `is_conj` and `is_neg` are always False,
   and `resolve_conj` and `resolve_neg` return their input. Writes to one do not reach the other.
2. A flag would be resolved at every read. Measured with an array type that does so: a product with
   a conjugate that a loop holds takes twice as long for ten thousand numbers, fifteen times for
   four; with its backward pass, where the conjugate of a conjugate is free, a fifth longer and
   twice as long.
3. Nor can what was resolved be kept until the next write: writes through NumPy's arrays, and
   through `.data`, to the same memory are not counted. And every loop, file and foreign reader that
   forgot to ask for the flag would be wrong without a word.
"""

from __future__ import annotations

import operator
from typing import Any

from ... import dtypes
from ...engine.dispatch import as_tensor
from ...engine.namespaces import recorded
from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor, method
from ...errors import wrong_type
from ..core.arguments import public
from ..core.pointwise import SINGLE, holds_complex, pointwise

__all__ = [
    "conj", "conj_physical", "imag", "is_conj", "is_neg", "real", "resolve_conj", "resolve_neg",
]  # fmt: skip

_conj = pointwise(
    "conj(input)",
    operator.methodcaller("conj"),  # a real array returns itself, uncopied
    on_reals=lambda input: input,
    input=lambda xp, g: xp.conj(g),
    examples=["3x4", ""],
)


def conj(input: Tensor) -> Tensor:
    """The complex conjugate as a new tensor; a real tensor is returned as it is.

    PyTorch's gives a lazy view instead.

    >>> rg.conj(rg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    array = getattr(input, "_array", None)
    if array is not None and array.dtype.kind != "c":
        return input
    return _conj(input)


recorded.conj = conj  # a formula's conjugate of a real tensor records nothing


@public(out=True, methods="conj_physical conj_physical_")
def conj_physical(input: Tensor) -> Tensor:
    """The same as `conj`.

    >>> rg.conj_physical(rg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return name_node(conj(input), "ConjPhysicalBackward0") if holds_complex(input) else input


def require_tensor(input: Any, name: str) -> Tensor:
    """A tensor itself; TypeError for anything else."""
    if isinstance(input, Tensor):
        return input
    raise wrong_type(name, "input", "Tensor", input, 1)


@public(methods="resolve_conj")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: NOTE [Conjugates are physical].

    >>> rg.resolve_conj(rg.tensor([1 + 2j]).conj())
    tensor([1.-2.j])
    """
    return require_tensor(input, "resolve_conj")


@public(methods="resolve_neg")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: NOTE [Conjugates are physical].

    >>> rg.resolve_neg(rg.tensor([1 + 2j]).conj().imag)
    tensor([-2.])
    """
    return require_tensor(input, "resolve_neg")


@public(methods="is_conj")
def is_conj(input: Tensor) -> bool:
    """False: NOTE [Conjugates are physical].

    >>> rg.is_conj(rg.tensor([1 + 2j]).conj())
    False
    """
    return False


@public(methods="is_neg")
def is_neg(input: Tensor) -> bool:
    """False: NOTE [Conjugates are physical].

    >>> rg.is_neg(rg.tensor([1 + 2j]).conj().imag)
    False
    """
    return False


_real = declare(
    "real(input)",
    operator.attrgetter("real"),
    input=lambda xp, g: g,
    contiguous="input",
    keeps="input",
    view=True,
    batch="leading",
    examples=SINGLE,
    node_name="SelectBackward0",
)

_imag = declare(
    "imag(input)",
    operator.attrgetter("imag"),
    input=lambda xp, g: xp.complex(xp.zeros_like(g), g),
    contiguous="input",
    keeps="input",
    view=True,
    batch="leading",
    examples=["3x4:complex", ":complex"],
    node_name="SelectBackward0",
)


def real(input: Tensor) -> Tensor:
    """The real part, as a view into the same memory; a real tensor is returned as it is.

    >>> rg.real(rg.tensor([1 + 2j]))
    tensor([1.])
    """
    array = getattr(input, "_array", None)
    if array is not None and array.dtype.kind != "c":
        return input
    return _real(input)


def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view into the same memory.

    Raises RuntimeError for a real tensor.

    >>> rg.imag(rg.tensor([1 + 2j]))
    tensor([2.])
    """
    if not holds_complex(input):
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes. This one is "
            f"{input.dtype}: its imaginary part is zeros_like(x)"
        )
    return _imag(input)


def _fill_part(part: Tensor, value: Any) -> None:
    kind = part._array.dtype
    if isinstance(value, complex) and kind.kind != "c":
        value = dtypes.real_scalar(value, kind)
    part.copy_(as_tensor(value, kind))


def _set_real(self: Tensor, value: Any) -> None:
    _fill_part(real(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    _fill_part(imag(self), value)


method(conj)
method(property(real, _set_real, doc="The real part, a view; assignable."), "real")
method(property(imag, _set_imag, doc="The imaginary part, a view; assignable."), "imag")
