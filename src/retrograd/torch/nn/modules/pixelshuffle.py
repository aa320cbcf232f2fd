"""`torch.nn.modules.pixelshuffle` under the alias: its layers are in other files here."""

from ....nn.modules.arrange import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
