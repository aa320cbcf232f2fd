"""PyTorch's private names for exchanging one tensor of a module."""

from __future__ import annotations

from typing import Any

from ....engine.tensor import Tensor
from ....func.calls import ABSENT, exchange

__all__ = ["swap_tensor"]

_MISSING = ABSENT


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Give a module another parameter, buffer or attribute `name`; return what was there.

    With `allow_missing` there may be none before, and `_MISSING` as `tensor` leaves none. Raises
    TypeError where one of both is no tensor, AttributeError where there is none, KeyError for a
    name with a dot.

    >>> from retrograd.nn.utils._named_member_accessor import swap_tensor
    >>> line = rg.nn.Linear(1, 1, bias=False)
    >>> before = swap_tensor(line, "weight", rg.tensor([[2.0]]))
    >>> line(rg.ones(1)), type(before).__name__
    (tensor([2.]), 'Parameter')
    """
    if "." in name:
        raise KeyError(f'tensor name can\'t contain ".", got: {name!r}')
    if not (isinstance(tensor, Tensor) or (allow_missing and tensor is ABSENT)):
        raise TypeError(f"{tensor!r} is not an instance of torch.Tensor")
    if not allow_missing and not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return exchange(module, name, tensor)
