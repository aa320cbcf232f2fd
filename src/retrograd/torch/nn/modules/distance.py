"""`torch.nn.modules.distance` under the alias: its layers are in other files here."""

from ....nn.modules.arrange import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
