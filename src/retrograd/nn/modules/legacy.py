"""Classes that stand for others, by older names."""

from __future__ import annotations

from typing import Any

from .arrange import Upsample
from .loss import NLLLoss
from .module import Module

__all__ = [
    "Container",
    "NLLLoss2d",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Container(Module):
    """A module that holds the modules given by name, and has no `forward`.

    >>> [name for name, _ in rg.nn.Container(a=rg.nn.ReLU()).named_children()]
    ['a']
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(NLLLoss):
    """The same as `NLLLoss`, which takes images, (N, C, H, W) and (N, H, W), too.

    >>> rg.nn.NLLLoss2d()(-rg.ones(1, 3, 2, 2), rg.zeros(1, 2, 2, dtype=rg.int64))
    tensor(1.)
    """


class _Upsampling(Upsample):
    """`Upsample` whose mode the class says."""

    kind: str
    corners: bool | None = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, self.kind, self.corners)


class UpsamplingNearest2d(_Upsampling):
    """`Upsample` of images, (N, C, H, W) to (N, C, *size), with mode "nearest".

    >>> rg.nn.UpsamplingNearest2d(scale_factor=2)(rg.tensor([[[[1.0]]]]))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """

    kind = "nearest"


class UpsamplingBilinear2d(_Upsampling):
    """`Upsample` of images, (N, C, H, W) to (N, C, *size), bilinear and with `align_corners`.

    >>> rg.nn.UpsamplingBilinear2d(size=(1, 3))(rg.tensor([[[[0.0, 4.0]]]]))
    tensor([[[[0., 2., 4.]]]])
    """

    kind, corners = "bilinear", True
