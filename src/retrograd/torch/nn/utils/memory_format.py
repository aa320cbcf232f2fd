"""The order in memory of the weights of convolutions."""

from __future__ import annotations

from typing import Any

from ....nn.modules.conv import (
    Conv2d,
    Conv3d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ....nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _converted(module: Module, kinds: tuple[type[Any], ...], format: Any) -> Module:
    for inner in module.modules():
        if isinstance(inner, kinds):
            inner.weight.data = inner.weight.detach().clone(memory_format=format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay the weights of all convolutions of images in a module out in `memory_format`.

    Values stay. Source: PyTorch's `convert_conv2d_weight_memory_format`.

    >>> model = rg.nn.Conv2d(2, 3, 4)
    >>> model = rg.nn.utils.convert_conv2d_weight_memory_format(model, rg.channels_last)
    >>> model.weight.stride()
    (32, 1, 8, 2)
    """
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """`convert_conv2d_weight_memory_format` for volumes, with `channels_last_3d`.

    >>> model = rg.nn.Conv3d(2, 3, 1)
    >>> model = rg.nn.utils.convert_conv3d_weight_memory_format(model, rg.channels_last_3d)
    >>> model.weight.stride()
    (2, 1, 2, 2, 2)
    """
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
