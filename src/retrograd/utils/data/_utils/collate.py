"""Batches of samples, and samples that are not batched."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ....engine.tensor import Tensor, new_tensor
from ....ops.creation.from_data import tensor
from ....ops.shape.join import stack

__all__ = ["default_collate", "default_convert"]

NOT_COLLATED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
np_str_obj_array_pattern = re.compile(r"[SaUO]")  # kinds of arrays that are no numbers


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch from samples: tensors and arrays are stacked, numbers become tensors.

    Tuples give lists; lists, mappings and named tuples keep their class, strings stay a list.
    Python floats give float64. Raises TypeError for any other kind of sample, RuntimeError for
    sequences of different lengths.

    >>> rg.utils.data.default_collate([(1, 0.5), (2, 1.5)])
    [tensor([1, 2]), tensor([0.5000, 1.5000], dtype=retrograd.float64)]
    """
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        if np_str_obj_array_pattern.search(first.dtype.str):
            raise TypeError(NOT_COLLATED.format(first.dtype))
        return new_tensor(np.stack([np.asarray(item) for item in batch]))
    if isinstance(first, float):
        return new_tensor(np.array(batch, np.float64))
    if isinstance(first, (int, complex)):
        return tensor(list(batch))
    if isinstance(first, Mapping):
        return mapped(first, {key: default_collate([item[key] for item in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return listed(first, [default_collate(column) for column in zip(*batch, strict=True)])
    raise TypeError(NOT_COLLATED.format(type(first)))


def default_convert(sample: Any) -> Any:
    """A sample that is not batched: arrays and numbers of NumPy's as tensors, the rest as it is.

    >>> import numpy
    >>> rg.utils.data.default_convert({"x": numpy.zeros(1), "y": "label"})
    {'x': tensor([0.], dtype=retrograd.float64), 'y': 'label'}
    """
    if isinstance(sample, (str, bytes)):
        return sample
    if isinstance(sample, (np.ndarray, np.generic)):
        plain = np_str_obj_array_pattern.search(sample.dtype.str)
        return sample if plain else new_tensor(np.asarray(sample))
    if isinstance(sample, Mapping):
        return mapped(sample, {key: default_convert(value) for key, value in sample.items()})
    if isinstance(sample, Sequence):
        return listed(sample, [default_convert(part) for part in sample])
    return sample


def mapped(like: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping of the class of `like`, or a dictionary where that cannot be made of one."""
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)
            made.update(items)
            return made
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def listed(like: Sequence[Any], parts: list[Any]) -> Any:
    """A sequence of the class of `like`, a list for a tuple, or where there can be none."""
    if isinstance(like, tuple):
        return type(like)(*parts) if hasattr(like, "_fields") else parts
    try:
        return type(like)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts
