"""A hook that exchanges nothing, to see what exchanging costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....futures import Future

if TYPE_CHECKING:
    from .....engine.tensor import Tensor
    from ...buckets import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Every rank keeps its own gradients.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks import debugging_hooks
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net.register_comm_hook(None, debugging_hooks.noop_hook)
    """
    found: Future[Tensor] = Future()
    found.set_result(bucket.buffer())
    return found
