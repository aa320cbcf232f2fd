"""NumPy's arithmetic, as functions of tensors, where it means something else than PyTorch's.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import linalg, ops
from ..engine.tensor import Tensor
from . import array_api as api
from .array_api.arguments import numpys_order, pair
from .numpy_layout import array_of, tensors

__all__: list[str] = []

# -- elementwise ---------------------------------------------------------------------------------


def cbrt(x: Tensor) -> Tensor:
    """The real cube root."""
    return ops.copysign(ops.abs(x) ** (1 / 3), x)


def fmax(x1: Any, x2: Any) -> Tensor:
    """The larger of two elements, the other one if one is NaN."""
    x1, x2 = pair(x1, x2)
    return ops.fmax(x1, x2, **numpys_order(x1))


def fmin(x1: Any, x2: Any) -> Tensor:
    """The smaller of two elements, the other one if one is NaN."""
    x1, x2 = pair(x1, x2)
    return ops.fmin(x1, x2, **numpys_order(x1))


def divmod(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """Quotient, rounded down, and remainder."""
    return api.floor_divide(x1, x2), api.remainder(x1, x2)


def modf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Fractional and integral part."""
    return ops.frac(x), ops.trunc(x)


def clip(
    a: Tensor, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Tensor:
    """The elements moved into an interval, whose ends may be given under two names."""
    ends = [a_min if min is None else min, a_max if max is None else max]
    ends = [array_of(end) if isinstance(end, (list, tuple, np.ndarray)) else end for end in ends]
    if a._array.dtype.kind in "iu":  # integers that it cannot hold are beyond all that it can
        limits = np.iinfo(a._array.dtype)
        least, most = int(limits.min), int(limits.max)
        ends = [sorted((least, end, most))[1] if isinstance(end, int) else end for end in ends]
    for end in ends:
        a = a if end is None else pair(a, end)[0]  # in the dtype of all
    return api.clip(a, *ends)


def angle(z: Tensor, deg: bool = False) -> Tensor:
    """The angles of complex numbers, in degrees if `deg`."""
    return ops.rad2deg(ops.angle(z)) if deg else ops.angle(z)


def imag(val: Tensor) -> Tensor:
    """The imaginary part, zero for real numbers."""
    return ops.imag(val) if ops.is_complex(val) else ops.zeros_like(val)


def real_if_close(a: Tensor, tol: float = 100, /) -> Tensor:
    """The real part where all imaginary parts are below `tol` times the dtype's precision."""
    if not ops.is_complex(a):
        return a
    limit = tol * np.finfo(a._array.dtype).eps if tol > 1 else tol
    return ops.real(a) if bool((ops.abs(ops.imag(a)) < limit).all()) else a


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Where two arrays are close to each other, elementwise."""
    return ops.isclose(*pair(a, b), rtol, atol, equal_nan)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all are close to each other."""
    return builtins.bool(ops.all(isclose(a, b, rtol, atol, equal_nan)))


# -- products ------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> Tensor:
    """Product of matrices or vectors; over the last axis of `a` and the last but one of `b`."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.ndim and b.ndim):
        return api.multiply(a, b)
    if a.ndim > 2 or b.ndim > 2:
        return api.tensordot(a, b, axes=([-1], [-builtins.min(b.ndim, 2)]))
    return api.matmul(a, b)


def vdot(a: Tensor, b: Tensor) -> Tensor:
    """Sum of conj(a) * b over all elements."""
    return api.vecdot(a.reshape(-1), b.reshape(-1))


def inner(a: Tensor, b: Tensor) -> Tensor:
    """Sums of products over the last axes."""
    return ops.inner(*pair(a, b))


def outer(a: Tensor, b: Tensor) -> Tensor:
    """Products of every element with every other."""
    return api.linalg.outer(a.reshape(-1), b.reshape(-1))


def kron(a: Tensor, b: Tensor) -> Tensor:
    """Kronecker product."""
    return ops.kron(*pair(a, b))


def cross(
    a: Tensor,
    b: Tensor,
    *,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Cross products of vectors of 3, which lie along an axis of each."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = ops.movedim(a, axisa, -1), ops.movedim(b, axisb, -1)
    return ops.movedim(api.linalg.cross(a, b, axis=-1), -1, axisc)


def svd(
    a: Tensor, *, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular values and vectors U, S, Vh, or the values alone; NumPy may be told of symmetry."""
    return linalg.svd(a, full_matrices) if compute_uv else linalg.svdvals(a)


def diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal, as the last axis."""
    return ops.diagonal(a, offset, axis1, axis2)


def trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of the diagonal."""
    return api.sum(ops.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def lstsq(a: Tensor, b: Tensor, rcond: Any = None) -> tuple[Any, ...]:
    """Least squares: solution, sums of squares of what is left, rank and singular values."""
    a, b = pair(a, b)
    right = b.unsqueeze(-1) if b.ndim == 1 else b
    found = linalg.lstsq(a, right, rcond)
    rest = ops.zeros(0, dtype=a.dtype)
    if len(a) > a.shape[-1] == found.rank:
        rest = ops.abs(right - a @ found.solution).square().sum(0)
    solution = found.solution.squeeze(-1) if b.ndim == 1 else found.solution
    return solution, rest, int(found.rank), linalg.svdvals(a)


def qr(a: Tensor, mode: str = "reduced") -> Any:
    """Q and R, or R alone."""
    found = linalg.qr(a, "reduced" if mode == "r" else mode)
    return found.R if mode == "r" else found


def einsum(*operands: Any, optimize: Any = False, dtype: Any = None) -> Tensor:
    """Sums of products by indices, a string or lists; in what order is not NumPy's to say."""
    if isinstance(operands[0], str):
        return ops.einsum(operands[0], *common(operands[1:], dtype))
    ends = len(operands) // 2 * 2  # of pairs of array and indices; the result's may follow
    pairs = zip(common(operands[:ends:2], dtype), operands[1:ends:2], strict=True)
    return ops.einsum(*(part for pair in pairs for part in pair), *operands[ends:])


def common(arrays: Any, dtype: Any) -> list[Tensor]:
    """Operands with one dtype, which is theirs together if none is given."""
    return tensors(arrays) if dtype is None else [x.to(dtype) for x in tensors(arrays)]


def matvec(x1: Any, x2: Any) -> Tensor:
    """Matrices times vectors."""
    return (api.matmul(x1, x2[..., None]))[..., 0]


def vecmat(x1: Any, x2: Any) -> Tensor:
    """Vectors, conjugated, times matrices."""
    return api.matmul(ops.conj(x1)[..., None, :], x2)[..., 0, :]


def tensorsolve(a: Tensor, b: Tensor, axes: Any = None) -> Tensor:
    """The solution of tensordot(a, x, x.ndim) = b."""
    return linalg.tensorsolve(*pair(a, b), axes)
