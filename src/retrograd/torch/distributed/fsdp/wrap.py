"""Which modules `FullyShardedDataParallel` cuts by themselves: its policies.

A policy is called with a module, whether it asks to go on inside (`recurse=True`) or to wrap the
module, and how many numbers its parameters have that nothing inside has taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....nn import ModuleDict, ModuleList, MultiheadAttention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....nn import Module

__all__ = [
    "ModuleWrapPolicy", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
]  # fmt: skip


NOT_ENTERED = (MultiheadAttention,)
NOT_WRAPPED = (ModuleList, ModuleDict)


class ModuleWrapPolicy:
    """Modules of some classes.

    >>> from retrograd.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> policy = ModuleWrapPolicy({rg.nn.Linear})
    >>> policy(rg.nn.Linear(1, 1), False, 2), policy(rg.nn.ReLU(), False, 0)
    (True, False)
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = frozenset(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether to go on inside, always, or to wrap the module."""
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({set(self._module_classes)})"


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[Any]
) -> bool:
    """Modules of the classes in `transformer_layer_cls`; `functools.partial` gives these.

    >>> from retrograd.distributed.fsdp.wrap import transformer_auto_wrap_policy
    >>> transformer_auto_wrap_policy(rg.nn.ReLU(), False, 0, {rg.nn.Linear})
    False
    """
    return ModuleWrapPolicy(transformer_layer_cls)(module, recurse)


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules that a function wants.

    >>> from retrograd.distributed.fsdp.wrap import lambda_auto_wrap_policy
    >>> lambda_auto_wrap_policy(rg.nn.ReLU(), False, 0, lambda m: hasattr(m, "inplace"))
    True
    """
    return recurse or lambda_fn(module)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Modules of at least `min_num_params` numbers that no module inside has.

    force_leaf_modules: classes that are not looked into, `nn.MultiheadAttention` by default;
    exclude_wrap_modules: classes that are not wrapped, `nn.ModuleList` and `ModuleDict` by default.

    >>> from retrograd.distributed.fsdp.wrap import size_based_auto_wrap_policy
    >>> size_based_auto_wrap_policy(rg.nn.Linear(9, 9), False, 90, min_num_params=80)
    True
    """
    leaves = NOT_ENTERED if force_leaf_modules is None else force_leaf_modules
    excluded = NOT_WRAPPED if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))
