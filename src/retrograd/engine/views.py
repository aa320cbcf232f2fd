"""Views: how one came to be, and the list that a base keeps of those that live."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..locks import structure

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["View", "add_view", "enlist"]


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
