"""Random complex programs with writes in place: tapes, transforms and differences agree."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import wirtinger

UNARY = [
    *(rg.exp, rg.sin, rg.sgn, lambda a: a.conj(), lambda a: a * a, lambda a: a.flip(0)),
    *(lambda a: a.abs() + 0j, lambda a: a.real * 1j, lambda a: a.angle() + 0j),
    *(lambda a: a.cumsum(0), lambda a: a[[2, 0, 1]]),
]
BINARY = [
    *(lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a - b.conj()),
    lambda a, b: a / (b + 2),
]


def program(seed, length=8):
    """A function of three complex numbers that gives three."""
    rng = np.random.default_rng(seed)
    steps = rng.random((length, 5))

    def run(z):
        values = [z]
        for kind, which, first, second, write in steps:
            a, b = (values[int(place * len(values))] for place in (first, second))
            if kind < 0.5:
                made = UNARY[int(which * len(UNARY))](a) * 0.3
            else:
                made = BINARY[int(which * len(BINARY))](a, b) * 0.3
            if write < 0.25:
                made[0] = made[1].clone() * b[0]
            elif write < 0.5:
                made.mul_(b)
            values.append(made)
        return sum(values[1:])

    return run


@pytest.mark.parametrize("seed", range(40))
def test_all_ways_to_the_derivative_agree(seed):
    f, rng = program(seed), np.random.default_rng(100 + seed)
    z, g, t = (rg.tensor(v) for v in rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
    a, b = (matrix.numpy() for matrix in wirtinger.jacobian(f, z))
    pulled = a.conj().T @ g.numpy() + b.T @ g.numpy().conj()
    pushed = a @ t.numpy() + b @ t.numpy().conj()
    with rg.GradientTape() as tape:
        tape.watch(z)
        s = f(z)
    with rg.ForwardAccumulator(z, t) as forward:
        again = f(z)
    tolerance = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(tape.gradient(s, z, g).numpy(), pulled, **tolerance)
    np.testing.assert_allclose(wirtinger.gradient(f, z, cotangent=g).numpy(), pulled, **tolerance)
    np.testing.assert_allclose(forward.jvp(again).numpy(), pushed, **tolerance)
    up, down = (f(z + step * t).numpy() for step in (1e-6, -1e-6))
    scale = max(1.0, np.abs(pushed).max())
    np.testing.assert_allclose((up - down) / 2e-6, pushed, rtol=0, atol=1e-6 * scale)
