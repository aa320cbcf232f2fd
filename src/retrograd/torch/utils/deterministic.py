"""Whether memory that nothing was written to is filled while determinism is asked for.

`fill_uninitialized_memory`, True at first, can be set; it takes effect where
`use_deterministic_algorithms(True)` was called. `empty` and its like, and the new part after
`resize_`, then hold NaN, True or the largest integer, so that a program which reads them by
mistake does so in the same way each time. Source: PyTorch's `torch.utils.deterministic`.

>>> rg.use_deterministic_algorithms(True); rg.empty(2)
tensor([nan, nan])
>>> rg.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
from types import ModuleType

from ... import modes

__all__: list[str] = []


class Deterministic(ModuleType):
    """The module, one of whose names is a switch of the process."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether it is; RuntimeError for setting it to what is no bool."""
        return modes.determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, fill: bool) -> None:
        if not isinstance(fill, bool):
            raise RuntimeError(f"expected a bool, but got {type(fill).__name__}")
        modes.determinism.fill_uninitialized_memory = fill


sys.modules[__name__].__class__ = Deterministic
