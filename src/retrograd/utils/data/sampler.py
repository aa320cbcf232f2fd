"""Samplers: the order in which a loader is to fetch the samples of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ...dtypes import float64
from ...ops.creation.from_data import as_tensor
from ...ops.random.factories import multinomial, randint, randperm
from ...ops.random.generator import Generator, drawn_seed

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler",
]  # fmt: skip


T_co = TypeVar("T_co", covariant=True)


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless an argument is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def check_flag(name: str, value: Any, error: type[Exception] = ValueError) -> None:
    """Raise `error` unless an argument is a bool."""
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """Indices, or lists of them, in the order in which a loader is to fetch them."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


def size(data_source: Sized) -> int:
    """How many samples there are; TypeError where nothing says so."""
    if not hasattr(data_source, "__len__"):
        name = type(data_source).__name__
        raise TypeError(
            f"object of type '{name}' has no len(), which says how many samples there are. Define "
            f"__len__(self) in class {name}, or derive it from IterableDataset"
        )
    return len(data_source)


class SequentialSampler(Sampler[int]):
    """The indices 0, 1, 2, ... in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(size(self.data_source)))

    def __len__(self) -> int:
        return size(self.data_source)


PORTION = 32  # of independent draws


class RandomSampler(Sampler[int]):
    """A new random order each time; with `replacement`, independent draws.

    Raises ValueError unless `num_samples` is a positive integer, TypeError unless `replacement` is
    a bool.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        check_flag("replacement", replacement, TypeError)
        if num_samples is not None:
            check_count("num_samples", num_samples)
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got num_samples="
                f"{self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return size(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        """Indices from `generator`, or from one that the default generator seeds.

        They are drawn in PyTorch's portions, the last of which may give no index.
        """
        source = self.generator or Generator().manual_seed(drawn_seed())
        total = len(self.data_source)
        portion = PORTION if self.replacement else total
        for start in range(0, self.num_samples + 1, portion) if total else ():
            wanted = min(portion, self.num_samples - start)
            drawn = (
                randint(0, total, (wanted,), generator=source)
                if self.replacement
                else randperm(total, generator=source)[:wanted]
            )
            yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a new random order each time.

    >>> sorted(rg.utils.data.SubsetRandomSampler([2, 5, 7]))
    [2, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator).tolist()
        yield from [self.indices[i] for i in order]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices drawn with probabilities proportional to `weights`.

    Without `replacement` no index comes twice. Raises ValueError for another number or kind of
    arguments. Source: PyTorch's `WeightedRandomSampler`.

    >>> from retrograd.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 3.0, 0.0], 4))
    [1, 1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        check_count("num_samples", num_samples)
        check_flag("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights._array.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement = num_samples, replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter.

    Raises ValueError unless `batch_size` is a positive integer and `drop_last` a bool.

    >>> from retrograd.utils.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        check_count("batch_size", batch_size)
        check_flag("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)
