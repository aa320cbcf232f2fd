"""Linear systems and inverses: general, triangular, of tensors; records and public functions.

Each record gives `info` beside its result instead of raising, so that formulas may use it on
singular matrices; the public functions raise.
"""

from __future__ import annotations

import math
from typing import Any

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...kernels import lapack
from ..core import batching, return_types
from ..core.arguments import public
from ..core.dims import normalize_dim
from .checks import check_matrix, check_same_dtype, check_square, check_system, raise_failed

__all__ = ["inverse"]

SINGULAR = (
    "linalg.inv: {where}The diagonal element {info} is zero, the inversion could not be completed "
    "because the input matrix is singular. linalg.pinv(A) exists for every matrix."
)
UNSOLVABLE = (
    "torch.linalg.solve: {where}The solver failed because the input matrix is singular. "
    "linalg.lstsq(A, B) solves as well as possible."
)


def of_product(xp: Any, back: Any, out: Any, left: bool) -> Any:
    """The cotangent of A, for that of B, in A X = B: -A^-H g X^H; of X A = B if not `left`."""
    turned, back = xp.adjoint(out), -back
    return xp.matmul(back, turned) if left else xp.matmul(turned, back)


_solve_ex = declare(
    "solve_ex(input, other, *, left) -> out, info",
    lapack.solve,
    input=lambda xp, g, input, out, left: of_product(
        xp, xp.solve_ex(xp.adjoint(input), g, left=left)[0], out, left
    ),
    other=lambda xp, g, input, left: xp.solve_ex(xp.adjoint(input), g, left=left)[0],
    nondiff=["info"],
    linear="other",
    batch=batching.solve_ex,
    examples=[
        example("3x3, 3x2", left=True),
        example("2x2x2, 2x1", left=True),
        example("2x2, 3x2x1", left=True),
        example("2x2x2, 3x2", left=False),
        example("0x0, 0x2", left=True),
        example("2x2, 2x0", left=True),
    ],
    node_name="LinalgSolveExBackward0",
    saved={"A": "input"},
)

_inv_ex = declare(
    "inv_ex(input) -> out, info",
    lapack.inv,
    input=lambda xp, g, out: -(xp.adjoint(out) @ g @ xp.adjoint(out)),
    nondiff=["info"],
    batch="leading",
    examples=["3x3", "2x2x2", "0x0", "0x2x2"],
    node_name="LinalgInvExBackward0",
    saved={"inverse": "out"},
)


def triangle(xp: Any, x: Any, upper: bool, unit: bool) -> Any:
    """The part of a triangular matrix that `solve_triangular` reads."""
    return xp.triu(x, diagonal=int(unit)) if upper else xp.tril(x, diagonal=-int(unit))


def triangular_other(xp: Any, g: Any, input: Any, upper: bool, left: bool, unit: bool) -> Any:
    """The cotangent of B: the solution for the adjoint of A."""
    return xp.solve_triangular(xp.adjoint(input), g, upper=not upper, left=left, unit=unit)


def triangular_input(
    xp: Any, g: Any, input: Any, out: Any, upper: bool, left: bool, unit: bool
) -> Any:
    """The cotangent of a triangular A: that of a full matrix, of which only the triangle counts."""
    back = triangular_other(xp, g, input, upper, left, unit)
    return triangle(xp, of_product(xp, back, out, left), upper, unit)


_solve_triangular = declare(
    "solve_triangular(input, other, *, upper, left, unit)",
    lapack.solve_triangular,
    input=triangular_input,
    other=triangular_other,
    linear="other",
    domain=(0.5, 2.0),
    batch=batching.aligned("solve_triangular"),
    examples=[
        example("3x3, 3x2", upper=True, left=True, unit=False),
        example("3x3, 3x2", upper=False, left=True, unit=True),
        example("2x2x2, 2x1", upper=False, left=True, unit=False),
        example("2x2, 2x2x1", upper=True, left=True, unit=True),
        example("2x2, 2x1x2", upper=True, left=False, unit=False),
        example("0x0, 0x1", upper=True, left=True, unit=False),
    ],
    node_name="LinalgSolveTriangularBackward0",
)

# -- inverses --------------------------------------------------------------------------------------


@public(out=True)
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices `(..., n, n)`, floating or complex.

    Raises LinAlgError for a singular matrix, RuntimeError for other shapes and dtypes. Where only
    `inv(A) @ B` is wanted, `linalg.solve(A, B)` is faster and more accurate.

    >>> rg.linalg.inv(rg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_square(A, "linalg.inv")
    result, info = _inv_ex(A)
    raise_failed(info, SINGULAR)
    return result


@public(out=True, methods="inverse")
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices: `linalg.inv`.

    >>> rg.inverse(rg.tensor([[2.0]]))
    tensor([[0.5000]])
    """
    return inv(input)


@public(out=True)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(inverse, info): like `inv`, without an error for singular matrices unless `check_errors`.

    `info` (int32, one per matrix) is 0, or the 1-based place of a zero pivot; the inverse then
    holds NaN and infinities.

    >>> rg.linalg.inv_ex(rg.zeros(2, 2)).info
    tensor(1, dtype=retrograd.int32)
    """
    check_square(A, "linalg.inv")
    result = return_types.linalg_inv_ex(*_inv_ex(A))
    if check_errors:
        raise_failed(result.info, SINGULAR)
    return result


# -- systems ---------------------------------------------------------------------------------------


def holds_vectors(A: Tensor, B: Tensor) -> bool:
    """Whether `solve` takes B as a stack of vectors: 1-D, or as many as there are matrices A."""
    shape = B._array.shape
    return len(shape) == 1 or shape == A._array.shape[:-1]


def _solve(A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    check_square(A, "linalg.solve")
    check_same_dtype(A, B, "linalg.solve")
    vectors = holds_vectors(A, B)
    if vectors and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    right = B.unsqueeze(-1) if vectors else B
    if right.ndim < 2:
        raise RuntimeError(
            "linalg.solve: B must be a vector or matrices, but it is 0-D. A division is B / A"
        )
    check_system(A, right, "linalg.solve", left)
    result, info = _solve_ex(A, right, left=left)
    if vectors:
        result = name_node(as_non_view(result.squeeze(-1)), "LinalgSolveExBackward0")
    return result, info


@public(out=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of A X = B (of X A = B if not `left`), for square A `(..., n, n)`.

    `B` is `(..., n, k)`, stacks broadcast; or vectors: `(n)`, or `(..., n)` with the stack of A.
    Raises LinAlgError for a singular A; RuntimeError for sizes that do not fit and for different
    dtypes.

    >>> rg.linalg.solve(rg.tensor([[2.0, 0.0], [0.0, 4.0]]), rg.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    result, info = _solve(A, B, left)
    raise_failed(info, UNSOLVABLE)
    return result


@public(out=True)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """(result, info): like `solve`, without an error for singular matrices unless `check_errors`.

    `info` is as in `inv_ex`.

    >>> rg.linalg.solve_ex(rg.eye(2), rg.ones(2)).result
    tensor([1., 1.])
    """
    result = return_types.linalg_solve_ex(*_solve(A, B, left))
    if check_errors:
        raise_failed(result.info, UNSOLVABLE)
    return result


@public(out=True)
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solution X of A X = B (of X A = B if not `left`), for triangular A `(..., n, n)`.

    Only the upper or the lower triangle of A is read, and no diagonal if `unitriangular`; its
    gradient is 0 elsewhere. `B` is `(..., n, k)`, stacks broadcast; a real one counts in the dtype
    of A. A zero on the diagonal gives infinities. Raises RuntimeError for sizes that do not fit and
    for complex B of a real A.

    >>> A, B = rg.tensor([[2.0, 1.0], [0.0, 4.0]]), rg.tensor([[4.0], [8.0]])
    >>> rg.linalg.solve_triangular(A, B, upper=True)
    tensor([[1.],
            [2.]])
    """
    check_square(A, "linalg.solve_triangular")
    if isinstance(B, Tensor) and B._array.dtype != A._array.dtype and not B.dtype.is_complex:
        B = B.to(A.dtype)
    check_matrix(B, "linalg.solve_triangular", "B")
    check_same_dtype(A, B, "linalg.solve_triangular")
    check_system(A, B, "linalg.solve_triangular", left)
    return _solve_triangular(A, B, upper=upper, left=left, unit=unitriangular)


# -- tensors ---------------------------------------------------------------------------------------


@public(out=True)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse for `tensordot` over `ind` dimensions: of the shape with the rest in front.

    The first `ind` sizes multiply to the same number as the others. Raises RuntimeError if not,
    LinAlgError if singular.

    >>> rg.linalg.tensorinv(rg.eye(6).reshape(2, 3, 6)).shape
    retrograd.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(first) != math.prod(rest):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(rest)} != {math.prod(first)}"
        )
    inverse = inv(A.reshape(math.prod(rest), math.prod(first)))
    return name_node(as_non_view(inverse.reshape((*rest, *first))), "ReshapeAliasBackward0")


@public(out=True)
def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    """The solution X of `tensordot(A, X, X.ndim) = B`; `dims` of A are moved to its end first.

    Raises RuntimeError where A is not square as a matrix from X to B, LinAlgError if singular.

    >>> rg.linalg.tensorsolve(rg.eye(6).reshape(2, 3, 6), rg.ones(2, 3)).shape
    retrograd.Size([6])
    """
    if dims is not None:
        moved = [normalize_dim(dim, A.ndim) for dim in dims]
        A = A.movedim(moved, list(range(A.ndim - len(moved), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    size = math.prod(shape)
    if size != math.prod(A.shape[: B.ndim]) or size != math.prod(B.shape):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {size} != {math.prod(A.shape[: B.ndim])}. "
            f"A has shape {list(A.shape)}, B {list(B.shape)}"
        )
    return as_non_view(solve(A.reshape(size, size), B.reshape(size)).reshape(shape))
