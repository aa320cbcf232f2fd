"""`flow`: how large gradients are, layer by layer and step by step."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .color import pixels
from .curves import table
from .picture import Picture, document, inlined

if TYPE_CHECKING:
    from ..engine.tensor import Tensor
    from ..nn.modules.module import Module

__all__ = ["Flow", "flow"]

NO_GRADIENT = (
    "no parameter has a gradient: call keep() after loss.backward() and before zero_grad()"
)


class Flow:
    """Collects the norms of a model's gradients at each `keep()`, and draws them.

    `norms` has a list for each parameter, by its name; NaN stands for a step in which it had no
    gradient. `picture()` shows them: a row for each parameter, a column for each step.

    >>> net = rg.nn.Linear(2, 1)
    >>> seen = rg.viz.Flow(net)
    >>> net(rg.ones(1, 2)).sum().backward()
    >>> seen.keep()
    >>> {name: round(norms[0], 3) for name, norms in seen.norms.items()}
    {'weight': 1.414, 'bias': 1.0}
    """

    def __init__(self, model: Module) -> None:
        self.model = model
        self.norms: dict[str, list[float]] = {name: [] for name, _ in model.named_parameters()}

    def keep(self) -> None:
        """Keep the norms of the gradients that the parameters have now.

        Raises RuntimeError where none has one.
        """
        found = {name: each.grad for name, each in self.model.named_parameters()}
        if all(g is None for g in found.values()):
            raise RuntimeError(NO_GRADIENT)
        for name, g in found.items():
            norm = math.nan if g is None else float(np.linalg.norm(g.detach().numpy()))
            self.norms[name].append(norm)

    def picture(self) -> Picture:
        """A picture of the norms: dark is small, bright is large, on a logarithmic scale."""
        table = np.array(list(self.norms.values()), float)
        if not table.size:
            raise RuntimeError(NO_GRADIENT)
        with np.errstate(all="ignore"):
            logs = np.log10(table)
        finite = logs[np.isfinite(logs)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        part = np.clip((logs - low) / (high - low or 1.0), 0, 1)
        colors = heat(part)
        colors[np.isnan(logs)] = 160  # no gradient
        rows, steps = table.shape
        wide, high_of_row = 520, 18
        names = list(self.norms)
        indent = 24 + 6.8 * max(map(len, names))
        address = inlined(colors)
        parts = [pixels(address, indent, 12, wide, rows * high_of_row)]
        for place, name in enumerate(names):
            parts.append(
                f'<text x="{indent - 8:g}" y="{25 + place * high_of_row}" text-anchor="end">'
                f"{html.escape(name)}</text>"
            )
        caption = (
            f"norms of gradients over {steps} steps, from {10**low:.2g} (dark) to {10**high:.2g} "
            "(bright); grey: no gradient"
        )
        bottom = rows * high_of_row + 12
        parts += scale(indent, bottom + 30, low, high)
        for x, anchor, step in ((indent, "start", 1), (indent + wide, "end", steps)):
            parts.append(
                f'<text class="dim" x="{x:g}" y="{bottom + 16}" text-anchor="{anchor}">'
                f"step {step}</text>"
            )
        bottom += 76
        parts.append(f'<text class="dim" x="12" y="{bottom}">{caption}</text>')
        width = max(indent + wide + 12, 6.8 * len(caption) + 24)
        return Picture("gradients", self.text(), document(width, bottom + 12, parts))

    def text(self) -> str:
        """For each parameter the first, the least, the largest and the last norm."""
        return table({name: np.array(norms) for name, norms in self.norms.items()})


# From dark to bright: for each colour the places and the values between which it runs.
STOPS = [0.0, 0.25, 0.5, 0.75, 1.0]
RAMPS = [
    (STOPS, [20, 70, 160, 235, 250]),
    (STOPS, [15, 20, 55, 120, 230]),
    (STOPS, [50, 110, 105, 60, 150]),
]


def heat(part: np.ndarray) -> np.ndarray:
    """Bytes (..., 3) of the colours of numbers from 0, dark, to 1, bright."""
    return np.stack([np.interp(part, *ramp) for ramp in RAMPS], -1).astype(np.uint8)


def scale(x: float, y: float, low: float, high: float) -> list[str]:
    """A bar of all colours from 10**low to 10**high, and what five of them stand for."""
    wide = 260
    address = inlined(heat(np.linspace(0, 1, wide))[None])
    parts = [pixels(address, x, y, wide, 10)]
    for place in np.linspace(0, 1, 5):
        parts.append(
            f'<text class="dim" x="{x + place * wide:.1f}" y="{y + 24:g}" text-anchor="middle">'
            f"{10 ** (low + place * (high - low)):.2g}</text>"
        )
    return parts


def flow(
    model: Module, loss: Callable[[], Tensor], optimizer: Any = None, steps: int = 100
) -> Picture:
    """A picture of the gradient norms of each parameter of `model` over `steps` training steps.

    Each step calls `loss`, runs its backward pass, notes the norms, and lets `optimizer` step, if
    there is one; the model is trained by that. To note them in a loop of your own: `Flow`.

    >>> net = rg.nn.Linear(2, 1)
    >>> sgd = rg.optim.SGD(net.parameters(), lr=0.1)
    >>> print(rg.viz.flow(net, lambda: net(rg.ones(1, 2)).square().sum(), sgd, steps=9))
    ... # doctest: +ELLIPSIS
                first     least   largest      last
    weight  ...
    bias    ...
    """
    seen = Flow(model)
    for _ in range(steps):
        model.zero_grad()
        loss().backward()
        seen.keep()
        if optimizer is not None:
            optimizer.step()
    return seen.picture()
