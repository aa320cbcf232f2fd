"""Data sets: samples by index, or one after the other."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...errors import wrong_type
from ...ops.random.factories import randperm

if TYPE_CHECKING:
    from ...ops.random.generator import Generator

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
    "TensorDataset", "random_split",
]  # fmt: skip


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from indices to samples; a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


if TYPE_CHECKING:
    Items = Dataset[T] | Sequence[T]


class IterableDataset(Dataset[T_co]):
    """A data set without indices: its samples come in the order of `__iter__`."""

    def __iter__(self) -> Iterator[T_co]:
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
        for number, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise wrong_type("TensorDataset", "tensors", "tuple of Tensors", t, number + 1)
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
        try:
            rows = np.fromiter(map(operator.index, indices), np.int64)
        except TypeError:
            for index in indices:
                self[index]  # which raises what one index does
            raise
        return [
            new_tensor(t._array[rows]) if t._node is None else t[new_tensor(rows)]
            for t in self.tensors
        ]


def several(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """The samples of `dataset` at `indices`; ValueError where it gives another number of them."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    found = list(dataset.__getitems__(indices))
    if len(found) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}"
        )
    return found


class StackDataset(Dataset[Any]):
    """Data sets side by side: sample i is the tuple, or dictionary, of their samples i.

    Raises ValueError for no data set, for both kinds at once, and for lengths that differ.

    >>> from retrograd.utils.data import StackDataset
    >>> StackDataset([1, 2], "ab")[1], StackDataset(x=[1, 2], y="ab")[0]
    ((2, 'b'), {'x': 1, 'y': 'a'})
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        if args and kwargs:
            raise ValueError(
                "Supported either by position, for tuples, or by name, for dicts: these data sets "
                "are given in both ways"
            )
        self.datasets: Any = args or kwargs
        if len({len(dataset) for dataset in (*args, *kwargs.values())}) > 1:
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The samples at `indices`, had from each data set at once where it has this, too."""
        sets = self.datasets
        named = isinstance(sets, dict)
        columns = [several(dataset, indices) for dataset in (sets.values() if named else sets)]
        rows = zip(*columns, strict=True)
        return [dict(zip(sets, row, strict=True)) for row in rows] if named else list(rows)

    def __len__(self) -> int:
        sets = self.datasets
        return len(next(iter(sets.values())) if isinstance(sets, dict) else sets[0])


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset: Items[T_co], indices: Sequence[int]) -> None:
        self.dataset: Any = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        of: Any = self.indices
        found: T_co = self.dataset[[of[i] for i in index] if isinstance(index, list) else of[index]]
        return found

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        """The samples at `indices`, had at once where the data set has this, too."""
        return several(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other.

    Raises AssertionError without any, and for an IterableDataset; an index raises IndexError or,
    below minus the length, ValueError.
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset. Use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each of these would end if they lay one after the other.

        >>> rg.utils.data.ConcatDataset.cumsum([[1, 2], [3]])
        [2, 3]
        """
        return list(accumulate(map(len, sequence)))

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
    dataset: Items[T], lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Split at random into subsets of these lengths, or of these fractions that sum to 1.

    What fractions leave over is dealt out from the first subset on. Raises ValueError if lengths do
    not sum to the size of the data set.

    >>> [len(part) for part in rg.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)  # type: ignore[arg-type]
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
