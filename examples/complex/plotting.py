"""What the examples share: run, say what came out, draw it where matplotlib is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def main(name: str, run: Any, draw: Any) -> None:
    """Run an example, briefly with `--quick`; print its numbers and save `<name>.png`."""
    found = run(quick="--quick" in sys.argv)
    for key, value in found.items():
        if isinstance(value, float):
            print(f"{key}: {value:.4g}")
    if importlib.util.find_spec("matplotlib") is None:
        print("no plot: matplotlib is not installed")
        return
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(9, 4), layout="constrained")
    draw(figure, found)
    figure.savefig(Path(f"{name}.png"), dpi=120)
    print(f"drawn: {name}.png")


def images(figure: Any, pictures: dict[str, Any]) -> None:
    """Pictures side by side, under their titles."""
    for axes, (title, picture) in zip(
        figure.subplots(1, len(pictures)), pictures.items(), strict=True
    ):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axes.set_title(title)
        axes.axis("off")


def curves(figure: Any, lines: dict[str, Any], x: str, y: str) -> None:
    """Lines in one picture, with a legend."""
    axes = figure.subplots()
    for label, values in lines.items():
        axes.plot(values, label=label)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend()
