"""Copying tensors by Python's own protocols: `copy`, `deepcopy` and `pickle`.

A copy is a leaf: it keeps values, dtype, class, `requires_grad` and the user's attributes, never a
graph. A deep copy keeps `.grad` too.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..engine.tensor import Tensor, method, new_tensor, set_requires_grad

__all__: list[str] = []

NO_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment. This one was made by {node}. Copy its value: x.detach().clone()"
)

INTERNAL = ("view_of", "views", "is_inference_tensor", "_grad", "_parked")


def attributes(tensor: Tensor) -> dict[str, Any]:
    """What the user, or a subclass, has stored on the tensor."""
    return {key: value for key, value in tensor.__dict__.items() if key not in INTERNAL}


def rebuild(cls: Any, array: Any, requires_grad: bool, stored: dict[str, Any]) -> Tensor:
    """A leaf of class `cls` around `array`; how a pickled tensor comes back."""
    made = new_tensor(array, cls)
    if requires_grad:
        set_requires_grad(made, True)
    made.__dict__.update(stored)
    return made


def _reduce_ex(self: Tensor, protocol: int) -> tuple[Any, ...]:
    return rebuild, (type(self), self.array, self.requires_grad, attributes(self))


def _copy(self: Tensor) -> Tensor:
    return rebuild(type(self), self.array.view(), self.requires_grad, attributes(self))


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    found: Tensor | None = memo.get(id(self))
    if found is not None:
        return found
    if not self.is_leaf:
        raise RuntimeError(NO_LEAF.format(node=self.grad_fn))
    array = np.array(self.array, order="K")
    made = memo[id(self)] = rebuild(type(self), array, self.requires_grad, {})
    made.__dict__.update(copy.deepcopy(attributes(self), memo))
    if self.grad is not None:
        made._grad = copy.deepcopy(self.grad, memo)
    return made


method(_reduce_ex, "__reduce_ex__")
method(_copy, "__copy__")
method(_deepcopy, "__deepcopy__")
