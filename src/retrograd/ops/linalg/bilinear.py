"""The bilinear records: products of vectors and matrices, each of the ranks in its name.

`mm`, `mv`, `dot` and `outer` know one case each, `matmul` stacks of matrices, `linear` and
`linear_weight` rows of any leading shape. Their formulas stay among themselves and `adjoint`.
Ranks are the callers' concern: the public functions are in `matmul`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import half
from ...engine.graph import Node
from ...engine.registry import declare
from ...kernels.allocation import is_numpy
from ...kernels.layout import Turned
from ...kernels.native.products import LARGE, product
from ...kernels.native.small import quick
from ..core import batching
from ..core.pointwise import mismatch, through_float32


def check_dtypes(x: Any, y: Any, bias: Any = None, layer: str = "") -> None:
    """Raise unless two matrices have one dtype; products do not promote, as in PyTorch.

    `layer` is as in `conversion`.
    """
    if x.dtype is not y.dtype and x.dtype != y.dtype:
        if bias is not None:
            text = "mat1 and mat2 must have the same dtype, but got {} and {}"
            raise mismatch(text, x, y, layer=layer)
        text = "expected m1 and m2 to have the same dtype, but got: {} != {}"
        raise mismatch(text, x, y, dtypes.cpp_name, layer)


def matrices_error(x: Any, y: Any, weight: Any = None) -> RuntimeError:
    """The error for matrices (a vector counts as a row) whose inner sizes differ."""
    rows, inner = math.prod(x.shape[:-1]), x.shape[-1]
    first, second = y.shape
    what = f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {first}x{second})"
    if weight is not None:
        why = f"a weight of shape {list(weight.shape)} takes (*, {first}), got {list(x.shape)}"
    else:
        shapes = list(x.shape), list(y.shape)
        why = f"{inner}, the last size of {shapes[0]}, must be {first}, the first of {shapes[1]}"
        why += ". Transpose the second: y.mT" if inner == second else ""
    return RuntimeError(f"{what}: {why}")


adjoint = declare(
    "adjoint(input)",
    lambda x: x.swapaxes(-1, -2).conj(),  # of a real array: a view
    input=lambda xp, g: xp.adjoint(g),
    view="maybe",
    batch="leading",
    examples=["3x4", "2x3x1", "0x2"],
    doc="""The conjugate transpose of matrices (the last two dimensions); a view of real ones.""",
)


@quick("mm")
def _mm_arrays(x: Any, y: Any) -> Any:
    if x.dtype is not y.dtype:
        check_dtypes(x, y)
    if x.size * y.shape[-1] >= LARGE and (found := product(x, y)) is not None:
        return found
    try:
        return x.dot(y)  # much faster than np.matmul for small matrices
    except ValueError:
        raise matrices_error(x, y) from None


def as_factor(xp: Any, a: Any, b: Any, shape: Any) -> Any:
    """`a @ b`, the gradient of a factor of that shape: by columns where the factor lies so."""
    if shape.__class__ is Turned and shape.columns and len(b.shape) == 2:
        rows = xp.reshape(a, shape=(math.prod(a.shape[:-1]), a.shape[-1]))
        return xp.reshape(xp.t(xp.mm(xp.t(b), xp.t(rows))), shape=tuple(shape))
    return xp.mm(a, b) if len(a.shape) == len(b.shape) == 2 else xp.matmul(a, b)


def _flops(out: Any, x: Any, w: Any, *rest: Any) -> int:
    """The operations of a product over the last dimension of `x`: by (*, k, n) or (n, k)."""
    if x.ndim < 2 or w.ndim < 2:
        return 0
    before = max(math.prod(x.shape[:-2]), math.prod(w.shape[:-2]))
    columns = w.size // math.prod(w.shape[:-2]) // x.shape[-1] if w.size else 0
    return int(2 * before * x.shape[-2] * x.shape[-1] * columns)


mm = declare(
    "mm(input, mat2)",
    _mm_arrays,
    input=lambda xp, g, mat2, input_shape: as_factor(xp, g, xp.adjoint(mat2), input_shape),
    mat2=lambda xp, g, input, mat2_shape: as_factor(xp, xp.adjoint(input), g, mat2_shape),
    linear="input | mat2",
    batch=batching.as_matmul("matrix", "matrix"),
    examples=["2x3, 3x4", "0x2, 2x3", "2x0, 0x3"],
    flops=_flops,
)


@quick("mm")
def _matmul_arrays(x: Any, y: Any) -> Any:
    if y.ndim == 2:
        return _mm_arrays(x, y) if x.ndim == 2 else rows_times(x, y)
    if x.dtype is not y.dtype and x.dtype != y.dtype:
        raise mismatch("expected scalar type {} but found {}", x, y)
    if x.size * y.shape[-1] >= LARGE and (found := product(x, y)) is not None:
        return found
    try:
        out = np.matmul(x, y, order="C") if is_numpy(x) else np.matmul(x, y)
    except ValueError:
        raise stacks_error(x, y) from None
    return out if out.dtype is x.dtype else out.astype(x.dtype, copy=False)  # NumPy widens bfloat16


def rows_times(x: Any, y: Any) -> Any:
    """`x @ y` for one matrix y, as one large product instead of one per matrix of x."""
    rows = _mm_arrays(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), y)
    return rows.reshape(*x.shape[:-1], y.shape[1])


def stacks_error(x: Any, y: Any) -> RuntimeError:
    """The error for stacks of matrices that do not fit."""
    if x.shape[-1] == y.shape[-2]:
        pairs = zip(reversed(x.shape[:-2]), reversed(y.shape[:-2]), strict=False)
        for back, (a, b) in enumerate(pairs, 3):
            if a != b and 1 not in (a, b):
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {max(x.ndim, y.ndim) - back}. matmul() was called "
                    f"with shapes {list(x.shape)} and {list(y.shape)}."
                )
    batch = math.prod(np.broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    return RuntimeError(
        "Expected size for first two dimensions of batch2 tensor to be: "
        f"[{batch}, {x.shape[-1]}] but got: [{batch}, {y.shape[-2]}]. matmul() was called with "
        f"shapes {list(x.shape)} and {list(y.shape)}."
    )


def matmul_input(xp: Any, g: Any, other: Any, input_shape: tuple[int, ...]) -> Any:
    """Cotangent of the first factor."""
    if len(input_shape) == 2:
        return xp.matmul(g, xp.adjoint(other))
    return as_factor(xp, g, xp.adjoint(other), input_shape)


def matmul_other(xp: Any, g: Any, input: Any, other_shape: tuple[int, ...]) -> Any:
    """Cotangent of the second factor; of a single matrix by one large product."""
    if len(other_shape) == 2:
        if len(input.shape) > 2 and other_shape.__class__ is Turned and other_shape.columns:
            return xp.t(xp.linear_weight(g, xp.conj(input)))
        return xp.linear_weight(xp.conj(input), g)
    if len(input.shape) == 2:  # lies by columns, as in PyTorch
        return xp.adjoint(xp.matmul(xp.adjoint(g), input))
    return xp.matmul(xp.adjoint(input), g)


matmul = declare(
    "matmul(input, other)",
    _matmul_arrays,
    input=matmul_input,
    other=matmul_other,
    linear="input | other",
    batch=batching.matmul,
    examples=[
        "2x2x3, 2x3x2",
        "2x1x2x3, 2x3x1",
        "2x3, 2x3x2",
        "2x2x3, 3x2",
        "2x3, 3x2",
        "0x2x3, 3x2",
    ],
    node_name="BmmBackward0",
    saved={"mat2": "other"},
    flops=_flops,
)


def _mv_arrays(x: Any, y: Any) -> Any:
    if x.dtype is not y.dtype and x.dtype != y.dtype:
        text = "addmv input tensors must have the same dtype, but got {1}, {0}, and {1}"
        raise mismatch(text, x, y)
    try:
        return x.dot(y)
    except ValueError:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[0]}), mat ({x.shape[0]}x{x.shape[1]}), vec "
            f"({y.shape[0]})"
        ) from None


mv = declare(
    "mv(input, vec)",
    _mv_arrays,
    input=lambda xp, g, vec: xp.outer(g, xp.conj(vec)),
    vec=lambda xp, g, input: xp.mv(xp.adjoint(input), g),
    linear="input | vec",
    batch=batching.mv,
    examples=["2x3, 3", "0x3, 3", "2x0, 0"],
)


def _dot_arrays(x: Any, y: Any) -> Any:
    if x.dtype is not y.dtype and x.dtype != y.dtype:
        text = "dot : expected both vectors to have same dtype, but found {} and {}"
        raise mismatch(text, x, y)
    try:
        return x.dot(y)
    except ValueError:
        m, n = x.shape[0], y.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{m}] and src [{n}] to have the same "
            f"number of elements, but got {m} and {n} elements respectively"
        ) from None


dot = declare(
    "dot(input, other)",
    _dot_arrays,
    input=lambda xp, g, other: g * xp.conj(other),
    other=lambda xp, g, input: g * xp.conj(input),
    linear="input | other",
    batch=batching.as_matmul("row", "column"),
    examples=["3, 3", "0, 0"],
    saved={"tensor": "other"},
)

outer = declare(
    "outer(input, vec2)",
    np.multiply.outer,
    input=lambda xp, g, vec2: xp.mv(g, xp.conj(vec2)),
    vec2=lambda xp, g, input: xp.conj(xp.mv(xp.adjoint(g), input)),
    linear="input | vec2",
    batch=batching.outer,
    examples=["2, 3", "0, 3"],
    node_name="MulBackward0",
)


@quick("linear")
def _linear_arrays(x: Any, w: Any, b: Any) -> Any:
    if x.dtype is not w.dtype:
        check_dtypes(x, w, b, "weight")
    if x.ndim > 1 and x.size * w.shape[0] >= LARGE:
        rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        if (found := product(rows, w.T, b)) is not None:
            return found.reshape(*x.shape[:-1], w.shape[0])
    try:
        if 0 < x.ndim <= 2:
            out = x.dot(w.T)
        else:
            out = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).dot(w.T)
            out = out.reshape(*x.shape[:-1], w.shape[0])
    except (ValueError, IndexError):
        raise linear_error(x, w) from None
    if b is not None:
        if b.dtype is not out.dtype or b.ndim > 1:
            check_bias(out, b)
        if out.dtype.itemsize == 2 and half(out.dtype):  # the sum is rounded once
            return through_float32(_linear_arrays, (x, w, b), {})
        try:
            out += b
        except ValueError:
            raise bias_error(out, b) from None
    return out


def linear_error(x: Any, w: Any) -> RuntimeError:
    """The error for rows that do not fit a weight."""
    if x.ndim == 0:
        return RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and 2D"
        )
    return matrices_error(x, w.T, w)


def check_bias(out: Any, b: Any) -> None:
    """Raise unless a bias has the product's dtype and no more dimensions than it."""
    if b.ndim > out.ndim or b.dtype != out.dtype:
        raise bias_error(out, b)


def bias_error(out: Any, b: Any) -> RuntimeError:
    """The error for a bias that cannot be added to the product."""
    if b.dtype != out.dtype:
        return mismatch("self and mat2 must have the same dtype, but got {} and {}", b, out)
    return RuntimeError(
        f"The expanded size of the tensor ({out.shape[-1]}) must match the existing size "
        f"({b.shape[-1]}) at non-singleton dimension {out.ndim - 1}.  Target sizes: "
        f"{list(out.shape)}.  Tensor sizes: {list(b.shape)}"
    )


def _linear_name(node: Node) -> str:
    """What PyTorch's last step is: a product, or the result in its own shape."""
    (_, _, bias_shape), ndim = node.params, len(node.shape)
    if bias_shape is not None:
        return "AddmmBackward0" if ndim == 2 else "ViewBackward0"
    return ("SqueezeBackward4", "MmBackward0", "UnsafeViewBackward0")[min(ndim, 3) - 1]


def linear_weight_of(xp: Any, g: Any, input: Any, weight_shape: Any) -> Any:
    """`g.T @ conj(input)`; by columns where the weight does not lie by rows."""
    if weight_shape.__class__ is Turned:
        return xp.t(xp.linear_weight(xp.conj(input), g))
    return xp.linear_weight(g, xp.conj(input))


linear = declare(
    "linear(input, weight, bias)",
    _linear_arrays,
    bias=lambda xp, g, bias_shape: xp.sum_to(g, shape=bias_shape),
    input=lambda xp, g, weight, input_shape: as_factor(xp, g, xp.conj(weight), input_shape),
    weight=linear_weight_of,
    exact=True,
    batch=batching.linear,
    examples=["2x3, 4x3, 4", "2x3, 4x3, none", "2x2x3, 2x3, 2", "3, 2x3, 2", "0x3, 2x3, 2"],
    linear="input, bias",
    node_name=_linear_name,
    shows=lambda node: (0, 1, 2) if node.params[2] is not None else (1, 2),
    saved={
        "alpha": lambda: 1,
        "beta": lambda: 1,
        "mat1": "input",
        "mat2": lambda weight: None if weight is None else weight.t(),
    },
    flops=_flops,
)


@quick("linear_weight")
def _linear_weight_arrays(x: Any, y: Any) -> Any:
    if x.ndim == 1:
        return np.multiply.outer(x, y)
    if x.ndim > 2:
        rows = math.prod(x.shape[:-1])
        x, y = x.reshape(rows, x.shape[-1]), y.reshape(rows, y.shape[-1])
    if x.size * y.shape[-1] >= LARGE and (found := product(x.T, y)) is not None:
        return found
    return x.T.dot(y)


linear_weight = declare(
    "linear_weight(input, other)",
    _linear_weight_arrays,
    input=lambda xp, g, other: xp.linear(xp.conj(other), g, None),
    other=lambda xp, g, input: xp.conj(xp.linear(input, xp.adjoint(g), None)),
    linear="input | other",
    batch=batching.linear_weight,
    examples=["2x3, 2x4", "2x2x3, 2x2x2", "3, 2", "0x3, 0x2"],
    doc="""The sum over all rows of the outer product of a row of `input` and one of `other`.""",
)
