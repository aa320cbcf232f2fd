"""Data sets and the loader that makes batches of them, in the calling process.

A loader draws indices from a sampler, in batches, fetches the samples and collates them. A data set
of tensors gives a whole batch with one indexing instead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..engine.tensor import Tensor, new_tensor
from ..ops.creation.from_data import tensor
from ..ops.random.factories import randperm
from ..ops.random.generator import drawn_seed
from ..ops.shape.join import stack
from .samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]


T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from indices to samples; a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in the order of `__iter__`, without indices."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one after the other: what `+` of two of them gives.

    >>> from retrograd.utils.data import ChainDataset, IterableDataset
    >>> class Numbers(IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(Numbers() + Numbers())
    [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal first dimension; sample i is the tuple of their rows i.

    Raises AssertionError if the sizes differ.

    >>> pairs = rg.utils.data.TensorDataset(rg.tensor([1.0, 2.0]), rg.tensor([0, 1]))
    >>> len(pairs), pairs[1]
    (2, (tensor(2.), tensor(1)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t._array.shape[0] != tensors[0]._array.shape[0] for t in tensors):
            raise AssertionError(
                "Size mismatch between tensors: the first dimensions are "
                f"{[t._array.shape[0] for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0]._array.shape[0]  # type: ignore[no-any-return]

    def batch(self, indices: Sequence[int]) -> list[Tensor]:
        """The samples at `indices`, collated."""
        rows = np.asarray(indices, np.int64)
        return [
            new_tensor(t._array[rows]) if t._node is None else t[new_tensor(rows)]
            for t in self.tensors
        ]


class StackDataset(Dataset[Any]):
    """Data sets side by side: sample i is the tuple, or dictionary, of their samples i.

    Raises ValueError for no data set, for both kinds at once, and for lengths that differ.

    >>> from retrograd.utils.data import StackDataset
    >>> StackDataset([1, 2], "ab")[1], StackDataset(x=[1, 2], y="ab")[0]
    ((2, 'b'), {'x': 1, 'y': 'a'})
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input, and at least one dataset should be passed"
            )
        self.datasets: Any = args or kwargs
        if len({len(dataset) for dataset in (*args, *kwargs.values())}) > 1:
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        sets = self.datasets
        return len(next(iter(sets.values())) if isinstance(sets, dict) else sets[0])


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other.

    Raises AssertionError without any; an index raises IndexError or, below minus the length,
    ValueError.
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        start = 0
        for dataset, stop in zip(self.datasets, self.cumulative_sizes, strict=True):
            if index < stop:
                return dataset[index - start]
            start = stop
        raise IndexError(f"index {index} is out of range for {len(self)} samples")

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None
) -> list[Subset[Any]]:
    """Split at random into subsets of these lengths, or of these fractions that sum to 1.

    What fractions leave over is dealt out from the first subset on. Raises ValueError if lengths do
    not sum to the size of the data set.

    >>> [len(part) for part in rg.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for index, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {index} is not between 0 and 1")
        sizes = [math.floor(total * share) for share in lengths]
        for index in range(total - sum(sizes)):
            sizes[index % len(sizes)] += 1
        for index, size in enumerate(sizes):
            if size == 0:
                warnings.warn(
                    f"Length of split at index {index} is 0. This might result in an empty "
                    "dataset.",
                    stacklevel=2,
                )
    else:
        sizes = [int(length) for length in lengths]
    if sum(sizes) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    stops = accumulate(sizes)
    return [
        Subset(dataset, order[stop - size : stop]) for size, stop in zip(sizes, stops, strict=True)
    ]


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch from samples: tensors and arrays are stacked, numbers become tensors.

    Tuples and lists give lists, mappings and named tuples keep their form, strings stay a list.
    Python floats give float64. Raises TypeError for any other kind of sample, RuntimeError for
    sequences of different lengths.

    >>> rg.utils.data.default_collate([(1, 0.5), (2, 1.5)])
    [tensor([1, 2]), tensor([0.5000, 1.5000], dtype=retrograd.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        return new_tensor(np.stack([np.asarray(item) for item in batch]))
    if isinstance(first, float):
        return new_tensor(np.array(batch, np.float64))
    if isinstance(first, (int, complex)):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return type(first)({key: default_collate([item[key] for item in batch]) for key in first})  # type: ignore[call-arg]
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first)}"
    )


class DataLoader(Generic[T_co]):
    """Batches of a data set, in order or shuffled.

    batch_size: samples per batch, None for single samples; shuffle: a new random order in every
    pass, drawn from `generator`; sampler or batch_sampler: the indices, or lists of them, instead;
    drop_last: leave out a last batch that is shorter; collate_fn: makes a batch of a list of
    samples (`default_collate`). Loading happens in the calling process: `num_workers`, and what
    else is about workers and pinned memory, is accepted and makes no difference. Raises ValueError
    for options that exclude each other.
    Source: PyTorch's `DataLoader`.

    >>> data = rg.utils.data.TensorDataset(rg.arange(5), rg.arange(5) * 10)
    >>> for x, y in rg.utils.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
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
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative")
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
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.pin_memory, self.generator = num_workers, pin_memory, generator
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle, sampler and "
                    "batch_sampler options"
                )
        elif sampler is None and batch_sampler is None:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        drawn_seed(self.generator)  # which PyTorch draws for the workers, though there are none
        if isinstance(self.dataset, IterableDataset):
            yield from self._stream()
            return
        if self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
            return
        fetch = _batches(self.dataset) if self.collate_fn is default_collate else None
        for indices in self.batch_sampler or ():
            if fetch is not None:
                yield fetch(indices)
            else:
                yield self.collate_fn([self.dataset[index] for index in indices])

    def _stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from (self.collate_fn(sample) for sample in samples)
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        size = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return size
        return size // self.batch_size if self.drop_last else math.ceil(size / self.batch_size)


def _batches(dataset: Any) -> Callable[[Sequence[int]], Any] | None:
    """A function that gives collated batches at once, for data sets that index plainly."""
    own = type(dataset)
    if isinstance(dataset, TensorDataset) and own.__getitem__ is TensorDataset.__getitem__:
        return dataset.batch
    if isinstance(dataset, Subset) and own.__getitem__ is Subset.__getitem__:
        inner = _batches(dataset.dataset)
        if inner is not None:
            return lambda chosen: inner([dataset.indices[i] for i in chosen])
    return None


def default_convert(sample: Any) -> Any:
    """A sample that is not batched: arrays as tensors, the rest as it is.

    >>> import numpy
    >>> rg.utils.data.default_convert({"x": numpy.zeros(1), "y": "label"})
    {'x': tensor([0.], dtype=retrograd.float64), 'y': 'label'}
    """
    if isinstance(sample, np.ndarray):
        return new_tensor(sample)
    if isinstance(sample, Mapping):
        return {key: default_convert(value) for key, value in sample.items()}
    if isinstance(sample, tuple):
        parts = [default_convert(part) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else parts
    return [default_convert(part) for part in sample] if isinstance(sample, list) else sample


def get_worker_info() -> None:
    """What a worker process knows of itself: None, for samples are fetched in the calling process.

    >>> rg.utils.data.get_worker_info() is None
    True
    """
