"""Weight normalization by a hook that computes the weight before every call.

`parametrizations.weight_norm` does the same without a hook, and is what PyTorch recommends.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...engine.tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter, check_shaped
from .parametrizations import norm_except, of_norm

__all__ = ["remove_weight_norm", "weight_norm"]

OLD = (
    "`torch.nn.utils.weight_norm` is deprecated in favor of "
    "`torch.nn.utils.parametrizations.weight_norm`."
)


class WeightNorm:
    """The hook: sets `module.<name>` from the parameters `<name>_g` and `<name>_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim
        self.handle: Any = None

    def compute(self, module: Module) -> Tensor:
        """The weight of the present norm and direction."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return of_norm(v, g, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace the parameter `name` by its norm `<name>_g` and its direction `<name>_v`.

    The norm is one number per place of dimension `dim`, or one for all if that is None. Returns the
    module. Raises RuntimeError where this was done already. Source: PyTorch's
    `nn.utils.weight_norm`; Salimans and Kingma, NeurIPS 2016.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = rg.nn.utils.weight_norm(rg.nn.Linear(20, 40))
    >>> list(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(OLD, FutureWarning, stacklevel=2)
    for hook in _hooks(module):
        if hook.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    check_shaped(weight, "WeightNorm")
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    hook.handle = module.register_forward_pre_hook(hook)
    return module


def _hooks(module: Module) -> list[WeightNorm]:
    return [hook for hook in module._forward_pre_hooks.values() if isinstance(hook, WeightNorm)]


def remove_weight_norm(module: Module, name: str = "weight") -> Any:
    """Undo `weight_norm`: the weight is one parameter again, with its present value.

    Raises ValueError where the parameter is not normalized.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = rg.nn.utils.weight_norm(rg.nn.Linear(20, 40))
    >>> sorted(rg.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for hook in _hooks(module):
        if hook.name == name:
            weight = hook.compute(module)
            delattr(module, name)
            delattr(module, f"{name}_g")
            delattr(module, f"{name}_v")
            setattr(module, name, Parameter(weight.detach()))
            hook.handle.remove()
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
