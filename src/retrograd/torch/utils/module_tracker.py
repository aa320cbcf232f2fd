"""Which modules run, in a forward or a backward pass: PyTorch's `torch.utils.module_tracker`."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

from ... import modes, pytree
from ...autograd.graph import register_multi_grad_hook
from ...autograd.variable import Variable
from ...engine.tensor import Tensor
from ...nn.global_hooks import register_module_forward_hook, register_module_forward_pre_hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...engine.backward.hooks import RemovableHandle

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context whose `parents` are the names of the modules that run, "Global" among them.

    The name of a module is the class of the outermost one and the path in it. In a backward pass a
    module runs from when the gradients of its outputs are there until those of its inputs are.

    >>> from retrograd.utils.module_tracker import ModuleTracker
    >>> class Asks(rg.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents), tracker.is_bw)
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     _ = rg.nn.Sequential(Asks())(rg.ones(1))
    ['Global', 'Sequential', 'Sequential.0'] False
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._hooks: list[RemovableHandle] = []
        self._pass: Any = None  # the backward pass at whose end no module runs

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs."""
        return modes.state.current_pass is not None

    def _name(self, module: Any) -> str:
        """The name of a module; from the first call on, of those in it, too."""
        if module not in self._names:
            own = type(module).__name__
            for path, inner in module.named_modules():
                self._names[inner] = f"{own}.{path}" if path else own
        return self._names[module]

    def _at_gradients(self, values: Any, reached: Callable[[str], None], name: str) -> None:
        """Call `reached(name)` once the gradients of all tensors among values are there."""
        tensors = [t for t in pytree.flatten(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            called = functools.partial(self._reached, reached, name)
            self._hooks.append(register_multi_grad_hook(tensors, called))

    def _reached(self, reached: Callable[[str], None], name: str, grads: Any) -> None:
        if self._pass is not modes.state.current_pass:
            self._pass = modes.state.current_pass
            Variable._execution_engine.queue_callback(self._ended)
        reached(name)

    def _ended(self) -> None:
        self.parents, self._pass = {"Global"}, None

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._at_gradients(args, lambda name: self.parents.discard(name), name)

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._at_gradients(output, lambda name: self.parents.add(name), name)

    def __enter__(self) -> ModuleTracker:
        self._hooks += [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        while self._hooks:
            self._hooks.pop().remove()
