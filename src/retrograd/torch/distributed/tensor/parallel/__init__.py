"""Modules whose layers are cut over ranks: PyTorch's `torch.distributed.tensor.parallel`."""

from . import style
from .loss import loss_parallel
from .plan import parallelize_module
from .style import *

__all__ = ["loss_parallel", "parallelize_module"]
__all__ += style.__all__
