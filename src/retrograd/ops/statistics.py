"""Variance and standard deviation, and norms of vectors.

Subgradients: the standard deviation of equal elements and every norm at 0 have gradient 0, of the
minimum norm; so do their own derivatives, since `div_or_zero` and `pow_or_zero` are closed under
differentiation. Elements that share a maximum norm share the cotangent evenly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..engine.dispatch import write_out
from ..engine.inplace import in_place
from ..engine.op import declare, example, recorded
from ..engine.tensor import Tensor, method, new_tensor
from .axes import wrap_dim, wrap_dims
from .names import renamed
from .pointwise import shared
from .reduce import DIMS, add_up, converted, count, legacy, mean

__all__ = ["dist", "norm", "renorm", "std", "std_mean", "var", "var_mean"]

# -- structure -----------------------------------------------------------------------------------


def _div_or_zero(x: Any, y: Any) -> Any:
    out = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, y))
    return np.divide(x, y, out=out, where=y != 0)


div_or_zero = declare(
    "div_or_zero(input, other)",
    _div_or_zero,
    input=lambda xp, g, other: xp.div_or_zero(g, xp.conj(other)),
    other=lambda xp, g, other, out: -xp.div_or_zero(g * xp.conj(out), xp.conj(other)),
    linear="input",
    elementwise=True,
    inplace=False,
    examples=[example("3x4, 3x4"), example("3x1, 4"), example(", ")],
    domain=(0.5, 2.0),
    doc="""The quotient, and 0 with all its derivatives where the divisor is 0.""",
)


def _pow_or_zero(x: Any, *, exponent: float) -> Any:
    out = np.zeros(x.shape, x.dtype)
    return np.power(x, x.dtype.type(exponent), out=out, where=x != 0)


pow_or_zero = declare(
    "pow_or_zero(input, *, exponent)",
    _pow_or_zero,
    slope=lambda xp, input, exponent: exponent * xp.pow_or_zero(input, exponent=exponent - 1),
    elementwise=True,
    inplace=False,
    complex=False,
    examples=[example("3x4", exponent=-0.5), example("", exponent=2.5)],
    domain=(0.5, 2.0),
    doc="""The power of a real number that is not negative; 0 with all its derivatives at 0.""",
)

# -- variance ------------------------------------------------------------------------------------


def squares(x: Any) -> Any:
    """|x|², real."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def _var(x: Any, *, dim: Any, correction: float, keepdim: bool) -> Any:
    if x.dtype.kind in "biu":
        raise RuntimeError(
            "std and var only support floating point and complex dtypes, not "
            f"{legacy(x.dtype)}. Convert first: x.float().var()"
        )
    if x.dtype.char not in "fdFD":
        wide = _var(x.astype(np.float32), dim=dim, correction=correction, keepdim=keepdim)
        return wide.astype(x.dtype)
    n = count(x.shape, dim)
    centre = np.true_divide(add_up(x, dim, True), n)
    return np.true_divide(add_up(squares(x - centre), dim, keepdim), max(n - correction, 0))


def scale(shape: tuple[int, ...], dim: Any, correction: float) -> float:
    """2 / (n - correction); infinite without degrees of freedom, as the variance is."""
    n = count(shape, dim)
    if n == 0:
        return 0.0
    return 2.0 / (n - correction) if n > correction else math.inf


def centred(xp: Any, input: Any, dim: Any) -> Any:
    """The input less its mean over `dim`."""
    return input - xp.mean_dim(input, dim=dim, keepdim=True)


SPREADS = [example(e.specs[0], correction=1, **e.params) for e in DIMS[:3]]
SPREADS += [example("4", correction=0, dim=(0,), keepdim=False)]

_var_op = declare(
    "var(input, *, dim, correction, keepdim)",
    _var,
    input=lambda xp, g, input, dim, correction, keepdim, input_shape: (
        xp.unreduce(g * scale(input_shape, dim, correction), dim=dim, keepdim=keepdim, shape=None)
        * centred(xp, input, dim)
    ),
    examples=SPREADS,
)

_std_op = declare(
    "std(input, *, dim, correction, keepdim)",
    lambda input, *, dim, correction, keepdim: np.sqrt(
        _var(input, dim=dim, correction=correction, keepdim=keepdim)
    ),
    input=lambda xp, g, input, out, dim, correction, keepdim, input_shape: (
        xp.unreduce(
            xp.div_or_zero(g, out) * (scale(input_shape, dim, correction) / 2),
            dim=dim,
            keepdim=keepdim,
            shape=None,
        )
        * centred(xp, input, dim)
    ),
    examples=SPREADS,
)


def _spread_args(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, float]:
    """`dim` and the correction; a bool in the place of `dim` is the old `unbiased`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
    **names: Any,
) -> Tensor:
    """Variance of all elements or over `dim`: the sum of |x - mean|² over `n - correction`.

    `correction` is 1 by default; the older `unbiased=False` means 0. Real for complex input. NaN or
    infinite where `n <= correction`. Raises RuntimeError for integers. Source: PyTorch's `var`.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0, 3.0])
    >>> rg.var(x), rg.var(x, correction=0)
    (tensor(1.), tensor(0.6667))
    """
    if names:
        return renamed(var, locals())
    dim, correction = _spread_args(dim, unbiased, correction)
    if out is not None:
        params = {"dim": dim, "keepdim": keepdim, "correction": correction}
        return write_out(var, out, (input,), params)  # type: ignore[no-any-return]
    return _var_op(  # type: ignore[no-any-return]
        input, dim=wrap_dims(input, dim), correction=correction, keepdim=keepdim
    )


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
    **names: Any,
) -> Tensor:
    """Standard deviation, the square root of `var`; arguments and errors as there.

    Where it is 0 its derivative is taken as 0. Source: PyTorch's `std`.

    >>> import retrograd as rg
    >>> rg.std(rg.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    if names:
        return renamed(std, locals())
    dim, correction = _spread_args(dim, unbiased, correction)
    if out is not None:
        params = {"dim": dim, "keepdim": keepdim, "correction": correction}
        return write_out(std, out, (input,), params)  # type: ignore[no-any-return]
    return _std_op(  # type: ignore[no-any-return]
        input, dim=wrap_dims(input, dim), correction=correction, keepdim=keepdim
    )


def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    **names: Any,
) -> tuple[Tensor, Tensor]:
    """The pair (`var`, `mean`) with the same arguments.

    >>> import retrograd as rg
    >>> rg.var_mean(rg.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if names:
        return renamed(var_mean, locals())
    dim, correction = _spread_args(dim, unbiased, correction)
    spread = var(input, dim, keepdim=keepdim, correction=correction)
    return spread, mean(input, dim, keepdim)


def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    **names: Any,
) -> tuple[Tensor, Tensor]:
    """The pair (`std`, `mean`) with the same arguments.

    >>> import retrograd as rg
    >>> rg.std_mean(rg.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if names:
        return renamed(std_mean, locals())
    dim, correction = _spread_args(dim, unbiased, correction)
    spread = std(input, dim, keepdim=keepdim, correction=correction)
    return spread, mean(input, dim, keepdim)


# -- norms ---------------------------------------------------------------------------------------


def norm_of(x: Any, *, ord: float, dim: Any, keepdim: bool) -> Any:
    if x.dtype.kind in "biu":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{legacy(x.dtype)}. Convert first: x.float()"
        )
    if x.dtype.char not in "fdFD":
        wide = norm_of(x.astype(np.float32), ord=ord, dim=dim, keepdim=keepdim)
        return wide.astype(x.dtype)
    if ord == 2:
        return np.sqrt(add_up(squares(x), dim, keepdim))
    size = np.abs(x)
    if math.isinf(ord):
        extreme: Any = np.maximum if ord > 0 else np.minimum
        start = 0 if ord > 0 else None
        return extreme.reduce(size, dim, None, None, keepdim, start)
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
        return g * xp.sgn(input)
    if math.isinf(ord):
        share = xp.tie_share(xp.abs(input), out, dim=dim, keepdim=keepdim)
        return shared(xp, g, share) * xp.sgn(input)
    size = xp.unreduce(out, dim=dim, keepdim=keepdim, shape=None)
    if ord == 2:
        return g * xp.div_or_zero(input, size)
    part = xp.div_or_zero(xp.abs(input), size)
    if ord > 2:
        return g * xp.div_or_zero(input, size) * xp.pow_or_zero(part, exponent=ord - 2)
    return g * xp.sgn(input) * xp.pow_or_zero(part, exponent=ord - 1)


_vector_norm_op = declare(
    "vector_norm(input, *, ord, dim, keepdim)",
    norm_of,
    input=norm_input,
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


def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    **names: Any,
) -> Tensor:
    """The vector norm `(sum |x|**ord) ** (1/ord)` of all elements or over `dim`; real.

    `ord` is any real number: inf and -inf give the largest and smallest modulus, 0 counts the
    nonzero elements (and has derivative 0). At 0 the gradient is 0. Raises RuntimeError for integer
    tensors, for a `dtype` that would narrow, and for an empty tensor where the norm needs an
    element; TypeError for an `ord` that is no number. Source: PyTorch's `linalg.vector_norm`.

    >>> import retrograd as rg
    >>> x = rg.tensor([3.0, 4.0])
    >>> rg.norm(x), rg.norm(x, 1)
    (tensor(5.), tensor(7.))
    """
    if names:
        return renamed(vector_norm, locals())
    if out is not None:
        params = {"ord": ord, "dim": dim, "keepdim": keepdim, "dtype": dtype}
        return write_out(vector_norm, out, (x,), params)  # type: ignore[no-any-return]
    if not isinstance(ord, (int, float)):
        raise TypeError(
            "linalg_vector_norm(): argument 'ord' (position 2) must be Number, not "
            f"{type(ord).__name__}"
        )
    dims = wrap_dims(x, dim)
    check_norm(x, ord, dims, dtype)
    return _vector_norm_op(  # type: ignore[no-any-return]
        converted(x, dtype), ord=float(ord), dim=dims, keepdim=keepdim
    )


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
    if dtype.category < 2:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{legacy(dtype.numpy)}"
        )
    if x.dtype.is_complex and not dtype.is_complex:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be complex for complex inputs, but got "
            f"{legacy(dtype.numpy)}"
        )
    if x.dtype.category >= 2 and dtypes.promote_types(x.dtype, dtype) != dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({legacy(x.dtype.numpy)}) should be "
            "convertible without narrowing to the specified dtype "
            f"({legacy(dtype.numpy)})"
        )


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
    RuntimeError for another string: matrix norms have functions of their own. Source: PyTorch's
    `norm`.

    >>> import retrograd as rg
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
    total: Tensor = input.movedim(dims, (-2, -1)).svd()[1].sum(-1)
    if keepdim:
        return recorded.unreduce(total, dim=dims, keepdim=False, shape=None)  # type: ignore[no-any-return]
    return total


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The `p`-norm of `input - other`, which broadcast; a 0-d tensor. Source: PyTorch's `dist`.

    >>> import retrograd as rg
    >>> rg.dist(rg.tensor([1.0, 2.0]), rg.tensor([4.0, 6.0]))
    tensor(5.)
    """
    return vector_norm(recorded.sub(input, other), p)


def renorm(
    input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None
) -> Tensor:
    """The entries along `dim` scaled down to the `p`-norm `maxnorm` where theirs is larger.

    Raises RuntimeError unless `p` is positive, `maxnorm` is not negative, and there are at least
    two dimensions. Source: PyTorch's `renorm`.

    >>> import retrograd as rg
    >>> rg.renorm(rg.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    if out is not None:
        return write_out(renorm, out, (input, p, dim, maxnorm), {})  # type: ignore[no-any-return]
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim}")
    at = wrap_dim(input, dim)
    size = vector_norm(input, p, [d for d in range(input.ndim) if d != at], True)
    one = new_tensor(np.ones((), size._array.dtype))
    factor = recorded.where(size > maxnorm, maxnorm / (size + 1e-7), one)
    return recorded.mul(input, factor)  # type: ignore[no-any-return]


for function in (var, std, norm, dist, renorm):
    method(function)
method(in_place(renorm))
