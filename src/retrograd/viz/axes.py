"""Curves over axes, as parts of an SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

__all__ = ["COLORS", "Axes"]

COLORS = ("#2f7fc1", "#d1495b", "#3c8d53", "#c98a1b", "#7b5ea7", "#2a9d8f", "#8d6e63", "#64748b")


class Axes:
    """A frame of pixels (x, y, width, height) that shows the ranges `across` and `up`."""

    def __init__(
        self,
        frame: tuple[float, float, float, float],
        across: tuple[float, float],
        up: tuple[float, float],
    ) -> None:
        self.x, self.y, self.width, self.height = frame
        self.across, self.up = widened(*across), widened(*up)
        self.parts: list[str] = []

    def at(self, a: float, b: float) -> tuple[float, float]:
        """The pixel of a point."""
        (left, right), (low, high) = self.across, self.up
        return (
            self.x + (a - left) / (right - left) * self.width,
            self.y + self.height - (b - low) / (high - low) * self.height,
        )

    def ticks(self, unit: str = "", powers: bool = False) -> None:
        """Lines and numbers at round values; those that go up with a unit, or as powers of ten."""
        self.ticks_across()
        for value in (logarithms if powers else rounds)(*self.up):
            _, y = self.at(0.0, value)
            label = f"{10**value:.3g}" if powers else f"{value:.3g}"
            self.parts.append(
                f'<path class="line" opacity=".35" d="M{self.x:.1f},{y:.1f}h{self.width:.1f}"/>'
                f'<text class="dim" x="{self.x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">'
                f"{label}{unit}</text>"
            )

    def ticks_across(self, unit: str = "") -> None:
        """Numbers at round values below the frame, with a unit."""
        for value in rounds(*self.across):
            x, _ = self.at(value, 0.0)
            self.parts.append(
                f'<text class="dim" x="{x:.1f}" y="{self.y + self.height + 16:.1f}" '
                f'text-anchor="middle">{value:.3g}{unit}</text>'
            )

    def titles(self, across: str, up: str) -> None:
        """What the axes show: below the frame at its right end, and above it."""
        x, y = self.x + self.width, self.y + self.height + 32
        self.parts.append(
            f'<text class="dim" x="{x:.1f}" y="{y:.1f}" text-anchor="end">{html.escape(across)}'
            f'</text><text class="dim" x="12" y="16">{html.escape(up)}</text>'
        )

    def curve(self, xs: Sequence[float], ys: Sequence[float], color: str) -> None:
        """A line through points; it breaks where one is not finite or far outside."""
        low, high = self.up
        reach = high - low
        path, pen = [], "M"
        for a, b in zip(xs, ys, strict=True):
            if not (math.isfinite(b) and low - reach <= b <= high + reach):
                pen = "M"
                continue
            x, y = self.at(a, b)
            path.append(f"{pen}{x:.1f},{y:.1f}")
            pen = "L"
        self.parts.append(
            f'<path d="{"".join(path)}" fill="none" stroke="{color}" stroke-width="2"/>'
        )

    def legend(self, names: Sequence[str], colors: Sequence[str]) -> None:
        """Names with their colours, to the right of the frame."""
        for place, (name, color) in enumerate(zip(names, colors, strict=True)):
            x, y = self.x + self.width + 14, self.y + 8 + 18 * place
            self.parts.append(
                f'<rect x="{x:.1f}" y="{y - 5:.1f}" width="12" height="10" fill="{color}"/>'
                f'<text x="{x + 18:.1f}" y="{y + 4:.1f}">{html.escape(name)}</text>'
            )


def widened(low: float, high: float) -> tuple[float, float]:
    """A range of numbers, made wider where it is one point only."""
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def logarithms(low: float, high: float) -> list[float]:
    """The logarithms of powers of ten within a range; if they are few, of their multiples, too."""
    factors = (1, 2, 5) if high - low < 3 else (1,)
    places = range(math.floor(low), math.ceil(high) + 1)
    all_of_them = [place + math.log10(factor) for place in places for factor in factors]
    found = [each for each in all_of_them if low - 1e-9 <= each <= high + 1e-9]
    return found[:: 1 + len(found) // 8] or rounds(low, high)


def rounds(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers within a range, at most about so many."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= raw)
    first = math.ceil(low / step)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]
