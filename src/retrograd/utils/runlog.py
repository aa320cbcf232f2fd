"""The logs of `checkpoint(..., debug=True)`: which ops ran, and from where, in both runs."""

from __future__ import annotations

from typing import Any

from ..engine.trace import where
from .recompute import CheckpointError, CheckpointWatcher

__all__ = ["Log", "reported"]

REPORT = """An error happened while unpacking tensors; dumping logs of latest computation because \
you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

1. Stack traces of the operators that ran in the original forward

{forward_traces}
2. Stack traces of the operators that ran during recomputation

{again_traces}
3. Log of operators in the original forward and recomputation

Operations executed during the original forward:

{forward_log}

Operations executed during recomputation:

{again_log}

ERROR: Detected non-determinism while running activation checkpointing. Compare the two logs \
above: the traces say where each operation was called.
{error}"""


class Log(CheckpointWatcher):
    """The ops that ran, with shapes and the places of their calls."""

    def __enter__(self) -> Any:
        self.lines: list[str] = []
        self.traces: list[str] = []
        return super().__enter__()

    def compute(self, op: Any, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """Log a call, and run its forward."""
        shapes = ", ".join("None" if a is None else str(list(a.shape)) for a in arrays)
        self.lines.append(f"{op.name}({shapes})")
        self.traces.append(where())
        return proceed(arrays, params)

    def traced(self, run: str) -> str:
        """The text of the log: every call and where it was made."""
        return "\n".join(
            f"{line}   ({number} of {len(self.lines)} in {run})\n{trace}"
            for number, (line, trace) in enumerate(zip(self.lines, self.traces, strict=True), 1)
        )


def reported(logs: tuple[Log, Log], error: CheckpointError) -> CheckpointError:
    """`error` with the logs of both runs."""
    forward, again = logs
    return CheckpointError(
        REPORT.format(
            forward_traces=forward.traced("original"),
            again_traces=again.traced("recompute"),
            forward_log="\n".join(forward.lines),
            again_log="\n".join(again.lines),
            error=error,
        )
    )
