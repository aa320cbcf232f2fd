"""Views: how one came to be, and the list that a base keeps of those that live."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..locks import structure

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["View", "add_view", "base_of", "enlist", "live_views", "sever"]


class View:
    """How a view came to be: `base`, and the path of steps from the base's array to the view's.

    A step is (op, params, output): `op.forward(array, **params)`, then `[output]` if that is not
    None. `origin` says what later writes must know: "plain", "multi" (one of several views made by
    one call), "no_grad", "inference" or "custom" (returned by a user's Function); `trace` is where
    it was made, in anomaly mode. `roots` names, for some forward derivatives, a tensor on the way
    whose tangent this one shares, instead of the base's: `engine.forward`.
    """

    __slots__ = ("base", "origin", "path", "roots", "trace")

    def __init__(self, base: Tensor, path: tuple[Any, ...], origin: str) -> None:
        self.base = base
        self.path = path
        self.origin = origin
        self.trace: Any = None
        self.roots: tuple[Any, ...] = ()


def add_view(base: Tensor, view: Tensor, path: tuple[Any, ...], origin: str) -> None:
    """Make `view` a view of `base`."""
    view._view_of = View(base, path, origin)
    enlist(base, view)


def enlist(base: Tensor, view: Tensor) -> None:
    """Enter `view` among the live views of `base`; dead ones are swept as the list doubles."""
    with structure:
        views = base._views
        if views is None:
            base._views = views = []
        elif len(views) >= 16 and len(views) & (len(views) - 1) == 0:
            views[:] = [ref for ref in views if ref() is not None]
        views.append(weakref.ref(view))


def sever(tensor: Tensor, array: Any) -> None:
    """Part `tensor`, whose memory becomes `array`, from its views and its base where it must be.

    A view's path leads to its elements in memory of one shape and layout; in other memory it would
    lead elsewhere, or nowhere. So what were views keep the old memory, and their history.
    """
    old = tensor._array
    if array.shape == old.shape and getattr(array, "strides", 0) == getattr(old, "strides", 0):
        return
    views = live_views(tensor)
    tensor._views = tensor._view_of = None
    for view in views:
        view._view_of = None


def base_of(tensor: Tensor) -> Tensor:
    """The tensor whose memory this one shows: itself, if it is no view."""
    return tensor if tensor._view_of is None else tensor._view_of.base


def live_views(base: Tensor) -> list[Tensor]:
    """The views of a base that are still there."""
    found = [ref() for ref in base._views or ()]
    return [view for view in found if view is not None]
