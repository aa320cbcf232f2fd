"""Data sets, samplers and the loader that makes batches, in worker processes or without."""

from typing import Any

from ... import providers as _providers

from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
__all__ += [*_providers.names(__name__)]


def __getattr__(name: str) -> Any:
    """A module or a name of PyTorch's world, when it is first asked for."""
    return _providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return _providers.listed(__name__)
