"""States of optimizers by the names of parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .tensor import DTensor, distribute_tensor
from .tensor.api import shown

if TYPE_CHECKING:
    from ...nn import Module

__all__ = ["by_name", "by_number", "cleaned", "lying_as", "whole"]

WRAPPERS = re.compile(r"(?<![^.])(_fsdp_wrapped_module|_checkpoint_wrapped_module|_orig_mod)\.")


def cleaned(model: Module, name: str) -> str:
    """A name without those of wrappers."""
    name = WRAPPERS.sub("", name)
    while type(model).__name__ == "DistributedDataParallel" and name.startswith("module."):
        name, model = name[len("module.") :], model.module
    return name


def by_name(model: Module, optimizer: Any, packed: Any = None) -> dict[str, Any]:
    """An optimizer's state, `packed` by its `state_dict()`, with names in place of numbers."""
    names = _names(model)
    order = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
    found = shown(packed or optimizer.state_dict())
    groups = [{**{key: value for key, value in group.items() if key != "params"},
               "params": [order[n] for n in group["params"]]}
              for group in found["param_groups"]]  # fmt: skip
    return {"state": {order[n]: {**kept} for n, kept in found["state"].items()},
            "param_groups": groups}  # fmt: skip


def by_number(model: Module, optimizer: Any, saved: dict[str, Any]) -> dict[str, Any]:
    """What `load_state_dict` of an optimizer takes, of a state by names."""
    names, order = _names(model), [p for group in optimizer.param_groups for p in group["params"]]
    numbers = {id(p): n for n, p in enumerate(order)}
    state = {
        n: {
            key: lying_as(value, p) if getattr(value, "shape", None) == p.shape else value
            for key, value in saved["state"][names[id(p)]].items()
        }
        for n, p in enumerate(order)
        if names[id(p)] in saved["state"]
    }
    settings = {name: group for group in saved["param_groups"] for name in group["params"]}
    groups = [
        {**settings[names[id(g["params"][0])]], "params": [numbers[id(p)] for p in g["params"]]}
        for g in optimizer.param_groups
    ]
    return {"state": state, "param_groups": groups}


def lying_as(value: Any, like: Any) -> Any:
    """A tensor, of which every rank has all, that lies over ranks as another does, if that does."""
    if isinstance(value, DTensor) or not isinstance(like, DTensor):
        return value
    return distribute_tensor(value.detach(), like.device_mesh, like.placements, src_data_rank=None)


def whole(value: Any) -> Any:
    """A tensor over ranks as a whole and plain one; other values as they are."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def _names(model: Module) -> dict[int, str]:
    """The name of each parameter, by its identity."""
    return {id(p): cleaned(model, name) for name, p in model.named_parameters()}
