"""Times a statement with a number of threads of our own choosing."""

from __future__ import annotations

import time
import timeit
from typing import TYPE_CHECKING, Any

from ....kernels.native.threads import set_threads, threads
from ....locks import load
from .measurement import Measurement, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timer"]


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
        self._task_spec = TaskSpec(
            stmt, setup, label, sub_label, description, env, num_threads=num_threads
        )

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

    def _block(self, seconds: float) -> int:
        """How many runs take so long."""
        number = 1
        while self._time(number) < seconds:
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs each as make the clock's own time small.

        They last `min_run_time` seconds at least. `callback` is called with the number of runs and
        the time of each.
        """
        made = Measurement(self._block(min_run_time / 1000), [], self._task_spec)
        while not made.raw_times or sum(made.raw_times) < min_run_time:
            self._measure(made, callback)
        return made

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As `blocked_autorange`, until the quartiles are within `threshold` of the median.

        Four measurements at least, and no further one after `max_run_time` seconds.
        """
        made = self.blocked_autorange(callback, min_run_time)
        while len(made.times) < 4 or (
            made.iqr > threshold * made.median and sum(made.raw_times) < max_run_time
        ):
            self._measure(made, callback)
        return made

    def _measure(self, made: Measurement, callback: Callable[[int, float], Any] | None) -> None:
        """Add one measurement of as many runs as the others have."""
        made.raw_times.append(self._time(made.number_per_run))
        if callback is not None:
            callback(made.number_per_run, made.raw_times[-1])
