"""Schedules against the rates that PyTorch sets."""

from __future__ import annotations

import typing

import pytest

import retrograd as rg
from retrograd import optim
from retrograd.optim import SGD, lr_scheduler

RATES = {
    "StepLR": ((2, 0.5), [0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1, 0.05]),
    "MultiStepLR": (([1, 3, 3], 0.5), [0.8, 0.4, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
    "ConstantLR": ((0.5, 3), [0.4, 0.4, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]),
    "LinearLR": ((0.25, 1.0, 4), [0.2, 0.35, 0.5, 0.65, 0.8, 0.8, 0.8, 0.8, 0.8]),
    "ExponentialLR": ((0.9,), [0.8 * 0.9**n for n in range(9)]),
    "PolynomialLR": ((4, 2.0), [0.8, 0.45, 0.2, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "CosineAnnealingLR": ((3, 0.1), [0.8, 0.625, 0.275, 0.1, 0.275, 0.625, 0.8, 0.625, 0.275]),
    "LambdaLR": ((lambda epoch: 1 / (1 + epoch),), [0.8 / (1 + n) for n in range(9)]),
}


def optimizer():
    return SGD([rg.ones(1, requires_grad=True)], lr=0.8)


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        schedule.optimizer.step()
        schedule.step()
        found += schedule.get_last_lr()
    return found


@pytest.mark.parametrize("name", RATES)
def test_a_schedule_gives_the_rates_of_pytorch(name):
    arguments, expected = RATES[name]
    schedule = getattr(lr_scheduler, name)(optimizer(), *arguments)
    found = schedule.get_last_lr() + rates(schedule, 8)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_a_plateau_cuts_the_rate_after_patience_cooldown_and_bound():
    plateau = lr_scheduler.ReduceLROnPlateau(
        optimizer(), factor=0.5, patience=1, cooldown=1, min_lr=0.15
    )
    found, waits = [], []
    for metric in (1, 0.9, *[0.95] * 8):
        plateau.step(metric)
        found += plateau.get_last_lr()
        waits.append(plateau.in_cooldown)
    assert waits == [False, False, False, True, False, False, True, False, False, True]
    assert found == [0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.15]


def test_a_schedule_continues_from_its_state():
    first = lr_scheduler.CosineAnnealingLR(optimizer(), 5)
    rates(first, 3)
    other = optimizer()
    other.load_state_dict(first.optimizer.state_dict())
    second = lr_scheduler.CosineAnnealingLR(other, 5, last_epoch=2)
    second.load_state_dict(first.state_dict())
    other.param_groups[0]["lr"] = first.get_last_lr()[0]
    assert rates(first, 3) == pytest.approx(rates(second, 3), rel=1e-15)


def test_stepping_the_schedule_first_warns():
    schedule = lr_scheduler.StepLR(optimizer(), 1)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        schedule.step()


def test_two_schedules_on_one_optimizer_multiply():
    shared = optimizer()
    first = lr_scheduler.ExponentialLR(shared, 0.5)
    second = lr_scheduler.ExponentialLR(shared, 0.5)
    shared.step()
    first.step()
    second.step()
    assert second.get_last_lr() == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o, e: lr_scheduler.ExponentialLR(o, 0.5, e), [0.25, 0.125]),
        (lambda o, e: lr_scheduler.MultiplicativeLR(o, lambda _: 0.5, e), [0.25, 0.125]),
        (lambda o, e: lr_scheduler.LinearLR(o, 0.5, 1.0, 5, e), [0.7, 0.8]),
        (lambda o, e: lr_scheduler.PolynomialLR(o, 4, 1.0, e), [0.5, 0.25]),
        (lambda o, e: lr_scheduler.CosineAnnealingLR(o, 4, 0.0, e), [0.5, 0.14644661]),
    ],
)
def test_a_schedule_that_resumes_keeps_the_rate_it_finds(make, expected):
    weight = rg.ones(1, requires_grad=True)
    first = SGD([weight], lr=1.0)
    schedule = make(first, -1)
    for _ in range(2):
        first.step()
        schedule.step()
    second = SGD([weight], lr=1.0)
    second.load_state_dict(first.state_dict())
    resumed = make(second, 1)
    found = resumed.get_last_lr()
    second.step()
    resumed.step()
    assert found + resumed.get_last_lr() == pytest.approx(expected)


def stepped_by(optimizer, times):
    step = optimizer.step

    def counted(*args, **kwargs):
        times.append(1)
        return step(*args, **kwargs)

    return counted


def test_a_step_that_was_replaced_after_the_schedule_began_warns():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.StepLR(optimizer, 3)
    optimizer.step = stepped_by(optimizer, [])
    optimizer.step()
    with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler init"):
        schedule.step()


def test_a_step_that_was_replaced_before_the_schedule_began_does_not_warn():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    optimizer.step = stepped_by(optimizer, [])
    schedule = lr_scheduler.StepLR(optimizer, 3)
    optimizer.step()
    schedule.step()


def test_steps_before_the_first_schedule_began_are_not_counted():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    optimizer.step()
    schedule = lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    optimizer.step()
    lr_scheduler.StepLR(optimizer, 3).step()  # the step was one after the first began


def test_the_text_of_the_warning_about_epochs_has_a_name():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.StepLR(optimizer, 3)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter") as found:
        schedule.step(2)
    assert str(found[0].message) == lr_scheduler.EPOCH_DEPRECATION_WARNING


def test_a_linear_schedule_ends_at_the_rate_itself():
    optimizer = rg.optim.Adam([rg.ones(1, requires_grad=True)], lr=0.001)
    schedule = rg.optim.lr_scheduler.LinearLR(optimizer)
    for _ in range(5):
        optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == [0.001]  # PyTorch's last digit
    assert schedule.state_dict()["_step_count"] == 6


def test_the_state_of_a_plateau_schedule_has_the_rates_that_were_set_last():
    optimizer = SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    schedule.step(2.0)
    schedule.step(2.0)
    state = schedule.state_dict()
    assert state["_last_lr"] == [0.1]
    assert state["mode_worse"] == float("inf")
    other = lr_scheduler.ReduceLROnPlateau(SGD([rg.ones(1, requires_grad=True)], lr=1.0))
    other.load_state_dict(state)
    assert other.get_last_lr() == [0.1]


def test_a_plateau_schedule_may_be_told_the_epoch():
    schedule = lr_scheduler.ReduceLROnPlateau(SGD([rg.ones(1, requires_grad=True)], lr=1.0))
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(2.0, 7)
    assert schedule.last_epoch == 7


def test_get_lr_outside_of_a_step_warns():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = rg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        assert schedule.get_lr() == [0.5]
    assert schedule.get_last_lr() == [1.0]


def test_the_state_of_a_schedule_has_the_names_of_pytorch():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    state = rg.optim.lr_scheduler.StepLR(optimizer, 1).state_dict()
    assert state.keys() == {
        *("step_size", "gamma", "base_lrs", "last_epoch", "_step_count", "_is_initial"),
        *("_get_lr_called_within_step", "_last_lr"),
    }


def momentous():
    return SGD([rg.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)


def test_the_states_of_cycles_have_the_names_of_pytorch():
    common = {"base_lrs", "last_epoch", "_step_count", "_is_initial", "_last_lr"}
    common |= {"_get_lr_called_within_step"}
    once = lr_scheduler.OneCycleLR(momentous(), 1.0, 10).state_dict()
    assert once.keys() - common == {
        *("total_steps", "_schedule_phases", "_anneal_func_type", "cycle_momentum", "use_beta1")
    }
    assert once["_schedule_phases"][0] == {
        **{"end_step": 2.0, "start_lr": "initial_lr", "end_lr": "max_lr"},
        **{"start_momentum": "max_momentum", "end_momentum": "base_momentum"},
    }
    cycle = lr_scheduler.CyclicLR(momentous(), 0.1, 1.0).state_dict()
    assert cycle["use_beta1"] is False
    assert list(cycle)[-1] == "_scale_fn_custom"
    optimizer = momentous()
    step = lr_scheduler.StepLR(optimizer, 1)
    joined = lr_scheduler.SequentialLR(optimizer, [step, step], [2]).state_dict()
    assert list(joined) == ["_milestones", "last_epoch", "_last_lr", "_schedulers"]
    average = rg.optim.swa_utils.SWALR(momentous(), 0.1).state_dict()
    assert average.keys() - common == {"_anneal_strategy", "anneal_epochs"}


def test_a_schedule_has_no_attribute_beside_those_of_its_state_and_the_optimizer():
    schedule = lr_scheduler.StepLR(momentous(), 1)
    assert vars(schedule).keys() - schedule.state_dict().keys() == {"optimizer"}


def test_an_averaging_schedule_continues_from_its_state():
    first = rg.optim.swa_utils.SWALR(momentous(), 0.1, anneal_epochs=4)
    rates(first, 2)
    second = rg.optim.swa_utils.SWALR(momentous(), 0.1, anneal_epochs=4)
    second.load_state_dict(first.state_dict())
    second.optimizer.param_groups[0]["lr"] = first.get_last_lr()[0]
    assert rates(second, 2) == rates(first, 2)


def test_schedules_do_not_derive_from_the_older_name_of_their_base():
    assert not isinstance(lr_scheduler.StepLR(momentous(), 1), lr_scheduler._LRScheduler)
    assert issubclass(lr_scheduler._LRScheduler, lr_scheduler.LRScheduler)


def test_schedules_say_the_module_by_which_they_are_known():
    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer)
    assert repr(schedule).startswith("<retrograd.optim.lr_scheduler.ReduceLROnPlateau object at ")
    assert list(schedule.state_dict())[-4:] == [
        "threshold_mode", "best", "cooldown_counter", "num_bad_epochs",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [lr_scheduler.LambdaLR, lr_scheduler.MultiplicativeLR])
def test_the_functions_come_last_in_a_saved_state(kind):
    schedule = kind(SGD([rg.ones(1, requires_grad=True)], lr=1.0), lambda epoch: 0.5)
    assert list(schedule.state_dict())[-1] == "lr_lambdas"


def test_a_program_s_schedule_says_what_is_better_and_what_is_done():
    class Schedule(rg.optim.lr_scheduler.ReduceLROnPlateau):
        def _is_better(self, a, best):
            return a > best

        def _reduce_lr(self, epoch):
            self.cut = epoch
            super()._reduce_lr(epoch)

    optimizer = rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=1.0)
    schedule = Schedule(optimizer, patience=0)
    schedule.step(1.0)  # no better than infinity
    assert (schedule.cut, schedule.get_last_lr()) == (1, [0.1])
    schedule._reset()
    assert (schedule.best, schedule.num_bad_epochs) == (rg.inf, 0)


def test_a_group_that_is_added_is_cut_at_a_plateau_down_to_the_same_rate():
    for low in (0.3, [0.3]):
        sgd = optimizer()
        schedule = lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=0, min_lr=low)
        sgd.add_param_group({"params": [rg.ones(1, requires_grad=True)], "lr": 0.5})
        schedule.step(1.0)
        if low == 0.3:
            schedule.step(1.0)
            assert schedule.get_last_lr()[-1] == 0.3
        else:
            with pytest.raises(RuntimeError, match=r"groups in the `optimizer` \(2\)"):
                schedule.step(1.0)


def test_types_of_settings_can_be_read():  # as programs do that make rules from files of settings
    for package in (optim, optim.lr_scheduler):
        for name in package.__all__:
            if isinstance(found := getattr(package, name), type):
                assert "return" in typing.get_type_hints(found.__init__), name
