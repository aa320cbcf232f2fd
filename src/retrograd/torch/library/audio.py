"""The operators of torchaudio's `torch.ops.torchaudio`, which the package itself has in C++.

`torch.ops.load_library` loads this module in place of torchaudio's own file. The package computes
derivatives of what calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...ops import log_softmax
from .custom import custom_op

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["forced_align", "rnnt_loss_forward"]

TOO_LONG = (
    "targets length is too long for CTC. Found targets length: {labels}, log_probs length: "
    "{frames}, and number of repeats: {repeats}. Each label needs a frame, and one more stands "
    "between two that are equal"
)


def operator(written: tuple[str, ...] = (), space: str = "torchaudio") -> Callable[[Any], Any]:
    """Define a function as the operator of its name, which writes the arguments of these names."""
    return lambda function: custom_op(
        f"{space}::{function.__name__}", function, mutates_args=written
    )


@operator(space="_torchaudio")
def cuda_version() -> None:
    """The version of CUDA: none."""


@operator(space="_torchaudio")
def is_align_available() -> bool:
    """Whether `forced_align` is here."""
    return True


@operator(("padded_output_waveform",))
def _lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> None:
    """A recursive filter: y[t] = x[t] - the sum of a[k] y[t - k], for 0 < k < order.

    The signal is (batch, channels, time), the coefficients are (channels, order), the last one
    first; the output has order - 1 values before the first, which are read.
    """
    order = a_coeff_flipped.shape[1]
    x = np.moveaxis(input_signal_windows._array, 2, 0)
    y = np.ascontiguousarray(np.moveaxis(padded_output_waveform._array, 2, 0))
    weights = np.ascontiguousarray(a_coeff_flipped._array[:, : order - 1].T)[:, None]
    for t, value in enumerate(x):
        y[t + order - 1] = value - (weights * y[t : t + order - 1]).sum(0)
    padded_output_waveform._array[...] = np.moveaxis(y, 0, 2)


@operator(("last_in", "last_out", "output_waveform"))
def _overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> None:
    """A distorted signal (rows, time) `temp` without its slow part, beside half of the signal."""
    kept = np.empty_like(temp._array.T)
    before, out = last_in._array, last_out._array
    for t, value in enumerate(temp._array.T):
        kept[t] = out = value - before + 0.995 * out
        before = value
    last_in._array[...], last_out._array[...] = before, out
    output_waveform._array[...] = waveform._array * 0.5 + kept.T * 0.75


@operator()
def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
) -> tuple[Tensor, Tensor]:
    """The loss of a transducer for each example, and its gradient by the logits.

    Logits are (batch, frames, labels + 1, classes), targets (batch, labels). clamp: how far the
    gradient goes from 0 at most, where it is positive. Source: A. Graves (2012).
    """
    logs = (log_softmax(logits, -1) if fused_log_softmax else logits)._array.astype(np.float64)
    picked = np.pad(targets._array.astype(np.int64), ((0, 0), (0, 1)))[:, None, :, None]
    end = np.arange(len(logs)), logit_lengths._array - 1, target_lengths._array
    blanks, labels = logs[..., blank], np.take_along_axis(logs, picked, -1)[..., 0]
    labels[:, :, -1] = -np.inf

    entry = np.full_like(blanks, -np.inf)
    entry[:, 0, 0] = 0
    before = _ways(entry, np.roll(blanks, 1, 1), np.roll(labels, 1, 2))
    entry[:, 0, 0] = -np.inf
    entry[end] = blanks[end]
    after = _ways(*[x[:, ::-1, ::-1] for x in (entry, blanks, labels)])[:, ::-1, ::-1]

    before -= after[:, :1, :1]
    grads = np.exp(logs + (before + after)[..., None])
    onward = np.roll(after, -1, 1)
    onward[:, -1] = -np.inf
    onward[end] = 0
    grads[..., blank] -= np.exp(before + blanks + onward)
    moved = np.take_along_axis(grads, picked, -1)
    moved -= np.exp(before + labels + np.roll(after, -1, 2))[..., None]
    np.put_along_axis(grads[:, :, :-1], picked[:, :, :-1], moved[:, :, :-1], -1)
    if clamp > 0:
        grads = grads.clip(-clamp, clamp)
    kind = logits._array.dtype
    return new_tensor(-after[:, 0, 0].astype(kind)), new_tensor(grads.astype(kind))


def _ways(entry: Any, steps: Any, labels: Any) -> Any:
    """Logarithms of the weights of all ways that lead to each place (batch, frames, labels + 1).

    entry: of beginning at a place; steps: of coming there from the frame before; labels: of coming
    from the label before.
    """
    found = entry.copy()
    for t in range(found.shape[1]):
        for u in range(found.shape[2]):
            if t:
                came = found[:, t - 1, u] + steps[:, t, u]
                found[:, t, u] = np.logaddexp(found[:, t, u], came)
            if u:
                came = found[:, t, u - 1] + labels[:, t, u]
                found[:, t, u] = np.logaddexp(found[:, t, u], came)
    return found


@operator()
def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """The likeliest way through labels and blanks (1, frames), and the scores (1, frames, classes).

    log_probs: (1, frames, classes); targets: (1, labels). Raises RuntimeError for several examples,
    and for more labels than frames.
    """
    if len(log_probs) != 1:
        raise RuntimeError(
            f"The batch dimension for log_probs must be 1 at the current version: got "
            f"{len(log_probs)}. Align one example after another"
        )
    scores, labels = log_probs._array[0], targets._array[0]
    repeats = int((labels[1:] == labels[:-1]).sum())
    if len(scores) < len(labels) + repeats:
        raise RuntimeError(TOO_LONG.format(labels=len(labels), frames=len(scores), repeats=repeats))
    path = _likeliest(scores, np.insert(labels, np.arange(len(labels) + 1), blank))
    return new_tensor(path.astype(labels.dtype)[None]), log_probs.clone()


def _likeliest(scores: Any, states: Any) -> Any:
    """The label at each frame of the likeliest way through the states, blanks on either side."""
    skips = np.full(len(states), -np.inf)
    skips[3::2][states[3::2] != states[1:-2:2]] = 0
    best = np.full(len(states), -np.inf)
    best[:2] = scores[0, states[:2]]
    steps = np.zeros((len(scores), len(states)), np.int64)
    for t in range(1, len(scores)):
        came = np.stack(
            [best, np.r_[-np.inf, best[:-1]], np.r_[-np.inf, -np.inf, best[:-2]] + skips]
        )
        steps[t] = came.argmax(0)
        best = came.max(0) + scores[t, states]
    place = len(states) - 1
    if place and best[-1] <= best[-2]:
        place -= 1
    path = np.empty(len(scores), np.int64)
    for t in reversed(range(len(scores))):
        path[t] = states[place]
        place -= steps[t, place]
    return path
