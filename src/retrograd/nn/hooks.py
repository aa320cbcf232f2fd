"""Hooks of a module: the tables, a call that runs them, and the gradients that backward hooks see.

Those of all modules are in `global_hooks`, those of tensors and nodes in `engine.backward.hooks`.

NOTE [Order of one hooked call]
1. forward pre-hooks, each seeing the arguments that the one before returned;
2. `Passage` nodes on the input tensors, if there are backward hooks;
3. `forward`; forward hooks, each seeing the output that the one before returned;
4. `Passage` nodes on the output tensors.
In the backward pass the output's passage runs the backward pre-hooks and keeps the cotangents of
the output; the input's passage shows them, with the cotangents of the input, to the backward hooks.

The hooks of `register_backward_hook`, PyTorch's first kind, are put on the node that made the
output, and see what that takes and gives.

The hooks of `register_module_forward_hook` and its like are of all modules, and run before a
module's own. The first of them becomes the class attribute `_hooks`.

A module without hooks never comes here: `Module.__call__` asks one attribute.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from .. import modes, version
from ..engine.backward.hooks import HookTable, RemovableHandle, hooks_of
from ..engine.graph import Kind, Node, new_node
from ..engine.record import attach, set_outputs
from ..engine.tensor import Tensor, node_of, twin
from ..engine.views import add_view

__all__ = ["ModuleHooks", "call_hooked"]

NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients: a full hook sees None for each of them."
)
NON_FULL = (
    "Using a non-full backward hook {where} is deprecated and will be removed in future versions: "
    "it sees the gradients of the last operation in forward, and misses some of {missed}. Please "
    "use register_full_backward_hook to get the documented behavior."
)
BOTH_KINDS = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
    "only one of them."
)


class ModuleHooks:
    """All hooks of one module; made when the first is registered.

    Keys are handle numbers. `with_kwargs` holds those of forward hooks and pre-hooks that want the
    keyword arguments too, `always` those of forward hooks that run even if `forward` raises,
    `replacing` those of state hooks whose result replaces the state. `full` is the kind of the
    backward hooks, None before the first.
    """

    full: bool | None = None
    compiled: Any = None  # what a call gives the module to, in place of `forward`
    holder: Any = None  # `Module`, for the hooks of all modules

    def __init__(self) -> None:
        self.forward_pre = HookTable()
        self.forward = HookTable()
        self.backward_pre = HookTable()
        self.backward = HookTable()
        self.state_dict_pre = HookTable()
        self.state_dict_post = HookTable()
        self.load_pre = HookTable()
        self.load_post = HookTable()
        self.with_kwargs: set[int] = set()
        self.always: set[int] = set()
        self.replacing: set[int] = set()

    def add_backward(self, hook: Any, full: bool, prepend: bool = False) -> RemovableHandle:
        """Enter a backward hook, which must be of the same kind as those before."""
        if self.backward and self.full is not full:
            raise RuntimeError(BOTH_KINDS)
        self.full = full
        return self.backward.add(hook, prepend)

    def add_forward(
        self, hook: Any, prepend: bool = False, with_kwargs: bool = False, always: bool = False
    ) -> RemovableHandle:
        """Register a forward hook and return its handle."""
        handle = self.forward.add(hook, prepend)
        if with_kwargs:
            self.with_kwargs.add(handle.id)
        if always:
            self.always.add(handle.id)
        return handle

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "compiled"}

    def some(self) -> bool:
        """Whether there is any hook of a call."""
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)

    def after(self, first: ModuleHooks) -> ModuleHooks:
        """These hooks, with those of `first` before them."""
        both = ModuleHooks()
        for name, table in vars(both).items():
            for part in (first, self):
                table.update(vars(part)[name])
        both.compiled = self.compiled
        both.full = self.full if self.backward else first.full
        return both


of_all_modules = ModuleHooks()


def call_hooked(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward` with the module's hooks: NOTE [Order of one hooked call]."""
    hooks: ModuleHooks = module._hooks
    if type(module)._hooks is of_all_modules:
        if not of_all_modules.some():
            of_all_modules.holder._hooks = None
        elif hooks is not of_all_modules:
            hooks = hooks.after(of_all_modules)
    if hooks.compiled is not None and not hooks.some():
        return hooks.compiled(module, *args, **kwargs)
    call = _Call(module, hooks, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise


class _Call:
    """One hooked call; an object, because hooks that are always called need its state."""

    def __init__(
        self, module: Any, hooks: ModuleHooks, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.module, self.hooks = module, hooks
        self.args, self.kwargs = args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        hooks = self.hooks
        for number, hook in list(hooks.forward_pre.items()):
            self.run_pre(number, hook)
        backward = None
        if hooks.backward_pre or (hooks.backward and hooks.full):
            backward = BackwardHooks(self.module, hooks)
            self.args = backward.on_inputs(self.args)
        compiled = hooks.compiled
        forward = self.module.forward if compiled is None else partial(compiled, self.module)
        self.result = forward(*self.args, **self.kwargs)
        for number, hook in list(hooks.forward.items()):
            self.called.add(number)
            self.run_post(number, hook)
        if hooks.backward and not hooks.full:
            hook_last_node(self.module, hooks.backward, self.args, self.result)
        return self.result if backward is None else backward.on_output(self.result)

    def run_pre(self, number: int, hook: Any) -> None:
        if number in self.hooks.with_kwargs:
            changed = hook(self.module, self.args, self.kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                self.args, self.kwargs = changed
            return
        changed = hook(self.module, self.args)
        if changed is not None:
            self.args = changed if isinstance(changed, tuple) else (changed,)

    def run_post(self, number: int, hook: Any) -> None:
        if number in self.hooks.with_kwargs:
            changed = hook(self.module, self.args, self.kwargs, self.result)
        else:
            changed = hook(self.module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def run_always_called(self) -> None:
        """After an error: run the `always_call` hooks that have not run; their errors only warn."""
        for number, hook in list(self.hooks.forward.items()):
            if number not in self.hooks.always or number in self.called:
                continue
            try:
                self.run_post(number, hook)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=2,
                )


def hook_last_node(module: Any, table: HookTable, args: tuple[Any, ...], result: Any) -> None:
    """Put the hooks of `register_backward_hook` on the node that made the first tensor returned.

    Warns unless that node is all that the module did, from its inputs to its outputs.
    """
    first = result
    while not isinstance(first, Tensor):
        first = next(iter(first.values())) if isinstance(first, dict) else first[0]
    node: Any = first.grad_fn
    if node is None:
        return
    for hook in table.values():
        node.register_hook(partial(hook, module))
    wrong = misled(node, args, result if isinstance(result, tuple) else (result,))
    if wrong is not None:
        warnings.warn(NON_FULL.format(where=wrong[0], missed=wrong[1]), FutureWarning, stacklevel=5)


def misled(node: Any, args: tuple[Any, ...], results: tuple[Any, ...]) -> tuple[str, str] | None:
    """Why a hook on `node` does not see all gradients of a module, and which it misses."""
    if not all(isinstance(each, Tensor) for each in results):
        return (
            "on a Module that does not return a single Tensor or a tuple of Tensors",
            "grad_output",
        )
    if not all(isinstance(each, Tensor) for each in args):
        where = "on a Module that does not take as input a single Tensor or a tuple of Tensors"
        return where, "grad_input"
    if len({each.grad_fn for each in results} - {None}) > 1:
        return "when outputs are generated by different autograd Nodes", "grad_output"
    if {each.grad_fn for each in args} - {None} != {before for before, _ in node.next_functions}:
        return "when the forward contains multiple autograd Nodes", "grad_input"
    return None


class Passage(Kind):
    """Nodes that pass every cotangent on: a place for hooks on several tensors at once."""

    def __init__(self, outputs: int) -> None:
        place = f"{version.called}.autograd.function"  # as of any other Function's node
        members = {"__slots__": (), "__module__": place}
        node_type = type("BackwardHookFunctionBackward", (Node,), members)
        super().__init__("backward_hook", node_type, outputs)

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """The cotangents of the outputs, as those of the inputs."""
        return g if isinstance(g, tuple) else (g,)

    def materialize(self, node: Node, g: Any, create_graph: bool) -> Any:
        """The cotangents as they are; None stays None, as hooks see it in PyTorch."""
        return tuple(g)


_passages: dict[int, Passage] = {}


def pass_through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """`values` with a common passage on the tensors that require grad.

    Returns the new values, the places of those tensors, and the passage (None if there are none).
    The new tensors share memory and version with the old; writing one in place raises, because the
    old one would not know.
    """
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v._node is not None]
    if not places or not modes.state.records:
        return values, [], None
    kind = _passages.get(len(places))
    if kind is None:
        kind = _passages[len(places)] = Passage(len(places))
    node = new_node(kind, tuple(node_of(values[i]) for i in places))
    outputs = [twin(values[i], None) for i in places]
    set_outputs(node, outputs)
    for place, output in zip(places, outputs, strict=True):
        source = values[place]
        base, path = (source, ()) if source._view_of is None else (
            source._view_of.base, source._view_of.path)  # fmt: skip
        add_view(base, output, path, "custom")
    if modes.special:
        attach(node)
    passed = list(values)
    for place, output in zip(places, outputs, strict=True):
        passed[place] = output
    return tuple(passed), places, node


class BackwardHooks:
    """What ties the output's passage of one call to its input's.

    The input's passage holds this object, and the output's reaches that one through the graph, so
    it lives exactly as long as the graph of the call.
    """

    def __init__(self, module: Any, hooks: ModuleHooks) -> None:
        self.module = module
        self.pre = list(hooks.backward_pre.values())
        self.full = list(hooks.backward.values()) if hooks.full else []
        self.grad_output: tuple[Any, ...] | None = None
        self.inputs: tuple[list[int], int] = ([], 0)
        self.outputs: tuple[list[int], int] = ([], 0)

    def on_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The module's arguments, passed through the node that watches their gradients."""
        passed, places, node = pass_through(args)
        self.inputs = (places, len(args))
        if node is not None:
            hooks_of(node).post.add(self.show)
        return passed

    def on_output(self, result: Any) -> Any:
        """The result, a tensor or a tuple, with its passage."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
        values = result if isinstance(result, tuple) else (result,)
        passed, places, node = pass_through(values)
        self.outputs = (places, len(values))
        if node is not None:
            hooks_of(node).before.add(self.keep)
        if not isinstance(result, tuple):
            return passed[0]
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    def keep(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """At the output: run the backward pre-hooks, keep what they give."""
        places, count = self.outputs
        grad_output = _spread(places, grads, count)
        for hook in self.pre:
            changed = hook(self.module, grad_output)
            if changed is not None:
                grad_output = _checked(changed, count, "Backward pre hook", "grad_output")
        self.grad_output = grad_output
        if not self.inputs[0]:
            self.show_without_inputs()
        return tuple(grad_output[place] for place in places)

    def show_without_inputs(self) -> None:
        """Run the hooks of a module none of whose inputs requires grad."""
        warnings.warn(NO_INPUT_GRADIENT, stacklevel=2)
        for hook in self.full:
            changed = hook(self.module, (None,) * self.inputs[1], self.grad_output)
            if changed is not None and not (
                isinstance(changed, tuple) and all(part is None for part in changed)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_output = None

    def show(self, grads: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """At the input: run the backward hooks on both sides' cotangents."""
        if self.grad_output is None:  # the input was reached by another way than the output
            return None
        places, count = self.inputs
        grad_input = _spread(places, grads, count)
        for hook in self.full:
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = _checked(changed, count, "Backward hook", "grad_input")
        self.grad_output = None
        return tuple(grad_input[place] for place in places)


def _spread(places: list[int], grads: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """`grads` at their places among `count`, None elsewhere."""
    spread: list[Any] = [None] * count
    for place, grad in zip(places, grads, strict=True):
        spread[place] = grad
    return tuple(spread)


def _checked(changed: Any, count: int, who: str, what: str) -> tuple[Any, ...]:
    """What a hook returned, as a tuple of the right length."""
    parts = tuple(changed) if isinstance(changed, (tuple, list)) else (changed,)
    if len(parts) != count:
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(parts)}, but expected {count}"
        )
    return parts
