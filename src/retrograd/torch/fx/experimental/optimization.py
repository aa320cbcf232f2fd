"""Graphs of modules made faster: batch normalizations merged into what stands before them."""

from __future__ import annotations

import copy
from typing import Any

from .... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace

__all__ = ["fuse", "matches_module_pattern", "replace_node_module"]

FUSED: dict[Any, Any] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn_eval,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn_eval,
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval,
}


def matches_module_pattern(pattern: Any, node: Any, modules: dict[str, Any]) -> bool:
    """Whether a node and the one before it call modules of the two classes of `pattern`."""
    if not node.args or not hasattr(node.args[0], "op"):
        return False
    pairs = zip(pattern, (node.args[0], node), strict=True)
    return all(
        each.op == "call_module" and type(modules.get(each.target)) is kind for kind, each in pairs
    )


def replace_node_module(node: Any, modules: dict[str, Any], new_module: Any) -> None:
    """Let a node that calls a module call another one."""
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Any, inplace: bool = False, no_trace: bool = False) -> Any:
    """A graph of `model` in which layers do what the normalizations after them do.

    model: a module in evaluation mode; with `no_trace`, a GraphModule. A copy is changed, unless
    `inplace`. A layer whose result something else reads, too, stays as it is. Source: PyTorch's
    `fx.experimental.optimization.fuse`.

    >>> from retrograd.fx.experimental.optimization import fuse
    >>> net = rg.nn.Sequential(rg.nn.Conv1d(1, 2, 1), rg.nn.BatchNorm1d(2), rg.nn.ReLU()).eval()
    >>> x = rg.ones(1, 1, 3)
    >>> [node.name for node in fuse(net).graph.nodes], rg.allclose(fuse(net)(x), net(x))
    (['input_1', '_0', '_2', 'output'], True)
    """
    model = model if inplace else copy.deepcopy(model)
    graph_module = model if no_trace else symbolic_trace(model)
    modules = dict(graph_module.named_modules())
    for pattern, merged in FUSED.items():
        for node in graph_module.graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before, bn = node.args[0], modules[node.target]
            if len(before.users) > 1 or not bn.track_running_stats:
                continue
            replace_node_module(before, modules, merged(modules[before.target], bn))
            node.replace_all_uses_with(before)
            graph_module.graph.erase_node(node)
    graph_module.delete_all_unused_submodules()
    graph_module.recompile()
    return graph_module
