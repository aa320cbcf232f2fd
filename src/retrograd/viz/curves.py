"""`curves`: numbers over steps, such as losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .axes import COLORS, Axes
from .picture import Picture, document

__all__ = ["curves"]


def curves(
    lines: Mapping[str, Sequence[float]] | Sequence[float],
    x: str = "step",
    y: str = "",
    log: bool = False,
) -> Picture:
    """A picture of sequences of numbers: named lines over 0, 1, 2, ..., or one without a name.

    `x` and `y` name the axes; `log` makes the upward one logarithmic, where what is not above 0 is
    left out. The text has the first and the last number of each line, the least and the largest.
    Raises ValueError where there is no number to show, and TypeError for complex numbers.

    >>> print(rg.viz.curves({"loss": [4.0, 1.0, 0.25], "test": [5.0, 3.0, 2.0]}, log=True))
              first     least   largest      last
    loss          4      0.25         4      0.25
    test          5         2         5         2
    """
    named = lines if isinstance(lines, Mapping) else {"value": lines}
    arrays = {name: np.asarray(line) for name, line in named.items()}
    if any(line.dtype.kind == "c" for line in arrays.values()):
        raise TypeError("curves() takes real numbers: give .abs() or .real of complex ones")
    values = {name: line.astype(float) for name, line in arrays.items()}
    with np.errstate(all="ignore"):
        drawn = {name: np.log10(line) if log else line for name, line in values.items()}
    known = [line[np.isfinite(line)] for line in drawn.values()]
    shown = np.concatenate(known) if known else np.empty(0)
    if not shown.size:
        raise ValueError(
            "curves() needs a number to show, above 0 if `log`: for example "
            'rg.viz.curves({"loss": losses})'
        )
    last = max(map(len, values.values())) - 1
    axes = Axes((64, 26, 480, 260), (0, last), (float(shown.min()), float(shown.max())))
    axes.ticks(powers=log)
    for line, color in zip(drawn.values(), colors(len(drawn)), strict=True):
        axes.curve(range(len(line)), line.tolist(), color)
    axes.legend(list(values), colors(len(values)))
    axes.titles(x, y)
    width = 592 + 7 * max(map(len, values))
    return Picture(
        f"{y or ', '.join(values)} by {x}", table(values), document(width, 328, axes.parts)
    )


def colors(count: int) -> list[str]:
    """A colour for each line, again from the first where the colours end."""
    return [COLORS[place % len(COLORS)] for place in range(count)]


def table(values: Mapping[str, np.ndarray]) -> str:
    """For each name the first number, the least, the largest and the last."""
    length = max(map(len, values))
    lines = [f"{'':{length}}  {'first':>9} {'least':>9} {'largest':>9} {'last':>9}"]
    for name, line in values.items():
        known = line[~np.isnan(line)] if not np.isnan(line).all() else np.array([np.nan])
        numbers = (line[0], known.min(), known.max(), line[-1])
        lines.append(f"{name:{length}}  " + " ".join(f"{each:9.3g}" for each in numbers))
    return "\n".join(lines)
