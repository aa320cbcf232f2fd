"""The functions that run ops: they compute, and record a node where a gradient is wanted.

NOTE [Callers]
Ops with one input and elementwise ones with two have unrolled callers; every other op has the
general one. All record the same node. Whatever is unusual goes to `dispatch.run`, modes before
anything is computed, or to `record.finish`, once the forward has run: NOTE [Stations] there.

This is the hot path: a change here carries the figures of `benchmarks/overhead.py`.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..kernels.allocation import has_memory
from ..kernels.layout import apply_binary, kept_shape
from ..quiet import CALM, calm
from . import native
from .dispatch import operands, run, write_out
from .graph import Node, tick
from .naming import ABSENT, MEANINGS, by_name
from .overriding import PASSED, UNASKED, intercept
from .record import STALE, finish
from .table import NEVER, SHAPES
from .tensor import Tensor, as_array, new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from .op import Op

ndarray, asarray, _new = np.ndarray, as_array, object.__new__


@functools.cache
def caller_signature(
    inputs: int, by: bool, numbers: bool, written: bool = False
) -> inspect.Signature:
    """The signature of a caller, or of its form in place, that users see.

    `numbers`: whether the first input may be one.
    """
    kinds = ("Number | Tensor" if numbers else "Tensor", "Number | Tensor")
    pairs = zip(("input", "other"), kinds[:inputs], strict=False)
    options = [("by", "str | None")] * by + [("out", "Tensor | None")] * (not written)
    return inspect.Signature(
        [inspect.Parameter(name, PLACED, annotation=kind) for name, kind in pairs]
        + [inspect.Parameter(n, NAMED, default=None, annotation=kind) for n, kind in options],
        return_annotation="Tensor",
    )


PLACED, NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def caller(op: Op) -> Callable[..., Any]:
    """The caller for an op's inputs and outputs."""
    plain = op.outputs == 1 and not op.view and not op.variadic
    if plain and len(op.inputs) == 1:
        return unary_caller(op)
    if plain and op.is_binary:
        return binary_caller(op)
    return general_caller(op)


def unary_caller(op: Op) -> Callable[..., Any]:
    """The caller of an op with one input and one output that is no view."""
    forward, special = op.forward, modes
    saves_input, saves_out = 0 in op.table.saved, ~0 in op.table.saved
    differentiable = bool(op.formulas)
    exact = op.table.fits != NEVER
    facts, only_shape = op.table.facts, op.table.facts == (0,)
    plain = UNASKED

    def call(input: Any = ABSENT, **params: Any) -> Any:
        if input.__class__ not in plain:
            found = intercept(call, (input,), params)
            if found is not PASSED:
                return found
        if params and "out" in params and input is not ABSENT:
            return write_out(call, params.pop("out"), (input,), params)
        if special.special:
            return run(op, (input,), params)
        try:
            x = input._array
            r = CALM.copy().run(forward, x, **params)
        except Exception as error:
            return run(op, (input,), params, error)
        if r.__class__ is not ndarray:
            r = asarray(r)
            if not has_memory(r):
                return finish(op, (input,), r, params)
        edge = input._node
        if edge is not None and (edge.op is STALE or special.inference_seen):
            return finish(op, (input,), r, params)
        t = _new(Tensor)
        t._array = r
        t._cell = None
        if edge is None or not differentiable:
            t._node = None
            return t
        t._node = node = Node()
        node.op = op
        node.hooks = node._cell = None
        node.seq = tick()
        node.edges = (edge,)
        if not saves_input:
            node.saved = (r,) if saves_out else ()
        else:
            node.saved = op.keep((edge,), (input,), (r,)) if saves_out else (input,)
        if not facts:
            node.params = ()
        elif only_shape:
            node.params = (kept_shape(x),)
        else:
            node.params = tuple([kept_shape(x) if key == 0 else params[key] for key in facts])
        node.shape = r.shape
        node.dtype = dtype = r.dtype
        node.fits = exact and edge.dtype is dtype
        return t

    if not op.params:
        call.__signature__ = caller_signature(1, op.name in MEANINGS, False)  # type: ignore[attr-defined]
    return call


def binary_caller(op: Op, run: Any = run) -> Callable[..., Any]:  # noqa: PLR0915 (unrolled)
    """The caller of an elementwise op with two inputs and no parameters.

    `run` sees to what is not plain.
    """
    forward, special = op.forward, modes
    promote, scalar_array, rounded = op.promote, dtypes.operand_array, dtypes.rounded
    differentiable = bool(op.formulas)
    saves_out = ~0 in op.table.saved
    nothing = (None,) * len(op.saves)
    first, second = op.table.needs if differentiable else (0, 0)  # bits: input, other, out
    both, pair = first | second, -1 if saves_out else 0b11
    plain = UNASKED

    def call(  # noqa: PLR0915 (unrolled)
        input: Any = ABSENT, other: Any = ABSENT, *, out: Any = None, **names: Any
    ) -> Any:
        if names:
            names.setdefault("out", out)
            return by_name(op, (input, other), names)
        if input.__class__ not in plain or other.__class__ not in plain:
            found = intercept(call, (input, other), {} if out is None else {"out": out})
            if found is not PASSED:
                return found
        if out is not None:
            return write_out(call, out, (input, other), {})
        if special.special:
            return run(op, (input, other), {})
        try:
            x = input._array
            if isinstance(other, Tensor):
                y = other._array
                right = other._node
            else:
                y = scalar_array(other, x.dtype)
                right = None
            mixed = x.dtype is not y.dtype
            if mixed:
                x, y = calm(promote, x, y)
                r = calm(rounded, calm(apply_binary, forward, x, y), x, y)
            elif x.__class__ is not ndarray or (x.flags.c_contiguous and y.ndim <= x.ndim):
                r = CALM.copy().run(forward, x, y)
            else:
                r = calm(apply_binary, forward, x, y)
        except Exception as error:
            return run(op, (input, other), {}, error)
        if r.__class__ is not ndarray:
            r = asarray(r)
        left = input._node
        if (
            special.inference_seen
            or (left is not None and left.op is STALE)
            or (right is not None and right.op is STALE)
        ):
            return finish(op, (input, other if isinstance(other, Tensor) else new_tensor(y)), r, {})
        t = _new(Tensor)
        t._array = r
        t._cell = None
        if left is None:
            if right is None or not differentiable:
                t._node = None
                return t
            keep = second
        elif not differentiable:
            t._node = None
            return t
        else:
            keep = first if right is None else both
        t._node = node = Node()
        node.op = op
        node.hooks = node._cell = None
        node.seq = tick()
        node.edges = (left, right)
        if not keep:
            node.saved = nothing
        elif keep == pair and right is not None:  # the commonest case
            node.saved = (input, other)
        else:
            if not isinstance(other, Tensor):
                other = new_tensor(y)
            input = input if keep & 1 else None
            other = other if keep & 2 else None
            if saves_out:
                node.saved = (input, other, r if keep & 4 else None)
            else:
                node.saved = (input, other)
        node.params = ()
        node.shape = shape = r.shape
        node.dtype = dtype = r.dtype
        node.fits = (
            not mixed
            and (left is None or (left.dtype is dtype and left.shape == shape))
            and (right is None or (right.dtype is dtype and right.shape == shape))
        )
        return t

    by, numbers = op.name in MEANINGS, op.number_first
    call.__signature__ = caller_signature(2, by, numbers)  # type: ignore[attr-defined]
    return call


def general_caller(op: Op) -> Callable[..., Any]:
    """The caller of every other op: any inputs (None for an absent one), parameters, outputs."""
    forward, special, single = op.forward, modes, op.outputs == 1
    recordable = bool(op.vjps) and not op.view
    places, variadic, fits = op.table.edges, op.variadic, op.table.fits
    saves, facts = bool(op.saves), bool(op.facts)
    plain = UNASKED

    def call(*inputs: Any, **params: Any) -> Any:
        if not plain or not plain.issuperset(map(type, inputs)):
            found = intercept(call, inputs, params)
            if found is not PASSED:
                return found
        if special.special:
            return run(op, inputs, params)
        try:
            arrays = [None if t is None else t._array for t in inputs]
            r = CALM.copy().run(forward, *arrays, **params)
        except Exception as error:
            return run(op, inputs, params, error)
        if not recordable:
            return finish(op, inputs, r, params)
        edges = []
        recorded = False
        for t in inputs if variadic else [inputs[i] for i in places]:
            edge = None if t is None else t._node
            edges.append(edge)
            if edge is not None:
                recorded = True
                if edge.op is STALE:
                    return finish(op, inputs, r, params)
        if not single:
            if recorded:
                return finish(op, inputs, r, params)
            return tuple([new_tensor(asarray(a)) for a in r])
        if r.__class__ is not ndarray:
            r = asarray(r)
        t = _new(Tensor)
        t._array = r
        t._cell = None
        if not recorded:
            t._node = None
            return t
        t._node = node = Node()
        node.op = op
        node.seq = tick()
        node.edges = tuple(edges)
        node.hooks = node._cell = None
        node.saved = op.keep(edges, inputs, (r,)) if saves else ()
        node.params = op.collect(inputs, params) if facts else ()
        node.shape = r.shape
        node.dtype = r.dtype
        node.fits = fits != NEVER and fit_edges(inputs, edges, r, fits == SHAPES)
        return t

    return call


def fit_edges(inputs: tuple[Any, ...], edges: list[Any], r: Any, shapes: bool) -> bool:
    """Whether what a node contributes fits its edges as it is: `Table.fits`.

    That is so if inputs, edges and the result `r` have one dtype, and edges its shape if `shapes`.
    """
    dtype, shape = r.dtype, r.shape
    return all(t is None or t._array.dtype is dtype for t in inputs) and all(
        e is None or (e.dtype is dtype and (not shapes or e.shape == shape)) for e in edges
    )


def finished(op: Op, inputs: tuple[Any, ...], results: Any, params: dict[str, Any]) -> Any:
    """Finish what a caller in C has computed but does not record itself."""
    return finish(op, operands(*inputs) if op.is_binary else inputs, results, params)


def native_caller(op: Op, call: Callable[..., Any], run: Any) -> Callable[..., Any]:
    """An op's caller in C, which hands to `call`, the one in Python, whatever is not plain.

    What the forward raises there goes to `run`, as in Python.
    """
    built = native.native
    if built is None or not op.inputs or 1 < op.grad_outputs < op.outputs:
        return call
    if len(op.inputs) > built.MOST or len(op.saves) > built.MOST:
        return call
    return built.Caller(  # type: ignore[no-any-return]
        python=call,
        op=op,
        forward=op.forward,
        inputs=len(op.inputs),
        table=op.table,
        several=op.outputs != 1,
        joined=op.grad_outputs != 1,
        view=bool(op.view),
        maybe=op.view == "maybe",
        variadic=op.variadic,
        takes_scalar=op.is_binary,
        loops=getattr(op.forward, "loops", op.forward),
        run=run,
    )
