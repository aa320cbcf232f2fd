"""The part of a data set that one of several processes loads."""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from .... import providers
from ....ops.random.factories import randperm
from ....ops.random.generator import Generator
from ....utils.data.sampler import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on, so that each process has its own part.

    All parts are of one length: the first indices come again at the end, or with `drop_last` the
    last ones are left out. With `shuffle` the order follows from `seed` and the epoch told by
    `set_epoch`. `num_replicas` and `rank` are by default those of the group of processes. Raises
    ValueError where there is none, and for a rank that is not below `num_replicas`.
    Source: PyTorch's `DistributedSampler`.

    >>> from retrograd.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group: Any = providers.service("distributed")
            num_replicas = group.get_world_size() if num_replicas is None else num_replicas
            rank = group.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.shuffle, self.seed, self.drop_last = 0, shuffle, seed, drop_last
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples: int = whole + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            source = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(len(order), generator=source).tolist()
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which pass comes next, for another order in each."""
        self.epoch = epoch
