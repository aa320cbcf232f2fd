"""Batch normalization in evaluation mode, merged into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ....engine.tensor import Tensor, new_tensor
from ....nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
]  # fmt: skip


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that does what a convolution and a normalization do.

    bn_rm, bn_rv: running mean and variance. `transpose` says that the convolution is a transposed
    one. Source: PyTorch's function of this name.

    >>> one = rg.ones(1)
    >>> args = (rg.ones(1, 1, 1), one, one, one, 0.0, 2 * one, one)
    >>> rg.nn.utils.fuse_conv_bn_weights(*args)[0].tolist()
    [[[2.0]]]
    """
    shape = [1] * conv_w._array.ndim
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def _fused(
    weight: Tensor, bias: Any, mean: Any, var: Any, eps: float, bn_w: Any, bn_b: Any, shape: Any
) -> tuple[Parameter, Parameter]:
    scale = (var._array + eps) ** -0.5
    if bn_w is not None:
        scale = scale * bn_w._array
    shift = 0 if bn_b is None else bn_b._array
    before = 0 if bias is None else bias._array
    kind = weight._array.dtype
    fused = (weight._array * scale.reshape(shape)).astype(kind)
    offset = ((before - mean._array) * scale + shift).astype(kind)
    wanted = weight.requires_grad
    return (
        Parameter(new_tensor(fused), wanted),
        Parameter(new_tensor(offset), bias is not None and bias.requires_grad),
    )


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of `conv` that also does what the normalization `bn` after it does.

    Raises AssertionError unless both are in evaluation mode and `bn` has running statistics.

    >>> conv, bn = rg.nn.Conv1d(1, 2, 1).eval(), rg.nn.BatchNorm1d(2).eval()
    >>> x = rg.ones(1, 1, 3)
    >>> rg.allclose(rg.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    True
    """
    fused = _copied(conv, bn)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *statistics, transpose)
    return fused


def _copied(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call .eval() on both first.")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean or bn.running_var is None: nothing to fuse with")
    return copy.deepcopy(layer)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """`fuse_conv_bn_weights` for a linear layer.

    >>> one = rg.ones(1)
    >>> args = (rg.ones(1, 1), one, one, one, 0.0, 2 * one, one)
    >>> rg.nn.utils.fuse_linear_bn_weights(*args)[1].tolist()
    [1.0]
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of `linear` that also does what the normalization `bn` after it does.

    Raises AssertionError as `fuse_conv_bn_eval`, and where the numbers of features differ.

    >>> linear, bn = rg.nn.Linear(3, 2).eval(), rg.nn.BatchNorm1d(2).eval()
    >>> x = rg.ones(1, 3)
    >>> rg.allclose(rg.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    fused = _copied(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, *statistics)
    return fused
