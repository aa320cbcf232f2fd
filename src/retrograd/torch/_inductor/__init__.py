"""What programs use of PyTorch's private module `torch._inductor`, a compiler: its settings."""

from . import config

__all__ = ["config"]
