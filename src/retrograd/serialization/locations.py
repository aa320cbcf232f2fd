"""Where the storages of a file are to live, on the cpu or nowhere (meta), and their byte order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from threading import local
from typing import Any

from ..engine.placement import device
from ..ops.tensor.storage import is_storage, storage_of

__all__ = [
    "LoadEndianness", "default_restore_location", "get_default_load_endianness", "location_tag",
    "normalize_storage_type", "order_by_default", "placing", "set_default_load_endianness",
]  # fmt: skip


ELSEWHERE = (
    "Attempting to deserialize object on a {kind} device but torch.{module}.is_available() is "
    "False. Tensors live on the cpu here: retrograd.load(f, map_location='cpu')"
)
UNKNOWN = (
    "don't know how to restore data location of a storage (tagged with {location}). To have it on "
    "the cpu: retrograd.load(f, map_location='cpu')"
)
OTHER = (
    "map_location must return a storage of {size} bytes, as it was given, or None; it returned "
    "{found!r:.200}. Return the storage itself, or give map_location='cpu'"
)


def placing(map_location: Any) -> Callable[[Any, str], Any]:
    """A function of a storage's memory and the name of its device, which gives that memory.

    None for the meta device. It raises RuntimeError where the storage would live on a device that
    is not there.
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
        found = map_location(storage_of(memory), location)
        if found is None:
            return restored(memory, location)
        if not is_storage(found) or found.nbytes() != memory.size:
            raise RuntimeError(OTHER.format(size=memory.size, found=found))
        return found.untyped()._elements

    return asked


def restored(memory: Any, location: Any) -> Any:
    """The memory of a storage that lives on a device; None for the meta device."""
    return None if str(location) == "meta" else default_restore_location(memory, location)


def default_restore_location(storage: Any, location: Any) -> Any:
    """The storage, if `location`, the name of a device, is the cpu.

    Raises RuntimeError where it is another. Source: PyTorch's `default_restore_location`.

    >>> storage = rg.ones(2).untyped_storage()
    >>> rg.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    kind = str(location).partition(":")[0]
    if kind == "cpu":
        return storage
    if kind in ("cuda", "mps", "xpu"):
        raise RuntimeError(ELSEWHERE.format(kind=kind.upper(), module=kind))
    raise RuntimeError(UNKNOWN.format(location=location))


def location_tag(storage: Any) -> str:
    """The name of the device of a storage: "cpu". Source: PyTorch's `location_tag`.

    >>> rg.serialization.location_tag(rg.ones(2).untyped_storage())
    'cpu'
    """
    return "cpu"


def normalize_storage_type(storage_type: Any) -> Any:
    """The type under which a file names storages: there is one of each, so itself.

    >>> rg.serialization.normalize_storage_type(rg.FloatStorage) is rg.FloatStorage
    True
    """
    return storage_type


# -- no data -----------------------------------------------------------------------------------


class skip_data:  # noqa: N801 (PyTorch's name)
    """A context in which `save` leaves room for the bytes of tensors, and `load` reads none.

    The room, and tensors that are loaded, have zeros. Without effect on the format of PyTorch
    before 1.6. `materialize_fake_tensors` is accepted: there is nothing to be made for a tensor
    without values. Source: PyTorch's `torch.serialization.skip_data`.

    >>> import io
    >>> file = io.BytesIO()
    >>> with rg.serialization.skip_data():
    ...     rg.save(rg.ones(2), file)
    >>> rg.load(io.BytesIO(file.getvalue()))
    tensor([0., 0.])
    """

    skips = local()

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = skips_data()
        self.skips.value = True

    def __exit__(self, *error: object) -> None:
        self.skips.value = self._before


def skips_data() -> bool:
    """Whether a `skip_data` of this thread is open."""
    return getattr(skip_data.skips, "value", False)


# -- byte order --------------------------------------------------------------------------------


class LoadEndianness(Enum):
    """A byte order of files that do not say theirs. Source: PyTorch's `LoadEndianness`.

    >>> [order.name for order in rg.serialization.LoadEndianness]
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_order: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """What `set_default_load_endianness` was given last; at first None, which is LITTLE.

    >>> rg.serialization.get_default_load_endianness()
    """
    return _order


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Say which byte order files have that do not say it; TypeError for another type.

    >>> rg.serialization.set_default_load_endianness(rg.serialization.LoadEndianness.BIG)
    >>> rg.serialization.set_default_load_endianness(None)
    """
    global _order
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _order = endianness


def order_by_default() -> str:
    """The byte order of a file that does not say it."""
    if _order is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _order is LoadEndianness.BIG else "little"
