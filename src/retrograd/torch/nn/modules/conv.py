"""`torch.nn.modules.conv` under the alias: lazy layers have a file of their own here."""

import warnings
from typing import Any

from ....nn.modules.conv import *  # noqa: F403 (all of them)
from ....nn.modules.conv import _ConvNd, _ConvTransposeNd
from ....nn.modules.lazy import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)


class _ConvTransposeMixin(_ConvTransposeNd):
    """The older name of the base of transposed convolutions, with a FutureWarning."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "_ConvTransposeMixin is a deprecated internal class. Derive from ConvTranspose2d and "
            "its like",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


__all__ = [
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d", "_ConvNd", "_ConvTransposeMixin", "_ConvTransposeNd",
]  # fmt: skip
