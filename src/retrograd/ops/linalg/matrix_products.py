"""Functions of matrices composed of the products in `matmul`: addmm and its kin, powers, chains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, modes, version
from ...dtypes import half
from ...engine.dispatch import as_non_view, check_broadcast
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, constant_like
from ...kernels.memory import in_rows
from ..core.arguments import number_in, public
from ..core.dims import integer, place_of
from ..core.engine_ops import blank, clone, grad_in_format
from ..core.pointwise import mismatch, unsupported
from ..elementwise.arithmetic import add, check_alpha, mul
from .bilinear import bias_error
from .checks import check_sides
from .matmul import bmm, linear, matmul, mm, mv, outer
from .solve import inv

__all__ = [
    "addmm", "addmv", "addr", "baddbmm", "bilinear", "chain_matmul", "cross", "kron",
    "matrix_power", "trace",
]  # fmt: skip

NO_DIM = (
    "Using cross without specifying the dim arg is deprecated. Please either pass the dim "
    "explicitly or use linalg.cross, whose default is the last one."
)

CHAIN = "retrograd.chain_matmul is deprecated. Use retrograd.linalg.multi_dot, which takes a list"

_cross = declare(
    "cross(input, other, *, dim)",
    lambda x, y, *, dim: in_rows(np.cross(x, y, axis=dim)),
    input=lambda xp, g, other, dim: xp.cross(xp.conj(other), g, dim=dim),
    other=lambda xp, g, input, dim: xp.cross(g, xp.conj(input), dim=dim),
    linear="input | other",
    examples=[example("3, 3", dim=0), example("2x3, 1x3", dim=-1), example("3x0, 3x0", dim=0)],
    node_name="LinalgCrossBackward0",
)


# -- products added to something ---------------------------------------------------------------


def plus(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """`beta * input + alpha * product`; with beta 0 `input` is not read (its NaNs do not pass).

    Beside integers the scales are cut off to integers, as PyTorch does, beside booleans to truth.
    """
    x, y = input._array, product._array
    if x.shape != y.shape[len(y.shape) - len(x.shape) :]:
        sizes = zip(reversed(x.shape), reversed(y.shape), strict=False)
        if x.ndim > y.ndim or any(m not in (1, n) for m, n in sizes):
            raise bias_error(y, x)
    if x.dtype != y.dtype:
        raise mismatch("self and mat2 must have the same dtype, but got {} and {}", x, y)
    kind = y.dtype
    if kind.kind == "f" and beta.__class__ is alpha.__class__ is int and beta == alpha == 1:
        return add(input, product)
    beta, alpha = dtypes.real_scalar(beta, kind), dtypes.real_scalar(alpha, kind)
    if product.dtype.category < 2:
        kept = bool if kind.kind == "b" else int
        beta, alpha = kept(beta), kept(alpha)
    if alpha != 1:
        product = mul(product, alpha)
    if beta == 0:
        return product
    return add(input if beta == 1 else mul(input, beta), product)


def plus_product(
    input: Tensor, product: Callable[..., Tensor], a: Tensor, b: Tensor, beta: Any, alpha: Any
) -> Tensor:
    """`beta * input + alpha * product(a, b)`; of half floats in float32, rounded once."""
    kind = input.dtype
    if half(kind.numpy) and kind is a.dtype is b.dtype:
        wide = plus(input.float(), product(a.float(), b.float()), beta, alpha)
        return wide.to(kind)
    return plus(input, product(a, b), beta, alpha)


@public(out=True, methods="addmm addmm_")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for matrices; `input` broadcasts.

    Raises RuntimeError for sizes that do not fit and different dtypes.

    >>> rg.addmm(rg.tensor([1.0]), rg.tensor([[1.0, 2.0]]), rg.tensor([[3.0], [4.0]]), alpha=2)
    tensor([[23.]])
    """
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t._array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.ndim}-D tensor")
    return name_node(
        plus_product(input.contiguous(), mm, mat1, mat2, beta, alpha), "AddmmBackward0"
    )


@public(out=True, methods="addmv addmv_")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`; `input` broadcasts.

    Raises RuntimeError for sizes that do not fit and different dtypes.

    >>> rg.addmv(rg.tensor([1.0]), rg.tensor([[1.0, 2.0]]), rg.tensor([3.0, 4.0]), beta=2)
    tensor([13.])
    """
    if input.ndim == 1 and mat.ndim == 2 and vec.ndim == 1 and input.shape[0] not in (1, len(mat)):
        n, (rows, columns), k = input.shape[0], mat.shape, vec.shape[0]
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({rows}x{columns}), vec ({k})")
    made = plus_product(input, mv, mat, vec, beta, alpha)
    return name_node(made, "AddmvBackward0")


@public(out=True, methods="baddbmm baddbmm_")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for stacks of matrices; `input` broadcasts.

    Raises RuntimeError for sizes that do not fit and different dtypes.

    >>> rg.baddbmm(rg.tensor([1.0]), rg.tensor([[[2.0]]]), rg.tensor([[[3.0]]]))
    tensor([[[7.]]])
    """
    made = plus_product(input.contiguous(), bmm, batch1, batch2, beta, alpha)
    return name_node(made, "BaddbmmBackward0")


@public(out=True, methods="addr addr_")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`; `input` broadcasts, and dtypes promote.

    Raises RuntimeError for sizes that do not fit, and for scales that the dtype does not take.

    >>> rg.addr(rg.tensor([[0.5]]), rg.tensor([1.0, 2.0]), rg.tensor([3.0]))
    tensor([[3.5000],
            [6.5000]])
    """
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t.ndim}-D")
    kind = dtypes.promote_types(input.dtype, dtypes.promote_types(vec1.dtype, vec2.dtype))
    alpha, beta = number_in(alpha, "addr", "alpha"), number_in(beta, "addr", "beta")
    for name, scale in (("alpha", alpha), ("beta", beta)):
        check_alpha(scale, kind.numpy, name)
    made = plus_product(input.to(kind), outer, vec1.to(kind), vec2.to(kind), beta, alpha)
    return name_node(made, "AddrBackward0")


# -- matrices ----------------------------------------------------------------------------------


@public(methods="trace")
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix; 0-d.

    Raises RuntimeError for other ranks.

    >>> rg.trace(rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return name_node(input.diagonal().sum(), "TraceBackward0")


@public(out=True, methods="kron")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: `out[i * len(other) + j] = input[i] * other[j]` in every dimension.

    The shorter shape is filled up with ones in front; the dtypes promote.

    >>> rg.kron(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    tensor([ 1., 10.,  2., 20.])
    """
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape([size for m in a for size in (m, 1)])
    right = other.reshape([size for m in b for size in (1, m)])
    return name_node(
        as_non_view((left * right).reshape([p * q for p, q in zip(a, b, strict=True)])),
        "UnsafeViewBackward0",
    )


@public(out=True, methods="matrix_power")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The `n`-th power of square matrices `(..., m, m)`, by repeated squaring; n < 0 inverts them.

    Raises RuntimeError for matrices that are not square, LinAlgError where a singular one is to be
    inverted, TypeError for an `n` that is no integer.

    >>> rg.matrix_power(rg.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    check_square(input, "matrix_power")
    n = integer(n, "n")
    if n < 0:
        inverse = inv(input)
        return inverse if n == -1 else matrix_power(inverse, -n)
    if n == 0:
        ones = np.eye(input.shape[-1], dtype=input.dtype.numpy)
        return blank(input, path=(), layout=None) + constant_like(ones, input)
    result: Tensor | None = None
    square = input
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else matmul(result, square)
        if n == 0:
            return result if result is not input else input.clone()  # type: ignore[return-value]
        square = matmul(square, square)


def check_square(input: Tensor, name: str) -> None:
    """Raise unless the tensor holds square matrices."""
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor A must have at least 2 dimensions, but has shape "
            f"{list(input.shape)}."
        )
    check_sides(input, f"linalg.{name}")


@public(out=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of matrices, bracketed for the fewest multiplications.

    The first may be a row and the last a column, both 1-D. Raises RuntimeError for other ranks and
    sizes that do not fit. Source: PyTorch's `chain_matmul` and `linalg.multi_dot`.

    >>> rg.chain_matmul(rg.ones(1, 3), rg.ones(3, 2), rg.ones(2, 1))
    tensor([[6.]])
    """
    modes.warn_once(version.named(CHAIN))
    return chained(*matrices)


def chained(*matrices: Tensor) -> Tensor:
    """The product of matrices, bracketed for the fewest multiplications."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return clone(matrices[0])
    last = len(matrices) - 1
    shapes = [tuple(m.shape) for m in matrices]
    for i, m in enumerate(matrices):
        if m.ndim != 2 and not (m.ndim == 1 and i in (0, last)):
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {m.ndim}D")
        if i and shapes[i - 1][-1] != shapes[i][0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(shapes[i - 1])} and "
                f"{list(shapes[i])} cannot be multiplied"
            )
    first = 1 if len(shapes[0]) == 1 else shapes[0][0]
    sizes = [first, *(shape[0] for shape in shapes[1:])]
    sizes.append(1 if len(shapes[-1]) == 1 else shapes[-1][1])
    return name_node(bracketed(matrices, cheapest(sizes), 0, last), "ViewBackward0")


def cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of matrices, the i-th being `sizes[i]` by `sizes[i + 1]`."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


def bracketed(
    matrices: Sequence[Tensor], split: dict[tuple[int, int], int], i: int, j: int
) -> Tensor:
    """The product of matrices i to j (depth: the number of matrices)."""
    if i == j:
        return matrices[i]
    k = split[i, j]
    return matmul(bracketed(matrices, split, i, k), bracketed(matrices, split, k + 1, j))


@public(out=True, methods="cross")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product of 3-vectors along `dim`, by default the first dimension of size 3.

    Both have the same number of dimensions and broadcast; nothing is conjugated. Raises
    RuntimeError where the size is not 3 or the dtypes differ, IndexError for a dimension that is
    not there. Warns without `dim`.

    >>> rg.cross(rg.tensor([1.0, 0.0, 0.0]), rg.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        warnings.warn(NO_DIM, stacklevel=2)
        if 3 not in input.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input.shape.index(3)
    place_of(dim, input.ndim)
    m, n = input.shape[dim], other.shape[dim]
    if (m, n) != (3, 3):
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}"
        )
    if input._array.dtype != other._array.dtype:
        raise mismatch("expected scalar type {} but found {}", input._array, other._array)
    if input._array.dtype.kind == "b":
        raise unsupported("cross", input._array.dtype, "Convert the inputs: x.int()")
    check_broadcast(tuple(input.shape), tuple(other.shape), "cross")
    return _cross(input, other, dim=dim)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Bilinear map of rows: `y_m = sum_ij x1_i weight_mij x2_j + bias_m`.

    `input1` is `(..., i)`, `input2` `(..., j)`, `weight` `(m, i, j)`, `bias` `(m)`; the result
    `(..., m)`. Raises RuntimeError for sizes that do not fit.

    >>> x, y = rg.tensor([[1.0, 2.0]]), rg.tensor([[3.0, 4.0]])
    >>> rg.bilinear(x, y, rg.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
    tensor([[11.]])
    """
    check_bilinear(input1, input2, weight, bias)
    m, i, j = weight.shape
    half = linear(input1, grad_in_format(weight).permute(0, 2, 1).reshape(m * j, i))
    half = half.reshape(*input1.shape[:-1], m, j)
    product = name_node(matmul(half, input2.unsqueeze(-1)).squeeze(-1), "ViewBackward0")
    return product if bias is None else product + bias


def check_bilinear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise unless the arguments of `bilinear` fit together."""
    if x.ndim != y.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {x.ndim} and {y.ndim}")
    if weight.ndim != 3:
        raise IndexError(
            f"bilinear(): weight must be (out, in1, in2), but its shape is {list(weight.shape)}"
        )
    for dim, (a, b) in enumerate(zip(x.shape[:-1], y.shape[:-1], strict=True)):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
            )
    for number, t in ((1, x), (2, y)):
        if t.shape[-1] != weight.shape[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {t.shape[-1]} "
                f"but expected {weight.shape[number]}"
            )
    if bias is not None and bias.dtype is not weight.dtype:
        text = "All tensors must have the same dtype, got weight: {}, bias: {}"
        raise mismatch(text, weight._array, bias._array, dtypes.cpp_name)
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}"
        )
