"""Derivatives under torch.autograd's names: passes, Functions, grad modes, hooks, gradcheck."""

from typing import TYPE_CHECKING, Any

from .. import providers
from ..engine.overriding import public
from ..engine.saved import SavedTensor
from ..locks import load as _load
from . import graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .grad import backward, grad
from .grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    absorb_zeros,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .graph import _is_checkpoint_valid

if TYPE_CHECKING:
    from .function import Function
    from .variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "_force_original_view_tracking",
    "_is_checkpoint_valid", "_unsafe_preserve_version_counter", "absorb_zeros", "backward",
    "detect_anomaly", "enable_grad",
    "forward_ad", "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_grad_enabled", "is_inference_mode_enabled", "is_multithreading_enabled",
    "is_view_replay_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip

if not TYPE_CHECKING:  # their types stay
    backward, grad = map(public, (backward, grad))  # calls that tensors may take over


# Modules that load when they are first asked for.
LATER = ("forward_ad", "function", "functional", "variable")


def __getattr__(name: str) -> Any:
    """Load what few programs need when it is first asked for."""
    if name in LATER:
        return _load(f"{__name__}.{name}")
    if name in ("Function", "Variable"):
        globals()[name] = found = getattr(_load(f"{__name__}.{name.lower()}"), name)
        return found
    if name == "NestedIOFunction":
        return _load(f"{__name__}.function").NestedIOFunction
    return providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return providers.listed(__name__)
