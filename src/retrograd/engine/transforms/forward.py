"""Forward mode: levels of dual numbers, and the tangents of one op record.

NOTE [Levels] A dual number x + t·e_k keeps its tangent t beside its value, under the level k.
1. While a thread is in a level, every op ends in `record.finish`, which hands it to each level,
   oldest first: `Level.carry` gives the outputs their tangents.
2. A level computes its tangents with itself and all newer levels hidden. So they are duals of the
   older levels only, and nested derivatives cannot be confused: e_1 e_2 is there, e_2 e_2 is not.
3. Within a level a backward pass runs on tensors, so that gradients are duals too. A node that
   saves an output keeps that output's tangents; leaving the level drops them (they may hold the
   node in turn, and nothing here may cycle for longer).

NOTE [Roots] A view shares the tangent of its base, as it shares its memory. But what `make_dual`
returns is a view whose base has no part in the derivative, and the value that `unpack_dual` returns
is a view that has no part in its base's. At its level, either is the root of the views of it.

NOTE [Four ways] In this order, whichever the record offers:
1. `tangent`: an explicit formula, `tangent(xp, t, ...)`, whose further names are as in `op`; `t` is
   the input's tangent, or a tuple for an op with several differentiable inputs (zeros filled in);
2. `derivative`: t times the derivative;
3. `linear`: the op itself, with the tangents of one group of inputs in their places;
4. transposition. The vjp u ↦ v of an op is linear (over the reals) in the cotangent u, and its
   transpose is the jvp; so the formulas run on a u that requires grad, and a backward pass through
   what they recorded carries the tangents to u.

All of them run on tensors, so where history is recorded a tangent can itself be differentiated.
"""

from __future__ import annotations

import functools
import operator
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes, modes
from ...kernels.allocation import inward, is_batched
from ...kernels.memory import memory_order
from ..backward.accumulation import steps
from ..backward.anomaly import note_place
from ..backward.fitting import fit
from ..backward.traversal import run
from ..dispatch import as_non_view
from ..graph import LEAF, Node, leaf_node, new_node
from ..namespaces import recorded
from ..record import tied, walk
from ..tensor import Tensor, node_of, set_requires_grad, twin, wrap
from ..views import live_views

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..op import Op


ndarray = np.ndarray

NO_FORWARD = "Trying to use forward AD with {} that does not support it: {}"


class Level:
    """One forward derivative in progress, entered as a context: NOTE [Levels]."""

    writes_tangents = False  # whether in-place ops write to the tangents that were given
    left = False  # whether it is over, so that its tangents mean nothing any more

    def __init__(self) -> None:
        self.nodes: list[weakref.ref[Node]] = []

    def __enter__(self) -> Level:
        self.older = modes.state.levels
        modes.change(levels=(*self.older, self))
        return self

    def __exit__(self, *exc: object) -> None:
        modes.restore({"levels": self.older})
        self.left = True
        for ref in self.nodes:
            node = ref()
            if node is not None and node._tangents:
                others = {
                    place: without(tangents, self) for place, tangents in node._tangents.items()
                }
                node._tangents = others if any(others.values()) else None

    def hidden(self) -> Any:
        """A context in which only the older levels are seen."""
        return modes.Changed(levels=self.older)

    def carry(
        self, op: Op, inputs: Sequence[Any], outputs: Sequence[Tensor], params: Mapping[str, Any]
    ) -> None:
        """Give the outputs of an op that has just run their tangents, if any input has one."""
        tangents = [None if x is None else tangent_of(x, self) for x in inputs]
        known = [t for i, t in enumerate(tangents) if t is not None and is_differentiable(op, i)]
        if not known:
            return
        newer = modes.swap("levels", self.older)
        try:
            found = jvp(op, inputs, tangents, params, outputs)
        except NotImplementedError as error:
            raise NotImplementedError(NO_FORWARD.format(op.name, error)) from error
        except Exception as error:
            note_place(error, f"the forward derivative of op {op.name}")
            raise
        finally:
            modes.swap_back("levels", newer)
        for out, t in zip(outputs, found if isinstance(found, tuple) else (found,), strict=False):
            set_tangent(out, self, t)
        self.remember(op, outputs)

    def remember(self, op: Op, outputs: Sequence[Tensor]) -> None:
        """Let the node of an op keep the tangents of the outputs that it saved."""
        node: Any = outputs[0]._node
        if node is None:
            return
        saved = {
            k: outputs[~i]._tangents
            for k, i in enumerate(op.table.saved)
            if i < 0 and outputs[~i]._node is not None
        }
        if saved:
            self.keep(node if op.grad_outputs == 1 else node.edges[0], saved)

    def keep(self, node: Node, saved: dict[int, Any]) -> None:
        """Let a node have these tangents of saved outputs, by place, until the level is left."""
        node._tangents = saved
        self.nodes.append(weakref.ref(node))

    def preserve(self, reader: Tensor) -> None:
        """Let a tensor that a node saved keep its tangent, before a write to that it came from."""
        t = tangent_of(reader, self)
        if self.writes_tangents and t is not None:
            with self.hidden():
                set_tangent(reader, self, recorded.clone(t))

    def was_given(self, root: Tensor) -> bool:
        """Whether a tensor's tangent is one that a user gave, and wants to see written."""
        view = root._view_of
        own = view is not None and (self, None) in view.roots
        return self.writes_tangents and own

    def rewrite(self, target: Tensor, result: Tensor) -> None:
        """Let a tensor that was written in place have the tangent of what was written.

        A view shares the tangent of its root as it shares its memory: NOTE [Roots].
        """
        if not dtypes.is_differentiable(target._array.dtype):
            return
        t = tangent_of(result, self)
        root, path = root_of(target, self)
        old = tangent_of(root, self)
        if t is None and old is None and tangent_of(target, self) is None:
            return
        with self.hidden():
            if not is_all(target, root, path):
                region = recorded.zeros_like(target) if t is None else t
                root_tangent = recorded.zeros_like(root) if old is None else old
                plain = isinstance(root._array, np.ndarray)  # whose order the tangent's will be
                order = memory_order(root._array) if plain else None
                t = recorded.splice(root_tangent, region, path=path, layout=order)
            if self.was_given(root) and may_take(old, t):
                t = old.copy_(t)
            set_tangent(root, self, t)
            base = root if root._view_of is None else root._view_of.base
            for each in live_views(base):
                if each is not root:
                    other, path = root_of(each, self)
                    if other is root:
                        own = t is None or is_all(each, root, path)
                        set_tangent(each, self, t if own else walk(t, path))


def make_root(tensor: Tensor, level: Level) -> None:
    """Let `tensor`, a view perhaps, have a tangent of its own at a level: NOTE [Roots]."""
    view = tensor._view_of
    if view is not None:
        view.roots = (*view.roots, (level, None))


def root_of(tensor: Tensor, level: Level) -> tuple[Tensor, tuple[Any, ...]]:
    """The tensor whose tangent this one shares at a level, and the path from there."""
    view = tensor._view_of
    if view is None:
        return tensor, ()
    for where, link in reversed(view.roots):
        if where is level:
            return (tensor, ()) if link is None else (link.base, link.steps(tensor))
    return view.base, view.path


def is_all(view: Tensor, root: Tensor, path: Sequence[Any]) -> bool:
    """Whether a view shows its root as that is: all of it, in its shape, whatever the steps."""
    same = view._array.shape == root._array.shape
    return same and all(op.name == "reshape" for op, _, _ in path)


def may_take(old: Tensor | None, new: Tensor | None) -> bool:
    """Whether the values of a new tangent may be written into the old one: neither has history."""
    if old is None or new is None or old is new or old._node is not None or new._node is not None:
        return False
    arrays = isinstance(old._array, np.ndarray) and isinstance(new._array, np.ndarray)
    return arrays and old._array.flags.writeable


def tangent_of(tensor: Any, level: Level) -> Any:
    """The tangent of `tensor` at a level, or None for zero."""
    tangents = getattr(tensor, "_tangents", None)
    return tangents.get(level) if tangents else None


def set_tangent(tensor: Tensor, level: Level, tangent: Tensor | None) -> None:
    """Set or drop (None) the tangent of `tensor` at a level."""
    others = without(tensor._tangents, level) if tensor._tangents else {}
    tensor._tangents = {**others, level: tangent} if tangent is not None else others or None


def without(tangents: Mapping[Any, Tensor] | None, level: Level) -> dict[Any, Tensor]:
    """The tangents of a tensor at all levels but one, and but those that have been left."""
    return {k: t for k, t in (tangents or {}).items() if k is not level and not k.left}


def jvp(
    op: Op,
    inputs: Sequence[Any],
    tangents: Sequence[Any],
    params: Mapping[str, Any],
    outputs: Sequence[Any] | None = None,
) -> Any:
    """The tangent of the output of `op.call(*inputs, **params)`, or a tuple for several outputs.

    inputs: tensors, or None for absent ones; tangents: for each a tensor of its shape, or None for
    zero; outputs: those of the call, where it has run already. Outputs without derivative have no
    tangent, so the tuple is that of the differentiable ones.
    """
    left = {
        i: _like_input(t, inputs[i])
        for i, t in enumerate(tangents)
        if t is not None and is_differentiable(op, i)
    }
    if outputs is None:
        result = op.call(*inputs, **params)
        outputs = result if isinstance(result, tuple) else (result,)
    several, results = op.outputs != 1, outputs
    outputs = outputs[: len(outputs) - len(op.nondiff)]
    if left and (op.tangent is not None or op.derivative is not None):
        values = environment(op, inputs, results, params)
        found = [fitted(by_formula(op, inputs, left, values), outputs[0])]
    else:
        terms = []
        for group in [range(len(inputs))] if op.variadic and op.linear else op.groups:
            own = {i: left.pop(i) for i in group if i in left}
            if own:
                terms.append(by_linearity(op, inputs, own, params, group))
        if left:
            values = environment(op, inputs, results, params)
            terms.append(by_transposition(op, inputs, left, outputs, values))
        found = [_total([term[k] for term in terms], out) for k, out in enumerate(outputs)]
        if op.piecewise and not op.linear:
            found = [tied(t, [None if x is None else node_of(x) for x in inputs]) for t in found]
    if not op.view:  # whose tangent is the view of one
        found = [lying_as(t, out) for t, out in zip(found, outputs, strict=True)]
    return tuple(found) if several else found[0]


def lying_as(t: Tensor, out: Tensor) -> Tensor:
    """A tangent in the order that its value has in memory, as in PyTorch: itself, or a copy.

    Of many tangents, those of a batch, each lies so, one behind the other.
    """
    arrays = t._array, out._array
    found, wanted = [a.example if is_batched(a) else a for a in arrays]
    if not found.__class__ is wanted.__class__ is ndarray or found.strides == wanted.strides:
        return t
    if steps(found) == steps(wanted) or 0 in wanted.strides:
        return t
    outward = inward(wanted.shape, wanted.strides)[::-1]
    copy = recorded.contiguous(recorded.permute(t, dims=tuple(outward)))
    return as_non_view(recorded.permute(copy, dims=tuple(np.argsort(outward).tolist())))


def is_differentiable(op: Op, index: int) -> bool:
    """Whether the op has a formula for the input at `index`."""
    return bool(op.vjps) if op.variadic else op.inputs[index] in op.vjps


def _like_input(t: Any, x: Tensor) -> Any:
    t = _tensor(t)
    return t if t._array.dtype == x._array.dtype else recorded.cast(t, dtype=x._array.dtype)


def fitted(t: Any, like: Tensor) -> Tensor:
    """`t` with the shape and dtype of `like`, as the backward pass fits its contributions."""
    array = like._array
    if isinstance(t, Tensor) and t._array.shape == array.shape and t._array.dtype == array.dtype:
        return t
    place = leaf_node(like, array.shape, array.dtype)
    return fit(t, place, new_node(LEAF, (place,)), recorded)  # type: ignore[no-any-return]


def _total(parts: Iterable[Any], out: Tensor) -> Tensor:
    """The sum of those parts that are not None, or zeros, as a tangent of `out`."""
    present = [fitted(part, out) for part in parts if part is not None]
    if not present:
        return recorded.zeros_like(out)
    return functools.reduce(operator.add, present)


def _filled(inputs: Sequence[Any], known: Mapping[int, Any], places: Sequence[int]) -> list[Any]:
    return [known[i] if i in known else recorded.zeros_like(inputs[i]) for i in places]


def environment(
    op: Op, inputs: Sequence[Any], outputs: Sequence[Any], params: Mapping[str, Any]
) -> dict[str, Any]:
    """What a formula may name: inputs, outputs, parameters, shapes of inputs.

    It may save an output: so it is given another object, and no cycle closes.
    """
    known: dict[str, Any] = {**params}
    if op.variadic:
        known[f"{op.inputs[0]}_shape"] = tuple(x._array.shape for x in inputs)
    else:
        known |= dict(zip(op.inputs, inputs, strict=True))
        for name, x in zip(op.inputs, inputs, strict=True):
            known[f"{name}_shape"] = None if x is None else x._array.shape
    seen = [twin(out, node_of(out)) for out in outputs]
    return known | dict(zip(op.output_names, seen, strict=False))


def by_formula(
    op: Op, inputs: Sequence[Any], tangents: Mapping[int, Any], known: Mapping[str, Any]
) -> Any:
    """The tangent from the record's `tangent` or `derivative`."""
    places = [i for i in range(len(inputs)) if is_differentiable(op, i)]
    filled = _filled(inputs, tangents, places)
    t: Any = filled[0] if len(filled) == 1 else tuple(filled)
    if op.tangent is not None:
        return op.tangent(recorded, t, *[known[name] for name in op.asks])
    assert op.derivative is not None
    return t * op.derivative(recorded, *[known[name] for name in op.asks])


def by_linearity(
    op: Op,
    inputs: Sequence[Any],
    tangents: Mapping[int, Any],
    params: Mapping[str, Any],
    group: Sequence[int],
) -> Sequence[Any]:
    """What the tangents of one group contribute: the op with them in their places."""
    moved, group = list(inputs), [i for i in group if inputs[i] is not None]
    for i, t in zip(group, _filled(inputs, tangents, group), strict=True):
        moved[i] = t
    result = op.call(*moved, **params)
    return result if isinstance(result, tuple) else (result,)


def by_transposition(
    op: Op,
    inputs: Sequence[Any],
    tangents: Mapping[int, Any],
    outputs: Sequence[Any],
    known: Mapping[str, Any],
) -> Sequence[Any]:
    """The jvp as the transpose of the vjp: NOTE [Four ways], 4."""
    create_graph = modes.state.records
    hooks = modes.state.saved_hooks  # what is recorded here is read here, and they never see it
    before = modes.change(grad=True, inference=False, below=False, saved_hooks=())
    try:
        if not create_graph:
            known = {name: readable(value) for name, value in known.items()}
        cotangents = [recorded.zeros_like(out) for out in outputs]
        for u in cotangents:
            set_requires_grad(u, True)
        g: Any = cotangents[0] if op.grad_outputs == 1 else tuple(cotangents)
        roots: list[tuple[Node, Any]] = []
        shares = pulled_back(op, g, known, tangents)
        for i, t in tangents.items():
            node = None if shares[i] is None else fitted(shares[i], inputs[i])._node
            if node is not None:  # else that derivative is zero
                roots.append((node, t))
        nodes: list[Any] = [u._node for u in cotangents]
        modes.change(saved_hooks=hooks)
        found = run(roots, True, create_graph, nodes, accumulate=False) if roots else {}
    finally:
        modes.restore(before)
    return [_tensor(found[node]) if node in found else None for node in nodes]


def readable(value: Any) -> Any:
    """An inference tensor as one that nodes which nobody keeps may save; any other value itself."""
    if not isinstance(value, Tensor) or not value._inference:
        return value
    made = twin(value, node_of(value))
    made._inference = False
    return made


def pulled_back(
    op: Op, g: Any, known: Mapping[str, Any], tangents: Mapping[int, Any]
) -> Sequence[Any]:
    """What the formulas give for the inputs that have a tangent."""
    if op.variadic or op.together is not None:
        name, formula = next(iter(op.vjps.items()))
        formula = op.together or formula
        return formula(recorded, g, *[known[need] for need in op.needs[name]])  # type: ignore[no-any-return]
    return [
        op.vjps[name](recorded, g, *[known[need] for need in op.needs[name]])
        if i in tangents
        else None
        for i, name in enumerate(op.inputs)
    ]


def _tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(g)
