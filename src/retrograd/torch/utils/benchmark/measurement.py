"""Times of a statement, their statistics and how they print."""

from __future__ import annotations

import dataclasses
import math
import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Measurement", "TaskSpec"]

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What is timed, and how it is called."""

    stmt: str
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """Its label, or the statement, and its further label."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")


def unit_of(seconds: float) -> tuple[float, str]:
    """The unit that suits a time, in seconds, and its name."""
    return next((unit for unit in UNITS if seconds >= unit[0]), UNITS[-1])


@dataclasses.dataclass
class Measurement:
    """`raw_times`, in seconds, each of `number_per_run` runs of a statement.

    >>> from retrograd.utils.benchmark.measurement import TaskSpec
    >>> made = rg.utils.benchmark.Measurement(2, [1.0, 3.0, 2.0], TaskSpec("x + 1"))
    >>> made.median, made.times
    (1.0, [0.5, 1.5, 1.0])
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec

    @property
    def times(self) -> list[float]:
        """The time of one run, by each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median time of one run."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean time of one run."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """From the first quartile of the times to the third."""
        low, high = self._quartiles
        return high - low

    @property
    def _quartiles(self) -> tuple[float, float]:
        if len(self.times) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the measurements tell, from 1 to 4.

        As many as it has above the error that the middle half of the times lets expect of it, the
        90 % interval of a mean, and above the 25 ns that a clock is off.
        """
        ordered, count = sorted(self.times), len(self.times)
        middle = ordered[count // 4 : math.ceil(3 * count / 4)]
        error = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), 25e-9)
        return min(max(math.floor(math.log10(max(self.median / error, 1))), 1), 4)

    def __getattr__(self, name: str) -> Any:
        """What its `task_spec` says of the statement: `stmt`, `setup`, `label`, ..."""
        if name.startswith("_") or name == "task_spec":  # not there yet while it is unpickled
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.task_spec, name)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Those of one statement as one, all counted per run."""
        tasks: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            tasks.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in tasks.items()]

    def __repr__(self) -> str:
        size, unit = unit_of(self.median)
        count, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.title]
        if self.task_spec.description:
            lines.append(self.task_spec.description)
        if self.task_spec.setup not in ("", "pass"):
            lines.append(f"setup: {self.task_spec.setup}")
        if count > 1:
            lines.append(f"  Median: {self.median / size:.2f} {unit}")
        if count > 3:
            low, high = (f"{each / size:.2f}" for each in self._quartiles)
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low} to {high})")
        if count == 1:
            lines.append(f"  {self.median / size:.2f} {unit}")
        measured = f"{count} measurement" + "s" * (count > 1)
        runs = f"{self.number_per_run} runs " + "per measurement" * (count > 1)
        lines.append(f"  {measured}, {runs}, {threads} thread" + "s" * (threads > 1))
        return "\n".join(lines)
