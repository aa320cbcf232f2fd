"""Modules that are compiled: `rg.compile(module)`, and `module.compile()`."""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module
from .compiled import Compiled

__all__ = ["OptimizedModule"]

OWN = {"_hooks", "_orig_mod", "compiled"}  # attributes that are not those of the module within


class OptimizedModule(Module):
    """A module whose calls are recorded and replayed; it shows the attributes of that module.

    The module is its child `_orig_mod`, so names in its state begin with that, as in PyTorch.
    """

    def __init__(
        self, mod: Module, fullgraph: bool = False, most: int | None = None, backend: Any = None
    ) -> None:
        super().__init__()
        self._orig_mod = mod
        self.compiled = Compiled(mod, fullgraph, most, backend)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.compiled(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name in OWN:
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN or name == "training":
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in OWN:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        made = self.compiled
        return OptimizedModule, (self._orig_mod, made.fullgraph, made.most, made.backend)
