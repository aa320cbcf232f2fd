"""States of models and optimizers by the names of parameters, whatever wraps the model.

NOTE [States by names]
1. Names are those of the module without wrappers: `DistributedDataParallel`, compiled ones. An
   optimizer's state is by these names, not by numbers.
2. Tensors that lie over ranks stay so; with `full_state_dict` they become whole, and with
   `cpu_offload` too, only rank 0 has them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .... import pytree
from ....autograd.grad_mode import no_grad
from ....ops import zeros_like
from ..membership import get_rank, is_initialized
from ..objects import broadcast_object_list
from ..tensor.api import lying_as, shown, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....nn import Module

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

COMPILED = re.compile(r"(?<![^.])_orig_mod\.")


@dataclass
class StateDictOptions:
    """How states are made and taken.

    full_state_dict: with whole tensors; cpu_offload: these at rank 0 alone. ignore_frozen_params:
    without parameters that need no gradient. strict: whether all names must be there that are set.
    broadcast_from_rank0: what is set is that of rank 0, with whole tensors.

    >>> from retrograd.distributed.checkpoint.state_dict import StateDictOptions
    >>> StateDictOptions().strict
    True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False


def get_state_dict(
    model: Module, optimizers: Any, *, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers: NOTE [States by names].

    >>> from retrograd.distributed.checkpoint.state_dict import get_state_dict
    >>> net = rg.nn.Linear(1, 1); own, other = get_state_dict(net, rg.optim.SGD(net.parameters()))
    >>> list(own), other["param_groups"][0]["params"]
    (['weight', 'bias'], ['weight', 'bias'])
    """
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def get_model_state_dict(
    model: Module, *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model."""
    options = options or StateDictOptions()
    found = {_cleaned(model, key): value for key, value in model.state_dict().items()}
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                found.pop(_cleaned(model, name), None)
    seen: dict[str, Any] = _shown(found, options)
    return seen


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model a state, of whole tensors or such over ranks; the keys that did not fit."""
    options = options or StateDictOptions()
    state = _from_first(model_state_dict, options)
    own = model.state_dict()
    loaded = {
        key: lying_as(state[name], value)
        for key, value in own.items()
        if (name := _cleaned(model, key)) in state
    }
    known = {_cleaned(model, key) for key in own}
    loaded |= {name: value for name, value in state.items() if name not in known}
    return model.load_state_dict(loaded, strict=options.strict)


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers; one without a state has that of a step that changes nothing."""
    options = options or StateDictOptions()
    state: dict[str, Any] = {}
    groups: list[Any] = []
    for optimizer in _several(optimizers):
        _begun(optimizer)
        found = _by_name(model, optimizer)
        state |= found["state"]
        groups += found["param_groups"]
    seen: dict[str, Any] = _shown({"state": state, "param_groups": groups}, options)
    return seen


def set_optimizer_state_dict(
    model: Module,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers a state that `get_optimizer_state_dict` made."""
    saved = _from_first(optim_state_dict, options or StateDictOptions())
    for optimizer in _several(optimizers):
        optimizer.load_state_dict(_by_number(model, optimizer, saved))


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers their states; the model's keys that did not fit."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


def _cleaned(model: Module, name: str) -> str:
    """A name without those of wrappers."""
    name = COMPILED.sub("", name)
    while type(model).__name__ == "DistributedDataParallel" and name.startswith("module."):
        name, model = name[len("module.") :], model.module
    return name


def _by_name(model: Module, optimizer: Any) -> dict[str, Any]:
    """An optimizer's state, with names in place of numbers."""
    names = _names(model)
    order = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
    found = shown(optimizer.state_dict())
    groups = [{**{key: value for key, value in group.items() if key != "params"},
               "params": [order[n] for n in group["params"]]}
              for group in found["param_groups"]]  # fmt: skip
    return {"state": {order[n]: {**kept} for n, kept in found["state"].items()},
            "param_groups": groups}  # fmt: skip


def _by_number(model: Module, optimizer: Any, saved: dict[str, Any]) -> dict[str, Any]:
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


def _names(model: Module) -> dict[int, str]:
    """The name of each parameter, by its identity."""
    return {id(p): _cleaned(model, name) for name, p in model.named_parameters()}


def _several(optimizers: Any) -> Iterable[Any]:
    return optimizers if isinstance(optimizers, (list, tuple, set)) else (optimizers,)


def _shown(state: Any, options: StateDictOptions) -> Any:
    """A state as the options want it."""
    if not options.full_state_dict:
        return state
    found = pytree.map_leaves(whole, state)
    return {} if options.cpu_offload and is_initialized() and get_rank() else found


def _from_first(state: Any, options: StateDictOptions) -> Any:
    """The state of rank 0, where the options ask for it."""
    if not options.broadcast_from_rank0 or not is_initialized():
        return state
    lot = [state]
    broadcast_object_list(lot, 0)
    return lot[0]


def _begun(optimizer: Any) -> None:
    """Let an optimizer have its state, by a step that changes no parameter."""
    every = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if optimizer.state or any(p.grad is not None for p in every):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    with no_grad():
        for p in every:
            p.grad = zeros_like(p)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)
