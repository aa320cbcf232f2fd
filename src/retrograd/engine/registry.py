"""The registry of ops: `declare` enters one, with its callers, into it and the namespaces.

It is the top of the engine, and what declares ops needs to import nothing else of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..quiet import CALM
from . import callers, graph, native, overriding, table, views
from .backward import accumulation
from .backward.anomaly import noted
from .backward.fitting import fit
from .callers import binary_caller, caller, native_caller
from .dispatch import about_to_write, dispatch, known
from .graph import FREED, OUTPUT, Cell, Kind, Leaf, Node, tick
from .namespaces import arrays, reals, recorded
from .naming import otherwise
from .op import Example, Op, example
from .record import STALE, STALE_VIEW
from .saved import saved_properties
from .tensor import Tensor, as_array, method, new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["OPS", "Example", "declare", "example", "operator"]

OPS: dict[str, Op] = {}

native.bind(
    tensor=Tensor,
    node=Node,
    kind=Kind,
    cell=Cell,
    leaf=Leaf,
    view=views.View,
    table=table.Table,
    constants=vars(graph) | vars(views) | vars(table) | vars(modes),
    modes=vars(modes),
    inference_seen=modes.inference_seen,
    state=modes.state,
    refused=STALE,
    stale_view=STALE_VIEW,
    ops=OPS,
    output_kind=OUTPUT,
    numbers=getattr(tick, "__self__", None),
    as_array=as_array,
    scalar_array=dtypes.scalar_array,
    noted=noted,
    calm=CALM,
    fit=fit,
    fit_leaf=accumulation.fit_leaf,
    own=accumulation.own,
    about_to_write=about_to_write,
    new_tensor=new_tensor,
    finish=callers.finished,
    freed=FREED,
    arrays=arrays,
    reals=reals,
    add=np.add,
    intercept=overriding.intercept,
    otherwise=otherwise,
    passed=overriding.PASSED,
    overrides_nothing=overriding.overrides_nothing,
)


def declare(
    signature: str,
    forward: Callable[..., Any],
    *,
    methods: Sequence[str] = (),
    derivative: Callable[..., Any] | None = None,
    linear: str = "",
    tangent: Callable[..., Any] | None = None,
    elementwise: bool = False,
    rows: bool = False,
    exact: bool = False,
    piecewise: bool = False,
    view: bool | str = False,
    nondiff: Sequence[str] = (),
    examples: Sequence[Example] = (),
    domain: tuple[float, float] = (-2.0, 2.0),
    complex: bool = True,
    inplace: bool | None = None,
    node_name: str | None = None,
    on_reals: Callable[..., Any] | None = None,
    promote: Callable[..., Any] = dtypes.promote,
    batch: Any = "auto",
    number_first: bool = False,
    doc: str = "",
    **formulas: Callable[..., Any],
) -> Callable[..., Tensor]:
    """Enter an op into the registry and both namespaces; return its caller.

    `methods` are the names under which tensors get it. `examples` are what the law suites run, with
    real inputs drawn from `domain` and, unless `complex` is False, complex ones too. `nondiff`
    names the outputs without derivative, which come last. `inplace` says whether a `name_` form
    exists (by default for elementwise ops). `view` is True when the output shares the input's
    memory, "maybe" when it may. `node_name` replaces the name of the node type. `on_reals` is a
    simpler forward that formulas may use where all values are real; it may return its input.
    `promote` casts the two arrays of a binary op, where their dtypes differ, to one.
    `batch` is the op's rule for many examples at once, None for one at a time. `number_first` says
    that the first of two inputs may be a number, too. To type checkers a caller gives one tensor;
    that of an op with several outputs is unpacked, or annotated as Any. `rows` says that large
    arrays get a kernel, though the op is not elementwise: it takes sums or maxima along dimensions.
    """
    op = Op(
        signature,
        forward,
        formulas,
        derivative=derivative,
        linear=linear,
        tangent=tangent,
        elementwise=elementwise,
        rows=rows,
        exact=exact,
        piecewise=piecewise,
        view=view,
        nondiff=nondiff,
        examples=examples,
        domain=domain,
        complex=complex,
        inplace=inplace,
        node_name=node_name,
        members=saved_properties,
        promote=promote,
        batch=batch,
        number_first=number_first,
        doc=doc,
    )
    if op.name in OPS:
        raise TypeError(f"an op called {op.name!r} exists already")
    op.call = call = named(op, caller(op))
    OPS[op.name] = op
    setattr(arrays, op.name, op.forward)
    setattr(reals, op.name, on_reals or op.forward)
    setattr(recorded, op.name, call)
    for name in methods:
        method(operator(call, name) if name.startswith("__") and op.is_binary else call, name)
    return call


def named(op: Op, call: Callable[..., Any], otherwise: Any = dispatch) -> Callable[..., Any]:
    """A caller of the op in Python, under its name; where there is C, the one in C."""
    call.__module__, call.__name__, call.__qualname__ = "retrograd.ops", op.name, op.name
    call.__doc__ = op.doc
    call.op = op  # type: ignore[attr-defined]
    return native_caller(op, call, otherwise)


def operator(call: Any, name: str) -> Callable[..., Any]:
    """The caller of a binary op as Python's operator: NotImplemented for unknown operands."""
    made = binary_caller(call.op, known)
    seen = named(call.op, made, known)
    made.__name__ = made.__qualname__ = name  # what overrides are told
    return seen
