"""What this installation computes with: PyTorch's `torch.__config__`."""

from .installation import Part, _cxx_flags, parallel_info, parts, show

__all__ = ["Part", "parallel_info", "parts", "show"]
