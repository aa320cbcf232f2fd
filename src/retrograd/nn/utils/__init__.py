"""Tools for parameters: clipping, flattening, normalization, sequences of several lengths."""

from typing import Any

from ... import providers as _providers
from . import parametrizations, parametrize, rnn
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters",
    "weight_norm",
]  # fmt: skip
__all__ += [*_providers.names(__name__)]


def __getattr__(name: str) -> Any:
    """A module or a name of PyTorch's world, when it is first asked for."""
    return _providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return _providers.listed(__name__)
