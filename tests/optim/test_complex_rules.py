"""Complex parameters as one number each: paths that turn with their data, unitary constraints."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

TURN = np.exp(0.7j)
RULES = {
    "adam": lambda p: rg.optim.Adam(p, lr=0.1, complex="modulus"),
    "amsgrad": lambda p: rg.optim.Adam(p, lr=0.1, amsgrad=True, complex="modulus"),
    "adamw": lambda p: rg.optim.AdamW(p, lr=0.1, weight_decay=0.1, complex="modulus"),
    "rmsprop": lambda p: rg.optim.RMSprop(p, momentum=0.5, complex="modulus"),
    "centered": lambda p: rg.optim.RMSprop(p, centered=True, complex="modulus"),
    "sgd": lambda p: rg.optim.SGD(p, lr=0.1, momentum=0.9),
}


def path(make, start, goal, steps=6):
    """Where a parameter is after each step towards `goal`."""
    z = rg.tensor(start, requires_grad=True)
    optimizer, seen = make([z]), []
    for _ in range(steps):
        optimizer.zero_grad()
        apart = z - rg.tensor(goal)
        (apart.abs() ** 2 * (1 + rg.arange(z.numel(), dtype=rg.float64))).sum().backward()
        optimizer.step()
        seen.append(z.detach().numpy().copy())
    return np.array(seen)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("size", [3, 20000])
def test_turning_start_and_data_turns_the_path(name, size):
    draw = np.random.default_rng(0)
    start, goal = draw.normal(size=(2, size)) + 1j * draw.normal(size=(2, size))
    make = RULES[name]
    np.testing.assert_allclose(
        path(make, TURN * start, TURN * goal), TURN * path(make, start, goal), rtol=1e-8, atol=1e-11
    )


def test_the_split_rule_does_not_turn():
    start, goal = np.array([1 + 2j]), np.array([-1 + 0.1j])
    turned = path(lambda p: rg.optim.Adam(p, lr=0.1), TURN * start, TURN * goal)
    assert not np.allclose(turned, TURN * path(lambda p: rg.optim.Adam(p, lr=0.1), start, goal))


@pytest.mark.parametrize("name", ["adam", "amsgrad", "adamw", "rmsprop", "centered"])
def test_a_complex_parameter_of_no_imaginary_part_goes_the_real_way(name):
    start, goal = np.array([1.0, -2.0]), np.array([0.5, 0.5])
    wide = path(RULES[name], start + 0j, goal + 0j)
    np.testing.assert_allclose(wide, path(RULES[name], start, goal), rtol=1e-12)


def test_the_first_step_of_adam_by_modulus_has_length_lr_and_the_gradient_s_direction():
    z = rg.tensor([3 + 4j], requires_grad=True)
    optimizer = rg.optim.Adam([z], lr=0.5, complex="modulus")
    (z.abs() ** 2).sum().backward()
    optimizer.step()
    assert z.item() == pytest.approx(2.7 + 3.6j, rel=1e-6)


def test_complex_is_one_of_two_names_and_modulus_is_not_recorded():
    z = rg.ones(1, dtype=rg.complex64, requires_grad=True)
    for make in (rg.optim.Adam, rg.optim.AdamW, rg.optim.RMSprop):
        with pytest.raises(ValueError, match="complex must be 'split' or 'modulus'"):
            make([z], complex="polar")
        with pytest.raises(ValueError, match="records no steps"):
            make([z], complex="modulus", differentiable=True)
