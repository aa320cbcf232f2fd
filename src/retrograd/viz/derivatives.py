"""`derivatives`: a function of one number and its derivatives, real or complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad import grad
from ..autograd.grad_mode import enable_grad
from ..engine.tensor import Tensor
from ..ops.creation.from_data import tensor
from .axes import COLORS, Axes
from .color import KEY, domain_colors, key, pixels
from .picture import Picture, document, inlined

__all__ = ["derivatives"]

# Points of a curve, and of a side of a region (even, for poles are at round numbers); its pixels.
POINTS, SIDE, PANEL = 401, 160, 280

NOT_ELEMENTWISE = (
    "the function gave shape {got} for {given} numbers at once: it has to be elementwise, for "
    "example lambda x: x.exp() * x"
)


def derivatives(
    function: Callable[[Tensor], Tensor], low: complex = -3.0, high: complex = 3.0, order: int = 1
) -> Picture:
    """A picture of an elementwise `function` and its derivatives up to `order`, by autograd.

    Between two real numbers, as curves over 401 points, in float64. Between two complex numbers,
    the corners of a rectangle, as pictures of phase and modulus (`colored`): there the derivative
    is that of a holomorphic function, and of another the part by z, `(df/dx - i df/dy) / 2`.

    Raises ValueError where the function is not elementwise, or the order below 0.

    >>> print(rg.viz.derivatives(lambda x: x.tanh(), order=2))
    f, f', f'' from -3 to 3; f from -0.995 to 0.995, f' from 0.00987 to 1, f'' from -0.77 to 0.77
    """
    if order < 0:
        raise ValueError(f"order has to be 0 or more, not {order}")
    names = ["f" + "'" * each if each < 4 else f"f({each})" for each in range(order + 1)]
    if isinstance(low, complex) or isinstance(high, complex):
        return region(function, complex(low), complex(high), names)
    points = np.linspace(low, high, POINTS)
    values = values_of(function, points, order)
    shown = np.concatenate([each[np.isfinite(each)] for each in values])
    axes = Axes((64, 14, 480, 260), (low, high), limits(shown))
    axes.ticks()
    for each, color in zip(values, COLORS * (1 + order // len(COLORS)), strict=False):
        axes.curve(points.tolist(), each.tolist(), color)
    axes.legend(names, (COLORS * (1 + order // len(COLORS)))[: len(names)])
    ranges = [
        f"{name} from {np.nanmin(each):.3g} to {np.nanmax(each):.3g}"
        for name, each in zip(names, values, strict=True)
        if not np.isnan(each).all()
    ]
    text = f"{', '.join(names)} from {low:g} to {high:g}; {', '.join(ranges)}"
    return Picture("a function and its derivatives", text, document(640, 306, axes.parts))


def limits(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """The range of values that shows most of them: poles do not count."""
    if not values.size:
        return -1.0, 1.0
    least, quarter, most_of, most = np.percentile(values, [0, 25, 75, 100]).tolist()
    reach = 3 * (most_of - quarter) or most - least
    return max(least, quarter - reach), min(most, most_of + reach)


def values_of(function: Any, points: np.ndarray[Any, Any], order: int) -> list[Any]:
    """The function and its derivatives at many points, each an array."""
    x = tensor(points, requires_grad=True)
    with enable_grad():
        y = function(x)
        if tuple(y.shape) != points.shape:
            raise ValueError(NOT_ELEMENTWISE.format(got=tuple(y.shape), given=points.shape))
        found = [y]
        for _ in range(order):
            y = by_z(y, x)
            found.append(y)
    return [each.detach().numpy() for each in found]


def by_z(y: Tensor, x: Tensor) -> Tensor:
    """The derivative of each element of y by its own x; zeros where y does not depend on x.

    For complex z: with g the gradient, which is 2 df*/dz* for the real part of f and so on, the
    cotangents 1 and 1j of a holomorphic f give conj(f') and 1j conj(f'); what they have in common
    is the part by z.
    """
    if not y.requires_grad:
        return x * 0
    one = tensor(np.ones(y.shape, y.detach().numpy().dtype))
    options = {"create_graph": True, "allow_unused": True, "materialize_grads": True}
    (first,) = grad(y, x, one, **options)
    if not x.is_complex():
        return first
    if not y.is_complex():
        return first.conj() / 2
    (second,) = grad(y, x, one * 1j, **options)
    return ((first - 1j * second) / 2).conj()


def region(function: Any, low: complex, high: complex, names: list[str]) -> Picture:
    """The function and its derivatives over a rectangle."""
    xs = np.linspace(low.real, high.real, SIDE)
    ys = np.linspace(high.imag, low.imag, SIDE)
    z = xs[None, :] + 1j * ys[:, None]
    parts = []
    for place, each in enumerate(values_of(function, z, len(names) - 1)):
        x = 12 + place * (PANEL + 16)
        parts.append(pixels(inlined(domain_colors(each)), x, 30, PANEL, PANEL))
        parts.append(f'<text x="{x}" y="20">{names[place]}</text>')
    text = f"{', '.join(names)} over {low:g} to {high:g}, coloured by phase and modulus"
    parts.append(f'<text class="dim" x="12" y="{PANEL + 50}">{text}</text>')
    right = 12 + len(names) * (PANEL + 16)
    parts += key(right, 30)
    width = max(right + KEY + 12, 6.6 * len(text) + 24)
    return Picture(
        "a complex function and its derivatives", text, document(width, PANEL + 62, parts)
    )
