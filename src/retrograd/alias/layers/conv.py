"""`torch.nn.modules.conv` under the alias: lazy layers have a file of their own here."""

from ...nn.modules.conv import *  # noqa: F403 (all of them)
from ...nn.modules.conv import _ConvNd, _ConvTransposeNd
from ...nn.modules.lazy import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)

__all__ = [
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "_ConvNd",
    "_ConvTransposeNd",
]
