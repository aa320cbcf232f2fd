"""`memory`: how many bytes of arrays live while a function runs forward and backward, and whose.

NOTE [What is counted]
1. Memory that ops and formulas make, from when they return it until nobody holds it any more: an
   array that another one is a view of counts once, as long as any of them lives.
2. It belongs to the module whose `forward` ran; in the backward pass to that of the node.
3. Inputs, parameters and what a kernel uses in between are not counted; gradients of leaves are.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.graph import LEAF, Node
from ..engine.tensor import Tensor
from ..engine.transforms.watch import Watcher
from .axes import COLORS, Axes
from .graph import behind, roots_of
from .picture import Picture, document
from .recording import recording, tidy
from .values import owner_of

if TYPE_CHECKING:
    from ..engine.op import Op

__all__ = ["OUTSIDE", "memory", "passed"]

OUTSIDE, MOST = "outside of modules", 7  # names of bands; bands, the smaller ones in one


class Timeline(Watcher):
    """Notes what lives after each op and each node of a backward pass."""

    def __init__(self, seen: recording) -> None:
        self.seen = seen
        self.live: Counter[str] = Counter()
        self.known: dict[int, Any] = {}
        self.moments: list[tuple[str, bool, dict[str, int]]] = []

    def add(self, arrays: Sequence[Any], module: str) -> None:
        """Count the memory of arrays that is new."""
        for each in arrays:
            owner = owner_of(each)
            if id(owner) in self.known or isinstance(owner, np.generic):  # a number
                continue
            name = module or OUTSIDE
            self.live[name] += owner.nbytes
            self.known[id(owner)] = weakref.finalize(
                owner, self.gone, id(owner), name, owner.nbytes
            )
            self.known[id(owner)].atexit = False

    def gone(self, key: int, module: str, size: int) -> None:
        """Take the bytes of a block that was freed from what is alive."""
        self.known.pop(key, None)
        self.live[module] -= size

    def moment(self, label: str, backward: bool) -> None:
        """Note what lives at this moment."""
        self.moments.append((label, backward, {n: size for n, size in self.live.items() if size}))

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """Count the results of an op; what its inputs lie in was there before."""
        given = {id(owner_of(each._array)) for each in inputs if isinstance(each, Tensor)}
        new = [each._array for each in outputs if id(owner_of(each._array)) not in given]
        self.add(new, self.seen.modules.path)
        self.moment(op.name, False)

    def differentiate(self, node: Node, g: Any, proceed: Any) -> Any:
        """Count what a node contributes, and what a leaf keeps."""
        contributions = proceed()
        arrays = arrays_in(contributions)
        if node.op is LEAF and (leaf := node.saved.tensor()) is not None and leaf.grad is not None:
            arrays.append(leaf.grad._array)
        self.add(arrays, self.seen.of(node).module)
        self.moment(node.name(), True)
        return contributions

    def stop(self) -> None:
        """Forget the arrays that still live."""
        for each in self.known.values():
            each.detach()


def arrays_in(contributions: Any) -> list[Any]:
    """The arrays among what a node contributes."""
    parts = contributions if isinstance(contributions, (tuple, list)) else (contributions,)
    return [each._array if isinstance(each, Tensor) else each for each in parts if each is not None]


def memory(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Picture:
    """A picture of the memory that `function(*args, **kwargs)` uses, op by op, for each module.

    The function runs once. Where it returns a tensor of one element with a graph, the backward pass
    of that runs as well, right of the line in the picture, and each `.grad` is afterwards what it
    was. The picture counts the memory that ops and formulas make, not that of inputs and
    parameters. The text says the peak, where it was reached, and who held it. Raises RuntimeError
    where the function called no op.

    >>> net = rg.nn.Sequential(rg.nn.Linear(8, 8), rg.nn.Tanh())
    >>> print(rg.viz.memory(lambda: net(rg.ones(4, 8)).sum()))  # doctest: +ELLIPSIS
    peak ... B at ..., after ... of ... steps
    ...
    """
    with recording() as seen:
        with Timeline(seen) as line:
            passed(function, args, kwargs)
        line.stop()
    if not line.moments:
        raise RuntimeError(
            "the function called no op, so there is no memory to show: give memory() a function "
            "that computes, for example rg.viz.memory(lambda: net(x).sum())"
        )
    return draw(line.moments)


def passed(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Run a function, and the backward pass of what it returns, where that is one number.

    That pass begins without gradients, and leaves of `.grad` what was there before.
    """
    result = function(*args, **kwargs)
    single = isinstance(result, Tensor) and result.numel() == 1
    if not (single and result.requires_grad and not result.is_leaf):
        return
    found = [node.saved.tensor() for node in behind(roots_of(result)) if node.op is LEAF]
    before = [(leaf, leaf.grad) for leaf in found if leaf is not None]
    try:
        for leaf, _ in before:
            leaf.grad = None
        result.backward()
    finally:
        for leaf, grad in before:
            leaf.grad = grad


def draw(moments: list[tuple[str, bool, dict[str, int]]]) -> Picture:
    """The moments as text and as bands of colour, one on another."""
    totals = [sum(live.values()) for _, _, live in moments]
    peak = max(totals)
    at = totals.index(peak)
    held = sorted(moments[at][2].items(), key=lambda pair: -pair[1])
    label, backward, _ = moments[at]
    where = f"{label} in the {'backward' if backward else 'forward'} pass"
    lines = [f"peak {tidy(peak)} at {where}, after {at + 1} of {len(moments)} steps"]
    lines += [f"  {tidy(size):>10}  {name}" for name, size in held]

    most: Counter[str] = Counter()
    for _, _, live in moments:
        for name, size in live.items():
            most[name] = max(most[name], size)
    names = [name for name, _ in most.most_common(MOST)]
    bands = [[live.get(name, 0) for _, _, live in moments] for name in names]
    if len(most) > MOST:
        names.append("others")
        bands.append([t - sum(b) for t, b in zip(totals, zip(*bands, strict=True), strict=True)])
    unit = tidy(peak).split()[1]
    scale = peak / float(tidy(peak).split()[0]) if peak else 1.0
    axes = Axes((84, 14, 520, 260), (0, max(len(moments) - 1, 1)), (0, peak / scale))
    axes.ticks(f" {unit}")
    base = np.zeros(len(moments))
    for band, color in zip(bands, COLORS, strict=False):
        top = base + np.array(band) / scale
        edge = [axes.at(i, y) for i, y in enumerate(top)]
        edge += [axes.at(i, y) for i, y in reversed(list(enumerate(base)))]
        path = "L".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        axes.parts.append(f'<path d="M{path}Z" fill="{color}" opacity=".85"/>')
        base = top
    turn = next((i for i, (_, backward, _) in enumerate(moments) if backward), None)
    if turn is not None:
        x, _ = axes.at(turn, 0)
        axes.parts.append(f'<path class="line" stroke-dasharray="4 3" d="M{x:.1f},14v260"/>')
    axes.legend(names, COLORS[: len(names)])
    parts = [*axes.parts, f'<text class="dim" x="84" y="310">{lines[0]}</text>']
    return Picture("live memory", "\n".join(lines), document(860, 324, parts))
