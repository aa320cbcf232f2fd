"""One batch over several GPUs, of which there are none: the module is called on the whole batch."""

from __future__ import annotations

from typing import Any, NoReturn

from ....nn.modules.module import Module

__all__ = ["DataParallel", "replicate"]


class DataParallel(Module):
    """A module of which PyTorch has a copy on each GPU; without one, it is called as it is.

    Its inputs have the batch in `dim`, (N, *) by default. The other arguments are accepted, without
    effect, as in a PyTorch without GPUs: `device_ids` is an empty list. One batch over several
    processes: `DistributedDataParallel`.

    >>> net = rg.nn.DataParallel(rg.nn.Linear(3, 2), device_ids=[0, 1])
    >>> net(rg.ones(5, 3)).shape, net.device_ids
    (retrograd.Size([5, 2]), [])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output."""
        return self.module(*inputs, **kwargs)


def replicate(network: Module, devices: Any, detach: bool = False) -> NoReturn:
    """Raise AssertionError, as a PyTorch without GPUs does."""
    raise AssertionError(
        "Broadcast function not implemented for CPU tensors: there are no GPUs. Call the module"
    )
