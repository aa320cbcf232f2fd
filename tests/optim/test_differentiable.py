"""differentiable=True: derivatives through steps, by the same rules as the steps on arrays."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import retrograd as rg

RULES = {
    "SGD": {},
    "momentum": {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
    "nesterov": {"momentum": 0.9, "nesterov": True, "maximize": True},
    "Adam": {"weight_decay": 0.1, "eps": 1e-2},
    "amsgrad": {"amsgrad": True, "eps": 1e-2},
    "AdamW": {"eps": 1e-2},
    "NAdam": {"eps": 1e-2, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "RAdam": {"betas": (0.5, 0.6)},
    "Adamax": {"eps": 1e-2},
    "RMSprop": {"centered": True, "momentum": 0.5, "eps": 1e-2},
    "Adagrad": {"eps": 1e-2},
    "Adadelta": {"eps": 1e-2},
    "ASGD": {"t0": 0},
    "Rprop": {},
}
KIND = {"momentum": "SGD", "nesterov": "SGD", "amsgrad": "Adam"}
REAL = np.array([0.5, -1.0, 2.0])
COMPLEX = np.array([0.5 + 1.0j, -1.0 + 0.25j])


def after_steps(case, start, lr=0.1, differentiable=True, steps=4, **own):
    """The parameter after some steps along gradients that depend on it, and its optimizer."""
    p = start.clone() if differentiable else start.detach().clone().requires_grad_()
    make = getattr(rg.optim, KIND.get(case, case))
    own = {**RULES[case], **own}
    optimizer = make([p], lr=lr, differentiable=differentiable, **own)
    for step in range(steps):
        here = p.clone()  # the step writes into p
        g = here * here * 0.3 + start * np.cos(step + 0.5)
        p.grad = g if differentiable else g.detach()
        optimizer.step()
    return p, optimizer


@pytest.mark.parametrize("start", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("case", RULES)
def test_a_step_that_records_gives_what_the_step_on_arrays_gives(case, start):
    x = rg.tensor(start, requires_grad=True)
    (recorded, one), (written, other) = (after_steps(case, x, differentiable=d) for d in (1, 0))
    np.testing.assert_allclose(recorded.detach().numpy(), written.detach().numpy(), rtol=1e-12)
    states = zip(one.state[recorded].items(), other.state[written].items(), strict=True)
    for (name, value), (other_name, expected) in states:
        assert name == other_name
        np.testing.assert_allclose(value.detach().numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("start", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("case", RULES)
def test_derivatives_through_several_steps_are_those_of_differences(case, start):
    x = rg.tensor(start, requires_grad=True)
    assert rg.autograd.gradcheck(lambda x: after_steps(case, x)[0], (x,))


@pytest.mark.parametrize("shape", [(), (1,)], ids=str)
@pytest.mark.parametrize("case", RULES)
def test_derivatives_by_the_rate_are_those_of_differences(case, shape):
    x, lr = rg.tensor(REAL), rg.full(shape, 0.1, dtype=rg.float64, requires_grad=True)
    assert rg.autograd.gradcheck(lambda lr: after_steps(case, x, lr)[0], (lr,))


SETTINGS = ["weight_decay", "momentum", "dampening", "eps", "alpha", "rho", "lr_decay", "lambd"]


PAIRS = [
    (case, name)
    for case in RULES
    for name in inspect.signature(getattr(rg.optim, KIND.get(case, case))).parameters
    if name in SETTINGS and (case, name) != ("nesterov", "dampening")  # which takes none
]


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_derivatives_by_a_setting_are_those_of_differences(case, name):
    x, value = rg.tensor(REAL), rg.tensor(0.2, dtype=rg.float64, requires_grad=True)
    assert rg.autograd.gradcheck(lambda v: after_steps(case, x, **{name: v})[0], (value,))


def test_derivatives_by_the_product_of_momenta_in_the_state_are_those_of_differences():
    def after(product):
        p = rg.tensor(REAL)
        optimizer = rg.optim.NAdam([p], lr=0.1, eps=1e-2, differentiable=True)
        start = {"exp_avg": p / 3, "exp_avg_sq": p * p, "mu_product": product.clone()}
        optimizer.state[p] = {"step": rg.tensor(4.0), **start}
        for _ in range(2):
            p.grad = p.clone() + 1
            optimizer.step()
        return p

    assert rg.autograd.gradcheck(after, rg.tensor(0.7, dtype=rg.float64, requires_grad=True))


@pytest.mark.parametrize("case", ["Adam", "amsgrad", "AdamW", "NAdam", "RAdam", "Adamax"])
def test_derivatives_by_the_betas_are_those_of_differences(case):
    x = rg.tensor(REAL)
    betas = tuple(rg.tensor(b, dtype=rg.float64, requires_grad=True) for b in (0.5, 0.6))
    assert rg.autograd.gradcheck(lambda *b: after_steps(case, x, betas=b)[0], betas)


def test_a_step_that_records_is_not_written_into_a_leaf():
    p = rg.ones(2, requires_grad=True)
    p.grad = rg.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        rg.optim.SGD([p], differentiable=True).step()
    assert p.tolist() == [1, 1]


def test_a_parameter_that_is_no_leaf_needs_a_step_that_records_or_a_gradient_of_its_own():
    p = rg.ones(2, requires_grad=True) * 2
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        rg.optim.SGD([p])
    p.retain_grad()
    p.sum().backward()
    rg.optim.SGD([p], lr=0.5).step()
    assert p.tolist() == [1.5, 1.5]
