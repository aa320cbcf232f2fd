"""Norms of vectors, distances by them, and rows kept below a norm.

Subgradients: every norm at 0 has gradient 0, of the minimum norm; so do its own derivatives, since
`div_or_zero` and `pow_or_zero` are closed under differentiation. Elements that share a maximum norm
share the cotangent evenly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import write_out
from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, constant_like
from ...errors import wrong_type
from ...kernels import sums
from ..core.arguments import number_in, public
from ..core.dims import wrap_dim, wrap_dims
from ..core.pointwise import pointwise, shared
from .sum_prod import add_up, converted

__all__ = ["dist", "norm", "renorm"]


def squares(x: Any) -> Any:
    """The squared moduli |x|², which are real."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def _pow_or_zero(x: Any, *, exponent: float) -> Any:
    out = np.power(x, x.dtype.type(exponent), out=np.empty_like(x))
    np.copyto(out, 0, where=x == 0)
    return out


pow_or_zero = pointwise(
    "pow_or_zero(input, *, exponent)",
    _pow_or_zero,
    derivative=lambda xp, input, exponent: exponent * xp.pow_or_zero(input, exponent=exponent - 1),
    complex=False,
    examples=[example("3x4", exponent=-0.5), example("", exponent=2.5)],
    domain=(0.5, 2.0),
    doc="""The power of a real number that is not negative; 0 with all its derivatives at 0.""",
)

# -- variance ------------------------------------------------------------------------------------


def norm_of(x: Any, *, ord: float, dim: Any, keepdim: bool) -> Any:
    if x.dtype.kind in "biu":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.legacy_name(x.dtype)}. Convert first: x.float()"
        )
    if x.dtype.char not in "fdFD":
        single = dtypes.converted(x, dtypes.float32.numpy)
        result = norm_of(single, ord=ord, dim=dim, keepdim=keepdim)
        return result.astype(x.dtype)
    if ord == 2:
        return np.sqrt(add_up(squares(x), dim, keepdim))
    size = np.abs(x)
    if math.isinf(ord):
        extreme: Any = np.maximum if ord > 0 else np.minimum
        start = 0 if ord > 0 else None
        return sums.reduced(extreme, size, dim, None, keepdim, start)
    if ord == 0:
        return add_up((size != 0).astype(size.dtype), dim, keepdim)
    if ord == 1:
        return add_up(size, dim, keepdim)
    return add_up(size**ord, dim, keepdim) ** (1 / ord)


def norm_input(xp: Any, g: Any, input: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if ord == 0:
        return xp.zeros_like(input)
    g = xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None)
    if ord == 1:
        return xp.mul(xp.sgn(input), g)
    if math.isinf(ord):
        share = xp.tie_share(xp.abs(input), out, dim=dim, keepdim=keepdim)
        return xp.mul(xp.sgn(input), shared(xp, g, share))
    size = xp.unreduce(out, dim=dim, keepdim=keepdim, shape=None)
    if ord == 2:
        return xp.mul(g, xp.div_or_zero(input, size))
    part = xp.div_or_zero(xp.abs(input), size)
    return xp.mul(xp.sgn(input) * xp.pow_or_zero(part, exponent=ord - 1), g)


_vector_norm_op = declare(
    "vector_norm(input, *, ord, dim, keepdim)",
    norm_of,
    input=norm_input,
    rows=True,
    examples=[
        example("3x4", ord=order, dim=(1,), keepdim=False)
        for order in (2.0, 1.0, 3.0, 0.5, 1.5, -1.0, math.inf, -math.inf)
    ]
    + [
        example("2x3", ord=2.0, dim=(0, 1), keepdim=True),
        example("", ord=3.0, dim=(), keepdim=False),
    ],
    domain=(0.5, 2.0),
    node_name="LinalgVectorNormBackward0",
)


@public(out=True)
def vector_norm(
    x: Tensor, ord: int | float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The vector norm `(sum |x|**ord) ** (1/ord)` of all elements or over `dim`; real.

    `ord` is any real number: inf and -inf give the largest and smallest modulus, 0 counts the
    nonzero elements (and has derivative 0). At 0 the gradient is 0. Raises RuntimeError for integer
    tensors, for a `dtype` that would narrow, and for an empty tensor where the norm needs an
    element; TypeError for an `ord` that is no number.

    >>> x = rg.tensor([3.0, 4.0])
    >>> rg.norm(x), rg.norm(x, 1)
    (tensor(5.), tensor(7.))
    """
    if isinstance(ord, (Tensor, np.generic)) and not ord.ndim:
        ord = number_in(ord, "linalg_vector_norm", "ord")
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm, but got "
            f"{ord}. Give {ord.real}"
        )
    if not isinstance(ord, (int, float)):
        raise wrong_type("linalg_vector_norm", "ord", "Number", ord, 2)
    dims = wrap_dims(x, dim)
    check_norm(x, ord, dims, dtype)
    return _vector_norm_op(converted(x, dtype), ord=float(ord), dim=dims, keepdim=keepdim)


def check_norm(x: Tensor, ord: float, dims: tuple[int, ...], dtype: Any) -> None:
    """Raise where `vector_norm` is not defined, or `dtype` does not suit."""
    if ord < 0 or math.isinf(ord):
        empty = [d for d in dims if x.shape[d] == 0]
        if empty:
            where = "an empty tensor" if len(dims) == x.ndim else f"the dimension {empty[0]}"
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on {where} because it is empty "
                "and the operation does not have an identity"
            )
    if dtype is None:
        return
    dtype = dtypes.of_numpy(dtypes.to_numpy(dtype))
    if dtype.category < 2:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{dtypes.legacy_name(dtype)}"
        )
    if x.dtype.is_complex and not dtype.is_complex:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be complex for complex inputs, but got "
            f"{dtypes.legacy_name(dtype)}"
        )
    if x.dtype.category >= 2 and dtypes.promote_types(x.dtype, dtype) != dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({dtypes.legacy_name(x.dtype)}) should be "
            "convertible without narrowing to the specified dtype "
            f"({dtypes.legacy_name(dtype)})"
        )


@public(methods="norm")
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """`vector_norm` under its old name: `p` is a number, or "fro" (or None) for 2.

    "nuc" is the sum of the singular values of the matrices in two dimensions `dim`. Raises
    RuntimeError for another string: matrix norms have functions of their own.

    >>> rg.norm(rg.tensor([[3.0, 4.0], [0.0, 0.0]]), dim=1)
    tensor([5., 0.])
    """
    if p is None or p == "fro":
        p = 2
    if p == "nuc":
        if out is not None:
            params = {"p": p, "dim": dim, "keepdim": keepdim, "dtype": dtype}
            return write_out(norm, out, (input,), params)  # type: ignore[no-any-return]
        return _nuclear(converted(input, dtype), wrap_dims(input, dim), keepdim)
    if isinstance(p, str):
        raise RuntimeError(
            f"norm(): Order {p} not supported; give a number, 'fro' or 'nuc'. Other matrix norms "
            "are in linalg."
        )
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def _nuclear(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum of the singular values of the matrices in the dimensions `dims`."""
    if len(dims) != 2:
        raise RuntimeError(
            f"norm(): the nuclear norm needs two dimensions, but got dim={list(dims)} for a tensor "
            f"of shape {list(input.shape)}. Write dim=(-2, -1)"
        )
    total: Tensor = recorded.svdvals(input.movedim(dims, (-2, -1))).sum(-1)
    if keepdim:
        return recorded.unreduce(total, dim=dims, keepdim=False, shape=None)
    return total


@public(methods="dist")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The `p`-norm of `input - other`, which broadcast; a 0-d tensor.

    Raises TypeError where `other` is no tensor.

    >>> rg.dist(rg.tensor([1.0, 2.0]), rg.tensor([4.0, 6.0]))
    tensor(5.)
    """
    if not isinstance(other, Tensor):
        raise wrong_type("dist", "other", "Tensor", other, 2)
    return name_node(vector_norm(recorded.sub(input, other), p), "DistBackward0")


@public(out=True, methods="renorm renorm_")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The entries along `dim` scaled down to the `p`-norm `maxnorm` where theirs is larger.

    Raises RuntimeError unless `p` is positive, `maxnorm` is not negative, and there are at least
    two dimensions.

    >>> rg.renorm(rg.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim}")
    at, input = wrap_dim(input, dim), input.contiguous()
    others = [d for d in range(input.ndim) if d != at]
    large = vector_norm(input.detach(), p, others, True) > maxnorm
    size = vector_norm(recorded.zero_where(input, ~large), p, others, True)  # no NaN of the rest
    one = constant_like(np.ones((), size._array.dtype), size)
    factor = recorded.where(large, maxnorm / (size + 1e-7), one)
    return name_node(recorded.mul(input, factor), "RenormBackward0")
