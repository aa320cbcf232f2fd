"""Complex derivative matrices from real ones: Wirtinger pairs.

NOTE [Complex Jacobians] Of a function f of complex z, df = A dz + B dz*, where A = ∂f/∂z and
B = ∂f/∂z* (the Wirtinger pair). Two real derivatives, in the directions 1 and i, give both.
1. z real: the one Jacobian ∂f/∂z, real or complex as f is.
2. z complex: the pair (A, B). If f is real, B is the conjugate of A, and the gradient of PyTorch's
   convention is 2B. If f is holomorphic, B is 0 and A says everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.tensor import Tensor

NOT_HOLOMORPHIC = (
    "{name}: the function is not holomorphic here (the largest entry of ∂f/∂z* is {size:.3g}), so "
    "one complex matrix cannot hold its derivative. Ask for the Wirtinger pair (∂f/∂z, ∂f/∂z*): "
    "{name}(f, wirtinger=True)"
)
ROUNDING = 1e4  # in units of the dtype's eps, beside the largest entry of the pair


def from_tangents(one: Tensor, imaginary: Any, x: Tensor) -> Any:
    """The pair, or the matrix if x is real, from the tangents A + B and i(A - B)."""
    if x._array.dtype.kind != "c":
        return one
    return (one - 1j * imaginary) * 0.5, (one + 1j * imaginary) * 0.5


def from_cotangents(one: Tensor, imaginary: Any, x: Tensor) -> Any:
    """The pair, or the matrix if x is real, from what the cotangents 1 and i of f pull back.

    A cotangent u gives A^H u + B^T u*, of which a real x keeps the real part. `imaginary` is None
    where f is real.
    """
    if x._array.dtype.kind != "c":
        return one if imaginary is None else one + 1j * imaginary
    if imaginary is None:
        return one.conj() * 0.5, one * 0.5
    return ((one - 1j * imaginary) * 0.5).conj(), (one + 1j * imaginary) * 0.5


def check_holomorphic(name: str, pair: Any) -> Tensor:
    """∂f/∂z of a pair; raise unless ∂f/∂z* is 0. A batch shows no values, and passes."""
    a, b = pair
    if isinstance(a._array, np.ndarray):
        largest = float(np.abs(b._array).max(initial=0))
        if largest > rounding(pair):
            raise RuntimeError(NOT_HOLOMORPHIC.format(name=name, size=largest))
    return a  # type: ignore[no-any-return]


def rounding(pair: Any) -> float:
    """What counts as 0 in a pair, beside its largest entry that is a number."""
    sizes = [np.abs(each._array) for each in pair]
    largest = max([float(np.nan_to_num(size, nan=0.0).max(initial=0)) for size in sizes])
    return float(ROUNDING * np.finfo(sizes[0].dtype).eps * largest)
