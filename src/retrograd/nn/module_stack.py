"""The modules whose `forward` runs now, by which watchers of ops say where in a model they are."""

from __future__ import annotations

import threading
from typing import Any

from .modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleStack"]


class ModuleStack:
    """The modules whose `forward` runs now in one thread, as a path: "Net.layers.0"."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.running: list[tuple[Any, str]] = []
        self.names: dict[int, str] = {}  # of modules below the outermost one that runs
        self.parameters: dict[int, str] = {}
        self.handles: list[Any] = []

    @property
    def path(self) -> str:
        """The path of the innermost module that runs, "" outside of all."""
        return self.running[-1][1] if self.running else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All modules that run, the outermost first."""
        return tuple([path for _, path in self.running])

    def __enter__(self) -> ModuleStack:
        self.handles = [
            register_module_forward_pre_hook(self.enter),
            register_module_forward_hook(self.leave, always_call=True),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self.handles:
            handle.remove()

    def enter(self, module: Any, args: Any) -> None:
        """A hook: note that a call of a module begins."""
        if threading.get_ident() != self.thread:
            return
        kind = type(module).__name__
        if not self.running:
            inside = list(module.named_modules())
            self.names = {id(each): f"{kind}.{name}".rstrip(".") for name, each in inside}
            self.parameters |= {id(each): name for name, each in module.named_parameters()}
        path = self.names.get(id(module)) or f"{self.path}.{kind}"
        self.running.append((module, path))

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """A hook: note that the call of a module has ended."""
        if self.running and self.running[-1][0] is module:
            self.running.pop()
