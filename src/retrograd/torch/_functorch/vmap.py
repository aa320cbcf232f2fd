"""`torch._functorch.vmap`, and the older `torch._vmap_internals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.tensor import Tensor
from ...func import vmap
from ...func.batching import DIFFERS, checked
from ...func.batching import name_of as _get_name  # noqa: F401 (PyTorch's name)
from .._C._functorch import (
    _add_batch_dim,  # noqa: F401 (PyTorch's name)
    _remove_batch_dim,
    is_batchedtensor,
)
from ..utils._pytree import (
    _broadcast_to_and_flatten,  # noqa: F401 (PyTorch's name)
    tree_flatten,
    tree_unflatten,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Tensor", "tree_flatten", "tree_unflatten", "vmap"]


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """An output of a function called `name` with all examples along `out_dim`.

    Raises ValueError for one that is no tensor, and for one of a single example without `out_dim`.
    """
    if out_dim is not None:
        return _remove_batch_dim(checked(batched_output, name), vmap_level, batch_size, out_dim)
    if is_batchedtensor(batched_output):
        raise ValueError(DIFFERS.format(name=name))
    return batched_output


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: int = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """`vmap`; with `allow_none_pass_through`, outputs that are None come out as None.

    >>> from retrograd._functorch.vmap import _vmap
    >>> double = _vmap(lambda x: (2 * x, None), allow_none_pass_through=True)
    >>> double(rg.tensor([1.0, 2.0]))
    (tensor([2., 4.]), None)
    """
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def wrapped(*args: Any) -> Any:
        outputs = None

        def present(*given: Any) -> list[Any]:
            nonlocal outputs
            outputs = func(*given)
            return [leaf for leaf in pytree.flatten(outputs) if leaf is not None]

        found = iter(vmap(present, in_dims, out_dims)(*args))
        return pytree.map_leaves(lambda leaf: leaf if leaf is None else next(found), outputs)

    return wrapped
