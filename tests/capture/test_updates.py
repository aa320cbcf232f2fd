"""Random programs of training: a compiled step updates parameters and states to eager's bits.

Gradients are constants, or twice those, which compiled code and NumPy round alike. So all that
optimizers make of them is compared exactly: values, counts of steps, versions, settings, errors.
"""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE
from retrograd.compiler.updates import within
from retrograd.optim import rules

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

STEPS = 10
SHAPES = [(), (1,), (5,), (3, 4), (40, 30), (130, 130)]  # some of each kind: small, larger, large
FLAGS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True},
            {"momentum": 0.5, "dampening": 0.25}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.5, 0.75)}, {"eps": 0.01}],
    "AdamW": [{}, {"amsgrad": True}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"centered": True, "momentum": 0.5}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}], "Adamax": [{}], "NAdam": [{}], "RAdam": [{}], "ASGD": [{}],
    "Rprop": [{}], "Adafactor": [{}],
}  # fmt: skip
SCHEDULES = [
    lambda o: rg.optim.lr_scheduler.ExponentialLR(o, 0.75),
    lambda o: rg.optim.lr_scheduler.StepLR(o, 3),
    lambda o: rg.optim.lr_scheduler.CosineAnnealingLR(o, 5),
    lambda o: rg.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=100, cycle_momentum=False),
]
captured = []


class Program:
    """What a seed makes: tensors, an optimizer, a step, and what happens between its calls."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        values = np.random.default_rng(seed)
        kinds = rng.choice(["f", "f", "d", "F", "fd", "e"])

        def tensor(shape, dtype):
            array = values.standard_normal(shape).astype("d")
            if dtype == "F":
                array = array + 1j * values.standard_normal(shape)
            return rg.tensor(np.asarray(array, dtype))

        shapes = [rng.choice(SHAPES) for _ in range(rng.randint(1, 6))]
        self.params = [tensor(s, rng.choice(kinds)).requires_grad_() for s in shapes]
        self.more = tensor((4,), kinds[0]).requires_grad_()
        factors = [tensor(p.shape, p._array.dtype.char) for p in (*self.params, self.more)]
        self.name = name = rng.choice([*FLAGS, "SGD", "Adam", "AdamW", "RMSprop"])
        flags = dict(rng.choice(FLAGS[name]))
        known = getattr(rg.optim, name)([rg.zeros(1, requires_grad=True)]).defaults
        for flag, values_of in {
            "weight_decay": [0, 0.1], "maximize": [False, True], "lr": [0.125, 0.01],
            "foreach": [None, True, False],
        }.items():  # fmt: skip
            if flag in known:
                flags[flag] = rng.choice(values_of)
        self.optimizer = getattr(rg.optim, name)(self.groups(), **flags)
        self.schedule = rng.choice([None, *SCHEDULES])
        self.schedule = self.schedule and self.schedule(self.optimizer)
        self.inside = rng.random() < 0.3  # whether the schedule is in the step
        for p in self.params[1:]:
            if rng.random() < 0.15:
                p.requires_grad_(False)
        self.unused = rng.random() < 0.2  # the last parameter
        self.twice, self.to_none = rng.random() < 0.25, rng.random() < 0.8
        self.clip = rng.choice([None, None, "norm", "norm" if kinds == "F" else "value"])
        self.factors = factors
        self.events = {rng.randrange(1, STEPS): rng.choice(EVENTS) for _ in range(2)}

    def groups(self):
        """The parameters, in groups with settings of their own."""
        if self.rng.random() < 0.6 or len(self.params) < 2:
            return self.params
        cut = self.rng.randrange(1, len(self.params))
        return [{"params": self.params[:cut]}, {"params": self.params[cut:], "lr": 0.0625}]

    def used(self):
        """Parameters and the factors that are their gradients."""
        every = [*zip((*self.params, self.more), self.factors, strict=True)]
        return every[: len(self.params) - self.unused] + every[len(self.params) :]

    def step(self):
        """The step, as a function."""
        optimizer, schedule, clip, unused = self.optimizer, self.schedule, self.clip, self.unused
        inside, twice, to_none, more = self.inside, self.twice, self.to_none, self.more
        params, factors = self.params, self.factors

        def loss():
            total = (more * factors[-1]).real.sum().double()
            for place, p in enumerate(params):
                if not (unused and place == len(params) - 1):
                    total = total + (p * factors[place]).real.sum().double()
            return total

        def step():
            optimizer.zero_grad(set_to_none=to_none)
            found = loss()
            found.backward()
            if twice:
                loss().backward()
            if clip == "norm":
                rg.nn.utils.clip_grad_norm_(params, 1.0)
            if clip == "value":
                rg.nn.utils.clip_grad_value_(params, 0.5)
            optimizer.step()
            if schedule is not None and inside:
                schedule.step()
            return found

        return step

    def run(self, compiled):
        """What is seen after each step."""
        step = self.step()
        called = rg.compile(step) if compiled else step
        seen = []
        for number in range(STEPS):
            error = None
            try:
                self.events.get(number, id)(self)
                called()
                if self.schedule is not None and not self.inside:
                    self.schedule.step()
            except (RuntimeError, ValueError, KeyError, TypeError) as raised:
                error = type(raised).__name__
            seen.append((error, *self.state()))
        if compiled:
            captured.append(bool(called.compiled.variants))
        return seen

    def state(self):
        """All that a step may change."""
        tensors = [*self.params, self.more]
        grads = [p.grad for p in tensors]
        groups = self.optimizer.state_dict()["param_groups"]
        state = [(name, v) for p in tensors for name, v in self.optimizer.state.get(p, {}).items()]
        return (
            [(p._version, p.requires_grad, p.detach().numpy().copy()) for p in tensors],
            [None if g is None else g.numpy().copy() for g in grads],
            [(name, *seen_of(value)) for name, value in state],
            [[repr(group[name]) for name in sorted(group)] for group in groups],
        )


def seen_of(value):
    """What is compared of something in a state."""
    if isinstance(value, rg.Tensor):
        return value._version, value.detach().numpy().copy()
    return (repr(value),)


def load(program):
    program.optimizer.load_state_dict(copy.deepcopy(program.optimizer.state_dict()))


def add(program):
    groups = program.optimizer.param_groups
    if program.schedule is None and all(program.more is not p for g in groups for p in g["params"]):
        program.optimizer.add_param_group({"params": [program.more], "lr": 0.03125})


def freeze(program):
    program.params[0].requires_grad_(False)


def set_group(name, value):
    def event(program):
        for group in program.optimizer.param_groups:
            if name in group:
                group[name] = copy.deepcopy(value)  # a schedule may write it

    return event


def hook(program):
    def halve(optimizer, args, kwargs):
        for group in optimizer.param_groups:
            group["lr"] *= 0.5

    program.optimizer.register_step_pre_hook(halve)


def write(program):
    with rg.no_grad():
        program.params[0].mul_(0.5)


def replace(program):
    program.params[-1].data = program.params[-1].data * 2.0


def forget(program):
    program.optimizer.state.pop(program.params[0], None)


def none(program):
    program.optimizer.zero_grad()


def keep(program):
    program.kept = program.params[0].detach()


def cast(program):
    program.params[0].data = program.params[0].data.to(rg.complex128).real.double()


def expand(program):
    program.params[0].data = program.params[0].data.new_zeros(()).expand(program.params[0].shape)


def lose(program):
    for own in program.optimizer.state.values():
        own.pop(next(reversed(own), None), None)


def count(program):
    state = program.optimizer.state
    for own in [state[p] for p in program.params if "step" in state.get(p, ())]:
        own["step"] = own["step"].double() + 2


EVENTS = [
    load, load, add, add, freeze, hook, write, replace, forget, none, keep, cast, expand, lose,
    count,
    set_group("lr", 0.5), set_group("lr", rg.tensor(0.25)), set_group("maximize", True),
    set_group("weight_decay", 0.25), set_group("momentum", 0.25), set_group("nesterov", True),
    set_group("betas", (0.25, 0.5)), set_group("amsgrad", True), set_group("eps", 0.125),
    set_group("lr", "no number"),
]  # fmt: skip


def same(a, b):
    """Whether two trees of what was seen are the same to the bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def difference(seed):
    """The first step after which a compiled program is another one than the eager one, or None."""
    eager, compiled = Program(seed).run(False), Program(seed).run(True)
    for number, (a, b) in enumerate(zip(eager, compiled, strict=True)):
        for part, name in enumerate(["error", "params", "grads", "state", "groups"]):
            if not same(a[part], b[part]):
                return number, name, a[0], b[0]
    return None


@pytest.mark.parametrize("seed", range(24))
def test_a_random_program_trains_to_the_bits_of_the_eager_one(seed):
    assert difference(seed) is None


def test_all_random_programs_are_captured():
    assert all(captured)


def test_small_parameters_are_updated_by_a_kernel_within_a_compiled_step_alone(monkeypatch):
    taken = []
    found = rules.updates.kernel
    monkeypatch.setattr(rules.updates, "last", {})
    monkeypatch.setattr(rules.updates, "kernel", lambda *args: taken.append(0) or found(*args))
    x, y = (rg.ones(size, requires_grad=True) for size in (3, 2000))
    optimizer = rg.optim.Adam([{"params": [x]}, {"params": [y]}])

    def step():
        optimizer.zero_grad()
        (x.sum() + y.sum()).backward()
        optimizer.step()

    step()
    compiled = rg.compile(step)
    compiled()
    assert not taken
    compiled()
    assert len(taken) == 2
    step()
    assert len(taken) == 2
    compiled()
    assert len(taken) == 3  # the small one's is known
    for t in (x, y):
        assert t._version == optimizer.state[t]["step"] == 5
        assert rg.isclose(t, rg.tensor(1 - 5e-3)).all()


def test_an_error_in_a_step_leaves_later_steps_as_they_are():
    x = rg.ones(3, requires_grad=True)
    optimizer = rg.optim.Adam([x])

    @rg.compile
    def step():
        optimizer.zero_grad()
        x.sum().backward()
        optimizer.step()

    step()
    optimizer.param_groups[0]["lr"] = "no number"
    with pytest.raises(TypeError):
        step()
    assert not within.step
