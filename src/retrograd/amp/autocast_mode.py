"""`autocast` as programs write it that run with and without mixed precision.

Turned off it does nothing, as in PyTorch. Turned on it would run each op in a dtype of its own
choice; on NumPy no dtype is faster than float32, so it is refused instead of being slower in
silence.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from ..engine.tensor import device

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

F = TypeVar("F", bound="Callable[..., Any]")

ENABLED = (
    "autocast: no dtype is faster than float32 here, so ops choose none. Turn it off: "
    "autocast(device_type, enabled=False); or convert the model: model.to(dtype)"
)


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be turned on: for no device.

    >>> rg.amp.is_autocast_available("cpu")
    False
    """
    return False


class autocast:  # noqa: N801 (PyTorch's name)
    """A context, or decorator, of mixed precision: only `enabled=False`, which changes nothing.

    Raises NotImplementedError if `enabled`, ValueError for a `device_type` that is no string.
    Source: PyTorch's `amp.autocast`.

    >>> with rg.amp.autocast("cpu", enabled=False):
    ...     rg.ones(2).dtype
    retrograd.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            found = type(device_type).__name__
            raise ValueError(f"Expected `device_type` of type `str`, got: `{found}`")
        if enabled:
            raise NotImplementedError(ENABLED)
        self.device = device_type

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, func: F) -> F:
        """The function itself: nothing changes within it."""
        return func


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the `forward` of a custom Function: no op runs under `autocast`, so as it is.

    >>> rg.amp.custom_fwd(device_type="cpu")(abs)(-1)
    1
    """
    device(device_type)
    return functools.partial(custom_fwd, device_type=device_type) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a custom Function: no op runs under `autocast`, so as it is.

    >>> rg.amp.custom_bwd(abs, device_type="cpu")(-1)
    1
    """
    return custom_fwd(bwd, device_type=device_type)
