"""Hooks on cotangents and nodes.

NOTE [Order of hooks] for one node, as in PyTorch:
1. tensor hooks, in the order of registration, each seeing what the one before returned;
2. `retain_grad`, whenever it was called;
3. the value asked for by `autograd.grad` is taken;
4. node pre-hooks; the node's formulas; node post-hooks;
5. for a leaf, instead of 4: accumulation, then post-accumulate hooks.

Hooks see tensors. In an ordinary backward pass the engine carries arrays, so they are wrapped here,
and unwrapped after. What hooks compute is recorded exactly if the pass creates a graph. Where no
cotangent arrived (a user's Function returned None), hooks run all the same and see None.

NOTE [What hooks write] A hook may write what it is shown, which counts for its own edge alone. So
of a cotangent that somebody else may hold (NOTE [Ownership of cotangents] in `traversal`: that of
`x + y` goes to both) it is shown a copy.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ... import dtypes, modes
from ...locks import counter, structure
from ..graph import Node, node_method, seen
from ..namespaces import arrays, recorded
from ..tensor import Tensor, as_array, gradient_dtype, tensor_of
from .accumulation import add_grad, own_array
from .anomaly import run_hook
from .fitting import fit

_number = counter()

NO_REPLACEMENT = "can't replace a None gradient with a non-None value"


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook off, as does leaving a `with`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda g: 2 * g):
    ...     x.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, hooks: Any) -> None:
        self.id = _number()
        self.hooks_dict_ref = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook off; again is harmless."""
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id

    def __setstate__(self, state: Any) -> None:
        hooks, self.id = state
        self.hooks_dict_ref = weakref.ref(HookTable() if hooks is None else hooks)


class HookTable(OrderedDict[int, Any]):
    """Hooks by handle number, in the order of registration."""

    used = False  # whether one was ever entered

    def __repr__(self) -> str:
        return repr(OrderedDict(self))  # as users know it

    def add(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Enter `hook` last, or first; return the handle that removes it."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
        handle = RemovableHandle(self)
        self[handle.id] = hook
        if prepend:
            self.move_to_end(handle.id, last=False)
        self.used = True
        return handle


class Running:
    """The modes in which the hooks of a backward pass run."""

    __slots__ = ("before", "task")

    def __init__(self, task: Any) -> None:
        self.task = task

    def __enter__(self) -> None:
        grad = self.task.create_graph and modes.state.grad
        self.before = modes.change(grad=grad, current_pass=self.task)

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before)


class NodeHooks:
    """All hooks of one node; made when the first is registered."""

    __slots__ = ("accumulated", "before", "cotangent", "post", "retained")

    def __init__(self) -> None:
        self.cotangent = HookTable()
        self.before = HookTable()
        self.post = HookTable()
        self.accumulated = HookTable()
        self.retained: list[weakref.ref[Tensor]] = []

    def on_cotangent(self, g: Any, task: Any) -> Any:
        """Run the tensor hooks, then store for `retain_grad`."""
        if not self.cotangent and not self.retained:
            return g
        with Running(task):
            grad = _shown(g, bool(self.cotangent) and task.node in task.borrowed)
            for hook in list(self.cotangent.values()):
                result = run_hook("tensor hook", hook, grad)
                if result is not None:
                    if grad is None:
                        raise RuntimeError(NO_REPLACEMENT)
                    check_replacement(hook, grad, result)
                    grad = result
            if grad is None:
                return None
            for ref in self.retained:
                tensor = ref()
                if tensor is not None:
                    add_grad(tensor, grad, gradient_dtype(tensor), structure)
        return grad if task.create_graph else grad._array

    def before_node(self, g: Any, task: Any) -> Any:
        """Run the node's pre-hooks on the tuple of its cotangents."""
        if not self.before:
            return g
        with Running(task):
            grads = _all_shown(g, isinstance(g, tuple) or task.node in task.borrowed)
            for hook in list(self.before.values()):
                grads = _replaced(hook, grads, run_hook("pre-hook", hook, grads))
        return _like(g, grads, task.create_graph)

    def after_node(self, contributions: Any, g: Any, task: Any) -> Any:
        """Run the node's post-hooks on (contributions, cotangents), as the edges want them."""
        if not self.post:
            return contributions
        contributions, node = tuple(contributions), task.node
        places = seen(node, tuple(range(len(contributions))))
        if contributions:  # a leaf has none
            xp = recorded if task.create_graph else arrays
            contributions = tuple(
                c if c is None or edge is None else task.calm(fit, c, edge, node, xp)
                for c, edge in zip(contributions, node.edges, strict=True)
            )
        shares = tuple([contributions[place] for place in places])
        with Running(task):
            inputs = _all_shown(shares, True)
            outputs = _all_shown(g, isinstance(g, tuple) or node in task.borrowed)
            for hook in list(self.post.values()):
                found = run_hook("hook", hook, inputs, outputs)
                inputs = _replaced(hook, inputs, found)
        found = dict(zip(places, _like(shares, inputs, task.create_graph), strict=True))
        return tuple([found.get(place, c) for place, c in enumerate(contributions)])

    def after_accumulation(self, leaf: Tensor, task: Any) -> None:
        """Run the leaf's post-accumulate hooks, which return None, or the leaf itself."""
        if not self.accumulated:
            return
        with Running(task):
            for hook in list(self.accumulated.values()):
                result = run_hook("post-accumulate-grad hook", hook, leaf)
                if result is not None and result is not leaf:
                    kind = RuntimeError if isinstance(result, Tensor) else TypeError
                    raise kind(
                        "Tensor post accumulate grad hooks should return None, but this one "
                        f"returned '{type(result).__name__}'. To change the gradient, write to "
                        "tensor.grad in the hook."
                    )


@node_method
def register_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after the node ran; a tuple it returns replaces them.

    >>> x = rg.ones(1, requires_grad=True)
    >>> y = x.exp()
    >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (10 * inputs[0],))
    >>> y.sum().backward(); x.grad
    tensor([27.1828])
    """
    return hooks_of(self).post.add(fn)


@node_method
def register_prehook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_outputs)` before the node runs; a tuple that it returns replaces them."""
    return hooks_of(self).before.add(fn)


def hooks_of(node: Node) -> NodeHooks:
    """The node's hooks, made now if it has none."""
    if node.hooks is None:
        made = NodeHooks()
        with structure:
            node.hooks = node.hooks or made
    return node.hooks  # type: ignore[no-any-return]


def check_replacement(hook: Any, grad: Tensor, result: Any) -> None:
    """Raise unless a tensor hook's result can stand for the cotangent it was given."""
    name = getattr(hook, "__name__", "hook")
    if not isinstance(result, Tensor):
        raise TypeError(
            f"expected Variable, but hook '{name}' returned '{type(result).__name__}' object"
        )
    if (result.dtype, result.layout, result.device) != (grad.dtype, grad.layout, grad.device):
        places = [
            ".meta" if t.is_meta else ".sparse" * (t.layout.name != "strided")
            for t in (grad, result)
        ]
        was, got = map(dtypes.type_name, (grad.dtype, result.dtype), places)
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was} got {got})")
    if result._array.shape != grad._array.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value (was {list(grad.shape)} got "
            f"{list(result.shape)})"
        )


def _all_shown(g: Any, borrowed: bool) -> tuple[Any, ...]:
    return tuple([_shown(part, borrowed) for part in (g if isinstance(g, tuple) else (g,))])


def _shown(g: Any, borrowed: bool) -> Any:
    """A cotangent as the tensor that a hook sees: NOTE [What hooks write]."""
    if isinstance(g, Tensor):
        return g.clone() if borrowed or g._view_of is not None else g
    return g if g is None else tensor_of(own_array(as_array(g), borrowed))


def _like(g: Any, grads: tuple[Any, ...], create_graph: bool) -> Any:
    if not create_graph:
        grads = tuple(None if grad is None else grad._array for grad in grads)
    return grads if isinstance(g, tuple) else grads[0]


def _replaced(hook: Any, grads: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
    """The gradients after a node's hook: what it returned, checked, or those it was given."""
    if result is None:
        return grads
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(grads):
        name = getattr(hook, "__name__", "hook")
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but "
            f"expected {len(grads)})"
        )
    for before, after in zip(grads, result, strict=True):
        if before is None and after is not None:
            raise RuntimeError(NO_REPLACEMENT)
        if after is not None:
            check_replacement(hook, before, after)
    return result
