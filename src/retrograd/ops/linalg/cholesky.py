"""Factorizations of Hermitian matrices, Cholesky's and LDL, and what is solved with them.

NOTE [One triangle]
Of a Hermitian argument one triangle is read; for what would read both, `mirror` makes the other.
Its gradient is Hermitian: half of it falls on the triangle that was not read, as in PyTorch. So a
step along the gradient keeps a Hermitian matrix Hermitian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...kernels import lapack
from ..core import batching, return_types
from ..core.arguments import public
from ..core.pointwise import refusing
from ..shape.rearrange import triangle
from .checks import check_same_dtype, check_square, check_system, identity, raise_failed
from .solve import solve_triangular

__all__ = ["cholesky_inverse", "cholesky_solve"]

INDEFINITE = (
    "linalg.cholesky: {where}The factorization could not be completed because the input is not "
    "positive-definite (the leading minor of order {info} is not positive-definite). Adding a "
    "small multiple of the identity, A + 1e-6 * eye(n), makes a semidefinite one definite."
)
ZERO_PIVOT = (
    "torch.linalg.ldl_factor: {where}The pivot {info} is zero: the input matrix is singular. "
    "linalg.ldl_factor_ex(A) gives its factors all the same."
)


def _mirror(x: Any, *, upper: bool) -> Any:
    half = triangle(x, 0, lower=False) if upper else triangle(x, -1, lower=True)
    out = half + half.swapaxes(-1, -2).conj()
    places = np.arange(x.shape[-1])
    out[..., places, places] = np.diagonal(x, axis1=-2, axis2=-1).real
    return out


mirror = declare(
    "mirror(input, *, upper)",
    _mirror,
    input=lambda xp, g: (g + xp.adjoint(g)) * 0.5,
    batch="leading",
    examples=[  # where the Hermitian gradient is all there is: larger matrices have their own tests
        example("1x1", upper=False),
        example("2x1x1", upper=True),
        example("0x0", upper=False),
    ],
    doc="""The Hermitian matrices with a triangle in common with `input`: NOTE [One triangle].""",
)


def cholesky_input(xp: Any, g: Any, out: Any, upper: bool) -> Any:
    """L^-H S L^-1, S being the Hermitian part of the lower triangle of L^H g, its diagonal
    halved."""
    other = xp.adjoint(out)
    upper, right = (out, xp.adjoint(g)) if upper else (other, g)
    product = xp.matmul(upper, right)
    half = xp.tril(product, diagonal=0) + xp.tril(product, diagonal=-1)
    left = xp.solve_triangular(
        upper, (half + xp.adjoint(half)) * 0.25, upper=True, left=True, unit=False
    )
    return xp.solve_triangular(upper, xp.adjoint(left), upper=True, left=True, unit=False)


_cholesky_ex = declare(
    "cholesky_ex(input, *, upper) -> out, info",
    lapack.cholesky,
    input=cholesky_input,
    nondiff=["info"],
    batch="leading",
    examples=[  # where the Hermitian gradient is all there is: larger matrices have their own tests
        example("1x1", upper=False),
        example("2x1x1", upper=True),
        example("0x0", upper=False),
        example("0x2x2", upper=True),
    ],
    domain=(0.5, 2.0),
    node_name="LinalgCholeskyExBackward0",
    saved={"L": "out"},
)


def factor(A: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    """The factor of the wanted shape, and `info`."""
    check_square(A, "linalg.cholesky")
    result, info = _cholesky_ex(A, upper=upper)
    return result, info


@public(out=True)
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L L^H, for Hermitian positive definite A `(..., n, n)`.

    Of A the lower triangle is read; if `upper`, the upper one, and the result is U = L^H. The
    gradient is Hermitian. Raises LinAlgError where A is not positive definite.

    >>> rg.linalg.cholesky(rg.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    result, info = factor(A, upper)
    raise_failed(info, INDEFINITE)
    return result


@public(out=True)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info): like `cholesky`, without an error unless `check_errors`.

    `info` (int32, one per matrix) is 0, or the order of the first leading minor that is not
    positive definite; L then means nothing.

    >>> rg.linalg.cholesky_ex(rg.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=retrograd.int32)
    """
    result = return_types.linalg_cholesky_ex(*factor(A, upper))
    if check_errors:
        raise_failed(result.info, INDEFINITE)
    return result


@public(out=True, methods="cholesky_solve")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution X of A X = B, from the Cholesky factor L of A (U with A = U^H U if `upper`).

    `L` is `(..., n, n)`, of which one triangle is read, `B` `(..., n, k)`; stacks broadcast. Raises
    RuntimeError for sizes that do not fit.

    >>> rg.cholesky_solve(rg.tensor([[8.0]]), rg.tensor([[2.0]]))
    tensor([[2.]])
    """
    if B.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {B.ndim} dimensions")
    check_square(L, "cholesky_solve", "A")
    check_same_dtype(L, B, "cholesky_solve")
    check_system(L, B, "cholesky_solve")
    other = recorded.adjoint(L)
    first, second = (other, L) if upper else (L, other)
    middle = recorded.solve_triangular(first, B, upper=False, left=True, unit=False)
    made = recorded.solve_triangular(second, middle, upper=True, left=True, unit=False)
    return name_node(made, "CholeskySolveBackward0")


@public(out=True, methods="cholesky_inverse")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A = L L^H from L (of A = U^H U if `upper`), `(..., n, n)`.

    One triangle of the argument is read.

    >>> rg.cholesky_inverse(rg.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    check_square(L, "cholesky_inverse")
    one = identity(L, L.shape[-1])
    inverse = solve_triangular(L, one.expand(L.shape), upper=upper)
    turned = recorded.adjoint(inverse)
    first, second = (inverse, turned) if upper else (turned, inverse)
    made = as_non_view((second.mT @ first.mT).mT)
    return name_node(made, "CholeskyInverseBackward0")


# -- LDL -------------------------------------------------------------------------------------------


refused = refusing(  # as in PyTorch
    "derivative for linalg_ldl_factor_ex",
    ". Use linalg.solve(A, B), which is differentiable for every square A, or x.detach() where no "
    "gradient is wanted",
)

_ldl = declare(
    "ldl_factor_ex(input, *, hermitian) -> out, pivots, info",
    lapack.ldl,
    input=refused,
    nondiff=["pivots", "info"],
    batch="leading",
    examples=[example("0x0:int<5", hermitian=False)],
    node_name="LinalgLdlFactorExBackward0",
)


def ldl_other(xp: Any, g: Any, input: Any, pivots: Any, hermitian: bool) -> Any:
    """The cotangent of the right sides: A^-H g, where A is symmetric or Hermitian."""
    if hermitian:
        return xp.ldl_solve(input, pivots, g, hermitian=True)
    return xp.conj(xp.ldl_solve(input, pivots, xp.conj(g), hermitian=False))


_ldl_solve = declare(
    "ldl_solve(input, pivots, other, *, hermitian)",
    lapack.ldl_solve,
    input=refused,
    other=ldl_other,
    linear="other",
    batch=batching.aligned("ldl_solve", 0, 1, 0),
    examples=[
        example("1x1:int1<5, 1:int1<2, 1x3", hermitian=False),
        example("0x0:int<5, 0:int<5, 0x2", hermitian=False),
    ],
    node_name="LinalgLdlSolveBackward0",
)


@public(out=True)
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """(LD, pivots, info): `ldl_factor` without an error unless `check_errors`.

    `info` (int32, one per matrix) is 0, or the 1-based place of a zero pivot.

    >>> rg.linalg.ldl_factor_ex(rg.eye(2)).info
    tensor(0, dtype=retrograd.int32)
    """
    check_square(A, "torch.linalg.ldl_factor_ex")
    result = return_types.linalg_ldl_factor_ex(*_ldl(A, hermitian=hermitian))
    if check_errors:
        raise_failed(result.info, ZERO_PIVOT)
    return result


@public(out=True)
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """(LD, pivots): the Bunch-Kaufman factors of symmetric A, of Hermitian A if `hermitian`.

    Packed as LAPACK's sytrf does, from the lower triangle; for `ldl_solve`. Not differentiable.
    Raises LinAlgError for a singular matrix.

    >>> rg.linalg.ldl_factor(rg.eye(2)).pivots
    tensor([1, 2], dtype=retrograd.int32)
    """
    LD, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return return_types.linalg_ldl_factor(LD, pivots)


@public(out=True)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution X of A X = B, from what `ldl_factor` made of A; stacks broadcast.

    Differentiable in B. Raises RuntimeError for sizes that do not fit.

    >>> rg.linalg.ldl_solve(*rg.linalg.ldl_factor(2 * rg.eye(1)), rg.ones(1, 1))
    tensor([[0.5000]])
    """
    check_square(LD, "torch.linalg.ldl_solve", "LD")
    if B.ndim < 2:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim}"
        )
    if pivots.dtype.is_floating_point or pivots.dtype.is_complex or pivots._array.dtype.kind == "b":
        raise RuntimeError("torch.linalg.ldl_solve: Expected pivots to be integers")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {list(pivots.shape)} instead"
        )
    check_same_dtype(LD, B, "torch.linalg.ldl_solve")
    check_system(LD, B, "torch.linalg.ldl_solve")
    return _ldl_solve(LD, pivots, B, hermitian=hermitian)
