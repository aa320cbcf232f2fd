"""The mean of gradients, sent as they are or in a smaller dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..... import dtypes
from .....serialization.rebuilding import numpy_dtype
from ...collectives import all_reduce
from ...membership import get_world_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....engine.tensor import Tensor
    from ....futures import Future
    from ...buckets import GradBucket

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean over the ranks of a group, all for None.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net.register_comm_hook(None, default_hooks.allreduce_hook)
    """
    tensor = bucket.buffer().div_(get_world_size(process_group))
    work = all_reduce(tensor, group=process_group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean, sent in float16."""
    return fp16_compress_wrapper(allreduce_hook)(process_group, bucket)  # type: ignore[no-any-return]


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean, sent in bfloat16."""
    return bf16_compress_wrapper(allreduce_hook)(process_group, bucket)  # type: ignore[no-any-return]


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[..., Any]:
    """A hook that gets its bucket in float16."""
    return _wrapped("float16", hook)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[..., Any]:
    """A hook that gets its bucket in bfloat16."""
    return _wrapped("bfloat16", hook)


def _wrapped(dtype: str, hook: Callable[[Any, GradBucket], Any]) -> Callable[..., Any]:
    def wrapped(state: Any, bucket: GradBucket) -> Any:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtypes.of_numpy(numpy_dtype(dtype))))
        return hook(state, bucket).then(lambda done: whole.copy_(done.value()))

    return wrapped
