"""The registry of ops: `declare` enters one, with its callers, into it and the namespaces.

It is the top of the engine, and what declares ops needs to import nothing else of it.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from .. import dtypes, modes
from ..kernels.layout import apply_binary, kept_shape
from ..kernels.memory import overlaps
from ..quiet import CALM
from . import callers, graph, native, overriding, placement, table, views
from .backward import accumulation
from .backward.anomaly import note_node
from .backward.fitting import fit
from .callers import binary_caller, caller, native_caller
from .dispatch import run, run_operator
from .graph import FREED, OUTPUT, Cell, Kind, Leaf, Node, tick
from .namespaces import arrays, complete, reals, recorded
from .naming import look_at, rearranged
from .op import Example, NodeName, Op, Shows, example
from .record import STALE, STALE_VIEW
from .saved import saved_properties
from .tensor import Tensor, as_array, method, tensor_of
from .writable import about_to_write

__all__ = ["OPS", "Example", "declare", "example", "name_node", "operator", "renamed"]

P = ParamSpec("P")

OPS: dict[str, Op] = {}

complete(OPS)

native.bind(
    tensor=Tensor,
    node=Node,
    kind=Kind,
    cell=Cell,
    leaf=Leaf,
    view=views.View,
    table=table.Table,
    dtype=dtypes.dtype,
    place=placement.default,
    cpu=placement.CPU,
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
    scalar_array=dtypes.operand_array,
    noted=note_node,
    calm=CALM,
    fit=fit,
    fit_leaf=accumulation.fit_leaf,
    own=accumulation.own,
    sum_apart=accumulation.sum_apart,
    overlaps=overlaps,
    check_current=accumulation.check_current,
    check_interior=accumulation.check_interior,
    about_to_write=about_to_write,
    kept_shape=kept_shape,
    meeting=apply_binary,
    new_tensor=tensor_of,
    finish=callers.finished,
    freed=FREED,
    arrays=arrays,
    reals=reals,
    add=np.add,
    intercept=overriding.intercept,
    rearranged=rearranged,
    look_at=look_at,
    passed=overriding.PASSED,
    overrides_nothing=overriding.overrides_nothing,
)


def entered(make: Callable[P, Op]) -> Callable[P, Callable[..., Tensor]]:
    """`declare` of a class of records, which takes what such a record takes."""

    def declare(*args: P.args, **settings: P.kwargs) -> Callable[..., Tensor]:
        """Make a record, `Op`, and enter it into the registry, where the namespaces find it.

        One that the same module declares again, as after an interrupt, takes the place of the first
        one. Returns its caller. To type checkers that gives one tensor; what an op with several
        outputs gives is unpacked, or annotated as Any.
        """
        op = make(*args, **settings)
        op.home = sys._getframe(1).f_globals["__name__"]
        if op.name in OPS and OPS[op.name].home != op.home:
            raise TypeError(
                f"an op called {op.name!r} exists already, of {OPS[op.name].home}. Choose another "
                "name: the first argument of declare begins with it"
            )
        op.members = saved_properties
        op.call = call = named(op, caller(op))
        OPS[op.name] = op
        for namespace in (arrays, reals, recorded):
            vars(namespace).pop(op.name, None)
        for name in op.methods:
            method(operator(call, name) if name.startswith("__") and op.is_binary else call, name)
        return call

    return declare


declare = entered(Op)


def named(op: Op, call: Callable[..., Any], run: Any = run) -> Callable[..., Any]:
    """A caller of the op with its name and text; where C was built, the one in C around it."""
    call.__module__, call.__name__, call.__qualname__ = "retrograd.ops", op.name, op.name
    call.__doc__ = op.doc
    call.op = op  # type: ignore[attr-defined]
    return native_caller(op, call, run)


def renamed(call: Any, node_name: NodeName, shows: Shows = None) -> Any:
    """The caller of an op, whose nodes have another name: that of another function of PyTorch's.

    It is the same record in all else, by the same name, so no table of ops knows the difference.
    """
    op = with_node_name(call.op, node_name, shows)
    op.call = made = named(op, caller(op))
    return made


def name_node(made: Tensor, node_name: str | Callable[[Node], str]) -> Tensor:
    """The result of a function of several ops, whose last node gets the name of that function.

    A node that stands for a leaf, or for one of several outputs, keeps its own.
    """
    if made._node is not None and isinstance(made._node.op, Op):
        made._node.op = with_node_name(made._node.op, node_name, made._node.op.shows)
    return made


@functools.cache
def with_node_name(op: Op, node_name: NodeName, shows: Shows = None) -> Op:
    """A copy of a record whose nodes have another name."""
    made = copy.copy(op)
    made.named(node_name, shows)
    return made


def operator(call: Any, name: str) -> Callable[..., Any]:
    """The caller of a binary op as Python's operator: NotImplemented for unknown operands."""
    made = binary_caller(call.op, run_operator)
    seen = named(call.op, made, run_operator)
    made.__name__ = made.__qualname__ = name  # what overrides are told
    return seen
