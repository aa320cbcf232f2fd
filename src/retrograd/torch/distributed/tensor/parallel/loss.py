"""Losses of outputs that lie over ranks."""

from __future__ import annotations

from ..api import implicit_replication

__all__ = ["loss_parallel"]


class loss_parallel(implicit_replication):  # noqa: N801 (PyTorch's name)
    """Within this context, losses take outputs that lie over ranks, and plain targets.

    Outputs are gathered for the loss, and every rank computes the whole of it.

    >>> from retrograd.distributed.tensor import Shard, distribute_tensor
    >>> from retrograd.distributed.tensor.parallel import loss_parallel
    >>> mesh = rg.distributed.init_device_mesh("cpu", (1,))
    >>> scores = distribute_tensor(rg.zeros(2, 4), mesh, [Shard(1)])
    >>> with loss_parallel():
    ...     rg.nn.functional.cross_entropy(scores, rg.tensor([0, 3])).full_tensor()
    tensor(1.3863)
    """
