"""Softmax along a dimension, and its relatives."""

from __future__ import annotations

from ....engine.tensor import Tensor
from ... import functional as F
from ..module import Module
from .base import _Activation

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(_Activation):
    """An activation along a dimension, `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along `dim`. Source: PyTorch's `nn.Softmax`.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Without `dim`, it
    warns and takes 0 for 0, 1 or 3 dimensions, else 1.

    >>> rg.nn.Softmax(dim=-1)(rg.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    function = staticmethod(F.softmax)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`, without overflow. Source: PyTorch's `nn.LogSoftmax`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.LogSoftmax(dim=0)(rg.tensor([1000.0, 1000.0]))
    tensor([-0.6931, -0.6931])
    """

    function = staticmethod(F.log_softmax)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`. Source: PyTorch's `nn.Softmin`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Softmin(dim=0)(rg.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """Softmax over the channels: (N, C, H, W) to the same shape, N optional.

    Floating or complex, else NotImplementedError. Raises ValueError for another number of
    dimensions.

    >>> rg.nn.Softmax2d()(rg.zeros(1, 4, 1, 2))[0, 0]
    tensor([[0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax along dimension -3."""
        if input._array.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
