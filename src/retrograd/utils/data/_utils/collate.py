"""Batches of samples, and samples that are not batched."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ....engine.tensor import Tensor, new_tensor
from ....ops.creation.from_data import tensor
from ....ops.shape.join import stack

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # kinds of arrays that are no numbers
NO_BATCH = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Tensors, stacked."""
    try:
        return stack(list(batch), 0)
    except RuntimeError as error:
        raise RuntimeError(
            f"{error}. In a loader, a function does so: DataLoader(..., collate_fn=...)"
        ) from None


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Arrays of numbers, stacked; TypeError for arrays of strings or objects."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(NO_BATCH.format(batch[0].dtype))
    return new_tensor(np.stack([np.asarray(item) for item in batch]))


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """NumPy's numbers, as a vector of their dtype."""
    return new_tensor(np.stack([np.asarray(item) for item in batch]))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """Python's floats, in float64."""
    return new_tensor(np.array(batch, np.float64))


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """Integers, booleans and complex numbers, as `rg.tensor` takes them."""
    return tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Sequence[Any]:
    """Strings and bytes, which stay a list."""
    return batch


default_collate_fn_map: dict[Any, Any] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    complex: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Any] | None = None) -> Any:
    """One batch from samples, each leaf by the function that the map has for its type.

    A key of the map is a type or a tuple of types; its function takes the leaves and the map, by
    keyword. Source: PyTorch's function of this name.

    >>> from retrograd.utils.data._utils.collate import collate
    >>> collate([{"n": 1}, {"n": 2}], collate_fn_map={int: lambda ints, collate_fn_map: sum(ints)})
    {'n': 3}
    """
    first, known = batch[0], collate_fn_map or {}
    join = known.get(type(first))
    if join is None:
        join = next((known[kind] for kind in known if isinstance(first, kind)), None)
    if join is not None:
        return join(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return like_sample(
            first,
            {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first},
        )
    if not isinstance(first, Sequence):
        raise TypeError(NO_BATCH.format(type(first)))
    if any(len(item) != len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [
        collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)
    ]
    return like_sample(first, columns)


def like_sample(sample: Any, made: Any) -> Any:
    """`made`, a dict or a list, in the type of collection that `sample` has, where that goes.

    A tuple without names stays a list, as in PyTorch.
    """
    kind = type(sample)
    if kind is type(made):
        return made
    if isinstance(sample, tuple):
        return kind(*made) if hasattr(sample, "_fields") else made
    try:
        if isinstance(sample, (MutableMapping, MutableSequence)):
            same: Any = copy.copy(sample)
            for place, value in made.items() if isinstance(made, dict) else enumerate(made):
                same[place] = value
            return same
        return kind(made)
    except TypeError:
        return made


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch from samples: tensors and arrays are stacked, numbers become tensors.

    Tuples give lists, other collections keep their kind where they can, strings stay a list. Python
    floats give float64. What becomes of other types `default_collate_fn_map` of
    `utils.data._utils.collate` may say. Raises TypeError for any other kind of sample, RuntimeError
    for sequences of different lengths.

    >>> rg.utils.data.default_collate([(1, 0.5), (2, 1.5)])
    [tensor([1, 2]), tensor([0.5000, 1.5000], dtype=retrograd.float64)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(sample: Any) -> Any:
    """A sample that is not batched: arrays of numbers as tensors, the rest as it is.

    >>> import numpy
    >>> rg.utils.data.default_convert({"x": numpy.zeros(1), "y": "label"})
    {'x': tensor([0.], dtype=retrograd.float64), 'y': 'label'}
    """
    if isinstance(sample, (np.ndarray, np.number, np.bool_)):
        numbers = not np_str_obj_array_pattern.search(sample.dtype.str)
        return new_tensor(np.asarray(sample)) if numbers else sample
    if isinstance(sample, Mapping):
        return like_sample(sample, {key: default_convert(value) for key, value in sample.items()})
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return like_sample(sample, [default_convert(part) for part in sample])
    return sample
