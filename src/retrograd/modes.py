"""Thread-local modes: grad mode, inference mode, saved-tensor hooks, anomaly mode.

NOTE [One global for the hot path]
1. Almost every thread runs in the default mode almost always. So an op asks one module global,
   `modes.special`: the number of threads that deviate from the default at this moment.
2. While it is 0 nobody looks at thread-local state. While it is not, an op takes the careful path
   (`engine.record.finish`), which reads `modes.state`, the calling thread's own.
3. Each thread counts itself in at most once, when `change` takes it from the default or back to it.

This module knows nothing of tensors or graphs.
"""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["State", "change", "special", "state"]

special: int = 0
inference_seen = False  # whether any thread ever entered inference mode: if not, no tensor is one
_lock = threading.Lock()


class State(threading.local):
    """What the calling thread has changed; the class attributes are the defaults.

    `grad` and `inference` are the two grad modes; `saved_hooks` the stack of (pack, unpack) pairs;
    `saved_hooks_disabled` the message to raise instead of pushing one, or None; `anomaly` keeps
    forward traces and `check_nan` looks for NaN cotangents; `current_node` is the node whose
    formula runs now, in anomaly mode; `current_pass` the backward pass whose hooks run now.
    """

    grad: bool = True
    inference: bool = False
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_disabled: str | None = None
    anomaly: bool = False
    check_nan: bool = True
    current_node: Any = None
    current_pass: Any = None
    deviates: bool = False


state = State()


def change(**fields: Any) -> dict[str, Any]:
    """Set fields of the calling thread's state; return what they were, to be given back later."""
    global special, inference_seen
    if fields.get("inference"):
        inference_seen = True
    before = {name: getattr(state, name) for name in fields}
    for name, value in fields.items():
        setattr(state, name, value)
    deviates = not (
        state.grad and not state.inference and not state.saved_hooks and not state.anomaly
    )
    if deviates is not state.deviates:
        state.deviates = deviates
        with _lock:
            special += 1 if deviates else -1
    return before
