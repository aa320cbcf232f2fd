"""Thread-local modes: grad mode, inference mode, saved-tensor hooks, anomaly mode, watchers.

NOTE [One global for the hot path]
1. Almost every thread runs in the default mode almost always. So an op asks one module global,
   `modes.special`: the number of threads that deviate from the default at this moment.
2. While it is 0 nobody looks at thread-local state. While it is not, a call of an op goes through
   `engine.dispatch.run`, which reads `modes.state`, the calling thread's own.
3. Each thread counts itself in at most once, when `change` takes it from the default or back to it;
   one that ends in another mode is counted out by its `Member`.

NOTE [Who sees an op] Whoever sees ops stands in a tuple of the state, the newest last. While a
thread deviates, its call of an op meets them in this order, and nothing but the state decides it:
1. `function_modes`, then arguments that take calls over (`engine.overriding`);
2. `batches`: a batch among the inputs carries the op out, which is then called on what that holds;
3. `dispatchers`, of which the newest gives the results, and those before it see what it calls;
4. `watchers`, the newest outermost: the forward is called through them;
5. `tapes`, and the modes that say whether and how the call is recorded;
6. `levels`, the oldest first: they give the results their tangents, with the newer ones hidden;
7. `watchers`, the oldest first: they see the tensors that were made.

NOTE [Interrupts] A KeyboardInterrupt may strike anywhere, also while a context is being left.
1. `change` is done or has done nothing; `restore` is done in any case.
2. A context gives back what was there when it was entered, whatever it finds. So an outer context
   repairs what an inner one, struck before it could begin to do that, left undone.

This module knows nothing of tensors or graphs.
"""

from __future__ import annotations

import os
import threading
import warnings
from operator import is_, itemgetter
from typing import Any

from .locks import new_lock
from .version import named

__all__ = [
    "Changed", "State", "change", "determinism", "restore", "special", "state", "swap", "swap_back",
    "transforming",
]  # fmt: skip

# `State.kind`: in a batched call BATCHED is added to one of the first two.
DEFAULT, UNRECORDED, BATCHED, OTHER = 0, 1, 2, 4

special: int = 0
# Not empty once any thread entered inference mode: if it is, no tensor is one. C holds the list.
inference_seen: list[bool] = []
_lock = new_lock()


class State(threading.local):
    """What the calling thread has changed; the class attributes are the defaults.

    `grad` and `inference` are the two grad modes; `below` says that nothing is recorded whatever
    they say (`library.handlers`), and `records` what follows from the three; `saved_hooks` the
    stack of (pack, unpack) pairs;
    `saved_hooks_disabled` the message to raise instead of pushing one, or None; `anomaly` keeps
    forward traces and `check_nan` looks for NaN cotangents; `current_node` is the node whose
    formula runs now, in anomaly mode; `current_pass` the backward pass whose hooks run now;
    `watchers` see every op call (`transforms.watch`); `packing` is the node whose saved values pack
    hooks are given now; `before_write` is called with each tensor that is about to be written
    (`allow_mutation_on_saved_tensors`); `multithreading` is a flag that programs set and ask for;
    `depth` counts the Functions whose backward runs now; `levels` are the forward derivatives in
    progress (`engine.transforms`), oldest first, `paused` those that `_set_fwd_grad_enabled(False)`
    has put aside, or None; `batches` the batched calls (`transforms.batch`),
    `nested` the reverse-mode transforms (`func`), and `given` weak references to the tensors to
    which a write gave a history in the innermost one; `tapes` are told of every node
    that the thread records (`tape.recording`); `dispatchers` compute in place of forwards
    (`library.dispatch`); `absorb` lets a cotangent of 0 stay 0; `overriding`
    says whether arguments may take calls over, and `function_modes` are the modes that do
    (`engine.overriding`).
    `deviates` and `kind` sum up the rest: whether anything is changed that an op has to know, and
    whether that is only that nothing is recorded, or that a call is batched, of which ops know by
    their arguments.
    """

    grad: bool = True
    inference: bool = False
    below: bool = False
    records: bool = True
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_disabled: str | None = None
    anomaly: bool = False
    check_nan: bool = True
    current_node: Any = None
    current_pass: Any = None
    watchers: tuple[Any, ...] = ()
    packing: Any = None
    before_write: Any = None
    multithreading: bool = True
    depth: int = 0
    levels: tuple[Any, ...] = ()
    paused: tuple[Any, ...] | None = None
    batches: tuple[Any, ...] = ()
    nested: tuple[Any, ...] = ()
    given: Any = None
    tapes: tuple[Any, ...] = ()
    dispatchers: tuple[Any, ...] = ()
    absorb: bool = False
    overriding: int = 0
    function_modes: tuple[Any, ...] = ()
    deviates: bool = False
    kind: int = DEFAULT
    member: Any = None


state = State()


class Member:
    """A thread's part in `special`; it dies with the thread's state."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        self.counted = False

    def count(self, deviates: bool) -> None:
        """Add the calling thread to the count of threads in a mode, or take it out."""
        global special
        with _lock:
            special += deviates - self.counted
            self.counted = deviates

    def __del__(self) -> None:
        if self.counted and _lock is not None:  # as it is when the interpreter ends
            self.count(False)


def _after_fork() -> None:
    """Count anew in a forked child, to which only the thread that forked belongs."""
    global special
    special = int(state.deviates)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


DEVIATING = (
    "inference",
    "saved_hooks",
    "anomaly",
    "watchers",
    "levels",
    "tapes",
    "dispatchers",
    "absorb",
)
_defaults = {name: vars(State)[name] for name in State.__annotations__}
_deviating = itemgetter(*DEVIATING)


def change(**fields: Any) -> dict[str, Any]:
    """Set fields of the calling thread's state; return what they were, to be given back later."""
    if "inference" in fields and fields["inference"] and not inference_seen:
        inference_seen.append(True)
    own = state.__dict__  # the calling thread's; reading each field through `state` is slow
    if "member" not in own:
        own |= _defaults | own | {"member": Member()}
    before = {name: own[name] for name in fields}
    if all(map(is_, before.values(), fields.values())):
        return before
    try:
        own.update(fields)
        sum_up(own)
    except BaseException:
        change(**before)
        raise
    return before


def sum_up(own: dict[str, Any]) -> None:
    """Let the fields that follow from others of a thread's state fit these."""
    own["records"] = records = own["grad"] and not (own["inference"] or own["below"])
    other, batched = any(_deviating(own)), BATCHED if own["batches"] else 0
    own["kind"] = OTHER if other else batched + (DEFAULT if records else UNRECORDED)
    own["deviates"] = deviates = other or not records or batched > 0
    if deviates is not own["member"].counted:
        own["member"].count(deviates)


def restore(before: dict[str, Any]) -> None:
    """Give back what `change` returned, also if an interrupt strikes meanwhile."""
    try:
        change(**before)
    except BaseException:
        change(**before)
        raise


def swap(field: str, value: Any) -> Any:
    """Change one field, in half the time; return what it was, for `swap_back`."""
    own = state.__dict__
    if "member" not in own:
        return change(**{field: value})[field]
    before = own[field]
    if before is value:
        return before
    try:
        own[field] = value
        if field != "grad" or own["kind"] > UNRECORDED or own["below"]:
            sum_up(own)
        else:  # nothing else deviates
            own["records"], own["kind"] = value, DEFAULT if value else UNRECORDED
            own["deviates"] = not value
            own["member"].count(not value)
    except BaseException:
        change(**{field: before})
        raise
    return before


def swap_back(field: str, before: Any) -> None:
    """Give back what `swap` returned, also if an interrupt strikes meanwhile."""
    try:
        swap(field, before)
    except BaseException:
        change(**{field: before})
        raise


warned: set[str] = set()
warn_always = False  # whether `warn_once` warns every time


def warn_once(text: str, stacklevel: int = 3) -> None:
    """Warn of something of which once per process is enough."""
    if warn_always or text not in warned:
        warned.add(text)
        warnings.warn(named(text), UserWarning, stacklevel=stacklevel)


def set_warn_always(mode: bool) -> None:
    """Whether warnings that are given once per process are given every time from now on."""
    global warn_always
    warn_always = bool(mode)


def is_warn_always_enabled() -> bool:
    """Whether warnings that are otherwise given once per process are given every time."""
    return warn_always


class Determinism:
    """What the process was told about deterministic algorithms: `use_deterministic_algorithms`.

    All are deterministic but for memory that nobody has written, which is filled while `enabled`
    and `fill_uninitialized_memory` are both True. `warn_only` is kept for those who ask.
    """

    enabled: bool = False
    warn_only: bool = False
    fill_uninitialized_memory: bool = True


determinism = Determinism()


class Changed:
    """A context in which fields of the calling thread's state are changed."""

    __slots__ = ("before", "fields")

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __enter__(self) -> Any:
        self.before = change(**self.fields)

    def __exit__(self, *exc: object) -> None:
        restore(self.before)


def next_number() -> int:
    """The number of the function transform that the calling thread enters next: from 1 on."""
    return 1 + len(state.nested) + len(state.batches) + len(state.levels)


def transforming() -> bool:
    """Whether ops of the calling thread are more than their forwards.

    That is so in a forward derivative, in a batched call, and where a dispatcher computes.
    """
    return bool(special and (state.levels or state.batches or state.dispatchers))
