"""`map_location`: where the storages of a file are to live, which here is always the cpu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.placement import device
from ..engine.tensor import new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["placing"]

ELSEWHERE = (
    "Attempting to deserialize object on a {kind} device but torch.{module}.is_available() is "
    "False. Tensors live on the cpu here: retrograd.load(f, map_location='cpu')"
)
UNKNOWN = (
    "don't know how to restore data location of a storage (tagged with {location}). To have it on "
    "the cpu: retrograd.load(f, map_location='cpu')"
)
OTHER = (
    "map_location returned a storage of other memory than it was given. Return the storage itself, "
    "None, or give map_location='cpu'"
)


def placing(map_location: Any) -> Callable[[Any, str], Any]:
    """A function of a storage's memory and the name of its device, which gives that memory.

    It raises RuntimeError where the storage would live on a device that is not there.
    """
    if map_location is None:
        return restored
    if isinstance(map_location, dict):
        return lambda memory, location: restored(memory, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        named = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda memory, _: restored(memory, named)
    if not callable(map_location):
        raise TypeError(
            "map_location must be a device, its name, a dictionary of names, or a function of a "
            f"storage and the name of its device, not {type(map_location).__name__}"
        )

    def asked(memory: Any, location: str) -> Any:
        storage = new_tensor(memory).untyped_storage()
        found = map_location(storage, location)
        if found is None:
            return restored(memory, location)
        if found is not storage and found.data_ptr() != storage.data_ptr():
            raise RuntimeError(OTHER)
        return memory

    return asked


def restored(memory: Any, location: Any) -> Any:
    """The memory, if its device is the cpu."""
    kind = str(location).partition(":")[0]
    if kind == "cpu":
        return memory
    if kind in ("cuda", "mps", "xpu"):
        raise RuntimeError(ELSEWHERE.format(kind=kind.upper(), module=kind))
    raise RuntimeError(UNKNOWN.format(location=location))
