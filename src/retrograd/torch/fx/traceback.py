"""The `meta` of nodes that are being made: set by programs, copied by tracers.

A tracer copies within `preserve_node_meta`, as every `Transformer` does. An interpreter then sets
what the node that it runs keeps, so notes go from graph to graph.
"""

from __future__ import annotations

import copy
import functools
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .node import Node

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta",
    "preserve_node_meta", "set_current_meta", "set_stack_trace",
]  # fmt: skip

# What of a node's `meta` holds of a node made from it, too: nothing about its values.
KEPT = ("nn_module_stack", "source_fn_stack", "stack_trace", "recompute", "custom",
        "quantization_tag", "partitioner_tag")  # fmt: skip


class State(threading.local):
    """The `meta` that a thread's tracers copy, and whether they do."""

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserved = False


state = State()


@contextmanager
def changed(name: str, value: Any) -> Iterator[None]:
    """A context in which the thread's state has another value."""
    before = getattr(state, name)
    setattr(state, name, value)
    try:
        yield
    finally:
        setattr(state, name, before)


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A context in which new nodes keep what is current; afterwards that is as before.

    >>> from retrograd.fx import traceback
    >>> with traceback.preserve_node_meta(), traceback.annotate({"part": "head"}):
    ...     graph = rg.fx.symbolic_trace(lambda x: x.exp()).graph
    >>> [node.meta for node in graph.nodes if node.op == "call_method"]
    [{'custom': {'part': 'head'}}]
    """
    with changed("preserved", enable), changed("meta", dict(state.meta)):
        yield


def has_preserved_node_meta() -> bool:
    """Whether new nodes keep what is current."""
    return state.preserved


def get_current_meta() -> dict[str, Any]:
    """The current `meta`, which new nodes may get."""
    return state.meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """A context in which what a node keeps is current, where new nodes are to keep it."""
    if not (state.preserved and node.meta):
        yield
        return
    with changed("meta", dict(node.meta)):
        yield


def current_meta() -> dict[str, Any]:
    """The items for the `meta` of a new node."""
    if not state.preserved:
        return {}
    return {name: copy.copy(state.meta[name]) for name in KEPT if name in state.meta}


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A context in which new nodes have these items, too, in `meta["custom"]`.

    >>> from retrograd.fx import traceback
    >>> with traceback.annotate({"a": 1}), traceback.annotate({"b": 2}):
    ...     traceback.get_current_meta()
    {'custom': {'a': 1, 'b': 2}}
    """
    custom = {**state.meta.get("custom", {}), **annotation_dict}
    with changed("meta", {**state.meta, "custom": custom}):
        yield


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Any], Any]:
    """A decorator: the function runs within `annotate`.

    >>> from retrograd.fx import traceback
    >>> traceback.annotate_fn({"stage": 1})(traceback.get_current_meta)()
    {'custom': {'stage': 1}}
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Let new nodes keep these lines as `stack_trace`; none if there are none."""
    if state.preserved:
        state.meta.pop("stack_trace", None)
        if stack:
            state.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines that new nodes keep; where they keep none, the lines of the calls under way."""
    if state.preserved:
        return [state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
