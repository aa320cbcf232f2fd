"""What errors of a backward pass say beside their own text; and what anomaly mode adds.

What goes wrong in a formula, a hook or a tangent keeps its type and its text, and gets one note:
which node, op or hook it was, and in anomaly mode where the forward ran.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SecondBackwardError, VersionError
from ...kernels.allocation import has_class
from ..tensor import Tensor, tensor_of
from ..trace import users_level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Node

DETECTED = "Error detected in "
INDUCED = "Previous calculation was induced by "


def note_place(error: Exception, where: str) -> None:
    """Add to an error the place where it happened, unless a place further in has been added."""
    with suppress(Exception):  # of a class of the user's own, perhaps
        if not any(note.startswith(DETECTED) for note in getattr(error, "__notes__", ())):
            error.add_note(f"{DETECTED}{where}")


def note_node(error: Exception, node: Node) -> None:
    """Add to an error the node of the backward pass in which it happened.

    Errors about saved values say that themselves.
    """
    if not isinstance(error, (SecondBackwardError, VersionError)):
        with suppress(Exception):  # of a node in which a program has put something else
            note_place(error, f"{node.name()} (op {node.op.name}). {forward_trace(node)}")


def run_hook(kind: str, hook: Any, *args: Any) -> Any:
    """Call a hook; an error in it says which one it was."""
    try:
        return hook(*args)
    except Exception as error:
        code = getattr(hook, "__code__", None)
        place = "" if code is None else f", {code.co_filename}:{code.co_firstlineno}"
        note_place(error, f"the {kind} {getattr(hook, '__qualname__', repr(hook))}{place}")
        raise


def check_nan(node: Node, contributions: Sequence[Any]) -> None:
    """Raise if the formulas of `node` gave NaN."""
    for index, c in enumerate(contributions):
        if c is None:
            continue
        if holds_nan(c._array if isinstance(c, Tensor) else c):
            warned(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output. "
                f"{forward_trace(node)}"
            )


def holds_nan(array: Any) -> bool:
    """Whether an element is NaN; of a sparse array, an entry."""
    if has_class(array):
        array = tensor_of(array)
        return bool((array != array).any())  # noqa: PLR0124 (true of NaN alone)
    return bool(np.isnan(getattr(array, "values", array)).any())


def warned(node: Node) -> None:
    """Where the forward of a failing node ran: PyTorch's warnings, which error logs may hold.

    One more for each node whose formula recorded the one before. Where warnings are errors they go
    to stderr: the error that is on its way counts.
    """
    text = f"{DETECTED}{node.name()}. {own_trace(node)}"
    for parent in parents(node):
        show(text)
        text = f"{INDUCED}{parent.name()}. {own_trace(parent)}"
    show(text)


def show(text: str) -> None:
    """Warn, or print where warnings are errors."""
    try:
        warnings.warn(text, UserWarning, stacklevel=users_level())
    except UserWarning:
        sys.stderr.write(f"UserWarning: {text}\n")


def forward_trace(node: Node) -> str:
    """Where the forward of `node` ran, as far as anomaly mode knows, and what led to that."""
    traces = [f"{INDUCED}{parent.name()}. {own_trace(parent)}" for parent in parents(node)]
    return "".join([own_trace(node), *traces])


def own_trace(node: Node) -> str:
    """Where the forward of `node` ran, as far as anomaly mode knows."""
    if node.trace is None:
        return (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    return f"Traceback of forward call that caused the error:\n{node.trace}"


def parents(node: Node) -> Iterator[Node]:
    """The node whose formula recorded this one, in a pass that created a graph, and so on."""
    parent = node.metadata.get("parent_")
    while parent is not None:
        yield parent
        parent = parent.metadata.get("parent_")
