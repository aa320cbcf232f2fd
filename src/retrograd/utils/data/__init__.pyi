# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from .dataset import ChainDataset as ChainDataset, ConcatDataset as ConcatDataset, Dataset as Dataset, IterableDataset as IterableDataset, StackDataset as StackDataset, Subset as Subset, TensorDataset as TensorDataset, random_split as random_split
from .sampler import BatchSampler as BatchSampler, RandomSampler as RandomSampler, Sampler as Sampler, SequentialSampler as SequentialSampler, SubsetRandomSampler as SubsetRandomSampler, WeightedRandomSampler as WeightedRandomSampler
from ._utils.collate import default_collate as default_collate, default_convert as default_convert
from ._utils.worker import get_worker_info as get_worker_info
from .dataloader import DataLoader as DataLoader
from ...torch.utils.data.distributed import DistributedSampler as DistributedSampler
from ...torch.utils.data import distributed as distributed
__all__ = ['BatchSampler', 'ChainDataset', 'ConcatDataset', 'DataLoader', 'Dataset', 'IterableDataset', 'RandomSampler', 'Sampler', 'SequentialSampler', 'StackDataset', 'Subset', 'SubsetRandomSampler', 'TensorDataset', 'WeightedRandomSampler', 'default_collate', 'default_convert', 'get_worker_info', 'random_split', 'DistributedSampler']
