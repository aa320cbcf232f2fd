"""Tensors whose memory other processes see: `share_memory_`.

NOTE [Moving to shared memory]
1. Memory cannot become shared where it is. So a tensor gets other memory with the same values, and
   with it its base and all views that the two have, and what was asked for its storage.
2. An alias that is no view, such as `x.detach()`, keeps the old memory until it is shared itself:
   then it comes to lie where the first one went.
"""

from __future__ import annotations

import weakref
from typing import Any

from ...engine.tensor import Tensor, method
from ...engine.views import base_of, live_views
from ...kernels.allocation import is_numpy
from ...kernels.memory import root, same_view_of
from ...kernels.shared import block_of, in_shared
from .storage import KNOWN

__all__: list[str] = []

_moved: dict[int, Any] = {}  # by the owner of the old memory, while that lives: the new


def is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory: see `share_memory_`.

    >>> rg.ones(2).is_shared(), rg.ones(2).share_memory_().is_shared()
    (False, True)
    """
    return block_of(self._array) is not None


def share_memory_(self: Tensor) -> Tensor:
    """Move the values to memory that processes share; returns the tensor itself.

    A process forked afterwards writes the same memory, and so does one that is sent the tensor by
    `retrograd.multiprocessing`. Views move with it: NOTE [Moving to shared memory]. Raises
    RuntimeError for arrays that are not NumPy's.

    >>> x = rg.arange(4)
    >>> view = x[:2]
    >>> x.share_memory_().is_shared(), view.is_shared()
    (True, True)
    >>> _ = x.fill_(7); view
    tensor([7, 7])
    """
    if not is_numpy(self._array):
        raise NotImplementedError(
            f"share_memory_(): the memory of {type(self._array).__name__} is not NumPy's. Share a "
            "copy: retrograd.tensor(x.numpy()).share_memory_()"
        )
    if is_shared(self):
        return self
    owner = root(self._array)
    room = _moved.get(id(owner))
    if room is None:
        room = _moved[id(owner)] = in_shared(owner)
        weakref.finalize(owner, _moved.pop, id(owner), None)
    base, storage = base_of(self), KNOWN.get(id(owner))
    asked: list[Tensor] = []
    if storage is not None and storage._owner is owner:
        asked = list(storage._asked.values())
        storage._stand_on(root(room), storage._size)
        storage._asked.update((id(tensor), tensor) for tensor in asked)
    for each in {id(t): t for t in (self, base, *live_views(base), *asked)}.values():
        if root(each._array) is owner:
            each._array, each._room = same_view_of(each._array, room), None
    return self


method(is_shared)
method(share_memory_)
