"""Watchers: whoever wants to see, for a while, every op call and every node of the calling thread.

NOTE [Free while nobody watches]
1. A watcher counts as a mode that deviates. So while a thread has one, its calls go through
   `dispatch.run`, which calls the forward through its watchers, and end in `record.finish`, which
   shows them the tensors. Nobody else pays for them.
2. Formulas on arrays call forwards directly: they are not op calls, and are not seen. Formulas on
   tensors (`create_graph`) are.
3. A backward pass goes through `Pass.step` and `Pass.leaf`, which show every node.

This module knows no watcher: profilers and checkpoints are above.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ... import modes
from ...kernels.layout import apply_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Node
    from ..op import Op


class Watcher:
    """A context within which the op calls of the calling thread pass through the methods below.

    Of nested watchers the inner one is asked first, and hands on to the outer ones by `proceed`.
    """

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """The forward's result: `proceed(arrays, params)`, or whatever shall stand for it."""
        return proceed(arrays, params)

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """See the tensors of a call that has been recorded; None stands for an absent input."""

    def differentiate(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        """What a node contributes in a backward pass, given its cotangent: `proceed()`."""
        return proceed()

    def draw(self, proceed: Callable[[], Any]) -> Any:
        """The random numbers that a generator draws: `proceed()`."""
        return proceed()

    def __enter__(self) -> Any:
        modes.change(watchers=(*modes.state.watchers, self))
        return self

    def __exit__(self, *exc: object) -> None:
        watchers = modes.state.watchers
        last = max(i for i, watcher in enumerate(watchers) if watcher is self)
        modes.restore({"watchers": watchers[:last] + watchers[last + 1 :]})


def compute(watchers: tuple[Watcher, ...], op: Op, arrays: Any, params: dict[str, Any]) -> Any:
    """The result of an op's forward, as the last of the watchers gives it."""
    if not watchers:
        return apply_binary(op.forward, *arrays) if op.is_binary else op.forward(*arrays, **params)
    return watchers[-1].compute(op, arrays, params, partial(compute, watchers[:-1], op))


def differentiate(node: Node, g: Any, compute: Callable[[], Any]) -> Any:
    """What a node contributes, computed under the eyes of the thread's watchers."""
    for watcher in modes.state.watchers:
        compute = partial(watcher.differentiate, node, g, compute)
    return compute()
