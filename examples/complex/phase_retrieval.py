"""A complex field from intensities alone: `demo/phase.py`, whose docstring says how.

python -m examples.complex.phase_retrieval        # needs scikit-learn and tqdm
"""

from __future__ import annotations

from typing import Any

import numpy as np
from demo import phase

from .plotting import images, main


def run(quick: bool = False) -> dict[str, Any]:
    """The relative error before and after, and the field."""
    found = phase.run(steps=200 if quick else phase.STEPS)
    return {
        "error before": found.errors[0],
        "error after": found.errors[-1],
        "original": found.original,
        "recovered": found.recovered,
    }


def draw(figure: Any, found: dict[str, Any]) -> None:
    """Amplitude and phase of the recovered field."""
    field = found["recovered"]
    angle = (np.angle(field) + np.pi) / (2 * np.pi)
    images(figure, {"original": abs(found["original"]), "amplitude": abs(field), "phase": angle})


if __name__ == "__main__":
    main("phase_retrieval", run, draw)
