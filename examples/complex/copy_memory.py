# %% [markdown]
"""A unitary recurrent network remembers symbols over a long silence; an LSTM of its size does not.

The task of Hochreiter and Schmidhuber (1997): some symbols, blanks, a sign, and the symbols are to
be said again. Whoever remembers nothing has a loss of n log(8) / (T + 2n) at best. A unitary state
map neither shrinks nor grows what it carries, so gradients come back over all of the silence
(Arjovsky, Shah and Bengio, 2016).

    python -m examples.complex.copy_memory        # minutes; with --quick, seconds
"""

# %%
from __future__ import annotations

import math
import sys
from typing import Any

import retrograd as rg
from retrograd import nn
from retrograd.nn import complex as cnn

SYMBOLS, BLANK, GO = 8, 8, 9


# %%
def sequences(count: int, length: int, silence: int) -> tuple[rg.Tensor, rg.Tensor]:
    """What is heard and what is to be said: (silence + 2 length, count) classes each."""
    words = rg.randint(0, SYMBOLS, (length, count))
    heard = rg.full((silence + 2 * length, count), BLANK)
    said = heard.clone()
    heard[:length], heard[length + silence - 1], said[-length:] = words, GO, words
    return heard, said


# %%
class Unitary(nn.Module):
    """One-hot symbols into a unitary network, and real logits of its state."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.rnn = cnn.UnitaryRNN(SYMBOLS + 2, hidden)
        self.head = nn.Linear(2 * hidden, SYMBOLS + 1)

    def forward(self, heard: rg.Tensor) -> rg.Tensor:
        """(T, N) classes to (T, N, classes) logits."""
        inputs = nn.functional.one_hot(heard, SYMBOLS + 2).to(rg.complex64)
        states, _ = self.rnn(inputs)
        return self.head(rg.cat([states.real, states.imag], -1))


# %%
class Recurrent(nn.Module):
    """The same with an LSTM."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(SYMBOLS + 2, hidden)
        self.head = nn.Linear(hidden, SYMBOLS + 1)

    def forward(self, heard: rg.Tensor) -> rg.Tensor:
        """(T, N) classes to (T, N, classes) logits."""
        return self.head(self.rnn(nn.functional.one_hot(heard, SYMBOLS + 2).float())[0])


# %%
def size(model: nn.Module) -> int:
    """The number of real parameters."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())


# %%
def learn(model: nn.Module, steps: int, length: int, silence: int) -> list[float]:
    """The loss at every step; some are printed."""
    kind = "modulus" if isinstance(model, Unitary) else "split"
    optimizer = rg.optim.RMSprop(model.parameters(), lr=2e-3, alpha=0.9, complex=kind)
    losses: list[float] = []
    for step in range(1, steps + 1):
        heard, said = sequences(16, length, silence)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(heard).flatten(0, 1), said.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % (steps // 5) == 0:
            print(f"{type(model).__name__}: step {step} of {steps}, loss {loss.item():.3f}")
    return losses


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """Both losses over the steps, against that of who remembers nothing."""
    rg.manual_seed(1)
    length, silence, steps = (5, 10, 200) if quick else (10, 100, 1000)
    sizes = (16, 12) if quick else (64, 48)
    models = {"unitary": Unitary(sizes[0]), "LSTM": Recurrent(sizes[1])}
    paths = {name: learn(model, steps, length, silence) for name, model in models.items()}
    last = {name: sum(path[-10:]) / 10 for name, path in paths.items()}
    return {
        "unitary": last["unitary"],
        "lstm": last["LSTM"],
        "memoryless": length * math.log(SYMBOLS) / (silence + 2 * length),
        "paths": paths,
        "sizes": {name: size(model) for name, model in models.items()},
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """Both losses over the steps."""
    steps = len(found["paths"]["LSTM"])
    lines = {**found["paths"], "no memory": [found["memoryless"]] * steps}
    return rg.viz.curves(lines, y="cross-entropy")


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"Loss {found['unitary']:.3f} with a unitary network, {found['lstm']:.3f} with an LSTM;")
    print(f"who remembers nothing has {found['memoryless']:.3f} at best.")
    print(draw(found).save("copy_memory.svg"))
