"""What programs say of modules whose parameters lie over ranks: dtypes, places, states."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig",
    "FullStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
    "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


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


@dataclass(frozen=True)
class OffloadPolicy:
    """Where parameters wait: in memory."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """They wait on the cpu, where all of them are."""

    pin_memory: bool = True


class ShardingStrategy(Enum):
    """How parameters lie: NO_SHARD is whole on every rank, all others are in parts.

    SHARD_GRAD_OP and _HYBRID_SHARD_ZERO2 leave them whole from the forward to the end of the
    backward pass; the hybrid ones cut along the second dimension of a mesh of two.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters that the pass needs next come: beside this unit's part of it, or after."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """Dtypes of whole parameters, of sums of gradients and of buffers; None for those they have."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    cast_forward_inputs: bool = True

    @property
    def policy(self) -> MixedPrecisionPolicy:
        """The same for `fully_shard`."""
        return MixedPrecisionPolicy(
            self.param_dtype, self.reduce_dtype, cast_forward_inputs=self.cast_forward_inputs
        )


@dataclass
class CPUOffload:
    """Whether parameters wait on the cpu, where all of them are."""

    offload_params: bool = False


class StateDictType(Enum):
    """What states hold: whole tensors, or DTensors; LOCAL_STATE_DICT is refused."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """How states are made; all are on the cpu, as is asked for here."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: only the first rank gets a state, the others an empty one."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """The state of each rank holds DTensors."""


@dataclass
class OptimStateDictConfig:
    """How states of optimizers are made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: only the first rank gets a state, the others an empty one."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """The state of each rank holds DTensors."""


@dataclass
class StateDictSettings:
    """What `state_dict_type` says of modules."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
