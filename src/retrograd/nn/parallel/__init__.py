"""One batch computed in chunks: by threads, or by processes."""

from typing import Any

from ... import providers
from .data_parallel import DataParallel, replicate
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "gather", "replicate", "scatter"]


def __getattr__(name: str) -> Any:
    """`DistributedDataParallel`, where processes can work together."""
    return providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *providers.names(__name__)})
