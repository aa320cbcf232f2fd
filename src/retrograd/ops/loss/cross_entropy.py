"""Cross-entropy of class indices, fused: the records behind the usual case of `classification`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiler.door import opened
from ...engine.registry import declare, example
from ...kernels import sums
from ...kernels.allocation import has_special, table
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ..core import batching
from ..core.engine_ops import ones
from ..core.pointwise import shared


def places_of(input: Any, target: Any) -> Any:
    """The flat indices of the target classes."""
    return table(target, np.arange(0, input.size, input.shape[1] or 1)) + target


def row_sums(x: Any) -> Any:
    """Sums along the last axis; short ones by a product with ones, in half the time."""
    count = x.shape[-1]
    small = count < sums.MANY and x.size < sums.LARGE and not has_special(x)
    if small and x.dtype.char in "fd":
        return x.dot(table(x, ones(count, x.dtype.char)))
    return sums.total(x, (x.ndim - 1,))


def _extents(x: Any) -> tuple[Any, Any]:
    """The rows' maxima, as a column, and the sums of exponentials measured from them."""
    tops = sums.reduced(np.maximum, x, (1,), None, True, -np.inf)
    exps = x - tops
    np.exp(exps, exps)
    return tops, row_sums(exps)


def _exponentials(x: Any, tops: Any, factors: Any) -> Any:
    """Exponentials of rows measured from their maxima, times a factor of each row."""
    out = x - tops
    np.exp(out, out)
    out *= factors
    return out


extents = opened(_extents, "cross_entropy, rows", True)
exponentials = opened(_exponentials, "cross_entropy, exponentials")


@quick("cross_entropy")
def _cross_entropy_forward(
    input: Any, target: Any, share: Any, *, scale: float, rows: list[Any] | None
) -> Any:
    tops, totals = extents(input)
    if rows is not None:
        rows[:] = tops, totals
    loss = np.log(totals) - (input.take(places_of(input, target)) - tops.ravel())
    if share is not None:
        each = share[:, 0]
        loss = np.where(each == 0, 0, loss * each)  # an ignored sample may be infinite
    return row_sums(loss) * scale


@quick("cross_entropy_derivative")
def _cross_entropy_derivative(
    cotangent: Any, input: Any, target: Any, share: Any, *, scale: float, rows: list[Any] | None
) -> Any:
    tops, totals = rows or extents(input)
    factor = cotangent * scale if share is None else cotangent * scale * share[:, 0]
    # places count in row-major order
    out = in_rows(exponentials(input, tops, (factor / totals)[:, None]))
    out.reshape(-1)[places_of(input, target)] -= factor
    if share is not None:
        np.copyto(out, 0, where=share == 0)
    return out


@quick("nll")
def _nll_forward(input: Any, target: Any, *, total: float) -> Any:
    return np.add.reduce(-input.take(places_of(input, target))) / total


nll = declare(
    "nll(input, target, *, total)",
    _nll_forward,
    input=lambda xp, g, target, input_shape, total: xp.put_along(
        xp.spread(-g / total, shape=(input_shape[0], 1)),
        xp.unsqueeze(target, dims=(1,)),
        dim=1,
        shape=input_shape,
    ),
    linear="input",
    piecewise=True,
    batch=batching.nll,
    examples=[example("3x4, 3:int<4", total=3.0), example("1x2, 1:int<2", total=2.0)],
    node_name="NllLossBackward0",
    doc="""Minus the sum of `input[i, target[i]]`, divided by `total`: one node instead of five, a
    sixth of the time for few rows.""",
)


def derivative_cotangent(
    xp: Any, g: Any, cotangent: Any, input: Any, target: Any, share: Any, scale: float, rows: Any
) -> Any:
    """The cotangent of the loss's cotangent: g times the derivative; an ignored sample has none."""
    one = xp.zeros_like(cotangent) + 1.0
    derivative = xp.cross_entropy_derivative(one, input, target, share, scale=scale, rows=rows)
    return g * derivative if share is None else xp.zero_where(g, share == 0) * derivative


def derivative_input(xp: Any, g: Any, cotangent: Any, input: Any, share: Any, scale: float) -> Any:
    """The Hessian of the loss, times g: p (g - sum(p g)) for each sample, with its share."""
    p = xp.softmax(input, dim=(1,))
    inward = p * g
    factor = 0.0 if math.isnan(scale) else scale  # NaN: every sample is ignored
    out = (inward - p * xp.sum_to(inward, shape=(input.shape[0], 1))) * (cotangent * factor)
    return out if share is None else shared(xp, out, share)


fused_cross_entropy = declare(
    "cross_entropy(input, target, share, *, scale, rows)",
    _cross_entropy_forward,
    input=lambda xp, g, input, target, share, scale, rows: xp.cross_entropy_derivative(
        g, input, target, share, scale=scale, rows=rows
    ),
    complex=False,
    batch=batching.cross_entropy,
    examples=[
        example("3x4, 3:int<4, none", scale=0.5, rows=None),
        example("3x4, 3:int<4, 3x1", scale=1.0, rows=None),
        example("0x4, 0:int<4, none", scale=1.0, rows=None),
    ],
    node_name="NllLossBackward0",
    doc="""Sum of `share * (logsumexp(input) - input[target])` over the rows, times `scale`. Fused,
    as the loss of most classifiers: it is one node instead of four. `rows` is None, or an empty
    list into which many logits put what the derivative needs again: their rows' maxima and sums of
    exps, where a composition keeps the logarithms of all probabilities.""",
)

declare(
    "cross_entropy_derivative(cotangent, input, target, share, *, scale, rows)",
    _cross_entropy_derivative,
    cotangent=derivative_cotangent,
    input=derivative_input,
    complex=False,
    batch=batching.cross_entropy_derivative,
    examples=[
        example(", 3x4, 3:int<4, none", scale=0.5, rows=None),
        example(", 3x4, 3:int<4, 3x1", scale=1.0, rows=None),
    ],
    doc="""The gradient of `cross_entropy`: `share * (softmax(input) - onehot(target)) * scale`.""",
)
