"""Distances between all pairs of vectors: `cdist` between two sets, `pdist` within one.

The differences are formed as they stand rather than by |a|^2 - 2 a b + |b|^2, which would lose the
digits of small distances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.op import declare, example
from ...engine.tensor import Tensor, new_tensor

__all__ = ["cdist", "pdist"]

COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)

farthest = declare(
    "farthest(input)",
    lambda x: x.max(-1),
    input=lambda xp, g, input, out: xp.zero_where(g[..., None], input != out[..., None]),
    complex=False,
    batch="leading",
    examples=[example("2x3"), example("4")],
    node_name="CdistBackward0",
    doc="""The maximum along the last dimension; equal maxima get the whole cotangent each.

    So PyTorch's distances do for p = inf, whereas `amax` divides it evenly.""",
)


def _length(difference: Any, p: float) -> Tensor:
    """The p-norm along the last dimension; its slope at 0 is 0."""
    if p == 0:  # the count of what differs: `sgn` has derivative 0, and keeps the history
        return difference.sgn().abs().sum(-1)  # type: ignore[no-any-return]
    if p == 1:
        return difference.abs().sum(-1)  # type: ignore[no-any-return]
    if p == math.inf and difference._array.shape[-1]:
        return farthest(difference.abs())
    if difference._array.shape[-1] == 0:
        return difference.abs().sum(-1)  # type: ignore[no-any-return]
    return difference.norm(p, -1)  # type: ignore[no-any-return]


def _check_order(name: str, p: float) -> None:
    if not p >= 0:
        raise RuntimeError(f"{name} only supports non-negative p values, but got {p}")


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distance between each row of `x1` and each of `x2`.

    x1: (*, P, M); x2: (*, R, M), whose batch dimensions broadcast; floating or complex. Returns
    real (*, P, R). p: 0 (how many entries differ) to infinity. `compute_mode` is accepted and makes
    no difference. Where two points coincide, the derivative is 0. Raises RuntimeError for integers,
    fewer than two dimensions, other numbers of columns and a negative p. Source: PyTorch's `cdist`.

    >>> import retrograd as rg
    >>> rg.cdist(rg.tensor([[0.0, 0.0], [3.0, 0.0]]), rg.tensor([[3.0, 4.0]]))
    tensor([[5.],
            [4.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.dtype.kind not in "fcV":
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {x.dtype}. Convert first: "
                f"x = x.float()"
            )
        if x._array.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    _check_order("cdist", p)
    if compute_mode is not None and compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distance between every two rows of `input`, (N, M): the N (N - 1) / 2 pairs i < j.

    Everything else is as for `cdist`. Raises RuntimeError unless there are two dimensions. Source:
    PyTorch's `pdist`.

    >>> import retrograd as rg
    >>> rg.pdist(rg.tensor([[0.0], [1.0], [4.0]]))
    tensor([1., 4., 3.])
    """
    if input._array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"pdist only supports floating-point dtypes, got: {input.dtype}. Convert first: "
            "x = x.float()"
        )
    _check_order("pdist", p)
    first, second = (new_tensor(rows) for rows in np.triu_indices(input.shape[0], 1))
    return _length(input.index_select(0, first) - input.index_select(0, second), p)
