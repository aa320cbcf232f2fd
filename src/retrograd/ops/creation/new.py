"""New tensors of the dtype, and at the place, of another one: its methods `new_zeros`, ..."""

from __future__ import annotations

import warnings
from typing import Any

from ...engine.naming import NEUTRAL, check_neutral
from ...engine.tensor import Interpreted, Tensor, method, placed
from ...kernels.allocation import is_valueless, table
from ..core.arguments import titled
from .factories import empty, full, ones, zeros
from .from_data import COPY_CONSTRUCT, check_dtype, copy_of, finish, where_of

__all__: list[str] = []


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
    """Whether a tensor is sparse."""
    return isinstance(x._array, Interpreted) and x.layout.name.startswith("sparse")


def as_wide(made: Tensor, like: Tensor) -> Tensor:
    """A new tensor, moved to where `like` lives; with room for all of its examples, if a batch."""
    where = like._array
    alone = not isinstance(where, Interpreted)
    if is_valueless(where) or is_valueless(made._array) or is_sparse(made) or is_sparse(like):
        return made
    made._array = table(where, made._array) if alone else where.alike(placed(made._array, like))
    return made


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A leaf with a copy of `data`, of this tensor's dtype unless one is given."""
    target = self.dtype.numpy if dtype is None else check_dtype(dtype, "new_tensor")
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("tensor.new_tensor"), UserWarning, stacklevel=2)
    with where_of(self.device if device is None else device):
        return as_wide(finish(copy_of(data, target), requires_grad), self)


for _each in (zeros, ones, empty, full):
    method(_new(_each, f"new_{_each.__name__}"))
method(_new_tensor, "new_tensor")
