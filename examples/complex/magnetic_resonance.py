"""An image from a third of its k-space: gradient descent on a complex image with sparse edges.

A scanner measures the Fourier transform of a complex image, row by row; measuring fewer rows is
quicker, and the missing ones alias. The photograph here has a smooth phase, as coils give it. The
loss is the distance from what was measured plus the total variation of the complex image, real as
it must be. Source: Lustig, Donoho and Pauly, 2007.

    python -m examples.complex.magnetic_resonance        # needs scikit-learn, for the photograph
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_sample_image

import retrograd as rg

from .plotting import images, main


def photograph(size: int) -> rg.Tensor:
    """A photograph in gray, (size, size) from 0 to 1, with a phase that varies slowly."""
    picture = load_sample_image("china.jpg").mean(axis=2)[:384, 128:512] / 255.0
    cell = 384 // size
    gray = picture.reshape(size, cell, size, cell).mean(axis=(1, 3))
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    return rg.tensor((gray * np.exp(1j * (0.8 * x + 0.5 * y * y))).astype(np.complex64))


def rows(size: int, share: float = 0.33) -> rg.Tensor:
    """Which rows are measured: the middle ones, and of the others some at random."""
    middle = abs(np.arange(size) - size // 2) < size // 16
    drawn = np.random.default_rng(0).random(size) < (share - middle.mean()) / (1 - middle.mean())
    return rg.tensor(np.fft.ifftshift(middle | drawn)[:, None])


def variation(z: rg.Tensor) -> rg.Tensor:
    """The sum of moduli of differences, rounded off at 0."""
    down, right = z.diff(dim=0)[:, :-1], z.diff(dim=1)[:-1]
    return (down.abs().square() + right.abs().square() + 1e-6).sqrt().sum()


def quality(z: rg.Tensor, exact: rg.Tensor) -> float:
    """The peak signal-to-noise ratio of the moduli, in decibels."""
    return -10 * float((z.abs() - exact.abs()).square().mean().log10())


def run(quick: bool = False) -> dict[str, Any]:
    """The quality of the aliased image and of the recovered one, and the images."""
    exact = photograph(64 if quick else 128)
    mask = rows(len(exact))
    seen = rg.fft.fft2(exact, norm="ortho") * mask
    aliased = rg.fft.ifft2(seen, norm="ortho")
    z = aliased.clone().requires_grad_()
    optimizer = rg.optim.Adam([z], lr=0.02, complex="modulus")
    for _ in range(120 if quick else 400):
        optimizer.zero_grad()
        missed = rg.fft.fft2(z, norm="ortho") * mask - seen
        (missed.abs().square().sum() + 0.003 * variation(z)).backward()
        optimizer.step()
    found = z.detach()
    return {
        "share measured": mask.float().mean().item(),
        "aliased": quality(aliased, exact),
        "recovered": quality(found, exact),
        "images": {"photograph": exact, "aliased": aliased, "recovered": found},
    }


def draw(figure: Any, found: dict[str, Any]) -> None:
    """The three images."""
    images(figure, {title: z.abs().numpy() for title, z in found["images"].items()})


if __name__ == "__main__":
    main("magnetic_resonance", run, draw)
