"""Learning-rate schedules: each sets the "lr" of an optimizer's groups, once per `step()`.

A schedule is written as the factor from one epoch to the next, so that several of them on one
optimizer multiply, as in PyTorch; `_get_closed_form_lr` gives the rates of any epoch from the first
ones. `base_lrs` are the rates at the start ("initial_lr").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ... import providers as _providers
from ..optimizer import Optimizer
from .combined import ChainedScheduler, SequentialLR
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .schedule import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .schedule import LRScheduler, within_step

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


class _LRScheduler(LRScheduler):
    """An older name of the base; the schedules here have the newer one."""


class _ByFunctions(LRScheduler):
    """Rates by functions of the epoch, one or one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        for each in self.lr_lambdas:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and plain functions, which cannot be saved."""
        state = super().state_dict()
        state["lr_lambdas"] = [  # the last entry
            None if isinstance(f, FunctionType) else dict(f.__dict__)
            for f in state.pop("lr_lambdas")
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; plain functions stay as they are."""
        state = dict(state_dict)
        for function, saved in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if saved is not None:
                function.__dict__.update(saved)
        self.__dict__.update(state)


class LambdaLR(_ByFunctions):
    """The initial rate times `lr_lambda(epoch)`; one function, or one for each group.

    Raises ValueError for another number of functions.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    @within_step
    def get_lr(self) -> list[Any]:
        """The initial rates times the functions' values."""
        return [
            base * factor(self.last_epoch)
            for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_ByFunctions):
    """The rate times `lr_lambda(epoch)` every epoch; one function, or one for each group.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates times the functions' values, but the rates themselves at the start."""
        if self._is_initial:
            return self._rates()
        return [
            lr * factor(self.last_epoch)
            for factor, lr in zip(self.lr_lambdas, self._rates(), strict=True)
        ]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, multiplied at every `step_size`-th epoch."""
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._times(self.gamma) if due else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        return self._base_times(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each epoch in `milestones`.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, multiplied at a milestone."""
        times = self.milestones[self.last_epoch]
        return self._times(self.gamma**times) if times else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return self._base_times(self.gamma**passed)


class ConstantLR(LRScheduler):
    """The rate times `factor` during the first `total_iters` epochs, then the initial one.

    Raises ValueError for a `factor` outside [0, 1].

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.ConstantLR(optimizer, 0.5, total_iters=2)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, multiplied at the start and restored at the end."""
        if self.last_epoch == 0:
            return self._times(self.factor)
        return (
            self._times(1 / self.factor) if self.last_epoch == self.total_iters else self._rates()
        )

    def _get_closed_form_lr(self) -> list[Any]:
        return self._base_times(self.factor if self.last_epoch < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """A factor that goes linearly from `start_factor` to `end_factor` in `total_iters` epochs.

    Raises ValueError for a `start_factor` outside (0, 1] and an `end_factor` outside [0, 1].

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.LinearLR(optimizer, 0.5, total_iters=2)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, multiplied by the ratio of this epoch's factor to the last one's."""
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._times(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        share = min(self.last_epoch, self.total_iters) / self.total_iters
        return self._base_times(self.start_factor + rise * share)


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every epoch.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates times `gamma`, but the rates themselves at the start."""
        return self._rates() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return self._base_times(self.gamma**self.last_epoch)


class PolynomialLR(LRScheduler):
    """The initial rate times `(1 - epoch / total_iters) ** power`, 0 from `total_iters` on.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, multiplied by the ratio of this epoch's factor to the last one's."""
        epoch, total = self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return self._rates()
        ratio = (1.0 - epoch / total) / (1.0 - (epoch - 1) / total)
        return self._times(ratio**self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.last_epoch, self.total_iters) / self.total_iters
        return self._base_times((1.0 - share) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` in `T_max` epochs, and back.

    Source: Loshchilov and Hutter, ICLR 2017; the recursive form of PyTorch's `CosineAnnealingLR`.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """This epoch's point of the cosine, from the last one's."""
        epoch, half, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._rates()
        if (epoch - 1 - half) % (2 * half) == 0:
            rise = (1 - math.cos(math.pi / half)) / 2
            pairs = zip(self._rates(), self.base_lrs, strict=True)
            return [lr + (base - low) * rise for lr, base in pairs]
        here = 1 + math.cos(math.pi * epoch / half)
        before = 1 + math.cos(math.pi * (epoch - 1) / half)
        return [here / before * (lr - low) + low for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return self._along_cosine(math.pi * self.last_epoch / self.T_max, self.eta_min)


for kind in (CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR, ReduceLROnPlateau):
    kind.__module__ = __name__  # what is printed of them


if not TYPE_CHECKING:  # to type checkers, a name that is not there is an error

    def __getattr__(name):
        """The error for a name that is not there, which has the nearest one."""
        return _providers.attribute(__name__, name)
