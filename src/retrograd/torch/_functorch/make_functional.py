"""`torch._functorch.make_functional`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...func import combine_state_for_ensemble, make_functional, make_functional_with_buffers
from ...func.models import FunctionalModule, FunctionalModuleWithBuffers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]


def functional_init(
    model_class: Callable[..., Any], ensemble_shape: Sequence[int] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """A function that makes a model and takes it apart: (params, function, names of params).

    It takes the model's arguments; `function(params, inputs)` calls the model. With
    `ensemble_shape=(n,)` there are `n` models, whose parameters are stacked in front, for `vmap`.
    Raises RuntimeError for a model with buffers, ValueError for more than one dimension of models.

    >>> from retrograd._functorch.make_functional import functional_init
    >>> params, line, names = functional_init(rg.nn.Linear, (3,))(2, 1)
    >>> names, rg.vmap(line)(params, (rg.ones(3, 2),)).shape
    (('weight', 'bias'), retrograd.Size([3, 1]))
    """
    make = functional_init_with_buffers(model_class, ensemble_shape, device)

    def without_buffers(*args: Any, **kwargs: Any) -> Any:
        params, buffers, function, names, _ = make(*args, **kwargs)
        if buffers:
            raise RuntimeError(
                "functional_init(model_class): the model has buffers. Please use "
                "functional_init_with_buffers(model_class) instead."
            )
        return params, lambda params, inputs: function(params, (), inputs), names

    return without_buffers


def functional_init_with_buffers(
    model_class: Callable[..., Any], ensemble_shape: Sequence[int] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """`functional_init` for a model with buffers: (params, buffers, function, and both's names).

    The function is `function(params, buffers, inputs)`.

    >>> from retrograd._functorch.make_functional import functional_init_with_buffers
    >>> made = functional_init_with_buffers(rg.nn.BatchNorm1d)(2)
    >>> made[-1]
    ('running_mean', 'running_var', 'num_batches_tracked')
    """
    if len(ensemble_shape) > 1:
        raise ValueError(
            f"NYI: ensemble_shape with more than 1 element, got {tuple(ensemble_shape)}. "
            "Give their number, (n,), and reshape what vmap returns"
        )

    def make(*args: Any, **kwargs: Any) -> Any:
        models = [model_class(*args, **kwargs).to(device) for _ in range(*ensemble_shape or (1,))]
        function, params, buffers = (
            combine_state_for_ensemble(models)
            if ensemble_shape
            else make_functional_with_buffers(models[0])
        )

        def call(params: Any, buffers: Any, inputs: Sequence[Any]) -> Any:
            return function(params, buffers, *inputs)

        return params, buffers, call, function.param_names, function.buffer_names

    return make
