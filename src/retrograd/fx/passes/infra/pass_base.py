"""What a pass over a graph is, and what it gives."""

from __future__ import annotations

import abc
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass gives, and whether it was changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: `call` changes a module and says so; `requires` and `ensures` check it around that.

    >>> class Doubled(rg.fx.passes.infra.pass_base.PassBase):
    ...     def call(self, graph_module):
    ...         (x,) = graph_module.graph.find_nodes(op="placeholder")
    ...         with graph_module.graph.inserting_after(x):
    ...             double = graph_module.graph.call_function(rg.add, (x, x))
    ...         x.replace_all_uses_with(double, lambda user: user is not double)
    ...         return rg.fx.passes.infra.pass_base.PassResult(graph_module, True)
    >>> found = Doubled()(rg.fx.symbolic_trace(lambda x: x + 1)).graph_module
    >>> found.recompile() and found(rg.tensor(3))
    tensor(7)
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass over a module, between its checks."""
        self.requires(graph_module)
        found = self.call(graph_module)
        self.ensures(graph_module)
        return found

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change the module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing by default)
        """Raise unless the module may be given to the pass."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise unless the module is as the pass is to leave it."""
