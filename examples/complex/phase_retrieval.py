# %% [markdown]
"""A complex field from intensities alone: gradient descent on a complex parameter.

A camera sees intensity, never phase. The field, of light with whirls around which the phase turns,
is seen through known random masks, each followed by a Fourier transform; only the moduli are kept.
Descent from noise lowers the misfit of the moduli. A phase common to the whole field cannot be
seen, so the error is measured up to one. Source: Candès, Li and Soltanolkotabi, 2015.

    python -m examples.complex.phase_retrieval        # seconds; `make demo` has a photograph
"""

# %%
from __future__ import annotations

import sys
from typing import Any

import numpy as np

import retrograd as rg

WHIRLS = [(-0.4, 0.3, 1), (0.5, 0.4, -1), (0.1, -0.5, 2)]  # places, and how often the phase turns


# %%
def light(size: int) -> rg.Tensor:
    """A field (size, size) of modulus 0 at the whirls, and below 1."""
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    field = np.exp(-1.5 * (x * x + y * y)) + 0j
    for x0, y0, turns in WHIRLS:
        z = (x - x0) + 1j * np.sign(turns) * (y - y0)
        field *= (z / np.sqrt(abs(z) ** 2 + 0.02)) ** abs(turns)
    return rg.tensor(field.astype(np.complex64))


# %%
def aligned(z: rg.Tensor, exact: rg.Tensor) -> rg.Tensor:
    """`z` turned by the global phase that brings it nearest to the exact field."""
    overlap = (z.conj() * exact).sum()
    return z * overlap / overlap.abs()


# %%
def error(z: rg.Tensor, exact: rg.Tensor) -> float:
    """The relative distance from the exact field, up to a global phase."""
    distance: float = ((aligned(z, exact) - exact).norm() / exact.norm()).item()
    return distance


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """The relative error before and after, at every step, and the field."""
    rg.manual_seed(0)
    exact, masks = light(32 if quick else 96), 8
    phases = 2 * rg.pi * rg.rand(masks, *exact.shape)
    mask = rg.polar(rg.ones_like(phases), phases)
    seen = rg.fft.fft2(mask * exact, norm="ortho").abs()
    z = rg.randn(exact.shape, dtype=rg.complex64).mul_(seen.square().mean().sqrt())
    z.requires_grad_()
    optimizer = rg.optim.SGD([z], lr=0.5, momentum=0.8)
    path, steps = [error(z.detach(), exact)], 300
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        amplitude = rg.fft.fft2(mask * z, norm="ortho").abs()
        loss = (amplitude - seen).square().sum() / masks
        loss.backward()
        optimizer.step()
        path.append(error(z.detach(), exact))
        if step % (steps // 5) == 0:
            print(f"step {step} of {steps}: loss {loss.item():.2e}, error {path[-1]:.2e}")
    return {
        "error before": path[0],
        "error after": path[-1],
        "path": path,
        "exact": exact,
        "recovered": aligned(z.detach(), exact),
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """The field and its recovery, side by side, by the colours of their phases."""
    return rg.viz.colored(rg.cat([found["exact"], found["recovered"]], dim=1))


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"Relative error: {found['error before']:.3g} before, {found['error after']:.3g} after.")
    print(draw(found).save("phase_retrieval.svg"))
