"""Gradients that are exchanged together: what a communication hook gets, and what travels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor, wrote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

__all__ = ["GradBucket", "bucketed", "parts_of"]

FIRST = 1 << 20  # bytes of the first bucket, which is to start early


class GradBucket:
    """The gradients of some parameters of one dtype: what a communication hook gets.

    Behind the gradients is a flag for each, whether the pass has reached its parameter, and one for
    the rank, whether it has inputs. Their means come in the same message.

    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> def halved(state, bucket):
    ...     state.append(bucket.is_last()); made = rg.futures.Future()
    ...     made.set_result(bucket.buffer() / 2); return made
    >>> seen = []; net.register_comm_hook(seen, halved)
    >>> net(rg.ones(1, 3)).sum().backward(); net.module.bias.grad, seen
    (tensor([0.5000, 0.5000]), [True])
    """

    def __init__(self, index: int, last: bool, parameters: Sequence[Tensor]) -> None:
        self._index, self._last, self._parameters = index, last, [*parameters]
        size, count = sum(p._array.size for p in parameters), len(parameters) + 1
        self.memory = np.zeros(size + count, parameters[0]._array.dtype)
        self._own = self._buffer = new_tensor(self.memory[:size])
        self.flags, self.grads = self.memory[size:], self.gradients()
        self.reached, self.counts = [False] * len(parameters), np.zeros(count)
        self.work: Future[Any] | None = None

    # -- what hooks ask for ----------------------------------------------------------------------

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
        return parts_of(self._buffer, self._parameters)

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._parameters

    # -- a pass ----------------------------------------------------------------------------------

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


def bucketed(parameters: Sequence[Tensor], megabytes: float) -> list[GradBucket]:
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
    return [GradBucket(n, n + 1 == len(done), held[::-1]) for n, held in enumerate(done)]


def parts_of(buffer: Tensor, likes: Sequence[Tensor]) -> list[Tensor]:
    """A buffer as tensors of the shapes of others, one behind the other in its memory."""
    ends = np.cumsum([like._array.size for like in likes])
    flat = np.split(buffer._array, ends[:-1])
    return [new_tensor(a.reshape(p._array.shape)) for a, p in zip(flat, likes, strict=True)]
