"""Ranks with different numbers of inputs: those that are done go along with the rest.

NOTE [Joining]
1. Before its collectives of an iteration, the first object of the context tells all ranks that
   this one goes on (`notify_join_context`). A rank that has left the loop hears so, and calls the
   main hooks, which do the same collectives with nothing of their own.
2. When nobody goes on, all call the post hooks; the last to leave are the ones to learn from.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...nn.parallel.distributed import DistributedDataParallel
from ..collectives import broadcast
from ..membership import get_rank, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DataParallelHook", "Join", "JoinHook", "Joinable"]

MANY = 1000
TOO_MANY = (
    "Detected uneven input skew of greater than {many}. This means that rank {rank} has at least "
    "{many} fewer inputs than others: give all ranks about as many"
)


class JoinHook:
    """What a rank does that has no more inputs; derive from it.

    >>> from retrograd.distributed.algorithms.join import JoinHook
    >>> JoinHook().main_hook()
    """

    def main_hook(self) -> None:
        """Do the collectives of an iteration, once for each of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what is to be done when all have left; `is_last_joiner`: whether this was the last."""


class Joinable(ABC):
    """What does collectives in each iteration; derive from it.

    Its method that does them calls `Join.notify_join_context(self)` before.
    """

    _join_config: Any

    def __init__(self) -> None:
        self._join_config = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What ranks without inputs do; the arguments are those of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of its collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of its collectives."""


Joinable.register(DistributedDataParallel)


class Join:
    """A context for loops over inputs of which ranks may have different numbers.

    joinables: the objects that do collectives; enable: False if all have as many inputs;
    throw_on_early_termination: whether all ranks raise RuntimeError as soon as one is done. Other
    arguments go to `join_hook`. Raises ValueError for no joinables, and for such of several groups.

    >>> from retrograd.distributed.algorithms.join import Join
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> with Join([net]):
    ...     for x in [rg.ones(1, 3), rg.ones(1, 3)]:
    ...         net(x).sum().backward()
    """

    def __init__(
        self,
        joinables: Sequence[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [joinable.join_process_group for joinable in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._group, self._enable = [*joinables], groups[0], enable
        self._throws = throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]

    def __enter__(self) -> None:
        for number, joinable in enumerate(self._joinables):
            joinable._join_config = (self, number == 0) if self._enable else None

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self._enable and kind is None:
                self._follow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = None

    def _follow(self) -> None:
        """Go along with the ranks that still have inputs."""
        last, rounds = True, 0
        while _joined(0, self._group):
            if self._throws:
                _joined(1, self._group)
                raise RuntimeError(f"Rank {get_rank(self._group)} exhausted all inputs.")
            last, rounds = False, rounds + 1
            if rounds == MANY:
                warnings.warn(TOO_MANY.format(many=MANY, rank=get_rank()), stacklevel=4)
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Tell the ranks that are done that this one begins an iteration.

        Raises RuntimeError where one is done, with `throw_on_early_termination`.
        """
        join, first = joinable._join_config or (None, False)
        if join is None or not first:
            return
        _joined(1, join._group)
        if join._throws and _joined(0, join._group):
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )


class DataParallelHook(JoinHook):
    """What `DistributedDataParallel` does on a rank without inputs."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def main_hook(self) -> None:
        """Take buffers, and give gradients of zeros."""
        self.model._spread_buffers(alive=False)
        self.model._follow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take parameters and buffers of a rank that went on to the end."""
        group = self.model.join_process_group
        source = common_rank(group, is_last_joiner)
        for tensor in (*self.model.module.parameters(), *self.model.module.buffers()):
            broadcast(tensor, group=group, group_src=source)


def common_rank(group: Any, candidate: bool) -> int:
    """The highest number in a group of those that are candidates."""
    return _joined(get_rank(group) if candidate else -1, group, "maximum")


def _joined(number: int, group: Any, how: str = "add") -> int:
    """The numbers of all ranks as one."""
    return int(joined(group).world.all_reduce("who has inputs", np.array(number), how))
