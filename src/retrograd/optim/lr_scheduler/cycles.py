"""Schedules that go up and down, of the rate and, opposite to it, of the momentum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .schedule import LRScheduler, check_optimizer, check_strategy, per_group, set_rate, within_step

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


# -- momentum ----------------------------------------------------------------------------------


def start_momentum(optimizer: Optimizer, least: Any, most: Any, resumes: bool) -> bool:
    """Note the bounds of the momentum in every group, and begin at the upper one.

    Gives whether the momentum is the first of the betas.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled. Leave "
            "the momentum alone: cycle_momentum=False"
        )
    lows = per_group("base_momentum", optimizer, least)
    highs = per_group("max_momentum", optimizer, most)
    by_beta = "betas" in optimizer.defaults
    if not resumes:
        for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
            set_momentum(group, high, by_beta)
            group["max_momentum"], group["base_momentum"] = high, low
    return by_beta


def set_momentum(group: dict[str, Any], value: Any, by_beta: bool) -> None:
    """Set the momentum of a group, or the first of its betas."""
    if by_beta:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


# -- schedules ---------------------------------------------------------------------------------


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` in `T_0` epochs, then again from the top.

    Each round is `T_mult` times as long as the one before. `step(epoch)` goes to any epoch, whole
    or not. Raises ValueError for lengths that are no positive integers. Source: PyTorch's
    `CosineAnnealingWarmRestarts`; Loshchilov and Hutter, ICLR 2017.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates `T_cur` epochs after the last restart."""
        return self._along_cosine(math.pi * self.T_cur / self.T_i, self.eta_min)

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to `epoch`, of which a part may have passed."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._place(epoch)
        self._update_lr(math.floor(epoch))

    def _place(self, epoch: float) -> None:
        """Find the round in which `epoch` lies."""
        self.T_i, self.T_cur = self.T_0, epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        elif epoch >= self.T_0:
            done = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult**done
            self.T_cur = epoch - self.T_0 * (self.T_mult**done - 1) / (self.T_mult - 1)


class CyclicLR(LRScheduler):
    """A zigzag between `base_lr` and `max_lr`, up in `step_size_up` steps and down again.

    mode: "triangular", all peaks alike; "triangular2", each half as high as the last; "exp_range",
    times `gamma` per step; or `scale_fn` of the number of the cycle (`scale_mode` "cycle") or of
    the step ("iterations"). With `cycle_momentum` the momentum goes the other way. Bounds are
    numbers, or one per group. Raises ValueError for an unknown mode, or an optimizer without
    momentum.
    Source: PyTorch's `CyclicLR`; Smith, WACV 2017.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = rg.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(4):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        low = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(low, optimizer.param_groups, strict=True):
                set_rate(group, lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: {mode!r}")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            resumes = last_epoch != -1
            self.use_beta1 = start_momentum(optimizer, base_momentum, max_momentum, resumes)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = low

    def scale_fn(self, x: float) -> float:
        """What the height of a peak is multiplied by."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x  # type: ignore[no-any-return]
        return 2.0 ** (1 - x) if self.mode == "triangular2" else 1.0

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this step; sets the momentum, too."""
        passed = self.last_epoch / self.total_size
        cycle = math.floor(1 + passed)
        x = 1.0 + passed - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                set_momentum(group, high - (high - low) * height, self.use_beta1)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a plain `scale_fn`, which cannot be saved."""
        state = super().state_dict()
        own = state.pop("_scale_fn_custom")  # it comes last
        plain = own is None or isinstance(own, FunctionType)
        return {**state, "_scale_fn_custom": None if plain else dict(own.__dict__)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; a plain `scale_fn` stays as it is."""
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)


class OneCycleLR(LRScheduler):
    """Up from `max_lr / div_factor` to `max_lr`, then down to a small rate, in `total_steps`.

    `pct_start` is the share of the way up; the last rate is the first one over `final_div_factor`.
    `anneal_strategy` is "cos" or "linear". With `three_phase` the way down stops at the first rate
    before it goes on. The momentum goes the other way. The length may be given as `epochs` times
    `steps_per_epoch`. Raises ValueError for settings out of range, and beyond the last step.
    Source: PyTorch's `OneCycleLR`; Smith and Topin, 2018.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = rg.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=4, pct_start=0.5)
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> [round(lr, 4) for lr in rates]
    [0.04, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = length(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            highs = per_group("max_lr", optimizer, max_lr)
            for high, group in zip(highs, optimizer.param_groups, strict=True):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            resumes = last_epoch != -1
            self.use_beta1 = start_momentum(optimizer, base_momentum, max_momentum, resumes)
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this step; sets the momentum, too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        ends = [phase["end_step"] for phase in self._schedule_phases]
        place = next((i for i, end in enumerate(ends) if step <= end), len(ends) - 1)
        start = ends[place - 1] if place else 0.0
        end, lr_from, lr_to, momentum_from, momentum_to = self._schedule_phases[place].values()
        share = (step - start) / (end - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                between = self._anneal_func(group[momentum_from], group[momentum_to], share)
                set_momentum(group, between, self.use_beta1)
        return [self._anneal_func(group[lr_from], group[lr_to], share) for group in groups]

    def _anneal_func(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def length(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    """The number of steps, given in one way or the other."""
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * per_epoch


def phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Last step, rates and momenta of each phase: by the names that the groups have for them."""
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    least, most = "base_momentum", "max_momentum"
    up = (share * total - 1, "initial_lr", "max_lr", most, least)
    if not three:
        found = [up, (total - 1, "max_lr", "min_lr", least, most)]
    else:
        down = (2 * share * total - 2, "max_lr", "initial_lr", least, most)
        found = [up, down, (total - 1, "initial_lr", "min_lr", most, most)]
    return [dict(zip(names, phase, strict=True)) for phase in found]
