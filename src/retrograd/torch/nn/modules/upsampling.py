"""`torch.nn.modules.upsampling` under the alias: its layers are in other files here."""

from ....nn.modules.arrange import Upsample
from ....nn.modules.legacy import UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
