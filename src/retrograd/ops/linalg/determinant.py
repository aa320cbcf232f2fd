"""Determinants: of matrices, with sign and logarithm; the adjugate, which is their derivative.

NOTE [Singular matrices]
The determinant is a polynomial, so it has derivatives where it is 0: d det = tr(adj(A) dA), with
the adjugate. That and its own derivative are computed without dividing by the determinant. The
third derivative is not: it needs an invertible matrix. The logarithm has no derivative there:
infinite or NaN entries say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.registry import declare
from ...engine.tensor import Tensor
from ...kernels import matrix_functions
from ..core import return_types
from ..core.arguments import public
from ..core.pointwise import holds_complex
from ..elementwise.clamp_where import where
from .checks import check_square, column, diagonal_of

__all__ = ["det", "logdet"]

SQUARES = ["3x3", "2x2x2", "1x1", "0x0", "0x2x2"]


def _det_array(x: Any) -> Any:
    """The product of the pivots; LAPACK's search for one passes over NaN and may report 0."""
    return unless_nan(x, np.linalg.det(x))


def unless_nan(x: Any, found: Any) -> Any:
    """`found` of matrices, NaN of those that have a NaN."""
    return np.where(np.isnan(x).any((-2, -1)), found.dtype.type(np.nan), found)


_det = declare(
    "det(input)",
    _det_array,
    input=lambda xp, g, input: scalar(xp, g) * xp.adjugate(xp.adjoint(input)),
    batch="leading",
    examples=SQUARES,
    node_name="LinalgDetBackward0",
    saved={"A": "input"},
)


def scalar(xp: Any, g: Any) -> Any:
    """Numbers `(...)` as matrices `(..., 1, 1)`, which broadcast with matrices."""
    return column(xp, column(xp, g))


def matrix_trace(xp: Any, x: Any) -> Any:
    """Traces, as matrices `(..., 1, 1)`."""
    return scalar(xp, xp.sum_dim(diagonal_of(xp, x), dim=(x.ndim - 2,), keepdim=False))


def third_derivative(xp: Any, g: Any, input: Any, direction: Any) -> Any:
    """The cotangent of A in its adjugate's derivative along M, from det A and X = inv(A)."""
    x, n = xp.inv_ex(input)[0], xp.adjoint(g)
    m = direction
    mx, nx = m @ x, n @ x
    tm, tn = matrix_trace(xp, mx), matrix_trace(xp, nx)
    inside = tn * (tm * x - x @ mx) - matrix_trace(xp, nx @ mx) * x - tm * (x @ nx)
    inside = inside + x @ nx @ mx + x @ mx @ nx
    return xp.adjoint(scalar(xp, xp.det(input)) * inside)


declare(
    "adjugate(input)",
    matrix_functions.adjugate,
    input=lambda xp, g, input: xp.adjoint(xp.adjugate_derivative(input, xp.adjoint(g))),
    batch="leading",
    examples=SQUARES,
    doc="""The transposed cofactors: `det(A) * inv(A)`, for singular matrices as well.""",
)

declare(
    "adjugate_derivative(input, direction)",
    matrix_functions.adjugate_derivative,
    input=third_derivative,
    direction=lambda xp, g, input: xp.adjoint(xp.adjugate_derivative(input, xp.adjoint(g))),
    linear="direction",
    batch="leading",
    examples=["3x3, 3x3", "2x2x2, 2x2x2", "1x1, 1x1", "0x0, 0x0"],
    doc="""The derivative of the adjugate of `input` along `direction`.""",
)


def slogdet_input(xp: Any, g: Any, input: Any, sign: Any) -> Any:
    """The cotangent of A: A^-H times that of the logarithm, and i times what turns the sign."""
    turn = xp.imag(g[0] * xp.conj(sign)) * 1j if holds_complex(sign) else 0.0
    return scalar(xp, g[1] + turn) * xp.inv_ex(xp.adjoint(input))[0]


def _slogdet_arrays(x: Any) -> Any:
    sign, logarithm = np.linalg.slogdet(x)
    return sign, unless_nan(x, logarithm)


_slogdet = declare(
    "slogdet(input) -> sign, logabsdet",
    _slogdet_arrays,
    input=slogdet_input,
    batch="leading",
    examples=SQUARES,
    node_name="LinalgSlogdetBackward0",
)


@public(out=True, methods="det")
def det(A: Tensor) -> Tensor:
    """The determinant `(...)` of square matrices `(..., n, n)`, floating or complex.

    Its gradient is the matrix of cofactors, finite and exact for singular matrices too, as is the
    gradient of that. Raises RuntimeError for other shapes and dtypes.

    >>> A = rg.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    >>> rg.autograd.grad(rg.linalg.det(A), A)
    (tensor([[ 4., -2.],
            [-2.,  1.]]),)
    """
    check_square(A, "linalg.det")
    return _det(A)


@public(out=True)
def slogdet(A: Tensor) -> Any:
    """(sign, logabsdet): the determinant's sign, or its phase, and the logarithm of its modulus.

    A singular matrix has sign 0 and logarithm -inf, where the gradient is not finite. Raises
    RuntimeError for matrices that are not square and for integers.

    >>> rg.linalg.slogdet(rg.tensor([[-1.0, 0.0], [0.0, 1.0]]))
    retrograd.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    check_square(A, "linalg.slogdet")
    return return_types.linalg_slogdet(*_slogdet(A))


@public(methods="logdet")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where a real one is negative, -inf where it is 0.

    Raises RuntimeError for matrices that are not square and for integers.

    >>> rg.logdet(rg.eye(3))
    tensor(0.)
    """
    check_square(input, "logdet")
    sign, logarithm = _slogdet(input)
    if sign.dtype.is_complex:
        return sign.log() + logarithm
    return where(sign == -1, float("nan"), logarithm)  # type: ignore[no-any-return]
