"""One self-contained page with what the demo computed: text, curves and pictures."""

from __future__ import annotations

import base64
import html
import io

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from .digits import Reading
from .phase import Recovery

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c2430; background: #fdfdfb; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; }
.lead { font-size: 1.15rem; } .figure { margin: 1rem 0; }
img { max-width: 100%; } code { background: #eef0ee; padding: 0 .25em; }
"""


def picture(figure) -> str:
    """A figure as an inline image."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
    plt.close(figure)
    data = base64.b64encode(stream.getvalue()).decode()
    title = html.escape(figure.get_label())
    return f'<div class="figure"><img alt="{title}" src="data:image/png;base64,{data}"></div>'


def curve(values, label: str, axis: str):
    """One quantity over the steps, on a logarithmic axis."""
    figure, axes = plt.subplots(figsize=(8, 2.8), num=label)
    axes.semilogy(values, linewidth=1)
    axes.set_xlabel("step")
    axes.set_ylabel(axis)
    axes.grid(alpha=0.3)
    return figure


def misread(reading: Reading):
    """The held-out digits that were read wrongly, or a line that says there are none."""
    wrong = np.flatnonzero(reading.labels != reading.guesses)
    if len(wrong) == 0:
        return None
    figure, axes = plt.subplots(1, len(wrong), figsize=(1.3 * len(wrong), 1.8), squeeze=False,
                                num="misread digits")  # fmt: skip
    for axis, index in zip(axes[0], wrong, strict=True):
        axis.imshow(reading.images[index], cmap="gray_r")
        axis.set_title(f"{reading.labels[index]} as {reading.guesses[index]}", fontsize=9)
        axis.axis("off")
    return figure


def fields(recovery: Recovery):
    """Amplitude and phase of the original, the start and the recovered field."""
    shown = [("original", recovery.original), ("start", recovery.start),
             ("recovered", recovery.recovered)]  # fmt: skip
    figure, axes = plt.subplots(2, 3, figsize=(9, 6), num="the field and its recovery")
    top = np.abs(recovery.original).max()
    for column, (name, z) in zip(axes.T, shown, strict=True):
        column[0].imshow(np.abs(z), cmap="gray", vmin=0, vmax=top)
        column[0].set_title(f"{name}: amplitude", fontsize=10)
        column[1].imshow(np.angle(z), cmap="twilight", vmin=-np.pi, vmax=np.pi)
        column[1].set_title(f"{name}: phase", fontsize=10)
        for axis in column:
            axis.axis("off")
    return figure


def page(reading: Reading, recovery: Recovery, seconds: float) -> str:
    """The whole page."""
    wrong = misread(reading)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Retrograd: demo report</title>
<style>{STYLE}</style></head><body>
<h1>Two optimisations, one engine</h1>
<p class="lead">In {seconds:.0f} seconds on the CPU, Retrograd (1) trained a convolutional network
that reads <b>{reading.accuracy:.2%}</b> of {len(reading.labels)} held-out handwritten digits, and
(2) recovered a complex field of {recovery.size} × {recovery.size} points from intensities alone,
its relative error falling from {recovery.errors[0]:.3g} to <b>{recovery.errors[-1]:.2g}</b>,
{recovery.factor:.0f} times smaller.</p>
<h2>1. Handwritten digits</h2>
<p>{reading.trained_on} scans of 8 × 8 pixels train a network of {reading.parameters} parameters:
three convolutions, batch normalisation, dropout and one linear layer; AdamW,
{reading.epochs} epochs, cross entropy.</p>
{picture(curve(reading.losses, "training loss on digits", "cross entropy"))}
<p>{"Every held-out digit was read correctly." if wrong is None else "What it misread, as what:"}
</p>
{"" if wrong is None else picture(wrong)}
<h2>2. A complex field from intensities</h2>
<p>The field <code>z</code> has a photograph's brightness for amplitude and its colour contrast for
phase. It is seen through {recovery.masks} known random phase masks, each followed by a Fourier
transform, and only the intensity is kept. Gradient descent with momentum on a
<code>complex64</code> parameter follows the Wirtinger derivative of the misfit. A global phase
cannot be seen; errors are measured up to one.</p>
{picture(fields(recovery))}
{picture(curve(recovery.losses, "misfit of the amplitudes", "squared misfit"))}
{picture(curve(recovery.errors, "relative error of the field", "relative error"))}
</body></html>
"""
