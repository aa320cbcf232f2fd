"""How the samples of one batch are had from a data set, and collated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....engine.tensor import Tensor
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map

__all__ = ["DatasetKind", "fetcher"]


class DatasetKind:
    """What a data set gives samples by: an index, or iteration."""

    Map = 0
    Iterable = 1


def fetcher(
    dataset: Any, kind: int, batched: bool, collate: Callable[[Any], Any], drop_last: bool
) -> Callable[[Any], Any]:
    """A function from an index, or a list of them, to what the loader gives for it.

    That of an iterable data set raises StopIteration at the end.
    """
    if kind == DatasetKind.Iterable:
        samples = iter(dataset)
        if not batched:
            return lambda _: collate(next(samples))
        return lambda wanted: collate(_portion(samples, len(wanted), drop_last))
    if not batched:
        return lambda index: collate(dataset[index])
    plain = default_collate_fn_map.get(Tensor) is collate_tensor_fn
    whole = _batches(dataset) if collate is default_collate and plain else None
    if whole is not None:
        return whole
    if getattr(dataset, "__getitems__", None):
        return lambda indices: collate(dataset.__getitems__(indices))
    return lambda indices: collate([dataset[index] for index in indices])


def _portion(samples: Iterator[Any], size: int, drop_last: bool) -> list[Any]:
    """The next samples, fewer at the end; StopIteration if a batch is not to be made of them."""
    found = [sample for _, sample in zip(range(size), samples, strict=False)]
    if not found or (drop_last and len(found) < size):
        raise StopIteration
    return found


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
