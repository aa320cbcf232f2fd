"""`torch.nn.modules.fold` under the alias: its layers are in other files here."""

from ....nn.modules.arrange import Fold, Unfold

__all__ = ["Fold", "Unfold"]
