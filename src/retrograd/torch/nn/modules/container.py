"""`torch.nn.modules.container` under the alias: with the oldest of the containers."""

from __future__ import annotations

from ....nn.modules.container import *  # noqa: F403 (all of them)
from ....nn.modules.module import Module

__all__ = ["Container"]


class Container(Module):
    """A module that holds the modules given by name, and has no `forward`.

    >>> [name for name, _ in rg.nn.Container(a=rg.nn.ReLU()).named_children()]
    ['a']
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
