"""Batches of samples, and samples that are not batched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....engine.tensor import Tensor, new_tensor
from ....ops.creation.from_data import tensor
from ....ops.shape.join import stack

__all__ = ["default_collate", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # kinds of arrays that are no numbers


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
