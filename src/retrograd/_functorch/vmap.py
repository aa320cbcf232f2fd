"""`torch._functorch.vmap`, and the older `torch._vmap_internals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import pytree
from ..func import vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["vmap"]


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
