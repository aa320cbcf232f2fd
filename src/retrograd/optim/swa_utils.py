"""Averages of models over the steps of their training, and what goes with them.

Source: PyTorch's `optim.swa_utils`; Izmailov et al., UAI 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd.grad_mode import no_grad
from ..engine.tensor import Tensor
from ..nn import Module
from ..nn.modules.normalization import _BatchNorm
from ..ops.creation.from_data import tensor
from .lr_scheduler.schedule import LRScheduler, check_strategy, per_group, within_step
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


# -- averages ----------------------------------------------------------------------------------


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """The function (average, new value, count) -> average that forgets at the rate `decay`.

    Raises ValueError for a rate that is not between 0 and 1.

    >>> update = rg.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> update(rg.tensor(1.0), rg.tensor(3.0), 1)
    tensor(1.5000)
    """
    check_decay(decay)

    def ema_update(average: Tensor, value: Tensor, count: Any) -> Tensor:
        with no_grad():
            return average * decay + value * (1 - decay)

    return ema_update


def check_decay(decay: float) -> None:
    """Raise ValueError for a rate that is not between 0 and 1."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """The function (average, new value, count) -> average in which all values weigh the same.

    >>> update = rg.optim.swa_utils.get_swa_avg_fn()
    >>> update(rg.tensor(1.0), rg.tensor(4.0), 2)
    tensor(2.)
    """

    def swa_update(average: Tensor, value: Tensor, count: Any) -> Tensor:
        with no_grad():
            return average + (value - average) / (count + 1)  # type: ignore[no-any-return]

    return swa_update


def in_lists(update: Callable[[Tensor, Tensor, Any], Tensor]) -> Callable[..., None]:
    """The form of an average that writes into a list of tensors."""

    def update_all(averages: Any, values: Any, count: Any) -> None:
        with no_grad():
            for average, value in zip(averages, values, strict=True):
                average.copy_(update(average, value, count))

    return update_all


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """`get_ema_avg_fn` for lists of tensors, which are written.

    >>> x = rg.tensor(1.0)
    >>> rg.optim.swa_utils.get_ema_multi_avg_fn(0.75)([x], [rg.tensor(3.0)], 1); x
    tensor(1.5000)
    """
    return in_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """`get_swa_avg_fn` for lists of tensors, which are written.

    >>> x = rg.tensor(1.0)
    >>> rg.optim.swa_utils.get_swa_multi_avg_fn()([x], [rg.tensor(4.0)], 2); x
    tensor(2.)
    """
    return in_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of `model` whose parameters average those given to `update_parameters`.

    avg_fn: (average, new value, count) -> average, by default the mean; or multi_avg_fn, the same
    for lists, which it writes. With `use_buffers` buffers are averaged too; otherwise they are
    those of the last model. `n_averaged` counts the models. Raises AssertionError for both
    functions. Source: PyTorch's `AveragedModel`.

    >>> model = rg.nn.Linear(1, 1, bias=False)
    >>> average = rg.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = rg.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average(rg.ones(1)).item(), average.n_averaged
    (3.0, tensor(3))
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the average."""
        pairs = [
            (mine.detach(), theirs.detach())
            for mine, theirs in zip(self._averaged(self.module), self._averaged(model), strict=True)
        ]
        if self.n_averaged == 0:
            for average, value in pairs:
                average.copy_(value)
        elif pairs:
            averages, values = zip(*pairs, strict=True)
            update = self.multi_avg_fn or in_lists(self.avg_fn or get_swa_avg_fn())
            update(list(averages), list(values), self.n_averaged)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return chain(model.parameters(), buffers)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch normalizations anew, in one pass over `loader`.

    Batches are inputs, or tuples and lists that begin with one. The model's mode is left as it was.
    Source: PyTorch's `update_bn`.

    >>> model = rg.nn.BatchNorm1d(1)
    >>> rg.optim.swa_utils.update_bn([rg.tensor([[1.0], [3.0]]), rg.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not layers:
        return
    rates, training = [layer.momentum for layer in layers], model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    with no_grad():
        for batch in loader:
            first = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(first if device is None else first.to(device))
    for layer, rate in zip(layers, rates, strict=True):
        layer.momentum = rate
    model.train(training)


# -- schedule ----------------------------------------------------------------------------------


class SWALR(LRScheduler):
    """The way from the present rate to the constant `swa_lr`, in `anneal_epochs`, then stay.

    `anneal_strategy` is "cos" or "linear". Raises ValueError for settings out of range. Source:
    PyTorch's `SWALR`.

    >>> optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(3):
    ...     optimizer.step(); schedule.step(); rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(
            per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = lr
        check_strategy(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way has been made at `step`."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates, from the last ones, so that another schedule's factors stay."""
        step = max(self._step_count - 1, 1 if self.anneal_epochs == 0 else 0)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
