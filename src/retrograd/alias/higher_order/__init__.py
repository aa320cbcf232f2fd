"""What programs use of PyTorch's private module `torch._higher_order_ops`."""

from .associative_scan import associative_scan

__all__ = ["associative_scan"]
