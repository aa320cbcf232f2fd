"""Names of PyTorch's private module `torch._C` that programs about autograd use.

Each is a door to something of this package; new programs need none of them.
"""

from __future__ import annotations

import contextlib
import enum
import threading
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ... import modes
from ..amp.autocast_mode import autocast
from ...autograd.forward_ad import _is_fwd_grad_enabled, _set_fwd_grad_enabled
from ...autograd.function import FunctionCtx, delayed
from ...autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ...autograd.gradcheck.backward_mode import Undefined
from ...autograd.graph import Node
from ..autograd.profiler import _profiler_enabled, kineto_available
from ...engine.backward.search import last_contributors, reachable
from ...engine.graph import LEAF, OUTPUT, AccumulateGrad, public_node, target
from ...engine.overriding import NO_SUBCLASSES, OFF, overloaded_args, overrides_nothing
from ...engine.saved import SavedTensor
from ...engine.tensor import Tensor, cell_of, device, node_of, wrote
from ...errors import LinAlgError as _LinAlgError
from ..library.custom import below_autograd as _below
from ...ops.creation.factories import get_default_device
from ...ops.random.generator import Generator
from ...ops.tensor.storage import UntypedStorage
from ..tables import define
from . import _functorch, _nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "_is_fwd_grad_enabled", "_set_fwd_grad_enabled", "is_grad_enabled", "is_inference_mode_enabled",
]  # fmt: skip

_FunctionBase = FunctionCtx
TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)
StorageBase = UntypedStorage

_has_cuda = _has_cudnn = _has_mps = _has_xpu = False  # kinds of accelerators

_disabled_torch_function_impl = overrides_nothing

_stash = threading.local()

NO_PASS = "{name} should only be called during the backward pass"


class DisableTorchFunctionSubclass(modes.Changed):
    """A context in which `__torch_function__` of modes is called, but not that of arguments.

    >>> class Mine(rg.Tensor):
    ...     pass
    >>> with rg._C.DisableTorchFunctionSubclass():
    ...     type(Mine([1.0]) * 2).__name__
    'Tensor'
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(overriding=max(modes.state.overriding, NO_SUBCLASSES))


class DisableTorchFunction(modes.Changed):
    """A context in which no `__torch_function__` is called, of arguments or of modes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(overriding=OFF)


class Value:
    """A value in a graph of TorchScript. Python itself runs a script here, so no object is one.

    >>> isinstance(rg.ones(1), rg._C.Value)
    False
    """

    def __init__(self) -> None:
        raise TypeError(f"torch._C.{type(self).__name__}: No constructor defined!")


class Graph(Value):
    """A graph of TorchScript, by which libraries annotate what they write for older exporters."""


class DispatchKeySet(enum.Flag):
    """Keys of operators' functions, and sets of them: of PyTorch's many, those of `amp.autocast`.

    >>> keys = rg._C.DispatchKey
    >>> both = rg._C.DispatchKeySet(keys.AutocastCPU) | rg._C.DispatchKeySet(keys.AutocastCUDA)
    >>> both.has(keys.AutocastCPU), both.has(keys.AutocastXPU)
    (True, False)
    """

    AutocastCPU = enum.auto()
    AutocastCUDA = enum.auto()
    AutocastXPU = enum.auto()

    has = enum.Flag.__contains__


DispatchKey = DispatchKeySet


class _ExcludeDispatchKeyGuard:
    """A region in which the functions of some keys do not run: without autocast of the cpu."""

    def __init__(self, keys: DispatchKeySet) -> None:
        cast = keys.has(DispatchKey.AutocastCPU)
        self.region: Any = autocast("cpu", enabled=False) if cast else contextlib.nullcontext()

    def __enter__(self) -> None:
        self.region.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.region.__exit__(*exc)


class _AutoDispatchBelowAutograd:
    """A region in which operators of programs run without their functions for autograd."""

    def __enter__(self) -> None:
        _below.depth = getattr(_below, "depth", 0) + 1

    def __exit__(self, *exc: object) -> None:
        _below.depth -= 1


def _is_alias_of(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors show the same storage.

    >>> x = rg.zeros(2, 3)
    >>> rg._C._is_alias_of(x[0], x.T), rg._C._is_alias_of(x, x.clone())
    (True, False)
    """
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


# Private functions of one expression.
define(
    globals(),
    {
        "_are_functorch_transforms_active": (
            lambda: bool(modes.state.batches or modes.state.nested),
            "Whether this thread is in a transform of `func`: in vmap, or where it differentiates.",
        ),
        "_get_accelerator": (
            lambda check=None: device("cpu"),
            "The device of an accelerator; the CPU, as there is none.",
        ),
        "_get_default_device": (
            lambda: get_default_device().type,
            'The kind of device of new tensors: "cpu", or "meta".',
        ),
        "_get_tracing_state": (lambda: None, "The tracer of the caller: there is none."),
        "_is_tracing": (lambda: False, "Whether the caller is being traced: never."),
        "_is_torch_function_enabled": (
            lambda: not modes.state.overriding,
            "Whether arguments may take calls over.",
        ),
        "_is_torch_function_all_disabled": (
            lambda: modes.state.overriding == OFF,
            "Whether neither arguments nor modes may take calls over.",
        ),
        "_is_torch_function_mode_enabled": (
            lambda: bool(modes.state.function_modes) and modes.state.overriding != OFF,
            "Whether a mode sees the calls of this thread.",
        ),
        "_len_torch_function_stack": (
            lambda: len(modes.state.function_modes),
            "The number of modes that see the calls of this thread.",
        ),
        "_get_overloaded_args": (
            lambda values: [] if modes.state.overriding else list(overloaded_args(values)),
            "The arguments that may take a call over, in the order in which they are asked.",
        ),
        "_log_api_usage_once": (lambda event: None, "Count the use of a library: not done."),
        "_set_multithreading_enabled": (
            lambda mode: modes.change(multithreading=bool(mode)),
            "Set the flag of `autograd.set_multithreading_enabled`.",
        ),
        "_is_multithreading_enabled": (
            lambda: modes.state.multithreading,
            "The flag of `autograd.set_multithreading_enabled`.",
        ),
        "_stash_obj_in_tls": (
            lambda key, value: setattr(_stash, key, value),
            "Keep an object for the calling thread.",
        ),
        "_get_obj_in_tls": (
            lambda key: getattr(_stash, key),
            "The object that the calling thread has kept under a key.",
        ),
        "_is_key_in_tls": (
            lambda key: hasattr(_stash, key),
            "Whether the calling thread has kept something under a key.",
        ),
    },
)


class _WeakTensorRef(weakref.ref[Tensor]):
    """A weak reference to a tensor."""

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self() is None


class _UndefinedGrad:
    """The identity on tensors, which passes no cotangent back."""

    def __call__(self, *tensors: Tensor) -> Any:
        """The tensors, each with a history that ends in None."""
        made = Undefined.apply(set(range(len(tensors))), *tensors)
        return made if len(tensors) > 1 else made[0]


class _DelayedError:
    """The identity on tensors, of which there are `count`; a cotangent of one raises an error."""

    def __init__(self, message: str, count: int) -> None:
        self.message, self.count = message, count

    def __call__(self, *tensors: Tensor) -> Any:
        """The tensors, each with a history that ends in the error."""
        edges = tuple(map(node_of, tensors))
        made = tuple([delayed(t, edges, self.message) for t in tensors[: self.count]])
        return made if self.count > 1 else made[0]


Node.register(_DelayedError)  # what it makes is one


def _current_graph_task_id() -> int:
    """The number of the backward pass that runs in this thread, or -1."""
    task = modes.state.current_pass
    return -1 if task is None else task.number


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes that the pass which runs now has yet to run, in order."""
    task = modes.state.current_pass
    if task is None:
        raise RuntimeError(NO_PASS.format(name="_current_graph_task_execution_order"))
    leaves = [leaf for leaf in task.leaves if leaf in task.grads]
    order = reachable([task.node, *(node for _, node in task.heap), *leaves])
    early = last_contributors(order)  # and the leaves with hooks that run right after
    hooked = {leaf for each in early.values() for leaf in each}
    order = [n for node in order if node not in hooked for n in (node, *early.get(node, ()))]
    needed = order if task.needed is None else task.needed
    return [public_node(node) for node in order if node.op is not OUTPUT and node in needed]


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the pass that runs now runs `node`, or has run it."""
    if not isinstance(node, Node):
        raise RuntimeError(
            f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}"
        )
    task = modes.state.current_pass
    if task is None:
        raise RuntimeError(NO_PASS.format(name="_will_engine_execute_node"))
    asked = node._node()  # type: ignore[attr-defined]  # those of this package have one
    if task.needed is None:
        return asked in reachable([root for root, _ in task.roots])
    if not task.accumulate and asked.op is LEAF:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return asked in task.needed


def _current_autograd_node() -> Any:
    """The node whose derivative, or one of whose hooks, is computed now, or None."""
    task = modes.state.current_pass
    node = None if task is None else task.node
    return None if node is None else target(node)[0]


def _increment_version(tensors: Sequence[Tensor]) -> None:
    """Count a write to each tensor."""
    for tensor in tensors:
        wrote(tensor, "_increment_version")


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set the versions of tensors: see `autograd._unsafe_preserve_version_counter`."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError("Cannot set a version_counter to a value below 0")
        cell = cell_of(tensor)
        cell.restore((version, *cell.state()[1:]))


def _set_grad_enabled(mode: bool) -> None:
    """Turn recording on or off."""
    modes.change(grad=bool(mode))


def _switch(name: str) -> Callable[[bool], bool]:
    """A function that sets a switch of PyTorch's compiler of scripts; nothing here reads it."""
    held = [True]

    def change(value: bool) -> bool:
        """Set it; what it was before.

        >>> rg._C._jit_set_profiling_mode(False), rg._C._jit_set_profiling_mode(True)
        (True, False)
        """
        before, held[0] = held[0], bool(value)
        return before

    change.__name__ = name
    return change


_jit_set_profiling_executor = _switch("_jit_set_profiling_executor")
_jit_set_profiling_mode = _switch("_jit_set_profiling_mode")


def _keep_graph() -> bool:
    task = modes.state.current_pass
    return task is None or bool(task.retain_graph)


def _push(pack_hook: Any, unpack_hook: Any) -> None:
    if modes.state.saved_hooks_disabled is not None:
        raise RuntimeError(modes.state.saved_hooks_disabled)
    modes.change(saved_hooks=(*modes.state.saved_hooks, (pack_hook, unpack_hook)))


def _top(ignore_is_tracing: bool = False) -> Any:
    hooks = modes.state.saved_hooks
    return hooks[-1] if hooks else None


_autograd = SimpleNamespace(
    SavedTensor=SavedTensor,
    _get_current_graph_task_keep_graph=_keep_graph,
    _pop_saved_tensors_default_hooks=lambda: modes.change(saved_hooks=modes.state.saved_hooks[:-1]),
    _profiler_enabled=_profiler_enabled,
    _push_saved_tensors_default_hooks=_push,
    _saved_tensors_hooks_disable=lambda message: modes.change(saved_hooks_disabled=message),
    _saved_tensors_hooks_enable=lambda: modes.change(saved_hooks_disabled=None),
    _saved_tensors_hooks_get_disabled_error_message=lambda: modes.state.saved_hooks_disabled,
    _saved_tensors_hooks_is_enabled=lambda: modes.state.saved_hooks_disabled is None,
    _top_saved_tensors_default_hooks=_top,
    _unsafe_set_version_counter=_unsafe_set_version_counter,
    kineto_available=kineto_available,
)
_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, DelayedError=_DelayedError, UndefinedGrad=_UndefinedGrad
)
