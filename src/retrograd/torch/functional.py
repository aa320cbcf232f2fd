"""`torch.functional` under the alias: functions of tensors, and `nn.functional` by a short name."""

from typing import Any

from .. import ops
from ..nn import functional as F  # noqa: F401 (PyTorch's name)


def __getattr__(name: str) -> Any:
    return getattr(ops, name)
