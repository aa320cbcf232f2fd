"""PyTorch's `torch._subclasses`: tensors that have a shape, a dtype and a device, and no data."""

from . import fake_tensor
from .fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = [
    "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException",
]  # fmt: skip
