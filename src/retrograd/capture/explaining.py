"""What a recording has, and what runs for it, in rows: the picture that `explain` gives."""

from __future__ import annotations

import html
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..viz.axes import COLORS
from ..viz.picture import Picture, document
from .loops.primitives import Group
from .recording import Formulas

if TYPE_CHECKING:
    from .loops.storages import Part

__all__ = ["Listing", "Row", "Rows", "of_item", "of_run", "of_step", "picture"]

NAMELESS = ("forward", "<lambda>")  # what these do, the name of their file says
LONGEST = 44  # characters of what a row does
HOW = ("loop", "kernel", "call", "effect")
MOST = 40  # rows of a picture's column
LINE, COLUMN, BAR = 18, 700, 70  # pixels


class Row(NamedTuple):
    """What runs: as a native loop, as a kernel or as a call; on what; and the bytes it touches."""

    how: str
    what: str
    shape: str
    nbytes: int


class Rows(Counter[Row]):
    """How often rows run, and how many nanoseconds all these take: 0 if nobody knows."""

    def __init__(self, found: list[tuple[Row, float]]) -> None:
        super().__init__([row for row, _ in found])
        self.times = Counter[Row]()
        for row, time in found:
            self.times[row] += time  # type: ignore[assignment]

    def weights(self) -> dict[Row, int]:
        """What bars show: the times, or bytes where there are none."""
        times = self.times if any(self.times.values()) else None
        return times or {row: count * row.nbytes for row, count in self.items()}


class Listing(NamedTuple):
    """A program: the rows of what was recorded, and of what runs for it; its text; and the ways
    that branches on values go in it."""

    before: Rows
    after: Rows
    text: str
    ways: tuple[bool, ...]


def of_item(item: Any) -> Row:
    """The row of a loop or group."""
    loops = item.loops if isinstance(item, Group) else (item,)
    names = [loop.kind if loop.kind == "matmul" else loop.function for loop in loops]
    out = loops[-1].out
    return Row("loop", shortened(names), shaped(out), sum(map(size, item.parts)))


def of_run(run: list[Any], arrays: list[Any]) -> Row:
    """The row of a kernel that does a run of steps on some arrays."""
    names, largest = [named(step) for step in run], max(arrays, key=lambda array: array.size)
    return Row("kernel", shortened(names), shaped(largest), sum(a.nbytes for a in arrays))


def of_step(step: Any, arrays: Any, how: str = "call") -> Row:
    """The row of a recorded step."""
    made = [arrays[s] for s in step.gives]
    touched = {id(a): a.nbytes for a in [*made, *[arrays[s] for s in step.reads]]}
    return Row(how, named(step), shaped(made[0]) if made else "", sum(touched.values()))


def named(step: Any) -> str:
    """What a step calls."""
    function = getattr(step, "function", None)
    if function is None:
        return "branch on a value"
    if isinstance(function, Formulas):
        return function.title
    function = getattr(function, "func", function)  # that of a partial
    name = getattr(function, "__name__", "") or type(function).__name__
    return function.__module__.rpartition(".")[2] if name in NAMELESS else str(name)


def size(part: Part) -> int:
    """The bytes of a part."""
    return prod(part.shape) * part.dtype.itemsize


def shaped(array: Any) -> str:
    """The dtype and shape of an array or part."""
    return f"{array.dtype}{[*array.shape]}"


def shortened(names: list[str]) -> str:
    """Names side by side, as many as there is room for."""
    text = ", ".join(names)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 12].rsplit(', ', 1)[0]}, ... ({len(names)})"


def picture(name: str, reasons: list[str], recordings: list[tuple[str, Listing]]) -> Picture:
    """Recordings of a function, each with what it was made for, and why other calls have none."""
    count = len(recordings)
    lines = [f"{name}: {count} recording{'' if count == 1 else 's'}"]
    lines += [f"not recorded: {reason}" for reason in reasons]
    parts = [written(line, 16, 24 + LINE * i) for i, line in enumerate(lines)]
    top = 16 + LINE * len(lines)
    for number, (about, listing) in enumerate(recordings, 1):
        lines += [f"\nrecording {number}, replayed while these are as they were: {about}"]
        if listing.ways:
            ways = ", ".join(map(str, listing.ways))
            lines.append(f"and branches on values go these ways: {ways}")
        columns = [("recorded", listing.before), ("runs", listing.after)]
        largest = max([1, *[w for _, rows in columns for w in rows.weights().values()]])
        for i, (title, rows) in enumerate(columns):
            lines += [headed(title, rows), *[f"  {line}" for line in aligned(rows)]]
            parts += drawn(headed(title, rows), rows, 16 + COLUMN * i, top, largest)
        lines += ["", listing.text]
        top += LINE * (3 + min(MOST + 1, max(len(rows) for _, rows in columns)))
    page = document(16 + 2 * COLUMN, top, parts)
    return Picture(f"{name}, compiled", "\n".join(lines), page)


def headed(title: str, rows: Rows) -> str:
    """What stands above rows."""
    kinds = Counter[str]()
    for row, count in rows.items():
        kinds[row.how] += count
    counts = [f"{n} {how}{'' if n == 1 else 's'}" for how, n in kinds.items()] or ["nothing"]
    counts.append(in_bytes(sum(n * r.nbytes for r, n in rows.items())))
    return f"{title}: {', '.join([*counts, *in_time(sum(rows.times.values()))])}"


def aligned(rows: Rows) -> list[str]:
    """Rows as lines of text."""
    cells = [cell(rows, row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]


def cell(rows: Rows, row: Row) -> tuple[str, ...]:
    """What stands in a row: how often, how, what, on what, how much memory, and how long."""
    memory, time = in_bytes(rows[row] * row.nbytes), "".join(in_time(rows.times[row]))
    return f"{rows[row]}x", row.how, row.what, row.shape, memory, time


def in_bytes(count: int) -> str:
    """A number of bytes for reading."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def in_time(ns: float) -> list[str]:
    """Nanoseconds for reading, if there are any."""
    if ns < 1000:
        return [f"{ns:.0f} ns"] if ns else []
    return [f"{ns / 1e3:.1f} us" if ns < 1e6 else f"{ns / 1e6:.1f} ms"]


def drawn(title: str, rows: Rows, x: int, top: int, largest: int) -> list[str]:
    """A column of rows, each with a bar for its time, or for its bytes."""
    parts, weights = [written(title, x, top + LINE)], rows.weights()
    for i, row in enumerate([*rows][:MOST]):
        y = top + LINE * (i + 2)
        often, how, what, shape, nbytes, time = cell(rows, row)
        width = BAR * weights[row] / largest
        color = COLORS[HOW.index(row.how)]
        parts += [
            written(often, x, y, "dim"), written(how, x + 40, y, "dim"), written(what, x + 88, y),
            written(shape, x + 340, y, "dim"), written(nbytes, x + 480, y, "dim"),
            f'<rect x="{x + 545}" y="{y - 9}" width="{max(width, 1):.1f}" height="9" '
            f'fill="{color}"/>',
            written(time, x + 551 + width, y, "dim"),
        ]  # fmt: skip
    if len(rows) > MOST:
        parts.append(written(f"and {len(rows) - MOST} more", x, top + LINE * (MOST + 2), "dim"))
    return parts


def written(text: str, x: float, y: float, kind: str = "") -> str:
    """Text at a place."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{html.escape(text)}</text>'
