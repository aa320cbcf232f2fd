"""Samples of the standard gamma, beta, Dirichlet and von Mises distributions, with derivatives.

The derivative of a sample is that of its quantile: see NOTE [Implicit derivatives] in
`kernels/implicit.py`. It is computed in the backward pass; a derivative of it is refused. The
names with an underscore are PyTorch's, which libraries call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.function import Function
from ..engine.tensor import Tensor, new_tensor
from ..kernels import implicit
from ..ops import default_generator

__all__ = ["sample_von_mises"]


class _Slope(Function):
    """What a kernel of `kernels/implicit.py` gives; it has no derivative."""

    @staticmethod
    def forward(kernel: Any, *tensors: Tensor) -> Tensor:
        slope = kernel(*(t._array.astype(np.float64) for t in tensors))
        return new_tensor(slope.astype(tensors[-1]._array.dtype))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        raise NotImplementedError(
            "the derivative of a sample's implicit derivative is not implemented. If only the "
            "first is wanted, leave create_graph out"
        )


class _Sample(Function):
    """A sample for each concentration, drawn by `draw`, which moves by the slope of `kernel`."""

    draw: Any
    kernel: Any

    @classmethod
    def forward(cls, concentration: Tensor, generator: Any) -> Tensor:
        array = concentration._array
        if array.dtype.kind not in "fV":
            raise NotImplementedError(
                "samples have a real floating dtype, but the concentration is "
                f"{concentration.dtype}. Convert it first: x.float()"
            )
        drawn = cls.draw(generator, array.astype(np.float64), concentration.dtype)
        return new_tensor(np.asarray(drawn))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @classmethod
    def backward(cls, ctx: Any, g: Tensor) -> Any:
        return g * _Slope.apply(cls.kernel, *ctx.saved_tensors), None

    @classmethod
    def jvp(cls, ctx: Any, tangent: Tensor, generator: None) -> Tensor:
        return tangent * _Slope.apply(cls.kernel, *ctx.saved_tensors)


class _Gamma(_Sample):
    kernel = staticmethod(implicit.gamma_derivative)

    @staticmethod
    def draw(generator: Any, a: Any, dtype: Any) -> Any:
        return _rounded(np.exp(generator.draw("rejected", "log_gamma", a)), dtype)


class _VonMises(_Sample):
    """Angles about 0, by the method of D. J. Best and N. I. Fisher, 1979.

    All are drawn until none is left, and whatever can be taken is, as in PyTorch.
    """

    kernel = staticmethod(implicit.von_mises_derivative)

    @staticmethod
    def draw(generator: Any, k: Any, dtype: Any) -> Any:
        tau = 1 + np.sqrt(1 + 4 * k * k)
        rho = (tau - np.sqrt(2 * tau)) / (2 * k)
        r = np.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
        angle, done = np.zeros(k.shape), np.zeros(k.shape, np.bool_)
        while not done.all():
            turned, u, side = generator.uniform((3, *k.shape), k.dtype)
            z = np.cos(np.pi * turned)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            taken = (c * (2 - c) - u > 0) | (np.log(c / u) + 1 - c >= 0)
            angle = np.where(taken, np.sign(side - 0.5) * np.arccos(f), angle)
            done |= taken
        return angle.astype(dtype.numpy)


class _Dirichlet(_Sample):
    """x_j has a beta distribution, and what the others share of 1 - x_j does not depend on it."""

    @staticmethod
    def draw(generator: Any, a: Any, dtype: Any) -> Any:
        logs = generator.draw("rejected", "log_gamma", a)
        shares = np.exp(logs - logs.max(-1, keepdims=True))
        shares = _rounded(shares / shares.sum(-1, keepdims=True), dtype)
        return np.minimum(shares, 1 - np.array(dtypes.finfo(dtype).eps / 2, shares.dtype))

    @staticmethod
    def kernel(a: Any, x: Any) -> Any:
        """How x_j moves with its concentration, over 1 - x_j."""
        return implicit.beta_derivative(a, a.sum(-1, keepdims=True) - a, x) / (1 - x)

    @classmethod
    def backward(cls, ctx: Any, g: Tensor) -> Any:
        share = _Slope.apply(cls.kernel, *ctx.saved_tensors)
        return share * (g - (g * ctx.saved_tensors[1]).sum(-1, keepdim=True)), None

    @classmethod
    def jvp(cls, ctx: Any, tangent: Tensor, generator: None) -> Tensor:
        moved = tangent * _Slope.apply(cls.kernel, *ctx.saved_tensors)
        return moved - ctx.saved_tensors[1] * moved.sum(-1, keepdim=True)


def _rounded(values: Any, dtype: Any) -> Any:
    """Positive values in another dtype, in which they are no less than its smallest number."""
    return np.maximum(values, dtypes.finfo(dtype).tiny).astype(dtype.numpy)


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma samples of rate 1, one for each concentration; at least the smallest normal number."""
    return _Gamma.apply(input, generator or default_generator)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet samples, one for each vector of concentrations along the last dimension."""
    return _Dirichlet.apply(input, generator or default_generator)


def sample_von_mises(concentration: Tensor) -> Tensor:
    """Angles from -pi to pi about 0, one for each concentration."""
    return _VonMises.apply(concentration, default_generator)
