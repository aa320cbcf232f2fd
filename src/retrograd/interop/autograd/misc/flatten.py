"""Nested containers of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import pytree

__all__ = ["flatten", "flatten_func"]


def by_key(value: Any) -> Any:
    """Containers whose dictionaries are in the order of their keys, as HIPS takes them."""
    if isinstance(value, dict):
        return {key: by_key(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        parts = [by_key(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers in arrays and nested containers as a vector (N,), and what undoes it.

    Dictionaries are taken in the order of their keys.

    >>> from retrograd.interop.autograd.misc import flatten
    >>> vector, unflatten = flatten({"b": np.zeros((2, 1)), "a": 1.0})
    >>> vector
    array([1., 0., 0.])
    >>> unflatten(vector + 1.0)["b"]
    array([[1.],
           [1.]])
    """
    like = by_key(value)
    leaves = pytree.flatten(like)
    shapes = [np.shape(leaf) for leaf in leaves]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    vector = np.concatenate([np.ravel(leaf) for leaf in leaves]) if leaves else np.array([])

    def unflatten(vector: Any) -> Any:
        parts = [
            np.reshape(vector[start:end], shape) if shape else vector[start]
            for shape, start, end in zip(shapes, ends[:-1], ends[1:], strict=True)
        ]
        return pytree.unflatten(like, parts)

    return vector, unflatten


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of containers as one of vectors; what undoes it; and the example as a vector.

    >>> from retrograd.interop.autograd.misc import flatten_func
    >>> flat, unflatten, start = flatten_func(lambda x: [2.0 * x[0]], [np.ones(2)])
    >>> flat(start)
    array([2., 2.])
    """
    start, unflatten = flatten(example)
    return lambda vector, *args: flatten(func(unflatten(vector), *args))[0], unflatten, start
