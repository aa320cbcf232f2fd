"""Settings given as tensors: optimizers and schedules keep them, and never share them."""

from __future__ import annotations

import copy

import pytest

import retrograd as rg
from retrograd.optim import SGD, Adam, AdamW, NAdam, lr_scheduler, swa_utils

OPTIMIZERS = [
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "Rprop",
    "ASGD",
    "LBFGS",
    "Adafactor",
    "Muon",
    "UnitarySGD",
    "UnitaryAdam",
]
SCHEDULES = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 0.9),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.5),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.5, 2),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.5, total_iters=3),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 7),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, rg.tensor(0.1), rg.tensor(0.5), 2),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, rg.tensor(0.5), 6),
    "SWALR": lambda o: swa_utils.SWALR(o, rg.tensor(0.05), 2),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(o, 0.9), lr_scheduler.StepLR(o, 2, 0.5)]
    ),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.9)], [2]
    ),
}


def optimizer_of(lr, kind=SGD, **settings):
    start = rg.tensor([[0.8, -0.6], [0.6, 0.8]], requires_grad=True)
    return kind([start], lr=lr, **settings)


def step(optimizer, closure=None):
    (p,) = optimizer.param_groups[0]["params"]
    p.grad = p.detach() * rg.tensor([[0.5, 1.0], [-1.0, 0.25]])
    optimizer.step(closure or (lambda: p.detach().sum()))


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_optimizer_keeps_the_tensor_of_its_rate_and_follows_what_is_written_to_it(kind):
    kind = getattr(rg.optim, kind)
    lr = rg.tensor(0.25)
    held, plain = optimizer_of(lr, kind), optimizer_of(0.25, kind)
    group = held.param_groups[0]
    step(held), step(plain)
    lr.fill_(0.5)
    plain.param_groups[0]["lr"] = 0.5
    step(held), step(plain)
    assert group["lr"] is lr is held.state_dict()["param_groups"][0]["lr"]
    assert "    lr: 0.5\n" in repr(held)
    assert group["params"][0].tolist() == plain.param_groups[0]["params"][0].tolist()


def test_copies_and_loaded_states_have_a_rate_of_their_own():
    lr = rg.tensor(0.25)
    first, second = optimizer_of(lr), optimizer_of(0.1)
    second.load_state_dict(first.state_dict())
    rates = [o.param_groups[0]["lr"] for o in (copy.deepcopy(first), second)]
    lr.fill_(1.0)
    assert rates == [rg.tensor(0.25), rg.tensor(0.25)]


@pytest.mark.parametrize("kind", [Adam, AdamW, NAdam, rg.optim.RAdam, rg.optim.Adamax])
@pytest.mark.parametrize("shape", [(), (1,)], ids=str)
def test_betas_stay_tensors_and_count_as_their_numbers(kind, shape):
    betas = tuple(rg.full(shape, b, dtype=rg.float64, requires_grad=True) for b in (0.75, 0.875))
    held, plain = optimizer_of(0.1, kind, betas=betas), optimizer_of(0.1, kind, betas=(0.75, 0.875))
    for _ in range(3):
        step(held), step(plain)
    p, q = (o.param_groups[0]["params"][0] for o in (held, plain))
    rg.testing.assert_close(p, q, rtol=1e-6, atol=0)
    assert [float(b) for b in held.param_groups[0]["betas"]] == [0.75, 0.875]
    assert all(isinstance(b, rg.Tensor) for b in held.param_groups[0]["betas"])
    assert p.is_leaf


@pytest.mark.parametrize("kind", [Adam, AdamW])
@pytest.mark.parametrize("betas", [(rg.tensor(0.9), 0.9), (0, 0.9)], ids=str)
def test_betas_of_two_kinds_raise(kind, betas):
    with pytest.raises(ValueError, match="both floats or both Tensors"):
        optimizer_of(0.1, kind, betas=betas)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("lr", {"lr": rg.tensor(0.1)}), (r"betas\[0\]", {"betas": (rg.tensor(0.9), rg.tensor(0.9))})],
)
def test_tensors_beside_foreach_raise_unless_capturable(name, settings):
    settings = {"lr": 0.1, **settings}
    with pytest.raises(ValueError, match=f"{name} as a Tensor is not supported"):
        optimizer_of(kind=Adam, foreach=True, **settings)
    step(optimizer_of(kind=Adam, foreach=True, capturable=True, **settings))


@pytest.mark.parametrize("kind", [SGD, rg.optim.RMSprop])
def test_momentum_and_weight_decay_in_tensors_count_as_their_numbers(kind):
    settings = {"momentum": 0.5, "weight_decay": 0.25}
    held = optimizer_of(0.1, kind, **{name: rg.tensor(v) for name, v in settings.items()})
    plain = optimizer_of(0.1, kind, **settings)
    for _ in range(3):
        step(held), step(plain)
    p, q = (o.param_groups[0]["params"][0] for o in (held, plain))
    rg.testing.assert_close(p, q, rtol=1e-6, atol=0)


@pytest.mark.parametrize("shape", [(), (1,)], ids=str)
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_writes_into_the_tensor_what_it_sets_without_one(name, shape):
    lr = rg.full(shape, 0.2)
    held, plain = optimizer_of(lr, momentum=0.9), optimizer_of(0.2, momentum=0.9)
    one, other = SCHEDULES[name](held), SCHEDULES[name](plain)
    for _ in range(4):
        assert held.param_groups[0]["lr"] is lr
        assert lr.item() == pytest.approx(float(plain.param_groups[0]["lr"]), rel=1e-6)
        held.step(), plain.step(), one.step(), other.step()


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rates_that_a_schedule_tells_are_copies(name):
    lr = rg.tensor(0.2)
    schedule = SCHEDULES[name](optimizer_of(lr, momentum=0.9))
    before = schedule.get_last_lr()
    expected = [float(rate) for rate in before]
    lr.fill_(7.0)
    assert [float(rate) for rate in before] == expected
    group = schedule.optimizer.param_groups[0]
    assert float(group["initial_lr"]) != 7
    assert all(float(rate) != 7 for rate in vars(schedule).get("base_lrs", []))


def test_a_plateau_cuts_the_rate_in_its_tensor():
    lr = rg.tensor(1.0)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer_of(lr), patience=0, min_lr=0.05)
    found = []
    for _ in range(4):
        schedule.step(2.0)
        found += schedule.get_last_lr()
    assert [rate.item() for rate in found] == pytest.approx([1.0, 0.1, 0.05, 0.05])
    assert schedule.optimizer.param_groups[0]["lr"] is lr
