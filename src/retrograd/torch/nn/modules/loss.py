"""`torch.nn.modules.loss` under the alias: losses of several files here."""

from ....nn.modules.criteria import (
    CTCLoss,
    LinearCrossEntropyLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from ....nn.modules.loss import *  # noqa: F403 (all of them)
from ....nn.modules.loss import NLLLoss, _Loss, _WeightedLoss

__all__ = [
    "CTCLoss",
    "LinearCrossEntropyLoss",
    "NLLLoss2d",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "_Loss",
    "_WeightedLoss",
]


class NLLLoss2d(NLLLoss):
    """The same as `NLLLoss`, which takes images, (N, C, H, W) and (N, H, W), too.

    >>> rg.nn.NLLLoss2d()(-rg.ones(1, 3, 2, 2), rg.zeros(1, 2, 2, dtype=rg.int64))
    tensor(1.)
    """
