"""Window functions: the arrays behind `signal.windows`, and PyTorch's older `hann_window` etc.

Values are computed in double precision and rounded once. A periodic window is the symmetric one
with one point more, without its last point; `span` is what both share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.naming import integer_in
from ...errors import check_bool, wrong_type
from ..core.arguments import number_in
from ..creation.factories import factory

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def span(count: int, periodic: bool) -> int:
    """The number of steps from the first point of a window to its mirror image."""
    return max(count if periodic else count - 1, 1)


def cosine_sum(count: int, weights: Sequence[float], periodic: bool) -> Any:
    """weights[0] - weights[1] cos(t) + weights[2] cos(2 t) ..., over one turn; 1 for one point."""
    if count == 1:
        return np.ones(1)
    turn = np.arange(count) * (2 * math.pi / span(count, periodic))
    terms = [(-1) ** k * weight * np.cos(k * turn) for k, weight in enumerate(weights)]
    return np.sum(np.broadcast_arrays(np.zeros(count), *terms), 0)


def triangle(count: int, periodic: bool) -> Any:
    """A triangle of numbers from 0 up to 1 and down again; 1 for one point."""
    if count == 1:
        return np.ones(1)
    return 1.0 - np.abs(np.arange(count) * (2.0 / span(count, periodic)) - 1.0)


def kaiser(count: int, beta: float, periodic: bool) -> Any:
    """i0(beta sqrt(1 - t^2)) / i0(beta), with t from -1 to 1; 1 for one point."""
    if count == 1:
        return np.ones(1)
    t = np.arange(count) * (2.0 / span(count, periodic)) - 1.0
    return np.i0(beta * np.sqrt(np.maximum(1.0 - t * t, 0.0))) / np.i0(beta)


def window(name: str, length: Any, periodic: Any, target: Any, values: Callable[[int], Any]) -> Any:
    """The values of a window of this length, of dtype `target`, a real floating one.

    TypeError or RuntimeError for a length that a window cannot have, TypeError for a flag that is
    none.
    """
    check_bool(periodic, name, "periodic", 2)
    count: int | None = integer_in(length)
    if count is None:
        raise wrong_type(name, "window_length", "int", length, 1)
    if count < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={count}")
    array = values(count)
    if dtypes.category(target) != 2:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: {dtypes.of_numpy(target).name}"
        )
    return array.astype(target)


@factory(dtypes.default_numpy)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    layout: Any = None,
    pin_memory: bool = False,
    target: Any,
) -> Any:
    """The Hann window, (1 - cos t) / 2 over one turn: of shape (window_length,).

    A periodic window is for a Fourier transform of that length, one that is not is symmetric.
    Raises RuntimeError for a negative length or a dtype that is not real and floating.

    >>> rg.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window(
        "hann_window",
        window_length,
        periodic,
        target,
        lambda n: cosine_sum(n, (0.5, 0.5), periodic),
    )


@factory(dtypes.default_numpy)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    layout: Any = None,
    pin_memory: bool = False,
    target: Any,
) -> Any:
    """The Hamming window, alpha - beta cos t over one turn; see `hann_window`.

    >>> rg.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    name = "hamming_window"
    terms = number_in(alpha, name, "alpha"), number_in(beta, name, "beta")
    return window(name, window_length, periodic, target, lambda n: cosine_sum(n, terms, periodic))


@factory(dtypes.default_numpy)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    layout: Any = None,
    pin_memory: bool = False,
    target: Any,
) -> Any:
    """The Blackman window, 0.42 - 0.5 cos t + 0.08 cos 2t over one turn; see `hann_window`.

    >>> rg.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return window(
        "blackman_window",
        window_length,
        periodic,
        target,
        lambda n: cosine_sum(n, BLACKMAN, periodic),
    )


BLACKMAN = (0.42, 0.5, 0.08)


@factory(dtypes.default_numpy)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    layout: Any = None,
    pin_memory: bool = False,
    target: Any,
) -> Any:
    """The triangular window that begins with 0; see `hann_window`.

    >>> rg.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window(
        "bartlett_window", window_length, periodic, target, lambda n: triangle(n, periodic)
    )


@factory(dtypes.default_numpy)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    layout: Any = None,
    pin_memory: bool = False,
    target: Any,
) -> Any:
    """The Kaiser window, narrower for a larger `beta`; see `hann_window`.

    >>> rg.kaiser_window(4, beta=5.0)
    tensor([0.0367, 0.5529, 1.0000, 0.5529])
    """
    beta = number_in(beta, "kaiser_window", "beta")
    return window(
        "kaiser_window", window_length, periodic, target, lambda n: kaiser(n, beta, periodic)
    )
