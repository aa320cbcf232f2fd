"""`graph`: the graph behind a tensor, as a page to walk about in, as SVG and as text."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.backward.formulas import formulas_of, helpers_of
from ..engine.graph import LEAF, Node, target
from ..engine.op import Op, camel_case
from ..engine.tensor import Tensor, node_of
from .layout import node_positions
from .picture import Picture, document
from .recording import FACTS, Facts, next_nodes, tidy
from .values import described, values_of, written

if TYPE_CHECKING:
    from ..nn.modules.module import Module

__all__ = ["graph"]

PAGE = Path(__file__).with_name("graph.html")
ACROSS, DOWN, WIDE, HIGH = 190, 104, 164, 60  # pixels between boxes, and of one
LARGEST = 2000  # boxes that an SVG shows: browsers are slow with more

ARROWS = "Arrows go from inputs to results. Gradients go the other way."
NO_GRAPH = (
    "there is no graph to draw: {what} has no grad_fn, so nothing was recorded. Compute it from a "
    "tensor that requires grad: x = x.requires_grad_()"
)


class Box:
    """A node as it is drawn: plain data, which holds nothing of the graph."""

    def __init__(self, node: Node, facts: Facts, name: str) -> None:
        leaf = node.op is LEAF
        self.title = "leaf" if leaf else node.name().removesuffix("0").removesuffix("Backward")
        self.name, self.leaf = name or facts.name, leaf
        many = not leaf and node.op.grad_outputs != 1 and node.layout is not None
        layout = [each for each in node.layout if each] if many else [(node.shape, node.dtype)]
        self.kind = ", ".join(described(shape, dtype) for shape, dtype, *_ in layout)
        self.line, self.module = facts.line, facts.module
        self.saved = values_of(node) or facts.saved
        self.written = written(node)
        self.bytes = sum(each.bytes for each in self.saved if not each.given)
        self.saves = f"saves {', '.join(each.name for each in self.saved)}" if self.saved else ""
        self.record = node.op.name
        self.op = "" if leaf or camel_case(self.record) == self.title else self.record
        self.seconds = facts.forward + facts.backward
        self.times = (facts.forward, facts.backward)
        self.norm = facts.norm

    @property
    def label(self) -> str:
        """What the box says first: the name of a leaf, or the op."""
        return self.name or self.title


def graph(root: Any, names: Module | dict[str, Tensor] | None = None) -> Picture:
    """A picture of the graph of `root`: a tensor, several tensors, or a node (`grad_fn`).

    Each node shows its op, the shape and dtype of its result, and what it saves for the backward
    pass, in bytes, and who has overwritten that. `names` gives leaves their names: a module, or
    tensors by name. Of what was recorded within `rg.viz.recording()`, the lines, modules, times and
    norms of gradients show, too. As a page it can be moved, searched, coloured by bytes, time or
    norm, and collapsed by modules; an SVG and a text stand still. Nothing of the graph is kept.

    Raises RuntimeError where there is no graph, and TypeError for what has none.

    >>> w = rg.ones(2, requires_grad=True)
    >>> print(rg.viz.graph((w * w).sum(), {"w": w}))
    graph of 3 nodes, 1 of them leaves; 0 B saved, leaves and constants not counted
    2  Sum  float32 ()  from 1
    1  Mul  float32 2   from 0, 0  saves input float32 2 (leaf), other float32 2 (leaf)
    0  w    float32 2
    """
    nodes = behind(roots_of(root))
    called = {} if names is None else names_of(names)
    place = {node: index for index, node in enumerate(nodes)}
    facts = known(nodes)
    boxes = [Box(node, facts[node], called.get(id(node), "")) for node in nodes]
    edges = [[place[each] for each in next_nodes(node)] for node in nodes]
    title = f"graph of {boxes[0].title}" if len(roots_of(root)) == 1 else "graph"
    spots = node_positions([sorted(set(each)) for each in edges])
    return Picture(
        title,
        written_down(boxes, edges),
        drawn(boxes, edges, spots),
        page(title, formulas_in(nodes), boxes, edges, spots),
        height=560,
    )


def roots_of(root: Any) -> list[Node]:
    """The nodes that a tensor, a node, or several of them stand for."""
    if isinstance(root, Tensor):
        if root._node is None:
            raise RuntimeError(NO_GRAPH.format(what=f"a tensor of shape {tuple(root.shape)}"))
        return [target(node_of(root))[0]._node()]  # type: ignore[list-item]
    if hasattr(root, "next_functions"):
        return [root._node()]
    if not isinstance(root, (list, tuple)):
        raise TypeError(
            f"graph() takes a tensor, a grad_fn or a list of them, not {type(root).__name__}: for "
            "example rg.viz.graph(loss)"
        )
    found = [node for each in root for node in roots_of(each)]
    if not found:
        raise RuntimeError(NO_GRAPH.format(what="an empty list"))
    return list(dict.fromkeys(found))


def names_of(names: Any) -> dict[int, str]:
    """The name of each leaf, by the id of its node."""
    pairs = names.items() if isinstance(names, dict) else names.named_parameters()
    return {id(tensor._node): name for name, tensor in pairs if tensor._node is not None}


def behind(roots: Iterable[Node]) -> list[Node]:
    """All nodes behind some, newest first: each stands before what it leads to."""
    found = dict.fromkeys(roots)  # in the order in which they are found, which is that of inputs
    stack = list(found)
    while stack:
        new = [each for each in next_nodes(stack.pop()) if each not in found]
        found.update(dict.fromkeys(new))
        stack += new
    return sorted(found, key=lambda node: -node.seq)


def known(nodes: list[Node]) -> dict[Node, Facts]:
    """What recordings left, of each node; else the line that anomaly mode noted."""
    found: dict[Node, Facts] = {}
    for node in nodes:  # a leaf stands after those that lead to it
        own = found.get(node) or node.__dict__.get(FACTS) or Facts(recorded_at(node), "")
        found |= own.leaves | {node: own}
    return found


def recorded_at(node: Node) -> str:
    """The line that anomaly mode noted, as "file:line"."""
    if node.trace is None:
        return ""
    place = node.trace.rpartition('File "')[2].partition('"')
    return f"{place[0]}:{place[2].removeprefix(', line ').partition(',')[0]}"


def summary(boxes: list[Box]) -> str:
    """One line that describes the whole graph."""
    leaves = sum(box.leaf for box in boxes)
    saved = [each for box in boxes for each in box.saved if not each.given]
    total = tidy(sum({each.memory: each.bytes for each in saved}.values()))
    return (
        f"graph of {len(boxes)} nodes, {leaves} of them leaves; {total} saved, leaves and "
        "constants not counted"
    )


def written_down(boxes: list[Box], edges: list[list[int]]) -> str:
    """A line for each node, newest first."""
    last = len(boxes) - 1
    rows = []
    for index, (box, targets) in enumerate(zip(boxes, edges, strict=True)):
        saved = ", ".join(
            f"{each.name} {each.kind}" + f" ({each.given})" * bool(each.given) for each in box.saved
        )
        facts = [
            f"op {box.op}" if box.op else "",
            f"saves {saved}" if saved else "",
            "; ".join(box.written),
            f"in {box.module}" if box.module else "",
            f"at {box.line}" if box.line else "",
            f"gradient {box.norm:.3g}" if box.norm is not None else "",
        ]
        source = f"from {', '.join(str(last - each) for each in targets)}" if targets else ""
        rows.append(
            [str(last - index), box.label, box.kind, source, ", ".join(filter(None, facts))]
        )
    widths = [max(len(row[column]) for row in rows) + 2 for column in range(4)]
    lines = [
        "".join([*(part.ljust(n) for part, n in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    return "\n".join([summary(boxes), *lines])


def drawn(boxes: list[Box], edges: list[list[int]], spots: list[tuple[float, int]]) -> str:
    """The graph as SVG, or what to open instead where it is too large for that."""
    if len(boxes) > LARGEST:
        text = f"{summary(boxes)}: too many for one SVG; save it as .html"
        return document(760, 40, [f'<text x="12" y="24">{html.escape(text)}</text>'])
    width = max(max(column for column, _ in spots) * ACROSS + WIDE + 24, 6.6 * len(ARROWS) + 24)
    height = max(row for _, row in spots) * DOWN + HIGH + 48
    at = [(12 + column * ACROSS, 12 + row * DOWN) for column, row in spots]
    parts = []
    for index, targets in enumerate(edges):
        x, y = at[index][0] + WIDE / 2, at[index][1]
        for each in targets:
            a, b = at[each][0] + WIDE / 2, at[each][1] + HIGH
            middle = (b + y) / 2
            path = f"M{a:.0f},{b:.0f}C{a:.0f},{middle:.0f} {x:.0f},{middle:.0f} {x:.0f},{y:.0f}"
            path += f"M{x - 4:.0f},{y - 7:.0f}l4,7l4,-7"
            parts.append(f'<path class="line" d="{path}"/>')
    for box, (x, y) in zip(boxes, at, strict=True):
        color = "#f5d78e" if box.leaf else "#f29a8e" if box.written else "#bcd7f0"
        lines = [html.escape(short(each)) for each in (box.label, box.kind, box.saves)]
        tip = html.escape("\n".join([box.label, box.kind, box.module, box.line, *box.written]))
        parts.append(
            f'<g><title>{tip}</title><rect x="{x:.0f}" y="{y:.0f}" width="{WIDE}" '
            f'height="{HIGH}" rx="6" fill="{color}"/><text x="{x + 8:.0f}" y="{y + 18:.0f}" '
            f'style="fill:#12181f;font-weight:600">{lines[0]}</text><text x="{x + 8:.0f}" '
            f'y="{y + 35:.0f}" style="fill:#33414f">{lines[1]}</text><text x="{x + 8:.0f}" '
            f'y="{y + 52:.0f}" style="fill:#33414f">{lines[2]}</text></g>'
        )
    parts.append(f'<text class="dim" x="12" y="{height - 14:.0f}">{ARROWS}</text>')
    return document(width, height, parts)


def short(text: str, most: int = 22) -> str:
    """A text, cut so that it fits into a box."""
    return text if len(text) <= most else text[: most - 1] + "…"


def formulas_in(nodes: list[Node]) -> dict[str, list[str]]:
    """For each op by name, the formulas of its inputs, and what the functions in them do."""
    found = {}
    for op in {node.op for node in nodes if isinstance(node.op, Op)}:
        lines = [f"{name}: {text}" for name, text in formulas_of(op).items()]
        lines += [f"({name}: {text})" for name, text in helpers_of(op).items()]
        found[op.name] = [each.replace("`", "") for each in lines]
    return found


def page(
    title: str,
    formulas: dict[str, list[str]],
    boxes: list[Box],
    edges: list[list[int]],
    spots: list[tuple[float, int]],
) -> str:
    """The page, with the graph in it as data."""
    data = {
        "title": title,
        "formulas": formulas,
        "summary": summary(boxes),
        "boxes": [
            {
                "label": box.label,
                "title": box.title,
                "leaf": box.leaf,
                "kind": box.kind,
                "op": box.op,
                "record": box.record,
                "saves": box.saves,
                "module": box.module,
                "line": box.line,
                "saved": [
                    f"{each.name}: {each.kind}, {tidy(each.bytes)}"
                    + f", a {each.given}" * bool(each.given)
                    for each in box.saved
                ],
                "written": box.written,
                "bytes": box.bytes,
                "size": tidy(box.bytes),
                "seconds": box.seconds,
                "times": " + ".join(tidy(each, "s") for each in box.times),
                "norm": box.norm,
                "x": round(column * ACROSS, 1),
                "row": row,
                "to": targets,
            }
            for box, targets, (column, row) in zip(boxes, edges, spots, strict=True)
        ],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c")  # no tag may begin in a script
    shape = json.dumps({"across": ACROSS, "down": DOWN, "wide": WIDE, "high": HIGH})
    template = PAGE.read_text(encoding="utf-8")
    return (
        template.replace("{{title}}", html.escape(title))
        .replace("{{shape}}", shape)
        .replace("{{data}}", safe)
    )
