"""`lobpcg`: a few eigenvalues of a symmetric matrix, by way of all of them.

PyTorch iterates from a start that may be given. Arrays here are dense and their eigenvalues come at
once from LAPACK, so that what would steer the iteration is accepted and makes no difference. A
start that is not given is drawn all the same: what a program draws next is what it is there.
"""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from ...ops.linalg.cholesky import cholesky
from ...ops.linalg.eigen import eigh
from ...ops.linalg.solve import solve_triangular
from ...ops.random.factories import randn
from ...ops.tensor.inspection import strided

__all__ = ["lobpcg"]


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest eigenvalues of A x = l B x, or smallest, and their vectors.

    Returns (..., k) and (..., m, k). A: (..., m, m), symmetric or Hermitian; B, the identity by
    default, positive definite, too; either may be sparse. `largest` is the default; k is that of
    `X`, or 1. The vectors are orthonormal with respect to B; differentiable as `linalg.eigh`.
    Raises ValueError where m < 3 k, as PyTorch. Source: Knyazev, 2001.

    >>> A = rg.diag(rg.tensor([1.0, 5.0, 2.0]))
    >>> rg.lobpcg(A)[0], rg.lobpcg(A, largest=False)[0]
    (tensor([5.]), tensor([1.]))
    """
    A = A if A.layout is strided else A.to_dense()
    B = B if B is None or B.layout is strided else B.to_dense()
    m = A.shape[-1]
    count = (1 if X is None else X.shape[-1]) if k is None else k
    if m < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={count}). Use retrograd.linalg.eigh"
        )
    if X is None:
        randn(m, count if n is None else n, dtype=A.dtype)  # one for all of a stack
    if B is not None:
        L = cholesky(B)
        half = solve_triangular(L, A, upper=False)
        A = solve_triangular(L, half.mH, upper=False)
    values, vectors = eigh((A + A.mH) / 2)
    if B is not None:
        vectors = solve_triangular(L.mH, vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]
