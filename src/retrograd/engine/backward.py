"""The backward pass: one traversal, on arrays or, for `create_graph=True`, on tensors.

NOTE [Order of execution] (promised, tested)
1. Nodes run newest first: by `seq`, which grows with every recorded op (NOTE [One clock] in `graph`).
2. Leaves accumulate when every node has run, so a pass that fails changes no `.grad`. A leaf with
   hooks is the exception: it runs right after the last node that contributes to it, so that an
   optimizer step in a post-accumulate hook can free memory early.
3. A cotangent is complete before its node runs; contributions are added in the order of 1.

NOTE [Ownership of cotangents]
A contribution may be an array that somebody else holds: `g` itself passed on, a view, what a user's
Function or hook returned. Those are never written. The second contribution to a node makes a fresh
sum, unless the first was fresh already; later ones are added in place. A leaf takes over a fresh
array as its `.grad`, and copies any other.

Nothing recurses, and all state of a pass is local: passes may nest and run in several threads.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from . import saved
from .graph import FREED, LEAF, OUTPUT, Node
from .op import ALONE, arrays, recorded
from .tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["fit", "run", "schedule"]

ndarray, add, read = np.ndarray, np.add, saved.raw
_by_number = attrgetter("seq")


def schedule(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots reach, in the promised order."""
    order = [*roots]
    seen = set(order)
    for node in order:  # which grows as edges are followed
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                order.append(edge)
    order.sort(key=_by_number, reverse=True)
    hooked = set()
    for node in reversed(order):
        if node.op is not LEAF:
            break
        if node.hooks is not None:
            hooked.add(node)
    return with_early_leaves(order, hooked) if hooked else order


def with_early_leaves(order: list[Node], leaves: set[Node]) -> list[Node]:
    """`order` with each of `leaves` moved to right after the last node that leads to it."""
    placed: list[Node] = []
    for node in reversed(order):
        for edge in reversed(node.edges):
            if edge in leaves:
                leaves.remove(edge)
                placed.append(edge)
        if node not in leaves:
            placed.append(node)
    placed.reverse()
    return placed


def needed_for(order: Sequence[Node], inputs: Iterable[Node]) -> set[Node]:
    """Those nodes of `order` through which a cotangent reaches one of `inputs`."""
    needed = set(inputs)
    for node in reversed(order):
        if any(edge in needed for edge in node.edges):
            needed.add(node)
    return needed


def run(
    roots: Sequence[tuple[Node, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    captures: Sequence[Node] | None = None,
    accumulate: bool = True,
) -> dict[Node, Any]:
    """Carry the cotangents of `roots` through the graph; return those that reach `captures`.

    Cotangents are arrays, or tensors if `create_graph`. With `captures`, only nodes on the way to
    them run; leaves among them accumulate if `accumulate`, and are captured if not.
    """
    grads: dict[Node, Any] = {}
    borrowed: set[Node] = set()
    for node, g in roots:
        grads[node] = g if node not in grads else grads[node] + g
        borrowed.add(node)
    order = schedule(grads)
    task = None
    if create_graph or captures is not None or modes.special:
        task = Pass(grads, borrowed, retain_graph, create_graph, accumulate)
        if captures is not None:
            task.wanted = set(captures)
            task.needed = needed_for(order, task.wanted)
        for node in order:
            task.step(node)
        return task.captured
    pop, get, free = grads.pop, grads.get, not retain_graph
    for node in order:
        op = node.op
        if not op.ordinary or node.hooks is not None:
            if op is LEAF and node.hooks is None:
                g = pop(node, None)
                if g is not None:
                    accumulate_leaf(node, g, node in borrowed, False)
                continue
            if task is None:
                task = Pass(grads, borrowed, retain_graph, create_graph, accumulate)
            task.step(node)
            continue
        # What `Pass.step` does for an ordinary node, inlined: calls would cost a fifth.
        g = pop(node, None)
        if g is None:
            continue
        values = node.saved
        if values or node.params:
            values = read(node)
            if free and node.saved:
                node.saved = FREED
        for edge, (formula, place) in zip(node.edges, op.formulas):  # noqa: B905 (hot)
            if edge is None:
                continue
            if place >= 0:
                c = formula(arrays, g, values[place])
            elif place == ALONE:
                c = formula(arrays, g)
            else:
                c = formula(arrays, g, values)
            if c.dtype is not edge.dtype or c.shape != edge.shape:
                c = fit(c, edge, node, arrays)
            before = get(edge)
            if before is None:
                grads[edge] = c
                if c is g:
                    borrowed.add(edge)
            elif edge in borrowed or before.base is not None or before.__class__ is not ndarray:
                grads[edge] = before + c
                borrowed.discard(edge)
            else:
                add(before, c, before)
    return {}


class Pass:
    """The state of one backward pass, and what it does at a node in every case."""

    __slots__ = (
        "accumulate",
        "borrowed",
        "captured",
        "create_graph",
        "grads",
        "needed",
        "retain_graph",
        "wanted",
    )

    def __init__(
        self,
        grads: dict[Node, Any],
        borrowed: set[Node],
        retain_graph: bool,
        create_graph: bool,
        accumulate: bool,
    ) -> None:
        self.grads, self.borrowed = grads, borrowed
        self.retain_graph, self.create_graph = retain_graph, create_graph
        self.accumulate = accumulate
        self.captured: dict[Node, Any] = {}
        self.wanted: Any = ()
        self.needed: set[Node] | None = None

    def step(self, node: Any) -> None:
        """Take the cotangent of `node`, run its hooks and formulas, add up the contributions."""
        g = self.grads.pop(node, None)
        if self.needed is not None and node not in self.needed:
            return
        op, hooks = node.op, node.hooks
        if g is None and not op.takes_undefined:
            return
        if hooks is not None and g is not None:
            g = hooks.on_cotangent(g, self.create_graph)
            self.borrowed.add(node)
        if op is LEAF:
            if node in self.wanted and not self.accumulate:
                self.captured[node] = g
            else:
                accumulate_leaf(node, g, node in self.borrowed, self.create_graph)
            return
        if node in self.wanted:
            self.captured[node] = g
            if not any(edge in self.needed for edge in node.edges):  # type: ignore[operator]
                return
        if op is OUTPUT:
            source = node.edges[0]
            parts = self.grads.setdefault(source, [None] * source.op.grad_outputs)
            parts[node.params[0]] = g
            return
        if op.grad_outputs != 1:
            g = op.materialize(node, g, self.create_graph)
        if hooks is not None:
            g = hooks.before_node(g, self.create_graph)
        shares = self.shares(node, g)
        if not self.retain_graph and node.saved:
            node.saved = FREED
        if hooks is not None:
            shares = hooks.after_node(shares, g, self.create_graph)
        if modes.special and modes.state.anomaly:
            check_nan(node, shares)
        fresh = bool(op.formulas) and hooks is None
        for edge, c in zip(node.edges, shares, strict=True):
            if c is not None and edge is not None:
                self.contribute(node, edge, c, fresh and c is not g)

    def shares(self, node: Any, g: Any) -> Any:
        """The contributions of `node` to its edges; None where none is needed."""
        op, needed = node.op, self.needed
        if not op.formulas:
            return op.shares(node, g, self.create_graph, needed)
        if self.create_graph:
            xp, values = recorded, saved.tensors(node)
        else:
            xp, values = arrays, read(node)
        if op.variadic:
            return apply(op.formulas[0], xp, g, values)
        return [
            None
            if edge is None or (needed is not None and edge not in needed)
            else apply(formula, xp, g, values)
            for edge, formula in zip(node.edges, op.formulas, strict=True)
        ]

    def contribute(self, node: Node, edge: Node, c: Any, fresh: bool) -> None:
        """Add one contribution to the cotangent of `edge`: NOTE [Ownership of cotangents]."""
        if self.needed is not None and edge not in self.needed:
            return
        c = fit(c, edge, node, recorded if self.create_graph else arrays)
        before = self.grads.get(edge)
        if before is None:
            self.grads[edge] = c
            if not fresh:
                self.borrowed.add(edge)
        elif self.create_graph or edge in self.borrowed or before.base is not None:
            self.grads[edge] = before + c
            self.borrowed.discard(edge)
        else:
            add(before, c, before)


def apply(entry: tuple[Any, int], xp: Any, g: Any, values: Any) -> Any:
    """Call a formula as `Op.entry` laid it out."""
    formula, place = entry
    if place >= 0:
        return formula(xp, g, values[place])
    return formula(xp, g) if place == ALONE else formula(xp, g, values)


def fit(c: Any, edge: Node, node: Node, xp: Any) -> Any:
    """A contribution as the edge wants it: broadcast axes summed, real part taken, dtype cast.

    The only place that undoes broadcasting and real-with-complex arithmetic.
    """
    if not isinstance(c, Tensor):
        c = np.asarray(c)
    shape, dtype = edge.shape, edge.dtype
    if c.shape != shape:
        if not expands(shape, c.shape):
            index = node.edges.index(edge)
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got "
                f"{list(c.shape)} but expected shape compatible with {list(shape)}"
            )
        c = xp.sum_to(c, shape=shape)
    found = c.array.dtype if isinstance(c, Tensor) else c.dtype
    if found != dtype:
        if found.kind == "c" and dtype.kind != "c":
            c = xp.real(c)
        c = xp.cast(c, dtype=dtype)
    return c


def expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Whether an array of shape `small` broadcasts to shape `large`."""
    if len(small) > len(large):
        return False
    return all(m in (1, n) for m, n in zip(reversed(small), reversed(large), strict=False))


def accumulate_leaf(node: Any, g: Any, borrowed: bool, create_graph: bool) -> None:
    """Add a complete cotangent to the leaf's `.grad`, under the leaf's own lock."""
    leaf = node.saved.tensor()
    if leaf is None or leaf.node is not node:
        return
    with node.saved.lock:
        before = leaf._grad
        if create_graph:
            leaf._grad = g if before is None else before + g
        elif before is None:
            leaf._grad = new_tensor(g.copy() if borrowed or g.base is not None else g)
        else:
            try:
                add(before.array, g, before.array)
                if before.cell is not None:
                    before.cell.bump("backward()")
            except ValueError:  # the user's own .grad, read-only (an expanded view)
                leaf._grad = new_tensor(before.array + g)
    if node.hooks is not None:
        node.hooks.after_accumulation(leaf)


def check_nan(node: Node, shares: Sequence[Any]) -> None:
    """In anomaly mode: raise at the first node whose formulas gave NaN."""
    if not modes.state.check_nan:
        return
    for index, c in enumerate(shares):
        if c is None:
            continue
        array = c.array if isinstance(c, Tensor) else np.asarray(c)
        if np.isnan(array).any():
            where = f" Its forward ran at:\n{node.trace}" if node.trace else ""
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output.{where}"
            )
