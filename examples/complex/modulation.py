# %% [markdown]
"""Which modulation a radio signal has: a complex network against its real twin of equal size.

Signals of BPSK, QPSK, 8-PSK and 16-QAM come through a channel with an echo, an unknown phase and
noise. The complex network has no biases, activations by modulus and a head of moduli: so turning
the signal by a phase turns all its layers, and changes no answer. Its twin sees real and imaginary
parts as two channels, has as many real parameters, and has to learn that from examples.

    python -m examples.complex.modulation        # a minute; with --quick, seconds
"""

# %%
from __future__ import annotations

import sys
from typing import Any

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.nn import complex as cnn

LENGTH = 64


# %%
def constellations() -> list[np.ndarray]:
    """The points that each modulation sends, of mean power 1."""
    grid = np.arange(-3, 4, 2)
    points = [
        np.exp(2j * np.pi * np.arange(2) / 2),
        np.exp(2j * np.pi * (np.arange(4) + 0.5) / 4),
        np.exp(2j * np.pi * np.arange(8) / 8),
        (grid[:, None] + 1j * grid).ravel(),
    ]
    return [p / np.sqrt((abs(p) ** 2).mean()) for p in points]


# %%
def signals(count: int, seed: int, noise: float = 0.1) -> tuple[rg.Tensor, rg.Tensor]:
    """Received samples (count, 1, LENGTH), and the classes."""
    draw = np.random.default_rng(seed)
    kinds = constellations()
    classes = draw.integers(0, len(kinds), count)
    sent = np.stack([draw.choice(kinds[int(k)], LENGTH) for k in classes])
    echo = 0.1 * (draw.normal(size=(count, 1)) + 1j * draw.normal(size=(count, 1)))
    turn = np.exp(2j * np.pi * draw.random((count, 1)))
    hiss = draw.normal(size=(2, count, LENGTH)) * noise / np.sqrt(2)
    received = turn * (sent + echo * np.roll(sent, 1, 1)) + hiss[0] + 1j * hiss[1]
    return rg.tensor(received[:, None].astype(np.complex64)), rg.tensor(classes)


# %%
def complex_network(width: int) -> nn.Module:
    """Convolutions without biases, modReLU, and real layers on the moduli of what comes out."""
    return nn.Sequential(
        cnn.Conv1d(1, width, 2, bias=False),
        cnn.ModReLU(width),
        cnn.Conv1d(width, width, 1, bias=False),
        cnn.Magnitude(),
        *head(width),
    )


# %%
def real_network(width: int) -> nn.Module:
    """The same on two real channels, with biases and ReLU."""
    return nn.Sequential(
        cnn.RealImaginary(1),
        nn.Conv1d(2, width, 2),
        nn.ReLU(),
        nn.Conv1d(width, width, 1),
        nn.ReLU(),
        *head(width),
    )


# %%
def head(width: int) -> list[nn.Module]:
    """A real layer at each time, their mean, and the logits."""
    return [
        nn.Conv1d(width, width, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(width, 4),
    ]


# %%
def size(model: nn.Module) -> int:
    """The number of real parameters."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())


# %%
def learn(model: nn.Module, steps: int) -> list[float]:
    """The share of right answers on other signals, every ten steps; some are printed."""
    (x, y), (unseen, right) = signals(200, seed=0), signals(600, seed=1)
    optimizer = rg.optim.Adam(model.parameters(), lr=1e-2, complex="modulus")
    scores: list[float] = []
    for step in range(steps):
        chosen = rg.randint(0, len(x), (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        optimizer.step()
        if step % 10 == 9:
            with rg.no_grad():
                scores.append((model(unseen).argmax(1) == right).float().mean().item())
        if step % (steps // 5) == steps // 5 - 1:
            print(f"step {step + 1} of {steps}: {scores[-1]:.1%} right")
    return scores


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """The accuracies of both over the steps."""
    rg.manual_seed(0)
    networks = {"complex": complex_network(16), "real": real_network(19)}
    steps = 250 if quick else 800
    paths: dict[str, list[float]] = {}
    for name, network in networks.items():
        print(f"The {name} network, of {size(network)} parameters:")
        paths[name] = learn(network, steps)
    return {
        "complex": sum(paths["complex"][-5:]) / 5,
        "real": sum(paths["real"][-5:]) / 5,
        "paths": paths,
        "sizes": {name: size(network) for name, network in networks.items()},
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """Both accuracies."""
    return rg.viz.curves(found["paths"], "ten steps", "share of right answers")


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"Right answers: {found['complex']:.1%} complex, {found['real']:.1%} real.")
    print(draw(found).save("modulation.svg"))
