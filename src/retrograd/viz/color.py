"""Complex numbers as colours: the hue is the phase, the lightness the modulus."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .picture import Picture, document, inlined

__all__ = ["WHEEL", "colored", "domain_colors", "image", "key"]

WHEEL = 64  # pixels of the key


def domain_colors(z: np.ndarray[Any, Any], scale: float = 1.0) -> np.ndarray[Any, Any]:
    """Bytes (height, width, 3) for complex z: red is positive, black 0, white infinity, grey NaN.

    A modulus of `scale` has the full colour.
    """
    # In the colours' polar form: hue by the phase, lightness by the modulus, full saturation.
    with np.errstate(all="ignore"):
        hue = np.angle(z) / (2 * math.pi) % 1.0
        light = 2 / math.pi * np.arctan(np.abs(z) / scale)
    chroma = 1 - np.abs(2 * light - 1)
    sixth = (hue[..., None] * 6 + np.array([0.0, 4.0, 2.0])) % 6
    ramp = np.clip(np.abs(sixth - 3) - 1, 0, 1)
    colors = light[..., None] + chroma[..., None] * (ramp - 0.5)
    colors = np.where(np.isnan(z)[..., None], 0.5, colors)
    return (255 * np.clip(colors, 0, 1) + 0.5).astype(np.uint8)


def key() -> np.ndarray[Any, Any]:
    """The wheel of phases with the moduli that the colours mean."""
    y, x = np.mgrid[1 : -1 : WHEEL * 1j, -1 : 1 : WHEEL * 1j]
    z = x + 1j * y
    radius = np.minimum(np.abs(z), 0.999)
    colors = domain_colors(z / np.maximum(np.abs(z), 1e-9) * np.tan(radius * math.pi / 2))
    colors[np.abs(z) > 1] = 255
    return colors


def image(address: str, x: float, y: float, width: float, height: float) -> str:
    """A picture within an SVG, its pixels as squares."""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    style = 'style="image-rendering:pixelated" preserveAspectRatio="none"'
    return f'<image href="{address}" {size} {style}/>'


def colored(input: Tensor, scale: float | None = None) -> Picture:
    """A complex tensor of one or two dimensions as a picture of its phases and moduli.

    The hue is the phase (red where positive, cyan where negative), the lightness the modulus: black
    is 0, white infinity, grey NaN, and full colours have the modulus `scale`, by default the median
    of those that are not 0. Real tensors have two phases. Raises ValueError for another number of
    dimensions, and for a tensor without elements.

    >>> z = rg.polar(rg.ones(1, 4), rg.arange(4) * rg.pi / 2)[0]
    >>> print(rg.viz.colored(z))
    complex64 4, coloured by phase; full colour at modulus 1
    """
    values = np.atleast_2d(input.detach().numpy())
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"colored() takes a tensor with elements, of one or two dimensions, not one of shape "
            f"{tuple(input.shape)}: for example rg.viz.colored(z[0])"
        )
    moduli = np.abs(values[np.isfinite(values) & (values != 0)])
    if scale is None:
        scale = float(np.median(moduli)) if moduli.size else 1.0
    cell = max(1.0, min(24.0, 480 / max(values.shape)))
    height, width = (count * cell for count in values.shape)
    name = f"{input.dtype.name} {'×'.join(map(str, input.shape))}"
    text = f"{name}, coloured by phase; full colour at modulus {scale:.3g}"
    parts = [
        image(inlined(domain_colors(values, scale)), 12, 12, width, height),
        image(inlined(key()), width + 28, 12, WHEEL, WHEEL),
        f'<text x="12" y="{max(height, WHEEL) + 32:g}">{text}</text>',
    ]
    wide = max(width + WHEEL + 40, 6.6 * len(text) + 24)
    return Picture(name, text, document(wide, max(height, WHEEL) + 44, parts))
