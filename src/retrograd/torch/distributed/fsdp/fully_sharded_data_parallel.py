"""`FullyShardedDataParallel`: `fully_shard` as a wrapper, with PyTorch's older arguments.

NOTE [The wrapper]
1. It holds the module, whose parameters it cuts as `fully_shard` does: NOTE [Fully sharded]. They
   stay those of the module, DTensors with names and shapes of the whole.
2. States have the names that the module has without wrappers, and whole tensors unless
   `state_dict_type` says otherwise. All ranks make and load them together.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ....autograd.grad_mode import no_grad
from ....engine.tensor import Tensor
from ....nn import Module, Parameter
from ....nn.utils import clip_grad_norm_
from ....pytree import map_leaves
from ..device_mesh import DeviceMesh
from ..states import by_name, by_number, lying_as, whole
from ..tensor import Replicate, distribute_tensor
from ..tensor.api import mesh_of
from ..wrapper import Wrapper
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from .fully import unit_of
from .wrap import wrap_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullyShardedDataParallel", "MixedPrecision",
    "ShardingStrategy", "StateDictType",
]  # fmt: skip

LONG = {ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2}
CONFIGS: dict[StateDictType, tuple[Any, Any]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
LOCAL = (
    "LOCAL_STATE_DICT is not supported: parameters are no slices of flat ones. Use "
    "SHARDED_STATE_DICT, whose DTensors have this rank's part as x.to_local()"
)
ELSEWHERE = (
    "parameters are on the cpu, got device_id={device}: leave it out. One more unit is gathered at "
    "most, so limit_all_gathers=False is nothing to ask for"
)


class FullyShardedDataParallel(Wrapper):
    """A module whose parameters lie over the ranks of a group: NOTE [The wrapper].

    auto_wrap_policy: which modules inside are wrapped by themselves (`fsdp.wrap`), so that their
    parameters are whole one after the other. forward_prefetch, backward_prefetch: whether, and
    when, those of the next come. mixed_precision: dtypes. ignored_modules and ignored_states: what
    stays as it is. param_init_fn: called with each module whose parameters are on the meta device.
    Values are those of rank 0; buffers too with `sync_module_states`. cpu_offload: that is where
    parameters are. use_orig_params: parameters are always the module's own. Optimizers are made
    after. Raises ValueError for another device, and without `limit_all_gathers`.

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
        if not limit_all_gathers or str(device_id) not in {"None", "cpu"}:
            raise ValueError(ELSEWHERE.format(device=device_id))
        if device_mesh is None and process_group is not None:
            device_mesh = DeviceMesh.from_group(process_group, "cpu")
        mesh = mesh_of(device_mesh)
        kept = _ignored(ignored_modules, ignored_states)
        shared = {
            "sharding_strategy": sharding_strategy,
            "backward_prefetch": backward_prefetch,
            "mixed_precision": mixed_precision,
            "param_init_fn": param_init_fn,
            "sync_module_states": sync_module_states,
            "forward_prefetch": forward_prefetch,
            "ignored_states": kept,
            "device_mesh": mesh,
        }
        if auto_wrap_policy is not None:
            wrap = partial(FullyShardedDataParallel, **shared)
            wrap_inside(module, auto_wrap_policy, wrap, FullyShardedDataParallel)
        _materialize(module, param_init_fn)
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self._mesh, self._settings, self._summoned = mesh, StateDictSettings(), False
        uncut = sharding_strategy is ShardingStrategy.NO_SHARD
        placed = (lambda _: Replicate()) if uncut else None
        policy, reshards = self.mixed_precision.policy, sharding_strategy not in LONG
        unit = self._unit = unit_of(module, mesh, placed, kept, policy, reshards)
        unit.next = None if forward_prefetch else []
        unit.previous = None if backward_prefetch else []
        unit.late = backward_prefetch is BackwardPrefetch.BACKWARD_POST
        for buffer in module.buffers():
            if sync_module_states:
                buffer.data = distribute_tensor(buffer, mesh).full_tensor()
            if self.mixed_precision.buffer_dtype is not None and buffer.is_floating_point():
                buffer.data = buffer.data.to(self.mixed_precision.buffer_dtype)

    @property
    def module(self) -> Module:
        """The module that is wrapped."""
        return self._inner  # type: ignore[no-any-return]

    process_group = property(lambda self: self._mesh.get_group(-1))
    rank = property(lambda self: self._mesh.get_local_rank(-1))
    world_size = property(lambda self: self._mesh.size())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, with its parameters whole."""
        return self._inner(*args, **kwargs)

    # -- parameters ----------------------------------------------------------------------------

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters and their names, which say where wrappers are; not in `summon_full_params`."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (name.replace(f"{self.inside}.", "") if self._summoned else name), parameter

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[Any]:
        """The wrappers in a module; with `root_only`, those that are in no other."""
        found = [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {id(part) for outer in found for part in outer.module.modules()}
        return [part for part in found if id(part) not in inner]

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
    ) -> Iterator[None]:
        """Within it, parameters are whole and plain; what is written there stays afterwards.

        recurse: also those of wrappers inside. writeback: False drops what is written. rank0_only:
        other ranks than the first keep their parts. Gradients are not there. Raises
        NotImplementedError for `writeback` with `rank0_only`.
        """
        if writeback and rank0_only:
            raise NotImplementedError(
                "writeback=True and rank0_only=True: what the first rank writes is not that of all "
                "ranks. Pass writeback=False"
            )
        wrappers = FullyShardedDataParallel.fsdp_modules(module)[: None if recurse else 1]
        taken = [entry for wrapper in wrappers for entry in wrapper._unit.sharded]
        made = {id(p): Parameter(whole(p.detach()), p.requires_grad) for _, _, p in taken}
        if not (rank0_only and any(wrapper.rank for wrapper in wrappers[:1])):
            for own, name, parameter in taken:
                own[name] = made[id(parameter)]
        for wrapper in wrappers:
            wrapper._summoned = True
        try:
            yield
        finally:
            for own, name, parameter in taken:
                own[name] = parameter
                if writeback:
                    with no_grad():
                        parameter.copy_(lying_as(made[id(parameter)], parameter))
            for wrapper in wrappers:
                wrapper._summoned = False

    def apply(self, fn: Any) -> Any:
        """`Module.apply`, with whole parameters."""
        with self.summon_full_params(self):
            return super().apply(fn)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients so that their norm is `max_norm` at most; the norm before."""
        return whole(clip_grad_norm_(self.parameters(), max_norm, norm_type))  # type: ignore[no-any-return]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Passes in this context leave each rank its own gradients, until one outside averages."""
        units = [wrapper._unit for wrapper in self.fsdp_modules(self)]
        for unit in units:
            unit.synchronizes = False
        try:
            yield
        finally:
            for unit in units:
                unit.synchronizes = True

    # -- states --------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Let states of the wrappers in a module be of a type from now on; how they were.

        Raises ValueError for LOCAL_STATE_DICT.
        """
        if state_dict_type not in CONFIGS:
            raise ValueError(LOCAL)
        of_module, of_optimizer = CONFIGS[state_dict_type]
        made = StateDictSettings(
            state_dict_type,
            state_dict_config or of_module(),
            optim_state_dict_config or of_optimizer(),
        )
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            wrapper._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Of which type the states of the wrappers in a module are."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        return wrappers[0]._settings if wrappers else StateDictSettings()

    @staticmethod
    @contextmanager
    def state_dict_type(module: Module, *settings: Any, **more: Any) -> Iterator[None]:
        """Within it, states of the wrappers in a module are of a type: `set_state_dict_type`."""
        before = FullyShardedDataParallel.set_state_dict_type(module, *settings, **more)
        try:
            yield
        finally:
            for wrapper in FullyShardedDataParallel.fsdp_modules(module):
                wrapper._settings = before

    def state_dict(self, *args: Any, prefix: str = "", **more: Any) -> Any:
        """The module's state: rule 2 of NOTE [The wrapper]."""
        found = super().state_dict(*args, prefix=prefix, **more)
        prefix = args[1] if len(args) > 1 else prefix
        if self._settings.state_dict_type is StateDictType.FULL_STATE_DICT:
            first_alone = getattr(self._settings.state_dict_config, "rank0_only", False)
            for key in [key for key in found if key.startswith(prefix)]:
                found[key] = whole(found[key])
                if first_alone and self.rank:
                    del found[key]
        return found

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        own = {id(parameter) for _, _, parameter in self._unit.sharded}
        for name, parameter in self.module.named_parameters(remove_duplicate=False):
            if id(parameter) in own and prefix + name in state_dict:
                state_dict[prefix + name] = lying_as(state_dict[prefix + name], parameter)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """An optimizer's state by the names of parameters, whole or as `state_dict_type` says."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        found = by_name(model, optim, optim_state_dict)
        if settings.state_dict_type is StateDictType.FULL_STATE_DICT:
            found = map_leaves(whole, found)
        ranks = [wrapper.rank for wrapper in FullyShardedDataParallel.fsdp_modules(model)[:1]]
        first_alone = getattr(settings.optim_state_dict_config, "rank0_only", False)
        return {} if first_alone and any(ranks) else found

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What `optim.load_state_dict` takes, of what `optim_state_dict` gave.

        load_directly: let the optimizer load it at once.
        """
        made = by_number(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made


def _ignored(modules: Any, states: Any) -> set[Any]:
    """The parameters that modules and lists of modules or parameters name."""
    found: set[Any] = set()
    for entry in [*(modules or ()), *(states or ())]:
        found.update(entry.parameters() if isinstance(entry, Module) else [entry])
    return found


def _materialize(module: Module, init: Any) -> None:
    """Give parameters on the meta device values, by the function that is to do it."""
    for part in module.modules():
        on_meta = [p for p in part._parameters.values() if p is not None and p.is_meta]
        if on_meta and init is not None:
            init(part)
        elif on_meta:
            part.to_empty(device="cpu", recurse=False)
            part.reset_parameters()
