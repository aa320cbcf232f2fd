"""New tensors of the dtype, and at the place, of another one: its methods `new_zeros`, ..."""

from __future__ import annotations

import warnings
from itertools import count
from typing import Any

import numpy as np

from ...engine.naming import NEUTRAL, check_neutral
from ...engine.placement import device
from ...engine.tensor import Size, Tensor, constant_like, method
from ...kernels.allocation import has_memory, has_values, table
from ..core.arguments import titled
from ..core.dims import is_size
from .factories import empty, full, ones, shape_of, unwritten, zeros
from .from_data import COPY_CONSTRUCT, check_dtype, copy_of, finish, held, where_of


def constructed(data: tuple[Any, ...], target: Any, name: str, where: Any = None) -> Any:
    """The array that a type, called, makes of sizes, uninitialised, or of data, in a dtype.

    An array of that dtype keeps its memory, as PyTorch's older constructors let it. Raises
    TypeError for what is neither, RuntimeError for a device `where` that is not the cpu.
    """
    check_cpu(where)
    first: Any = data[0] if len(data) == 1 else None
    if isinstance(first, Size) or (
        not isinstance(first, bool) and all(map(is_size, data, count(1)))
    ):
        return unwritten(shape_of(first if isinstance(first, Size) else data or (0,), name), target)
    if len(data) > 1:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: sizes are integers, data is "
            f"one sequence, got ({', '.join(type(n).__name__ for n in data)})"
        )
    if hasattr(type(first), "_as_array"):  # a storage: the same memory
        return first._as_array(target)
    if isinstance(first, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(first, "__getitem__") or isinstance(first, (dict, np.generic)):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return held(first, target)


def check_cpu(where: Any) -> None:
    """Raise RuntimeError for a device that is not the cpu: older constructors know no other."""
    kind = "cpu" if where is None else device(where).type
    if kind != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {kind} was passed"
        )


def _new(factory: Any, name: str) -> Any:
    def call(self: Tensor, *size: Any, dtype: Any = None, **settings: Any) -> Tensor:
        given = self.dtype if dtype is None else dtype
        if is_sparse(self):
            settings.setdefault("layout", self.layout)
        for key in NEUTRAL:
            if key in settings and (key == "pin_memory" or name not in ("new_zeros", "new_empty")):
                check_neutral(name, key, settings.pop(key))
        if settings.get("device") is None:
            settings["device"] = self.device
        return as_wide(factory(*size, dtype=given, **settings), self)

    about = f"`{factory.__name__}` with the dtype of this tensor, unless one is given."
    return titled(call, name, about)


def is_sparse(x: Tensor) -> bool:
    """Whether a tensor has a sparse layout."""
    return not has_memory(x._array) and x.layout.name.startswith("sparse")


def as_wide(made: Tensor, like: Tensor) -> Tensor:
    """A new tensor, moved to where `like` lives; with room for all of its examples, if a batch."""
    where = like._array
    if not has_values(where) or not has_values(made._array) or is_sparse(made) or is_sparse(like):
        return made
    if has_memory(where):
        made._array = table(where, made._array)
    else:
        made._array = where.around(constant_like(made._array, like))
    return made


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A leaf with a copy of `data`, of this tensor's dtype unless one is given."""
    target = self.dtype.numpy if dtype is None else check_dtype(dtype, "new_tensor")
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("tensor.new_tensor"), UserWarning, stacklevel=2)
    device = self.device if device is None else device
    data = data.to(device) if isinstance(data, Tensor) else data
    with where_of(device):
        return as_wide(finish(copy_of(data, target), requires_grad), self)


for _each in (zeros, ones, empty, full):
    method(_new(_each, f"new_{_each.__name__}"))
method(_new_tensor, "new_tensor")
