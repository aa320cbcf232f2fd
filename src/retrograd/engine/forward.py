"""The forward derivative of one op record: tangents of its inputs in, tangents of its outputs out.

NOTE [Four ways] In this order, whichever the record offers:
1. `tangent`: an explicit formula, `tangent(xp, t, ...)`, whose further names are as in `op`; `t` is
   the input's tangent, or a tuple for an op with several differentiable inputs (zeros filled in);
2. `slope`: t times the slope;
3. `linear`: the op itself, with the tangents of one group of inputs in their places;
4. transposition. The vjp u ↦ v of an op is linear (over the reals) in the cotangent u, and its
   transpose is the jvp; so the formulas run on a u that requires grad, and a backward pass through
   what they recorded carries the tangents to u.

All of them run on tensors, so where history is recorded a tangent can itself be differentiated.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from .backward import fit, run
from .graph import LEAF, Node, leaf_node, new_node
from .op import parameters_of, recorded
from .tensor import Tensor, new_tensor, set_requires_grad

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .op import Op

__all__ = ["jvp"]


def jvp(op: Op, inputs: Sequence[Any], tangents: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """The tangent of the output of `op.call(*inputs, **params)`, or a tuple for several outputs.

    inputs: tensors, or None for absent ones; tangents: for each a tensor of its shape, or None for
    zero. Outputs without derivative have none, so the tuple is that of the differentiable ones.
    """
    known = {i for i, t in enumerate(tangents) if t is not None and is_differentiable(op, i)}
    given = [
        _like_input(t, x) if i in known else None
        for i, (x, t) in enumerate(zip(inputs, tangents, strict=True))
    ]
    result = op.call(*inputs, **params)
    outputs = result if isinstance(result, tuple) else (result,)
    values = environment(op, inputs, outputs, params)
    outputs = outputs[: len(outputs) - len(op.nondiff)]
    if known and (op.tangent is not None or op.slope is not None):
        found = [fitted(by_formula(op, inputs, given, values), outputs[0])]
    else:
        groups = linear_groups(op, inputs)
        terms = [by_linearity(op, inputs, given, params, group) for group in groups]
        done = {i for group in groups for i in group}
        rest = [None if i in done else t for i, t in enumerate(given)]
        terms.append(by_transposition(op, inputs, rest, outputs, values))
        found = [_total(parts, out) for parts, out in zip(zip(*terms), outputs)]  # noqa: B905
    return tuple(found) if isinstance(result, tuple) else found[0]


def is_differentiable(op: Op, index: int) -> bool:
    """Whether the op has a formula for the input at `index`."""
    return bool(op.vjps) if op.variadic else op.inputs[index] in op.vjps


def _like_input(t: Any, x: Tensor) -> Any:
    t = t if isinstance(t, Tensor) else new_tensor(np.asarray(t))
    return t if t.array.dtype == x.array.dtype else recorded.cast(t, dtype=x.array.dtype)


def fitted(t: Any, like: Tensor) -> Tensor:
    """`t` with the shape and dtype of `like`, as the backward pass fits its contributions."""
    place = leaf_node(like, like.array.shape, like.array.dtype)
    return fit(t, place, new_node(LEAF, (place,)), recorded)  # type: ignore[no-any-return]


def _total(parts: Iterable[Any], out: Tensor) -> Tensor:
    """The sum of those parts that are not None, or zeros, as a tangent of `out`."""
    present = [fitted(part, out) for part in parts if part is not None]
    if not present:
        return recorded.zeros_like(out)  # type: ignore[no-any-return]
    return functools.reduce(operator.add, present)


def _filled(inputs: Sequence[Any], tangents: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [recorded.zeros_like(inputs[i]) if tangents[i] is None else tangents[i] for i in places]


def environment(
    op: Op, inputs: Sequence[Any], outputs: Sequence[Any], params: Mapping[str, Any]
) -> dict[str, Any]:
    """What a formula may name: inputs, outputs, parameters, shapes of inputs."""
    known: dict[str, Any] = {**params}
    if op.variadic:
        known[f"{op.inputs[0]}_shape"] = tuple(x.array.shape for x in inputs)
    else:
        known |= dict(zip(op.inputs, inputs, strict=True))
        for name, x in zip(op.inputs, inputs, strict=True):
            known[f"{name}_shape"] = None if x is None else x.array.shape
    return known | dict(zip(op.output_names, outputs, strict=False))


def by_formula(
    op: Op, inputs: Sequence[Any], tangents: Sequence[Any], known: Mapping[str, Any]
) -> Any:
    """The tangent from the record's `tangent` or `slope`."""
    places = [i for i in range(len(inputs)) if is_differentiable(op, i)]
    filled = _filled(inputs, tangents, places)
    t: Any = filled[0] if len(filled) == 1 else tuple(filled)
    if op.tangent is not None:
        names = parameters_of(op.tangent)[2:]
        return op.tangent(recorded, t, *[known[name] for name in names])
    assert op.slope is not None
    names = parameters_of(op.slope)[1:]
    return t * op.slope(recorded, *[known[name] for name in names])


def linear_groups(op: Op, inputs: Sequence[Any]) -> list[list[int]]:
    """The places of each group of inputs in which the op is jointly linear."""
    if not op.linear:
        return []
    if op.variadic:
        return [list(range(len(inputs)))]
    groups = [
        [op.inputs.index(name.strip()) for name in group.split(",")]
        for group in op.linear.split("|")
    ]
    return [[i for i in group if inputs[i] is not None] for group in groups]


def by_linearity(
    op: Op,
    inputs: Sequence[Any],
    tangents: Sequence[Any],
    params: Mapping[str, Any],
    group: Sequence[int],
) -> Sequence[Any]:
    """What the tangents of one group contribute: the op with them in their places."""
    if all(tangents[i] is None for i in group):
        return itertools.repeat(None)  # type: ignore[return-value]
    moved = list(inputs)
    for i, t in zip(group, _filled(inputs, tangents, group), strict=True):
        moved[i] = t
    result = op.call(*moved, **params)
    return result if isinstance(result, tuple) else (result,)


def by_transposition(
    op: Op,
    inputs: Sequence[Any],
    tangents: Sequence[Any],
    outputs: Sequence[Any],
    known: Mapping[str, Any],
) -> Sequence[Any]:
    """The jvp as the transpose of the vjp: NOTE [Four ways], 4."""
    if all(t is None for t in tangents):
        return [None] * len(outputs)
    create_graph = modes.state.grad and not modes.state.inference
    before = modes.change(grad=True)
    try:
        cotangents = [new_tensor(np.zeros_like(out.array)) for out in outputs]
        for u in cotangents:
            set_requires_grad(u, True)
        g: Any = cotangents[0] if op.grad_outputs == 1 else tuple(cotangents)
        roots: list[tuple[Node, Any]] = []
        for x, t, share in zip(inputs, tangents, pulled_back(op, g, known, tangents), strict=True):
            if share is not None and t is not None:
                node = fitted(share, x).node
                if node is not None:  # else that derivative is zero
                    roots.append((node, t if create_graph else t.array))
        nodes: list[Any] = [u.node for u in cotangents]
        found = run(roots, True, create_graph, nodes, accumulate=False) if roots else {}
    finally:
        modes.change(**before)
    return [_tensor(found[node]) if node in found else None for node in nodes]


def pulled_back(op: Op, g: Any, known: Mapping[str, Any], tangents: Sequence[Any]) -> Sequence[Any]:
    """What the formulas give for the inputs that have a tangent."""
    if op.variadic:
        ((name, formula),) = op.vjps.items()
        return formula(recorded, g, *[known[need] for need in op.needs[name]])  # type: ignore[no-any-return]
    return [
        None if t is None else op.vjps[name](recorded, g, *[known[need] for need in op.needs[name]])
        for name, t in zip(op.inputs, tangents, strict=True)
    ]


def _tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else new_tensor(np.asarray(g))
