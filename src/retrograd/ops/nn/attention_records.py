"""The records under attention: the results, and the gradient of all operands at once.

NOTE [Packed]
1. Query, key and value of one width are one input, `packed`, one after the other in the dimension
   before the last: so the gradient of all three is one result, for which scores are computed once.
2. In C no matrix of scores is made; memory grows with the length. NumPy makes one.
3. `stats` are each row's largest score and the inverse of its sum of exponentials, from which the
   gradient computes the weights anew.
4. `bias` has as many dimensions as `packed`, and broadcasts to the scores. Its gradient is made in
   its own shape.
5. With `states` of the generator, one for each `ROWS` rows of each head, weights are dropped: they
   are kept with probability `keep`, and multiplied by its inverse. Every pass draws the same mask.
6. `swapped` results lie in memory as (..., rows, heads, width), a view of which they are;
   so does a `swapped_grad`, the gradient of `packed`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.op import parameters_of
from ...engine.registry import declare, example
from ...kernels import sums
from ...kernels.allocation import empty, table
from ...kernels.native import attention as in_c
from ...kernels.native import twister
from ..core.pointwise import single
from ..linalg.bilinear import check_dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

add_reduce: Any = np.add.reduce  # Any: NumPy's stubs know no positional keepdims


def parts(xp: Any, packed: Any, rows: int) -> tuple[Any, Any, Any]:
    """Query, key and value as views of the packed array."""
    before, both = (slice(None),) * (len(packed.shape) - 2), rows + packed.shape[-2]
    cuts = (slice(rows), slice(rows, both // 2), slice(both // 2, None))
    query, key, value = [xp.slice(packed, index=(*before, cut)) for cut in cuts]
    return query, key, value


def scores_of(packed: Any, bias: Any, rows: int, scale: float, causal: bool) -> Any:
    """The matrix of scores, query by key, scaled, with the bias and the causal mask."""
    columns = (packed.shape[-2] - rows) // 2
    query, key = packed[..., :rows, :], packed[..., rows : rows + columns, :]
    scores = np.matmul(query, key.swapaxes(-1, -2))
    scores *= scale
    if bias is not None:
        check_dtypes(scores, bias)
        scores += bias
    if causal:
        seen = table(packed, np.tri(rows, columns, dtype=np.bool_))
        scores = np.where(seen, scores, scores.dtype.type(-math.inf))
    return scores


def _kept(states: Any, *, rows: int, columns: int, keep: float) -> Any:
    drawn = twister.keep_masks(states, in_c.ROWS * columns, keep)
    whole = drawn.reshape(*states.shape[:-2], states.shape[-2] * in_c.ROWS, columns)
    return whole[..., :rows, :]


def dropped(xp: Any, x: Any, states: Any, keep: float) -> Any:
    """Weights, or their gradient, multiplied by the mask; NOTE [Packed], 5."""
    if states is None:
        return x
    rows, columns = x.shape[-2:]
    kept = xp.attention_kept(states, rows=rows, columns=columns, keep=keep)
    return xp.masked_scale(x, kept, scale=1.0 / keep if keep else 0.0)


def _attention(
    xp: Any, packed: Any, bias: Any, states: Any, *, rows: int, scale: float, causal: bool,
    keep: float, swapped: bool = False, swapped_grad: bool = False,
) -> Any:  # fmt: skip
    found = in_c.forward(packed, bias, states, rows, scale, causal, keep, swapped)
    if found is not None:
        return found
    weights = scores_of(packed, bias, rows, scale, causal)
    stats = empty(weights, (*weights.shape[:-1], 2))
    stats[..., :1] = sums.reduced(np.maximum, weights, (weights.ndim - 1,), None, True, -np.inf)
    weights = np.exp(weights - stats[..., :1])
    stats[..., 1:] = 1.0 / add_reduce(weights, -1, None, None, True)
    value = packed[..., (rows + packed.shape[-2]) // 2 :, :]
    weights = dropped(xp, weights * stats[..., 1:], states, keep)
    if not swapped:
        return np.matmul(weights, value), stats
    out = in_c.empty_result(packed, rows, swapped)
    out[...] = np.matmul(weights, value)
    return out, stats


def slopes_of(
    xp: Any, cotangent: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any, rows: int,
    scale: float, causal: bool, keep: float,
) -> Any:  # fmt: skip
    """The weights, and the gradient of the scores, by matrices."""
    half = (rows + packed.shape[-2]) // 2
    weights = np.exp(scores_of(packed, bias, rows, scale, causal) - stats[..., :1])
    weights *= stats[..., 1:]
    slopes = np.matmul(cotangent, packed[..., half:, :].swapaxes(-1, -2))
    slopes = dropped(xp, slopes, states, keep) - add_reduce(cotangent * out, -1, None, None, True)
    slopes *= weights
    return weights, slopes


def _derivative(
    xp: Any, cotangent: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any, *,
    swapped: bool, **params: Any,
) -> Any:  # fmt: skip
    check_dtypes(cotangent, packed)
    if stats is None:
        out, stats = _attention(xp, packed, bias, states, **params)
    made = in_c.empty_result(packed, packed.shape[-2], swapped)
    if in_c.derivative(made, cotangent, packed, bias, out, stats, states, **params):
        return made
    rows = params["rows"]
    half = (rows + packed.shape[-2]) // 2
    weights, slopes = slopes_of(xp, cotangent, packed, bias, out, stats, states, **params)
    weights, slopes = dropped(xp, weights, states, params["keep"]), slopes * params["scale"]
    made[..., :rows, :] = np.matmul(slopes, packed[..., rows:half, :])
    made[..., rows:half, :] = np.matmul(slopes.swapaxes(-1, -2), packed[..., :rows, :])
    made[..., half:, :] = np.matmul(weights.swapaxes(-1, -2), cotangent)
    return made


def _bias_derivative(
    xp: Any, cotangent: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any,
    **params: Any,
) -> Any:  # fmt: skip
    check_dtypes(cotangent, packed)
    if stats is None:
        out, stats = _attention(xp, packed, bias, states, **params)
    found = in_c.bias_derivative(cotangent, packed, bias, out, stats, states, **params)
    if found is not None:
        return found
    slopes = slopes_of(xp, cotangent, packed, bias, out, stats, states, **params)[1]
    spread = [d for d, size in enumerate(bias.shape) if size != slopes.shape[d]]
    return add_reduce(slopes, tuple(spread), None, None, True)


def within(xp: Any, x: Any, weights: Any) -> Any:
    """The derivative of softmax along the last dimension."""
    inward = weights * x
    dim = (len(weights.shape) - 1,)
    return inward - weights * xp.sum_dim(inward, dim=dim, keepdim=True)


def weights_of(xp: Any, packed: Any, bias: Any, rows: int, scale: float, causal: bool) -> Any:
    """The matrix of weights, differentiable."""
    query, key, _ = parts(xp, packed, rows)
    scores = xp.matmul(query, xp.adjoint(key)) * scale
    if bias is not None:
        scores = scores + bias
    if causal:
        zeros = xp.zeros_like(scores)
        scores = xp.where(xp.tril(zeros + 1.0, diagonal=0) > 0, scores, zeros - math.inf)
    return xp.softmax(scores, dim=(len(packed.shape) - 1,))


def bent_by(xp: Any, g: Any, packed: Any, rows: int, scale: float) -> Any:
    """What a change of query and key does to the scores."""
    (query, key, _), (to_query, to_key, _) = parts(xp, packed, rows), parts(xp, g, rows)
    return (xp.matmul(to_query, xp.adjoint(key)) + xp.matmul(query, xp.adjoint(to_key))) * scale


def second(xp: Any, bent: Any, steep: Any, weights: Any, further: Any = 0.0) -> Any:
    """The share of the scores in the gradient's derivative: where they change by `bent`, and the
    gradient of the weights, `steep`, changes by `further`."""
    last = (len(weights.shape) - 1,)
    of_weights = bent * (steep - xp.sum_dim(weights * steep, dim=last, keepdim=True))
    of_weights = of_weights - steep * xp.sum_dim(weights * bent, dim=last, keepdim=True)
    return within(xp, of_weights + further, weights)


def in_single(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula, which takes half floats in float32."""

    @functools.wraps(formula)
    def widened(xp: Any, *values: Any) -> Any:
        return formula(xp, *[single(xp, v) if hasattr(v, "dtype") else v for v in values])

    widened.parameters = parameters_of(formula)  # type: ignore[attr-defined]
    return widened


@in_single
def derivative_cotangent(
    xp: Any, g: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float, causal: bool,
    keep: float,
) -> Any:  # fmt: skip
    """The share of the cotangent, in which the derivative is linear."""
    value, to_value = parts(xp, packed, rows)[2], parts(xp, g, rows)[2]
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    bent = within(xp, bent_by(xp, g, packed, rows, scale), weights)
    return xp.matmul(dropped(xp, weights, states, keep), to_value) + xp.matmul(
        dropped(xp, bent, states, keep), value
    )


@in_single
def derivative_bias(
    xp: Any, g: Any, cotangent: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float,
    causal: bool, keep: float,
) -> Any:  # fmt: skip
    """The share of the scores, and so of the bias."""
    value, to_value = parts(xp, packed, rows)[2], parts(xp, g, rows)[2]
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    steep, further = [
        dropped(xp, xp.matmul(cotangent, xp.adjoint(v)), states, keep) for v in (value, to_value)
    ]
    return second(xp, bent_by(xp, g, packed, rows, scale), steep, weights, further)


@in_single
def derivative_packed(
    xp: Any, g: Any, cotangent: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float,
    causal: bool, keep: float,
) -> Any:  # fmt: skip
    """The share of query, key and value."""
    query, key, value = parts(xp, packed, rows)
    to_query, to_key, to_value = parts(xp, g, rows)
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    steep, further = [
        dropped(xp, xp.matmul(cotangent, xp.adjoint(v)), states, keep) for v in (value, to_value)
    ]
    slopes = within(xp, steep, weights) * scale
    bent = bent_by(xp, g, packed, rows, scale)
    of_scores = second(xp, bent, steep, weights, further) * scale
    shares = (
        xp.matmul(of_scores, key) + xp.matmul(slopes, to_key),
        xp.matmul(xp.adjoint(of_scores), query) + xp.matmul(xp.adjoint(slopes), to_query),
        xp.matmul(xp.adjoint(dropped(xp, within(xp, bent, weights), states, keep)), cotangent),
    )
    return xp.cat(*shares, dim=len(packed.shape) - 2)


@in_single
def bias_cotangent(
    xp: Any, g: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float, causal: bool,
    keep: float,
) -> Any:  # fmt: skip
    """As `derivative_cotangent`, where the scores change by `g`."""
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    bent = dropped(xp, within(xp, g, weights), states, keep)
    return xp.matmul(bent, parts(xp, packed, rows)[2])


@in_single
def bias_bias(
    xp: Any, g: Any, cotangent: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float,
    causal: bool, keep: float,
) -> Any:  # fmt: skip
    """As `derivative_bias`, where the scores change by `g`."""
    value = parts(xp, packed, rows)[2]
    steep = dropped(xp, xp.matmul(cotangent, xp.adjoint(value)), states, keep)
    return second(xp, g, steep, weights_of(xp, packed, bias, rows, scale, causal))


@in_single
def bias_packed(
    xp: Any, g: Any, cotangent: Any, packed: Any, bias: Any, states: Any, rows: int, scale: float,
    causal: bool, keep: float,
) -> Any:  # fmt: skip
    """As `derivative_packed`, where the scores change by `g`."""
    query, key, value = parts(xp, packed, rows)
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    steep = dropped(xp, xp.matmul(cotangent, xp.adjoint(value)), states, keep)
    of_scores = second(xp, g, steep, weights) * scale
    bent = dropped(xp, within(xp, g, weights), states, keep)
    shares = (
        xp.matmul(of_scores, key),
        xp.matmul(xp.adjoint(of_scores), query),
        xp.matmul(xp.adjoint(bent), cotangent),
    )
    return xp.cat(*shares, dim=len(packed.shape) - 2)


declare(
    "attention_kept(states, *, rows, columns, keep)",
    _kept,
    batch="leading",
    examples=[example("1x625:int<9", rows=2, columns=3, keep=0.5)],
    doc="""Which weights of so many rows and columns are kept; NOTE [Packed].""",
)


def attention_packed(
    xp: Any, g: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any, rows: int,
    scale: float, causal: bool, keep: float, swapped_grad: bool,
) -> Any:  # fmt: skip
    """The gradient of query, key and value."""
    return xp.attention_derivative(
        g, packed, bias, out, stats, states, rows=rows, scale=scale, causal=causal, keep=keep,
        swapped=swapped_grad,
    )  # fmt: skip


ROWWISE = {"swapped": False, "swapped_grad": False}
SWAPPED = {"swapped": True, "swapped_grad": True}


def _flops(results: Any, packed: Any, *rest: Any, rows: int, **params: Any) -> int:
    """The operations of the scores and of the weighted values."""
    *before, length, width = packed.shape
    return int(4 * math.prod(before) * rows * (length - rows) // 2 * width)


attention = declare(
    "attention(packed, bias, states, *, rows, scale, causal, keep, swapped, swapped_grad)"
    " -> out, stats",
    _attention,
    packed=attention_packed,
    bias=lambda xp, g, packed, bias, out, stats, states, rows, scale, causal, keep: (
        xp.attention_bias_derivative(
            g, packed, bias, out, stats, states, rows=rows, scale=scale, causal=causal, keep=keep
        )
    ),
    complex=False,
    nondiff=["stats"],
    batch="leading",
    examples=[
        example("8x2, none, none", rows=2, scale=0.5, causal=False, keep=1.0, **ROWWISE),
        example("2x7x2, none, none", rows=3, scale=0.5, causal=True, keep=1.0, **SWAPPED),
        example("2x8x3, 1x2x3, none", rows=2, scale=1.0, causal=False, keep=1.0, **ROWWISE),
        example(
            "2x7x2, 2x1x2, 2x1x625:int<9", rows=3, scale=0.5, causal=False, keep=0.7, **SWAPPED
        ),
    ],
    flops=_flops,
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    doc="""softmax(query @ key^T * scale + bias) @ value, of `rows` queries; NOTE [Packed].""",
)

GIVEN = "cotangent, packed, bias, out, stats, states, *, rows, scale, causal, keep"


def with_bias(**params: Any) -> list[Any]:
    """Two examples with a bias, for the laws: without dropout and with it."""
    params = {"causal": False, **params}
    return [
        example("2x2x4, 2x8x4, 1x2x3, none, none, none", rows=2, scale=1.0, keep=1.0, **params),
        example("2x3x2, 2x7x2, 2x1x2, none, none, 2x1x625:int<9", rows=3, scale=0.5, keep=0.7,
                **params),
    ]  # fmt: skip


declare(
    f"attention_derivative({GIVEN}, swapped)",
    _derivative,
    cotangent=derivative_cotangent,
    packed=derivative_packed,
    bias=derivative_bias,
    complex=False,
    batch="leading",
    examples=[
        example(
            "2x2, 8x2, none, none, none, none",
            rows=2,
            scale=0.5,
            causal=False,
            keep=1.0,
            swapped=False,
        ),
        example(
            "2x3x2, 2x7x2, none, none, none, none",
            rows=3,
            scale=0.5,
            causal=True,
            keep=1.0,
            swapped=True,
        ),
        *with_bias(swapped=False),
    ],
    doc="""The gradient of `attention`: of query, key and value in one; NOTE [Packed].
    What `attention` gave may be left out.""",
)

declare(
    f"attention_bias_derivative({GIVEN})",
    _bias_derivative,
    cotangent=bias_cotangent,
    packed=bias_packed,
    bias=bias_bias,
    complex=False,
    batch="leading",
    examples=with_bias(),
    doc="""The gradient of the bias of `attention`, which may be left out as there.""",
)
