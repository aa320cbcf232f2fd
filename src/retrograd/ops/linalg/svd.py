"""Singular values and vectors, and low-rank approximations by random projection.

The gauge of complex singular vectors is as in `eigen`, NOTE [Gauge].
"""

from __future__ import annotations

from typing import Any

from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import lapack
from ..core import return_types
from ..core.arguments import public
from ..random.factories import randn
from ..reduction.sum_prod import mean
from .checks import check_gauge, check_matrix, column, diagonal_of, embedded, row
from .qr import qr

__all__ = ["pca_lowrank", "svd_lowrank"]


def thin(xp: Any, x: Any, k: int, dim: int) -> Any:
    """The first `k` columns (dim -1) or rows (dim -2) of matrices."""
    if x.shape[dim] == k:
        return x
    index = [slice(None)] * x.ndim
    index[dim] = slice(0, k)
    return xp.slice(x, index=tuple(index))


def svd_input(xp: Any, g: Any, u: Any, s: Any, vh: Any, gauge: str) -> Any:
    """The cotangent of A, from what of U^H gU and V^H gV turns vectors into each other, and the
    rest.

    Vectors beyond the smaller size, which full matrices have, are any basis of what remains; no
    cotangent of theirs counts, as in PyTorch.
    """
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    u, gu = thin(xp, u, k, -1), thin(xp, g[0], k, -1)
    vh, gvh = thin(xp, vh, k, -2), thin(xp, g[2], k, -2)
    left = xp.adjoint(u) @ gu
    right = vh @ xp.adjoint(gvh)
    if gauge == "raise":
        left = xp.phase_free(left + right, name="svd") - right
    turn_left, turn_right = left - xp.adjoint(left), right - xp.adjoint(right)
    gaps = xp.gaps(s * s)
    inside = xp.quotient(xp.off_diagonal(turn_left), gaps, gu) * row(xp, s)
    inside = inside + column(xp, s) * xp.quotient(xp.off_diagonal(turn_right), gaps, gvh)
    phase = column(xp, diagonal_of(xp, turn_left - turn_right))
    phase = xp.quotient(phase, column(xp, s) * 4.0, phase)
    inside = inside + embedded(xp, xp.squeeze(phase, dims=(phase.ndim - 1,)) + g[1])
    out = u @ inside @ vh
    if m > k:
        out = out + xp.quotient(gu - u @ left, row(xp, s), gu) @ vh
    if n > k:
        out = out + u @ xp.quotient(gvh - xp.adjoint(right) @ vh, column(xp, s), gvh)
    return out


_svd = declare(
    "svd(input, *, full, gauge) -> u, s, vh",
    lambda input, *, full, gauge: lapack.svd(input, full=full),
    input=svd_input,
    complex=False,  # vectors of a complex matrix have a gauge: `svdvals` runs their formula
    batch="leading",
    examples=[
        example("3x3", full=True, gauge="raise"),
        example("2x3x2", full=False, gauge="project"),
        example("2x4", full=False, gauge="raise"),
        example("0x2", full=False, gauge="raise"),
        example("0x2x2", full=True, gauge="raise"),
    ],
    node_name="LinalgSvdBackward0",
    saved={"U": "u", "S": "s", "Vh": "vh"},
)


def svdvals_input(xp: Any, g: Any, input: Any) -> Any:
    """The cotangent of A, U diag(g) V^H, with vectors computed when they are needed."""
    u, _, vh = xp.svd(input, full=False, gauge="raise")
    return (u * row(xp, g)) @ vh


_svdvals = declare(
    "svdvals(input)",
    lapack.svdvals,
    input=svdvals_input,
    batch="leading",
    examples=["3x3", "2x3x2", "2x4", "0x2", "0x2x2"],
    node_name="LinalgSvdBackward0",
)


@public(out=True)
def svd(A: Tensor, full_matrices: bool = True, *, driver: None = None, gauge: str = "raise") -> Any:
    """(U, S, Vh) with A = U diag(S) Vh, for `(..., m, n)`; S real, descending.

    U and Vh are square if `full_matrices`, else `(..., m, k)` and `(..., k, n)` for the smaller
    size k. Cotangents of vectors beyond k do not count. A loss of complex vectors that depends on
    their common phase raises in the backward pass; `gauge="project"` drops that part of its
    gradient instead. Gradients of vectors are not finite where singular values coincide, nor, of
    matrices that are not square, where one is 0. Raises LinAlgError for NaN and infinities.
    `driver` is ignored: it chooses among algorithms of other devices.

    >>> rg.linalg.svd(rg.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_matrix(A, "linalg.svd")
    check_gauge(gauge)
    return return_types.linalg_svd(*_svd(A, full=full_matrices, gauge=gauge))


@public(out=True)
def svdvals(A: Tensor, *, driver: None = None) -> Tensor:
    """The singular values of matrices `(..., m, n)`: real, descending.

    `driver` is ignored: it chooses among algorithms of other devices.

    >>> rg.linalg.svdvals(rg.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_matrix(A, "linalg.svd")
    return _svdvals(A)


# -- low rank --------------------------------------------------------------------------------------


def approximate_basis(A: Tensor, q: int, niter: int) -> Tensor:
    """q orthonormal columns that nearly span the range of A, by power iterations from random ones.

    Source: N. Halko, P. G. Martinsson and J. A. Tropp, SIAM Review 53 (2011), algorithm 4.4.
    """
    basis: Tensor = qr(A @ randn(A.shape[-1], q, dtype=A.dtype)).Q
    for _ in range(niter):
        basis = qr(A.mH @ basis).Q
        basis = qr(A @ basis).Q
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M close to U diag(S) V^H: the `q` largest singular values, about.

    `A` is `(..., m, n)`, M broadcasts to it; `niter` power iterations sharpen a random projection.
    Draws from the default generator.

    >>> rg.svd_lowrank(rg.ones(4, 3), q=1)[1]
    tensor([3.4641])
    """
    check_matrix(A, "svd_lowrank")
    centred = A if M is None else A - M
    is_wide = A.shape[-2] < A.shape[-1]
    tall = centred.mH if is_wide else centred
    basis = approximate_basis(tall, 6 if q is None else q, 2 if niter is None else niter)
    small, S, Vh = svd(basis.mH @ tall, full_matrices=False)
    U, V = basis @ small, Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V): `svd_lowrank` of A less the mean of its rows; V holds the principal directions.

    `q` is 6 or less by default. Raises ValueError for more than there are rows or columns.

    >>> rg.pca_lowrank(rg.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1]
    tensor([1.4142])
    """
    check_matrix(A, "pca_lowrank")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - mean(A, -2, True) if center else A, q, niter)
