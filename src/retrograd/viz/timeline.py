"""`timeline`: how long each op takes forward and backward, one after the other, and whose it is."""

from __future__ import annotations

import html
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.graph import Node
from ..engine.transforms.watch import Watcher
from .axes import COLORS, Axes
from .memory import OUTSIDE, passed
from .picture import Picture, document
from .recording import recording, tidy

if TYPE_CHECKING:
    from ..engine.op import Op

__all__ = ["timeline"]

ROW = 22  # pixels


class Bar(NamedTuple):
    """An op, or the node of one in the backward pass, from when to when, in seconds."""

    name: str
    module: str
    backward: bool
    start: float
    end: float


class Clock(Watcher):
    """Notes when each op and each node of a backward pass began and ended."""

    def __init__(self, seen: recording) -> None:
        self.seen = seen
        self.bars: list[Bar] = []

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """Run a forward and note its time."""
        start = time.perf_counter()
        results = proceed(arrays, params)
        self.add(op.name, self.seen.modules.path, False, start)
        return results

    def differentiate(self, node: Node, g: Any, proceed: Any) -> Any:
        """Take the time of a node's formulas."""
        start = time.perf_counter()
        contributions = proceed()
        self.add(node.name(), self.seen.of(node).module, True, start)
        return contributions

    def add(self, name: str, module: str, backward: bool, start: float) -> None:
        """Add a bar that ends now."""
        self.bars.append(Bar(name, module or OUTSIDE, backward, start, time.perf_counter()))


def timeline(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Picture:
    """A picture of when each op of `function(*args, **kwargs)` runs: a row for each module.

    The function runs once. Where it returns a tensor of one element with a graph, the backward pass
    of that runs as well, right of the line in the picture, and each `.grad` is afterwards what it
    was. Between the bars, Python ran, and the watching itself. The text says for each module its
    time forward and backward, and its slowest op. The first run of an op prepares it: to see later
    ones, call the function once before. Raises RuntimeError where the function called no op.

    >>> net = rg.nn.Sequential(rg.nn.Linear(8, 8), rg.nn.Tanh())
    >>> print(rg.viz.timeline(lambda: net(rg.ones(4, 8)).sum()))  # doctest: +ELLIPSIS
    forward ... in ... ops, backward ... in ... nodes
    ...
    """
    with recording() as seen, Clock(seen) as clock:
        passed(function, args, kwargs)
    if not clock.bars:
        raise RuntimeError(
            "the function called no op, so there is no time to show: give timeline() a function "
            "that computes, for example rg.viz.timeline(lambda: net(x).sum())"
        )
    return draw(clock.bars)


def draw(bars: list[Bar]) -> Picture:
    """The bars as text and as a picture."""
    modules = list(dict.fromkeys(bar.module for bar in bars))
    text = [summary(bars)]
    text += [f"  {told([bar for bar in bars if bar.module == each])}  {each}" for each in modules]
    indent = 24 + 6.8 * max(map(len, modules))
    start = bars[0].start
    unit, scale = ("ms", 1e3) if bars[-1].end - start < 1 else ("s", 1.0)
    height = ROW * len(modules)
    axes = Axes((indent, 14, 520, height), (0, (bars[-1].end - start) * scale), (0, len(modules)))
    axes.ticks_across(f" {unit}")
    for place, module in enumerate(modules):
        y = 14 + ROW * place
        axes.parts.append(
            f'<text x="{indent - 8:g}" y="{y + 15}" text-anchor="end">{html.escape(module)}</text>'
        )
        for bar in bars:
            if bar.module == module:
                left, _ = axes.at((bar.start - start) * scale, 0)
                right, _ = axes.at((bar.end - start) * scale, 0)
                said = f"{bar.name} {tidy(bar.end - bar.start, 's')}"
                axes.parts.append(
                    f'<rect x="{left:.2f}" y="{y + 3}" width="{max(right - left, 0.5):.2f}" '
                    f'height="{ROW - 6}" fill="{COLORS[bar.backward]}">'
                    f"<title>{html.escape(said)}</title></rect>"
                )
    turn = next((bar for bar in bars if bar.backward), None)
    if turn is not None:
        x, _ = axes.at((turn.start - start) * scale, 0)
        axes.parts.append(f'<path class="line" stroke-dasharray="4 3" d="M{x:.1f},14v{height}"/>')
    axes.legend(["forward", "backward"], COLORS[:2])
    parts = [*axes.parts, f'<text class="dim" x="12" y="{height + 54}">{text[0]}</text>']
    width = max(indent + 630, 6.8 * len(text[0]) + 24)
    return Picture("time", "\n".join(text), document(width, height + 68, parts))


def summary(bars: list[Bar]) -> str:
    """One line: how long the forward and the backward pass took."""
    parts = []
    for backward, name, what in ((False, "forward", "ops"), (True, "backward", "nodes")):
        own = [bar.end - bar.start for bar in bars if bar.backward is backward]
        if own:
            parts.append(f"{name} {tidy(sum(own), 's')} in {len(own)} {what}")
    return ", ".join(parts)


def told(bars: list[Bar]) -> str:
    """The time of a module's ops, and which took most."""
    times: dict[str, float] = defaultdict(float)
    for bar in bars:
        times[bar.name] += bar.end - bar.start
    slowest = max(times, key=times.__getitem__)
    return f"{tidy(sum(times.values()), 's'):>8}, most in {slowest:20}"
