"""The records under attention: the results, and the gradient of all operands at once.

NOTE [Packed]
1. Query, key and value of one width are one input, `packed`, one after the other in the dimension
   before the last: so the gradient of all three is one result, for which scores are computed once.
2. In C no matrix of scores is made; memory grows with the length. NumPy makes one.
3. `stats` are each row's largest score and the inverse of its sum of exponentials, from which the
   gradient computes the weights anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.registry import declare, example
from ...kernels.allocation import empty, table
from ...kernels.native import attention as in_c
from ..linalg.bilinear import check_dtypes

add_reduce: Any = np.add.reduce  # Any: NumPy's stubs know no positional keepdims
maximum_reduce: Any = np.maximum.reduce


def parts(xp: Any, packed: Any, rows: int) -> tuple[Any, Any, Any]:
    """Query, key and value."""
    before, both = (slice(None),) * (len(packed.shape) - 2), rows + packed.shape[-2]
    cuts = (slice(rows), slice(rows, both // 2), slice(both // 2, None))
    query, key, value = [xp.slice(packed, index=(*before, cut)) for cut in cuts]
    return query, key, value


def scores_of(packed: Any, bias: Any, rows: int, scale: float, causal: bool) -> Any:
    """The matrix of scores."""
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


def _attention(packed: Any, bias: Any, *, rows: int, scale: float, causal: bool) -> Any:
    found = in_c.forward(packed, bias, rows, scale, causal)
    if found is not None:
        return found
    weights = scores_of(packed, bias, rows, scale, causal)
    stats = empty(weights, (*weights.shape[:-1], 2))
    stats[..., :1] = maximum_reduce(weights, -1, None, None, True, -np.inf)
    weights = np.exp(weights - stats[..., :1])
    stats[..., 1:] = 1.0 / add_reduce(weights, -1, None, None, True)
    value = packed[..., (rows + packed.shape[-2]) // 2 :, :]
    return np.matmul(weights * stats[..., 1:], value), stats


def _derivative(
    cotangent: Any, packed: Any, bias: Any, out: Any, stats: Any, *,
    rows: int, scale: float, causal: bool,
) -> Any:  # fmt: skip
    check_dtypes(cotangent, packed)
    if stats is None:
        out, stats = _attention(packed, bias, rows=rows, scale=scale, causal=causal)
    found = in_c.derivative(cotangent, packed, bias, out, stats, rows, scale, causal)
    if found is not None:
        return found
    half = (rows + packed.shape[-2]) // 2
    weights = np.exp(scores_of(packed, bias, rows, scale, causal) - stats[..., :1])
    weights *= stats[..., 1:]
    slopes = np.matmul(cotangent, packed[..., half:, :].swapaxes(-1, -2))
    slopes -= add_reduce(cotangent * out, -1, None, None, True)
    slopes *= weights
    slopes *= scale
    made = empty(packed, packed.shape)
    made[..., :rows, :] = np.matmul(slopes, packed[..., rows:half, :])
    made[..., rows:half, :] = np.matmul(slopes.swapaxes(-1, -2), packed[..., :rows, :])
    made[..., half:, :] = np.matmul(weights.swapaxes(-1, -2), cotangent)
    return made


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


def derivative_cotangent(
    xp: Any, g: Any, packed: Any, bias: Any, rows: int, scale: float, causal: bool
) -> Any:
    """The share of the cotangent, in which the derivative is linear."""
    query, key, value = parts(xp, packed, rows)
    to_query, to_key, to_value = parts(xp, g, rows)
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    bent = xp.matmul(to_query, xp.adjoint(key)) + xp.matmul(query, xp.adjoint(to_key))
    return xp.matmul(weights, to_value) + xp.matmul(within(xp, bent * scale, weights), value)


def derivative_packed(
    xp: Any, g: Any, cotangent: Any, packed: Any, bias: Any, rows: int, scale: float, causal: bool
) -> Any:
    """The share of query, key and value."""
    query, key, value = parts(xp, packed, rows)
    to_query, to_key, to_value = parts(xp, g, rows)
    weights = weights_of(xp, packed, bias, rows, scale, causal)
    steep = xp.matmul(cotangent, xp.adjoint(value))
    slopes = within(xp, steep, weights) * scale
    bent = xp.matmul(to_query, xp.adjoint(key)) + xp.matmul(query, xp.adjoint(to_key))
    bent = bent * scale
    last = (len(packed.shape) - 1,)
    of_weights = (
        bent * (steep - xp.sum_dim(weights * steep, dim=last, keepdim=True))
        - steep * xp.sum_dim(weights * bent, dim=last, keepdim=True)
        + xp.matmul(cotangent, xp.adjoint(to_value))
    )
    of_scores = within(xp, of_weights, weights) * scale
    shares = (
        xp.matmul(of_scores, key) + xp.matmul(slopes, to_key),
        xp.matmul(xp.adjoint(of_scores), query) + xp.matmul(xp.adjoint(slopes), to_query),
        xp.matmul(xp.adjoint(within(xp, bent, weights)), cotangent),
    )
    return xp.cat(*shares, dim=len(packed.shape) - 2)


attention = declare(
    "attention(packed, bias, *, rows, scale, causal) -> out, stats",
    _attention,
    packed=lambda xp, g, packed, bias, out, stats, rows, scale, causal: xp.attention_derivative(
        g, packed, bias, out, stats, rows=rows, scale=scale, causal=causal
    ),
    complex=False,
    nondiff=["stats"],
    batch="leading",
    examples=[
        example("8x2, none", rows=2, scale=0.5, causal=False),
        example("2x7x2, none", rows=3, scale=0.5, causal=True),
        example("2x8x3, 2x2x3", rows=2, scale=1.0, causal=False),
    ],
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    doc="""softmax(query @ key^T * scale + bias) @ value, of `rows` queries; NOTE [Packed].""",
)

declare(
    "attention_derivative(cotangent, packed, bias, out, stats, *, rows, scale, causal)",
    _derivative,
    cotangent=derivative_cotangent,
    packed=derivative_packed,
    complex=False,
    batch="leading",
    examples=[
        example("2x2, 8x2, none, none, none", rows=2, scale=0.5, causal=False),
        example("2x3x2, 2x7x2, none, none, none", rows=3, scale=0.5, causal=True),
        example("2x2x3, 2x8x3, 2x2x3, none, none", rows=2, scale=1.0, causal=False),
    ],
    doc="""The gradient of `attention`: of query, key and value in one; NOTE [Packed].
    What `attention` gave may be left out.""",
)
