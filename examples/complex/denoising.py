# %% [markdown]
"""Speech out of noise, by a complex network on its short-time spectrum.

A small synthesiser makes the speech: a buzz of the vocal cords, whose pitch falls, through the
resonances of vowels. The network has complex convolutions and modReLU, which drops what is smaller
than a learned modulus and keeps all phases. Its loss is on the sound itself, through `istft`: the
ratio of signal to distortion.

    python -m examples.complex.denoising        # minutes; with --quick, seconds. Needs SciPy
"""

# %%
# SciPy says no types.
# pyright: standard, reportMissingImports=false
from __future__ import annotations

import sys
from typing import Any

import numpy as np

try:
    from scipy.signal import lfilter
except ImportError:
    raise SystemExit("This example needs SciPy: pip install scipy") from None

import retrograd as rg
from retrograd import nn
from retrograd.nn import complex as cnn

RATE, POINTS, HOP = 8000, 128, 64
WINDOW = rg.signal.windows.hann(POINTS, sym=False)
VOWELS = {  # the first three resonances, in Hertz. Source: Peterson and Barney, 1952
    "a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (270, 2290, 3010),
    "o": (570, 840, 2410), "u": (300, 870, 2240),
}  # fmt: skip


# %%
def speech(draw: Any, syllables: int = 3) -> np.ndarray:
    """Some vowels one after the other, of a mean power of 1."""
    parts, pitch = [], draw.uniform(90, 220)
    for _ in range(syllables):
        count = int(RATE * draw.uniform(0.12, 0.2))
        falling = pitch * np.linspace(1.1, 0.9, count)
        sound = np.diff(np.floor(np.cumsum(falling / RATE)), prepend=0.0)
        for centre, width in zip(VOWELS[draw.choice(list(VOWELS))], (60, 90, 150), strict=True):
            radius, angle = np.exp(-np.pi * width / RATE), 2 * np.pi * centre / RATE
            back = [1, -2 * radius * np.cos(angle), radius**2]
            sound = np.asarray(lfilter([1 - radius], back, sound))
        parts.append(sound * np.hanning(count) / sound.std())
        parts.append(np.zeros(int(RATE * 0.04)))
    return np.concatenate(parts)


# %%
def recordings(count: int, seed: int, length: int = 4096) -> tuple[rg.Tensor, rg.Tensor]:
    """Noisy and clean sounds, (count, length) each, at 0 decibels."""
    draw = np.random.default_rng(seed)
    clean = np.stack([np.resize(speech(draw), length) for _ in range(count)])
    clean /= clean.std(axis=1, keepdims=True)
    noisy = clean + draw.normal(size=clean.shape)
    return rg.tensor(noisy.astype(np.float32)), rg.tensor(clean.astype(np.float32))


# %%
class Denoiser(nn.Module):
    """Sound to sound, (N, L) both: three complex convolutions of the spectrum."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            cnn.Conv2d(1, width, (5, 3), padding=(2, 1)),
            Threshold(width),
            cnn.Conv2d(width, width, (5, 3), padding=(2, 1)),
            Threshold(width),
            cnn.Conv2d(width, 1, (5, 3), padding=(2, 1)),
        )

    def forward(self, noisy: rg.Tensor) -> rg.Tensor:
        """The sound of what the layers make of the spectrum."""
        bins = rg.stft(noisy, POINTS, HOP, window=WINDOW, return_complex=True)
        found = self.layers(bins[:, None] / 8)[:, 0]
        return rg.istft(found, POINTS, HOP, window=WINDOW, length=noisy.shape[-1])


# %%
class Threshold(nn.Module):
    """modReLU with a threshold for each channel of images, which begins above 0."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(rg.full((channels, 1, 1), -0.1))

    def forward(self, images: rg.Tensor) -> rg.Tensor:
        """(N, C, H, W) to the same."""
        return cnn.functional.modrelu(images, self.bias)


# %%
def ratio(found: rg.Tensor, clean: rg.Tensor) -> rg.Tensor:
    """The mean ratio of signal to distortion, in decibels, whatever the loudness."""
    scale = (found * clean).sum(-1, keepdim=True) / clean.square().sum(-1, keepdim=True)
    target = scale * clean
    return 10 * (target.square().sum(-1) / (found - target).square().sum(-1)).log10().mean()


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """The ratios before and after, on sounds that were not learned from; and spectra."""
    rg.manual_seed(0)
    noisy, clean = recordings(24 if quick else 200, seed=0)
    unseen, exact = recordings(16, seed=1)
    model = Denoiser(6 if quick else 12)
    optimizer = rg.optim.Adam(model.parameters(), lr=1e-2, complex="modulus")
    path = []
    steps = 80 if quick else 600
    for step in range(1, steps + 1):
        chosen = rg.randint(0, len(noisy), (4,))
        optimizer.zero_grad()
        loss = -ratio(model(noisy[chosen]), clean[chosen])
        loss.backward()
        optimizer.step()
        path.append(-loss.item())
        if step % (steps // 5) == 0:
            print(f"step {step} of {steps}: {path[-1]:.2f} decibels")
    with rg.no_grad():
        found = model(unseen)
    sounds = {"noisy": unseen[0], "denoised": found[0], "clean": exact[0]}
    return {
        "noisy": ratio(unseen, exact).item(),
        "denoised": ratio(found, exact).item(),
        "path": path,
        "sounds": sounds,
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """The spectra over time, noisy, denoised and clean, each over 60 decibels."""
    pictures = []
    for sound in found["sounds"].values():
        size = rg.stft(sound, POINTS, HOP, window=WINDOW, return_complex=True).abs()
        level = 20 * (size / size.max() + 1e-3).log10().flip(0)
        pictures.append((1 + level / 60).clamp(0, 1))
    return rg.viz.image(rg.cat(pictures, dim=1))


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"Signal to distortion, in decibels: {found['noisy']:.2f}, then {found['denoised']:.2f}.")
    print(draw(found).save("denoising.svg"))
