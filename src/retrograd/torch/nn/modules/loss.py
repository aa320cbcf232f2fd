"""`torch.nn.modules.loss` under the alias: the losses, and one by its older name."""

from ....nn.modules import loss
from ....nn.modules.loss import *  # noqa: F403 (all of them)
from ....nn.modules.loss import NLLLoss, _Loss, _WeightedLoss

__all__ = ["NLLLoss2d", "_Loss", "_WeightedLoss"]
__all__ += loss.__all__


class NLLLoss2d(NLLLoss):
    """The same as `NLLLoss`, which takes images, (N, C, H, W) and (N, H, W), too.

    >>> rg.nn.NLLLoss2d()(-rg.ones(1, 3, 2, 2), rg.zeros(1, 2, 2, dtype=rg.int64))
    tensor(1.)
    """
