"""Which layers of a module are cut, and how."""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..api import mesh_of
from .style import ParallelStyle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .....nn import Module
    from ...device_mesh import DeviceMesh

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Cut layers of a module over the ranks of a mesh, in place; returns the module.

    parallelize_plan: a style for the module itself, or one for each name of a layer inside, in
    which `*` and `?` stand for any letters of one part of the name. device_mesh: of one dimension,
    all ranks by default. src_data_rank: the rank whose values all take; None where they are equal.
    A name without a layer warns. Raises ValueError for a mesh of several dimensions, TypeError for
    another plan, NotImplementedError for layers that a style does not cut.

    >>> from retrograd.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> net = parallelize_module(rg.nn.Linear(3, 2), parallelize_plan=ColwiseParallel())
    >>> net.weight.placements, net(rg.ones(1, 3)).shape
    ((Shard(dim=0),), retrograd.Size([1, 2]))
    """
    mesh = mesh_of(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module takes a mesh of one dimension, got {mesh}: mesh['tp']"
        )
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided, nothing is cut", UserWarning, stacklevel=2)
    elif isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        parallelize_plan._apply(module, mesh)
    elif isinstance(parallelize_plan, dict):
        for path, style in parallelize_plan.items():
            found = [*_inside(module, path)]
            if not found:
                warnings.warn(f"no layer of the module is called {path!r}", stacklevel=2)
            for layer in found:
                parallelize_module(layer, mesh, style, src_data_rank=src_data_rank)
    else:
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    return module


def _inside(module: Module, path: str) -> Iterator[Any]:
    """The layers whose names fit a path, part by part; the module itself for an empty one."""
    first, _, rest = path.partition(".")
    if not first:
        yield module
        return
    for name, child in module.named_children():
        if fnmatchcase(name, first):
            yield from _inside(child, rest) if rest else [child]
