"""One step of a rule on lists of tensors: PyTorch's functions `optim.adam.adam` and their like."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ..engine.tensor import Tensor
from ..ops.core.arguments import titled

__all__ = ["on_lists"]

DOC = """One step of `{kind}` on lists of parameters, gradients and state, written in place.

    Source: PyTorch's `optim.{name}.{name}`.
    """


def on_lists(kind: Any, arguments: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """The function of lists of a rule. Those that it takes are what `arguments` takes and names."""
    name = kind.__name__.lower()
    titled(arguments, name, DOC.format(kind=kind.__name__, name=name))

    @functools.wraps(arguments)
    def step(*args: Any, **settings: Any) -> None:
        step_lists(kind, arguments(*args, **settings))

    return step


def step_lists(kind: Any, given: dict[str, Any]) -> None:
    """One step of a rule on lists, which stay the caller's: parameters, gradients, state.

    given: the arguments by name. Lists that `kind.lists` names are written in place; a momentum for
    None is put into its list.
    Raises RuntimeError for counts of steps that are no tensors, for `grad_scale` and `found_inf`.
    """
    if given.get("grad_scale") is not None or given.get("found_inf") is not None:
        raise RuntimeError("grad_scale and found_inf: scale before, as GradScaler.unscale_ does")
    if not all(isinstance(t, Tensor) for t in given.get("state_steps", ())):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )
    params, grads = given["params"], next(given[n] for n in ("grads", "d_p_list") if n in given)
    names = {name: given[values] for name, values in kind.lists if len(given[values])}
    if {len(params), len(grads), *map(len, names.values())} != {len(params)}:
        raise RuntimeError(
            f"{kind.__name__}: there are {len(params)} parameters, but {len(grads)} gradients and "
            f"lists of state of the lengths { {n: len(v) for n, v in names.items()} }"
        )
    optimizer: Any = object.__new__(kind)
    betas = given.get("beta1"), given.get("beta2")
    optimizer.defaults = group = {"betas": betas, **given, "params": list(params)}
    optimizer.param_groups, optimizer.state = [group], defaultdict(dict)
    for place, p in enumerate(params):
        own = {name: values[place] for name, values in names.items()}
        if not any(value is None for value in own.values()):
            optimizer.state[p].update(own)
    before = [p._gradient for p in params]
    try:
        for p, g in zip(params, grads, strict=True):
            p._gradient = g
        optimizer._step()
    finally:
        for p, g in zip(params, before, strict=True):
            p._gradient = g
    for name, values in names.items():
        values[:] = [optimizer.state[p].get(name) for p in params]
