"""Profiles of training steps by PyTorch's names: `torch.profiler` over `autograd.profiler`.

NOTE [Steps]
1. `step()` says that a step is over; the schedule gives what the next one is for. Warmup steps are
   not recorded: nothing here needs to warm up.
2. After a step that is RECORD_AND_SAVE, `on_trace_ready` is called; until the next such step,
   results are those of the steps recorded before it. Without a schedule, it is called at the end.
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import tempfile
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..autograd.profiler import kineto_available, record_function
from ..autograd.profiler import profile as _profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..autograd.profiler_util import EventList

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function",
    "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

NOTHING = "profile(): no step has been recorded yet. Ask after the context, or in on_trace_ready"


class ProfilerActivity(Enum):
    """The devices that PyTorch can profile; here it is the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """The purpose of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The devices that can be profiled here.

    >>> rg.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what it is for.

    After `skip_first` steps, `wait` steps are left out, `warmup` too, and `active` recorded; so
    `repeat` times, for ever if it is 0. With `skip_first_wait`, the first round has no `wait`.
    Raises AssertionError for negative numbers, and unless some step is active. Source: PyTorch's
    `profiler.schedule`.

    >>> plan = rg.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise AssertionError(
            "Invalid profiler schedule arguments: wait, warmup, repeat and skip_first are at least "
            f"0, active at least 1, got {(wait, warmup, repeat, skip_first, active)}"
        )

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if step < 0 or (repeat and step // length >= repeat):
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return plan


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes each trace to a file of its own in a folder.

    The file is one for chrome://tracing and Perfetto, and where TensorBoard's plugin looks for it.
    """

    def write(made: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".pt.trace.json" + ".gz" * use_gzip
        made.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{end}"))

    return write


class profile:  # noqa: N801 (PyTorch's name)
    """Times op calls and nodes of backward passes, in chosen steps: NOTE [Steps].

    activities: what to watch, of which only the CPU is here; schedule: what each step is for;
    on_trace_ready: called with this object when steps are recorded. The other arguments and results
    are those of `autograd.profiler.profile`; `with_modules` and `acc_events` change
    nothing. Source: PyTorch's `profiler.profile`.

    >>> plan = rg.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    >>> def told(prof):
    ...     print(prof.step_num, [event.key for event in prof.key_averages()])
    >>> with rg.profiler.profile(schedule=plan, on_trace_ready=told) as prof:
    ...     for _ in range(3):
    ...         _ = rg.ones(2).exp()
    ...         prof.step()
    2 ['exp']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(activities or supported_activities())
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.step_num = 0
        self.current_action = self._action()
        self._running: Any = None
        self._made: Any = None

    def _action(self) -> ProfilerAction:
        if self.schedule is None:
            return ProfilerAction.RECORD_AND_SAVE
        return self.schedule(self.step_num)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin; the context does so itself."""
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._running = _profile(
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
            )
            self._running.__enter__()

    def stop(self) -> None:
        """End; what has been recorded is handed to `on_trace_ready`."""
        if self._running is not None:
            self._end()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def _end(self) -> None:
        self._running.__exit__(None, None, None)
        self._made, self._running = self._running, None

    def step(self) -> None:
        """A step is over, and the next one begins: NOTE [Steps]."""
        before, self.step_num = self.current_action, self.step_num + 1
        if self.schedule is None:
            return
        self.current_action = self._action()
        if before is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        if self._running is None:
            self.start()
        elif self.current_action not in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._end()

    def _results(self) -> Any:
        if self._made is None:
            raise AssertionError(NOTHING)
        return self._made

    def events(self) -> EventList:
        """All events of the steps recorded last, in the order in which they began."""
        return self._results().function_events  # type: ignore[no-any-return]

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **_: Any
    ) -> EventList:
        """One average for each name: see `EventList.key_averages`."""
        return self._results().key_averages(group_by_input_shape, group_by_stack_n)  # type: ignore[no-any-return]

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for chrome://tracing or Perfetto, packed if it ends by .gz."""
        if not path.endswith(".gz"):
            self._results().export_chrome_trace(path)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            self._results().export_chrome_trace(plain)
            with open(plain, "rb") as source, gzip.open(path, "wb") as file:
                shutil.copyfileobj(source, file)
