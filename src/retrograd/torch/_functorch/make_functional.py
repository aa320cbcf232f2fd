"""`torch._functorch.make_functional`: modules taken apart into a function and its parameters.

This is the older form of `func.functional_call`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ...engine.tensor import Tensor
from ...func.calls import functional_call, stack_module_state

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
    "make_functional", "make_functional_with_buffers",
]  # fmt: skip


class Functional:
    """A copy of a module, `stateless_model`, to be called with other values for its state."""

    def __init__(self, model: Any) -> None:
        self.stateless_model = copy.deepcopy(model)
        self.param_names = tuple(dict(model.named_parameters()))
        self.buffer_names = tuple(dict(model.named_buffers()))

    def _under(self, names: Sequence[str], given: Any, what: str) -> dict[str, Tensor]:
        if len(given) != len(names):
            raise ValueError(
                f"{type(self.stateless_model).__name__} as a function: got {len(given)} {what}, "
                f"expected {len(names)}, for {list(names)}"
            )
        return dict(zip(names, given, strict=True))


class FunctionalModule(Functional):
    """A module without buffers as a function `(params, *args, **kwargs)`."""

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters."""
        values = self._under(self.param_names, params, "params")
        return functional_call(self.stateless_model, values, args, kwargs)


class FunctionalModuleWithBuffers(Functional):
    """A module as a function `(params, buffers, *args, **kwargs)`.

    What the module writes into a buffer is written into the one given.
    """

    def __call__(
        self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """Call the module with these parameters and buffers."""
        values = self._under(self.param_names, params, "params")
        values |= self._under(self.buffer_names, buffers, "buffers")
        return functional_call(self.stateless_model, values, args, kwargs)


def make_functional(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A function `(params, *args)` that computes what `model` does, and the parameters.

    Both are made from a copy of the model; a parameter that it holds under several names comes
    once. The parameters require grad as the model's do; with `disable_autograd_tracking` none does.
    Raises RuntimeError for a model with buffers. Source: functorch's `make_functional`; new
    programs call `functional_call`.

    >>> line, params = rg.func.make_functional(rg.nn.Linear(2, 1))
    >>> line((rg.ones(1, 2), rg.zeros(1)), rg.tensor([3.0, 4.0]))
    tensor([7.])
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    params, _ = _apart(model, disable_autograd_tracking)
    return FunctionalModule(model), params


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function `(params, buffers, *args)` that computes what `model` does; both of its states.

    As `make_functional`; buffers that the model writes, as running means, are those given. Source:
    functorch's `make_functional_with_buffers`.

    >>> norm, params, buffers = rg.func.make_functional_with_buffers(rg.nn.BatchNorm1d(2))
    >>> _ = norm(params, buffers, rg.tensor([[1.0, 0.0], [3.0, 0.0]]))
    >>> buffers[0]
    tensor([0.2000, 0.0000])
    """
    return FunctionalModuleWithBuffers(model), *_apart(model, disable_autograd_tracking)


def _apart(model: Any, untracked: bool) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    own = copy.deepcopy(model)
    params = tuple(own.parameters())
    for param in params if untracked else ():
        param.requires_grad_(False)
    return params, tuple(own.buffers())


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of one model's state, and the states of all `models`, stacked in front.

    `vmap(function)(params, buffers, x)` runs the ensemble. The stacked parameters require no grad.
    Raises RuntimeError as `stack_module_state` does. Source: functorch's function of that name.

    >>> models = [rg.nn.Linear(2, 1) for _ in range(3)]
    >>> function, params, buffers = rg.func.combine_state_for_ensemble(models)
    >>> rg.vmap(function)(params, buffers, rg.ones(3, 2)).shape
    retrograd.Size([3, 1])
    """
    params, buffers = stack_module_state(models)
    function = FunctionalModuleWithBuffers(models[0])
    return function, tuple(p.detach() for p in params.values()), tuple(buffers.values())
