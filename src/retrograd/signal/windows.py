"""Window functions under torch.signal.windows' names, symmetric unless `sym` is False.

They return leaves of shape (M,), of float32 or float64 (the default dtype, if none is given), and
raise ValueError for a negative M, another dtype, or a shape parameter that makes no window.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..engine.naming import integer_in
from ..engine.tensor import Tensor
from ..errors import wrong_type
from ..ops.core.arguments import number_in
from ..ops.creation.from_data import check_device, check_dtype, finish
from ..ops.fft import window_functions

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip

NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _checked(name: str, length: Any, dtype: Any, device: Any) -> tuple[int, Any]:
    """A window's length and NumPy dtype; raises for those that it cannot have."""
    check_device(device)
    M = integer_in(length)
    if M is None:
        raise wrong_type(name, "M", "int", length)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    target = dtypes.default_numpy() if dtype is None else check_dtype(dtype, name)
    if target not in (np.float32, np.float64):
        raise ValueError(
            f"{name} expects float32 or float64 dtypes, got: {dtypes.of_numpy(target)}"
        )
    return M, target


def _points(M: int, sym: bool) -> Any:
    """The places of the points, measured from the middle of the window."""
    return np.arange(M) - window_functions.span(M, not sym) / 2 * (M > 1)


def window(checked_as: str = "") -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """A decorator of functions that give a window's values by `M`, `sym` and numbers for its shape.

    The window takes these by name, and besides what all windows take. `checked_as`: the function
    that errors about M and the dtype name, as PyTorch's do; by default its own.
    """

    def decorate(values: Callable[..., Any]) -> Callable[..., Tensor]:
        def call(
            M: int,
            *,
            sym: bool = True,
            dtype: Any = None,
            layout: Any = None,
            device: Any = None,
            requires_grad: bool = False,
            **shape: Any,
        ) -> Tensor:
            count, target = _checked(checked_as or values.__name__, M, dtype, device)
            name = values.__name__
            for key, value in shape.items():
                if isinstance(value, (Tensor, np.generic)):
                    shape[key] = number_in(value, name, key)
            return finish(values(count, sym, **shape).astype(target), requires_grad)

        first, *rest, _ = inspect.signature(call).parameters.values()
        shape = list(inspect.signature(values).parameters.values())[2:]
        own = [each.replace(kind=each.KEYWORD_ONLY) for each in shape]
        made = functools.wraps(values)(call)
        made.__signature__ = inspect.Signature([first, *own, *rest], return_annotation="Tensor")  # type: ignore[attr-defined]
        return made

    return decorate


@window()
def exponential(M: int, sym: bool, center: float | None = None, tau: float = 1.0) -> Any:
    """exp(-|n - center| / tau), around the middle; a window that is not `sym` may have a `center`.

    Raises ValueError for tau <= 0 and for a center of a symmetric window. Source: PyTorch's
    `signal.windows.exponential`.

    >>> rg.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    places = _points(M, sym) if center is None else np.arange(M) - center
    return np.exp(-np.abs(places) / tau)


@window()
def gaussian(M: int, sym: bool, std: float = 1.0) -> Any:
    """The Gaussian exp(-(n / std)^2 / 2) around the middle.

    Raises ValueError for std <= 0. Source: PyTorch's `signal.windows.gaussian`.

    >>> rg.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp((_points(M, sym) / std) ** 2 * -0.5)


@window()
def cosine(M: int, sym: bool) -> Any:
    """Half a turn of the sine, sampled at the middles of M equal parts.

    Source: PyTorch's `signal.windows.cosine`.

    >>> rg.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    parts = M + 1 if not sym and M > 1 else M
    return np.sin((np.arange(M) + 0.5) * (math.pi / max(parts, 1)))


@window()
def kaiser(M: int, sym: bool, beta: float = 12.0) -> Any:
    """The Kaiser window, narrower for a larger `beta`.

    Raises ValueError for a negative beta. Source: PyTorch's `signal.windows.kaiser`.

    >>> rg.signal.windows.kaiser(3, beta=5.0)
    tensor([0.0367, 1.0000, 0.0367])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return window_functions.kaiser(M, beta, not sym)


@window()
def bartlett(M: int, sym: bool) -> Any:
    """The triangular window that begins and, if symmetric, ends with 0.

    Source: PyTorch's `signal.windows.bartlett`.

    >>> rg.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return window_functions.triangle(M, not sym)


@window()
def general_cosine(M: int, sym: bool, a: Sequence[float]) -> Any:
    """a[0] - a[1] cos t + a[2] cos 2t - ..., over one turn.

    Raises TypeError where `a` is no sequence, ValueError where it is empty. Source: PyTorch's
    `signal.windows.general_cosine`.

    >>> rg.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not len(a):
        raise ValueError("Coefficients cannot be empty")
    return window_functions.cosine_sum(M, list(a), not sym)


@window("general_cosine")
def general_hamming(M: int, sym: bool, alpha: float = 0.54) -> Any:
    """alpha - (1 - alpha) cos t over one turn. Source: PyTorch's `signal.windows.general_hamming`.

    >>> rg.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return window_functions.cosine_sum(M, (alpha, 1.0 - alpha), not sym)


@window("general_cosine")
def hamming(M: int, sym: bool) -> Any:
    """0.54 - 0.46 cos t over one turn. Source: PyTorch's `signal.windows.hamming`.

    >>> rg.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return window_functions.cosine_sum(M, (0.54, 1.0 - 0.54), not sym)


@window("general_cosine")
def hann(M: int, sym: bool) -> Any:
    """(1 - cos t) / 2 over one turn. Source: PyTorch's `signal.windows.hann`.

    >>> rg.signal.windows.hann(4, sym=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window_functions.cosine_sum(M, (0.5, 0.5), not sym)


@window("general_cosine")
def blackman(M: int, sym: bool) -> Any:
    """0.42 - 0.5 cos t + 0.08 cos 2t over one turn. Source: PyTorch's `signal.windows.blackman`.

    >>> rg.signal.windows.blackman(4, sym=False)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return window_functions.cosine_sum(M, window_functions.BLACKMAN, not sym)


@window("general_cosine")
def nuttall(M: int, sym: bool) -> Any:
    """Nuttall's window of four cosine terms, whose spectrum has low sides.

    Source: PyTorch's `signal.windows.nuttall`.

    >>> rg.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return window_functions.cosine_sum(M, NUTTALL, not sym)
