"""How long statements take, by PyTorch's names over Python's `timeit`: `torch.utils.benchmark`."""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....kernels.native.threads import set_threads, threads
from ....locks import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer"]

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@dataclass(frozen=True)
class TaskSpec:
    """The statement that is timed, and the names under which `Compare` lists it."""

    stmt: str
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the further label."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")


def unit_of(seconds: float) -> tuple[float, str]:
    """The unit that suits a time, in seconds, and its name."""
    return next((unit for unit in UNITS if seconds >= unit[0]), UNITS[-1])


@dataclass
class Measurement:
    """`raw_times`, in seconds, each of `number_per_run` runs of a statement.

    >>> from retrograd.utils.benchmark import Measurement, TaskSpec
    >>> made = Measurement(2, [1.0, 3.0, 2.0], TaskSpec("x + 1"))
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
        """The distance between the first and the third quartile of the times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __getattr__(self, name: str) -> Any:
        """The fields of `task_spec`: `stmt`, `setup`, `label`, ..."""
        if name.startswith("_") or name == "task_spec":  # not there yet while it is unpickled
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.task_spec, name)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each statement, with the times of all its measurements."""
        tasks: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            tasks.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in tasks.items()]

    def __repr__(self) -> str:
        (size, unit), threads = unit_of(self.median), self.task_spec.num_threads
        lines = [object.__repr__(self), self.title, self.task_spec.description or ""]
        lines.append(f"  Median: {self.median / size:.2f} {unit}")
        lines.append(f"  IQR:    {self.iqr / size:.2f} {unit}")
        counts = (len(self.raw_times), "measurement"), (self.number_per_run, "run")
        lines.append("  " + ", ".join(f"{n} {what}s" for n, what in (*counts, (threads, "thread"))))
        return "\n".join(filter(None, lines))


class Timer:
    """Measures how long `stmt` takes, after `setup`, with the names in `globals`.

    The package is known to both as `torch` and as `retrograd`. num_threads: of the loops over large
    arrays, while it is measured; label, sub_label, description, env: how `Compare` calls it.
    Raises ValueError for another language than Python. Source: PyTorch's `benchmark.Timer`.

    >>> timer = rg.utils.benchmark.Timer("x + 1", globals={"x": rg.ones(2)})
    >>> made = timer.timeit(10)
    >>> made.number_per_run, len(made.raw_times), made.median > 0
    (10, 1, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "python",
    ) -> None:
        if str(language).lower() not in ("py", "python") or global_setup:
            raise ValueError("Timer(): only statements of Python are timed. Leave language out")
        package = load("retrograd")
        names = {"torch": package, "retrograd": package, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)

    def _time(self, number: int) -> float:
        before = threads()
        set_threads(self._task_spec.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs."""
        self._time(max(number // 100, 2))
        return Measurement(number, [self._time(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Absent, as in PyTorch: raises NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs each as make the clock's own time small.

        They last `min_run_time` seconds at least. `callback` is called with the number of runs and
        the time of each.
        """
        number = 1
        while self._time(number) < min_run_time / 1000:
            number *= 10
        made = Measurement(number, [], self._task_spec)
        while not made.raw_times or sum(made.raw_times) < min_run_time:
            made.raw_times.append(self._time(number))
            if callback is not None:
                callback(number, made.raw_times[-1])
        return made


class Compare:
    """A table of median times for each label, in the unit of the shortest.

    It has a row for each statement and a column for each description.

    >>> from retrograd.utils.benchmark import Compare, Measurement, TaskSpec
    >>> Compare([Measurement(1, [2e-3], TaskSpec("f(x)", description="old")),
    ...          Measurement(1, [1e-3], TaskSpec("f(x)", description="new"))]).print()
    Times in ms  |  old  |  new
    f(x)         |  2.0  |  1.0
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
        tables: dict[str, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            tables.setdefault(each.task_spec.label or "", []).append(each)
        return "\n\n".join(table(label, found) for label, found in tables.items())


def table(label: str, results: list[Measurement]) -> str:
    """The table of one label."""
    size, unit = unit_of(min(each.median for each in results))
    heads = list(dict.fromkeys(each.task_spec.description or "" for each in results))
    rows: dict[str, list[str]] = {f"{label} Times in {unit}".strip(): heads}
    for each in sorted(results, key=lambda each: each.task_spec.num_threads):
        task = each.task_spec
        many = f" ({task.num_threads} threads)" if task.num_threads > 1 else ""
        name = " ".join(filter(None, [task.env, task.sub_label or task.stmt])) + many
        row = rows.setdefault(name, [""] * len(heads))
        row[heads.index(task.description or "")] = f"{each.median / size:.1f}"
    first = max(map(len, rows))
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    return "\n".join(
        "  |  ".join([name.ljust(first), *map(str.rjust, row, widths)]).rstrip()
        for name, row in rows.items()
    )
