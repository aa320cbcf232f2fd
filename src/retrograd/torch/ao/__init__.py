"""`torch.ao`: of its quantization, what models that may be quantized are built with."""

from . import quantization

__all__ = ["quantization"]
