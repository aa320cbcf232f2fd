"""The hot path in C, where it was built: NOTE [Native] in `src/native/module.c`.

The package is whole without it, and computes the same: NumPy is the only hard need. To leave it
out where it was built, set the environment variable `RETROGRAD_NATIVE=0`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..locks import ONE_AT_A_TIME
from .graph import Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from .op import Op

__all__ = ["hasten", "native"]

native: Any = None
if ONE_AT_A_TIME and os.environ.get("RETROGRAD_NATIVE") != "0":
    with suppress(ImportError):  # there was no compiler to build it
        from . import _native as native

NEVER, DTYPES, SHAPES = range(3)  # what must be equal for a node's `fits`


def hasten(op: Op, call: Callable[..., Any]) -> Callable[..., Any]:
    """An op's caller in C, which hands to `call`, the one in Python, whatever is not plain."""
    if native is None or op.outputs != 1 or op.view or op.variadic or not op.inputs:
        return call
    if len(op.inputs) > native.MOST or len(op.saves) > native.MOST:
        return call
    places = tuple([op.inputs.index(name) for name in op.vjps])
    if op.is_binary:
        fits = SHAPES
    else:
        unrolled = len(op.inputs) == 1 or len(op.inputs) == len(op.vjps) == 3
        fits = (SHAPES if op.elementwise else DTYPES) if unrolled and op.exact else NEVER
    edge = Node()
    keeps = []
    for mask in range(1 << len(places)):
        plan = op.plan([edge if mask >> i & 1 else None for i in range(len(places))])
        keeps.append(sum(1 << i for i, place in enumerate(plan) if place is not None))
    made: Callable[..., Any] = native.Caller(
        python=call,
        op=op,
        forward=op.forward,
        inputs=len(op.inputs),
        places=places,
        sources=tuple(op.sources),
        keeps=tuple(keeps),
        facts=tuple(op.fact_sources),
        fits=fits,
        takes_scalar=op.is_binary,
    )
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "op"):
        setattr(made, name, getattr(call, name))
    return made
