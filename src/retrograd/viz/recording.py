"""What a graph does not know of itself: lines, modules, times, norms of gradients.

NOTE [Recordings]
1. A recording is a watcher of its thread (`engine.transforms.watch`) with hooks on all modules. So
   a program runs slower within one, and computes the same.
2. What it sees of a node, it leaves in the node's own dictionary, as `FACTS`. So `graph` finds it
   there, a node that goes takes it along, and nothing is kept alive; but for the last root of a
   backward pass. A leaf is in many graphs: what is seen of it, the nodes that lead to it have among
   their facts. So a graph from after the recording shows nothing of it.
3. A line is that of the innermost frame outside this package.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.graph import LEAF, Node, target
from ..engine.tensor import Tensor
from ..engine.trace import PACKAGE
from ..engine.transforms.watch import Watcher
from ..nn.module_stack import ModuleStack
from .values import Value, values_of

if TYPE_CHECKING:
    from ..engine.op import Op

__all__ = ["FACTS", "Facts", "line", "next_nodes", "recording", "tidy"]

FACTS = "_facts"  # where a node's dictionary has them


class Facts:
    """What was seen of one node: seconds, the norm of its cotangent, where and what it saved."""

    def __init__(self, line: str, module: str, name: str = "") -> None:
        self.line, self.module, self.name = line, module, name
        self.forward = self.backward = 0.0
        self.norm: float | None = None
        self.saved: list[Value] = []
        self.leaves: dict[Node, Facts] = {}


class recording(Watcher):  # noqa: N801 (a context, as `no_grad`)
    """A context in which nodes note line, module, times and gradients, for `graph` to show.

    That is: the line that recorded each, the module, the seconds of its forward and its backward,
    the norm of the gradient that arrived, and what it saved, also after the backward pass has freed
    it. Only the calling thread is watched. `root` is the node at which the last backward pass
    started, or None.

    >>> net = rg.nn.Sequential(rg.nn.Linear(2, 1))
    >>> with rg.viz.recording() as seen:
    ...     net(rg.ones(1, 2)).sum().backward()
    >>> seen.root.name()
    'SumBackward0'
    """

    root: Node | None = None

    def __init__(self) -> None:
        self.modules = ModuleStack()
        self.seconds = 0.0
        self.last = 0
        self.leaves: weakref.WeakKeyDictionary[Node, Facts] = weakref.WeakKeyDictionary()

    def __enter__(self) -> recording:
        self.modules.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.modules.__exit__(*exc)

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """Run a forward and note its time."""
        start = time.perf_counter()
        results = proceed(arrays, params)
        self.seconds = time.perf_counter() - start
        return results

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """Tell the new node what is known of it."""
        found = next((each._node for each in outputs if each._node is not None), None)
        if found is None:
            return
        node, _ = target(found)
        facts = Facts(line(), self.modules.path)
        facts.forward, facts.saved = self.seconds, values_of(node)
        node.__dict__[FACTS] = facts
        self.lead(node, facts)

    def of(self, node: Node) -> Facts:
        """What is known of a node, as far as this was recorded."""
        if node.op is LEAF:
            return self.leaves.setdefault(node, Facts("", ""))
        if FACTS not in node.__dict__:
            node.__dict__[FACTS] = Facts("", "")
            self.lead(node, node.__dict__[FACTS])
        return node.__dict__[FACTS]  # type: ignore[no-any-return]

    def lead(self, node: Node, facts: Facts) -> None:
        """Tell a node what is known of the leaves that it leads to."""
        for leaf in next_nodes(node):
            if leaf.op is LEAF:
                name = self.modules.parameters.get(id(leaf.saved.tensor()), "")
                known = Facts(facts.line, facts.module, name)
                facts.leaves[leaf] = self.leaves.setdefault(leaf, known)

    def differentiate(self, node: Node, g: Any, proceed: Any) -> Any:
        """Note the norm of what arrived at a node, and the time of its formulas."""
        if node.seq > self.last:
            self.root = node
        self.last = node.seq
        start = time.perf_counter()
        contributions = proceed()
        seconds = time.perf_counter() - start
        facts = self.of(node)
        facts.backward += seconds
        facts.norm = norm(g)
        return contributions


def next_nodes(node: Node) -> list[Node]:
    """The nodes that a node's edges lead to, in the order of its inputs."""
    return [target(edge)[0]._node() for edge in node.edges if edge is not None]  # type: ignore[misc]


def norm(g: Any) -> float:
    """The Euclidean norm of a cotangent, or of several together."""
    parts = g if isinstance(g, tuple) else (g,)
    arrays = [each._array if isinstance(each, Tensor) else each for each in parts]
    return float(np.sqrt(sum(np.linalg.norm(np.asarray(a)) ** 2 for a in arrays if a is not None)))


def line() -> str:
    """The line of the user's program that runs now, as "file:line"; nothing if there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def tidy(count: float, unit: str = "B") -> str:
    """A number of bytes or seconds with a unit that fits: "1.5 KB", "20 µs"."""
    units = ("B", "KB", "MB", "GB", "TB") if unit == "B" else ("µs", "ms", "s")
    step = 1024 if unit == "B" else 1000
    count = count if unit == "B" else count * 1e6
    place = 0
    while count >= step and place < len(units) - 1:
        count, place = count / step, place + 1
    return f"{count:.3g} {units[place]}"
