"""Pseudoinverse, rank and least squares: what is decided by small singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import NUMBERS, as_non_view
from ...engine.namespaces import recorded
from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor, constant_like, is_array
from ...errors import wrong_type
from ...kernels.allocation import known_true
from ...kernels.lapack import svd
from ..core import return_types
from ..core.arguments import public
from ..elementwise.clamp_where import maximum
from ..reduction.extrema import amax
from ..reduction.sum_prod import sum as sum_over
from .checks import by_columns, check_matrix, check_square
from .cholesky import mirror
from .eigen import eigvalsh
from .solve import holds_vectors
from .svd import svdvals

__all__ = ["pinverse"]

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """Both tolerances as real tensors; the default of `rtol` is eps * max(m, n), or 0 with atol.

    An empty A has no values that they would cut off: its result has the shape of its own stack.
    """
    real = A.real.dtype.numpy if A.dtype.is_complex else A.dtype.numpy
    if 0 in A.shape:
        atol = rtol = 0.0
    elif rtol is None:
        rtol = np.finfo(real).eps * max(A.shape[-2:])
        if atol is not None:
            rtol = (
                np.where(atol._array > 0, 0.0, rtol)
                if isinstance(atol, Tensor)
                else (0.0 if atol > 0 else rtol)
            )
    return tolerance(0.0 if atol is None else atol, A, real), tolerance(rtol, A, real)


def tolerance(value: Any, like: Tensor, dtype: Any) -> Tensor:
    """A tolerance, a number or a tensor, as a real tensor without history, beside `like`."""
    if isinstance(value, Tensor):
        if value.dtype.is_complex:
            raise RuntimeError(
                "linalg: atol and rtol tensors of complex type are not supported. Got "
                f"{dtypes.legacy_name(value.dtype)}; pass their absolute values"
            )
        value = value._array
    elif not isinstance(value, NUMBERS) and not is_array(value):
        raise wrong_type("linalg", "tolerance", "Tensor or float", value)
    return constant_like(value.astype(dtype) if is_array(value) else np.asarray(value, dtype), like)


def _pinv(x: Any, atol: Any, rtol: Any) -> Any:
    u, s, vh = svd(x, full=False)
    cut = np.maximum(atol, rtol * s.max(-1, initial=0))[..., None]
    keep = s > cut
    scale = np.where(keep, 1 / np.where(keep, s, 1), 0)
    return (vh.swapaxes(-1, -2).conj() * scale[..., None, :]) @ u.swapaxes(-1, -2).conj()


def pinv_input(xp: Any, g: Any, input: Any, out: Any) -> Any:
    """The cotangent of A for a rank that stays: an inverse's, and those of the two null spaces."""
    turned, back = xp.adjoint(out), xp.adjoint(g)
    tall = input.shape[-2] >= input.shape[-1]

    def product(a: Any, b: Any, c: Any) -> Any:  # no matrix of the longer side squared
        return a @ (b @ c) if tall else (a @ b) @ c

    beside = back - product(input, out, back)
    below = back - product(back, out, input)
    found = product(beside, out, turned) + product(turned, out, below)
    return by_columns(xp, found - product(turned, g, turned))


def stacked_pinv(xp: Any, size: int, inputs: Any, batched: Any) -> Any:
    """The rule for many examples: tolerances that all of them share need no batch axis."""
    return None if any(batched[1:]) else xp.pinv(*inputs)


_pinv_op = declare(
    "pinv(input, atol, rtol)",
    _pinv,
    batch=stacked_pinv,
    input=pinv_input,
    examples=[
        "3x3, :int<1, :int<1",
        "2x4, :int<1, :int<1",
        "2x3x2, 2:int<1, :int<1",
        "0x2, :int<1, :int<1",
        "2x0, :int<1, :int<1",
    ],
    node_name="LinalgPinvBackward0",
)


def one_name(name: str, older: str, value: Any, atol: Any, rtol: Any) -> None:
    """Raise unless tolerances have one name: an `older` one, or those of today."""
    if value is not None and not (atol is None and rtol is None):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: {older} is the older name of "
            f"a tolerance. Give {older} alone, or atol and rtol"
        )


@public(out=True)
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudoinverse `(..., n, m)` of matrices `(..., m, n)`, by Moore and Penrose.

    Singular values up to max(atol, rtol * the largest) count as 0; numbers, or tensors that
    broadcast with the stack. `rtol` (once called `rcond`) is eps * max(m, n) by default, 0 beside
    an `atol`. If `hermitian`, the lower triangle of a square A is read. The gradient is that for a
    constant rank. Raises LinAlgError for NaN, TypeError for `rcond` beside `atol` or `rtol`.

    >>> rg.linalg.pinv(rg.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    check_matrix(A, "linalg.pinv")
    one_name("linalg_pinv", "rcond", rcond, atol, rtol)
    if hermitian:
        check_square(A, "linalg.pinv")
        A = mirror(recorded.adjoint(A), upper=True)  # whose gradient lies by columns
    return _pinv_op(A, *tolerances(A, atol, rtol if rcond is None else rcond))


@public(methods="pinverse")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse: `linalg.pinv`, with another default.

    >>> rg.pinverse(rg.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pinv(input, rcond)


@public(out=True)
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest): int64, one per matrix.

    Tolerances are as for `pinv`; `tol` is an older name of `atol` with rtol = 0. If `hermitian`,
    the lower triangle of a square A is read. No derivative. Raises TypeError for `tol` beside the
    others.

    >>> rg.linalg.matrix_rank(rg.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    check_matrix(A, "torch.linalg.matrix_rank")
    one_name("linalg_matrix_rank", "tol", tol, atol, rtol)
    if tol is not None:
        atol, rtol = tol, 0.0
    A = A.detach()
    if 0 in A.shape[-2:]:
        return A.new_zeros(tuple(A.shape[:-2]), dtype=dtypes.int64)
    absolute, relative = tolerances(A, atol, rtol)
    sizes = eigvalsh(A).abs() if hermitian else svdvals(A)
    cut = maximum(absolute, relative * amax(sizes, -1))
    return sum_over(sizes > cut.unsqueeze(-1), -1)


@public(out=True)
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular_values) of the X with the least norm of A X - B.

    `A` is `(..., m, n)`, `B` `(..., m, k)` or vectors `(..., m)`; stacks of matrices broadcast.
    Singular values up to `rcond` times the largest count as 0; by default eps * max(m, n), and so
    for "gels"; a negative `rcond` is eps for "gelsd" and "gelss", and 0 for "gelsy". `driver`
    decides what is given beside the solution, as in PyTorch: "gelsy" (the default) the rank;
    "gelsd" and "gelss" also singular values and, for m > n and full rank, the sums of squares
    |A X - B|^2; "gels" those alone. What is not given is an empty tensor. One algorithm serves all,
    so "gels" may have a deficient A. The gradient is that for a constant rank. Raises LinAlgError
    for NaN, RuntimeError for another `driver` and shapes that do not fit.

    >>> rg.linalg.lstsq(rg.tensor([[1.0], [1.0]]), rg.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
    check_matrix(A, "torch.linalg.lstsq")
    if driver not in (None, *DRIVERS):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of {DRIVERS}, but is {driver!r}"
        )
    vectors = check_right_side(A, B)
    if driver == "gels":
        rcond = None
    elif driver in ("gelsd", "gelss") and rcond is not None and rcond < 0:
        rcond = dtypes.finfo(A.dtype).eps  # as LAPACK's
    right = B.unsqueeze(-1) if vectors else B.contiguous()
    m, n = A.shape[-2:]
    none = constant_like(np.empty(0, A.dtype.numpy), A)
    real = none.real if A.dtype.is_complex else none
    solution = as_non_view((pinv(A, rtol=rcond) @ right).mT.contiguous().mT)
    singular = svdvals(A.detach())
    rank = matrix_rank(A, rtol=rcond)
    residuals = solution.reshape(-1)[:0]
    residuals = residuals.real if A.dtype.is_complex else residuals
    if (
        m > n
        and driver not in (None, "gelsy")
        and (driver == "gels" or known_true((rank._array == n).all()))
    ):
        residuals = sum_over((A @ solution - right).abs().square(), -2)
    solution = as_non_view(solution.squeeze(-1)) if vectors else solution
    return return_types.linalg_lstsq(
        name_node(solution, "LinalgLstsqBackward0"),
        name_node(as_non_view(residuals), "LinalgLstsqBackward0"),
        constant_like(np.empty(0, np.int64), A) if driver == "gels" else rank,
        singular if driver in ("gelsd", "gelss") else real,
    )


def check_right_side(A: Tensor, B: Tensor) -> bool:
    """Whether B holds vectors; raises unless it fits A."""
    if A.dtype is not B.dtype:
        a, b = (dtypes.legacy_name(t.dtype) for t in (A, B))
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {a} and other's dtype {b}"
        )
    vectors = holds_vectors(A, B)
    if A.ndim != B.ndim + vectors:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            f"(input.dim() - other.dim()) <= 1, but the shapes are {list(A.shape)} and "
            f"{list(B.shape)}. Give one stack of vectors, or matrices with all dimensions: "
            "other.expand(*input.shape[:-2], *other.shape)"
        )
    side = -1 if vectors else -2
    if A.shape[-2] != B.shape[side]:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size({side}), but the shapes "
            f"are {list(A.shape)} and {list(B.shape)}"
        )
    return vectors
