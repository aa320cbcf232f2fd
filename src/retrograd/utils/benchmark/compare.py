"""Measurements in a table: a row for each statement, a column for each description."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .measurement import Measurement, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Compare"]

NAMES = {"s": "seconds (s)", "ms": "milliseconds (ms)", "us": "microseconds (us)"}


class Compare:
    """A table of measurements for each label, all in the unit of the shortest.

    >>> from retrograd.utils.benchmark.measurement import TaskSpec
    >>> made = [rg.utils.benchmark.Measurement(1, [2e-3], TaskSpec("f(x)", description="old")),
    ...         rg.utils.benchmark.Measurement(1, [1e-3], TaskSpec("f(x)", description="new"))]
    >>> rg.utils.benchmark.Compare(made).print()
    f(x)            | old | new
    f(x), 1 threads | 2.0 | 1.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Nothing: times have one decimal place."""

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing: the table is plain text."""

    def print(self) -> None:
        """Print the table."""
        sys.stdout.write(f"{self}\n")

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        tables: dict[str, list[Measurement]] = {}
        for each in merged:
            tables.setdefault(each.task_spec.label or each.task_spec.stmt, []).append(each)
        return "\n\n".join(table(label, found) for label, found in tables.items())


def table(label: str, results: list[Measurement]) -> str:
    """The table of one label."""
    size, unit = unit_of(min(each.median for each in results))
    columns = list(dict.fromkeys(each.task_spec.description or "" for each in results))
    rows: dict[str, dict[str, str]] = {}
    for each in sorted(results, key=lambda each: each.task_spec.num_threads):
        task = each.task_spec
        name = f"{task.sub_label or task.stmt}, {task.num_threads} threads"
        row = rows.setdefault(name + (f", {task.env}" if task.env else ""), {})
        row[task.description or ""] = f"{each.median / size:.1f}"
    lines = [[label, *columns]]
    lines += [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [" | ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([*text, "", f"Times are in {NAMES.get(unit, 'nanoseconds (ns)')}."])
