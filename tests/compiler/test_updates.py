"""Optimizers: a kernel updates a large parameter as the rule does on blocks, to the bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.compiler import door
from retrograd.compiler.updates import natively
from retrograd.optim.rules import updates

pytestmark = pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")

SIZE, NEVER = 40_000, 1 << 60
RULES = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Rprop", {}),
    ("ASGD", {}),
]


def run(rule, settings, dtype, least, size=SIZE):
    """A parameter and its state after some steps."""
    before = door.change(least=least)
    try:
        rng = np.random.default_rng(0)
        x = rg.tensor(rng.standard_normal(size).astype(dtype), requires_grad=True)
        optimizer = getattr(rg.optim, rule)([x], **settings)
        for _ in range(7):
            x.grad = rg.tensor(rng.standard_normal(size).astype(dtype))
            optimizer.step()
        return [x.detach().numpy(), *[v.numpy() for v in optimizer.state.get(x, {}).values()]]
    finally:
        door.change(**before)


@pytest.mark.parametrize("dtype", ["f", "d", "F"])
@pytest.mark.parametrize(("rule", "settings"), RULES)
def test_a_kernel_updates_as_the_rule_does(rule, settings, dtype):
    found = run(rule, settings, dtype, 4096)
    for a, b in zip(found, run(rule, settings, dtype, NEVER), strict=True):
        np.testing.assert_array_equal(a, b)


def test_most_rules_have_kernels():
    updates.kernels.clear()
    for rule, settings in RULES:
        run(rule, settings, "f", 4096)
    without = {
        getattr(key[0][0], "after", key[0][0]).__qualname__.split(".")[0]
        for key, found in updates.kernels.items()
        if found is None
    }
    assert without == {"RAdam"}  # which branches on a number of the step


def test_a_setting_that_a_rule_reads_may_change():
    x = rg.zeros(SIZE, requires_grad=True)
    x.grad = rg.ones(SIZE)
    optimizer = rg.optim.SGD([x], lr=1.0, momentum=0.5)
    optimizer.step()
    optimizer.step()
    assert x[0].item() == -2.5
    optimizer.param_groups[0]["nesterov"] = True
    optimizer.step()
    assert x[0].item() == -2.5 - 1.875


@pytest.mark.parametrize("rule", ["RMSprop", "SGD", "Adam"])
def test_numbers_that_vary_with_each_step_make_no_kernels(rule):
    x = rg.zeros(SIZE, requires_grad=True)
    x.grad = rg.ones(SIZE)
    settings = {"betas": (0.9, 0.99)} if rule == "Adam" else {"momentum": 0.9}
    optimizer = getattr(rg.optim, rule)([x], lr=0.1, **settings)
    schedule = rg.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=100)
    updates.kernels.clear()
    for _ in range(99):
        optimizer.step()
        schedule.step()
    assert len(updates.kernels) == 1


def test_a_setting_that_a_rule_reads_leaves_no_more_kernels_than_a_function_may_have(monkeypatch):
    monkeypatch.setattr(door, "MOST_KERNELS", 10)
    updates.kernels.clear()
    x = rg.zeros(SIZE, requires_grad=True)
    x.grad = rg.ones(SIZE)
    optimizer = rg.optim.SGD([x], lr=1.0, momentum=0.5)
    for step in range(50):
        optimizer.param_groups[0]["dampening"] = step / 64
        optimizer.step()
    assert len(updates.kernels) == 10


def test_memory_that_is_shared_is_updated_in_blocks():
    both = rg.zeros(2 * SIZE - 1)
    x = both[:SIZE].detach().requires_grad_()
    x.grad = both[SIZE - 1 :]
    both.fill_(1.0)
    rg.optim.SGD([x], lr=0.5).step()
    assert x.detach().eq(0.5).all()


RATE = 0.5


class Rates:
    rate = 0.5


def half(g):
    return g * RATE


def of_global(x, g, state, numbers, group):
    x -= g * RATE


def of_class(x, g, state, numbers, group):
    x -= g * Rates.rate


def of_helper(x, g, state, numbers, group):
    x -= half(g)


def of_default(x, g, state, numbers, group, rates=Rates):
    x -= g * rates.rate


def of_inner(x, g, state, numbers, group):
    def scaled():
        return g * RATE

    x -= scaled()


def of_closure():
    rates = Rates

    def rule(x, g, state, numbers, group):
        x -= g * rates.rate

    return rule


def optimizer_of(rule, x):
    class Own(rg.optim.rules.Rule):
        counted = False

        def numbers(self, group, step):
            return (group["lr"],)

    Own.rule = staticmethod(rule)
    return Own([x], {"lr": 0.5})


@pytest.mark.parametrize(
    "rule", [of_global, of_class, of_helper, of_default, of_inner, of_closure()]
)
@pytest.mark.parametrize("size", [4, 4096, 40_000])
def test_what_a_rule_reads_beside_its_arguments_may_change(rule, size, monkeypatch):
    x = rg.ones(size, requires_grad=True)
    optimizer = optimizer_of(rule, x)
    for rate, expected in ((0.5, 0.5), (0.25, 0.25), (-1.0, 1.25)):
        monkeypatch.setattr(Rates, "rate", rate)
        monkeypatch.setitem(globals(), "RATE", rate)
        x.grad = rg.ones(size)
        optimizer.step()
        assert (x == expected).all()


def test_another_rule_of_the_same_optimizer_is_another_kernel():
    x = rg.ones(40_000, requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=0.5)
    x.grad = rg.ones(40_000)
    optimizer.step()
    optimizer.rule = of_global
    optimizer.step()
    assert (x == 0.5 - RATE).all()


def test_a_rule_that_reads_its_arguments_and_numpy_has_a_kernel():
    def rule(x, g, state, numbers, group):
        x -= np.sqrt(np.abs(g)) * numbers[0]

    x = rg.ones(40_000, requires_grad=True)
    x.grad = rg.full((40_000,), 4.0)
    updates.kernels.clear()
    optimizer_of(rule, x).step()
    assert (x == 0).all()
    assert [kernel is not None for kernel in updates.kernels.values()] == [True]


def printing(x, g, state, numbers, group):
    x -= g
    print("updated")  # noqa: T201


def by(factor):
    """A rule that asks the group for a factor."""

    def rule(x, g, state, numbers, group):
        x -= g * factor(group)

    return rule


CHANGED = {  # what a rule reads of a group, the setting at first, and how it changes
    "a list": (lambda group: group["k"][0], lambda: [0.5], lambda k: k.append(k.pop() / 2)),
    "a tensor": (lambda group: float(group["k"]), lambda: rg.tensor(0.5), lambda k: k.fill_(0.25)),
    "an array": (lambda group: group["k"], lambda: np.array(0.5, "f"), lambda k: k.fill(0.25)),
    "an object": (lambda group: group["k"].rate, type("K", (Rates,), {}),
                  lambda k: setattr(k, "rate", 0.25)),
    "a key": (lambda group: 2 if "k" in group else 1, None, 0),
    "a default": (lambda group: group.get("k", 0) or 2, None, 1),
    "all": (lambda group: len({**group}), None, 1),
    "a truth": (lambda group: 2 if group["k"] is True else 1, lambda: 1, True),
    "a sign": (lambda group: math.copysign(1, group["k"]), lambda: 0.0, -0.0),
    "a tuple": (lambda group: group["k"][1], lambda: (0.5, 0.5), (0.5, 0.25)),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGED)
@pytest.mark.parametrize("size", [4, 40_000])
def test_settings_that_a_rule_reads_are_those_of_each_step(kind, size):
    read, make, change = CHANGED[kind]
    rule, x, expected = by(read), rg.ones(size, requires_grad=True), np.ones(size, "f")
    optimizer = optimizer_of(rule, x)
    (group,) = optimizer.param_groups
    if make is not None:
        group["k"] = make()
    for turn in range(4):
        x.grad = rg.ones(size)
        natively(optimizer.step)
        rule(expected, np.ones(size, "f"), [], (0.5,), group)
        np.testing.assert_array_equal(x.detach(), expected)
        if turn == 1 and callable(change):
            change(group["k"])
        elif turn == 1:
            group["k"] = change


@pytest.mark.parametrize("size", [4, 40_000])
def test_a_rule_that_prints_does_so_in_each_step(size, capsys):
    x = rg.ones(size, requires_grad=True)
    optimizer = optimizer_of(printing, x)
    for _ in range(3):
        x.grad = rg.ones(size)
        natively(optimizer.step)
        assert "updated" in capsys.readouterr().out
    assert (x == -2).all()
