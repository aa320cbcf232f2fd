# %% [markdown]
"""An image from a third of its k-space: gradient descent on a complex image with sparse edges.

A scanner measures the Fourier transform of a complex image, row by row; measuring fewer rows is
quicker, and the missing ones alias. The head here has a smooth phase, as coils give it. The
loss is the distance from what was measured plus the total variation of the complex image, real as
it must be. Source: Lustig, Donoho and Pauly, 2007.

    python -m examples.complex.magnetic_resonance        # seconds
"""

# %%
# scikit-learn says no types.
# pyright: standard, reportMissingImports=false
from __future__ import annotations

import sys
from typing import Any

import numpy as np

import retrograd as rg

# The ellipses of a head: brightness, half axes, centre, degrees. Source: Shepp and Logan, 1974,
# with the contrasts of Toft, 1996.
ELLIPSES = [
    (1.0, 0.69, 0.92, 0.0, 0.0, 0), (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0),
    (-0.2, 0.11, 0.31, 0.22, 0.0, -18), (-0.2, 0.16, 0.41, -0.22, 0.0, 18),
    (0.1, 0.21, 0.25, 0.0, 0.35, 0), (0.1, 0.046, 0.046, 0.0, 0.1, 0),
    (0.1, 0.046, 0.046, 0.0, -0.1, 0), (0.1, 0.046, 0.023, -0.08, -0.605, 0),
    (0.1, 0.023, 0.023, 0.0, -0.606, 0), (0.1, 0.023, 0.046, 0.06, -0.605, 0),
]  # fmt: skip


# %%
def head(size: int) -> rg.Tensor:
    """A slice of a head, (size, size) from 0 to 1, with a phase that varies slowly."""
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    gray = np.zeros((size, size))
    for brightness, a, b, x0, y0, degrees in ELLIPSES:
        turned = (x - x0 + 1j * (y - y0)) * np.exp(-1j * np.deg2rad(degrees))
        gray[(turned.real / a) ** 2 + (turned.imag / b) ** 2 <= 1] += brightness
    return rg.tensor((gray * np.exp(1j * (0.8 * x + 0.5 * y * y))).astype(np.complex64))


# %%
def rows(size: int, share: float = 0.33) -> rg.Tensor:
    """Which rows are measured: the middle ones, and of the others some at random."""
    middle = abs(np.arange(size) - size // 2) < size // 16
    drawn = np.random.default_rng(0).random(size) < (share - middle.mean()) / (1 - middle.mean())
    return rg.tensor(np.fft.ifftshift(middle | drawn)[:, None])


# %%
def variation(z: rg.Tensor) -> rg.Tensor:
    """The sum of moduli of differences, rounded off at 0."""
    down, right = z.diff(dim=0)[:, :-1], z.diff(dim=1)[:-1]
    return (down.abs().square() + right.abs().square() + 1e-6).sqrt().sum()


# %%
def quality(z: rg.Tensor, exact: rg.Tensor) -> float:
    """The peak signal-to-noise ratio of the moduli, in decibels."""
    return -10 * float((z.abs() - exact.abs()).square().mean().log10())


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """The quality of the aliased image and of the recovered one, and the images."""
    exact = head(64 if quick else 128)
    mask = rows(len(exact))
    seen = rg.fft.fft2(exact, norm="ortho") * mask
    aliased = rg.fft.ifft2(seen, norm="ortho")
    z = aliased.clone().requires_grad_()
    optimizer = rg.optim.Adam([z], lr=0.02, complex="modulus")
    steps = 240 if quick else 400
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        missed = rg.fft.fft2(z, norm="ortho") * mask - seen
        (missed.abs().square().sum() + 0.003 * variation(z)).backward()
        optimizer.step()
        if step % (steps // 5) == 0:
            print(f"step {step} of {steps}: {quality(z.detach(), exact):.2f} decibels")
    found = z.detach()
    return {
        "share measured": mask.float().mean().item(),
        "aliased": quality(aliased, exact),
        "recovered": quality(found, exact),
        "images": {"exact": exact, "aliased": aliased, "recovered": found},
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """The head, what is seen without recovery, and what was recovered."""
    return rg.viz.image(rg.cat([z.abs() for z in found["images"].values()], dim=1))


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"{found['share measured']:.0%} of the rows were measured. Peak signal to noise:")
    print(f"{found['aliased']:.1f} decibels before, {found['recovered']:.1f} after.")
    print(draw(found).save("magnetic_resonance.svg"))
