"""Regularization that drops more than single numbers: whole branches, and blocks of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from ...ops.creation.factories import empty

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = [
    "DropBlock2d",
    "DropBlock3d",
    "StochasticDepth",
    "drop_block2d",
    "drop_block3d",
    "stochastic_depth",
]


def checked(p: float) -> None:
    """Raise ValueError for what is no probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """`input`, set to 0 with probability `p` as a whole ("batch") or by its first index ("row").

    What stays is divided by 1 - p. Raises ValueError for other modes. Source: G. Huang et al.,
    "Deep networks with stochastic depth" (2016).

    >>> rg.vision.ops.stochastic_depth(rg.ones(2, 1), 1.0, "row")
    tensor([[0.],
            [0.]])
    """
    checked(p)
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode!r}")
    if not training or p == 0.0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    noise = empty(rows, *[1] * (input.ndim - 1), dtype=input.dtype, device=input.device)
    noise.bernoulli_(1.0 - p)
    return input * (noise / (1.0 - p) if p < 1.0 else noise)


class StochasticDepth(nn.Module):
    """`stochastic_depth` while it trains.

    >>> rg.vision.ops.StochasticDepth(0.5, "row").eval()(rg.ones(1))
    tensor([1.])
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Tensor) -> Tensor:
        """The input, or what is left of it."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"


def drop_block(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool, pool: Any
) -> Tensor:
    """Drop cubes of all dimensions after the first two, of which `pool` takes maxima."""
    checked(p)
    if not training or p == 0.0:
        return input
    sizes = input.shape[2:]
    side = min(block_size, *sizes)
    gamma = p
    for size in sizes:
        gamma *= size / (side * (size - side + 1))
    shape = (*input.shape[:2], *(size - side + 1 for size in sizes))
    noise = empty(shape, dtype=input.dtype, device=input.device).bernoulli_(gamma)
    noise = nn.functional.pad(noise, [side // 2] * 2 * len(sizes))
    kept = 1 - pool(noise, side, stride=1, padding=side // 2)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


def drop_block2d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-6,
    training: bool = True,
) -> Tensor:
    """(N, C, H, W) with squares of `block_size` set to 0, a share of about `p`; the rest is scaled.

    Raises ValueError for other `p` than 0 to 1. Source: G. Ghiasi et al., "DropBlock" (2018).

    >>> rg.vision.ops.drop_block2d(rg.ones(1, 1, 4, 4), 0.5, 3).shape
    retrograd.Size([1, 1, 4, 4])
    """
    pool = nn.functional.max_pool2d
    return drop_block(input, p, block_size, inplace, eps, training, pool)


def drop_block3d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-6,
    training: bool = True,
) -> Tensor:
    """`drop_block2d` of cubes in (N, C, D, H, W).

    >>> rg.vision.ops.drop_block3d(rg.ones(1, 1, 4, 4, 4), 0.5, 3).shape
    retrograd.Size([1, 1, 4, 4, 4])
    """
    pool = nn.functional.max_pool3d
    return drop_block(input, p, block_size, inplace, eps, training, pool)


class DropBlock2d(nn.Module):
    """`drop_block2d` while it trains.

    >>> rg.vision.ops.DropBlock2d(0.1, 3)
    DropBlock2d(p=0.1, block_size=3, inplace=False)
    """

    function = staticmethod(drop_block2d)

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Tensor) -> Tensor:
        """The input without some blocks."""
        settings = (self.p, self.block_size, self.inplace, self.eps, self.training)
        return type(self).function(input, *settings)

    def __repr__(self) -> str:
        settings = f"p={self.p}, block_size={self.block_size}, inplace={self.inplace}"
        return f"{type(self).__name__}({settings})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` while it trains.

    >>> rg.vision.ops.DropBlock3d(0.1, 3)
    DropBlock3d(p=0.1, block_size=3, inplace=False)
    """

    function = staticmethod(drop_block3d)
