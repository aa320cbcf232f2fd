"""Writing in place: every `name_` form, derived from the out-of-place function.

NOTE [In-place = out-of-place + write + splice]
`v.mul_(w)` is, in this order:
1. the rules are checked; nothing has changed yet if one is broken;
2. the ordinary function runs on `old`, a stand-in with v's values, history and version;
3. if a node saved `old` or a view of it, that gets a copy of the values, since they are about to
   be overwritten; an operand that shares v's memory is copied beforehand for the same reason;
4. the result is written into v's memory, and the version cell counts the write;
5. v takes over the result's history. If v is a view, its base does: one `splice` node says "the old
   base with this region replaced", and every live view of the base is stale until its history is
   derived from the new base (NOTE [Stale views] in `views`).

There is no special node class and no second derivative formula for any in-place form.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from ..kernels.allocation import has_class, has_memory, is_seen
from ..kernels.memory import as_it_lay, memory_order, overlaps
from ..quiet import copyto
from . import native
from .backward.hooks import hooks_of
from .callers import caller_signature
from .graph import LEAF, Cell, new_node, tick
from .record import STALE, STALE_VIEW, derived, make_node, walk
from .registry import OPS, name_node
from .tensor import Tensor, follow, new_tensor, node_of, twin, wrote
from .views import base_of, delist, enlist, live_views, put_down
from .writable import (
    about_to_write,
    check_apart,
    check_store,
    check_tracked,
    check_writable,
    is_tracked,
    refusal,
)


def in_place(function: Callable[..., Any], name: str | None = None) -> Callable[..., Tensor]:
    """The `name_` form of a function whose first argument is the tensor to be written."""
    plain = function.__name__
    written = name or plain + "_"

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs and "out" in kwargs:
            raise TypeError(f"{written}() got an unexpected keyword argument 'out'")
        return write(self, written, function, args, kwargs)

    functools.update_wrapper(call, function, ("__annotations__", "__module__"), ())
    if hasattr(function, "op"):
        inputs = len(function.op.inputs)
        call.__signature__ = caller_signature(inputs, False, False, True)  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = written
    call.__doc__ = f"In-place form of `{plain}`: writes the result into `self` and returns it."
    return call


@native.in_c
def write(
    target: Tensor,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    uniform: bool = False,
) -> Tensor:
    """Replace the value of `target` by `function(target, *args, **kwargs)`, history included.

    `uniform` says that all elements get the same value, so that they may share memory.
    """
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): the first argument must be a Tensor")
    others = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    tracked = is_tracked(target, others)
    check_writable(target, name, tracked, uniform)
    if tracked:
        check_apart(target, others, uniform)
    kept = not has_memory(target._array) and target._array.is_kept(others)
    if not (tracked or kept):
        return stored(target, name, function(target, *args, **kwargs))
    held = [twin(target, history_of(target))]
    args = tuple(_apart(a, target, held) for a in args)
    kwargs = {key: _apart(a, target, held) for key, a in kwargs.items()}
    if kept or (modes.special and modes.state.saved_hooks):  # they may keep what is overwritten
        held[0]._array, held[0]._cell = as_it_lay(held[0]._array), Cell()
    before = tick()
    result = function(held[0], *args, **kwargs)
    del args, kwargs, others
    if not tracked:
        return stored(target, name, result)
    return replaced(target, name, held, result, before)


@native.in_c
def stored(target: Tensor, name: str, result: Tensor) -> Tensor:
    """Write a result into the memory of `target`, and count the write, of which no graph knows."""
    check_store(target, result)
    if result._array is not target._array:
        store(target, result)
    return overwritten(target, name)


@native.in_c
def replaced(target: Tensor, name: str, held: list[Tensor], result: Tensor, before: int) -> Tensor:
    """Write a result into the memory of `target`, with its history.

    `held` is a list of the stand-in that the result was computed from, which nobody else holds but
    the nodes that saved it; nodes recorded meanwhile have numbers above `before`.
    """
    old = held.pop()
    check_store(target, result)
    readers = [weakref.ref(old), *(old._views or ())]
    if result is old:  # nothing was recorded
        result = twin(old, old._node)
    del old
    for ref in readers:
        reader = ref()
        if reader is not None:
            reader._array = as_it_lay(reader._array)
            reader._cell = Cell()
            for level in modes.state.levels if modes.special else ():
                level.preserve(reader)
    store(target, result)
    wrote(target, name)
    node = result._node
    if node is not None and node.seq > before:
        adopt(node, result._array, target)
    rebase(target, node)
    return target


def history_of(target: Tensor) -> Any:
    """The history of a tensor that is about to be written.

    That of a view with hooks, or of a view of one, is derived anew from its base, for such hooks
    are lost with the write: in PyTorch no gradient flows through the view itself once its base has
    a new history.
    """
    node, view = node_of(target), target._view_of
    each, end = node, None if view is None else view.base._node
    while view is not None and view.origin == "plain" and each is not None and each is not end:
        if each.hooks is not None:
            return derived(target)
        each = each.edges[0] if each.edges else None
    return node


def store(target: Tensor, result: Tensor) -> None:
    """Write the values of `result`, and its tangents, into the memory of `target`."""
    array, values = target._array, result._array
    if not (has_memory(array) and has_memory(values)):
        exchange(target, values)
    elif not is_seen(array) or array.flags.forc or not overlaps(array):
        copyto(array, values, casting="unsafe")
    else:  # of elements in one place, only those that changed: the others have the old value
        changed = (values != array) & ~(np.isnan(values) & np.isnan(array))
        copyto(array, values, casting="unsafe", where=changed)
    for level in modes.state.levels if modes.special else ():
        level.rewrite(target, result)


def exchange(target: Tensor, array: Any) -> None:
    """Replace the array of `target`, which cannot be written, that of its base and of all views."""
    view, base = target._view_of, base_of(target)
    if has_memory(array):
        array = target._array.around(new_tensor(array))
    array.check_room(base)
    value = new_tensor(array)
    if array.dtype != target._array.dtype:
        value = OPS["cast"].call(value, dtype=target._array.dtype)
    if view is not None:
        value = OPS["splice"].call(new_tensor(base._array), value, path=view.path, layout=None)
    array = value._array
    if not modes.state.records:
        array = array.with_history(base._array)
    array = array.stored(base)
    renew(base, array)
    array.after_store(base)


def renew(base: Tensor, array: Any) -> None:
    """Give `base` another array, and all its views their parts of it."""
    base._array = array
    # Batches may have history from outside.
    with modes.Changed(grad=True, inference=False, below=False):
        for each in live_views(base):
            path = each._view_of.path
            each._array = walk(new_tensor(base._array), path)._array
            if has_class(each._array):
                each._array.after_store(each)


def adopt(node: Any, written: Any, target: Tensor) -> None:
    """Let a new node that saved its result save the target's memory instead, as of this write.

    Cotangents that arrive at the node have the target's dtype. In forward mode the node keeps its
    number and its result: those of the tangents, which lead back to it, must be newer.
    """
    if other := written.dtype != target._array.dtype:
        node.dtype, node.fits = target._array.dtype, False
    if modes.special and modes.state.levels:
        return
    node.seq, node._cell = tick(), target._cell
    if node.saved and not other:
        saved = [target._array if v is written else v for v in node.saved]
        node.saved = type(node.saved)(saved)


def overwritten(target: Tensor, name: str) -> Tensor:
    """Count a write by `name` that adds no node, and return `target`."""
    wrote(target, name)
    if not target._inference:
        base = base_of(target)
        if base._views and base._node is not None:
            outdate(base, False)
    return target


def _apart(operand: Any, target: Tensor, held: list[Tensor]) -> Any:
    """An operand as an in-place write may read it: a copy, if it shares the target's memory.

    Hooks on a view that is an operand, too, see what flows to it as that: `history_of`.
    """
    if operand is target and held[0]._node is node_of(target):
        return held[0]
    if isinstance(operand, Tensor) and operand._cell is not None and operand._cell is target._cell:
        copy = new_tensor(as_it_lay(operand._array))
        copy._node, copy._tangents = node_of(operand), operand._tangents
        copy._cell = Cell()  # its memory is not that of the node's output
        return copy
    return operand


def become_view(
    target: Tensor,
    name: str,
    step: tuple[str, dict[str, Any]],
    undo: tuple[str, dict[str, Any]],
    overload: int = 1,
) -> Tensor:
    """Let `target` become another view of its own memory: `t_`, `squeeze_` and the like.

    `step` is the (op's name, parameters) of that view, `undo` of the one that leads back: paths of
    the tensor's own views begin with it from now on, and links are told: NOTE [Links] in `views`.
    `overload` is what PyTorch's node ends with.
    """
    tracked = is_tracked(target, ())
    about_to_write(target)
    if tracked:
        check_tracked(target, name)
    (op, params), back = (OPS[step[0]], step[1]), (OPS[undo[0]], undo[1], None)
    before = twin(target, node_of(target))
    turned = name_node(op.call(before, **params), f"{str(op.node_name)[:-1]}{overload}")
    wrote(target, name)
    if not has_memory(target._array):
        target._array.before_turn(turned._array)
    if modes.transforming() or modes.state.nested:
        target._turns = (*target._turns, ((op, params, None), back))
    target._array = turned._array
    target._tangents = turned._tangents
    if target._view_of is not None:
        target._view_of.path += ((op, params, None),)
    if tracked:
        _move_retained(target, turned._node)
        target._node = turned._node
        if turned._node is not None:
            turned._node._cell = target._cell
    elif follows_base(target):
        with modes.Changed(grad=True, inference=False, below=False, levels=(), watchers=()):
            node = op.call(before, **params)._node
        _move_retained(target, node)
        target._node = node
    else:
        follow(target)
    for view in live_views(target):
        how: Any = view._view_of
        how.path = (back, *how.path)
    base = base_of(target)
    own = tracked and base is not target
    if own:  # its history leads on from the one before; that of other views is derived anew
        delist(base, target)
    if base._views and base._node is not None and (tracked or base._node.op is LEAF):
        outdate(base, True)
    if own:
        enlist(base, target)
    return target


def follows_base(target: Tensor) -> bool:
    """Whether a tensor is a view whose history is that of its base."""
    view, node = target._view_of, target._node
    if view is None or node is None or view.origin != "plain" or view.base._node is None:
        return False
    return node.op is not LEAF


def lead_on(target: Tensor) -> None:
    """Give a tensor whose shape has changed a node of that shape that leads to its former node."""
    node, array = target._node, target._array
    if node is None or node.op is STALE or node.shape == array.shape:
        return
    former = node.edges[0] if node.op is OPS["clone"] and node.hooks is None else None
    if former is not None and former.shape != node.shape:  # it led on to an earlier shape
        node = former
    if node.shape != array.shape:
        node = new_node(OPS["clone"], (node,))
        node.shape, node.dtype = array.shape, array.dtype
    _move_retained(target, node)
    target._node = node


def rebase(target: Tensor, node: Any) -> None:
    """Give a written tensor its new history: NOTE [In-place = ...], step 5."""
    view = target._view_of
    if modes.state.nested and base_of(target)._node is None:
        modes.state.given.append(weakref.ref(base_of(target)))
    if view is None:
        base = target
        if node is not None:
            _move_retained(target, node)
        target._node = node
    else:
        base = view.base
        if node is None and base._node is None:
            return
        region = new_tensor(target._array)
        region._node = node
        order = memory_order(base._array) if has_memory(base._array) else None
        params = {"path": view.path, "layout": order}
        spliced = make_node(OPS["splice"], (base, region), (base._node, node), (), params)
        spliced.shape, spliced.dtype = base._array.shape, base._array.dtype
        spliced._cell = base._cell
        _move_retained(base, spliced)
        base._node = spliced
    if base._views and base._node is not None:
        outdate(base, True)


def _move_retained(target: Tensor, node: Any) -> None:
    """Let `retain_grad` follow a tensor to its new history."""
    before = target._node
    if before is None or before.hooks is None or not before.hooks.retained or before.op is LEAF:
        return
    from_hooks = before.hooks
    moved = [ref for ref in from_hooks.retained if ref() is target]
    if moved:
        from_hooks.retained[:] = [ref for ref in from_hooks.retained if ref() is not target]
        hooks_of(node).retained += moved


@native.in_c
def outdate(base: Tensor, recorded: bool) -> None:
    """Let the live views of a written base be stale: NOTE [Stale views] in `views`.

    `recorded` says whether the write gave the base another history. If not, a view with hooks keeps
    the one it has.
    """
    views, base._views = base._views or (), []
    for ref in views:
        view = ref()
        if view is None or (view._node is not None and view._node.op is STALE):
            continue
        put_down(base, ref)
        node, how = view._node, view._view_of
        hooks = None if node is None else node.hooks
        if how.origin != "plain":
            view._node = refused(view)
        elif recorded and ((hooks is not None and hooks.retained) or not may_wait(view)):
            replayed = derived(view)
            if node is not None and node is not base._node:
                _move_retained(view, replayed)
            view._node = replayed
            base._views.append(ref)
        elif recorded or hooks is None:
            view._node = STALE_VIEW
        else:
            base._views.append(ref)


def may_wait(view: Tensor) -> bool:
    """Whether a view may get its new history later, when it is used."""
    array = view._array
    return array.__class__ is np.ndarray and array.dtype.kind in "fc" and not modes.transforming()


def refused(view: Tensor) -> Any:
    """The stale node of a view that is not plain, which raises when the view is used.

    Its base has been written, and nobody can say whether its old history or the base's new one is
    its own. As in PyTorch, the next use raises.
    """
    node = new_node(STALE, ())
    node.params = (refusal(view, "its base or another view of its base has been"),)
    return node
