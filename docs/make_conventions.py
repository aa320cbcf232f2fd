"""Writes the table of conventions in `docs/wirtinger.md`: `python docs/make_conventions.py`.

Each number is computed, and each formula checked, when the table is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import retrograd as rg
from retrograd import wirtinger

PLACE = Path(__file__).parent / "wirtinger.md"
START, END = "<!-- conventions: written by docs/make_conventions.py -->\n", "<!-- end -->"
HEAD = (
    "| who | its name | formula | of $L = z z^*$ at $3 + 4i$ | of $s = z^2$, $g = 1$ | downhill |\n"
    "|---|---|---|---|---|---|\n"
)
POINT = 3 + 4j
UP, DOWN = "∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*", "∂L/∂x - i ∂L/∂y = 2 ∂L/∂z"


def loss(z: Any) -> Any:
    """|z|², a real loss."""
    return (z * z.conj()).real


def filled(f: Any) -> complex:
    """What a backward pass puts into `.grad`."""
    z = rg.tensor(POINT, requires_grad=True)
    out = f(z)
    out.backward(rg.ones_like(out))
    assert z.grad is not None
    return complex(z.grad.item())


def by(convention: str) -> Any:
    """The gradient in a convention."""
    return lambda f: complex(wirtinger.gradient(f, rg.tensor(POINT), convention).item())


def derivative(which: int) -> Any:
    """One of the two derivatives."""
    return lambda f: complex(wirtinger.derivatives(f, rg.tensor(POINT))[which].item())


# Who, its name for it, the formula, how it is computed, and where -L grows: along -step(number).
LINES = (
    ("Retrograd, `z.grad`", "gradient", UP, filled, "z - η g"),
    ("PyTorch, `z.grad`", "conjugate Wirtinger derivative", UP, by("torch"), "z - η g"),
    ("TensorFlow, `tape.gradient`", "gradient", UP, by("tensorflow"), "z - η g"),
    ("JAX, `jax.grad`", "gradient", DOWN, by("jax"), "z - η g*"),
    ("textbooks", "conjugate Wirtinger derivative", "∂L/∂z*", derivative(1), "z - 2η g"),
    ("textbooks", "Wirtinger derivative", "∂L/∂z", derivative(0), "z - 2η g*"),
)


def formula(text: str) -> complex:
    """The value of a formula for the loss at the point, by steps along both axes."""
    h = 1e-6
    steps = [rg.tensor(POINT + s * h, dtype=rg.complex128) for s in (1, -1, 1j, -1j)]
    right, left, up, down = (loss(z).item() for z in steps)
    x, y = (right - left) / (2 * h), (up - down) / (2 * h)
    value = complex(x, -y if text.endswith("z") else y)
    return value if "2" in text else value / 2


def line(who: str, name: str, text: str, compute: Any, step: str) -> str:
    """A line of the table; AssertionError where a formula and the number differ."""
    real, holomorphic = compute(loss), compute(lambda z: z**2)
    assert abs(formula(text) - real) < 1e-6, (who, text, real)
    g = real.conjugate() if step.endswith("*") else real
    after = POINT - (0.2 if "2η" in step else 0.1) * g
    assert abs(after - 0.8 * POINT) < 1e-12, (who, step)  # straight to the least value, at 0
    cells = who, name, text, shown(real), shown(holomorphic), step
    return "| " + " | ".join(cells).replace("*", "\\*") + " |\n"


def shown(number: complex) -> str:
    """A number as text."""
    return f"{number.real:g}{number.imag:+g}j"


def text() -> str:
    """The page with the table."""
    before, _, rest = PLACE.read_text().partition(START)
    rows = "".join(line(*each) for each in LINES)
    return f"{before}{START}{HEAD}{rows}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PLACE.write_text(text())
