"""`torch.utils._foreach_utils`: what optimizers of other packages ask before they work on lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor
from ...optim import Optimizer
from ..tables import define

__all__: list[str] = []

_foreach_supported_types = [Tensor]
_group_tensors_by_device_and_dtype = Optimizer._group_tensors_by_device_and_dtype

define(
    globals(),
    {
        "_device_has_foreach_support": (
            lambda device: device.type == "cpu",
            "Whether the functions `_foreach_*` compute there: on the cpu.",
        ),
        "_has_foreach_support": (
            lambda tensors, device: device.type == "cpu",
            "Whether they compute there on these tensors.",
        ),
        "_get_foreach_kernels_supported_devices": (
            lambda: [],
            "The kinds of devices, beside the cpu, where they are the faster way: none.",
        ),
        "_get_fused_kernels_supported_devices": (
            lambda: ["cpu"],
            "The kinds of devices that `fused=True` of an optimizer is accepted for.",
        ),
    },
)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table
