"""Losses between distributions: divergences and negative log-likelihoods."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.tensor import Tensor, concrete, constant_like
from ...kernels.allocation import known_true
from ..creation.from_data import filler
from ..elementwise.clamp_where import where
from .elementwise import check_tensors, reduced, reduction_of, squared_distance

BY_ELEMENT = (
    "reduction: 'mean' divides the total loss by both the batch size and the support size. "
    "'batchmean' divides only by the batch size, as the mathematical definition of the divergence."
)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log target - input), for `input` log-probabilities; 0 where the target is 0.

    `reduction` may be "batchmean" too: the sum over the size of the first dimension. With
    `log_target` the target holds log-probabilities. Warns at "mean", which is no divergence. Raises
    RuntimeError for integers.

    >>> p = rg.tensor([[0.5, 0.5]])
    >>> rg.nn.functional.kl_div(p.log(), p, reduction="batchmean")
    tensor(0.)
    """
    found = divergence(input, target, size_average, reduce, reduction, log_target)
    if reduction == "mean" and size_average is reduce is None:
        warnings.warn(BY_ELEMENT, stacklevel=2)
    return found


def divergence(
    input: Tensor, target: Tensor, size_average: Any, reduce: Any, reduction: str, log_target: bool
) -> Tensor:
    """`kl_div` without its warning."""
    if any(t._array.dtype.kind in "iub" for t in (input, target)):
        raise RuntimeError("kl_div: Integral inputs not supported. Convert first: x.float()")
    batch = reduction == "batchmean"
    reduction = reduction_of("sum" if batch else reduction, size_average, reduce)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = target * target.where(target != 0, 1.0).log() - target * input
    if batch and input._array.ndim:
        return loss.sum() / input.shape[0]
    return reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input, the negative logarithm of a Poisson probability; reduced.

    Without `log_input` the input is the rate itself: input - target * log(input + eps). `full`
    adds Stirling's approximation of log(target!) where target > 1.

    >>> rg.nn.functional.poisson_nll_loss(rg.tensor([0.0]), rg.tensor([2.0]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("poisson_nll_loss", input=input, target=target)
    product = target * (input if log_input else (input + eps).log())
    loss = (input.exp() if log_input else input) - product
    if full:
        large = target > 1
        safe = target.where(large, 1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2.0 * math.pi * safe).log()
        loss = loss + stirling.where(large, 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool | int = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log var + |input - target|^2 / var) / 2, reduced; `var` is at least `eps`.

    `var` has the input's shape, that shape with a last dimension of 1, or without it. The bound is
    a constant to the derivative. `full` adds log(2 pi)/2. Raises ValueError for other shapes and
    negative variances. Source: Nix and Weigend, 1994.

    >>> zero, one = rg.tensor([0.0]), rg.tensor([1.0])
    >>> rg.nn.functional.gaussian_nll_loss(zero, one, one)
    tensor(0.5000)
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        kind = dtypes.real_of(input._array.dtype)
        var = constant_like(np.full(input._array.shape, var, kind), input)
    sizes, found = input._array.shape, var._array.shape
    if found != sizes:
        if sizes[:-1] == found:
            var = var.unsqueeze(-1)
        elif sizes[:-1] != found[:-1] or found[-1:] != (1,):
            raise ValueError("var is of incorrect size")
    reduction = reduction_of(reduction)
    if not isinstance(target, Tensor):
        target = filler(target, input._array.dtype, "gaussian_nll_loss", "target", 2)
    if known_true((concrete(var._array) < 0).any()):
        raise ValueError("var has negative entry/entries")
    # Adding a constant bounds the value and leaves the derivative 1, as PyTorch's clamp of a clone.
    given = var.detach()
    bounded = var + where(given.real < eps, eps - given, 0)
    loss = 0.5 * (bounded.log() + squared_distance(input, target, reduction="none") / bounded)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)
