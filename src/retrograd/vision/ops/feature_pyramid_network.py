"""Maps of one depth from maps of several sizes: T.-Y. Lin et al., "Feature pyramids" (2017)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ... import nn
from .misc import Conv2dNormActivation

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]


def start(module: nn.Module) -> None:
    """Draw the weights of all convolutions."""
    for each in module.modules():
        if isinstance(each, nn.Conv2d):
            nn.init.kaiming_uniform_(each.weight, a=1)
            if each.bias is not None:
                nn.init.zeros_(each.bias)


class ExtraFPNBlock(nn.Module):
    """Base of what adds maps: from (results, inputs, names) to (results, names)."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("ExtraFPNBlock: write forward(results, x, names) in a subclass")


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds every second pixel of the smallest map, as "pool"."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> Any:
        """The maps and the new one."""
        return [*results, results[-1][..., ::2, ::2]], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds two maps, "p6" and "p7", each by a convolution of stride 2."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        start(self)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> Any:
        """The maps and the new ones."""
        p6 = self.p6((results if self.use_P5 else x)[-1])
        return [*results, p6, self.p7(p6.relu())], [*names, "p6", "p7"]


class FeaturePyramidNetwork(nn.Module):
    """A dict of maps (N, C_i, H_i, W_i), largest first, to one of maps (N, out_channels, H_i, W_i).

    Smaller maps are enlarged and added to the next larger. `extra_blocks` adds maps at the end.

    >>> pyramid = rg.vision.ops.FeaturePyramidNetwork([8, 16], 4)
    >>> out = pyramid({"a": rg.ones(1, 8, 6, 6), "b": rg.ones(1, 16, 3, 3)})
    >>> {name: tuple(x.shape) for name, x in out.items()}
    {'a': (1, 4, 6, 6), 'b': (1, 4, 3, 3)}
    """

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError("in_channels=0 is currently not supported")
        made = {"norm_layer": norm_layer, "activation_layer": None}
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, **made))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **made))
        start(self)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(
                f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}"
            )
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> OrderedDict[str, Tensor]:
        """The maps by name."""
        names, maps = list(x), list(x.values())
        inner, results = None, list[Any]()
        for n in range(len(maps) - 1, -1, -1):
            lateral = self.inner_blocks[n](maps[n])
            if inner is not None:
                size = tuple(lateral.shape[-2:])
                lateral = lateral + nn.functional.interpolate(inner, size=size, mode="nearest")
            inner = lateral
            results.insert(0, self.layer_blocks[n](inner))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results, strict=True))
