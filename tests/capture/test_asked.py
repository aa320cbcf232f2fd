"""Values that compiled steps ask of tensors, NOTE [Asked values]: replays ask again."""

from __future__ import annotations

import collections
import itertools
import logging
import math
import pickle

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def x_of(*values):
    return rg.tensor(values, dtype=rg.float64)


def returned(x):
    return x.sum().item()


def in_containers(x):
    return {"sum": x.sum().item(), "parts": [x[0].item(), (x[1].item(), 3)]}


def in_a_dictionary_made_here(x):
    found = {}
    found["sum"] = x.sum().item()
    return found


def arithmetic(x):
    total = 1
    total += x.sum().item()
    return -(2 * total + 1) / 4 - x.sum().item() ** 2


def functions(x):
    return [round(x.sum().item(), 2), abs(x.min().item()), math.exp(x[0].item())]


def the_largest(x):
    return max(x[0].item(), x[1].item(), 0.5)


def as_int(x):
    return int(x.sum()) + x.argmax().item()


def as_float(x):
    return float(x.sum()) * 2


def as_complex(x):
    return (x.sum() * 1j).item() + complex(x[0])


def f_string(x):
    return f"{x.sum().item():.3f} and {x[0].item()!r} of {len(x)}, {x[0].item():{'.2'}f}"


def formats(x):
    return "{:.2f}".format(x.sum().item()) + "%.1f %d" % (x[0].item(), 7)  # noqa: UP031, UP032


def text(x):
    return "sum " + str(x.sum().item())


def sum_of_a_list(x):
    return sum([v.item() for v in x])


def of_generators(x):
    first = (v.item() for v in x)
    return [sum(v.item() for v in x), max(v.item() for v in x), ", ".join(str(v) for v in first),
            math.fsum(map(lambda v: v.item(), x))]  # noqa: C417 # fmt: skip


def truths(x):
    return [any(v.item() for v in x), all(v.item() for v in x), not x[0].item()]


def zipped(x):
    return [a * b for a, b in zip([x[0].item()], [x[1].item()], strict=True)]


def length_of_a_text(x):
    return [len([x.sum().item(), 1]), len(str(10 ** x.argmax().item()))]


def is_float(x):
    return isinstance(x.sum().item(), float)


def added_up(x):
    total, count, line = 0.0, 1, ""
    for v in x:
        total += v.item()
        count += v.long().item()
        line += f"{total:.2f} "
    count |= 8
    count &= 12
    count //= 2
    total -= 0.5
    total /= count
    factor = x.sum().item()
    factor *= 2
    factor *= x
    parts = [total]
    parts += [count, factor.tolist()]
    return parts + [line]  # noqa: RUF005


CASES = (returned, in_containers, in_a_dictionary_made_here, arithmetic, functions, the_largest,
         as_int, as_float, as_complex, f_string, formats, text, sum_of_a_list, of_generators,
         truths, zipped, length_of_a_text, is_float, added_up)  # fmt: skip


@pytest.mark.parametrize("step", CASES, ids=lambda step: step.__name__)
def test_values_are_asked_for_in_each_call(step):
    compiled = rg.compile(step, fullgraph=True)
    for shift in (0.0, 1.5, 2.25):
        x = x_of(0.25, 3.0) + shift
        found, expected = compiled(x), step(x)
        assert repr(found) == repr(expected)
        assert type(found) is type(expected)
    assert len(compiled.compiled.variants) == 1


def clamped(x):
    return x.clamp(max=x[0].item())


def indexed(x):
    return x[: x.argmax().item() + 1]


def listed(x):
    return [0] * x.argmax().item()


def ranged(x):
    return list(range(x.argmax().item()))


def as_key(x):
    return {x.argmax().item(): 1}


def typed(x):
    return type(x.sum().item()).__name__


def method(x):
    return x.sum().item().is_integer()


def written(x):
    y = x.clone()
    y[0] = x[1].item()
    return y


def sorted_by_value(x):
    return sorted([x[0].item(), x[1].item()])


def accumulated(x):
    return list(itertools.accumulate(v.item() for v in x))


def mapped(x):
    return list(map(math.sqrt, [abs(v.item()) for v in x]))


def chained(x):
    return 0 < x[0].item() < 2


def power(x):
    return x ** x[0].item()


def integers(x):
    return x.int() * int(x[0])


def half(x):
    return x.half() - x[0].item()


USES = (clamped, indexed, listed, ranged, as_key, typed, written, sorted_by_value, chained,
        accumulated, mapped, power, integers, half)  # fmt: skip


@pytest.mark.parametrize("step", USES, ids=lambda step: step.__name__)
def test_other_uses_run_as_they_are(step):
    compiled = rg.compile(step)
    for x in (x_of(0.25, 3.0), x_of(4.0, 3.0), x_of(-1.0, 2.0)):
        assert repr(compiled(x)) == repr(step(x))
    assert len(compiled.compiled.reasons) == 3


WEIGHT = rg.tensor([2.0, -1.0], requires_grad=True)


def scaled(x):
    return 2.0 * x * x.sum().item() + x * 2.0


def on_the_left(x):
    return (x.sum().item() - x) / (1 + int(x.argmax()) / 2) / x[1].item()


def of_complex(x):
    return x * 1j * complex(x[0].item(), 1.0) - x[1].item()


def in_place(x):
    y = x.clone()
    y += x[1].item()
    y *= y[0].item()  # that of this moment
    return y


def compared(x):
    first = x[0].item()
    return rg.stack([x > first, x >= first, first == x, x != first, x < first * 2])


def differentiated(x):
    return (WEIGHT * x.sum().item()).sum()


OPERANDS = (scaled, on_the_left, of_complex, in_place, compared, differentiated)


@pytest.mark.parametrize("dtype", [rg.float32, rg.float64])
@pytest.mark.parametrize("step", OPERANDS, ids=lambda step: step.__name__)
def test_values_are_operands_beside_tensors_in_each_call(step, dtype):
    compiled = rg.compile(step, fullgraph=True)
    for given in (x_of(0.25, 3.0), x_of(2.0, 0.0), x_of(-1.0, 0.5)):  # 2.0 is a constant, too
        x = given.to(dtype)
        found, expected = compiled(x), step(x)
        assert (found.dtype, found._version) == (expected.dtype, expected._version)
        rg.testing.assert_close(found, expected, rtol=1e-15, atol=0.0, equal_nan=True)
        if found.requires_grad:
            grads = [rg.autograd.grad(y, WEIGHT)[0].tolist() for y in (found, expected)]
            assert grads[0] == grads[1]
    assert len(compiled.compiled.variants) == 1


def test_a_loss_that_is_asked_for_scales_gradients_in_each_call():
    def made():
        w = rg.ones(3, requires_grad=True)
        optimizer = rg.optim.SGD([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (w * x).square().mean()
            (loss / (1 + loss.item())).backward()
            optimizer.step()
            return loss.item()

        return step, w

    (eager, first), (step, second) = made(), made()
    compiled = rg.compile(step, fullgraph=True)
    for _ in range(6):
        x = rg.randn(3)
        assert compiled(x) == pytest.approx(eager(x), rel=1e-6)
        rg.testing.assert_close(second, first, rtol=1e-6, atol=1e-7)
        assert second._version == first._version
    assert len(compiled.compiled.variants) == 1


class Scale(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = x.sum().item()
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor


def test_a_value_that_a_function_keeps_for_its_derivative():
    compiled = rg.compile(lambda x: Scale.apply(x).sum())
    for shift in (0.0, 1.0):
        x = (x_of(1.0, 2.0) + shift).requires_grad_()
        compiled(x).backward()
        assert x.grad.tolist() == [3.0 + 2 * shift] * 2


def test_a_branch_on_a_value_goes_both_ways():
    @rg.compile
    def step(x):
        if x.sum().item() > 1 and x[0].item():
            return x * 2
        return x - 1

    for x in 3 * (x_of(1.0, 2.0), x_of(-1.0, 0.0), x_of(0.0, 4.0), x_of(3.0, 0.0)):
        expected = x * 2 if x.sum() > 1 and x[0] != 0 else x - 1
        assert step(x).tolist() == expected.tolist()
    assert len(step.compiled.variants) == 3
    assert {v.listing.ways for v in step.compiled.variants} == {
        (True, True),
        (True, False),
        (False,),
    }


def test_a_value_is_that_of_its_moment():
    @rg.compile(fullgraph=True)
    def step(x):
        y = x * 1
        before = y.sum().item()
        y.mul_(3)
        return before, y.sum().item()

    for shift in (0.0, 1.0, 2.0):
        assert step(x_of(1.0, 2.0) + shift) == (3 + 2 * shift, 3 * (3 + 2 * shift))


def test_a_value_beside_a_result_with_a_history():
    @rg.compile(fullgraph=True)
    def step(x):
        loss = (x * x).sum()
        return loss, loss.item()

    for shift in (0.0, 1.0, 2.0):
        x = (x_of(1.0, 2.0) + shift).requires_grad_()
        loss, value = step(x)
        loss.backward()
        assert value == loss.item() == (1 + shift) ** 2 + (2 + shift) ** 2
        assert x.grad.tolist() == [2 * (1 + shift), 2 * (2 + shift)]


def test_what_is_printed_in_containers(capsys):
    @rg.compile(fullgraph=True)
    def step(x):
        shown = {"sum": x.sum().item(), "parts": [x[0].item()]}
        print(shown)  # noqa: T201
        shown["sum"] = 0.0
        return shown

    for shift in (0.0, 1.0):
        assert step(x_of(1.0, 2.0) + shift) == {"sum": 0.0, "parts": [1.0 + shift]}
        assert capsys.readouterr().out == f"{{'sum': {3 + 2 * shift}, 'parts': [{1 + shift}]}}\n"


def test_a_step_of_training_prints_and_returns_its_loss(capsys, caplog):
    logger = logging.getLogger("test_asked")
    model = rg.nn.Linear(2, 1, dtype=rg.float64)
    optimizer = rg.optim.SGD(model.parameters(), lr=0.5)
    schedule = rg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)

    def step(x):
        loss = (model(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        schedule.step(value)
        print("loss", f"{value:.6f}")  # noqa: T201
        logger.warning("loss %.6f", value)
        return value

    def run(function):
        with rg.no_grad():
            for p in model.parameters():
                p.fill_(0.25)
        optimizer.param_groups[0]["lr"] = 0.5
        schedule._reset()
        caplog.clear()
        found = [function(x_of(1.0, 2.0 + i)) for i in range(5)]
        logged = [record.getMessage() for record in caplog.records]
        return found, optimizer.param_groups[0]["lr"], capsys.readouterr().out, logged

    compiled = rg.compile(step, fullgraph=True)
    expected = run(step)
    found = run(compiled)
    assert found[1:] == expected[1:]
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    assert all(type(value) is float for value in found[0])


class Log:
    def __init__(self):
        self.losses = []


def test_values_are_appended_to_a_list_from_outside():
    log, every = Log(), []

    @rg.compile(fullgraph=True)
    def step(x):
        every.append(x.sum().item())
        log.losses.append(f"{x[0].item()}")
        log.losses.append(1)
        return x * 2

    for i in range(4):
        assert step(x_of(1.0 * i, 2.0)).tolist() == [2.0 * i, 4.0]
    assert every == [2.0, 3.0, 4.0, 5.0]
    assert log.losses == ["0.0", 1, "1.0", 1, "2.0", 1, "3.0", 1]
    assert all(type(value) is float for value in every)
    assert len(step.compiled.variants) == 1
    log.losses = other = []
    step(x_of(5.0, 2.0))
    assert other == ["5.0", 1]


def test_a_list_that_a_step_appends_to_and_reads():
    every = []

    def step(x):
        before = len(every)
        every.append(x.sum().item())
        return x * before, len(every), every[-1]

    compiled = rg.compile(step)
    for i in range(4):
        found, count, last = compiled(x_of(1.0, 2.0 + i))
        assert (found.tolist(), count, last) == ([1.0 * i, i * (2.0 + i)], i + 1, 3.0 + i)


def test_another_name_of_a_list_that_a_step_appends_to():
    every = []

    @rg.compile
    def step(x):
        other = every
        every.append(x.sum().item())
        return x * other[-1], len(other)

    for i in range(4):
        every.clear()  # so that it is again what the recording saw
        found, count = step(x_of(1.0, 2.0 + i))
        assert (found.tolist(), count) == ([3.0 + i, (2.0 + i) * (3.0 + i)], 1)


def test_values_of_the_first_run_are_plain_where_they_go():
    kept = []

    @rg.compile
    def step(x):
        value = x.sum().item()
        kept.append(pickle.loads(pickle.dumps(value)))
        return value

    assert type(step(x_of(1.0, 2.0))) is float
    assert [type(value) for value in kept] == [float]
    assert "such as item() gives, is used" in step.compiled.reasons[0]


class Statistics:
    """What a step keeps of its values, in all ways that end a recording."""

    def __init__(self):
        self.values, self.counts, self.last, self.latest = {}, {}, [], collections.deque(maxlen=2)

    def keep(self, x, when):
        value, shared = x.sum().item(), [x[0].item()]
        if when == "after another reason":
            x.tolist()
        self.values["sum"] = value
        self.values.setdefault("all", []).append((value, shared))
        place = int(x[0])
        self.counts.setdefault(place, 0)
        self.counts[place] += 1
        self.latest.append(value)
        self.last = self.values["shared"] = shared
        shared.append(1)
        return x * 2


@pytest.mark.parametrize("when", ["first", "after another reason"])
def test_values_that_end_a_recording_are_kept_as_plain_ones(when):
    def plain(value):
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, (list, tuple, collections.deque)):
            return all(map(plain, value))
        return type(value) in (int, float, str)

    found, expected = Statistics(), Statistics()
    step = rg.compile(found.keep)
    for i in range(4):
        x = x_of(1.0 + i, 2.0)
        assert step(x, when).tolist() == expected.keep(x, when).tolist()
        assert vars(found) == vars(expected)
        assert plain(list(vars(found).values()))
        assert found.last is found.values["shared"]


def test_a_place_that_a_call_gives_is_asked_for_once():
    @rg.compile(fullgraph=True)
    def step(x):
        found = {}
        found[len(found)] = x.sum().item()
        found[len(found)] = x * 2
        return found

    for i in range(3):
        first, second = step(x_of(1.0 + i, 2.0)).values()
        assert (first, second.tolist()) == (3.0 + i, [2.0 + 2 * i, 4.0])


def test_a_list_that_holds_itself():
    @rg.compile(fullgraph=True)
    def step(x):
        own = []
        own.append(own)
        own.append(x.sum().item())
        return x * len(own)

    for _ in range(2):
        assert step(x_of(1.0, 2.0)).tolist() == [2.0, 4.0]
