"""LU factorization with row interchanges, packed and unpacked, and what is solved with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, concrete, constant_like
from ...engine.transforms.rules import raised
from ...kernels import lapack
from ...kernels.allocation import known_true
from ...kernels.layout import is_permuted
from ..core import batching, return_types
from ..core.arguments import public
from ..core.engine_ops import laid_grad
from .checks import (
    check_matrix,
    check_same_dtype,
    check_square,
    check_system,
    check_two_dims,
    identity,
    raise_failed,
)
from .solve import solve_triangular

__all__ = ["lu_unpack"]

ZERO_PIVOT = (
    "torch.linalg.lu_factor: {where}U[{info},{info}] is zero and using it on lu_solve would result "
    "in a division by zero. If you still want to perform the factorization, consider calling "
    "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)

# -- rows ------------------------------------------------------------------------------------------


def _swap_rows(x: Any, pivots: Any, *, back: bool) -> Any:
    order = lapack.permutation(pivots, x.shape[-2])
    if back:
        order = np.argsort(order, -1)
    batch = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    expanded = np.broadcast_to(x, batch + x.shape[-2:])
    order = np.broadcast_to(order, (*batch, order.shape[-1]))
    if is_permuted(x):
        columns = np.take_along_axis(expanded.swapaxes(-1, -2), order[..., None, :], -1)
        return columns.swapaxes(-1, -2)
    return np.take_along_axis(expanded, order[..., None], -2)


def swapped_rows(xp: Any, size: int, inputs: Any, batched: Any, *, back: bool) -> Any:
    """The rule for many examples: pivots have one dimension less than matrices."""
    x, pivots = batching.with_batch(size, inputs, batched)
    ndim = max(x._array.ndim - 1, pivots._array.ndim)
    return xp.swap_rows(raised(x, ndim), raised(pivots, ndim - 1), back=back)


swap_rows = declare(
    "swap_rows(input, pivots, *, back)",
    _swap_rows,
    batch=swapped_rows,
    input=lambda xp, g, pivots, back: xp.swap_rows(g, pivots, back=not back),
    moves="input",
    examples=[
        example("3x2, 1:int<3", back=False),
        example("2x3x2, 2x1:int<3", back=True),
        example("3x2, 2x1:int<3", back=False),
        example("0x2, 0:int<3", back=False),
    ],
    doc="""Rows of matrices in the order of an LU factorization's interchanges, or `back`.""",
)


def corner(xp: Any, x: Any, m: Any, n: Any) -> Any:
    """Rows `m` and columns `n` of matrices, both slices."""
    return xp.slice(x, index=(*[slice(None)] * (x.ndim - 2), m, n))


def lu_input(xp: Any, g: Any, out: Any, pivots: Any, pivot: bool) -> Any:
    """The cotangent of A from those of L and U, whose free parts the packed `g` holds.

    With m rows, n columns and k the smaller: the leading k by k block is the square case; the
    columns or rows beyond follow from it by a triangular system, and give it their share.
    """
    m, n = out.shape[-2:]
    k = min(m, n)
    first, below, beside = slice(0, k), slice(k, m), slice(k, n)
    low = up = xp.adjoint(corner(xp, out, first, first))
    lower = xp.adjoint(xp.tril(corner(xp, out, first, first), diagonal=-1))
    upper = xp.adjoint(xp.triu(corner(xp, out, first, first), diagonal=0))
    head = corner(xp, g, first, first)
    inside_low = lower @ xp.tril(head, diagonal=-1) + xp.tril(head, diagonal=-1)
    inside_up = xp.triu(head, diagonal=0) @ upper
    parts = []
    if n > k:
        side = corner(xp, g, first, beside)
        inside_low = inside_low - side @ xp.adjoint(corner(xp, out, first, beside))
        parts.append(xp.solve_triangular(low, side, upper=True, left=True, unit=True))
    if m > k:
        foot = corner(xp, g, below, first)
        inside_up = inside_up - xp.adjoint(corner(xp, out, below, first)) @ foot
        parts.append(xp.solve_triangular(up, foot, upper=False, left=False, unit=False))
    middle = xp.tril(inside_low, diagonal=-1) + xp.triu(inside_up, diagonal=0)
    middle = xp.solve_triangular(up, middle, upper=False, left=False, unit=False)
    middle = xp.solve_triangular(low, middle, upper=True, left=True, unit=True)
    if parts:
        middle = xp.cat(middle, parts[0], dim=out.ndim - (1 if n > k else 2))
    return xp.swap_rows(xp.contiguous(middle), pivots, back=True) if pivot else middle


_lu = declare(
    "lu_factor_ex(input, *, pivot) -> out, pivots, info",
    lapack.lu,
    input=lu_input,
    nondiff=["pivots", "info"],
    batch="leading",
    examples=[
        example("3x3", pivot=True),
        example("2x2x2", pivot=True),
        example("2x2", pivot=False),
        example("4x2", pivot=True),
        example("2x2x3", pivot=True),
        example("0x2", pivot=True),
        example("0x2x2", pivot=True),
    ],
    node_name="LinalgLuFactorExBackward0",
)

# -- factorizations --------------------------------------------------------------------------------


@public(out=True)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """(LU, pivots, info): like `lu_factor`, without an error unless `check_errors`.

    `info` (int32, one per matrix) is 0, or the 1-based place of the first zero on the diagonal of
    U.

    >>> rg.linalg.lu_factor_ex(rg.zeros(2, 2)).info
    tensor(1, dtype=retrograd.int32)
    """
    check_matrix(A, "torch.lu_factor")
    result = return_types.linalg_lu_factor_ex(*_lu(A, pivot=pivot))
    if check_errors:
        raise_failed(result.info, ZERO_PIVOT)
    return result


@public(out=True)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """(LU, pivots): L below the diagonal (its own is 1) and U on and above it, of `(..., m, n)`.

    `pivots` (int32, from 1) are row interchanges in order, as LAPACK's getrf gives them. Raises
    LinAlgError where U has a zero on the diagonal. `pivot` may be False on every device.

    >>> LU, pivots = rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> LU, pivots
    (tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]]), tensor([2, 2], dtype=retrograd.int32))
    """
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    raise_failed(info, ZERO_PIVOT)
    return return_types.linalg_lu_factor(LU, pivots)


def permutation_matrix(pivots: Tensor, like: Tensor) -> Tensor:
    """P with A = P L U, in the dtype of `like`."""
    return swap_rows(identity(like, like.shape[-2]), pivots, back=True)


def lower_part(LU: Tensor) -> Tensor:
    """L of packed factors, with its diagonal of ones."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    return LU[..., :k].tril(-1) + identity(LU, m, k)


def upper_part(LU: Tensor) -> Tensor:
    """The factor U of packed LU factors."""
    return LU[..., : min(LU.shape[-2:]), :].triu()


def check_pivots(which: str, pivots: Tensor, rows: int) -> None:
    """Raise unless each pivot names a row, from 1 on."""
    array = concrete(pivots._array)
    if array.size and known_true((array.min() < 1) | (array.max() > rows)):
        raise RuntimeError(
            f"Pivots {which} must be between 1 and LU.size(-2), here {rows}, inclusive, but they "
            f"run from {array.min()} to {array.max()}. Did you properly pass the result of "
            "lu_factor?"
        )


@public(out=True)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """(P, L, U) from what `linalg.lu_factor` gives; empty tensors for parts that are not wanted.

    Raises RuntimeError where the pivots are not int32, or not as many as the matrices need.

    >>> P, L, U = rg.lu_unpack(*rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    if unpack_pivots and LU_pivots.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            f"dtype, but it is {LU_pivots.dtype}. Use the pivots as lu_factor gave them"
        )
    check_two_dims(LU_data, "torch.lu_unpack")
    if unpack_pivots:
        shape = LU_data._array.shape
        check_pivots("passed to lu_unpack", LU_pivots, shape[-2])
        LU_pivots = LU_pivots.reshape(*shape[:-2], min(shape[-2:]))
    nothing = constant_like(np.empty(0, LU_data.dtype.numpy), LU_data)
    P = permutation_matrix(LU_pivots, LU_data) if unpack_pivots else nothing
    L, U = (lower_part(LU_data), upper_part(LU_data)) if unpack_data else (nothing, nothing)
    return return_types.lu_unpack(P, *[name_node(part, "LuUnpackBackward0") for part in (L, U)])


@public(out=True)
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U) with A = P L U: a permutation, a lower and an upper triangular factor.

    For `(..., m, n)` with k the smaller size, L is `(..., m, k)` with ones on the diagonal and U
    `(..., k, n)`; P is empty if not `pivot`.

    >>> P, L, U = rg.linalg.lu(rg.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> L
    tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]])
    """
    LU, pivots, _ = lu_factor_ex(A, pivot=pivot)
    parts = lu_unpack(LU, pivots, unpack_pivots=pivot)
    return return_types.linalg_lu(*[name_node(part, "LinalgLuBackward0") for part in parts])


@public(out=True)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solution X of A X = B from `lu_factor(A)`; of X A = B if not `left`.

    If `adjoint`, A^H stands for A. `B` is `(..., n, k)`, stacks broadcast. Raises RuntimeError for
    sizes that do not fit.

    >>> LU, pivots = rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> rg.linalg.lu_solve(LU, pivots, rg.tensor([[3.0], [4.0]]))
    tensor([[1.],
            [1.]])
    """
    check_square(LU, "torch.linalg.lu_solve", "LU")
    check_matrix(B, "torch.linalg.lu_solve", "B")
    check_same_dtype(LU, B, "linalg.lu_solve")
    check_system(LU, B, "linalg.lu_solve", left)
    if pivots.dtype.name != "int32":
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, but it is "
            f"{pivots.dtype}. Use the pivots as lu_factor gave them"
        )
    if pivots._array.shape != LU._array.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots of shape {list(pivots.shape)} and LU of shape {list(LU.shape)}. Use the "
            "pivots as lu_factor gave them"
        )
    check_pivots("given to lu_solve", pivots, LU._array.shape[-2])
    if not left:  # X A = B is A^H X^H = B^H
        turned = lu_solve(LU, pivots, B.mH, adjoint=not adjoint)
        return name_node(as_non_view(turned.mH), "LinalgLuSolveBackward0")
    if adjoint:
        LU = laid_grad(LU, axes=tuple(range(LU.ndim)))
        middle = solve_triangular(LU.mH, B, upper=False)
        middle = solve_triangular(LU.mH, middle, upper=True, unitriangular=True)
        return name_node(swap_rows(middle, pivots, back=True), "LinalgLuSolveBackward0")
    middle = solve_triangular(LU, swap_rows(B, pivots, back=False), upper=False, unitriangular=True)
    return name_node(solve_triangular(LU, middle, upper=True), "LinalgLuSolveBackward0")
