"""`FullyShardedDataParallel`: `fully_shard` with PyTorch's older arguments, as a wrapper.

It cuts the module in it, and what a policy names inside, as NOTE [Fully sharded] says. States have
the names that the module has without wrappers; all ranks make and load them together.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ....nn import Module
from ....nn.utils import clip_grad_norm_
from ..device_mesh import DeviceMesh
from ..membership import get_rank
from ..tensor import distribute_tensor
from ..tensor.api import lying_as, mesh_of, whole
from ..wrapper import Wrapper
from .fully import FSDPModule, fully_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "MixedPrecision", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """How long parameters are whole: two of these leave them so until the end of the pass.

    The hybrid ones cut along the second dimension of a mesh of two; NO_SHARD is refused.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters come that the pass needs next; BACKWARD_POST is refused."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What states hold: whole tensors, or DTensors; LOCAL_STATE_DICT is refused."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Dtypes of whole parameters, of sums of gradients and of buffers; None for those they have."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    cast_forward_inputs: bool = True
    output_dtype: ClassVar[Any] = None


@dataclass
class CPUOffload:
    """Whether parameters wait on the cpu, where all of them are."""

    offload_params: bool = False


@dataclass
class FullStateDictConfig:
    """rank0_only: only the first rank gets a state, the others an empty one."""

    offload_to_cpu: bool = False
    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig:
    """The state of each rank holds DTensors; all are on the cpu."""

    offload_to_cpu: bool = False


FullOptimStateDictConfig, ShardedOptimStateDictConfig = FullStateDictConfig, ShardedStateDictConfig
LONG = {ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2}


class FullyShardedDataParallel(Wrapper):
    """A module that `fully_shard` has cut, and whose states are whole.

    auto_wrap_policy: which modules inside are cut by themselves (`fsdp.wrap`), so that their
    parameters are whole one after the other. forward_prefetch, backward_prefetch: whether those of
    the next come meanwhile. mixed_precision: dtypes. ignored_modules and ignored_states: what stays
    as it is. Values are those of rank 0; buffers too with `sync_module_states`. cpu_offload: that
    is where parameters are. use_orig_params: they are always the module's own. Optimizers are made
    after. Raises ValueError for what `fully_shard` does not do.

    >>> from retrograd.distributed.fsdp import FullyShardedDataParallel
    >>> net = FullyShardedDataParallel(rg.nn.Linear(3, 2))
    >>> net(rg.ones(1, 3)).sum().backward()
    >>> net.weight.placements, list(net.state_dict())
    ((Shard(dim=0),), ['weight', 'bias'])
    """

    inside = "_fsdp_wrapped_module"

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__(module)
        _refuse(
            sharding_strategy is ShardingStrategy.NO_SHARD, "NO_SHARD", "DistributedDataParallel"
        )
        late = backward_prefetch is BackwardPrefetch.BACKWARD_POST
        _refuse(late, "BACKWARD_POST", "BACKWARD_PRE")
        _refuse(param_init_fn, "param_init_fn", "net.module.to_empty(device='cpu') after")
        _refuse(str(device_id) not in {"None", "cpu"}, "device_id", "the cpu, where parameters are")
        _refuse(not limit_all_gathers, "limit_all_gathers=False", "True: one more unit is gathered")
        if device_mesh is None and process_group is not None:
            device_mesh = DeviceMesh.from_group(process_group, "cpu")
        mesh, precision = mesh_of(device_mesh), mixed_precision or MixedPrecision()
        ignored = {*(ignored_states or ())}.union(*(m.parameters() for m in ignored_modules or ()))
        cut = partial(
            fully_shard,
            mesh=mesh,
            reshard_after_forward=False if sharding_strategy in LONG else None,
            mp_policy=precision,  # type: ignore[arg-type]  # it has the same attributes
            ignored_params=ignored,
        )
        if auto_wrap_policy is not None:
            _cut_inside(module, auto_wrap_policy, cut)
        for part in cut(module).modules():
            if isinstance(part, FSDPModule) and not forward_prefetch:
                part.set_modules_to_forward_prefetch([])
            if isinstance(part, FSDPModule) and backward_prefetch is None:
                part.set_modules_to_backward_prefetch([])
        for buffer in module.buffers():
            if sync_module_states:
                buffer.data = distribute_tensor(buffer, mesh).full_tensor()
            if precision.buffer_dtype is not None and buffer.is_floating_point():
                buffer.data = buffer.data.to(precision.buffer_dtype)
        self._states = StateDictType.FULL_STATE_DICT, False

    module = property(lambda self: self._inner)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, with its parameters whole."""
        return self._inner(*args, **kwargs)

    @staticmethod
    def fsdp_modules(module: Module) -> list[Any]:
        """The wrappers in a module."""
        return [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale all gradients so that their norm is `max_norm` at most; the norm before."""
        return whole(clip_grad_norm_(self.parameters(), max_norm, norm_type))

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Passes in this context leave each rank its own gradients, until one outside averages."""
        self._inner.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self._inner.set_requires_gradient_sync(True)

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: None = None,
    ) -> Iterator[None]:
        """Within it, states of the wrappers in a module are of a type; they are whole outside."""
        _refuse(optim_state_dict_config, "optim_state_dict_config",
                "checkpoint.state_dict.get_optimizer_state_dict")  # fmt: skip
        _refuse(state_dict_type is StateDictType.LOCAL_STATE_DICT, "LOCAL_STATE_DICT",
                "SHARDED_STATE_DICT, and x.to_local() of its DTensors")  # fmt: skip
        first_alone = getattr(state_dict_config, "rank0_only", False)
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = [wrapper._states for wrapper in wrappers]
        for wrapper in wrappers:
            wrapper._states = state_dict_type, first_alone
        try:
            yield
        finally:
            for wrapper, states in zip(wrappers, before, strict=True):
                wrapper._states = states

    def state_dict(self, *args: Any, prefix: str = "", **more: Any) -> Any:
        """The module's state, of whole tensors or as `state_dict_type` says."""
        found = super().state_dict(*args, prefix=prefix, **more)
        prefix, (kind, first_alone) = args[1] if len(args) > 1 else prefix, self._states
        for key in [key for key in found if key.startswith(prefix)]:
            if kind is StateDictType.FULL_STATE_DICT:
                found[key] = whole(found[key])
            if first_alone and get_rank():
                del found[key]
        return found

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, parameter in self.module.named_parameters(prefix[:-1], remove_duplicate=False):
            if name in state_dict:
                state_dict[name] = lying_as(state_dict[name], parameter)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _refuse(given: Any, name: str, instead: str) -> None:
    if given:
        raise ValueError(f"FullyShardedDataParallel does not support {name}. Use {instead}")


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
