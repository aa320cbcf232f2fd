"""Views: how one came to be, and the lists that a base keeps of those that live.

NOTE [Stale views]
1. A recorded write to a base gives all its views another history. Hardly any of them is used before
   the next write, so none is derived then: their nodes are replaced by a stale one, which is no
   history, and `tensor.node_of` derives the history from the base when it is asked for. Whoever
   takes a tensor's node for more than whether there is one calls that; an op's callers know the
   stale ones by their kind.
2. The history of a view that is not "plain" cannot be derived: PyTorch forbids writes that would
   need it. Its stale node holds the error that is raised instead.
3. A base lists the views that are to become stale in `_views`, the others in `_outdated`. So each
   write costs as much as there are views made or used since the one before.
4. A path that got long is replaced by one strided region, so that a view of a view of a view ... is
   followed in a few steps.

NOTE [Links] A tensor may show what another one holds: the memory of its base; at a level, the
tangent of a root; in a batched call, the elements of a batch that it was detached from, or what a
transform gave it for. `t_`, `unsqueeze_` and their like may turn either of the two later.
1. A tensor keeps the turns that it takes within transforms, in order: nobody else asks for them.
2. A `Link` is the path from one to the other as both were when it was made, and how often each had
   been turned by then. The path between them as they are now leads back through the turns of the
   one since then, along that path, and through those of the other. So a turn changes no link.
3. The path of a `View`, which C reads, is always the one between the two as they are now:
   `inplace.become_view` alone lengthens it.

A tensor is here whatever has the slots of one: `tensor` builds on this module.
"""

from __future__ import annotations

import math
import sys
import weakref
from typing import Any

import numpy as np

from .. import dtypes
from ..kernels.memory import Span, address, memory_order, root, span, strided
from ..locks import structure
from . import native
from .graph import leaf_node

LONGEST = 4  # steps of a path


class View:
    """How a view came to be: `base`, and the path of steps from the base's array to the view's.

    A step is (op, params, output): `op.forward(array, **params)`, then `[output]` if that is not
    None. `origin` says what later writes must know: "plain", "multi" (one of several views made by
    one call), "no_grad", "inference", "custom" (returned by a user's Function) or "resized" (its
    base has lost some of its elements); `trace` is where it was made, in anomaly mode. `roots`
    has, for some forward derivatives, the link to the tensor on the way whose tangent this one
    shares instead of the base's, or None where it is that tensor: `engine.transforms.forward`.
    """

    __slots__ = ("base", "origin", "path", "roots", "trace")

    def __init__(self, base: Any, path: tuple[Any, ...], origin: str) -> None:
        self.base = base
        self.path = path
        self.origin = origin
        self.trace: Any = None
        self.roots: tuple[Any, ...] = ()


class Link:
    """How a tensor shows what `base` holds, whatever the two are turned: NOTE [Links]."""

    __slots__ = ("base", "path", "turns")

    def __init__(self, base: Any, path: tuple[Any, ...], tensor: Any) -> None:
        self.base = base
        self.path = path
        self.turns = len(base._turns), len(tensor._turns)

    def steps(self, tensor: Any) -> tuple[Any, ...]:
        """The path from the base to the tensor, as they are now."""
        there, here = self.turns
        back = [undo for _, undo in reversed(self.base._turns[there:])]
        return (*back, *self.path, *[step for step, _ in tensor._turns[here:]])


# The ops "permute" and "as_strided", of which a shortened path is made. Entered by `ops`.
STEPS: dict[str, Any] = {}


def shortened(base: Any, view: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """A path of at most two steps from `base` to the same elements, where there is one.

    That is so where the base's elements lie densely in memory, in whatever order, and the view has
    their dtype: the first step puts the dimensions in that order, the second one takes a region.
    """
    x, y = base._array, view._array
    if not (x.__class__ is y.__class__ is np.ndarray and x.dtype == y.dtype) or x.size == 0:
        return path
    order = tuple(sorted(range(x.ndim), key=lambda axis: -x.strides[axis]))
    flat = x.transpose(order)
    if not flat.flags.c_contiguous or min(y.strides, default=0) < 0:
        return path
    found = [divmod(step, x.itemsize) for step in (address(y) - address(x), *y.strides)]
    if any(rest for _, rest in found):  # a view by another dtype and back, between two elements
        return path
    offset, *stride = [number for number, _ in found]
    region = {"size": y.shape, "stride": tuple(stride), "offset": offset}
    steps: tuple[Any, ...] = ((STEPS["as_strided"], region, None),)
    return steps if x.flags.c_contiguous else ((STEPS["permute"], {"dims": order}, None), *steps)


def live_views(base: Any) -> list[Any]:
    """All views of `base` that live."""
    if base._views is base._outdated is None:
        return []
    refs = (base._outdated or {}) | {id(ref): ref for ref in base._views or ()}
    return [view for ref in refs.values() if (view := ref()) is not None]


def inherit(base: Any) -> None:
    """Let the views of a base that has come to require grad do so, too, as leaves of their own."""
    for view in live_views(base):
        array = view._array
        if view._node is None and dtypes.is_differentiable(array.dtype):
            view._node = leaf_node(view, array.shape, array.dtype)
            view._node.inherited = True


def disinherit(base: Any) -> None:
    """Undo `inherit`, for a base that no longer requires grad."""
    for view in live_views(base):
        node = view._node
        if node is not None and (node.inherited or (node.op.stale and not node.params)):
            view._node = None


def put_down(base: Any, ref: Any) -> None:
    """Enter a view among the stale ones of `base`; the dead are swept as their number doubles."""
    refs = base._outdated
    if refs is None:
        base._outdated = refs = {}
    refs[id(ref)] = ref  # there is one for each view
    if len(refs) >= 16 and len(refs) & (len(refs) - 1) == 0:
        base._outdated = {key: ref for key, ref in refs.items() if ref() is not None}


def add_view(base: Any, view: Any, path: tuple[Any, ...], origin: str) -> None:
    """Make `view` a view of `base`."""
    view._view_of = View(base, path, origin)
    enlist(base, view)


@native.in_c
def enlist(base: Any, view: Any) -> None:
    """Enter `view` among the live views of `base`; dead ones are swept as the list doubles."""
    with structure:
        views = base._views
        if views is None:
            base._views = views = []
        elif len(views) >= 16 and len(views) & (len(views) - 1) == 0:
            views[:] = [ref for ref in views if ref() is not None]
        views.append(weakref.ref(view))


def delist(base: Any, view: Any) -> None:
    """Strike `view` off the views of `base`."""
    with structure:
        base._views = [ref for ref in base._views or () if ref() is not view]
        stale = base._outdated or {}
        base._outdated = {key: ref for key, ref in stale.items() if ref() is not view}


def same_elements(x: Any, y: Any) -> bool:
    """Whether two arrays show the same elements of one memory, in the same way."""
    if not (x.__class__ is y.__class__ is np.ndarray):
        return x is y
    alike = x.shape == y.shape and x.strides == y.strides and x.dtype == y.dtype
    return alike and address(x) == address(y)


def lies(array: Any) -> tuple[Any, Any]:
    """The shape and strides of an array; there may be none of the latter."""
    return array.shape, getattr(array, "strides", None)


def sever(tensor: Any, array: Any) -> None:
    """Part `tensor`, whose memory becomes `array`, from its views and its base where it must be.

    A view's path leads to its elements in memory of one shape and layout; in other memory it would
    lead elsewhere, or nowhere. So what were views keep the old memory, and their history. Where
    `array` is another part of the same memory, those that lie in it stay views, by other paths.
    """
    old = tensor._array
    if lies(array) == lies(old):
        return
    views = live_views(tensor)
    for each in (tensor, *views):
        node = each._node
        if node is not None and node.op.stale and not node.params:
            node.op.now(each)
    above = tensor._view_of
    links = [(tensor, view, view._view_of) for view in views]
    if above is not None:
        delist(above.base, tensor)
        links.append((above.base, tensor, above))
    tensor._views = tensor._outdated = None
    tensor._array = array
    for base, view, before in links:
        view._view_of = None
        path = path_inside(base, view)
        assert before is not None
        if path is not None:
            add_view(base, view, path, before.origin)
        elif before.path and np.may_share_memory(base._array, view._array):
            add_view(base, view, (), "resized")


def path_inside(base: Any, view: Any) -> tuple[Any, ...] | None:
    """A path from `base` to the elements of `view`, if they are among its own; else None."""
    x, y = base._array, view._array
    if not (x.__class__ is y.__class__ is np.ndarray) or root(x) is not root(y):
        return None
    low, high = np.lib.array_utils.byte_bounds(x)
    first, last = np.lib.array_utils.byte_bounds(y)
    found = shortened(base, view, ())
    return found if found and low <= first and last <= high else None


def room_for(tensor: Any, shape: tuple[int, ...], like: Any = None) -> Any:
    """An array of `shape` in the tensor's memory, from its first element on; None for no room.

    It is in row-major order, or lies in memory as the array `like` does.
    """
    array, room = tensor._array, memory_after(tensor)
    if room is None or math.prod(shape) * array.itemsize > room.size:
        return None
    order = None if like is None else memory_order(like)
    steps, step = [0] * len(shape), array.itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        steps[axis] = step
        step *= max(shape[axis], 1)
    made = strided(room, shape, steps, 0, array.dtype)
    tensor._room = room
    return made


def memory_after(tensor: Any) -> Any:
    """The bytes from the first element of `tensor` on, as far as it may come to show them.

    That is the array of its base, gaps and all, or what it had when it was resized before; None
    where neither is known.
    """
    array, base = tensor._array, base_of(tensor)._array
    if not array.__class__ is base.__class__ is np.ndarray:
        return None
    room = tensor._room
    if room is not None and root(room) is root(array):
        base = room
    if not array.size and base is not array and base is not room:
        return None  # where a view without elements lies, NumPy does not know
    dense, writeable = base.flags.forc, base.flags.writeable
    whole = base.ravel("K").view(np.uint8) if dense else span(base, writeable)
    offset = address(array) - address(whole) if array.size else 0
    return whole[offset:]


def check_alone(tensor: Any) -> None:
    """Raise if anybody else looks at the memory of `tensor`: views, aliases, nodes, NumPy, buffers.

    Memory cannot move, so the others would be left behind, and writes no longer reach them.
    """
    if tensor._storage is not None and sys.getrefcount(tensor._storage) == 2:
        tensor._storage = None  # the tensor alone keeps it, and makes another one when asked
    if tensor._view_of is not None or live_views(tensor) or is_shared(tensor):
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: something else looks at the memory "
            f"of this tensor of shape {list(tensor._array.shape)}, which has no more room and "
            f"cannot move. Resize a copy: x = x.clone()"
        )


def is_shared(tensor: Any) -> bool:
    """Whether another array, or what is no array, refers to the memory that `tensor` shows."""
    tops = tensor._array, tensor._room
    if tops[0].__class__ is not np.ndarray or not tops[0].size:
        return False
    chain = chain_of((object(), *tops))  # the first is held by nothing but this list
    alone, *counts = map(sys.getrefcount, chain)
    for link, count in zip(chain[1:], counts, strict=True):
        # held as the first is; by slots and `tops`; by other links
        own = (
            alone + 2 * sum(link is top for top in tops) + sum(next_base(x) is link for x in chain)
        )
        if not isinstance(link, (np.ndarray, Span)) or count > own:
            return True
    return False


def chain_of(arrays: Any) -> list[Any]:
    """`arrays` and what they stand on, down to what owns the memory, each once."""
    found: dict[int, Any] = {}
    for link in arrays:
        while link is not None and id(link) not in found:
            found[id(link)] = link
            link = next_base(link)  # noqa: PLW2901
    return list(found.values())


def next_base(link: Any) -> Any:
    """The object whose memory an array shows directly: its `base`, or what a memoryview is of."""
    return link.obj if isinstance(link, memoryview) else getattr(link, "base", None)


def room_of(tensor: Any) -> Any:
    """The memory that `resize_` may show more of, in a tensor that is given that of `tensor`."""
    base = base_of(tensor)
    return base._array if base._room is None else base._room


def base_of(tensor: Any) -> Any:
    """The tensor whose memory this one shows: itself, if it is no view."""
    return tensor if tensor._view_of is None else tensor._view_of.base
