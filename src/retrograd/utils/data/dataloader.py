"""The loader: batches of a data set, made here or by workers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, overload

from ...kernels.native.threads import available
from ...locks import load
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import DatasetKind as _DatasetKind
from ._utils.iterators import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from ._utils.threads import NoThreadsError
from ._utils.worker import get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Generic, TypedDict, Unpack

    import numpy as np
    from typing_extensions import TypeVar  # of Python 3.13: with a default

    from ...engine.tensor import Tensor
    from ...ops.random.generator import Generator
    from .dataset import Items

    T = TypeVar("T")
    B = TypeVar("B")
    K = TypeVar("K")
    T_co = TypeVar("T_co", covariant=True, default=Any)
    B_co = TypeVar("B_co", covariant=True, default=Any)
    Entry = Tensor | float | np.ndarray[Any, Any] | np.generic  # what makes a tensor of a batch
    E = TypeVar("E", bound=Entry)
    Row = TypeVar("Row", bound=tuple[Entry, ...])

    class Samples(Generic[T_co, B_co]):
        """Of samples, the first type, a loader makes batches, the second."""

    class Options(TypedDict, total=False):
        """What makes no difference to the types of batches."""

        sampler: Any
        batch_sampler: Any
        num_workers: int
        pin_memory: bool
        drop_last: bool
        timeout: float
        worker_init_fn: Callable[[int], None] | None
        multiprocessing_context: Any
        generator: Generator | None
        prefetch_factor: int | None
        persistent_workers: bool
        pin_memory_device: str
        in_order: bool

else:

    class Samples:
        """Where no type checker looks, `DataLoader[T]` is an annotation alone."""

        __class_getitem__ = classmethod(GenericAlias)


__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


_collate_fn_t = Callable[[list[Any]], Any]  # PyTorch's name, by which programs annotate

TOO_MANY = (
    "This DataLoader will create {} worker processes in total. Our suggested max number of worker "
    "in current system is {}: so many processes can run here at a time, and more of them make it "
    "slower. Use fewer workers"
)
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """None, again and again: the indices of an iterable data set."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Samples["T_co", "B_co"]):
    """Batches of a data set, in order or shuffled.

    batch_size: samples per batch, None for single samples; shuffle: a new random order in every
    pass, drawn from `generator`; sampler or batch_sampler: the indices, or lists of them, instead;
    drop_last: leave out a last batch that is shorter; collate_fn: makes a batch of a list of
    samples (`default_collate`).
    num_workers: processes that make batches ahead, `prefetch_factor` each (2); batches come in the
    same order as without, or with `in_order=False` as they are ready. multiprocessing_context: how
    processes start, by the name or the context of multiprocessing; "thread" for threads instead,
    as in a browser, which share the default generator. worker_init_fn is called with a worker's
    number in it, after it has been seeded by a number drawn here plus its own.
    persistent_workers: they serve further passes, too. timeout: the seconds to wait for a batch, 0
    for ever. `get_worker_info` tells an iterable data set which part of it a worker is to give.
    Pinning of memory is accepted and makes no difference.
    Raises ValueError for options that exclude each other or are out of range.
    Source: PyTorch's `DataLoader`.

    >>> data = rg.utils.data.TensorDataset(rg.arange(5), rg.arange(5) * 10)
    >>> for x, y in rg.utils.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

    _fixed = False
    _IterableDataset_len_called: int | None = None  # its length, once it was asked for

    @overload
    def __init__(
        self: DataLoader[E, Tensor],
        dataset: Items[E],
        batch_size: int = 1,
        shuffle: bool | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Row, list[Tensor]],
        dataset: Items[Row],
        batch_size: int = 1,
        shuffle: bool | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[dict[K, E], dict[K, Tensor]],
        dataset: Items[dict[K, E]],
        batch_size: int = 1,
        shuffle: bool | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[T, B],
        dataset: Items[T],
        batch_size: int = 1,
        shuffle: bool | None = None,
        *,
        collate_fn: Callable[[list[T]], B],
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[T, Any],
        dataset: Items[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[T]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None: ...
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. "
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
                "None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if num_workers > (most := available()):
            warnings.warn(TOO_MANY.format(num_workers, most), UserWarning, stacklevel=2)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        self.num_workers, self.pin_memory, self.generator = num_workers, pin_memory, generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory_device, self.timeout = pin_memory_device, timeout
        self.worker_init_fn, self.in_order = worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        self._dataset_kind = _DatasetKind.Map
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but "
                        f"got {name}={value}"
                    )
            sampler = _InfiniteConstantSampler()
        elif sampler is None:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.persistent_workers = persistent_workers
        default = default_collate if self._auto_collation else default_convert
        self.collate_fn = default if collate_fn is None else collate_fn
        self._iterator: Any = None
        self._fixed = True

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        if given is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers "
                f"> 0), but got num_workers={self.num_workers}"
            )
        if given is not None and given != "thread":
            given = load("._utils.processes", __package__).checked_context(given)
        self._context = given

    def __setattr__(self, name: str, value: Any) -> None:
        if self._fixed and name in FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        try:
            return _MultiProcessingDataLoaderIter(self)
        except NoThreadsError:
            return _SingleProcessDataLoaderIter(self, drawn=True)

    def __iter__(self) -> Iterator[B_co]:
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if getattr(self._iterator, "_broken", True):
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        size = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return size
        return size // self.batch_size if self.drop_last else math.ceil(size / self.batch_size)
