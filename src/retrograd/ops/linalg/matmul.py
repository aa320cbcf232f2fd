"""Public products of vectors and matrices: ranks are checked here, arrays in `bilinear`.

A vector beside matrices gets a dimension before the product and loses it after. Contractions by
name or by dimension are in `einsum`, functions composed of products in `matrix_products`.
"""

from __future__ import annotations

import math
from typing import Any

from ...engine.dispatch import as_non_view
from ...engine.registry import name_node, renamed
from ...engine.tensor import Tensor, method
from ...errors import wrong_type
from ...kernels.layout import is_permuted
from ..core.arguments import public
from ..elementwise.arithmetic import add, mul
from ..tensor.operators import show_operators
from . import bilinear

__all__ = ["bmm", "dot", "ger", "inner", "matmul", "mm", "mv", "outer", "vdot"]


@public(out=True, methods="matmul")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of the last two dimensions; the ones before them broadcast.

    `(..., n, k)` with `(..., k, m)` gives `(..., n, m)`; a 1-D factor is a row on the left, a
    column on the right, and its dimension is gone from the result. Raises RuntimeError for sizes
    that do not fit, 0-d tensors and different dtypes.

    >>> rg.matmul(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    if not isinstance(other, Tensor):
        raise wrong_type("matmul", "other", "Tensor", other, 2)
    m, n = input.ndim, other.ndim
    if n == 2:
        if m == 2:
            return bilinear.mm(input, other)
        if m == 1:
            row = as_non_view(bilinear.mm(input.unsqueeze(0), other).squeeze(0))
            return name_node(row, "SqueezeBackward4")
    if m == 0 or n == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D"
        )
    if n == 1:
        if m <= 2:
            return (bilinear.dot if m == 1 else bilinear.mv)(input, other)
        rows = as_non_view(bilinear.matmul(input, other.unsqueeze(-1)).squeeze(-1))
        return name_node(rows, "UnsafeViewBackward0")
    if m == 1:
        rows = as_non_view(bilinear.matmul(input.unsqueeze(0), other).squeeze(-2))
        return name_node(rows, "UnsafeViewBackward0")
    return _stacks(input, other)  # type: ignore[no-any-return]


_stacks = renamed(bilinear.matmul, "UnsafeViewBackward0")


def _matmul_operator(self: Tensor, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _rmatmul_operator(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@public(out=True, methods="mm")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices, `(n, k)` with `(k, m)`, without broadcasting.

    Raises RuntimeError for other ranks, sizes that do not fit and different dtypes.

    >>> rg.mm(rg.tensor([[1.0, 2.0]]), rg.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    if input._array.ndim != 2:
        raise RuntimeError(f"self must be a matrix, but has shape {list(input.shape)}")
    if mat2._array.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, but has shape {list(mat2.shape)}")
    return bilinear.mm(input, mat2)


@public(out=True, methods="bmm")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two stacks of matrices, `(b, n, k)` with `(b, k, m)`, without broadcasting.

    Raises RuntimeError for other ranks, sizes that do not fit and different dtypes.

    >>> rg.bmm(rg.tensor([[[2.0]], [[3.0]]]), rg.tensor([[[5.0]], [[7.0]]]))
    tensor([[[10.]],
    <BLANKLINE>
            [[21.]]])
    """
    for name, t in (("batch1", input), ("batch2", mat2)):
        if t._array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, but has shape {list(t.shape)}")
    shape, found = input._array.shape, mat2._array.shape
    if shape[0] != found[0] or shape[2] != found[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{[shape[0], shape[2]]} but got: {list(found[:2])}."
        )
    return bilinear.matmul(input, mat2)


@public(out=True, methods="mv")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix `(n, k)` and a vector `(k)`.

    Raises RuntimeError for other ranks, sizes that do not fit and different dtypes.

    >>> rg.mv(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}"
        )
    return bilinear.mv(input, vec)


@public(out=True, methods="dot")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of the products of two vectors' elements, without conjugation; 0-d.

    Raises RuntimeError for other ranks, different sizes and different dtypes.

    >>> rg.dot(rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors. For the sum "
            "of all products: (x * y).sum()"
        )
    return bilinear.dot(input, tensor)


@public(out=True, methods="vdot")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Inner product of two vectors: like `dot`, with the first one conjugated.

    >>> rg.vdot(rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0]))
    tensor(11.)
    """
    made = dot(input.conj() if input.dtype.is_complex else input, other)
    return name_node(made, "VdotBackward0")


@public(out=True, methods="outer ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector `(n)` and one of another `(m)`: `(n, m)`.

    The dtypes promote; nothing is conjugated. Raises RuntimeError for other ranks.

    >>> rg.outer(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    for name, t in (("self", input), ("vec2", vec2)):
        if t.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.ndim}-D")
    if input.dtype is not vec2.dtype:
        return input.unsqueeze(-1) * vec2
    return bilinear.outer(input, vec2)


ger = outer


@public(out=True, methods="inner")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimensions: `(..., k)` with `(*, k)` gives `(..., *)`.

    With a 0-d tensor it is the product. Raises RuntimeError for different last sizes.

    >>> rg.inner(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    if input.ndim == 0 or other.ndim == 0:
        return mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    if input.ndim == 1 and other.ndim == 1:
        return name_node(bilinear.dot(input, other), "ViewBackward0")
    rows = other.reshape(math.prod(other.shape[:-1]), other.shape[-1])
    copied = rows._view_of is None and rows is not other
    if copied or is_permuted(other._array):  # its gradient then lies by columns, as in PyTorch
        rows = other.movedim(-1, 0).reshape(rows.shape[::-1]).t()
    return bilinear.linear(input, rows, None).reshape((*input.shape[:-1], *other.shape[:-1]))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Affine map of rows: `input @ weight.T + bias`.

    `input` is `(..., k)`, `weight` `(m, k)` or `(k)`, `bias` `(m)`; the result `(..., m)`, or
    `(...)` for a 1-D weight. Raises RuntimeError for sizes that do not fit and different dtypes.

    >>> linear(rg.tensor([[1.0, 2.0]]), rg.tensor([[3.0, 4.0], [5.0, 6.0]]), rg.tensor([0.5, 1.0]))
    tensor([[11.5000, 18.0000]])
    """
    if weight._array.ndim == 2:
        return bilinear.linear(input, weight, bias)
    if weight.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D: the weight "
            f"of linear() has shape {list(weight.shape)}"
        )
    product = matmul(input, weight)
    return product if bias is None else add(product, bias)


method(_matmul_operator, "__matmul__")
method(_rmatmul_operator, "__rmatmul__")
show_operators()
