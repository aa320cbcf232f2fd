"""`FullyShardedDataParallel`: `fully_shard` by PyTorch's older name, with a policy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..device_mesh import DeviceMesh
from .fully import AS_THEY_ARE, MixedPrecisionPolicy, fully_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....nn import Module

__all__ = ["FullyShardedDataParallel", "ModuleWrapPolicy"]


class ModuleWrapPolicy:
    """A policy by which modules of some classes are cut by themselves.

    >>> from retrograd.distributed.fsdp.fully_sharded_data_parallel import ModuleWrapPolicy
    >>> policy = ModuleWrapPolicy({rg.nn.Linear})
    >>> policy(rg.nn.Linear(1, 1), False, 2), policy(rg.nn.ReLU(), False, 0)
    (True, False)
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Whether to go on inside, always, or to cut the module."""
        return recurse or isinstance(module, self._module_classes)


class FullyShardedDataParallel:
    """A call of this cuts a module by `fully_shard`, in place, and returns it.

    auto_wrap_policy: which modules inside are cut by themselves, so that their parameters are whole
    one after the other: called with a module, whether it asks to go on inside (`recurse=True`) or
    to cut it, and how many numbers its parameters have that nothing inside has taken.
    process_group, device_mesh: the ranks, all by default; ignored_states: parameters that stay as
    they are. Optimizers are made after.

    >>> from retrograd.distributed.fsdp import FullyShardedDataParallel
    >>> net = FullyShardedDataParallel(rg.nn.Linear(3, 2))
    >>> net(rg.ones(1, 3)).sum().backward()
    >>> net.weight.placements, list(net.state_dict())
    ((Shard(dim=0),), ['weight', 'bias'])
    """

    def __new__(
        cls,
        module: Module,
        process_group: Any = None,
        *,
        auto_wrap_policy: Callable[..., bool] | None = None,
        mixed_precision: MixedPrecisionPolicy = AS_THEY_ARE,
        ignored_states: Iterable[Any] = (),
        device_mesh: DeviceMesh | None = None,
    ) -> Any:
        """The module, cut."""
        if device_mesh is None and process_group is not None:
            device_mesh = DeviceMesh.from_group(process_group, "cpu")
        ignored = {*ignored_states}
        cut = partial(
            fully_shard, mesh=device_mesh, mp_policy=mixed_precision, ignored_params=ignored
        )
        if auto_wrap_policy is not None:
            _cut_inside(module, auto_wrap_policy, cut)
        return cut(module)


def _cut_inside(module: Module, policy: Any, cut: Callable[[Module], Module]) -> int:
    """Cut the modules inside that a policy wants; how many numbers are in these."""
    done = 0
    for child in module.children():
        size = inside = sum(parameter.numel() for parameter in child.parameters())
        if not hasattr(child, "_unit"):
            more = policy(module=child, recurse=True, nonwrapped_numel=size)
            inside = _cut_inside(child, policy, cut) if more else 0
            if policy(module=child, recurse=False, nonwrapped_numel=size - inside):
                cut(child)
                inside = size
        done += inside
    return done
