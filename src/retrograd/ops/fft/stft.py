"""Short-time Fourier transforms: `stft` and its inverse, made of pad, unfold and fft.

Frame t of a signal is window * signal[t * hop : t * hop + n_fft]. The inverse adds the frames,
windowed once more, where they came from, and divides by the sum of the squared windows there.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.registry import name_node
from ...engine.tensor import Tensor, constant_like
from ...kernels.allocation import known_true
from ..core.arguments import public
from ..elementwise.arithmetic import mul
from ..elementwise.complex import view_as_complex, view_as_real
from ..shape.basic_views import narrow, refold, unfold
from ..shape.pad import constant_pad_nd, pad
from ..shape.permute import transpose
from .records import complex_transform, from_half, to_half

__all__ = ["istft", "stft"]

NO_RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require "
    "that return_complex=True in a future PyTorch release. Write stft(..., return_complex=True)"
)
OLD_FORM = (
    "stft with return_complex=False is deprecated: use return_complex=True, and view_as_real() of "
    "the result for the old form"
)
ONESIDED = (
    "Cannot have onesided output if window or input is complex: leave onesided= away, or set False"
)


def _fail(name: str, input: Tensor, n_fft: int, text: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(input of shape {list(input.shape)} and dtype {input.dtype.name}, n_fft={n_fft}): "
        f"{text}"
    )


def _is_complex(t: Tensor | None) -> bool:
    return t is not None and t._array.dtype.kind == "c"


def _centred(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window with zeros on both sides up to n_fft; None for one of ones all over."""
    if win_length == n_fft:
        return window
    if window is None:
        window = constant_like(np.ones(win_length, dtypes.real_of(like._array.dtype)), like)
    left = (n_fft - win_length) // 2
    return constant_pad_nd(window, (left, n_fft - win_length - left))


@public(methods="stft")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Fourier transforms of windowed frames: `([B,] L)` to `([B,] bins, frames)`, complex.

    Frames of `n_fft` points begin every `hop_length` points (a quarter of n_fft), and are weighted
    by `window`, of `win_length` points, with zeros around it. With `center`, the signal is padded
    by `pad_mode` so that frame t has its middle at t * hop_length; else, `align_to_window` lets the
    first window, not the first frame, begin at 0. `normalized` divides by sqrt(n_fft). There are
    n_fft // 2 + 1 bins if `onesided` (the default for real data), else n_fft. `return_complex`
    must be given for real data; if False, the result is real with a last dimension of 2. The signal
    and the window, real or complex, may require gradients.

    Raises RuntimeError for data of other dimensions or dtypes, lengths that do not fit, and
    onesided complex data.

    >>> rg.stft(rg.ones(8), 4, window=rg.hann_window(4), return_complex=True).shape
    retrograd.Size([3, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    is_complex = _is_complex(input) or _is_complex(window)
    if return_complex is None and not is_complex:
        raise RuntimeError(NO_RETURN_COMPLEX)
    if return_complex is False:
        warnings.warn(OLD_FORM, UserWarning, stacklevel=2)
    _check_signal(input, n_fft)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        input = _bordered(input, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window and 0 < width < n_fft:
        left = (n_fft - width) // 2
        input = constant_pad_nd(input, (left, n_fft - width - left))
    _check_frames(input, n_fft, hop, width, window)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError(ONESIDED)
    frames = name_node(unfold(input, -1, n_fft, hop), "AsStridedBackward0")
    weights = _centred(window, width, n_fft, input)
    if weights is not None:
        frames = mul(frames, weights)
    norm = "ortho" if normalized else None
    if onesided:
        bins = to_half("rfft", frames, None, (-1,), norm)
    else:
        bins = complex_transform("fft", frames, None, (-1,), norm)
    name = "TransposeBackward1" if input.ndim > 1 else "SqueezeBackward4"
    found = name_node(transpose(bins, -1, -2), name)
    return as_non_view(view_as_real(found) if return_complex is False else found)


def _check_signal(input: Tensor, n_fft: int) -> None:
    """Raise unless `input` is one signal or a batch of them."""
    if input._array.dtype.kind not in "fcV":
        raise _fail("stft", input, n_fft, "expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise _fail("stft", input, n_fft, "expected a 1D or 2D tensor")


def _bordered(input: Tensor, widths: tuple[int, int], mode: str) -> Tensor:
    """The signal padded on both sides; `pad` wants dimensions in front of it."""
    lead = (1,) * (3 - input.ndim)
    padded = pad(input.reshape((*lead, *input.shape)), widths, mode)
    return padded.reshape(*input.shape[:-1], padded.shape[-1])


def _check_frames(input: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None) -> None:
    """Raise unless frames and window fit the (padded) signal."""
    fail = partial(_fail, "stft", input, n_fft)
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise fail(f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise fail(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise fail(f"expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise fail(
            f"expected a 1D window tensor of size equal to win_length={width}, but got window with "
            f"size {list(window.shape)}",
        )


@public(methods="istft")
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` is `input`: `([B,] bins, frames)` to `([B,] L)`.

    The arguments are those given to `stft`; where frames disagree, the result is nearest to them in
    the sense of least squares. It has `length` points, if that is given (zeros follow where there
    are no frames), and is real unless `return_complex`. Raises RuntimeError for input that is not
    complex or does not fit n_fft, and where the windows leave a point uncovered.

    >>> x, window = rg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), rg.hann_window(4)
    >>> bins = rg.stft(x, 4, window=window, return_complex=True)
    >>> rg.istft(bins, 4, window=window, length=6)
    tensor([1., 2., 3., 4., 5., 6.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    fail = partial(_fail, "istft", input, n_fft)
    width = n_fft if win_length is None else win_length
    _check_bins(input, n_fft, hop, width, window)
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != wanted:
        raise fail(
            "expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={bool(onesided)}, but got "
            f"{input.shape[-2]}",
        )
    if return_complex and onesided:
        raise RuntimeError(ONESIDED)
    if _is_complex(window) and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    bins = view_as_complex(transpose(view_as_real(input), -2, -3))
    norm = "ortho" if normalized else None
    if return_complex:
        frames = complex_transform("ifft", bins, None, (-1,), norm)
    else:
        frames = from_half("irfft", bins, (n_fft,), (-1,), norm)
    weights = _centred(window, width, n_fft, input)
    if weights is not None and weights._array.dtype.kind == "b":  # whose sums would be booleans
        weights = weights.to(dtypes.of_numpy(dtypes.real_of(input._array.dtype)))
    if weights is None:
        weights = constant_like(np.ones(n_fft, dtypes.real_of(input._array.dtype)), input)
    return _overlapped(input, mul(frames, weights), weights, hop, center, length)


def _check_bins(input: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None) -> None:
    """Raise unless `input` is the transform of signals, and the window fits."""
    fail = partial(_fail, "istft", input, n_fft)
    if not _is_complex(input):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True. Convert pairs of reals first: view_as_complex(x)"
        )
    if input._array.size == 0:
        raise fail("input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise fail(
            "expected a tensor with 3 or 4 dimensions, counting real and imaginary parts as one, "
            f"but got {input.ndim + 1}",
        )
    if not 0 < hop <= width:
        raise fail("expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise fail("expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise fail(
            f"Invalid window shape. window has to be 1D and length of `win_length` ({width}), but "
            f"its shape is {list(window.shape)}",
        )


def _overlapped(
    input: Tensor, frames: Tensor, weights: Tensor, hop: int, center: bool, length: int | None
) -> Tensor:
    """Windowed frames added up, over the squared windows added up, cut to the signal's length."""
    count, n_fft = frames.shape[-2:]
    total = n_fft + hop * (count - 1)
    first = n_fft // 2 if center else 0
    last = first + length if length is not None else total - (n_fft // 2 if center else 0)
    kept = max(min(last, total) - first, 0)
    squares = (weights * weights).expand(count, n_fft)
    signal = _added(frames, hop, (*frames.shape[:-2], total), first, kept)
    envelope = _added(squares, hop, (total,), first, kept)
    lowest = np.min(np.abs(envelope._array)) if kept else np.inf
    if known_true(lowest < 1e-11):
        raise _fail(
            "istft",
            input,
            n_fft,
            f"window overlap add min: {lowest:.3g}, but it must be positive: with this window, "
            "hop_length and center some points are in no frame. Use a smaller hop_length, or "
            "center=True",
        )
    found = signal / envelope
    if last > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center, win_length, and hop_length settings",
            UserWarning,
            stacklevel=3,
        )
        return constant_pad_nd(found, (0, last - total))
    return name_node(found, "DivBackward0" if input.ndim > 2 else "SqueezeBackward1")


def _added(parts: Tensor, hop: int, shape: tuple[int, ...], first: int, kept: int) -> Tensor:
    """Frames added up where they came from, cut to `kept` points."""
    total = refold(parts, dim=len(shape) - 1, size=parts.shape[-1], step=hop, shape=shape)
    return narrow(total, -1, first, kept)
