"""Gradient tapes that compiled steps enter: their gradients are those of each call."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

WEIGHT = rg.ones(3, dtype=rg.float64, requires_grad=True)


def by_weight(x):
    with rg.GradientTape() as tape:
        loss = ((WEIGHT * x) ** 2).sum()
    return tape.gradient(loss, WEIGHT)


def by_argument(x):
    with rg.GradientTape() as tape:
        tape.watch(x)
        loss = (x.sin() * x).sum()
    return tape.gradient(loss, x)


def of_second_order(x):
    with rg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            y = (x**3).sum()
        g = inner.gradient(y, x)
    return outer.gradient(g, x) + outer.gradient(y, {"x": x})["x"]


def with_a_cotangent(x):
    with rg.GradientTape() as tape:
        h = WEIGHT * x
        y = h * h * h
    return rg.stack(tape.gradient(y, [h, WEIGHT], output_gradients=[x]))


def with_a_step_by_hand(x):
    with rg.GradientTape() as tape:
        loss = ((WEIGHT * x) ** 2).mean()
    (g,) = tape.gradient(loss, [WEIGHT])
    with rg.no_grad():
        WEIGHT.sub_(0.1 * g)
    return loss.detach() * 1


TAPES = (by_weight, by_argument, of_second_order, with_a_cotangent, with_a_step_by_hand)


@pytest.mark.parametrize("step", TAPES, ids=lambda step: step.__name__)
def test_gradients_of_a_tape_are_captured(step):
    compiled = rg.compile(step, fullgraph=True)
    for number in range(3):
        x = rg.randn(3, dtype=rg.float64)
        found = []
        for function in (compiled, step):
            with rg.no_grad():
                WEIGHT.fill_(number)
            before = WEIGHT._version
            y = function(x.clone())
            found.append((y, WEIGHT.tolist(), WEIGHT._version - before, y._version, y.stride()))
        (one, *rest), (other, *expected) = found
        rg.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
        assert rest[1:] == expected[1:]
        assert rest[0] == pytest.approx(expected[0], rel=1e-12)
        assert one.requires_grad == other.requires_grad
    assert len(compiled.compiled.variants) == 1


def test_other_methods_of_a_tape_end_a_recording():
    @rg.compile
    def step(x):
        with rg.GradientTape() as tape:
            tape.watch(x)
            y = x**2
        return tape.jacobian(y, x)

    for _ in range(2):
        assert step(rg.ones(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert "a method of a GradientTape is called" in step.compiled.reasons[0]
