"""Where the time goes: `profile` notes every op call and every node of a backward pass.

NOTE [What is measured]
1. An op's event is its computation on arrays, under the op's name: composed functions appear as the
   ops they consist of. What the engine adds around it belongs to the event around, or to nobody.
2. A node's event is its formulas, under the node's name (`MulBackward0`); with `create_graph` the
   formulas are op calls, and the node's event holds theirs. A leaf's is `AccumulateGrad`.
3. Memory is that of new results; a result that shares memory with an input counts nothing.
4. Only the thread that enters `profile` is watched, and nothing costs anything while none is.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import modes
from ...engine.tensor import Tensor
from ...engine.trace import PACKAGE
from ...engine.transforms.watch import Watcher
from ...locks import load as _load
from .profiler_util import EventList, FunctionEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...engine.graph import Node
    from ...engine.op import Op

__all__ = ["emit_nvtx", "kineto_available", "profile", "record_function"]

UNFINISHED = "Profiler didn't finish running: leave its context before asking for results."
NO_CUDA = "CUDA is not available, disabling CUDA profiling: the cpu is profiled. Leave use_cuda out"
NO_MARKS = (
    "Torch not compiled with CUDA enabled: emit_nvtx marks ops for profilers of CUDA. "
    "Use autograd.profiler.profile, and its export_chrome_trace"
)
TWICE = "Profiler context manager is not reentrant: make a new profile() for another block."


class Recorder(Watcher):
    """Notes events; those under way are on a stack, which ends are matched with."""

    def __init__(
        self, record_shapes: bool, profile_memory: bool, with_stack: bool, with_flops: bool
    ) -> None:
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.events: list[FunctionEvent] = []
        self.under_way: list[FunctionEvent] = []

    def begin(self, name: str, kind: str) -> FunctionEvent:
        """Begin an event and return it."""
        event = FunctionEvent(len(self.events), name, threading.get_ident(), kind=kind)
        if self.under_way:
            self.under_way[-1].add_child(event)
        if self.with_stack:
            event.stack = lines()
        self.events.append(event)
        self.under_way.append(event)
        event.time_range.start = now()
        return event

    def end(self, event: FunctionEvent) -> None:
        """Let an event end now, and those inside it that an error left open."""
        moment = now()
        while event in self.under_way:
            self.under_way.pop().time_range.end = moment

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """Note an op call; one that fails (and may then be tried another way) is taken back."""
        event = self.begin(op.name, "op")
        try:
            results = proceed(arrays, params)
        except BaseException:
            self.end(event)
            self.take_back(event)
            raise
        self.end(event)
        if self.record_shapes:
            event.input_shapes = shapes(arrays)
        if self.profile_memory:
            event.memory = new_bytes(results, arrays)
        if self.with_flops:
            event.flops = op.flops(results, *arrays, **params)
        return results

    def take_back(self, event: FunctionEvent) -> None:
        """Drop the newest event."""
        if self.events[-1] is event:
            self.events.pop()
            if event.cpu_parent is not None:
                event.cpu_parent.cpu_children.pop()

    def differentiate(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        """Note a node."""
        event = self.begin(node.name(), "node")
        event.sequence_nr = node.seq
        try:
            contributions = proceed()
        finally:
            self.end(event)
        given = g if isinstance(g, tuple) else (g,)
        if self.record_shapes:
            event.input_shapes = shapes(given)
        if self.profile_memory and contributions is not None:
            event.memory = new_bytes(tuple(contributions), given)
        return contributions


def now() -> float:
    """Microseconds on a clock that only runs forward."""
    return time.perf_counter_ns() / 1000


def lines() -> list[str]:
    """The lines that led here, innermost first, without this package's own at the end."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(PACKAGE):
        frames.pop()
    return [f"{frame.filename}({frame.lineno}): {frame.name}" for frame in reversed(frames)]


def shapes(values: Iterable[Any]) -> list[list[int]]:
    """The shape of each array or tensor; [] for what is absent."""
    return [list(getattr(value, "shape", ())) for value in values]


def new_bytes(results: Any, given: Iterable[Any]) -> int:
    """The bytes of those results that share no memory with what was given."""
    sources = [array_of(value) for value in given]
    arrays = [array_of(r) for r in (results if isinstance(results, tuple) else (results,))]
    return sum(
        array.nbytes
        for array in {id(array): array for array in arrays if array is not None}.values()
        if not any(s is not None and np.may_share_memory(array, s) for s in sources)
    )


def array_of(value: Any) -> Any:
    """The array of a tensor, or an array itself; None for anything else."""
    array = value._array if isinstance(value, Tensor) else value
    return array if isinstance(array, (np.ndarray, np.generic)) else None


def of_events(name: str) -> Any:
    """A property: what the events of a profile have by this name."""
    return property(
        lambda self: getattr(self.function_events, name), doc=f"See `EventList.{name}`."
    )


class profile:  # noqa: N801 (PyTorch's name)
    """Within this context, every op call and every node of a backward pass is timed.

    `enabled=False` does nothing. `record_shapes` keeps the shapes of inputs (for
    `key_averages(group_by_input_shape=True)`), `profile_memory` the bytes of results, `with_flops`
    the operations of products, `with_stack` the lines that called (slow); the other arguments
    are accepted, `use_cuda=True` with a warning: there is no GPU to profile. Only the calling
    thread is profiled. Raises RuntimeError where it is entered twice, or asked for results
    before it ended. Source: PyTorch's `autograd.profiler.profile`; events are named by
    Retrograd's ops.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.autograd.profiler.profile() as prof:
    ...     (x * x).exp().sum().backward()
    >>> sorted(event.key for event in prof.key_averages() if "Backward" in event.key)
    ['ExpBackward0', 'MulBackward0', 'SumBackward0']
    >>> "Self CPU time total" in prof.key_averages().table(sort_by="count", row_limit=3)
    True
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        use_device: str | None = None,
        with_flops: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
    ) -> None:
        if use_device not in (None, "cpu") or not use_cpu:
            raise RuntimeError(
                f"profile(): there is nothing but the cpu to profile, not {use_device or 'no cpu'}."
                " Leave use_device and use_cpu out"
            )
        if use_cuda:
            warnings.warn(NO_CUDA, UserWarning, stacklevel=2)
        self.enabled = enabled
        self.recorder = Recorder(record_shapes, profile_memory, with_stack, with_flops)
        self.entered = False
        self.found: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(TWICE)
        self.entered = True
        self.recorder.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            recorder = self.recorder
            recorder.__exit__(*exc)
            if recorder.under_way:
                recorder.end(recorder.under_way[0])
            self.found = EventList(recorder.events, recorder.profile_memory)

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        if self.found is None:
            raise RuntimeError(UNFINISHED)
        return self.found

    self_cpu_time_total = of_events("self_cpu_time_total")
    key_averages = of_events("key_averages")
    total_average = of_events("total_average")
    table = of_events("table")
    export_chrome_trace = of_events("export_chrome_trace")

    def __str__(self) -> str:
        return "<unfinished profile>" if self.found is None else str(self.found)


def __getattr__(name: str) -> Any:
    """Say why what PyTorch's module has is not here."""
    why = _load("retrograd.torch.names.missing").reason(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")


def kineto_available() -> bool:
    """Whether PyTorch's tracing library is there: never."""
    return False


def _profiler_enabled() -> bool:
    """Whether a profile watches the calling thread."""
    return any(isinstance(watcher, Recorder) for watcher in modes.state.watchers)


class record_function(contextlib.ContextDecorator):  # noqa: N801 (PyTorch's name)
    """A named block in the profiles of the calling thread; also a decorator.

    Everything inside counts as called by it. `args` is shown in the trace. Source: PyTorch's
    `record_function`.

    >>> with rg.autograd.profiler.profile() as prof, rg.autograd.profiler.record_function("mine"):
    ...     _ = rg.ones(2).exp()
    >>> [(event.name, [child.name for child in event.cpu_children])
    ...  for event in prof.function_events]
    [('mine', ['exp']), ('exp', [])]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.open: list[tuple[Recorder, FunctionEvent]] = []

    def _recreate_cm(self) -> record_function:
        return type(self)(self.name, self.args)  # a decorated function may call itself

    def __enter__(self) -> record_function:
        for watcher in modes.state.watchers if modes.special else ():
            if isinstance(watcher, Recorder):
                event = watcher.begin(self.name, "user")
                event.args = self.args
                self.open.append((watcher, event))
        return self

    def __exit__(self, *exc: object) -> None:
        for recorder, event in self.open:
            recorder.end(event)
        self.open.clear()


class emit_nvtx:  # noqa: N801 (PyTorch's name)
    """PyTorch's marks for profilers of CUDA: a context that is entered only where not `enabled`.

    Raises AssertionError where it is, as a PyTorch without CUDA does.

    >>> with rg.autograd.profiler.emit_nvtx(enabled=False):
    ...     pass
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        if self.enabled:
            raise AssertionError(NO_MARKS)

    def __exit__(self, *exc: object) -> None:
        pass
