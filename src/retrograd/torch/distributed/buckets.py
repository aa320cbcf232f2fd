"""Gradients that are exchanged together: what a communication hook gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GradBucket"]


class GradBucket:
    """The gradients of one dtype of a pass, one behind the other in `buffer()`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> bucket = rg.distributed.GradBucket(0, True, [rg.tensor([3.0, 4.0])], [x])
    >>> bucket.buffer(), bucket.is_last()
    (tensor([3., 4.]), True)
    """

    def __init__(
        self, index: int, last: bool, grads: Sequence[Tensor], parameters: Sequence[Tensor]
    ) -> None:
        self._index, self._last, self._parameters = index, last, [*parameters]
        self._shapes = [grad._array.shape for grad in grads]
        self._buffer = new_tensor(np.concatenate([grad._array.reshape(-1) for grad in grads]))

    def index(self) -> int:
        """Its number among those of the pass."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the last of the pass."""
        return self._last

    def buffer(self) -> Tensor:
        """All numbers, in one dimension."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Take other numbers."""
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        """The gradients of the parameters, in the memory of the buffer."""
        return self.parts(self._buffer)

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._parameters

    def parts(self, buffer: Tensor) -> list[Tensor]:
        """A buffer in parts of the gradients' shapes."""
        ends = np.cumsum([int(np.prod(shape, dtype=np.int64)) for shape in self._shapes])
        flat = np.split(buffer._array, ends[:-1])
        return [new_tensor(a.reshape(s)) for a, s in zip(flat, self._shapes, strict=True)]
