"""`torch.nn.modules.flatten` under the alias: its layers are in other files here."""

from ....nn.modules.arrange import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
