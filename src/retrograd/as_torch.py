"""`import retrograd.as_torch`: from here on `import torch` means this package.

Raises RuntimeError where PyTorch itself has been imported. See `retrograd.torch.alias`.
"""

from . import providers

__all__: list[str] = []

providers.service("alias").install()
