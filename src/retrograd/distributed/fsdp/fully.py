"""Modules whose parameters lie over the ranks: `fully_shard` of `torch.distributed.fsdp`.

NOTE [Fully sharded]
1. A rank holds a part of every parameter, a DTensor cut along dimension 0, and of what an optimizer
   keeps for it. Around the module's forward its parameters are whole, plain tensors.
2. Gradients that come back are averaged over the ranks, and each keeps its part. So losses that are
   means over parts of one size give the gradient of the whole batch.
3. A module inside of another that is sharded before it has its parameters whole for its own forward
   alone. The graph keeps what it saved of whole parameters until the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.tensor import Tensor
from ...nn import Module
from ..tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from ..tensor.api import mesh_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..device_mesh import DeviceMesh

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "cast", "fully_shard", "shared_out", "whole"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of a module whose parameters lie over ranks; None for those that they have.

    param_dtype: in which the whole parameters are, in the forward and backward pass. reduce_dtype:
    in which gradients are averaged, `param_dtype` by default. output_dtype: of floating outputs.
    cast_forward_inputs: whether floating inputs become `param_dtype`.

    >>> from retrograd.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy(param_dtype=rg.bfloat16).cast_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class FSDPModule:
    """What `fully_shard` adds to the class of a module; NOTE [Fully sharded]."""

    _policy: MixedPrecisionPolicy
    _sharded: list[tuple[dict[str, Any], str, DTensor]]

    def unshard(self, async_op: bool = False) -> None:
        """Let the module's own parameters be whole, until `reshard()`."""
        for own, name, parameter in self._sharded:
            own[name] = whole(parameter, self._policy)

    def reshard(self) -> None:
        """Let the module's own parameters lie over the ranks again."""
        for own, name, parameter in self._sharded:
            own[name] = parameter


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    ignored_params: set[Any] | None = None,
) -> Any:
    """Let a module's parameters lie over the ranks of a mesh, in place; returns the module.

    Those are taken that no module inside has taken before. mesh: of one dimension, of all ranks by
    default. reshard_after_forward: False leaves them whole after the forward until `reshard()`.
    shard_placement_fn: how a parameter is cut, by dimension 0 by default. Values are those of rank
    0. Optimizers are made after. Raises ValueError for a mesh of several dimensions.

    >>> from retrograd.distributed.fsdp import fully_shard
    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> net = fully_shard(rg.nn.Linear(3, 2))
    >>> net(rg.ones(1, 3)).sum().backward()
    >>> net.weight.placements, net.bias.grad.to_local()
    ((Shard(dim=0),), tensor([1., 1.]))
    >>> rg.distributed.destroy_process_group()
    """
    ranks = mesh_of(mesh)
    if ranks.ndim != 1:
        raise ValueError(f"fully_shard expects a mesh of one dimension, got {ranks}: mesh['dp']")
    sharded = shared_out(module, ranks, shard_placement_fn, ignored_params)
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {})
    module._policy, module._sharded = mp_policy, sharded
    module.reshard()
    module.register_forward_pre_hook(partial(_before, mp_policy), with_kwargs=True)
    reshards = reshard_after_forward is not False
    module.register_forward_hook(partial(_after, mp_policy, reshards), always_call=True)
    return module


def shared_out(module: Module, ranks: DeviceMesh, placed: Any, ignored: Any) -> list[Any]:
    """A module's plain parameters over the ranks: the dict of each, its name, and the DTensor."""
    made: dict[Any, Any] = {}
    sharded = []
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is None or isinstance(parameter, DTensor):
                continue
            if ignored and parameter in ignored:
                continue
            if parameter not in made:
                placement = (placed and placed(parameter)) or Shard(0)
                lying = [placement if parameter.ndim else Replicate()]
                made[parameter] = distribute_tensor(parameter, ranks, lying)
            sharded.append((part._parameters, name, made[parameter]))
    return sharded


def whole(parameter: DTensor, policy: MixedPrecisionPolicy) -> Tensor:
    """A parameter as a plain tensor; the mean of its gradients goes to the parts."""
    found = parameter.full_tensor(grad_placements=[Partial("avg")])
    if policy.param_dtype is None:
        return found
    return found.to(policy.reduce_dtype or policy.param_dtype).to(policy.param_dtype)


def _before(policy: MixedPrecisionPolicy, module: Any, args: Any, kwargs: Any) -> Any:
    module.unshard()
    if policy.param_dtype is None or not policy.cast_forward_inputs:
        return None
    return cast((args, kwargs), policy.param_dtype)


def _after(policy: MixedPrecisionPolicy, reshards: bool, module: Any, args: Any, out: Any) -> Any:
    if reshards:
        module.reshard()
    return out if policy.output_dtype is None else cast(out, policy.output_dtype)


def cast(values: Any, dtype: Any) -> Any:
    """Nested values with their floating tensors in a dtype."""
    return pytree.map_leaves(
        lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x, values
    )
