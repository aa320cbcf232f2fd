"""One batch computed in chunks: by threads, or by processes."""

from .data_parallel import DataParallel, replicate
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "gather", "replicate", "scatter"]
