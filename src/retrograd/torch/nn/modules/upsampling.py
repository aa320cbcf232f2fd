"""`torch.nn.modules.upsampling` under the alias: with two older names."""

from __future__ import annotations

from typing import Any

from ....nn.modules.upsampling import Upsample

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


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
