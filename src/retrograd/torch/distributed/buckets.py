"""Gradients that are exchanged together: what a communication hook gets, and what travels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor, wrote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

__all__ = ["Bucket", "GradBucket", "bucketed"]

FIRST = 1 << 20  # bytes of the first bucket, which is to start early


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


class Bucket(GradBucket):
    """The gradients of parameters of one dtype in memory of their own, and what comes with these.

    Behind the gradients is a flag for each, whether the pass has reached its parameter, and one for
    the rank, whether it has inputs. Their means come in the same message.
    """

    def __init__(self, index: int, last: bool, parameters: Sequence[Tensor]) -> None:
        self._index, self._last, self._parameters = index, last, [*parameters]
        self._shapes = [p._array.shape for p in parameters]
        size, count = sum(p._array.size for p in parameters), len(parameters) + 1
        self.memory = np.zeros(size + count, parameters[0]._array.dtype)
        self._own = self._buffer = new_tensor(self.memory[:size])
        self.flags, self.grads = self.memory[size:], self.gradients()
        self.reached, self.counts = [False] * len(parameters), np.zeros(count)
        self.work: Future[Any] | None = None

    def empty(self) -> None:
        """Be ready for a pass, once nothing travels."""
        if self.work is not None:
            self.work.exception()
        self.reached, self.work = [False] * len(self.grads), None

    def take(self, place: int) -> None:
        """Copy a gradient that the pass has reached, unless it lies here."""
        grad, own = self._parameters[place].grad, self.grads[place]
        if grad is not own:
            own._array[...] = 0 if grad is None else grad._array
        self.reached[place] = True

    def fill(self, alive: bool) -> None:
        """Be whole before travelling: with the gradients so far of what was not reached."""
        for place, reached in enumerate(self.reached):
            if not alive:
                self.grads[place]._array[...] = 0
            elif not reached:
                self.take(place)
                self.reached[place] = False
        self.flags[:] = [*self.reached, alive]

    def travel(self, hook: tuple[Any, Callable[[Any, Any], Any]]) -> None:
        """Let a communication hook make something of the gradients."""
        self._buffer = self._own
        found = hook[1](hook[0], self).wait()
        if found is not self._own:
            self._own.copy_(found)

    def arrive(self, size: int) -> set[int]:
        """The parameters that some rank with inputs did not reach, once all is there."""
        if self.work is not None:
            self.work.result()
        self.work, self.counts = None, np.rint(self.flags.real.astype(np.float64) * size)
        *found, present = self.counts
        pairs = zip(self._parameters, found, strict=True)
        self.scale = size / present
        return {id(p) for p, count in pairs if count < present}

    def give(self, lies_here: bool, divides: bool) -> None:
        """Let the means be the gradients of what some rank has reached."""
        for p, own, count in zip(self._parameters, self.grads, self.counts[:-1], strict=True):
            if not count:
                continue
            if not divides and self.scale != 1:
                own._array[...] *= self.scale
            if lies_here:
                wrote(own, "all_reduce")
                p.grad = own
            elif p.grad is None:
                p.grad = new_tensor(own._array.copy())
            else:
                p.grad.detach().copy_(own)


def bucketed(parameters: Sequence[Tensor], megabytes: float) -> list[Bucket]:
    """Buckets of so many megabytes, of the last parameters first."""
    most = int(megabytes * (1 << 20))
    done: list[list[Tensor]] = []
    begun: dict[Any, list[Tensor]] = {}
    for p in reversed(parameters):
        held = begun.setdefault(p._array.dtype, [])
        held.append(p)
        if sum(each._array.nbytes for each in held) >= (most if done else min(most, FIRST)):
            done.append(begun.pop(p._array.dtype))
    done += begun.values()
    return [Bucket(n, n + 1 == len(done), held[::-1]) for n, held in enumerate(done)]
