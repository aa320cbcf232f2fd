"""QR factorization and Householder reflectors.

NOTE [Reflectors as one product] The reflectors 1 - tau_i v_i v_i^H, one after another, are
1 - V T V^H with T = (1 + D S)^-1 D, where D holds the tau and S the part of V^H V above the
diagonal (R. Schreiber and C. Van Loan, SIAM J. Sci. Stat. Comput. 10, 1989). So their products are
a few matrix products and a triangular system, which give the derivatives as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, constant_like
from ...kernels import lapack
from ..core import return_types
from ..core.arguments import public
from ..core.engine_ops import grad_as_it_lies
from ..core.pointwise import refusing
from .checks import by_columns, check_matrix, check_same_dtype, identity
from .solve import solve_triangular

__all__ = ["geqrf", "orgqr", "ormqr"]

# -- QR --------------------------------------------------------------------------------------------

NOT_UNIQUE = (
    "The QR decomposition is not differentiable when mode='complete' and nrows > ncols. The last "
    "columns of Q are any basis of what remains; use mode='reduced'"
)


def square_qr_input(xp: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """The cotangent of A where R is square: of at least as many rows as columns."""
    product = gr @ xp.adjoint(r) - xp.adjoint(q) @ gq
    half = (xp.triu(product, diagonal=0) + xp.triu(product, diagonal=1)) * 0.5
    both = gq + q @ (half + xp.adjoint(half))
    solution = xp.solve_triangular(r, xp.adjoint(both), upper=True, left=True, unit=False)
    return by_columns(xp, xp.adjoint(solution))


def qr_input(xp: Any, g: Any, q: Any, r: Any, mode: str) -> Any:
    """The cotangent of A: the leading columns make Q; those beyond, A2 = Q R2, turn with it."""
    gq, gr = g
    m, n = q.shape[-2], r.shape[-1]
    if m >= n:
        if mode == "complete" and m > n:
            raise RuntimeError(NOT_UNIQUE)
        return square_qr_input(xp, gq, gr, q, r)
    leading = [slice(None)] * (r.ndim - 1)
    head, rest = (*leading, slice(0, m)), (*leading, slice(m, n))
    gr2, r2 = xp.slice(gr, index=rest), xp.slice(r, index=rest)
    gq = gq + q @ r2 @ xp.adjoint(gr2)
    first = square_qr_input(xp, gq, xp.slice(gr, index=head), q, xp.slice(r, index=head))
    return xp.cat(first, q @ gr2, dim=r.ndim - 1)


_qr = declare(
    "qr(input, *, mode) -> q, r",
    lapack.qr,
    input=qr_input,
    batch="leading",
    examples=[
        example("3x3", mode="reduced"),
        example("4x2", mode="reduced"),
        example("2x2x3", mode="complete"),
        example("0x2", mode="reduced"),
        example("2x0", mode="reduced"),
        example("0x2x2", mode="reduced"),
    ],
    node_name="LinalgQrBackward0",
    saved={"Q": "q", "R": "r"},
)


@public(out=True)
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R) with A = Q R: orthonormal columns and an upper triangle, for `(..., m, n)`.

    `mode` "reduced" gives Q `(..., m, k)` and R `(..., k, n)` for the smaller size k, "complete"
    square Q and R `(..., m, n)`, "r" an empty Q. Where m > n the complete Q has no derivative.
    Raises RuntimeError for another mode and for integers. Differentiable with
    mode "r", too.

    >>> Q, R = rg.linalg.qr(rg.tensor([[3.0], [4.0]]))
    >>> (Q @ R).flatten()
    tensor([3., 4.])
    """
    check_matrix(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    Q, R = _qr(A, mode="reduced" if mode == "r" else mode)
    return return_types.linalg_qr(
        constant_like(np.empty(0, A.dtype.numpy), A) if mode == "r" else Q, R
    )


# -- reflectors ------------------------------------------------------------------------------------


_geqrf = declare(
    "geqrf(input) -> a, tau",
    lapack.reflectors,
    input=refusing(  # as in PyTorch
        "the derivative for 'geqrf'",
        ". linalg.qr(A) is differentiable; where no gradient is wanted, pass x.detach()",
    ),
    batch="leading",
    examples=["3x2:int<5"],
)


@public(out=True, methods="geqrf")
def geqrf(input: Tensor) -> Any:
    """(a, tau): R on and above the diagonal, Householder vectors below, and their factors.

    As LAPACK's geqrf; for `orgqr` and `ormqr`. Not differentiable.

    >>> a, tau = rg.geqrf(rg.tensor([[3.0], [4.0]]))
    >>> a[0], tau
    (tensor([-5.]), tensor([1.6000]))
    """
    check_matrix(input, "torch.geqrf", "input")
    return return_types.geqrf(*_geqrf(input))


def check_reflectors(input: Tensor, tau: Tensor, name: str) -> None:
    """Raise unless there are at most as many factors as columns, and those as rows."""
    check_matrix(input, name, "input")
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], but the "
            f"shape is {list(input.shape)}"
        )
    if not tau.ndim or n < tau.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], but the "
            f"shapes are {list(input.shape)} and {list(tau.shape)}"
        )
    if tau.ndim != input.ndim - 1 or tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, of the same stack, but "
            f"got shapes {list(tau.shape)} and {list(input.shape)}"
        )
    check_same_dtype(input, tau, name)


def reflected(input: Tensor, tau: Tensor, other: Tensor, adjoint: bool) -> Tensor:
    """Q @ other or Q^H @ other: NOTE [Reflectors as one product]."""
    input, k = grad_as_it_lies(input), tau.shape[-1]
    vectors = input[..., :k].tril(-1) + identity(input, input.shape[-2], k)
    turned = vectors.mH
    scale = tau.unsqueeze(-1)
    system = scale * (turned @ vectors)  # its diagonal is not read
    inside = turned @ other
    if adjoint:
        inside = solve_triangular(system.mH, inside, upper=False, unitriangular=True)
        inside = scale.conj() * inside
    else:
        inside = solve_triangular(system, scale * inside, upper=True, unitriangular=True)
    return as_non_view((-(inside.mT @ vectors.mT) + other.mT).mT)  # the first decides on the order


@public(out=True)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of a product of Householder reflectors, of `input` `(..., m, n)`.

    The columns below the diagonal hold the vectors, `tau` `(..., k)` their factors, k <= n <= m.
    Raises RuntimeError for other shapes.

    >>> rg.linalg.householder_product(*rg.geqrf(rg.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    check_reflectors(input, tau, "torch.linalg.householder_product")
    m, n = input.shape[-2:]
    return name_node(
        reflected(input, tau, identity(input, m, n).expand(input.shape), False),
        "LinalgHouseholderProductBackward0",
    )


@public(out=True, methods="orgqr")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The same as `linalg.householder_product`.

    >>> rg.orgqr(*rg.geqrf(rg.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, tau)


@public(out=True, methods="ormqr")
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q @ other, with the square Q of the reflectors in `input` and `tau`; see `geqrf`.

    If not `left`, other @ Q; if `transpose`, Q^H for Q. Raises RuntimeError for sizes that do not
    fit.

    >>> a, tau = rg.geqrf(rg.tensor([[3.0], [4.0]]))
    >>> rg.ormqr(a, tau, rg.tensor([[3.0], [4.0]]), transpose=True).round()
    tensor([[-5.],
            [ 0.]])
    """
    check_reflectors(input, tau, "torch.ormqr")
    check_same_dtype(input, other, "torch.ormqr")
    if other.ndim != input.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim equal to {input.ndim}"
        )
    side = -2 if left else -1
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2], but the shapes "
            f"are {list(other.shape)} and {list(input.shape)}"
        )
    if left:
        return name_node(reflected(input, tau, other, transpose), "OrmqrBackward0")
    return name_node(
        as_non_view(reflected(input, tau, other.mH, not transpose).contiguous().mH),
        "OrmqrBackward0",
    )
