"""What a worker does, in a process of its own or in a thread, and what it knows of itself."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .fetch import DatasetKind, fetcher

__all__ = ["Failure", "Job", "WorkerInfo", "get_worker_info", "work"]

_known = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's number, how many there are, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _OfProcess:
    """What all threads of a worker process are told."""

    info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The id, num_workers, seed and dataset of the current worker; None outside a worker.

    >>> rg.utils.data.get_worker_info() is None
    True
    """
    return getattr(_known, "info", _OfProcess.info)


@dataclass
class Job:
    """What the workers of a loader are to do."""

    dataset: Any
    kind: int
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], None] | None
    workers: int
    seed: int

    def tell(self, number: int, process: bool) -> None:
        """Let worker `number`, which calls this, know of itself."""
        info = WorkerInfo(number, self.workers, self.seed + number, self.dataset)
        if process:
            _OfProcess.info = info
        else:
            _known.info = info

    def fetcher(self) -> Callable[[Any], Any]:
        """What makes one pass over the data set."""
        return fetcher(self.dataset, self.kind, self.batched, self.collate, self.drop_last)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The four numbers that seed NumPy in a worker, as in PyTorch's: its mixing of two is NumPy's.

    >>> from retrograd.utils.data._utils.worker import _generate_state
    >>> _generate_state(12345, 0)
    [1617105738, 966875728, 3978802469, 1788008128]
    """
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return list(map(int, np.random.SeedSequence(entropy).generate_state(4)))


class Failure:
    """An error in a worker, to be raised again where the batch is asked for."""

    def __init__(self, kind: type[BaseException], text: str, where: str) -> None:
        self.kind, self.text, self.where = kind, text, where

    @classmethod
    def caught(cls, error: BaseException, where: str) -> Failure:
        """The failure that carries the error being handled, with its traceback."""
        return cls(type(error), "".join(traceback.format_exception(error)), where)

    def reraise(self) -> None:
        """Raise an error of the same kind, or RuntimeError if that takes other arguments."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            text = _Shown(text)
        try:
            error = self.kind(text)
        except Exception:
            error = RuntimeError(text)
        raise error


class _Shown(str):
    """A text that a KeyError shows in lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def work(
    job: Job, number: int, where: str, get: Callable[[], Any], give: Callable[..., None]
) -> None:
    """Do tasks until `get` gives None.

    A task is (pass, index, what to fetch); an index below 0 begins a new pass. `give` is told
    (pass, index, whether the samples are at an end, the result or a Failure).
    """
    ready: Any = None
    ended, begun = False, False
    while (task := get()) is not None:
        epoch, index, wanted = task
        if index < 0:
            ready, ended = None, False
        elif not ended:
            result = None
            try:
                if not begun:
                    begun = True
                    if job.init is not None:
                        job.init(number)
                if ready is None:
                    ready = job.fetcher()
                result = ready(wanted)
            except StopIteration as error:
                ended = job.kind == DatasetKind.Iterable
                if not ended:
                    result = Failure.caught(error, where)
            except Exception as error:
                result = Failure.caught(error, where)
            give(epoch, index, ended, result)
