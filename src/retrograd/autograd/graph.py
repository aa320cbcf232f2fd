"""The graph as users may look at it and act on it: nodes, edges, hooks on saved values and groups.

Everything here works through the engine's own state: the modes of the calling thread, the hooks of
nodes, the version cells of tensors.
"""

from __future__ import annotations

import abc
import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, modes
from ..engine.backward import traversal as engine
from ..engine.backward.accumulation import accumulate
from ..engine.backward.fitting import fit
from ..engine.backward.hooks import RemovableHandle, hooks_of
from ..engine.backward.search import reachable
from ..engine.graph import LEAF, node_method, output_node, target
from ..engine.graph import Node as EngineNode
from ..engine.namespaces import arrays, recorded
from ..engine.placement import CPU
from ..engine.tensor import Tensor, new_tensor, node_of, wrote
from ..kernels.allocation import copied
from ..locks import new_lock
from .mutation import allow_mutation_on_saved_tensors

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class Node(abc.ABC):
    """The type of the nodes in `grad_fn` and `next_functions`, for `isinstance`.

    Has `name()`, `next_functions`, `metadata`, `register_hook`, `register_prehook`.

    >>> isinstance(rg.ones(1, requires_grad=True).exp().grad_fn, rg.autograd.graph.Node)
    True
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the node's type, as `MulBackward0`."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes to which this one passes cotangents, each with an output number."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(contributions, cotangents)` when the node has run."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(cotangents)` before the node runs."""


Node.register(EngineNode)


class InputMetadata:
    """Shape, dtype and device of what a node receives in the backward pass."""

    device = CPU
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: Sequence[int], dtype: dtypes.dtype) -> None:
        self.shape, self.dtype = [*shape], dtype


@property  # type: ignore[misc]
def input_metadata(self: EngineNode) -> tuple[InputMetadata, ...]:
    """What the node receives, one entry per output of its forward."""
    many = self.op.grad_outputs != 1
    layout = self.layout if many else ((self.shape, self.dtype),)
    return tuple(InputMetadata(entry[0], dtypes.of_numpy(entry[1])) for entry in layout if entry)


EngineNode._input_metadata = input_metadata  # type: ignore[attr-defined]


@node_method
def __call__(self: EngineNode, *grad_outputs: Tensor | None) -> Any:  # noqa: N807 (a method)
    """What the node contributes to its inputs, given the cotangents of its outputs.

    One tensor (or None) per input, or that tensor alone if there is only one. No hooks run, and
    nothing is freed; what is computed is recorded where gradients are. The node of a leaf adds to
    `.grad`, calls what waits for that, and gives nothing. Raises TypeError for another number of
    cotangents, and for what is no tensor.

    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> (x ** 2).grad_fn(rg.tensor(1.0))
    tensor(6., grad_fn=<MulBackward0>)
    """
    expected = 1 if self.op.grad_outputs == 1 else len(self.layout)
    if len(grad_outputs) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(grad_outputs)} instead")
    for g in grad_outputs:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"expected Variable or None (got {type(g).__name__})")
    record = modes.state.grad
    parts = grad_outputs if record else [None if g is None else g._array for g in grad_outputs]
    task = engine.Pass({}, set(), [], [], True, record, True)
    if self.op is LEAF:
        if parts[0] is not None:
            accumulate(self, parts[0], True, record)
            leaf = self.saved.tensor()
            if leaf is not None and self.hooks is not None:
                self.hooks.after_accumulation(leaf, task)
        return ()
    xp = recorded if record else arrays
    made: list[Tensor | None] = []
    for edge, c in zip(self.edges, task.vjp(self, _one_or_all(tuple(parts))), strict=True):
        if c is None or edge is None:
            made.append(None)
            continue
        fitted = fit(c, edge, self, xp)
        made.append(fitted if isinstance(fitted, Tensor) else new_tensor(copied(fitted)))
    return _one_or_all(tuple(made))


def _one_or_all(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


class GradientEdge(NamedTuple):
    """A place in the graph where a cotangent arrives: a node and the number of its output.

    `ownership_token` is not to be read; it keeps alive what the place consists of.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of `tensor` arrives; for a leaf, that of its accumulator.

    Raises RuntimeError for a tensor without gradient.

    >>> x = rg.ones(2, requires_grad=True)
    >>> rg.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if tensor._node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients. Ask for one before the forward pass: x.requires_grad_()"
        )
    own: Any = node_of(tensor)
    node, number = target(own)
    return GradientEdge(node, number, own)


def stand_in(edge: GradientEdge) -> Tensor:
    """A tensor of zeros with the edge's place in the graph, which takes no memory."""
    node, number = edge.node._node(), edge.output_nr
    if node is None:
        raise RuntimeError(
            "the graph of this GradientEdge is gone: keep the tensor, or what get_gradient_edge "
            "returned for it"
        )
    if node.layout is not None and node.op.grad_outputs != 1:
        node = output_node(node, number, *node.layout[number])
    made = new_tensor(np.broadcast_to(np.zeros((), node.dtype), node.shape))
    made._node = node
    return made


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor, or to each of several, as an in-place operation does.

    For code that writes to memory past the engine: saved values then fail the version check. An
    inference tensor has no version to count. Raises RuntimeError for what is no tensor.

    >>> x = rg.ones(2)
    >>> rg.autograd.graph.increment_version(x); x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    try:
        tensors = tuple(tensors)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for each in tensors:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"increment_version expects each element of the iterable to be a tensor, got "
                f"{type(each).__name__}"
            )
        wrote(each, "increment_version")


class saved_tensors_hooks:  # noqa: N801 (PyTorch's name)
    """A context in which `pack_hook` decides how values are saved; `unpack_hook` gives them back.

    `pack_hook(tensor)` is called once, when an op saves a tensor, and may return anything;
    `unpack_hook(packed)` is called at every reading and returns a tensor with the same content.
    Only the calling thread is affected; of nested contexts the inner one counts. Raises
    RuntimeError inside `disable_saved_tensors_hooks`. Source: PyTorch's `saved_tensors_hooks`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with rg.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: rg.tensor(a)):
    ...     y = x * x
    >>> y.sum().backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self.outer: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        if modes.state.saved_hooks_disabled is not None:
            raise RuntimeError(modes.state.saved_hooks_disabled)
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                "incompatible function arguments: saved_tensors_hooks takes two functions, "
                "pack_hook(tensor) and unpack_hook(packed)"
            )
        pair = (self.pack_hook, self.unpack_hook)
        self.outer.append(modes.change(saved_hooks=(*modes.state.saved_hooks, pair)))

    def __exit__(self, *exc: object) -> None:
        if self.outer:  # unless a hook has left the context that it belongs to
            modes.restore(self.outer.pop())


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 (PyTorch's name)
    """A context in which saved values are kept in the memory of the cpu until they are used.

    All tensors live there already, so nothing moves; `pin_memory` and `device_type` are accepted
    for programs written for devices. Source: PyTorch's `save_on_cpu`.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor), lambda packed: packed[1])


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which `saved_tensors_hooks` raises RuntimeError with `error_message`.

    So does entering this context while such hooks are active.
    """
    if modes.state.saved_hooks:
        raise RuntimeError(error_message)
    before = modes.change(saved_hooks_disabled=error_message)
    try:
        yield
    finally:
        modes.restore(before)


class MultiHandle(RemovableHandle):
    """The handle of a hook on several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state

    def remove(self) -> None:
        """Take the hook off all tensors; again is harmless."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor | GradientEdge], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` in each backward pass when the gradients of several tensors or edges are complete.

    With `mode="all"`: `fn(grads)`, when the last of those gradients is complete that the pass
    computes; None stands for the others. With `mode="any"`: `fn(grad)`, with the first one. Raises
    ValueError for another mode, AssertionError (only with "all") for a tensor without gradient.
    Source: PyTorch's `register_multi_grad_hook`.

    >>> x, y = rg.ones(1, requires_grad=True), rg.ones(1, requires_grad=True)
    >>> handle = rg.autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(grads))
    >>> (2 * x).sum().backward()
    [tensor([2.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [node_of(stand_in(t) if isinstance(t, GradientEdge) else t) for t in tensors]
    if mode == "all" and None in nodes:
        raise AssertionError("Expected gradient function to be set: a tensor requires no grad")
    watched = [node for node in nodes if node is not None]
    group = Group(watched, fn) if mode == "all" else First(fn)
    return MultiHandle(
        [hooks_of(n).cotangent.add(partial(group.called, i)) for i, n in enumerate(watched)]
    )


def runs_from(node: Any, task: Any) -> set[EngineNode]:
    """Which nodes a pass runs from now on, beginning with `node`."""
    leaves = [leaf for leaf in task.leaves if leaf in task.grads]
    found = set(reachable([node, *(waiting for _, waiting in task.heap), *leaves]))
    return found if task.needed is None else found & task.needed


class Group:
    """What a hook on all of several tensors remembers of each pass that is under way."""

    def __init__(self, nodes: Sequence[EngineNode], fn: Callable[..., None]) -> None:
        self.places = [weakref.ref(node) for node in nodes]  # a hook must not keep its own node
        self.fn = fn
        self.lock = new_lock()
        self.passes: weakref.WeakKeyDictionary[Any, tuple[list[Any], list[int]]]
        self.passes = weakref.WeakKeyDictionary()

    def called(self, index: int, grad: Tensor) -> None:
        """The tensor hook for the tensor at `index`."""
        task = modes.state.current_pass
        with self.lock:
            if task not in self.passes:
                pending = runs_from(self.places[index](), task)
                expected = sum(place() in pending for place in self.places)
                self.passes[task] = ([None] * len(self.places), [expected])
            grads, missing = self.passes[task]
            grads[index] = grad
            missing[0] -= 1
        if missing[0] == 0:
            self.fn(grads)


class First:
    """What a hook on any of several tensors remembers: the passes that called it."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.lock = new_lock()
        self.passes: weakref.WeakSet[Any] = weakref.WeakSet()

    def called(self, index: int, grad: Tensor) -> None:
        """The tensor hook for each of the tensors."""
        task = modes.state.current_pass
        with self.lock:
            seen = task in self.passes
            self.passes.add(task)
        if not seen:
            self.fn(grad)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted for PyTorch's programs, without effect: there is one stream, the calling thread.

    >>> rg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """


def _is_checkpoint_valid() -> bool:
    """Whether the backward pass that runs goes to all leaves, so that checkpoints may run passes.

    >>> rg.autograd._is_checkpoint_valid()
    True
    """
    task = modes.state.current_pass
    return task is None or task.needed is None
