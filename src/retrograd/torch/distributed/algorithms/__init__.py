"""How data parallel modules exchange gradients: PyTorch's `torch.distributed.algorithms`."""

from . import ddp_comm_hooks, join

__all__ = ["ddp_comm_hooks", "join"]
