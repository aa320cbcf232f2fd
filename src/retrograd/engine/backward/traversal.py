"""The backward pass: one traversal, on arrays or, for `create_graph=True`, on tensors.

NOTE [Order of execution] (promised, tested)
1. Nodes run newest first: by `seq`, which grows with each recorded op: NOTE [One clock] in `graph`.
2. Leaves accumulate when every node has run, so a pass that fails changes no `.grad`. A leaf with
   hooks is the exception: it runs right after the last node that contributes to it, so that an
   optimizer step in a post-accumulate hook can free memory early.
3. A cotangent is complete before its node runs; contributions are added in the order of 1.

NOTE [Ownership of cotangents]
A contribution may be an array that somebody else holds: `g` itself passed on, a view, what a user's
Function returned, what a hook returned or was shown. Those are never written. The second
contribution to a node makes a fresh sum, unless the first was fresh; later ones are added in place.
A leaf takes over as its `.grad` what is fresh or nobody else holds any more, and copies the rest.

A node enters the pass with its first contribution, so no search of the graph comes first, except
where `inputs` are named. Nothing recurses; all state is local: passes nest, and run in threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import repeat
from typing import Any

import numpy as np

from ... import modes
from ...kernels.allocation import has_class
from ...kernels.layout import add_in_order
from ...locks import counter
from ...quiet import calm, quietly
from .. import native, saved
from ..graph import FREED, LEAF, OUTPUT, PLAIN, Node
from ..namespaces import arrays, reals, recorded
from ..record import tied
from ..tensor import Tensor, new_tensor
from ..transforms import watch
from . import accumulation
from .accumulation import accumulate
from .anomaly import check_nan, note_node, warned
from .fitting import fit, on_tensors
from .search import last_contributors, needed_for

ndarray, add, read, nothing = np.ndarray, np.add, saved.raw, repeat(None)

RESHAPED = (
    "{node} cannot compute: {error}. An unpack hook has to return a tensor of the shape that "
    "the pack hook was given"
)


def run(
    roots: Sequence[tuple[Node, Any]],
    retain_graph: bool | None,
    create_graph: bool,
    captures: Iterable[Node] | None = None,
    accumulate: bool = True,
    within: Callable[[Node], bool] | None = None,
) -> dict[Node, Any]:
    """Carry the cotangents of `roots` through the graph; return those that reach `captures`.

    Cotangents become arrays, or tensors if `create_graph` or where ops are more than their forwards
    (`modes.transforming`). With `captures`, only nodes on the way to them run, of those that are
    `within`; leaves among them accumulate if `accumulate`, and are captured if not.
    """
    ordinary = not (create_graph or modes.special)
    if ordinary and captures is None and len(roots) == 1 and roots[0][0].seq:
        run_plain(*roots[0], retain_graph)
        return {}
    on_tensors = create_graph or modes.transforming()
    if on_tensors and modes.state.grad is not create_graph:
        before = modes.swap("grad", create_graph)
        try:
            return run(roots, retain_graph, create_graph, captures, accumulate, within)
        finally:
            modes.swap_back("grad", before)
    task = Pass({}, set(), [], [], retain_graph, on_tensors, accumulate, roots)
    for node, root in roots:
        if isinstance(root, Tensor) is not on_tensors:
            root = new_tensor(root) if on_tensors else root._array  # noqa: PLW2901
        task.calm(task.add_contribution, node, root, False)
    if captures is not None:
        task.wanted = set(captures)
        task.needed, task.within = needed_for(task.wanted, task.grads, within), within
    return task.complete(None, not ordinary)


def run_plain(node: Node, g: Any, retain_graph: bool | None) -> None:
    """`run` for one root, no leaf, and an array, with nothing to capture, in default modes."""
    stopped = start(node, g, retain_graph, run_called)
    if stopped is not None:
        task, state, stop = stopped
        task = task or new_pass(state, retain_graph, node, g)
        if stop is not None:
            task.complete(stop, False)
        elif task.callbacks:
            task.call_back()


def new_pass(state: Any, retain_graph: bool | None, root: Node, value: Any) -> Pass:
    """The `Pass` that goes on where `run_plain` has stopped."""
    grads, borrowed, heap, leaves = state
    borrowed.add(root)  # its cotangent is the user's
    return Pass(grads, borrowed, heap, leaves, retain_graph, False, True, ((root, value),))


def run_called(
    task: Any, state: Any, node: Any, g: Any, root: Node, value: Any, retain_graph: bool | None
) -> Any:
    """Run a node of the kind CALLED: the pass, made now if there is none, and its contributions.

    There is a `Pass` once the first such node runs: code of the user's may ask for it.
    """
    task = task or new_pass(state, retain_graph, root, value)
    task.node = node
    return task, task.vjp(node, g if node.op.grad_outputs == 1 else tuple(g))


@native.in_c
def start(node: Node, g: Any, retain_graph: bool | None, call: Any) -> Any:
    """Run a backward pass from one node: see below what it returns where it has to stop.

    Gives None, or the `Pass` if there is one, its state, and where it stopped, None if it is done.
    Nodes of the kind CALLED are run by `call` in C, which need not stop there.
    """
    grads, heap = {node: g}, [(-node.seq, node)]
    borrowed: set[Node] = set()
    leaves: list[Node] = []
    stop = advance(grads, borrowed, heap, leaves, not retain_graph, None, ())
    if stop is not None:
        return None, (grads, borrowed, heap, leaves), stop
    accumulation.check_leaves(leaves)
    for leaf in leaves:
        try:
            g = grads.pop(leaf)
            taken = leaf in borrowed and accumulation.holders(g) > accumulation.ALONE
            accumulation.add_to_leaf(leaf, g, taken)
        except Exception as error:
            note_node(error, leaf)
            raise
    return None


@native.in_c
@quietly
def advance(
    grads: Any, borrowed: Any, heap: Any, leaves: Any, free: bool, needed: Any, wanted: Any
) -> Node | None:
    """Run ordinary nodes, newest first, as long as nothing else has to be done.

    In Python those with one output and a formula for each edge; in C all that have formulas. Where
    `needed` is given, edges to other nodes are left out, and no node that is `wanted` runs here.
    Returns None when no node waits any more; or the node that `Pass.step` is to run, which is still
    in `grads`; or one that has run and led to a leaf with hooks. No code of the user's runs here:
    NOTE [Quiet] in `quiet`.
    """
    get, pop, led = grads.get, grads.pop, False
    node: Any = None
    try:
        while heap:
            node = heappop(heap)[1]
            op, values = node.op, node.saved
            plain = node.hooks is None and op.ordinary == PLAIN and values.__class__ is tuple
            if not plain or (needed is not None and (node in wanted or node not in needed)):
                return node  # type: ignore[no-any-return]
            edges: Any = node.edges
            edges = edges if needed is None else [e if e in needed else None for e in edges]
            g = pop(node)
            values = read(node) if values else node.params
            # formulas may widen half floats and complex numbers
            fits = node.fits and node.dtype.kind == "f" and node.dtype.itemsize > 2
            xp = reals if fits else arrays
            made: Any = nothing
            if op.joint is not None and op.is_joint(g, values):
                made = op.derive(xp, g, values, [edge is not None for edge in edges])
            for edge, formula, reads, found in zip(edges, op.formulas, op.table.reads, made):  # noqa: B905
                if edge is None:
                    continue
                c = (found if found is not None
                     else formula(xp, g, values[reads[0]]) if len(reads) == 1  # the commonest case
                     else formula(xp, g, *map(values.__getitem__, reads)))  # fmt: skip
                if not fits and (c.__class__ is not ndarray or c.dtype is not edge.dtype
                                 or c.shape != edge.shape):  # fmt: skip
                    c = fit(c, edge, node, arrays)
                before = get(edge)
                if before is None:
                    grads[edge] = c
                    if c is g:
                        borrowed.add(edge)
                    if edge.seq:
                        heappush(heap, (-edge.seq, edge))
                    else:
                        leaves.append(edge)
                        led = led or edge.hooks is not None
                    continue
                if (
                    before.__class__ is not ndarray
                    or before.base is not None
                    or (borrowed and edge in borrowed)
                ):
                    grads[edge] = add_in_order(before, c)
                    borrowed.discard(edge)
                else:
                    add(before, c, before)
                if edge.hooks is not None and not edge.seq:
                    led = True
            if free and node.saved:
                node.saved = FREED
            if led:
                return node  # type: ignore[no-any-return]
        return None
    except Exception as error:
        note_node(error, node)
        raise


pass_number = counter()


class Pass:
    """The state of one backward pass, and what it does at a node in every case.

    `grads` holds what has arrived so far; `heap` the nodes that something has arrived at, newest
    first. When the newest is taken its cotangent is complete, for whatever leads to it is newer
    and has run. Leaves wait in `leaves`; `last` says after which node a leaf with hooks must run.
    """

    wanted: Any = ()
    needed: set[Node] | None = None
    within: Callable[[Node], bool] | None = None  # which nodes run, also of those captured
    undefined = False  # whether a node gave None for an edge: the nodes behind run all the same
    last: dict[Node, list[Node]] | None = None
    node: Any = None  # the one that runs now
    _number: int | None = None

    def __init__(
        self,
        grads: dict[Node, Any],
        borrowed: set[Node],
        heap: list[tuple[int, Node]],
        leaves: list[Node],
        retain_graph: bool | None,
        create_graph: bool,
        accumulate: bool,
        roots: Sequence[tuple[Node, Any]] = (),
    ) -> None:
        self.roots = roots
        self.grads, self.borrowed, self.heap, self.leaves = grads, borrowed, heap, leaves
        self.retain_graph, self.create_graph = retain_graph, create_graph
        self.accumulate = accumulate
        self.captured: dict[Node, Any] = {}
        self.callbacks: list[Any] = []  # to be called at the end
        # By it the pass computes on arrays; ops on tensors see to themselves: NOTE [Quiet].
        self.calm: Any = operator.call if create_graph else calm

    @property
    def number(self) -> int:
        """What tells this pass from all others, for users."""
        if self._number is None:
            self._number = pass_number()
        return self._number

    def complete(self, node: Any, careful: Any) -> dict[Node, Any]:
        """Run all that waits, beginning with `node` where `advance` stopped at one."""
        heap, leaves, grads, borrowed = self.heap, self.leaves, self.grads, self.borrowed
        free = not self.retain_graph
        while True:
            if node is None:
                if careful or self.undefined:
                    node = heappop(heap)[1] if heap else None
                else:
                    node = advance(grads, borrowed, heap, leaves, free, self.needed, self.wanted)
                if node is None:
                    break
            try:
                if node in grads:
                    self.step(node)
                else:  # it ran, and led to a leaf with hooks
                    self.watch_leaves(node)
                    self.early_leaves(node)
            except Exception as error:
                note_node(error, node)
                raise
            node = None
        accumulation.check_leaves(leaves)
        for leaf in leaves:
            g = grads.get(leaf)
            if g is None and (leaf.hooks is None or leaf not in grads):  # undefined, or ran early
                continue
            try:
                if careful or self.needed is not None or leaf.hooks is not None:
                    self.leaf(leaf)
                else:
                    grads.pop(leaf)
                    taken = leaf in borrowed and accumulation.holders(g) > accumulation.ALONE
                    accumulation.add_to_leaf(leaf, g, taken)
            except Exception as error:
                note_node(error, leaf)
                raise
        if self.callbacks:
            self.call_back()
        return self.captured

    def call_back(self) -> None:
        """Call what was queued for the end of the pass, also what is queued meanwhile."""
        state = modes.state
        outer, state.current_pass, self.node = state.current_pass, self, None
        try:
            for callback in self.callbacks:
                callback()
        finally:
            state.current_pass = outer

    def add_contribution(self, node: Node, g: Any, fresh: bool) -> None:
        """Add a contribution to the cotangent of `node`: NOTE [Ownership of cotangents]."""
        grads = self.grads
        if node not in grads:
            grads[node] = g
            if not fresh:
                self.borrowed.add(node)
            if node.seq:
                heappush(self.heap, (-node.seq, node))
            else:
                self.leaves.append(node)
        elif g is not None:
            before = grads[node]
            if before is None or has_class(g):
                grads[node] = g if before is None else g + before
            elif (
                self.create_graph
                or node in self.borrowed
                or before.__class__ is not ndarray  # a formula may give a NumPy scalar
                or before.base is not None
            ):
                grads[node] = add_in_order(before, g)
                self.borrowed.discard(node)
            else:
                add(before, g, before)

    def step(self, node: Any) -> None:
        """Take the cotangent of `node`, run its hooks and formulas, pass on the contributions."""
        g = self.grads.pop(node)
        if self.needed is not None and node not in self.needed:
            return
        self.node = node
        op, hooks = node.op, node.hooks
        if hooks is not None:
            g = hooks.on_cotangent(g, self)
        if node in self.wanted:
            self.capture(node, g)
            if self.within is not None and not self.within(node):
                return
            if self.needed.isdisjoint(node.edges):  # type: ignore[union-attr]
                if self.accumulate and hooks is not None:  # PyTorch runs it, with nothing to do
                    g = hooks.before_node(g, self)
                    hooks.after_node((None,) * len(node.edges), g, self)
                return
        if op is OUTPUT:
            self.output(node, g)
            return
        if op.grad_outputs != 1:
            g = (None,) * len(node.layout) if g is None else tuple(g)
        if hooks is not None:
            g = hooks.before_node(g, self)
        careful = modes.special and modes.state.anomaly
        derive = self.vjp_with_trace if careful else self.vjp
        if modes.special and modes.state.watchers:
            contributions = watch.differentiate(node, g, partial(derive, node, g))
        else:
            contributions = derive(node, g)
        if not self.retain_graph and node.saved:
            node.saved = FREED
        if hooks is not None:
            contributions = hooks.after_node(contributions, g, self)
        if careful and modes.state.check_nan:
            check_nan(node, contributions)
        fresh = bool(op.formulas) and hooks is None
        self.calm(self.contribute, node, g, contributions, fresh)
        if self.last is None:
            for edge in node.edges:
                if edge is not None and edge.op is LEAF and edge.hooks is not None:
                    self.watch_leaves(node)
                    break
        if self.last:
            self.early_leaves(node)

    def capture(self, node: Any, g: Any) -> None:
        """Keep a complete cotangent for the caller, who will own it."""
        shared = node in self.borrowed or node.hooks is not None
        if g.__class__ is ndarray and g.dtype is not node.dtype:
            g = fit(g, node, node, arrays)  # formulas may compute with wider numbers
        if shared and not (self.create_graph or g is None):
            g = accumulation.own_array(g, True)
        self.captured[node] = g

    def output(self, node: Any, g: Any) -> None:
        """Put the cotangent of one output in its place among those of the node behind it."""
        source = node.edges[0]
        parts = self.grads.get(source)
        if parts is None:
            parts = [None] * len(source.layout)
            self.add_contribution(source, parts, False)
        if g is not None:
            parts[node.params[0]] = g

    def contribute(self, node: Node, g: Any, contributions: Any, fresh: bool) -> None:
        """Fit the contributions of `node` and add them to its edges."""
        needed, xp = self.needed, recorded if self.create_graph else arrays
        for edge, c in zip(node.edges, contributions, strict=True):
            if edge is None or (needed is not None and edge not in needed):
                continue
            if c is not None:
                self.add_contribution(edge, fit(c, edge, node, xp), fresh and c is not g)
            else:
                self.undefined = True
                self.add_contribution(edge, None, False)

    def leaf(self, node: Any) -> None:
        """Run the hooks of a leaf, and accumulate or capture its cotangent."""
        g = self.grads.pop(node)
        self.node, hooks = node, node.hooks
        if self.needed is not None and node not in self.needed:
            return
        if hooks is not None:
            g = hooks.on_cotangent(g, self)
            if hooks.cotangent or hooks.before or hooks.post:  # which may keep it
                self.borrowed.add(node)
        if self.needed is not None and not self.accumulate:
            self.capture(node, g)
            return
        if hooks is not None:
            g = hooks.before_node(g, self)
        if g is not None and modes.special and modes.state.watchers:
            store = partial(accumulate, node, g, node in self.borrowed, self.create_graph)
            watch.differentiate(node, g, store)
        elif g is not None:
            accumulate(node, g, node in self.borrowed, self.create_graph)
        if hooks is not None:
            leaf = node.saved.tensor()
            if leaf is not None:
                hooks.after_accumulation(leaf, self)
            hooks.after_node((), g, self)

    def watch_leaves(self, node: Node) -> None:
        """A leaf with hooks got a contribution from `node`: find out when each such is complete."""
        if self.last is None:
            self.last = last_contributors([node, *(waiting for _, waiting in self.heap)])

    def early_leaves(self, node: Node) -> None:
        """Run the leaves with hooks that are complete now that `node` has run."""
        for leaf in self.last.pop(node, ()):  # type: ignore[union-attr]
            if leaf in self.grads:
                self.leaf(leaf)

    def vjp_with_trace(self, node: Any, g: Any) -> Any:
        """`vjp` in anomaly mode: errors say where the forward of `node` ran."""
        before = modes.change(current_node=node)
        try:
            return self.vjp(node, g)
        except Exception:
            warned(node)
            raise
        finally:
            modes.restore(before)

    def vjp(self, node: Any, g: Any) -> Any:
        """The contributions of `node` to its edges; None where none is needed."""
        op, needed = node.op, self.needed
        if not op.takes_undefined:
            if g is None or (op.grad_outputs != 1 and all(part is None for part in g)):
                return (None,) * len(node.edges)
            if op.grad_outputs != 1:
                g = op.materialize(node, g, self.create_graph)
        if not op.formulas:  # the user's code may ask for the pass that runs it
            state = modes.state
            outer, state.current_pass = state.current_pass, self
            try:
                return op.vjp(node, g, self.create_graph, needed)
            finally:
                state.current_pass = outer
        live = [e is not None and (needed is None or e in needed) for e in node.edges]
        if self.create_graph:
            xp, values = recorded, saved.tensors(node)
        elif isinstance(node.saved, saved.OnTensors):
            return on_tensors(node, g, live)
        else:
            xp, values = arrays, read(node)
        return self.calm(self.derived, node, xp, g, values, live)

    def derived(self, node: Any, xp: Any, g: Any, values: Any, live: Sequence[bool]) -> Any:
        """What the formulas of `node` give for its values."""
        op = node.op
        try:
            found = op.derive(xp, g, values, live)
        except ValueError as error:
            if not isinstance(node.saved, saved.PackedValues):
                raise
            raise RuntimeError(RESHAPED.format(node=node.name(), error=error)) from error
        if op.variadic:
            return found
        if modes.state.absorb and op.elementwise:
            found = [None if c is None else xp.where(g != 0, c, xp.zeros_like(c)) for c in found]
        if op.piecewise and self.create_graph:
            found = [None if c is None else tied(c, node.edges, node.level) for c in found]
        return found
