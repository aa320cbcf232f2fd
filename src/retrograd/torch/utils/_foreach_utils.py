"""`torch.utils._foreach_utils`: what optimizers of other packages ask before they work on lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.tensor import Tensor
from ...optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import device

__all__: list[str] = []

_foreach_supported_types = [Tensor]
_group_tensors_by_device_and_dtype = Optimizer._group_tensors_by_device_and_dtype


def _device_has_foreach_support(device: device) -> bool:
    """Whether the functions `_foreach_*` compute there: on the cpu.

    >>> from retrograd.utils._foreach_utils import _device_has_foreach_support
    >>> _device_has_foreach_support(rg.device("cpu"))
    True
    """
    return device.type == "cpu"


def _has_foreach_support(tensors: Sequence[Tensor | None], device: device) -> bool:
    """Whether they compute there on these tensors.

    >>> from retrograd.utils._foreach_utils import _has_foreach_support
    >>> _has_foreach_support([rg.ones(2), None], rg.device("meta"))
    False
    """
    return _device_has_foreach_support(device)


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices, beside the cpu, where they are the faster way: none.

    >>> from retrograd.utils._foreach_utils import _get_foreach_kernels_supported_devices
    >>> _get_foreach_kernels_supported_devices()
    []
    """
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices that `fused=True` of an optimizer is accepted for.

    >>> from retrograd.utils._foreach_utils import _get_fused_kernels_supported_devices
    >>> _get_fused_kernels_supported_devices()
    ['cpu']
    """
    return ["cpu"]
