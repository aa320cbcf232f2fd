"""Arguments in chunks, and outputs of chunks in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....engine.tensor import Tensor
from ....ops.shape.join import cat, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["gather", "scatter"]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """`inputs` for each of several calls, tensors in it split along `dim`.

    target_gpus: a list with an entry for each call. Source: PyTorch's `parallel.scatter`.

    >>> rg.nn.parallel.scatter({"x": rg.arange(3)}, [0, 1])
    [{'x': tensor([0, 1])}, {'x': tensor([2])}]
    """
    return chunks(inputs, len(target_gpus), dim)


def chunks(value: Any, count: int, dim: int) -> list[Any]:
    """`value` for each of `count` calls, tensors in it split along `dim`."""
    if isinstance(value, Tensor):
        return list(value.chunk(count, dim))
    if isinstance(value, (tuple, list)):
        columns = [chunks(item, count, dim) for item in value]
        rows = list(zip(*columns, strict=True)) if columns else [()] * count
        if hasattr(value, "_fields"):
            return [type(value)(*row) for row in rows]
        return [type(value)(row) for row in rows]
    if isinstance(value, dict):
        rows = chunks(list(value.values()), count, dim)
        return [dict(zip(value, row, strict=True)) for row in rows]
    return [value] * count


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """One output from those of chunks: tensors joined along `dim`, 0-d ones to a vector.

    Tensors may be nested in tuples, lists and dictionaries. Raises ValueError for dictionaries with
    different keys. Source: PyTorch's `parallel.gather`.

    >>> rg.nn.parallel.gather([rg.ones(2), rg.zeros(1)])
    tensor([1., 1., 0.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        if first._array.ndim == 0:
            return stack(outputs)
        return cat(outputs, dim)
    if isinstance(first, dict):
        if any(out.keys() != first.keys() for out in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([out[key] for out in outputs], None, dim)) for key in first)
    if isinstance(first, (tuple, list)):
        columns = [gather(list(column), None, dim) for column in zip(*outputs, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    return first
