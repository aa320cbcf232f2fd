"""`torch.nn.modules.activation` under the alias: attention has a file of its own here."""

from ....nn.modules.activation import *  # noqa: F403 (all of them)
from ....nn.modules.attention import MultiheadAttention

__all__ = ["MultiheadAttention"]
