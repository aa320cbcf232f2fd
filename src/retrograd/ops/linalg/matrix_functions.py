"""The matrix exponential, and products under torch.linalg's names."""

from __future__ import annotations

from typing import Any

from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor
from ...kernels import matrix_functions
from ..core.arguments import public
from ..core.dims import normalize_dim
from ..core.engine_ops import laid_grad
from ..core.pointwise import only
from ..reduction.scan import cumprod
from ..reduction.sum_prod import sum as sum_over
from ..shape.basic_views import diagonal as diagonal_between
from ..shape.join import cat
from .checks import check_square
from .matmul import mm
from .matrix_products import chained, plus_product
from .matrix_products import cross as cross_along

__all__ = ["addbmm", "matrix_exp"]


def quarter(xp: Any, x: Any, down: bool, right: bool) -> Any:
    """A block, one of four, of a matrix of even size."""
    n = x.shape[-1] // 2
    first, second = slice(0, n), slice(n, 2 * n)
    rows, columns = (second if down else first), (second if right else first)
    return xp.slice(x, index=(*[slice(None)] * (x.ndim - 2), rows, columns))


declare(
    "twice(input, other)",
    matrix_functions.twice,
    input=lambda xp, g: quarter(xp, g, False, False) + quarter(xp, g, True, True),
    other=lambda xp, g: quarter(xp, g, False, True),
    linear="input, other",
    batch="leading",
    examples=["2x2, 2x2", "2x1x1, 2x1x1", "0x0, 0x0"],
    doc="""The block matrix [[input, other], [0, input]].""",
)


def exp_derivative_input(xp: Any, g: Any, input: Any, direction: Any) -> Any:
    """The second derivative of the exponential, a block of the first of a matrix of twice the
    size."""
    pair = xp.twice(xp.adjoint(input), xp.adjoint(direction))
    derivative = xp.exp_derivative(pair, xp.twice(g, xp.zeros_like(g)))
    return quarter(xp, derivative, False, True)


declare(
    "exp_derivative(input, direction)",
    only("matrix_exp", "fc", matrix_functions.exp_derivative),
    input=exp_derivative_input,
    direction=lambda xp, g, input: xp.exp_derivative(xp.adjoint(input), g),
    linear="direction",
    batch="leading",
    examples=["3x3, 3x3", "2x2x2, 2x2x2", "0x0, 0x0"],
    doc="""The derivative of the exponential of `input` along `direction`.""",
)

_matrix_exp = declare(
    "matrix_exp(input)",
    only("matrix_exp", "fc", matrix_functions.exp),
    input=lambda xp, g, input: xp.exp_derivative(xp.adjoint(input), g),
    batch="leading",
    examples=["3x3", "2x2x2", "0x0", "0x2x2"],
    node_name="LinalgMatrixExpBackward0",
)


@public(methods="matrix_exp")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential 1 + A + A^2 / 2 + ... of square matrices `(..., n, n)`.

    By scaling, approximation and squaring, to about the precision of the dtype. Raises
    RuntimeError for other shapes and dtypes.

    >>> rg.matrix_exp(rg.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square(input, "linalg.matrix_exp", halves=True)
    return _matrix_exp(input)


# -- products --------------------------------------------------------------------------------------


@public(out=True, methods="addbmm addbmm_")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha *` the sum of `batch1[i] @ batch2[i]` over i; `input` broadcasts.

    `batch1` is `(b, n, k)`, `batch2` `(b, k, m)`. Raises RuntimeError for sizes that do not fit and
    different dtypes.

    >>> rg.addbmm(rg.tensor([[1.0]]), rg.ones(3, 1, 2), rg.ones(3, 2, 1))
    tensor([[7.]])
    """
    for name, t in (("batch1", batch1), ("batch2", batch2)):
        if t.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, but has shape {list(t.shape)}")
    b, n, k = batch1.shape
    if tuple(batch2.shape[:2]) != (b, k):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: "
            f"{list(batch2.shape[:2])}."
        )
    left = laid_grad(batch1, axes=(0, 1, 2)).transpose(0, 1).reshape(n, b * k)
    right = batch2.reshape(b * k, batch2.shape[2])
    made = plus_product(input.contiguous(), mm, left, right, beta, alpha)
    return name_node(made, "AddbmmBackward0")


@public(out=True)
def multi_dot(tensors: Any) -> Tensor:
    """Product of two or more matrices, bracketed for the fewest multiplications.

    The first may be a row and the last a column, both 1-D. Raises RuntimeError for fewer, for other
    ranks and sizes that do not fit.

    >>> rg.linalg.multi_dot([rg.ones(1, 3), rg.ones(3, 2), rg.ones(2, 1)])
    tensor([[6.]])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    return chained(*tensors)


@public(out=True)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products along `dim`, the first one conjugated: sum of conj(x) * y; shapes broadcast.

    Raises RuntimeError for different dtypes and integers.

    >>> rg.linalg.vecdot(rg.tensor([[1.0, 2.0]]), rg.tensor([3.0, 4.0]))
    tensor([11.])
    """
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found {x.dtype} and "
            f"{y.dtype} instead"
        )
    made = sum_over(x.conj() * y, dim)
    return name_node(made, "VdotBackward0") if x.ndim == y.ndim == 1 else made


@public(out=True)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross product of 3-vectors along `dim`; see `retrograd.cross`.

    >>> rg.linalg.cross(rg.tensor([1.0, 0.0, 0.0]), rg.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return cross_along(input, other, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view; `offset` above (below if negative) the main one.

    >>> rg.linalg.diagonal(rg.eye(2))
    tensor([1., 1.])
    """
    return diagonal_between(A, offset, dim1, dim2)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Matrices `(..., n, N)` of powers 0 to N - 1 of the elements of vectors `(..., n)`.

    N is n by default; a number is a vector of one. Small integers become int64. Raises RuntimeError
    for N < 2 and for a bool tensor.

    >>> rg.linalg.vander(rg.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype.name == "bool":
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got Bool. "
            "Convert first: x.long()"
        )
    x = x.reshape(1) if x.ndim == 0 else x
    N = x.shape[-1] if N is None else N
    if N < 2:
        raise RuntimeError(f"N must be greater than 1, but is {N}")
    last = normalize_dim(-1, x.ndim + 1)
    powers = cumprod(x.unsqueeze(-1).expand(*x.shape, N - 1), last)
    return cat([powers.new_ones((*x.shape, 1)), powers], last)
