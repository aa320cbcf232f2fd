"""What gives the batches of one pass: fetched here, or by workers ahead of time."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from ....locks import load
from ....ops.random.generator import drawn_seed
from .fetch import fetcher
from .threads import Threads
from .worker import Failure, Job

__all__ = ["_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]

PROCESSES = sys.platform not in ("emscripten", "wasi")  # a browser has none

NO_MORE = object()

TOO_MANY = (
    "Length of IterableDataset {} was reported to be {} (when accessing len(dataloader)), but {} "
    "samples have been fetched."
)
EACH_ALL = (
    " For multiprocessing data-loading, this comes of workers that each give all of the data: let "
    "__iter__ ask get_worker_info() for its share"
)


class _BaseDataLoaderIter:
    """One pass over a loader, or over what a library gives in its place: PyTorch's attributes."""

    def __init__(self, loader: Any, drawn: bool = False) -> None:
        self._dataset, self._index_sampler = loader.dataset, loader._index_sampler
        self._said, self._fetched = loader._IterableDataset_len_called, 0
        self._num_workers = loader.num_workers
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = 0 if drawn else drawn_seed(loader.generator)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._fetched += 1
        if self._said is not None and self._fetched > self._said:
            said = (self._dataset, self._said, self._fetched)
            text = TOO_MANY.format(*said) + (EACH_ALL if self._num_workers else "")
            warnings.warn(text, UserWarning, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches that the calling thread fetches when they are asked for."""

    def __init__(self, loader: Any, drawn: bool = False) -> None:
        super().__init__(loader, drawn)
        self._fetch = fetcher(
            loader.dataset,
            loader._dataset_kind,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
        )

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches that workers fetch ahead.

    Raises RuntimeError when a worker is dead, and when none gives a batch within the timeout; an
    error of a worker comes in the place of its batch, and the pass can go on.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._in_order, self._timeout = loader.in_order, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._most = max(1, loader.prefetch_factor) * loader.num_workers
        self._pass, self._broken = 0, ""
        job = Job(
            loader.dataset,
            loader._dataset_kind,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            loader.worker_init_fn,
            loader.num_workers,
            self._base_seed,
        )
        if PROCESSES and loader.multiprocessing_context != "thread":
            home = load(".processes", __package__)
            self._pool = home.Processes(job, loader.multiprocessing_context)
        else:
            self._pool = Threads(job)
        self._workers = self._pool.workers
        weakref.finalize(self, self._pool.stop)
        self._begin(loader)

    def _reset(self, loader: Any) -> None:
        """Begin another pass with the same workers; what is left of this one is dropped."""
        self._pass += 1
        for number in range(self._num_workers):
            self._pool.put(number, (self._pass, -1, None))
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        # The first pass has begun the sampler before. PyTorch's does so, too, and a sampler that
        # draws in `__iter__` gives the same numbers here.
        self._sampler_iter = iter(loader._index_sampler)
        self._said, self._fetched = loader._IterableDataset_len_called, 0
        self._sent = self._next = 0  # the indices of the next task, and of the next batch in order
        self._owners: dict[int, int] = {}  # the workers of tasks on their way
        self._ready: dict[int, tuple[int, Any]] = {}  # of what has come: worker, result
        self._active = [True] * self._num_workers
        self._loads = [0] * self._num_workers  # tasks per worker that are not yet handed out
        self._turn = cycle(range(self._num_workers))
        for _ in range(self._most):
            self._try_put_index()

    def _try_put_index(self) -> None:
        wanted = next(self._sampler_iter, NO_MORE)
        if wanted is NO_MORE:
            return
        for _ in range(self._num_workers):
            number = next(self._turn)
            share = self._most // max(1, sum(self._active))
            if self._active[number] and (self._in_order or self._loads[number] < share):
                break
        else:
            return
        self._pool.put(number, (self._pass, self._sent, wanted))
        self._owners[self._sent] = number
        self._loads[number] += 1
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            index = self._found()
            if index is not None:
                number, result = self._ready.pop(index)
                self._loads[number] -= 1
                self._try_put_index()
                if isinstance(result, Failure):
                    result.reraise()
                return result
            if self._broken:
                raise RuntimeError(self._broken)
            if not self._owners:
                if not self._persistent_workers:
                    self._pool.stop()
                raise StopIteration
            self._receive()

    def _found(self) -> int | None:
        """The index of the batch to hand out now, if it is there."""
        if not self._in_order:
            return next(iter(self._ready), None)
        while self._next < self._sent:
            if self._next in self._ready:
                return self._next
            if self._next in self._owners:
                return None
            self._next += 1  # handed out, or never to come: its worker's samples are at an end
        return None

    def _receive(self) -> None:
        """Wait for a result, and note it."""
        try:
            number, (epoch, index, ended), result = self._pool.get(self._timeout)
        except TimeoutError:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        except ConnectionError as error:
            self._broken = str(error)
            self._pool.stop()
            raise RuntimeError(self._broken) from None
        if epoch != self._pass:
            return
        if ended:
            self._active[number] = False
            self._owners = {i: owner for i, owner in self._owners.items() if owner != number}
            self._try_put_index()
        else:
            del self._owners[index]
            self._ready[index] = number, result
