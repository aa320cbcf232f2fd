"""`torch.xpu` for programs that ask for Intel's GPUs: there are none for tensors."""

from __future__ import annotations

from ..mps import device_count, empty_cache, is_available, manual_seed, synchronize

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]
