"""A complex field is recovered from intensities: gradient descent on a complex64 parameter.

A camera sees intensity, never phase. Here the unknown field z has a photograph for its amplitude
and another channel of it for its phase; it is seen through a few known random phase masks m_k,
each followed by a Fourier transform, and only |FFT(m_k z)|^2 is kept (coded diffraction patterns:
Candès, Li and Soltanolkotabi, 2015). For a real loss L and a complex z = x + iy,
the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest ascent. A global phase cannot
be seen, so the error is measured up to one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_sample_image
from tqdm import tqdm

import retrograd as rg
from retrograd import optim

SIZE = 128
MASKS = 8
COMPARED = (2, 4, MASKS)  # how many masks the report compares
STEPS = 250
SHOWN = (1.1, 0.8, 0.45, 0.2)  # the errors at which the field is kept, beside start and end


@dataclass
class Recovery:
    """What the descent gave: the field, its recovery, and error and loss at each step."""

    original: np.ndarray
    start: np.ndarray
    recovered: np.ndarray
    errors: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    frames: dict[int, np.ndarray] = field(default_factory=dict)  # the field by step
    size: int = SIZE
    masks: int = MASKS
    seconds: float = 0.0

    @property
    def factor(self) -> float:
        """By how much the error fell."""
        return self.errors[0] / self.errors[-1]


def photograph() -> np.ndarray:
    """The field: amplitude from the photograph's brightness, phase from its red-green contrast."""
    picture = load_sample_image("china.jpg").astype(np.float32) / 255.0
    rows, columns = (n // SIZE * SIZE for n in picture.shape[:2])
    side = min(rows, columns)
    picture = picture[:side, -side:]
    cell = side // SIZE
    small = picture.reshape(SIZE, cell, SIZE, cell, 3).mean(axis=(1, 3))
    amplitude = 0.1 + small.mean(axis=2)
    phase = np.pi * (small[..., 0] - small[..., 2]) / np.ptp(small[..., 0] - small[..., 2])
    return (amplitude * np.exp(1j * phase)).astype(np.complex64)


def aligned(z: np.ndarray, original: np.ndarray) -> np.ndarray:
    """`z` turned by the global phase that brings it nearest to `original`."""
    overlap = np.vdot(z, original)
    return z * (overlap / abs(overlap))


def error(z: np.ndarray, original: np.ndarray) -> float:
    """Relative distance of `z` from `original`, up to a global phase."""
    distance = np.linalg.norm(aligned(z, original) - original)
    return float(distance / np.linalg.norm(original))


def run(steps: int = STEPS, masks: int = MASKS) -> Recovery:
    """Measure, forget the field, and find it again."""
    rg.manual_seed(0)
    original = photograph()
    mask = rg.polar(rg.ones(masks, SIZE, SIZE), 2 * np.pi * rg.rand(masks, SIZE, SIZE))
    with rg.no_grad():
        seen = rg.fft.fft2(mask * rg.from_numpy(original), norm="ortho").abs()
    scale = float(seen.square().mean().sqrt())
    start = scale * rg.randn(SIZE, SIZE, dtype=rg.complex64)
    z = start.clone().requires_grad_()
    optimizer = optim.SGD([z], lr=0.5, momentum=0.8)
    found = Recovery(original, start.numpy(), start.numpy(), masks=masks)
    found.errors.append(error(start.numpy(), original))
    start_time = time.perf_counter()
    found.frames[0] = start.numpy()
    with tqdm(total=steps, desc="phase ", unit="step") as bar:
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            amplitude = rg.fft.fft2(mask * z, norm="ortho").abs()
            loss = (amplitude - seen).square().sum() / masks
            loss.backward()
            optimizer.step()
            found.losses.append(loss.item())
            found.errors.append(error(z.detach().numpy(), original))
            if step == steps or found.errors[-1] < (*SHOWN, 0)[len(found.frames) - 1]:
                found.frames[step] = aligned(z.detach().numpy(), original)
            bar.update()
            bar.set_postfix(error=f"{found.errors[-1]:.2e}")
    found.seconds = time.perf_counter() - start_time
    found.recovered = aligned(z.detach().numpy(), original)
    return found
