"""Hooks that run at every module. `nn.modules.module` is where PyTorch's programs find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .hooks import ModuleHooks, of_all_modules
from .tree import ON_ENTRY

if TYPE_CHECKING:
    from ..engine.backward.hooks import RemovableHandle

__all__ = [
    "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

_global_buffer_registration_hooks = ON_ENTRY["_buffers"]
_global_module_registration_hooks = ON_ENTRY["_modules"]
_global_parameter_registration_hooks = ON_ENTRY["_parameters"]


def _hooks_of_all() -> ModuleHooks:
    of_all_modules.holder._hooks = of_all_modules
    return of_all_modules


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before every module; what it returns replaces the arguments.

    Source: PyTorch's `nn.modules.module.register_module_forward_pre_hook`, as the others here.

    >>> from retrograd.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: (args[0] + 1,)):
    ...     rg.nn.ReLU()(rg.tensor([1.0]))
    tensor([2.])
    """
    return _hooks_of_all().forward_pre.add(hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module; what it returns replaces the output.

    The settings are those of `Module.register_forward_hook`.

    >>> from retrograd.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: output * 2):
    ...     rg.nn.ReLU()(rg.tensor([1.0]))
    tensor([2.])
    """
    return _hooks_of_all().add_forward(hook, False, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` in the backward pass of every module.

    >>> from retrograd.nn.modules.module import register_module_full_backward_pre_hook
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> with register_module_full_backward_pre_hook(lambda module, grads: (grads[0] * 3,)):
    ...     rg.nn.ReLU()(x).backward(); x.grad
    tensor([3.])
    """
    return _hooks_of_all().backward_pre.add(hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in the backward pass of every module.

    Raises RuntimeError beside hooks of `register_module_backward_hook`.

    >>> from retrograd.nn.modules.module import register_module_full_backward_hook
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, of_input, _: (of_input[0] * 3,)):
    ...     rg.nn.ReLU()(x).backward(); x.grad
    tensor([3.])
    """
    return _hooks_of_all().add_backward(hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` with what the last op of a module takes, gives.

    Raises RuntimeError beside hooks of `register_module_full_backward_hook`, which see the module.

    >>> from retrograd.nn.modules.module import register_module_backward_hook
    >>> register_module_backward_hook(lambda module, of_input, of_output: None).remove()
    """
    return _hooks_of_all().add_backward(hook, False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` where a parameter is registered; its result replaces that.

    >>> from retrograd.nn.modules.module import register_module_parameter_registration_hook
    >>> with register_module_parameter_registration_hook(lambda module, name, _: print(name)):
    ...     linear = rg.nn.Linear(1, 1)
    weight
    bias
    """
    return _global_parameter_registration_hooks.add(hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` where a buffer is registered; its result replaces that.

    >>> from retrograd.nn.modules.module import register_module_buffer_registration_hook
    >>> register_module_buffer_registration_hook(lambda module, name, buffer: None).remove()
    """
    return _global_buffer_registration_hooks.add(hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, child)` where a module is registered; its result replaces that.

    >>> from retrograd.nn.modules.module import register_module_module_registration_hook
    >>> register_module_module_registration_hook(lambda module, name, child: None).remove()
    """
    return _global_module_registration_hooks.add(hook)
