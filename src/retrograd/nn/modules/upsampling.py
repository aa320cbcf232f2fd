"""Signals, images and volumes in another resolution."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample"]


class Upsample(Module):
    """Interpolation to `size`, or by `scale_factor`. Source: PyTorch's `nn.Upsample`.

    (N, C, L), (N, C, H, W) or (N, C, D, H, W) to (N, C, *size); real or complex. A call raises
    ValueError without size and factor, NotImplementedError for a `mode` that does not go with the
    number of dimensions.

    >>> rg.nn.Upsample(scale_factor=2)(rg.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        self.scale_factor, self.recompute_scale_factor = scale_factor, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the other resolution."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    @property
    def _shown_settings(self) -> str:  # type: ignore[override]
        return f"{'size' if self.scale_factor is None else 'scale_factor'}= mode=!r"
