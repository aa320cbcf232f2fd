"""Fractional max pooling as layers."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from . import functional as F
from .module import Module
from .settings import ntuple

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPool(Module):
    """The settings, and what the constructor refuses."""

    n: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size, self.return_indices = ntuple(kernel_size, self.n), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, self.n)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self.n)
        if output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio or ()):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    @staticmethod
    def function(*args: Any) -> Any:
        """The pooling of `functional`."""
        raise NotImplementedError

    def forward(self, input: Tensor) -> Any:
        """The maxima, and with `return_indices` where they were."""
        return self.function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima over randomly placed windows of (N, C, H, W) or (C, H, W).

    The output has the size `output_size`, or `output_ratio` times the input's; ValueError unless
    one of them is given. Source: PyTorch's `nn.FractionalMaxPool2d`; Graham, 2014.

    >>> import retrograd as rg
    >>> rg.nn.FractionalMaxPool2d(2, output_ratio=0.5)(rg.ones(1, 3, 8, 8)).shape
    retrograd.Size([1, 3, 4, 4])
    """

    n = 2
    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima over randomly placed windows of (N, C, D, H, W); as `FractionalMaxPool2d`.

    >>> import retrograd as rg
    >>> rg.nn.FractionalMaxPool3d(2, output_size=(2, 3, 3))(rg.ones(1, 1, 5, 5, 5)).shape
    retrograd.Size([1, 1, 2, 3, 3])
    """

    n = 3
    function = staticmethod(F.fractional_max_pool3d)
