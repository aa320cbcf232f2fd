"""One batch computed in chunks: by threads, or by processes."""

from typing import Any

from .... import providers
from .data_parallel import DataParallel, replicate
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "gather", "replicate", "scatter"]


def __getattr__(name: str) -> Any:
    """Say why what PyTorch's package has is not here."""
    return providers.attribute("retrograd.nn.parallel", name)
