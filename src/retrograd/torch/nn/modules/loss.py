"""`torch.nn.modules.loss` under the alias: losses of several files here."""

from ....nn.modules.criteria import (
    CTCLoss,
    LinearCrossEntropyLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from ....nn.modules.legacy import NLLLoss2d
from ....nn.modules.loss import *  # noqa: F403 (all of them)
from ....nn.modules.loss import _Loss, _WeightedLoss

__all__ = [
    "CTCLoss",
    "LinearCrossEntropyLoss",
    "NLLLoss2d",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "_Loss",
    "_WeightedLoss",
]
