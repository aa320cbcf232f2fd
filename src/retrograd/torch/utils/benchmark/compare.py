"""Measurements in a table: a row for each statement, a column for each description."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from .measurement import Measurement, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Compare"]

NAMES = {"s": "seconds (s)", "ms": "milliseconds (ms)", "us": "microseconds (us)"}
NANO = "nanoseconds (ns)"


class Compare:
    """A table of measurements for each label, all in the unit of the shortest.

    >>> from retrograd.utils.benchmark.measurement import TaskSpec
    >>> made = [rg.utils.benchmark.Measurement(1, [2e-3], TaskSpec("f(x)", description="old")),
    ...         rg.utils.benchmark.Measurement(1, [1e-3], TaskSpec("f(x)", description="new"))]
    >>> rg.utils.benchmark.Compare(made).print()
    [-----------  -----------]
                |  old  |  new
    1 threads: ---------------
          f(x)  |  2.0  |  1.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results, self._trimmed = list(results), False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Show only as many digits as the measurements tell."""
        self._trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing: the table is plain text."""

    def print(self) -> None:
        """Print the table."""
        sys.stdout.write(f"{self}\n")

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            tables.setdefault(each.task_spec.label or "", []).append(each)
        return "\n".join(table(label, found, self._trimmed) for label, found in tables.items())


def table(label: str, results: list[Measurement], trimmed: bool) -> str:
    """The table of one label."""
    size, unit = unit_of(min(each.median for each in results))
    heads = list(dict.fromkeys(each.task_spec.description or "" for each in results))
    columns: dict[str, list[Measurement]] = {head: [] for head in heads}
    for each in results:
        columns[each.task_spec.description or ""].append(each)
    cells: dict[tuple[int, str], dict[str, str]] = {}
    for each in sorted(results, key=lambda each: each.task_spec.num_threads):
        cells.setdefault((each.task_spec.num_threads, name_of(each, results)), {})
    for head, column in columns.items():
        figures = decimals(column, size) if trimmed else 1
        for each in column:
            value = each.median / size
            if trimmed:
                value = float(f"{value:.{each.significant_figures - 1}e}")
            key = each.task_spec.num_threads, name_of(each, results)
            cells[key][head] = f"{value:.{figures}f}"
    first = max(len(name) for _, name in cells)
    inner = [max(len(row.get(head, "")) for row in cells.values()) for head in heads]
    widths = [max(len(head), n) for head, n in zip(heads, inner, strict=True)]
    lines = [line("", first, [head.center(n) for head, n in zip(heads, widths, strict=True)])]
    total = len(lines[0])
    threads = 0
    for (count, name), row in cells.items():
        if count != threads:
            lines.append(f"{count} threads: ".ljust(total, "-"))
            threads = count
        values = [row.get(head, "").rjust(n) for head, n in zip(heads, inner, strict=True)]
        lines.append(line(name, first, map(str.center, values, widths)))
    title = f"[{f' {label} '.center(total - 2, '-')}]"
    return "\n".join([title, *lines, "", f"Times are in {NAMES.get(unit, NANO)}.", ""])


def name_of(each: Measurement, results: list[Measurement]) -> str:
    """What stands in front of a row: where it ran, if that differs, and what."""
    task, places = each.task_spec, [f"({other.task_spec.env})" for other in results]
    where = f"({task.env})".ljust(max(map(len, places))) if len(set(places)) > 1 else "  "
    return f"  {where}  {task.sub_label or task.stmt}"


def line(name: str, width: int, values: Iterable[str]) -> str:
    """A line of the table."""
    return "  |  ".join([name.ljust(width), *values])


def decimals(column: list[Measurement], size: float) -> int:
    """The decimal places of a column: one, if the digits of all its times reach so far."""
    digits = [each.significant_figures - leading(each.median / size) for each in column]
    return int(min(digits) > 0)


def leading(value: float) -> int:
    """The number of digits in front of the decimal point."""
    return math.ceil(math.log10(value)) if value > 0 else 1
