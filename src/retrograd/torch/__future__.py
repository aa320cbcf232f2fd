"""`torch.__future__` under the alias: what `Module.to` and its like do with parameters."""

from __future__ import annotations

from ..nn import casts, state

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let a module that is converted get new parameters, in place of writing those it has."""
    casts.overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether `Module.to` gives modules new parameters instead of new data."""
    return casts.overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let a module that loads values ask `Tensor.module_load` what its tensors are to be.

    Parameters that are converted stay the same objects in any case, unless they are overwritten.
    """
    state.swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether `Module.to` swaps parameters by `swap_tensors`."""
    return state.swaps
