"""Spectral normalization by a hook that computes the weight before every call.

`parametrizations.spectral_norm` does the same without a hook, and is what PyTorch recommends.
"""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor, alias
from ...ops.linalg.matmul import mv, vdot
from ...ops.random.factories import randn
from .. import functional as F
from ..parameter import Parameter, check_shaped
from .parametrizations import as_matrix, output_dim, power_steps

__all__ = ["remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook: sets `module.<name>` from `<name>_orig` and the vectors `<name>_u`, `<name>_v`."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations
        self.handles: list[Any] = []

    def compute(self, module: Any, steps: int) -> Tensor:
        """The weight divided by its largest singular value, after `steps` of the iteration."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if steps:
            power_steps(matrix._array.conj().T, v, u, steps, self.eps)  # v comes first
            u, v = u.clone(), v.clone()
        return weight / vdot(u, mv(matrix, v))  # type: ignore[no-any-return]

    def mark(self, module: Any, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
        """Say in the metadata of a state that it has both vectors, for PyTorch, which asks."""
        metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = 1

    def __call__(self, module: Any, inputs: Any) -> None:
        steps = self.n_power_iterations if module.training else 0
        setattr(module, self.name, self.compute(module, steps))


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide the parameter `name`, as a matrix, by its largest singular value.

    The parameter becomes `<name>_orig`; `<name>_u` and `<name>_v` are buffers. Every call while
    training takes `n_power_iterations` steps of the power iteration. Returns the module. Raises
    ValueError for no steps, RuntimeError where this was done already. Source: PyTorch's
    `nn.utils.spectral_norm`; Miyato et al., ICLR 2018.

    >>> layer = rg.nn.utils.spectral_norm(rg.nn.Linear(20, 40))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}"
        )
    if any(hook.name == name for hook in _hooks(module)):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    weight = module._parameters[name]
    check_shaped(weight, "SpectralNorm")
    hook = SpectralNorm(name, n_power_iterations, output_dim(module, dim), eps)
    rows, columns = as_matrix(alias(weight, None), hook.dim).shape
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    for end, size in (("u", rows), ("v", columns)):
        drawn = randn(size, dtype=weight.dtype)
        module.register_buffer(f"{name}_{end}", F.normalize(drawn, dim=0, eps=eps))
    hook.handles.append(module.register_forward_pre_hook(hook))
    hook.handles.append(module.register_state_dict_post_hook(hook.mark))
    return module


def _hooks(module: Any) -> list[SpectralNorm]:
    return [hook for hook in module._forward_pre_hooks.values() if isinstance(hook, SpectralNorm)]


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`: the weight is one parameter again, with its present value.

    Raises ValueError where the parameter is not normalized.

    >>> layer = rg.nn.utils.spectral_norm(rg.nn.Linear(20, 40))
    >>> sorted(rg.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for hook in _hooks(module):
        if hook.name == name:
            weight = hook.compute(module, 0)
            for attribute in (name, f"{name}_orig", f"{name}_u", f"{name}_v"):
                delattr(module, attribute)
            module.register_parameter(name, Parameter(weight.detach()))
            for handle in hook.handles:
                handle.remove()
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
