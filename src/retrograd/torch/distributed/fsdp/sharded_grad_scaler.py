"""Loss scaling where parameters lie over ranks: all of them skip a step, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...amp.grad_scaler import GradScaler
from ..collectives import ReduceOp, all_reduce
from ..membership import is_initialized

if TYPE_CHECKING:
    from ....engine.tensor import Tensor

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """`amp.GradScaler` whose ranks tell each other of gradients that are not finite.

    process_group: whose ranks; by default all. Without a group it is a `GradScaler`. Source:
    PyTorch's `ShardedGradScaler`.

    >>> from retrograd.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> ShardedGradScaler("cpu", init_scale=4.0).scale(rg.tensor([0.5]))
    tensor([2.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients by `inv_scale`; 1 if one of any rank is not finite."""
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        if not is_initialized():
            return found
        all_reduce(found_inf, ReduceOp.MAX, self.process_group)
        return {found_inf.device: found_inf}
