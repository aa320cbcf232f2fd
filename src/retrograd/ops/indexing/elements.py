"""Writing elements one by one: with a Python function of each, or along the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.inplace import in_place, write
from ...engine.tensor import Tensor, has_history, method, new_tensor
from ...kernels.allocation import has_memory, table

__all__: list[str] = []


def by_element(
    self: Tensor, name: str, others: tuple[Tensor, ...], function: Callable[..., Any]
) -> Tensor:
    """Write `function(own, *others)` of every element; the others expand to the tensor's shape."""
    if any(has_history(t) for t in (self, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead. What Python computes is not recorded"
        )
    shape, kind = self._array.shape, self._array.dtype
    expanded = [t.expand(self.shape)._array for t in others]
    rows = zip(*[array.ravel().tolist() for array in (self._array, *expanded)], strict=True)
    made = np.array([function(*row) for row in rows], None if self._array.size else kind)
    if made.dtype.kind not in "fciub" or (made.dtype.kind == "c" and kind.kind != "c"):
        raise TypeError(
            f"{name}(): the function must give numbers that {self.dtype} can hold, not "
            f"{made.dtype.name}"
        )
    values = new_tensor(made.astype(kind).reshape(shape))
    return write(self, name, lambda old: values, (), {})


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by what `callable` gives for it; slow, and not recorded.

    Raises RuntimeError for a tensor that requires grad, TypeError for what is no number.

    >>> rg.tensor([1.0, 2.0]).apply_(lambda x: x + 0.5)
    tensor([1.5000, 2.5000])
    """
    return by_element(self, "apply_", (), callable)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by `callable(own, other)`, with those of `other`, which expands.

    Errors as for `apply_`.

    >>> rg.tensor([1.0, 2.0]).map_(rg.tensor(3.0), lambda a, b: a * b)
    tensor([3., 6.])
    """
    return by_element(self, "map_", (other,), callable)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """`map_` with the elements of two tensors.

    >>> rg.tensor([1.0]).map2_(rg.tensor([2.0]), rg.tensor([3.0]), lambda a, b, c: a + b * c)
    tensor([7.])
    """
    return by_element(self, "map2_", (x, y), callable)


def fill_diagonal(input: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """The tensor with a number on its main diagonal; `wrap` starts anew below a tall matrix.

    Raises RuntimeError for a vector, and for sizes that differ in more than two dimensions.
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"dimensions must larger than 1, this tensor has shape {list(shape)}. A matrix has a "
            "diagonal"
        )
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"all dimensions of input must be of equal length, not {list(shape)}")
    places = np.zeros(shape, np.bool_)
    if len(shape) == 2 and shape[1] and wrap:
        places.reshape(-1)[:: shape[1] + 1] = True
    else:
        count = np.arange(min(shape))
        places[(count,) * len(shape)] = True
    if has_memory(input._array):
        places = table(input._array, places)
    return input.masked_fill(new_tensor(places), fill_value)


for function in (apply_, map_, map2_, in_place(fill_diagonal)):
    method(function)
