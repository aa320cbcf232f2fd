"""One self-contained page with what the demo computed: text, curves, pictures, and the programs."""

from __future__ import annotations

import base64
import html
import inspect
import io
import platform
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import retrograd as rg
from retrograd.nn import functional as F

from . import digits, phase
from .digits import Reading
from .phase import Recovery

# Greys that can be read on white and on black: a figure's background is the page's.
INK = "#7b8794"
mpl.rcParams |= dict.fromkeys(
    ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK
) | {"savefig.transparent": True, "font.size": 9, "axes.spines.top": False,
     "axes.spines.right": False}  # fmt: skip

STYLE = """
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem 2vw 3rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; }
.lead { font-size: 1.15rem; max-width: 60rem; } p { max-width: 60rem; }
.row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: start; }
.row > figure { flex: 1 1 24rem; } figure { margin: .5rem 0; min-width: 0; }
figcaption { opacity: .7; font-size: .9rem; }
img { max-width: 100%; } .row > figure > img { width: 100%; }
iframe { width: 100%; height: 34rem; border: 1px solid #8886; border-radius: 8px; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; border-bottom: 1px solid #8884;
text-align: left; }
pre { overflow: auto; padding: 1rem; border: 1px solid #8884; border-radius: 8px; font-size: 13px; }
.wide { overflow-x: auto; }
"""


def shown(figure: Any, caption: str) -> str:
    """A figure as an inline image with a caption."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
    plt.close(figure)
    data = base64.b64encode(stream.getvalue()).decode()
    text = html.escape(caption)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def curve(values: Any, axis: str, across: str = "step", scale: str = "log") -> Any:
    """One quantity over the steps."""
    figure, axes = plt.subplots(figsize=(6, 2.6))
    axes.plot(range(1, len(values) + 1), values, linewidth=1.3, color="#2f7fc1")
    axes.set_yscale(scale)
    axes.set_xlabel(across)
    axes.set_ylabel(axis)
    axes.grid(alpha=0.25)
    return figure


def draw_digits(axes: Any, reading: Reading, indices: Any) -> None:
    """Digits, each with what it was read as and how surely; red where that is wrong."""
    axes = list(axes)
    for axis in axes:
        axis.axis("off")
    for axis, index in zip(axes, indices, strict=True):
        guess = reading.guesses[index]
        wrong = guess != reading.labels[index]
        axis.imshow(reading.images[index], cmap="gray_r")
        axis.set_title(
            f"{guess}  {reading.confidences[index, guess]:.0%}",
            fontsize=8, color="#d1495b" if wrong else INK, pad=2,
        )  # fmt: skip


def grid(reading: Reading) -> Any:
    """What was misread, then the least sure of what was read rightly, then others."""
    right = reading.guesses == reading.labels
    order = np.lexsort((reading.confidences.max(1), right))
    chosen = np.concatenate([order[:24], order[np.linspace(24, len(order) - 1, 24).astype(int)]])
    figure, axes = plt.subplots(4, 12, figsize=(12, 4.6))
    draw_digits(axes.flat, reading, chosen)
    return figure


def filters(reading: Reading) -> Any:
    """The sixteen filters of the first convolution."""
    weights = reading.model[0].weight.detach().numpy()[:, 0]
    reach = np.abs(weights).max()
    figure, axes = plt.subplots(2, 8, figsize=(6, 1.7))
    for axis, weight in zip(axes.flat, weights, strict=True):
        axis.imshow(weight, cmap="RdBu", vmin=-reach, vmax=reach)
        axis.axis("off")
    return figure


def draw_frames(axes: Any, recovery: Recovery) -> None:
    """The field by step, amplitude above and phase below; the original last."""
    top = np.abs(recovery.original).max()
    shown = {f"step {step}": z for step, z in recovery.frames.items()}
    for column, (name, z) in zip(
        axes.T, {**shown, "original": recovery.original}.items(), strict=True
    ):
        column[0].imshow(np.abs(z), cmap="gray", vmin=0, vmax=top)
        column[1].imshow(np.angle(z), cmap="twilight", vmin=-np.pi, vmax=np.pi)
        column[0].set_title(name, fontsize=9)
        for axis in column:
            axis.axis("off")


def fields(recovery: Recovery) -> Any:
    """The recovery as frames."""
    columns = len(recovery.frames) + 1
    figure, axes = plt.subplots(2, columns, figsize=(1.9 * columns, 4))
    draw_frames(axes, recovery)
    figure.subplots_adjust(wspace=0.04, hspace=0.04)
    return figure


def picture(reading: Reading, recovery: Recovery) -> Any:
    """Both results at a glance, on white: for the README."""
    columns = len(recovery.frames) + 1
    figure = plt.figure(figsize=(10, 4.7), facecolor="white")
    above = figure.add_gridspec(1, 14, top=0.9, bottom=0.75, left=0.01, right=0.99)
    below = figure.add_gridspec(2, columns, top=0.62, bottom=0.01, left=0.01, right=0.99,
                                wspace=0.03, hspace=0.03)  # fmt: skip
    chosen = np.argsort(reading.confidences.max(1))[:: len(reading.labels) // 14][:14]
    draw_digits([figure.add_subplot(cell) for cell in above], reading, chosen)
    frames = np.array([figure.add_subplot(cell) for cell in below], object).reshape(2, columns)
    draw_frames(frames, recovery)
    figure.text(0.012, 0.945, f"{reading.accuracy:.1%} of held-out digits are read correctly",
                fontsize=11, color="#1f2933")  # fmt: skip
    figure.text(0.012, 0.685, "a complex field is recovered from intensities alone", fontsize=11,
                color="#1f2933")  # fmt: skip
    return figure


def graph(reading: Reading) -> str:
    """The graph of one training step, to walk about in."""
    images, labels = reading.images[:4, None], reading.labels[:4]
    reading.model.train()
    with rg.viz.recording() as seen:
        F.cross_entropy(reading.model(rg.from_numpy(images)), rg.from_numpy(labels)).backward()
    page = html.escape(rg.viz.graph(seen.root, reading.model).html)
    return f'<iframe title="The graph of one training step" srcdoc="{page}"></iframe>'


def compared(reading: Reading, recovery: Recovery, other: dict[str, Any]) -> str:
    """Both programs here and under PyTorch: without seconds where it is not installed here."""
    own = {"version": rg.__version__, "accuracy": reading.accuracy, "digits": reading.seconds,
           "error": recovery.errors[-1], "phase": recovery.seconds}  # fmt: skip
    body = "".join(
        f"<tr><th>{name} {each['version']}</th><td>{each['accuracy']:.2%}</td>"
        f"<td>{seconds(each, 'digits')}</td><td>{each['error']:.2g}</td>"
        f"<td>{seconds(each, 'phase')}</td></tr>"
        for name, each in (("Retrograd", own), ("PyTorch", other))
    )
    note = (
        f"<p>PyTorch is not installed here: its row is stored, of {other['epochs']} epochs. Put it "
        "beside on this machine by TORCH_PYTHON=path/to/python make demo.</p>"
    )
    return (
        '<div class="wide"><table><tr><th></th><th>digits read</th><th>in</th>'
        f"<th>error of the field</th><th>in</th></tr>{body}</table></div>"
        f"{'' if 'digits' in other else note}"
    )


def seconds(found: dict[str, Any], part: str) -> str:
    """The seconds that a part took, where they are known."""
    return f"{found[part]:.1f} s" if part in found else "not measured here"


def by_masks(recoveries: list[Recovery]) -> str:
    """What the descent reaches with fewer masks and with all."""
    body = "".join(
        f"<tr><th>{each.masks}</th><td>{each.masks / 2:g}</td><td>{each.losses[-1]:.1g}</td>"
        f"<td>{each.errors[-1]:.2g}</td></tr>"
        for each in recoveries
    )
    return (
        '<div class="wide"><table><tr><th>masks</th><th>numbers measured for each unknown one</th>'
        f"<th>misfit at the end</th><th>error of the field</th></tr>{body}</table></div>"
    )


def page(reading: Reading, recoveries: list[Recovery], other: dict[str, Any]) -> str:
    """The whole page; the last recovery is the one that it shows."""
    recovery = recoveries[-1]
    taken = reading.seconds + recovery.seconds
    programs = "".join(
        f"<details><summary><code>demo/{module.__name__.rpartition('.')[2]}.py</code></summary>"
        f"<pre>{html.escape(inspect.getsource(module))}</pre></details>"
        for module in (digits, phase)
    )
    by_epoch = shown(
        curve(reading.accuracies, "read", "epoch", "linear"), "Held-out digits read, by epoch"
    )
    by_step = shown(curve(reading.losses, "cross entropy"), "Training loss, by step")
    looked_for = shown(filters(reading), "What the first convolution looks for: sixteen filters")
    digits_read = shown(
        grid(reading),
        "Held-out digits, the misread first (red), then the least sure: read as what, how surely",
    )
    frames = shown(fields(recovery), "The field as it is recovered: amplitude above, phase below")
    misfit = shown(curve(recovery.losses, "squared misfit"), "Misfit of the amplitudes")
    error = shown(curve(recovery.errors, "relative error"), "Relative error of the field")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Retrograd: demo report</title><style>{STYLE}</style></head><body>
<h1>Two optimisations, one engine</h1>
<p class="lead">In {taken:.0f} seconds on the CPU, Retrograd trained a convolutional network that
reads <b>{reading.accuracy:.2%}</b> of {len(reading.labels)} held-out handwritten digits, and
recovered a complex field of {recovery.size} × {recovery.size} points from intensities alone: its
relative error fell from {recovery.errors[0]:.3g} to <b>{recovery.errors[-1]:.2g}</b>.</p>
{compared(reading, recovery, other)}
<h2>1. Handwritten digits</h2>
<p>{reading.trained_on} scans of 8 × 8 pixels train a network of {reading.parameters:,} parameters:
three convolutions, batch normalisation, dropout and one linear layer; AdamW,
{len(reading.accuracies)} epochs, cross entropy. The {len(reading.labels)} others are never trained
on.</p>
<div class="row">{by_epoch}{by_step}{looked_for}</div>
{digits_read}
<h2>2. A complex field from intensities</h2>
<p>The field <code>z</code> has a photograph's brightness for amplitude and its colour contrast for
phase. It is seen through {recovery.masks} known random phase masks, each followed by a Fourier
transform, and only the intensity is kept. Gradient descent with momentum on a
<code>complex64</code> parameter lowers the misfit. A global phase cannot be seen; errors are
measured up to one.</p>
<h3>Why this is hard</h3>
<p>An intensity says how large a complex number is, not in which direction it points. The field has
{2 * recovery.size**2:,} unknown real numbers, and no measurement gives one of them: each mixes all
points of the field. The misfit is not convex: the fields <code>z</code> and <code>-z</code> explain
the measurements equally well, and their mean, 0, explains nothing. So descent can end in a valley
that is not the lowest. With two masks it finds a field that fits all measurements and is another
one: too little was measured. With four it stops in such a valley. With eight it arrives: for the
first half of the steps the error hardly falls, then by many powers of ten.</p>
{by_masks(recoveries)}
{frames}
<div class="row">{misfit}{error}</div>
<h2>3. What autograd recorded</h2>
<p>The graph of one training step, as <code>rg.viz.graph</code> draws it: click, search, collapse
modules, or colour it by memory, time or the norm of gradients.</p>
{graph(reading)}
<h2>4. How it was made</h2>
<pre>{html.escape(rg.__config__.show())}
{html.escape(platform.platform())}</pre>
{programs}
</body></html>
"""
