"""Names from before torch.linalg, with the arguments and results that they had then."""

from __future__ import annotations

from typing import Any

from ... import modes
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ...ops.core import return_types
from ...ops.core.arguments import public, write_value
from ...ops.linalg import cholesky as hermitian
from ...ops.linalg import determinant, solve
from ...ops.linalg import lu as triangles
from ...ops.linalg.checks import check_floating, check_same_dtype
from ...ops.linalg.qr import qr as reduced_qr
from ...ops.linalg.svd import svd as full_svd
from ...ops.linalg.svd import svdvals

__all__ = ["cholesky", "lu", "lu_solve", "qr", "slogdet", "svd", "triangular_solve"]

OLDER = "retrograd.{} is deprecated in favor of retrograd.{}. Call that instead"  # once per process


@public(out=True, methods="cholesky")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor: `linalg.cholesky`.

    >>> rg.cholesky(rg.tensor([[4.0]]))
    tensor([[2.]])
    """
    modes.warn_once(OLDER.format("cholesky", "linalg.cholesky"))
    check_floating(input, "cholesky")
    return name_node(hermitian.cholesky(input, upper=upper), "CholeskyBackward0")


@public(out=True, methods="qr")
def qr(input: Tensor, some: bool = True) -> Any:
    """(Q, R): `linalg.qr` of mode "reduced", or "complete" if not `some`.

    >>> rg.qr(rg.ones(3, 2)).Q.shape
    retrograd.Size([3, 2])
    """
    modes.warn_once(OLDER.format("qr", "linalg.qr"))
    return return_types.qr(*reduced_qr(input, "reduced" if some else "complete"))


@public(out=True, methods="slogdet")
def slogdet(input: Tensor) -> Any:
    """(sign, logabsdet) of the determinant: `linalg.slogdet`.

    >>> rg.slogdet(rg.eye(2)).logabsdet
    tensor(0.)
    """
    return return_types.slogdet(*determinant.slogdet(input))


@public(out=True, methods="svd")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V), where A = U diag(S) V^H; thin factors if `some`. See `linalg.svd`.

    Without `compute_uv`, U and V are square zeros.

    >>> rg.svd(rg.ones(3, 2)).V.shape
    retrograd.Size([2, 2])
    """
    if compute_uv:
        U, S, Vh = full_svd(input, not some)
        return return_types.svd(U, S, Vh.mH)
    zeros = [input.new_zeros((*input.shape[:-2], size, size)) for size in input.shape[-2:]]
    return return_types.svd(zeros[0], svdvals(input), zeros[1])


@public(methods="lu")
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, *, out: Any = None) -> Any:
    """(LU, pivots), and info if `get_infos`: `linalg.lu_factor_ex`, of singular matrices, too.

    >>> rg.lu(rg.eye(2))[1]
    tensor([1, 2], dtype=retrograd.int32)
    """
    modes.warn_once(OLDER.format("lu", "linalg.lu_factor"))
    LU, pivots, info = triangles.lu_factor_ex(A, pivot=pivot)
    found = (LU, pivots, info) if get_infos else (LU, pivots)
    if out is None:
        return found
    return tuple([write_value(value, t, "lu") for value, t in zip(found, out, strict=True)])


@public(out=True, methods="lu_solve")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of A x = b: `linalg.lu_solve`, arguments in another order.

    >>> rg.lu_solve(rg.tensor([[4.0]]), *rg.linalg.lu_factor(rg.tensor([[2.0]])))
    tensor([[2.]])
    """
    modes.warn_once(OLDER.format("lu_solve", "linalg.lu_solve"))
    return triangles.lu_solve(LU_data, LU_pivots, b)


@public(out=True, methods="triangular_solve")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(solution, cloned_coefficient) of A X = b for triangular A, of A^T X = b if `transpose`.

    See `linalg.solve_triangular`.

    >>> rg.triangular_solve(rg.tensor([[4.0]]), rg.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    modes.warn_once(OLDER.format("triangular_solve", "linalg.solve_triangular"))
    check_same_dtype(A, b, "triangular_solve")
    turned, up = (A.mT, not upper) if transpose else (A, upper)
    found = solve.solve_triangular(turned, b, upper=up, unitriangular=unitriangular)
    copied = A.expand(*found.shape[:-2], *A.shape[-2:]).clone()
    return return_types.triangular_solve(name_node(found, "TriangularSolveBackward0"), copied)
