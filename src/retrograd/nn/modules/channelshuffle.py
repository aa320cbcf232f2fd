"""Channels in another order."""

from __future__ import annotations

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """The channels, read as a table of `groups` rows, in the order of its columns.

    (N, C, *) to the same shape, of at least three dimensions; any dtype. Raises RuntimeError for
    fewer, or unless `groups` divides C.

    >>> rg.nn.ChannelShuffle(2)(rg.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    _shown_settings = "groups="

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its channels reordered."""
        return F.channel_shuffle(input, self.groups)
