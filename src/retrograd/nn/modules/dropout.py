"""Dropout: random zeros while training, the identity in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


class _DropoutNd(Module):
    """`function(input, p, training, inplace)`."""

    _shown_settings = "p= inplace="
    function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """`input` with random zeros, or as it is in evaluation mode."""
        return self.function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """Each element zero with probability `p`, the others scaled by 1/(1-p).

    From any shape (*) to the same; floating or complex. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch's `nn.Dropout`; Srivastava et al., JMLR 2014.

    >>> layer = rg.nn.Dropout(0.5)
    >>> layer.eval()(rg.ones(3)), layer
    (tensor([1., 1., 1.]), Dropout(p=0.5, inplace=False))
    """

    function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Whole channels zero with probability `p`, the others scaled by 1/(1-p).

    (N, C, L) to the same shape, N optional; floating or complex. Raises ValueError unless 0 <= p <=
    1, RuntimeError for another number of dimensions. Source: PyTorch's `nn.Dropout1d`.

    >>> y = rg.nn.Dropout1d(0.5)(rg.ones(2, 3, 4)).flatten(2)
    >>> bool(((y == 0).all(2) | (y == 2).all(2)).all())
    True
    """

    function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Whole channels zero with probability `p`, the others scaled by 1/(1-p).

    (N, C, H, W) to the same shape; three dimensions are (N, C, L), not (C, H, W). Floating or
    complex. Raises ValueError unless 0 <= p <= 1. Source: PyTorch's `nn.Dropout2d`.

    >>> y = rg.nn.Dropout2d(0.5)(rg.ones(2, 3, 4, 4)).flatten(2)
    >>> bool(((y == 0).all(2) | (y == 2).all(2)).all())
    True
    """

    function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Whole channels zero with probability `p`, the others scaled by 1/(1-p).

    (N, C, D, H, W) to the same shape, N optional; floating or complex. Raises ValueError unless 0
    <= p <= 1. Source: PyTorch's `nn.Dropout3d`.

    >>> y = rg.nn.Dropout3d(0.5)(rg.ones(2, 3, 4, 4, 4)).flatten(2)
    >>> bool(((y == 0).all(2) | (y == 2).all(2)).all())
    True
    """

    function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1 of a SELU's output.

    From any shape (*) to the same; floating or complex. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch's `nn.AlphaDropout`; Klambauer et al., NeurIPS 2017.

    >>> y = rg.nn.AlphaDropout(0.5)(rg.zeros(1000))
    >>> len(y.unique()), rg.nn.AlphaDropout(0.5).eval()(rg.ones(2))
    (2, tensor([1., 1.]))
    """

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels. Source: PyTorch's `nn.FeatureAlphaDropout`.

    (N, C, *) to the same shape; floating or complex. Raises ValueError unless 0 <= p <= 1.

    >>> y = rg.nn.FeatureAlphaDropout(0.5)(rg.zeros(2, 3, 4))
    >>> bool((y == y[:, :, :1]).all())
    True
    """

    function = staticmethod(F.feature_alpha_dropout)
