"""What this installation computes with: PyTorch's `torch.__config__`."""

from .parts import parallel_info, parts, show

__all__ = ["parallel_info", "parts", "show"]
