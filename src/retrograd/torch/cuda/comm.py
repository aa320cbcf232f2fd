"""Tensors that go from one GPU to others: there is none, so each raises AssertionError."""

from typing import Any, NoReturn

from ...engine.placement import present

__all__ = [
    "broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter",
]  # fmt: skip


def broadcast(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise AssertionError.

    >>> rg.cuda.comm.broadcast(rg.ones(2), ["cuda:0"])
    Traceback (most recent call last):
        ...
    AssertionError: Retrograd not compiled with CUDA enabled: tensors live on the cpu. Leave the device argument out, or write device='cpu'.
    """  # noqa: E501
    present("cuda")
    raise AssertionError


broadcast_coalesced = gather = reduce_add = reduce_add_coalesced = scatter = broadcast
