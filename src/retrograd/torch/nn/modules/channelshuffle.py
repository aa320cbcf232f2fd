"""`torch.nn.modules.channelshuffle` under the alias: its layer is in another file here."""

from ....nn.modules.arrange import ChannelShuffle

__all__ = ["ChannelShuffle"]
