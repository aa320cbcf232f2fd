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
    "nadam": lambda p: rg.optim.NAdam(p, lr=0.1, complex="modulus"),
    "radam": lambda p: rg.optim.RAdam(p, lr=0.1, betas=(0.9, 0.99), complex="modulus"),
    "adamax": lambda p: rg.optim.Adamax(p, lr=0.1, complex="modulus"),
    "adagrad": lambda p: rg.optim.Adagrad(
        p, lr=0.1, initial_accumulator_value=0.5, complex="modulus"
    ),
    "adadelta": lambda p: rg.optim.Adadelta(p, eps=0.1, complex="modulus"),
    "rprop": lambda p: rg.optim.Rprop(p, lr=0.5, complex="modulus"),
    "lbfgs": lambda p: rg.optim.LBFGS(p, lr=0.5, max_iter=2, complex="modulus"),
}
# These take no `complex`: their rules for parts and for moduli are the same.
ALIKE = {
    "sgd": lambda p: rg.optim.SGD(p, lr=0.1, momentum=0.9),
    "asgd": lambda p: rg.optim.ASGD(p, lr=0.1, t0=2),
    "adafactor": lambda p: rg.optim.Adafactor(p, lr=0.1),
    "muon": lambda p: rg.optim.Muon(p, lr=0.1),
}
ALL = RULES | ALIKE


def path(make, start, goal, steps=6):
    """Where a parameter is after each step towards `goal`."""
    z = rg.tensor(start, requires_grad=True)
    optimizer, seen = make([z]), []
    weight = 1 + rg.arange(z.numel(), dtype=rg.float64).reshape(z.shape) / z.numel()

    def closure():
        optimizer.zero_grad()
        loss = ((z - rg.tensor(goal)).abs() ** 2 * weight).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        seen.append(z.detach().numpy().copy())
    return np.array(seen)


def test_every_optimizer_is_here():
    makers = [*ALL.values(), *UNITARY.values()]
    z = [rg.eye(2, dtype=rg.complex64).requires_grad_()]
    seen = {type(make(z)) for make in makers}
    every = {c for c in vars(rg.optim).values() if isinstance(c, type)}
    assert {c for c in every if issubclass(c, rg.optim.Optimizer)} - seen == {rg.optim.Optimizer}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [(3, 1), (20000, 1)])
def test_turning_start_and_data_turns_the_path(name, size):
    draw = np.random.default_rng(0)
    start, goal = draw.normal(size=(2, *size)) + 1j * draw.normal(size=(2, *size))
    make = ALL[name]
    np.testing.assert_allclose(
        path(make, TURN * start, TURN * goal), TURN * path(make, start, goal), rtol=1e-8, atol=1e-11
    )


def test_the_split_rule_does_not_turn():
    start, goal = np.array([1 + 2j]), np.array([-1 + 0.1j])
    turned = path(lambda p: rg.optim.Adam(p, lr=0.1), TURN * start, TURN * goal)
    assert not np.allclose(turned, TURN * path(lambda p: rg.optim.Adam(p, lr=0.1), start, goal))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("times", [1, 40000])
def test_a_complex_parameter_of_no_imaginary_part_goes_the_real_way(name, times):
    start, goal = np.tile([[1.0], [-2.0]], (times, 1)), np.full((2 * times, 1), 0.5)
    wide = path(ALL[name], start + 0j, goal + 0j)
    np.testing.assert_allclose(wide, path(ALL[name], start, goal), rtol=1e-12)


def test_the_first_step_of_adam_by_modulus_has_length_lr_and_the_gradient_s_direction():
    z = rg.tensor([3 + 4j], requires_grad=True)
    optimizer = rg.optim.Adam([z], lr=0.5, complex="modulus")
    (z.abs() ** 2).sum().backward()
    optimizer.step()
    assert z.item() == pytest.approx(2.7 + 3.6j, rel=1e-6)


def test_complex_is_one_of_two_names_and_modulus_is_not_recorded():
    z = rg.ones(1, dtype=rg.complex64, requires_grad=True)
    for kind in {type(make([z])) for make in RULES.values()}:
        with pytest.raises(ValueError, match="complex must be 'split' or 'modulus'"):
            kind([z], complex="polar")
        if kind is not rg.optim.LBFGS:
            with pytest.raises(ValueError, match="records no steps"):
                kind([z], complex="modulus", differentiable=True)


# -- unitary constraints ---------------------------------------------------------------------------


def orthonormal(*shape, dtype=rg.complex128):
    return rg.nn.init.orthogonal_(rg.empty(*shape, dtype=dtype)).requires_grad_()


def approach(x, goal, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        ((x - goal).abs() ** 2).sum().backward()
        optimizer.step()


UNITARY = {
    "sgd": lambda p: rg.optim.UnitarySGD(p, lr=0.2),
    "momentum": lambda p: rg.optim.UnitarySGD(p, lr=0.1, momentum=0.5),
    "adam": lambda p: rg.optim.UnitaryAdam(p, lr=0.02),
}


@pytest.mark.parametrize("name", UNITARY)
@pytest.mark.parametrize("shape", [(4, 4), (5, 2), (2, 5)])
def test_unitary_descent_reaches_its_goal_and_stays_unitary(name, shape):
    x, goal = orthonormal(*shape), orthonormal(*shape).detach()
    before = (x - goal).norm().item()
    approach(x, goal, UNITARY[name]([x]), 300)
    small = x.detach() if shape[0] <= shape[1] else x.detach().mT
    rg.testing.assert_close(small @ small.mH, rg.eye(min(shape), dtype=x.dtype), rtol=0, atol=1e-13)
    assert (x - goal).norm().item() < 0.02 * before


def test_rounding_errors_of_unitary_steps_do_not_add_up():
    x, goal = (orthonormal(3, 3, dtype=rg.complex64) for _ in range(2))
    approach(x, goal.detach(), rg.optim.UnitaryAdam([x], lr=0.3), 1000)
    assert (x @ x.mH - rg.eye(3)).abs().max().item() < 1e-6


def test_a_first_unitary_step_goes_along_the_rotation():
    x, goal = orthonormal(3, 3), orthonormal(3, 3).detach()
    start = x.detach().clone()
    approach(x, goal, rg.optim.UnitarySGD([x], lr=1e-6), 1)
    g = 2 * (start - goal)
    along = (g - start @ g.mH @ start) / 2
    rg.testing.assert_close((start - x.detach()) / 1e-6, along, rtol=1e-5, atol=1e-5)


def test_orthogonal_descent_turns_with_its_goal():
    start, goal = orthonormal(3, 3).detach(), orthonormal(3, 3).detach()
    for make in UNITARY.values():
        x, y = start.clone().requires_grad_(), (TURN * start).requires_grad_()
        approach(x, goal, make([x]), 5)
        approach(y, TURN * goal, make([y]), 5)
        rg.testing.assert_close(y, TURN * x)


def test_what_is_not_orthonormal_is_refused():
    with pytest.raises(ValueError, match="are not orthonormal"):
        rg.optim.UnitarySGD([rg.ones(2, 2, requires_grad=True)])
    with pytest.raises(ValueError, match="must be matrices"):
        rg.optim.UnitaryAdam([rg.ones(2, requires_grad=True)])
    with pytest.raises(ValueError, match=r"matrices, got retrograd\.float16 of shape \[2, 2\]"):
        rg.optim.UnitaryAdam([rg.eye(2, dtype=rg.float16).requires_grad_()])


def test_a_unitary_step_counts_one_write():
    for make in UNITARY.values():
        x, goal = orthonormal(2, 3), orthonormal(2, 3).detach()
        before = x._version
        approach(x, goal, make([x]), 1)
        assert x._version == before + 1
