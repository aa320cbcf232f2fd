"""Schedules made of schedules: several at once, and one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .schedule import LRScheduler, set_rate

__all__ = ["ChainedScheduler", "SequentialLR"]


class Combined(LRScheduler):
    """What both have in common: the parts, which are checked and saved with the whole."""

    _schedulers: list[Any]

    def _take(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> Optimizer:
        """Keep the parts; the optimizer to which all of them belong."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        owner: Any = optimizer or schedulers[0].optimizer
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name} at index {index} should have `optimizer` as its attribute."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{index} in the given schedulers sequence."
                )
            if scheduler.optimizer is not owner:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {index} has another one"
                )
        self._schedulers, self.optimizer = list(schedulers), owner
        return owner  # type: ignore[no-any-return]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the states of the parts."""
        state = super().state_dict()
        del state["_schedulers"]  # it comes last
        return {**state, "_schedulers": [part.state_dict() for part in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        own = dict(state_dict)
        for part, saved in zip(self._schedulers, own.pop("_schedulers"), strict=True):
            part.load_state_dict(saved)
        self.__dict__.update(own)


class ChainedScheduler(Combined):
    """Several schedules at once: their factors multiply.

    Raises ValueError for no schedule, for schedules of several optimizers, and for
    `ReduceLROnPlateau`. Source: PyTorch's `ChainedScheduler`.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [rg.optim.lr_scheduler.ExponentialLR(optimizer, g) for g in (0.5, 0.25)]
    >>> schedule = rg.optim.lr_scheduler.ChainedScheduler(parts)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.125]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch in all of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class SequentialLR(Combined):
    """Schedules one after the other: at the epochs `milestones` the next one starts from 0.

    Raises ValueError unless there is one milestone less than schedules, and as `ChainedScheduler`.
    Source: PyTorch's `SequentialLR`.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> warmup = rg.optim.lr_scheduler.ConstantLR(optimizer, 0.5, total_iters=2)
    >>> decay = rg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    >>> schedule = rg.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], [2])
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(4):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [0.5, 0.5, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[Any],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # every part has set the rates when it was made
            set_rate(group, group["initial_lr"])
        take_back(self._schedulers)
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch in the schedule whose turn it is."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def take_back(schedulers: Sequence[Any]) -> None:
    """Undo the first step that every part made by itself."""
    for scheduler in schedulers:
        if isinstance(scheduler, Combined):
            take_back(scheduler._schedulers)
        else:
            scheduler.last_epoch -= 1
