"""Connectionist temporal classification: the loss of sequences without alignment.

Composed of recorded ops, step by step in time, so that every order of derivative is exact. The
gradient with respect to `log_probs` is that of the loss as it is written; PyTorch's assumes that
they came from log_softmax. Behind a log_softmax both are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.registry import name_node
from ...engine.tensor import Tensor, new_tensor
from ..core.pointwise import check_floating
from ..shape.join import cat, stack
from .elementwise import check_real, reduced, reduction_of

NEVER = -1e30  # a log-probability that adds nothing, finite so that its derivative is 0, not NaN


def _lengths(lengths: Any, count: int, name: str) -> Any:
    found = np.atleast_1d(np.asarray(lengths._array if isinstance(lengths, Tensor) else lengths))
    if found.dtype.kind not in "iu":
        kind = RuntimeError if isinstance(lengths, Tensor) else TypeError
        raise kind(f"{name} must be integral")
    if found.shape != (count,):
        raise RuntimeError(f"{name} must be of size batch_size: got {found.size} for {count}")
    if found.size and found.min() < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {found.min()} (checking "
            "arguments for ctc_loss)"
        )
    return found.astype(np.int64)


def _padded(targets: Any, lengths: Any, blank: int) -> Any:
    """The targets as one row each, from rows already or one after the other."""
    widest = int(lengths.max(initial=0))
    if targets.ndim == 2:
        if widest > targets.shape[1]:
            raise RuntimeError(
                f"Expected tensor to have size at least {widest} at dimension 1, but got size "
                f"{targets.shape[1]} for argument #2 'targets'"
            )
        return targets[:, :widest]
    if targets.size != lengths.sum():
        raise RuntimeError(
            f"Expected target_lengths to sum to the {targets.size} targets, but got {lengths.sum()}"
        )
    rows = np.full((len(lengths), widest), blank, np.int64)
    rows[np.arange(widest) < lengths[:, None]] = targets
    return rows


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of each target, summed over all its alignments with the input.

    log_probs: (T, N, C) or (T, C), log-probabilities of the classes at each time; targets: (N, S),
    or all one after the other, class indices without `blank`; the lengths: (N,). "mean" divides by
    the target lengths first. A target too long for its input costs infinity, or 0 (with gradient
    0) if `zero_infinity`. Raises RuntimeError for lengths and classes that do not fit. Source:
    Graves et al., 2006.

    >>> even = rg.zeros(2, 1, 2).log_softmax(2)
    >>> rg.nn.functional.ctc_loss(even, rg.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """
    reduction = reduction_of(reduction)
    check_real("ctc_loss", log_probs)
    check_floating("ctc_loss", log_probs)
    if log_probs._array.ndim == 2:
        one = log_probs.unsqueeze(1), targets.reshape(1, -1)
        loss = ctc_loss(*one, input_lengths, target_lengths, blank, reduction, zero_infinity)
        return loss.reshape(()) if reduction == "none" else loss
    if log_probs._array.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs._array.ndim}-dimensional tensor "
            "for argument #1 'log_probs' of ctc_loss: give (T, N, C), or (T, C) for one sequence"
        )
    steps, samples, classes = log_probs._array.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: got {blank} for {classes} classes")
    times = _lengths(input_lengths, samples, "input_lengths")
    lengths = _lengths(target_lengths, samples, "target_lengths")
    if (times > steps).any():
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {times.max()}"
        )
    labels = _padded(targets._array, lengths, blank)
    loss = name_node(-_forward(log_probs, labels, times, lengths, blank), "CtcLossBackward0")
    impossible = loss._array > -NEVER / 2
    if zero_infinity:
        loss = loss.where(new_tensor(~impossible), 0.0)
    elif impossible.any():
        loss = name_node(loss.where(new_tensor(~impossible), math.inf), "CtcLossBackward0")
    if reduction == "mean":
        divisor = new_tensor(np.maximum(lengths, 1).astype(loss._array.dtype))
        return (loss / divisor).mean()
    return reduced(loss, reduction)


def _forward(log_probs: Tensor, labels: Any, times: Any, lengths: Any, blank: int) -> Tensor:
    """The log-probability of each target: Graves' forward variables, over time."""
    samples, width = labels.shape
    dtype = log_probs._array.dtype
    states = np.full((samples, 2 * width + 1), blank, np.int64)  # a blank around each label
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, np.bool_)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    may_skip = new_tensor(np.where(skips, 0.0, NEVER).astype(dtype))
    index = np.broadcast_to(states, (log_probs._array.shape[0], *states.shape)).copy()
    at_state = log_probs.gather(2, new_tensor(index))
    start = np.full(states.shape, NEVER, dtype)
    start[:, :2] = 0.0
    alpha = at_state[0] + new_tensor(start)
    before = new_tensor(np.full((samples, 2), NEVER, dtype))
    for t in range(1, log_probs._array.shape[0]):
        shifted = cat([before, alpha], 1)
        ways = stack([alpha, shifted[:, 1:-1], shifted[:, :-2] + may_skip])
        step = ways.logsumexp(0) + at_state[t]
        alpha = step.where(new_tensor(t < times[:, None]), alpha)
    ends = np.stack([2 * lengths, np.maximum(2 * lengths - 1, 0)], 1)
    last = alpha.gather(1, new_tensor(ends)).where(new_tensor(times[:, None] > 0), 0.0)
    nothing = times == 0  # which only the empty target fits, for certain
    none = np.stack([nothing & (lengths > 0), (lengths == 0) | nothing], 1)
    last = last + new_tensor(np.where(none, NEVER, 0.0).astype(dtype))
    return last.logsumexp(1)
