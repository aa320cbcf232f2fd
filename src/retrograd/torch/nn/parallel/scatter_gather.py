"""Arguments in chunks, and outputs of chunks in one."""

from __future__ import annotations

from typing import Any

from .... import pytree
from ....engine.tensor import Tensor
from ....ops.shape.join import cat, stack

__all__ = ["gather", "scatter"]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """`inputs` for each of several calls, tensors in it split along `dim`.

    target_gpus: a list with an entry for each call. Source: PyTorch's `parallel.scatter`.

    >>> rg.nn.parallel.scatter({"x": rg.arange(3)}, [0, 1])
    [{'x': tensor([0, 1])}, {'x': tensor([2])}]
    """
    count = len(target_gpus)
    parts = [
        each.chunk(count, dim) if isinstance(each, Tensor) else [each] * count
        for each in pytree.flatten(inputs)
    ]
    rows = zip(*parts, strict=True) if parts else [()] * count
    return [pytree.unflatten(inputs, row) for row in rows]


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """One output from those of chunks: tensors joined along `dim`, 0-d ones to a vector.

    Tensors may be nested in tuples, lists and dictionaries. Raises ValueError for dictionaries with
    different keys. Source: PyTorch's `parallel.gather`.

    >>> rg.nn.parallel.gather([rg.ones(2), rg.zeros(1)])
    tensor([1., 1., 0.])
    """
    first = outputs[0]
    if isinstance(first, dict) and any(out.keys() != first.keys() for out in outputs):
        raise ValueError("All dicts must have the same number of keys")

    def joined(parts: Any) -> Any:
        if not isinstance(parts[0], Tensor):
            return parts[0]
        return cat(parts, dim) if parts[0].ndim else stack(parts)

    return pytree.unflatten(first, map(joined, zip(*map(pytree.flatten, outputs), strict=True)))
