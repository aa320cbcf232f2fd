"""Data sets, samplers and the loader that makes batches of them, in the calling process.

A loader draws indices from a sampler, in batches, fetches the samples and collates them. A data set
of tensors gives a whole batch with one indexing instead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import Tensor, new_tensor
from ..ops.create import tensor
from ..ops.join import stack
from ..ops.random import randint, randperm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "default_collate",
    "random_split",
]


class Dataset:
    """A map from indices to samples; a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples in the order of `__iter__`, without indices."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


class TensorDataset(Dataset):
    """Tensors of equal first dimension; sample i is the tuple of their rows i.

    Raises AssertionError if the sizes differ.

    >>> import retrograd as rg
    >>> pairs = rg.utils.data.TensorDataset(rg.tensor([1.0, 2.0]), rg.tensor([0, 1]))
    >>> len(pairs), pairs[1]
    (2, (tensor(2.), tensor(1)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.array.shape[0] != tensors[0].array.shape[0] for t in tensors):
            raise AssertionError(
                "Size mismatch between tensors: the first dimensions are "
                f"{[t.array.shape[0] for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].array.shape[0]  # type: ignore[no-any-return]

    def batch(self, indices: Sequence[int]) -> list[Tensor]:
        """The samples at `indices`, collated."""
        rows = np.asarray(indices, np.int64)
        return [
            new_tensor(t.array[rows]) if t.node is None else t[new_tensor(rows)]
            for t in self.tensors
        ]


class Subset(Dataset):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
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


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split at random into subsets of these lengths, or of these fractions that sum to 1.

    What fractions leave over is dealt out from the first subset on. Raises ValueError if lengths do
    not sum to the size of the data set.

    >>> import retrograd as rg
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


class Sampler:
    """Indices, or lists of them, in the order in which a loader is to fetch them."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new random order each time; with `replacement`, independent draws."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if num_samples is not None and num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total = len(self.data_source)
        if self.replacement:
            drawn = randint(0, total, (self.num_samples,), generator=self.generator)
            return iter(drawn.tolist())
        return islice(self._orders(total), self.num_samples)

    def _orders(self, total: int) -> Iterator[int]:
        while total:
            yield from randperm(total, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in a new random order each time."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator).tolist()
        return iter([self.indices[i] for i in order])

    def __len__(self) -> int:
        return len(self.indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; the last may be shorter.

    >>> from retrograd.utils.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch from samples: tensors and arrays are stacked, numbers become tensors.

    Tuples and lists give lists, mappings and named tuples keep their form, strings stay a list.
    Python floats give float64. Raises TypeError for any other kind of sample.

    >>> import retrograd as rg
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


class DataLoader:
    """Batches of a data set, in order or shuffled.

    batch_size: samples per batch, None for single samples; shuffle: a new random order in every
    pass, drawn from `generator`; sampler or batch_sampler: the indices, or lists of them, instead;
    drop_last: leave out a last batch that is shorter; collate_fn: makes a batch of a list of
    samples (`default_collate`). `num_workers` and `pin_memory` are accepted; loading happens in the
    calling process. Raises ValueError for options that exclude each other.
    Source: PyTorch's `DataLoader`.

    >>> import retrograd as rg
    >>> data = rg.utils.data.TensorDataset(rg.arange(5), rg.arange(5) * 10)
    >>> for x, y in rg.utils.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

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
        *,
        generator: Any = None,
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
        self.collate_fn = collate_fn or (default_collate if batched else _convert)

    def __iter__(self) -> Iterator[Any]:
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


def _convert(sample: Any) -> Any:
    """A sample that is not batched: arrays as tensors, the rest as it is."""
    if isinstance(sample, np.ndarray):
        return new_tensor(sample)
    if isinstance(sample, Mapping):
        return {key: _convert(value) for key, value in sample.items()}
    if isinstance(sample, tuple):
        parts = [_convert(part) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else parts
    return [_convert(part) for part in sample] if isinstance(sample, list) else sample
