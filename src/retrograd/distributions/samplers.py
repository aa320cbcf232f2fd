"""Samples of the standard gamma, beta, Dirichlet and von Mises distributions, with derivatives.

The derivative of a sample is that of its quantile: see NOTE [Implicit derivatives] in
`backends/implicit.py`. It is computed in the backward pass only, and once: a derivative of it is
refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.function import Function, once_differentiable
from ..backends import implicit
from ..engine.tensor import Tensor, new_tensor
from ..ops import default_generator

__all__ = ["dirichlet", "standard_gamma", "von_mises"]


def _real(t: Tensor, name: str) -> Any:
    """The array of a tensor of a real floating dtype; NotImplementedError for another."""
    if t._array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"{name} samples have a real floating dtype, but the parameters are {t.dtype}. "
            "Convert them first: x.float()"
        )
    return t._array


class _Gamma(Function):
    @staticmethod
    def forward(concentration: Tensor) -> Tensor:
        a = _real(concentration, "gamma")
        drawn = default_generator.call("standard_gamma", a.astype(np.float64)).astype(a.dtype)
        return new_tensor(
            np.maximum(drawn, np.array(dtypes.finfo(concentration.dtype).tiny, a.dtype))
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        concentration, value = ctx.saved_tensors
        return g * new_tensor(implicit.gamma_slope(concentration._array, value._array))


class _Dirichlet(Function):
    """x_j has a beta distribution, and what the others share of 1 - x_j does not depend on it."""

    @staticmethod
    def forward(concentration: Tensor) -> Tensor:
        a = _real(concentration, "Dirichlet")
        wide = a.astype(np.float64)
        # log gamma(a) = log gamma(a + 1) + log(u) / a: small concentrations would underflow
        u = default_generator.uniform(wide.shape, wide.dtype)
        logs = np.log1p(-u) / wide
        logs += np.log(default_generator.call("standard_gamma", wide + 1))
        shares = np.exp(logs - logs.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        limits = dtypes.finfo(concentration.dtype)
        return new_tensor(np.maximum(shares.astype(a.dtype), np.array(limits.tiny, a.dtype)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        concentration, value = ctx.saved_tensors
        a, x = concentration._array.astype(np.float64), value._array
        slope = implicit.beta_slope(a, a.sum(-1, keepdims=True) - a, x)
        share = new_tensor(slope / np.maximum(1 - x, np.finfo(x.dtype).epsneg))
        return share * (g - (g * value).sum(-1, keepdim=True))


class _VonMises(Function):
    """Angles about 0, as numpy's generator draws them: D. J. Best and N. I. Fisher, 1979."""

    @staticmethod
    def forward(concentration: Tensor) -> Tensor:
        k = _real(concentration, "von Mises")
        drawn = default_generator.call("vonmises", 0.0, k.astype(np.float64))
        return new_tensor(np.clip(drawn, -math.pi, math.pi).astype(k.dtype))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        concentration, value = ctx.saved_tensors
        return g * new_tensor(implicit.von_mises_slope(concentration._array, value._array))


def standard_gamma(concentration: Tensor) -> Tensor:
    """Gamma samples of rate 1, one for each concentration; at least the smallest normal number."""
    return _Gamma.apply(concentration)


def dirichlet(concentration: Tensor) -> Tensor:
    """Dirichlet samples, one for each vector of concentrations along the last dimension."""
    return _Dirichlet.apply(concentration)


def von_mises(concentration: Tensor) -> Tensor:
    """Angles from -pi to pi about 0, one for each concentration."""
    return _VonMises.apply(concentration)
