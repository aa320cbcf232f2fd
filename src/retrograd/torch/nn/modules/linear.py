"""`torch.nn.modules.linear` under the alias: lazy layers have a file of their own here."""

from ....nn.modules.lazy import LazyLinear
from ....nn.modules.linear import Bilinear, Identity, Linear, NonDynamicallyQuantizableLinear

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear"]
