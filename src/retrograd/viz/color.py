"""Tensors as pictures: images, and complex numbers by colours for phases and moduli."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.creation.from_data import as_tensor
from .picture import Picture, document, inlined

__all__ = ["KEY", "colored", "domain_colors", "image", "key", "pixels"]

WHEEL = 64  # pixels of the wheel of phases
KEY = WHEEL + 36  # and with its labels
RING = " (the ring)"
ONE, ANOTHER = 'rg.viz.curves({"x": x}) shows one dimension', "rg.viz.image(batch[0])"
SHOWN = ((), (1,), (3,))  # what stands before the height and width of an image


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


def wheel() -> np.ndarray[Any, Any]:
    """The wheel of phases with the moduli that the colours mean."""
    y, x = np.mgrid[1 : -1 : WHEEL * 1j, -1 : 1 : WHEEL * 1j]
    z = x + 1j * y
    radius = np.minimum(np.abs(z), 0.999)
    colors = domain_colors(z / np.maximum(np.abs(z), 1e-9) * np.tan(radius * math.pi / 2))
    colors[np.abs(z) > 1] = 255
    return colors


def key(x: float, y: float) -> list[str]:
    """The wheel of phases: labels say where 1, i, -1 and -i are, a ring where full colours are."""
    half = KEY / 2
    middle = f'x="{x + half:g}" text-anchor="middle"'
    return [
        pixels(inlined(wheel()), x + 18, y + 18, WHEEL, WHEEL),
        f'<circle cx="{x + half:g}" cy="{y + half:g}" r="{WHEEL / 4:g}" fill="none" '
        f'stroke="#000" stroke-opacity=".4"/>',
        f'<text {middle} y="{y + 13:g}">i</text><text {middle} y="{y + KEY - 5:g}">−i</text>',
        f'<text x="{x + KEY - 15:g}" y="{y + half + 4:g}">1</text>',
        f'<text x="{x + 15:g}" y="{y + half + 4:g}" text-anchor="end">−1</text>',
    ]


def pixels(address: str, x: float, y: float, width: float, height: float) -> str:
    """A picture within an SVG, its pixels as squares."""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    style = 'style="image-rendering:pixelated" preserveAspectRatio="none"'
    return f'<image href="{address}" {size} {style}/>'


def colored(input: Any, scale: float | None = None) -> Picture:
    """A picture of the phases (colours) and moduli of complex numbers in one or two dimensions.

    The hue is the phase (red where positive, cyan where negative), the lightness the modulus: black
    is 0, white infinity, grey NaN, and full colours have the modulus `scale`, by default the median
    of those that are not 0. Real numbers have two phases. `input` is a tensor, an array of NumPy's
    or a list. Raises ValueError for another number of dimensions, and where there is no element.

    >>> z = rg.polar(rg.ones(1, 4), rg.arange(4) * rg.pi / 2)[0]
    >>> print(rg.viz.colored(z))
    complex64 4, coloured by phase; full colour at modulus 1
    """
    input = as_tensor(input)
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
    high = max(height, KEY)
    parts = [
        pixels(inlined(domain_colors(values, scale)), 12, 12, width, height),
        *key(width + 28, 12),
        f'<text x="12" y="{high + 32:g}">{text}{RING}</text>',
    ]
    wide = max(width + KEY + 40, 6.6 * len(text + RING) + 24)
    return Picture(name, text, document(wide, high + 44, parts))


def image(input: Any) -> Picture:
    """Real numbers as a picture: (H, W) or (1, H, W) in grey, (3, H, W) in red, green and blue.

    `input` is a tensor, an array of NumPy's or a list. Floats from 0 to 1, and integers from 0 to
    255, are shown as they are; others are stretched from the least to the largest. Raises
    ValueError for other shapes, for complex numbers, which `colored` shows, and where there is no
    element.

    >>> print(rg.viz.image(rg.rand(3, 4, 5)))
    float32 3×4×5, from 0 to 1
    """
    input = as_tensor(input)
    values = input.detach().numpy()
    shape = values.shape
    if input.is_complex() or not values.size or len(shape) not in (2, 3) or shape[:-2] not in SHOWN:
        raise ValueError(
            "image() takes a real tensor of shape (H, W), (1, H, W) or (3, H, W), not "
            f"{input.dtype.name} of shape {tuple(shape)}: for example "
            + ("rg.viz.colored(z)" if input.is_complex() else ONE if len(shape) == 1 else ANOTHER)
        )
    values = np.nan_to_num(values.astype(np.float64).reshape(-1, *shape[-2:]).transpose(1, 2, 0))
    low, high = 0.0, 1.0 if input.is_floating_point() else 255.0
    if values.min() < low or values.max() > high:
        low, high = float(values.min()), float(values.max())
    colors = np.broadcast_to((values - low) / (high - low or 1.0) * 255 + 0.5, (*shape[-2:], 3))
    text = f"{input.dtype.name} {'×'.join(map(str, shape))}, from {low:.3g} to {high:.3g}"
    cell = max(1.0, min(24.0, 480 / max(shape[-2:])))
    height, width = (count * cell for count in shape[-2:])
    parts = [
        pixels(inlined(colors.astype(np.uint8)), 12, 12, width, height),
        f'<text x="12" y="{height + 32:g}">{text}</text>',
    ]
    return Picture(text, text, document(max(width, 6.6 * len(text)) + 24, height + 44, parts))
