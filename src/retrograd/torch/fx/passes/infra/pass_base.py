"""A pass: what is done to a graph, with checks before and after."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass gives, and whether it changed anything."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass as a class, of which `call` does the work.

    >>> from retrograd.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Tidy(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
    >>> Tidy()(rg.fx.symbolic_trace(lambda x: x + 1)).modified
    False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """What `call` gives, between `requires` and `ensures`."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change a module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (may stay as it is)
        """Called before `call`; raises for a module that it cannot take."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 (may stay as it is)
        """Called after `call`; raises if that went wrong."""
