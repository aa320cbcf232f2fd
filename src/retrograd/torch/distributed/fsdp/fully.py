"""Modules whose parameters lie over the ranks: `fully_shard` of `torch.distributed.fsdp`.

NOTE [Fully sharded]
1. A rank holds a part of every parameter, a DTensor cut along dimension 0, and of what an optimizer
   keeps for it. Around the module's forward its parameters are whole, plain tensors.
2. Gradients that come back are averaged over the ranks, and each keeps its part. So losses that are
   means over parts of one size give the gradient of the whole batch.
3. A module inside of another that is sharded before it has its parameters whole for its own forward
   and backward alone: NOTE [Units] in `unit`.
4. On a mesh of two dimensions parameters are cut along the second, and whole along the first;
   gradients are averaged over both. A parameter that lies over other ranks already stays so; its
   gradient becomes the mean over those of the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .... import pytree
from ....engine.tensor import Tensor, new_tensor
from ....nn import Module
from ....nn.casts import empty_on
from ..collectives import ReduceOp, all_reduce
from ..tensor import DTensor, Replicate, Shard, distribute_tensor
from ..tensor.api import mesh_of
from ..tensor.placements import without_sums
from .unit import MixedPrecisionPolicy, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..device_mesh import DeviceMesh

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


@dataclass(frozen=True)
class OffloadPolicy:
    """Where parameters wait: in memory."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """They wait on the cpu, where all of them are."""

    pin_memory: bool = True


AS_THEY_ARE = MixedPrecisionPolicy()


class FSDPModule:
    """What `fully_shard` adds to the class of a module; NOTE [Fully sharded]."""

    _unit: Unit

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Let the module's own parameters be whole, until `reshard()` or the end of a pass.

        async_op: return a handle at once, whose `wait()` returns when they are.
        """
        self._unit.gather()
        if async_op:
            return UnshardHandle(self._unit)
        self._unit.unshard()
        return None

    def reshard(self) -> None:
        """Let the module's own parameters lie over the ranks again."""
        self._unit.reshard()

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Give parameters and buffers memory, whose values are undetermined; see `Module`."""
        for unit in self._units(recurse):
            unit.materialize()
        return self._apply(lambda t: t if isinstance(t, DTensor) else empty_on(t, device), recurse)  # type: ignore[attr-defined]

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say anew what `reshard_after_forward` of `fully_shard` says, also for modules inside."""
        for unit in self._units(recurse):
            unit.reshards = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Say whether parameters are cut after the backward pass, as they are by default."""
        for unit in self._units(recurse):
            unit.reshards_after_backward = reshard_after_backward

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Say whether passes average gradients; else each rank keeps its own until one does."""
        for unit in self._units(recurse):
            unit.synchronizes = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """The same for meshes of two dimensions, and without effect, as in PyTorch, for others."""
        for unit in self._units(recurse):
            unit.reduces_all = requires_all_reduce

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Raise NotImplementedError for False: every pass waits for its gradients."""
        if not is_last_backward:
            raise NotImplementedError("every pass waits for its gradients: leave this call out")

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Say whose parameters come while this module's forward runs: NOTE [Units], 4."""
        self._unit.next = [module._unit for module in modules]

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Say whose parameters come while the backward pass is in this module."""
        self._unit.previous = [module._unit for module in modules]

    def _units(self, recurse: bool) -> list[Unit]:
        parts: Any = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return [part._unit for part in parts if isinstance(part, FSDPModule)]


class UnshardHandle:
    """What `unshard(async_op=True)` returns."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def wait(self) -> None:
        """Return when parameters are whole."""
        self._unit.unshard()


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = AS_THEY_ARE,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
) -> Any:
    """Let a module's parameters lie over the ranks of a mesh, in place; returns the module.

    Those are taken that no module inside has taken before. mesh: all ranks by default; of two
    dimensions, parameters are cut along the second. reshard_after_forward: whether they are cut
    again between the forward and the backward pass; by default if the module is in another that is
    fully sharded. shard_placement_fn: how a parameter is cut, by dimension 0 by default.
    offload_policy: where parts wait, which is in memory. Values are those of rank 0. Optimizers are
    made after. Raises ValueError for a mesh of more dimensions, and for a number of ranks as
    `reshard_after_forward`.

    >>> from retrograd.distributed.fsdp import fully_shard
    >>> net = fully_shard(rg.nn.Linear(3, 2))
    >>> net(rg.ones(1, 3)).sum().backward()
    >>> net.weight.placements, net.bias.grad.to_local()
    ((Shard(dim=0),), tensor([1., 1.]))
    """
    if not (reshard_after_forward is None or isinstance(reshard_after_forward, bool)):
        raise ValueError(
            f"reshard_after_forward={reshard_after_forward}: parameters are cut over all ranks of "
            "the mesh, or not. Pass True, False or None"
        )
    ranks = mesh_of(mesh)
    if ranks.ndim > 2:
        raise ValueError(
            f"fully_shard expects a mesh of one or two dimensions, got {ranks}: mesh['dp']"
        )
    sharded = _shared_out(module, ranks, shard_placement_fn, ignored_params)
    kind = type(module)
    unit = module._unit = Unit(kind.__name__, sharded, mp_policy, reshard_after_forward)
    unit.reshard()
    module.register_forward_pre_hook(_before, with_kwargs=True)
    module.register_forward_hook(_after, always_call=True)
    module.register_state_dict_pre_hook(lambda *_: unit.reshard())
    module.__class__ = type(
        f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": FSDPModule.__module__}
    )
    return module


def _shared_out(module: Module, ranks: DeviceMesh, placed: Any, ignored: Any) -> list[Any]:
    """A module's plain parameters over the ranks: the dict of each, its name, and the DTensor.

    Those that lie over other ranks have their gradients averaged: NOTE [Fully sharded], 4.
    """
    made: dict[Any, Any] = {}
    taken = {id(p) for part in module.modules() for p in getattr(part, "_taken", ())}
    sharded, elsewhere = [], []
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is None or id(parameter) in taken or (ignored and parameter in ignored):
                continue
            if isinstance(parameter, DTensor):
                parameter.register_hook(partial(_averaged, ranks))
                taken.add(id(parameter))
                elsewhere.append(parameter)
                continue
            if parameter not in made:
                placement = (placed and placed(parameter)) or Shard(0)
                last = placement if parameter.ndim else Replicate()
                lying = [*[Replicate()] * (ranks.ndim - 1), last]
                made[parameter] = distribute_tensor(parameter, ranks, lying)
            sharded.append((part._parameters, name, made[parameter]))
    module._taken = [*elsewhere, *made.values()]
    return sharded


def _averaged(mesh: DeviceMesh, g: Tensor) -> Tensor:
    """A gradient that lies over other ranks, as the mean over those of a mesh."""
    array: Any = g._array
    found = array.moved(without_sums(array.placements)).copy()
    for dim in range(mesh.ndim):
        all_reduce(new_tensor(found.local), ReduceOp.AVG, mesh.get_group(dim))
    return new_tensor(found)


def _before(module: Any, args: Any, kwargs: Any) -> Any:
    policy = module._unit.policy
    module._unit.begin()
    if policy.param_dtype is None or not policy.cast_forward_inputs:
        return None
    return _cast((args, kwargs), policy.param_dtype)


def _after(module: Any, args: Any, out: Any) -> Any:
    policy = module._unit.policy
    out = out if policy.output_dtype is None else _cast(out, policy.output_dtype)
    module._unit.end(out)
    return out


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let another method of a module that `fully_shard` has cut see whole parameters, too.

    >>> from retrograd.distributed.fsdp import fully_shard, register_fsdp_forward_method
    >>> class Net(rg.nn.Linear):
    ...     def rows(self): return len(self.weight)
    >>> net = fully_shard(Net(3, 2)); register_fsdp_forward_method(net, "rows"); net.rows()
    2
    """
    method: Any = getattr(module, method_name)

    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _before(module, args, kwargs) or (args, kwargs)
        out = None
        try:
            out = method(*args, **kwargs)
        finally:
            out = _after(module, args, out)
        return out

    if isinstance(module, FSDPModule):
        setattr(module, method_name, called)


def _cast(values: Any, dtype: Any) -> Any:
    """Nested values with their floating tensors in a dtype."""
    return pytree.map_leaves(
        lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x, values
    )
