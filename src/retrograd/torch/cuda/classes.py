"""Classes of things on a GPU, for annotations and `isinstance`: of none there is an object."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ..names.tensor_types import TYPES

__all__ = ["CUDAGraph", "Event", "MemPool", "Stream", "StreamContext", "graph", "stream"]


class OnGPU:
    """An object on a GPU: making one raises RuntimeError, as in a PyTorch without CUDA."""

    def __new__(cls, *args: Any, **kwargs: Any) -> OnGPU:
        """Raise RuntimeError: there is no GPU."""
        raise RuntimeError(
            f"Tried to instantiate dummy base class {cls.__name__}: torch.cuda.{cls.__name__} "
            "requires CUDA support, and tensors live on the cpu. Ask cuda.is_available() first."
        )


class Stream(OnGPU):
    """A queue of work for a GPU.

    >>> rg.cuda.Stream()
    Traceback (most recent call last):
        ...
    RuntimeError: Tried to instantiate dummy base class Stream: torch.cuda.Stream requires CUDA support, and tensors live on the cpu. Ask cuda.is_available() first.
    """  # noqa: E501


class Event(OnGPU):
    """A mark in such a queue."""


class CUDAGraph(OnGPU):
    """Work for a GPU that is captured once and run again."""


class MemPool(OnGPU):
    """Memory of a GPU."""


class graph(OnGPU):  # noqa: N801 (PyTorch's name)
    """A context that captures such work."""


class StreamContext(nullcontext[None]):
    """A context that puts work into a queue; of None, which is the only one here, nothing.

    >>> with rg.cuda.stream(None):
    ...     rg.ones(1)
    tensor([1.])
    """

    def __init__(self, stream: Stream | None) -> None:
        super().__init__()
        self.stream = stream


def stream(stream: Stream | None) -> StreamContext:
    """`StreamContext` of a queue."""
    return StreamContext(stream)


# FloatTensor and its like: no tensor is one.
TENSORS = {
    name: type(name, (OnGPU,), {"dtype": kind.dtype, "is_cuda": True, "__module__": __name__})
    for name, kind in TYPES.items()
}
