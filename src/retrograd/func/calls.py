"""Modules as functions of their parameters: calls with other values, and stacks of modules.

Modules are known only by their methods (`named_parameters`, `named_buffers`, `get_submodule`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from .. import modes
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor

__all__ = ["exchange", "functional_call", "functionalize", "stack_module_state"]

ABSENT = object()  # stands for an attribute that a module lacks


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with other values for its parameters and buffers, for this call only.

    The values come in one dictionary by name, or several; what is missing stays as it is, unless
    `strict`. With `tie_weights`, a value given for one name of a shared parameter counts for all.
    `args` is a tuple, or the only argument. Other names are attributes, which the module has for
    the call, unless `strict`: then RuntimeError. Where the call gives the module another tensor
    (`self.steps = self.steps + 1`), a dictionary that is the only one gets it in the end.

    Raises ValueError for a name in two dictionaries, and for different values under several names
    of one parameter, TypeError for a value that is no tensor, or that would replace none,
    AttributeError for a submodule that is not there, KeyError for an empty name. Source: PyTorch's
    `func.functional_call`.

    >>> line = rg.nn.Linear(1, 1)
    >>> values = {"weight": rg.tensor([[2.0]]), "bias": rg.tensor([1.0])}
    >>> rg.func.functional_call(line, values, rg.tensor([3.0]))
    tensor([7.])
    """
    given = _merged(parameter_and_buffer_dicts)
    with replaced(module, given, tie_weights, strict):
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(
    module: Any, given: Mapping[str, Any], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """A context in which `module` has other values, as `functional_call` says."""
    own, asked = dict(_named(module)), given
    unknown = [name for name in given if name not in own]
    given = _tied(own, given) if tie_weights else given
    missing = [name for name in own if name not in given]
    if strict and (unknown or missing):
        listed = [f"{what} key(s): {', '.join(map(repr, names))}." for what, names in
                  (("Unexpected", unknown), ("Missing", missing)) if names]  # fmt: skip
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}: {' '.join(listed)} With "
            "strict=False, other names are attributes, and what is missing stays as it is"
        )
    before: dict[str, Any] = {}
    try:
        for name, value in given.items():
            before[name] = exchange(module, name, value)
        yield
    finally:
        left = {name: _held(*_place(module, name)) for name in before if name in asked}
        for name, value in reversed(before.items()):  # one place may have several names
            exchange(module, name, value)
        if isinstance(asked, MutableMapping):
            changed = {n: t for n, t in left.items() if t is not asked[n] and t is not ABSENT}
            asked.update(changed)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that does the same as `func`; a graph of it has no writes in place.

    Under `make_fx`, operators that write are replaced by those that do not, and arguments that
    `func` writes are written once, at the end; with remove="mutations_and_views", views are copies,
    too. Values are the same. `func` runs on tensors without data first, so a way that depends on
    values raises. Elsewhere `func` itself is called. Raises RuntimeError for another `remove`.
    Source: PyTorch's `func.functionalize`.

    >>> rg.func.functionalize(lambda x: x.clone().add_(1))(rg.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputs to the remove argument "
            f"are: remove='mutations' or remove='mutations_and_views'. Got {remove!r}"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        state = modes.state
        seen = state.dispatchers and not (state.batches or state.levels)
        mode: Any = state.dispatchers[-1].mode if seen else None
        if hasattr(mode, "functionalized"):  # it writes a graph down
            return mode.functionalized(func, args, kwargs, remove == "mutations_and_views")
        return func(*args, **kwargs)

    return wrapped


def _merged(dicts: Any) -> Mapping[str, Any]:
    if not isinstance(dicts, (list, tuple)):
        if not hasattr(dicts, "items"):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but "
                f"got {type(dicts)}"
            )
        return dicts  # type: ignore[no-any-return]
    merged: dict[str, Any] = {}
    for each in dicts:
        if not hasattr(each, "items"):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries, but got "
                f"{type(each).__name__}"
            )
        for name, value in each.items():
            if name in merged:
                raise ValueError(f"['{name}'] appeared in multiple dictionaries; behavior of "
                                 "functional call is ambiguous")  # fmt: skip
            merged[name] = value
    return merged


def _named(module: Any) -> Iterator[tuple[str, Any]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _tied(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given`, also under the other names of each tensor that the module holds several times."""
    by_tensor: dict[int, Any] = {}
    for name, value in given.items():
        if name in own and by_tensor.setdefault(id(own[name]), value) is not value:
            names = [each for each in given if own.get(each) is own[name]]
            raise ValueError(
                f"functional_call got multiple values for keys {names}, which are tied. Consider "
                "using tie_weights=False"
            )
    tied = {name: by_tensor[id(tensor)] for name, tensor in own.items() if id(tensor) in by_tensor}
    return {**tied, **given}


def _place(module: Any, name: str) -> tuple[Any, str, Any]:
    """The module that holds `name`, its name there, and the table with it, or None."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    if not last:
        raise KeyError('functional_call: tensor name can\'t be empty string ""')
    return owner, last, next((t for t in (owner._parameters, owner._buffers) if last in t), None)


def _held(owner: Any, last: str, table: Any) -> Any:
    return getattr(owner, last, ABSENT) if table is None else table[last]


def exchange(module: Any, name: str, value: Any) -> Any:
    """Give a module another parameter, buffer or attribute, or none; return what was there."""
    owner, last, table = _place(module, name)
    before = _held(owner, last, table)
    for each in (value, before):
        if not (each is None or each is ABSENT or isinstance(each, Tensor)):
            what = f"given for {name!r}" if each is value else f"which {name!r} is"
            raise TypeError(f"functional_call: {each!r}, {what}, is not an instance of Tensor")
    if table is not None:
        table[last] = value
    elif value is ABSENT:
        delattr(owner, last)
    else:
        setattr(owner, last, value)
    return before


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one kind, stacked by name.

    Each value has one more dimension, in front, which counts the modules: `vmap` over
    `functional_call` then runs the whole ensemble at once. Stacked parameters are new leaves that
    require grad. Raises RuntimeError for no models, for different classes, or for a mixture of
    training and evaluation mode, or of parameters that require grad and do not. Source: PyTorch's
    `func.stack_module_state`.

    >>> params, buffers = rg.func.stack_module_state([rg.nn.Linear(2, 1) for _ in range(3)])
    >>> params["weight"].shape
    retrograd.Size([3, 1, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(model.training is not models[0].training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval "
                           "mode.")  # fmt: skip
    kinds = {getattr(model, "parametrized_from", type(model)) for model in models}
    if len(kinds) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    for name, value in models[0].named_parameters():
        if any(
            dict(model.named_parameters())[name].requires_grad is not value.requires_grad
            for model in models
        ):
            raise RuntimeError(
                f"stack_module_state: Expected the parameters {name!r} of all models to have the "
                "same .requires_grad"
            )
    params = {
        name: recorded.stack(*[dict(model.named_parameters())[name] for model in models], dim=0)
        .detach()
        .requires_grad_(value.requires_grad)
        for name, value in models[0].named_parameters()
    }
    buffers = {
        name: recorded.stack(*[dict(model.named_buffers())[name] for model in models], dim=0)
        for name, _ in models[0].named_buffers()
    }
    return params, buffers
