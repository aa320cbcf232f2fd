"""`LRScheduler`, the base of learning-rate schedules; it knows none by name."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from ...engine.tensor import Tensor
from ..optimizer import Optimizer

__all__ = [
    "LRScheduler", "check_optimizer", "check_strategy", "per_group", "set_rate", "within_step",
]  # fmt: skip

TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of "
    "the learning rate schedule is skipped. See "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
    "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler."
)
NOT_THE_LAST = (
    "To get the last learning rate computed by the scheduler, please use `get_last_lr()`: `get_lr` "
    "computes another step."
)


def own_copy(value: Any) -> Any:
    """A number, or a copy of a tensor that holds one, so that no two places share it."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Set the rate of a group, in place where a tensor holds it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = own_copy(rate)


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A setting for each group, from one for all or a sequence; ValueError for a wrong number."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [own_copy(each) for each in value]


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{type(optimizer).__name__} is not an Optimizer. Give the optimizer whose rate it "
            "sets, as StepLR(optimizer, step_size=10)"
        )


def check_strategy(name: str) -> None:
    """Raise ValueError for a way between two rates that there is not."""
    if name not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {name}")


def within_step(get_lr: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """A `get_lr` that warns where no step calls it: most of them go on from the present rates."""

    @functools.wraps(get_lr)
    def call(self: Any) -> list[Any]:
        if not self._get_lr_called_within_step:
            warnings.warn(NOT_THE_LAST, UserWarning, stacklevel=2)
        return get_lr(self)

    return call


class LRScheduler:
    """The base of schedules: a subclass gives in `get_lr` the rates of the epoch `last_epoch`.

    Making one sets the rates of epoch 0 (or continues after `last_epoch`); `step` advances by one.
    Raises TypeError for what is no optimizer, KeyError when continuing without "initial_lr".

    >>> class Halving(rg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = Halving(optimizer)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    _is_initial = False  # while the first rates are set
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own_copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in "
                    f"param_groups[{number}] when resuming scheduler with last_epoch >= 0."
                )
        self.base_lrs = [own_copy(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the first rates; the optimizer's steps count from its first schedule on."""
        if "_replaced" not in vars(self.optimizer):
            self.optimizer._stepped = False
        self.optimizer._replaced = "step" in vars(self.optimizer)
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rate of each group for `last_epoch`."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; call it after the optimizer's own `step`.

        `epoch`, deprecated, goes to that epoch instead.
        """
        first = self._step_count == 1  # after the one of `_initial_step`
        replaced = self.optimizer._replaced
        if first and ("step" in vars(self.optimizer)) is not replaced:
            warnings.warn(OVERRIDDEN, UserWarning, stacklevel=2)
        elif first and not self.optimizer._stepped and not replaced:
            warnings.warn(TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or those of `epoch`."""
        closed = getattr(self, "_get_closed_form_lr", None)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr() if epoch is None or closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, lr)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [own_copy(group["lr"]) for group in self.optimizer.param_groups]

    def _times(self, factor: float) -> list[Any]:
        """The present rates multiplied by `factor`."""
        return [lr * factor for lr in self._rates()]

    def _base_times(self, factor: float) -> list[Any]:
        """The initial rates multiplied by `factor`."""
        return [lr * factor for lr in self.base_lrs]

    def _along_cosine(self, angle: float, low: float) -> list[Any]:
        """The rates on a cosine, which are the initial ones at angle 0, and `low` at pi."""
        height = (1 + math.cos(angle)) / 2
        return [low + (base - low) * height for base in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and what is known of it."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.__dict__.update(state_dict)
