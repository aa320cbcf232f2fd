"""What programs say to `fully_shard`: dtypes, and where parameters wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


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
