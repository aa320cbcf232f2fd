"""Bessel functions of real order, and Airy's, as array kernels: SciPy's, but for the simplest.

Nothing here knows of tensors. Kernels take real or complex arrays and keep their dtype; the scaled
`bessel_ie` is real only, since exp(-|Re z|) is not analytic. Orders beyond 1 are what derivatives
ask for, and programs of SciPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..quiet import quietly
from .library import scipy_special, widely

# Names of the real functions of order 0 and 1, which are faster and closer than those of any order.
QUICK = {
    "jv": ("j0", "j1"),
    "yv": ("y0", "y1"),
    "iv": ("i0", "i1"),
    "ive": ("i0e", "i1e"),
    "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}


UNDERFLOWS = 1e-150  # squared, it is about the smallest double
FAR = 1e8  # where two terms of the asymptotic series are exact, and beyond which SciPy gives up


def _of_order(name: str, order: float, x: Any) -> Any:
    if order in (0, 1) and x.dtype.kind != "c":
        return widely(QUICK[name][int(order)], x)
    return widely(name, x, order)


def _near_zero(value: Any, order: float, x: Any) -> Any:
    """`value`, but 0 where x**order underflows and SciPy gives NaN."""
    return value if order < 2 else np.where(np.abs(x) < UNDERFLOWS, 0, value)


def _mirrored(order: float) -> float:
    """The order without its sign, of integers: to them the function is the same but for a sign."""
    return abs(order) if order % 1 == 0 else order


def bessel_j(order: float, x: Any) -> Any:
    """The Bessel function J of an order, of real or complex numbers."""
    value = _of_order("jv", _mirrored(order), x)
    return -value if order < 0 and order % 2 == 1 else value


def bessel_y(order: float, x: Any) -> Any:
    """Y of an order; NaN for negative real `x`."""
    value = _of_order("yv", _mirrored(order), x)
    return -value if order < 0 and order % 2 == 1 else value


def bessel_i(order: float, x: Any) -> Any:
    """I of an order; of order 0 without SciPy, if `x` is real."""
    if order == 0 and x.dtype.kind != "c":
        return np.i0(x.astype(np.float64, copy=False)).astype(x.dtype)
    n = _mirrored(order)
    return _near_zero(_of_order("iv", n, x), n, x)


@quietly  # at 0, where it is not taken
def bessel_ie(order: float, x: Any) -> Any:
    """exp(-|x|) I(x) of an order, for real `x`."""
    n = _mirrored(order)
    value = _near_zero(_of_order("ive", n, x), n, x)
    if n < 2:
        return value
    size = np.abs(x).astype(np.float64)
    root = math.sqrt(2 * math.pi) * np.sqrt(size)
    far = np.sign(x) ** n * (1 - (4 * n * n - 1) / (8 * size)) / root
    return np.where(size > FAR, far, value).astype(x.dtype)


def bessel_k(order: float, x: Any) -> Any:
    """K of an order; infinite at 0, NaN for negative real `x`."""
    return _of_order("kv", abs(order), x)


def bessel_ke(order: float, x: Any) -> Any:
    """exp(x) K(x), the scaled Bessel function K of an order."""
    return _of_order("kve", abs(order), x)


def airy(order: int, x: Any) -> Any:
    """Airy's function Ai, or, for order 1, its derivative."""
    if x.dtype.kind == "c":
        wide = x.astype(np.complex128)
    else:  # beyond 1000 it is 0, and SciPy's NaN far beyond
        wide = np.minimum(x.astype(np.float64), 1000.0)
    return scipy_special("airy")(wide)[order].astype(x.dtype)


def spherical_j(order: int, x: Any) -> Any:
    """The spherical Bessel function j of an order from 0, which is sin(x) / x without SciPy."""
    if order:
        return widely("spherical_jn", x, order)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)
    small, infinite = np.abs(wide) < 1e-4, np.isinf(wide)
    safe = np.where(small | infinite, 1.0, wide)
    near = 1.0 - wide * wide / 6.0  # the next term is below 1e-18
    return np.where(small, near, np.where(infinite, 0.0, np.sin(safe) / safe)).astype(x.dtype)
