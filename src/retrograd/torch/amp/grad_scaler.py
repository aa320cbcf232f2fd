"""`GradScaler`: gradients of a scaled loss, lest small ones vanish in half precision.

NOTE [One iteration] `scale` multiplies the loss, so all gradients. `step` divides them again, if
`unscale_` has not done so, and skips the optimizer's step where one is infinite or NaN. `update`
makes the scale smaller if a step was skipped, and larger after `growth_interval` steps that were
not. What each optimizer has been through since the last `update` is in `_per_optimizer_states`.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import dtypes
from ...engine.tensor import Tensor, wrap, wrote
from ...engine.writable import check_writable
from ...ops.creation.factories import full
from ...quiet import quietly

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GradScaler"]

NO_GPU = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
UNUSED = (
    "Attempted {what} but _scale is None.  This may indicate your script did not use "
    "scaler.scale(loss or outputs) earlier in the iteration."
)


class OptState(Enum):
    """The stage of an optimizer within a step: its gradients are scaled, unscaled or used."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def fresh() -> dict[str, Any]:
    """The state of an optimizer since the last `update`, at first."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a scale and divides their gradients by it: NOTE [One iteration].

    device: "cpu"; "cuda", PyTorch's default, warns and turns the scaler off, for there is no GPU.
    Turned off (`enabled=False`), it hands losses and steps on as they are. Raises ValueError for
    float16 parameters, RuntimeError for a second `unscale_` or `step` before `update`,
    AssertionError for factors that do not grow and shrink the scale, and for an `update` without a
    step. Source: PyTorch's `amp.GradScaler`.

    >>> w = rg.nn.Parameter(rg.tensor(1.0))
    >>> optimizer, scaler = rg.optim.SGD([w], lr=0.1), rg.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w * w).backward(); w.grad
    tensor(16.)
    >>> scaler.step(optimizer); scaler.update(); w
    Parameter containing:
    tensor(0.8000, requires_grad=True)
    """

    # what a compiled step does with the methods, where others end its recording: `capture.watch`
    _in_compiled_steps: ClassVar = {
        **dict.fromkeys(["unscale_", "step", "update"], "once"),
        **{"scale": "rewritten", "_factor": "repeated", "get_scale": "asked"},
    }

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda":
            warnings.warn(NO_GPU, stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled, self._device = enabled, device
        self._init_scale, self._growth_factor = init_scale, growth_factor
        self._backoff_factor, self._growth_interval = backoff_factor, growth_interval
        self._init_growth_tracker = 0
        self._scale: Tensor | None = None  # this and the next until they are first used
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(fresh)

    def scale(self, outputs: Any) -> Any:
        """`outputs`, a tensor or a list or tuple of such, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._factor()
        if not isinstance(outputs, (list, tuple)):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        made = [self.scale(each) for each in outputs]
        return type(outputs)(*made) if hasattr(outputs, "_fields") else type(outputs)(made)

    def _factor(self) -> Tensor:
        """The scale from now on, as a tensor of its own."""
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(self._device)
        scale: Any = self._scale
        return wrap(scale._array.copy())

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        """Make the tensors of the scale, and of the number of steps since it grew."""
        self._scale = full((), self._init_scale, dtype=dtypes.float32, device=dev)
        steps = self._init_growth_tracker
        self._growth_tracker = full((), steps, dtype=dtypes.int32, device=dev)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        """The tensors of `_lazy_init_scale_growth_tracker`; AssertionError before these are."""
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(UNUSED.format(what=funcname))
        return self._scale, self._growth_tracker

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale now, so that they can be clipped before `step`."""
        if not self._enabled:
            return
        state = self._state_of(optimizer, "unscale_")
        if state["stage"] == OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse, found_inf = np.float64(1.0 / self.get_scale()), wrap(np.float32(0.0))
        found = self._unscale_grads_(optimizer, wrap(inverse), found_inf, False)
        state["found_inf_per_device"], state["stage"] = found, OptState.UNSCALED

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients by `inv_scale`; by device, 1 if one is not finite, else 0."""
        grads = [
            grad
            for group in optimizer.param_groups
            for p in group["params"]
            if (grad := p._gradient) is not None
        ]
        if not allow_fp16 and any(grad._array.dtype == np.float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        _amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)
        return {found_inf.device: found_inf} if grads else {}

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `optimizer.step(*args)` with unscaled gradients; None if the step was skipped."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._state_of(optimizer, "step")
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(
        self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The optimizer's step, unless a gradient is not finite; programs' scalers replace it."""
        if any(each.item() for each in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """By device, 1 if one of an optimizer's gradients was not finite, else 0."""
        found: dict[Any, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """By device, 1 if a gradient is not finite, else 0, of gradients that keep their scale."""
        found = self._unscale_grads_(optimizer, wrap(np.float64(1)), wrap(np.float32(0)), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def update(self, new_scale: Any = None) -> None:
        """End the iteration: a smaller, a larger or the same scale, or `new_scale`."""
        if not self._enabled:
            return
        scale, steps = self._check_scale_growth_tracker("update")
        states = self._per_optimizer_states.values()
        checked = [inf for s in states for inf in s["found_inf_per_device"].values()]
        if new_scale is not None:
            scale.fill_(float(new_scale))
        elif not checked:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            factors = self._growth_factor, self._backoff_factor
            _amp_update_scale_(scale, steps, sum(checked), *factors, self._growth_interval)
        self._per_optimizer_states.clear()

    def _state_of(self, optimizer: Any, what: str) -> dict[str, Any]:
        self._check_scale_growth_tracker(what)
        return self._per_optimizer_states[id(optimizer)]

    # -- settings ------------------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Whether losses are scaled at all."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 for a scaler that is turned off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """The factor of the scale after `growth_interval` steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor of the scale after a step that was skipped."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows."""
        return self._growth_interval

    def _get_growth_tracker(self) -> int:
        """The number of steps since the scale grew; 0 for a scaler that is turned off."""
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors, interval and count, for `load_state_dict`; empty if turned off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the `state_dict` of another scaler; RuntimeError if that scaler was turned off."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


@quietly
def _amp_foreach_non_finite_check_and_unscale_(
    grads: Iterable[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply each gradient by `inv_scale`, in place; set `found_inf` to 1 if one is not finite.

    For programs with a scaler of their own: a `GradScaler` calls it.

    >>> grads, found_inf = [rg.tensor([4.0, rg.inf])], rg.zeros(1)
    >>> rg._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, rg.tensor(0.5))
    >>> grads, found_inf
    ([tensor([2., inf])], tensor([1.]))
    """
    factor = inv_scale.item()
    for grad in grads:
        if grad.is_sparse:
            if not grad.coalesce()._values().isfinite().all():
                found_inf.fill_(1.0)
            grad.mul_(factor)
            continue
        array = grad._array
        check_writable(grad, "unscale_")
        if not np.isfinite(array).all():
            found_inf.fill_(1.0)
        np.multiply(array, array.dtype.type(factor), array)
        wrote(grad, "unscale_")


def _amp_update_scale_(
    current_scale: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Write the next scale, and the number of steps since it grew, into tensors with one element.

    For programs with a scaler of their own: NOTE [One iteration].

    >>> scale, steps = rg.tensor([4.0]), rg.tensor([0])
    >>> rg._amp_update_scale_(scale, steps, rg.ones(1), 2.0, 0.5, 2000)
    tensor([2.])
    """
    if found_inf.item():
        current_scale.mul_(scale_backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.add_(1).item() == growth_interval:
        larger = current_scale * scale_growth_factor
        if larger.isfinite().item():
            current_scale.copy_(larger)
        growth_tracker.zero_()
    return current_scale
