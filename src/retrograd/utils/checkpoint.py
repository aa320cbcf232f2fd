"""Checkpoints: activations that are computed again in the backward pass instead of being kept.

Two ways: `use_reentrant=False` replaces saved values (`recompute` has the machinery, `selective`
the policies that keep some results, `runlog` the logs of debugging); `use_reentrant=True` is a
Function (`reentrant`). Names and behaviour are those of PyTorch's module.

This module knows no operation by name.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .. import modes, providers
from ..autograd.graph import saved_tensors_hooks
from ..engine.placement import as_device, device
from ..nn import Sequential
from ..ops.random.generator import fork_rng, get_rng_state, set_rng_state
from .recompute import Arguments, CheckpointError, Frame, GraphExecGroup
from .reentrant import CheckpointFunction, check_backward_validity, detach_variable
from .runlog import Log, reported
from .selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

if TYPE_CHECKING:
    from ..engine.tensor import Tensor

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint",
    "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable",
    "get_device_states", "noop_context_fn", "recompute_grad", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

IMPLICIT = (
    "torch.utils.{name}: the use_reentrant parameter should be passed explicitly. "
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
    "you can pass use_reentrant=True."
)
ONLY_PLAIN = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
    "raised during the checkpointed forward. This is not supported because checkpoint cannot "
    "return a value for a failed forward."
)
CHECKS = ("default", "none")


class Settings:
    """What the two context managers below override; None leaves it to the call."""

    early_stop: bool | None = None
    debug: bool | None = None


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing, for the forward and for the run again.

    >>> len(rg.utils.checkpoint.noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function and keep only its arguments; the backward pass computes the rest again.

    The backward pass runs the function again. `preserve_rng_state`: with the default generator at
    the place where it was, so that the same numbers are drawn.

    With `use_reentrant=False` (recommended) everything works as without a checkpoint: `grad`,
    `inputs=`, gradients of gradients, keyword arguments, checkpoints inside checkpoints. The run
    again ends as soon as all saved values are there (`early_stop`). `determinism_check="default"`
    raises CheckpointError if it saved other ops' values, or of another shape or dtype, than the
    forward; their number is always compared. With `debug` that error lists the ops of both runs.
    `context_fn` returns two contexts, for the forward and for the run again: see
    `create_selective_checkpoint_contexts`.

    With `use_reentrant=True` the function runs without recording, and `.backward()` without
    `inputs=` is all that works; a tensor among `args` must require grad. None, the default, warns
    and means True.

    Raises ValueError for keywords that do not go with the kind of checkpoint; in the backward pass
    VersionError if an argument was written. Source: PyTorch's `checkpoint`.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = rg.utils.checkpoint.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    >>> y.sum().backward(); x.grad
    tensor([  5.4366, 218.3926])
    """
    if use_reentrant is None:
        warnings.warn(IMPLICIT.format(name="checkpoint"), UserWarning, stacklevel=2)
        use_reentrant = True
    if modes.state.function_modes:  # of which `autocast` may be one
        function = providers.service("autocast").as_now(function)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(ONLY_PLAIN)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    report = None
    if debug if Settings.debug is None else Settings.debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        logs = Log(), Log()
        context_fn, report = lambda: logs, functools.partial(reported, logs)
    if determinism_check not in CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}"
        )
    forward_context, context = context_fn()
    if not modes.state.records:
        return function(*args, **kwargs)
    state = get_rng_state() if preserve_rng_state else None
    frame = Frame(
        functools.partial(run_again, function, context, state),
        Arguments(args, kwargs),
        early_stop if Settings.early_stop is None else Settings.early_stop,
        determinism_check == "default",
        report,
    )
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(SUPPRESSED)
    return result


def run_again(
    function: Callable[..., Any], context: Any, state: Any, args: Any, kwargs: Any
) -> None:
    """Run a checkpointed function, drawing the random numbers that it drew from `state`."""
    with fork_rng(enabled=state is not None):
        if state is not None:
            set_rng_state(state)
        with context:
            function(*args, **kwargs)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool | None) -> Iterator[None]:
    """Within this context, `early_stop` of each `checkpoint` call is `enable` (None: as passed).

    What counts is where the forward runs; the backward pass may run outside. Source: PyTorch's.

    >>> calls, x = [], rg.ones(1, requires_grad=True)
    >>> with rg.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = rg.utils.checkpoint.checkpoint(
    ...         lambda x: (x.exp(), calls.append("end"))[0], x, use_reentrant=False
    ...     )
    >>> y.backward(); calls
    ['end', 'end']
    """
    before, Settings.early_stop = Settings.early_stop, enable
    try:
        yield
    finally:
        Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Within this context, `debug` of each `checkpoint` call is `enabled` (None: as passed).

    >>> with rg.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     pass
    """
    before, Settings.debug = Settings.debug, enabled
    try:
        yield
    finally:
        Settings.debug = before


# -- sequences -------------------------------------------------------------------------------------


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Apply functions one after the other, in `segments` parts, all but the last checkpointed.

    functions: a Sequential or a sequence of functions, each of one value. Keywords are those of
    `checkpoint`; others raise ValueError. Source: PyTorch's `checkpoint_sequential`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> y = rg.utils.checkpoint.checkpoint_sequential(
    ...     [rg.sin, rg.cos, rg.exp], 2, x, use_reentrant=False
    ... )
    >>> y.sum().backward(); x.grad
    tensor([-0.7844, -0.7844])
    """
    if use_reentrant is None:
        name = "checkpoint.checkpoint_sequential"
        warnings.warn(IMPLICIT.format(name=name), UserWarning, stacklevel=2)
        use_reentrant = True
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children() if isinstance(functions, Sequential) else functions)
    size, last = len(functions) // segments, 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        input = checkpoint(
            functools.partial(in_turn, functions[start:last]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return in_turn(functions[last:], input)


def in_turn(functions: list[Callable[[Any], Any]], value: Any) -> Any:
    """The value that comes out when each function is given the result of the one before."""
    for function in functions:
        value = function(value)
    return value


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with a checkpoint: its values are not kept, and the backward pass runs `f` again.

    `checkpoint(f, ..., use_reentrant=False)` by the name and in the form of TensorFlow, whose
    documented behaviour it follows. `retrograd.recompute_grad` is this.

    >>> block = rg.recompute_grad(lambda x: (x * x).exp())
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.GradientTape() as tape:
    ...     y = block(x)
    >>> tape.gradient(y, x)
    tensor([  5.4366, 218.3926])
    """

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(functools.partial(f, **kwargs), *args, use_reentrant=False)

    return recomputed


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The accelerators of the tensors among `args`, and the states of their generators: none.

    >>> get_device_states(rg.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(
    devices: Iterable[Any], states: Iterable[Tensor], *, device_type: str | None = None
) -> None:
    """Set the generators of accelerators to what `get_device_states` gave, which is nothing.

    Raises AssertionError for a device that is not here.
    """
    for each in devices:
        as_device(device(device_type or "cuda", each))
