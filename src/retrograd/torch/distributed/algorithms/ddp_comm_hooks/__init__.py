"""Hooks by which `DistributedDataParallel` exchanges gradients otherwise than by their mean."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from . import default_hooks
from . import powerSGD_hook as powerSGD

if TYPE_CHECKING:
    from ....nn.parallel.distributed import DistributedDataParallel

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _plain(hook: Any, model: DistributedDataParallel, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _power(hook: Any, model: DistributedDataParallel, state: Any, rank: int = 1) -> None:
    made = powerSGD.PowerSGDState(process_group=state, matrix_approximation_rank=rank)
    model.register_comm_hook(made, hook)


class DDPCommHookType(Enum):
    """The hooks by name; `value(model=, state=)` registers one."""

    ALLREDUCE = partial(_plain, default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_plain, default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_plain, default_hooks.bf16_compress_hook)
    POWER_SGD = partial(_power, powerSGD.powerSGD_hook)
    POWER_SGD_RANK2 = partial(_power, powerSGD.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = partial(_power, powerSGD.batched_powerSGD_hook)
    BATCHED_POWER_SGD_RANK2 = partial(_power, powerSGD.batched_powerSGD_hook, rank=2)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: Any = None
) -> None:
    """Let a module exchange gradients by a hook of that name; `state` is the group.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks import *
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, net)
    """
    comm_hook_type.value(model=model, state=state)
