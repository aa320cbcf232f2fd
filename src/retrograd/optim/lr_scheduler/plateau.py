"""`ReduceLROnPlateau`, the schedule that follows a metric."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from ...engine.tensor import Tensor
from ..optimizer import Optimizer
from .schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, per_group, set_rate

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when a metric has not improved for more than `patience` epochs.

    mode: "min" or "max", what improving means; threshold: by how much, relative ("rel") or absolute
    ("abs"); cooldown: epochs to wait after a cut; min_lr: a bound, or one per group; a cut of less
    than `eps` is left out. Raises ValueError for a factor of 1 or more, or an unknown mode.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> schedule.step(2.0); schedule.step(2.0); schedule.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        check_optimizer(optimizer)
        self.optimizer, self.factor = optimizer, factor  # in the order in which states show them
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch, self._last_lr = 0, self._rates()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forget the metrics."""
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def _is_better(self, a: float, best: float) -> bool:
        """Whether a metric improves on the best so far by the threshold."""
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold
        if self.threshold_mode == "rel":
            if math.isinf(best):
                return a * sign < best * sign
            return a * sign < best * (sign - margin)
        return a * sign < best * sign - margin

    def step(self, metrics: float | Tensor, epoch: int | None = None) -> None:  # type: ignore[override]
        """Tell the metric of one epoch; `epoch`, deprecated, says which."""
        metric = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(metric, self.best):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are waited for since the last cut."""
        return self.cooldown_counter > 0

    def _reduce_lr(self, epoch: int) -> None:
        """Cut the rates; programs' schedules extend it, as `_is_better` and `_reset`."""
        count, known = len(self.optimizer.param_groups), len(self.min_lrs)
        if count != known:
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({count}) differs from when "
                    f"ReduceLROnPlateau was initialized ({known}): set `min_lrs`, one for each"
                )
            self.min_lrs = [self.default_min_lr] * count
        for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lr = float(group["lr"])
            new = max(lr * self.factor, low)
            if lr - new > self.eps:
                set_rate(group, new)
