"""The parts of a profile: events, their averages, the table, the trace for Chrome.

Times are in microseconds, memory in bytes. Names are those of PyTorch's module.

This module knows neither tensors nor nodes: `profiler` makes the events.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

SORTABLE = (
    "count",
    "cpu_memory_usage",
    "cpu_time",
    "cpu_time_total",
    "self_cpu_memory_usage",
    "self_cpu_time_total",
)
TEXTS = ("Name", "Input Shapes", "Source Location")  # columns of texts, not of numbers


class Interval:
    """An interval from `start` to `end`, in microseconds.

    >>> from retrograd.autograd.profiler_util import Interval
    >>> Interval(1.0, 3.5).elapsed_us()
    2.5
    """

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length of the interval."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval({self.start:.3f}, {self.end:.3f})"


class FunctionEvent:
    """One op call, one node of a backward pass, or one `record_function` block.

    `kind` is "op", "node" or "user"; `memory` counts the bytes of new results.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float = 0.0,
        end_us: float | None = None,
        *,
        node_id: int = -1,
        kind: str = "op",
    ) -> None:
        self.id, self.name, self.kind, self.thread = id, name, kind, thread
        self.node_id = node_id
        self.time_range = Interval(start_us, start_us if end_us is None else end_us)
        self._parent: Any = None  # weakly: parents hold their children
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.sequence_nr = -1
        self.args: str | None = None
        self.memory = 0
        self.flops = 0
        self.count = 1

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The event within which this one happened."""
        return None if self._parent is None else self._parent()

    def add_child(self, event: FunctionEvent) -> None:
        """Enter an event that happens within this one."""
        event._parent = weakref.ref(self)
        self.cpu_children.append(event)

    @property
    def key(self) -> str:
        """The name under which events are averaged."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """The time of the event, with the times of all that it called."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total
    device_time_total = device_time = self_device_time_total = 0.0

    @property
    def self_cpu_time_total(self) -> float:
        """The time of the event without those of the events it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """The bytes of the results made meanwhile."""
        if self.cpu_children:
            return sum(child.cpu_memory_usage for child in self.cpu_children)
        return self.memory

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes of its own results."""
        return 0 if self.cpu_children else self.memory

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={in_time(self.cpu_time_total)} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg:
    """Several events of one key, that of the first unless it is given; filled by `add`."""

    device_time_total = device_time = self_device_time_total = 0.0

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = 0
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []

    @property
    def cpu_time(self) -> float:
        """The mean of the events' total times."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, other: Any) -> FunctionEventAvg:
        """Count in an event, or the events of another average."""
        if self.key is None:
            self.key = other.key
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={in_time(self.self_cpu_time_total)} "
            f"cpu_time={in_time(self.cpu_time)} count={self.count} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events or averages, in the order in which they began; `table` shows them.

    >>> with rg.autograd.profiler.profile() as prof:
    ...     _ = rg.ones(2).exp().exp()
    >>> [(average.key, average.count) for average in prof.key_averages()]
    [('exp', 2)]
    """

    def __init__(self, events: Iterable[Any] = (), profile_memory: bool = False) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, none of it counted twice."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """One average for each name (and input shapes, and innermost lines of the stack)."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            stack = event.stack[:group_by_stack_n]
            key = (event.key, str(shapes), *stack)
            if key not in found:
                found[key] = average = FunctionEventAvg(event.key)
                average.input_shapes, average.stack = shapes, stack
            found[key].add(event)
        return EventList(found.values(), self.profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """One average of everything, called "Total"."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as text, a line each, at most `row_limit` of them (-1: all).

        `sort_by` is one of count, cpu_time, cpu_time_total, self_cpu_time_total, cpu_memory_usage,
        self_cpu_memory_usage (largest first), or None; anything else raises AttributeError.
        """
        events = list(self)
        if sort_by is not None:
            if sort_by not in SORTABLE:
                raise AttributeError(
                    f"an event has no attribute {sort_by!r} to sort by. Choose from "
                    f"{', '.join(SORTABLE)}"
                )
            events.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        if top_level_events_only:
            events = [event for event in events if getattr(event, "cpu_parent", None) is None]
        shown = events if row_limit < 0 else events[:row_limit]
        total = self.self_cpu_time_total
        columns = [
            ("Name", [clipped(event.key, max_name_column_width) for event in shown]),
            ("Self CPU %", [share(event.self_cpu_time_total, total) for event in shown]),
            ("Self CPU", [in_time(event.self_cpu_time_total) for event in shown]),
            ("CPU total %", [share(event.cpu_time_total, total) for event in shown]),
            ("CPU total", [in_time(event.cpu_time_total) for event in shown]),
            ("CPU time avg", [in_time(event.cpu_time) for event in shown]),
        ]
        if self.profile_memory:
            columns += [
                ("CPU Mem", [in_bytes(event.cpu_memory_usage) for event in shown]),
                ("Self CPU Mem", [in_bytes(event.self_cpu_memory_usage) for event in shown]),
            ]
        columns.append(("# of Calls", [str(event.count) for event in shown]))
        if any(event.input_shapes for event in self):
            shapes = [clipped(str(event.input_shapes), max_shapes_column_width) for event in shown]
            columns.append(("Input Shapes", shapes))
        if any(event.stack for event in self):
            lines = [event.stack[0] if event.stack else "" for event in shown]
            columns.append(
                ("Source Location", [clipped(line, max_src_column_width) for line in lines])
            )
        if any(event.flops for event in self):
            columns.append(("Total FLOPs", [str(event.flops or "--") for event in shown]))
        text = laid_out(columns)
        if header is not None:
            text = f"{header}\n{text}"
        return f"{text}\nSelf CPU time total: {in_time(total)}\n"

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a file for chrome://tracing or Perfetto."""
        process = os.getpid()
        traced = [
            {
                "name": event.name,
                "cat": {"op": "cpu_op", "node": "backward", "user": "user_annotation"}[event.kind],
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.cpu_time_total,
                "pid": process,
                "tid": event.thread,
                "args": described(event),
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ms", "traceEvents": traced}, file)

    def __str__(self) -> str:
        return self.table()


def described(event: FunctionEvent) -> dict[str, Any]:
    """The facts about an event that a trace has beside its times."""
    facts = {
        "Input Dims": event.input_shapes,
        "Bytes": event.cpu_memory_usage,
        "Call stack": event.stack,
        "Sequence number": event.sequence_nr if event.sequence_nr >= 0 else None,
        "Args": event.args,
    }
    return {name: fact for name, fact in facts.items() if fact}


def laid_out(columns: list[tuple[str, list[str]]]) -> str:
    """Columns of text as lines, all flush right, between rules; as wide as PyTorch's."""
    widths = [
        max(map(len, cells), default=0) + 4 if title in TEXTS else max((12, *map(len, cells)))
        for title, cells in columns
    ]
    rule = "".join("-" * width + "  " for width in widths)
    rows = [[title for title, _ in columns], *zip(*[cells for _, cells in columns], strict=True)]
    head, *lines = [
        "".join(cell.rjust(width) + "  " for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([rule, head, rule, *lines, rule])


def clipped(text: str, width: int | None) -> str:
    """The text, cut to a width (None: as it is)."""
    return text if width is None or len(text) <= width else text[: max(width - 3, 0)] + "..."


def share(part: float, total: float) -> str:
    """A part of the whole in percent."""
    return f"{100 * part / total if total else 0:.2f}%"


def in_time(microseconds: float) -> str:
    """A time in the unit that suits it."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def in_bytes(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    for size, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


_format_time, _format_memory = in_time, in_bytes  # PyTorch's names
