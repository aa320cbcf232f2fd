"""Steps that print tensors, ask for many numbers or call foreign functions: parts on both sides."""

from __future__ import annotations

import builtins
import collections
import contextlib
import csv
import functools
import io
import json
import logging
import math
import random
import sys
import time

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

WEIGHT = rg.tensor([2.0, -1.0, 0.5], dtype=rg.float64, requires_grad=True)
FILE = io.StringIO()
WRITER, NAMED = csv.writer(FILE), csv.DictWriter(FILE, ["loss", "n"])
GENERATOR, OWN = np.random.default_rng(0), random.Random(0)


def x_of(i):
    return rg.tensor([1.0 + i, 2.0, -0.5 * i], dtype=rg.float64)


def shown(value):
    """What can be compared of something that a step returns or leaves."""
    if isinstance(value, (list, tuple)):
        return type(value), [shown(v) for v in value]
    if isinstance(value, dict):
        return [(key, shown(v)) for key, v in value.items()]
    if isinstance(value, rg.Tensor):
        return value.dtype, value._version, value.requires_grad, str(value.detach())
    if isinstance(value, np.ndarray):
        return type(value), value.flags.writeable, repr(value)
    return type(value), f"{value:.12g}" if type(value) is float else repr(value)


def seeded():
    for generator in (random, np.random, rg):
        getattr(generator, "manual_seed", getattr(generator, "seed", None))(0)
    OWN.seed(0)
    GENERATOR.bit_generator.state = np.random.default_rng(0).bit_generator.state
    FILE.seek(0)
    FILE.truncate()


def history(step, left=lambda: None, between=lambda i: None, calls=4):
    """What some calls return, raise, print and leave."""
    seeded()
    out, found = io.StringIO(), []
    with contextlib.redirect_stdout(out):
        for i in range(calls):
            try:
                found.append(shown(step(x_of(i))))
            except BaseException as error:
                found.append((type(error), str(error)))
            found.append((shown(left()), out.getvalue(), FILE.getvalue(), random.random()))
            between(i)
    return found


def printed(x):
    y = (WEIGHT * x).sum()
    print("loss", y, x, WEIGHT, [y, (x[0], {"a": x[1:]})], sep="|")  # noqa: T201
    return print(x.int(), x > 0, x.half(), x * 1j, x[:0], x.shape, x.dtype)  # noqa: T201


def texts(x):
    y = WEIGHT * x
    first = f"{y} {y!r:>60} {y[0]:.3f} {x}" + str(y.sum()) + repr([x]) + format(x[0], ".2f")
    return first, "%s %.2f" % (y, x[0]), "{} {a:.1f}".format(x, a=x[1])  # noqa: UP031, UP032


def histories(x):
    y = WEIGHT * x
    y.mul_(2)
    view, (a, b) = y[1:], y.split([1, 2])
    with rg.no_grad():
        print(y * 2, WEIGHT)  # noqa: T201
    return str([y, view, a, b, *y.unbind(), y.detach(), x.clone().requires_grad_()])


def text_of_its_moment(x):
    y = x * 2
    before = str(y)
    y.mul_(3)
    y[0] = 1
    return before, str(y), y


def methods_of_a_text(x):
    text = str(x)
    return text.upper().count("0"), text[2:5], len(text), text.startswith("tensor([ 2")


def lists(x):
    a, b, c = x.tolist()
    every = [v * 2 for v in x[None].tolist()[0]]
    every.append(max(x.tolist()))
    return a + b * c, every, sum(x.tolist()), x.tolist()[-1:], x[0].tolist(), x.int().tolist()


def arrays(x):
    a = (x * 2).numpy()
    print(a, a[0], a.mean())  # noqa: T201
    return a, a[1:] + 1, a @ a, a.T.sum(), len(a), f"{a.max():.2f}", a.copy(), x.bool().numpy()


def numpys(x):
    a = x.detach().cpu().numpy()
    more = np.concatenate([a, a * 2]), np.where(a > 0, a, 0.0), np.linalg.norm(a), np.fft.fft(a)
    return *more, np.array(x.tolist()), np.exp(x[0].item()), np.clip(a, 0, 1), np.zeros(2)


def back_from_numpy(x):
    a = np.tanh(x.numpy())
    y = x * a + rg.from_numpy(a) - rg.tensor(a)
    return y, x * a.mean(), y.float() * np.float64(2.0), x > a


def branches(x):
    a = x.numpy()
    if np.isnan(a).any() or a[2] < -0.5:
        return x * 3
    return x * 2 if a.sum() > 4 else x


def clocks(x):
    start = time.perf_counter()
    y = x * 2
    return y if time.perf_counter() - start < 60 else x


def files(x):
    FILE.write(f"{x.sum().item()}\n")
    WRITER.writerow([x.sum().item(), *x.tolist()])
    NAMED.writerow({"loss": x[0].item(), "n": 3})
    print("x", x, file=FILE, end=";")
    print(json.dumps({"x": x.tolist(), "n": [None, True]}, indent=1))  # noqa: T201
    sys.stdout.write("written\n")
    return FILE.tell(), FILE.write("a"), FILE.getvalue()


def numbers_at_random(x):
    own = OWN.gauss(0, 1), OWN.random()
    every = random.uniform(0, 1), np.random.rand(), np.random.randn(2)
    return x * random.random() + rg.rand(3), own, every, GENERATOR.normal(), random.randint(0, 9)


def chosen_at_random(x):
    found = random.choice([1.0, 2.0, 5.0]), OWN.choice("ab"), random.choice((3, 4))
    return x * found[0], found, x + GENERATOR.choice([0.5, 1.5]), np.random.choice(4)


def of_partials(x):
    functools.partial(FILE.write, "part")()
    functools.partial(print, "a", sep="-")(x.sum().item(), x)
    return x * 2


def changed_list(x):
    kept = x.tolist()
    kept += [x[1].item()]
    return kept


SPLIT = (printed, texts, histories, text_of_its_moment, methods_of_a_text, lists, arrays, numpys,
         back_from_numpy, branches, clocks, files, numbers_at_random, chosen_at_random,
         of_partials, changed_list)  # fmt: skip


@pytest.mark.parametrize("step", SPLIT, ids=lambda step: step.__name__)
def test_steps_are_split_where_they_show_values(step):
    compiled = rg.compile(step, fullgraph=True)
    assert history(compiled) == history(step)
    ways = 2 if step in (branches, methods_of_a_text) else 1
    assert len(compiled.compiled.variants) == ways


def written_by_numpy(x):
    y = x * 2
    np.copyto(y.numpy(), 1.0)
    return y + 1


def written_by_ufunc(x):
    y = x * 2
    a = y.numpy()
    np.add(a, 1, a)
    return y + 1


def written_by_method(x):
    y = x * 2
    y.numpy().sort()
    return y


def written_by_index(x):
    y = x * 2
    y.numpy().reshape(3, 1)[0, 0] = 7
    return y


def written_in_place(x):
    y = x * 2
    a = y.numpy()
    a += 1
    return y


def written_at_random(x):
    y = x * 2
    GENERATOR.shuffle(y.numpy())
    return y


def written_later(x):
    y = x * 2
    a = y.numpy()
    y.mul_(2)
    return a


def given_another_shape(x):
    a = (x * 2).numpy()
    a.shape = (3, 1)
    return a


def indexed(x):
    return x[x.numpy().argmax() :]


def key(x):
    return {str(x.sum()): 1}


def unpacked(x):
    a, b, _ = x.numpy()
    return a + b


def written_within_try(x):
    try:
        FILE.write(json.dumps(x[0].item() / (x[0].item() - 3)))
    except ZeroDivisionError:
        return x
    return x * 2


def divided_within_try(x):
    print("before")  # noqa: T201
    try:
        return 1 / (x[0].item() - 3)
    except ZeroDivisionError:
        return 0


def shown_within_vmap(x):
    return rg.func.vmap(lambda v: (print(v), v * 2)[1])(x)  # noqa: T201


def named_tuple(x):
    print(x.max(0))  # noqa: T201
    return x


def unbound(x):
    return rg.Tensor.numpy(x)


def file_that_is_read(x):
    FILE.write("1\n2\n3\n")
    FILE.seek(0)
    first, *_ = FILE
    return x * float(first)


@functools.lru_cache
def cached(value):
    print("computed", value)  # noqa: T201
    return value


def cached_call(x):
    return x * cached(x[1].item())


PLAIN = (written_by_numpy, written_by_ufunc, written_by_method, written_by_index, written_in_place,
         written_at_random, written_later, given_another_shape, indexed, key,
         unpacked, written_within_try, divided_within_try, shown_within_vmap, named_tuple, unbound,
         file_that_is_read, cached_call)  # fmt: skip


@pytest.mark.parametrize("step", PLAIN, ids=lambda step: step.__name__)
def test_other_steps_run_as_they_are(step):
    compiled = rg.compile(step)
    found = history(compiled, between=lambda i: cached.cache_clear())
    assert found == history(step, between=lambda i: cached.cache_clear())
    assert not compiled.compiled.variants


class Training:
    """A step of training that shows what it does in many ways; it may be told when to fail."""

    def __init__(self, name, fails=-1, error=ValueError):
        rg.manual_seed(0)
        self.model = rg.nn.Linear(3, 2, dtype=rg.float64)
        self.optimizer = rg.optim.Adam(self.model.parameters(), lr=0.1)
        self.schedule = rg.optim.lr_scheduler.StepLR(self.optimizer, 2)
        self.logged, self.losses, self.latest = [], [], collections.deque(maxlen=2)
        self.logger = logging.Logger(name)
        self.logger.addHandler(handler := logging.Handler())
        handler.emit = self.emit
        self.fails, self.error = fails, error

    def emit(self, record):
        self.logged.append((record.getMessage(), record.lineno, record.funcName, record.filename))
        if len(self.logged) == self.fails:
            raise self.error("while it is logged")

    def warn(self, loss):
        self.logger.warning("loss %.4f of %s", loss, loss, stacklevel=2)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = (self.model(x) ** 2).mean()
        print("before", self.model.bias)  # noqa: T201
        loss.backward()
        print(self.model.bias.grad, f"{loss:.3f}")  # noqa: T201
        self.losses.append({"loss": loss.item(), "x": x.tolist(), "y": x.numpy()})
        self.warn(loss)
        self.optimizer.step()
        self.schedule.step()
        self.logger.error("%s", self.schedule.get_last_lr()[0])
        self.latest.append(str(self.model.weight))
        FILE.write(str(loss))
        return loss.item()

    def left(self):
        states = [v for s in self.optimizer.state.values() for v in s.values()]
        grads = [p.grad for p in self.model.parameters()]
        kept = self.logged, self.losses, list(self.latest), self.optimizer.param_groups[0]["lr"]
        return [*self.model.parameters(), *grads, *states], kept


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("fails", [-1, 1, 4, 5])
def test_a_step_of_training_leaves_what_it_leaves_as_it_is(fails, error):
    eager, captured = (Training("test_splits", fails, error) for _ in range(2))
    compiled = rg.compile(captured.step)
    assert history(compiled, captured.left) == history(eager.step, eager.left)
    assert len(compiled.compiled.variants) == 1


def test_an_error_of_a_foreign_function_comes_after_what_was_done():
    def made():
        file, w = io.StringIO(), rg.ones(3, dtype=rg.float64, requires_grad=True)

        def step(x):
            (w * x).sum().backward()
            print("once")  # noqa: T201
            file.write("x")
            return json.dumps(x[2].item() / (x[0].item() - 2), allow_nan=False)

        return step, lambda: w.grad, lambda i: file.close() if i == 2 else None

    (eager, *rest), (step, *others) = made(), made()
    assert history(rg.compile(step, fullgraph=True), *others) == history(eager, *rest)


def test_lists_that_are_appended_are_those_of_the_step():
    def made():
        kept, other = [], []

        def changed(x):
            own = [x[0].item()]
            kept.append(own)
            own.append(3)
            return x

        def twice(x):
            own = [x[0].item()]
            kept.append(own)
            other.append(own)
            return x

        def cyclic(x):
            own = [x[0].item()]
            own.append(own)
            kept.append(own)
            return own is own[1]

        def replaced(x):
            def loss():
                kept.clear()
                return x.sum().item()

            kept.append(loss())
            return x

        return (changed, twice, replaced), lambda: (kept, other), cyclic

    for place in range(3):
        (eager, left, _), (steps, found, _) = made(), made()
        assert history(rg.compile(steps[place]), found) == history(eager[place], left)
    cyclic, left = made()[2], rg.compile(made()[2])
    assert cyclic(x_of(0)) is left(x_of(0)) is True


def test_functions_are_looked_up_in_each_call(monkeypatch):
    said = []

    def step(x):
        print("x", x.sum().item())  # noqa: T201
        return json.dumps([x[0].item()]), np.mean(x.numpy())

    def between(i):
        with monkeypatch.context() as patched:
            patched.setattr(builtins, "print", lambda *args: said.append(args))
            patched.setattr(json, "dumps", lambda value: "patched")
            patched.setattr(np, "mean", lambda value: -1.0)
            said.append(compiled(x_of(i)))

    compiled = rg.compile(step)
    assert history(compiled, between=between) == history(step)
    assert said[:2] == [("x", 3.0), ("patched", -1.0)]


def test_a_file_that_runs_code_of_the_users_is_not_written_by_a_replay():
    class Doubling:
        def write(self, text):
            scale.mul_(2)

    scale, file = rg.ones(()), Doubling()
    writer = csv.writer(file)

    @rg.compile
    def step(x):
        before = x * scale
        writer.writerow([x[0].item()])
        return before + x * scale

    for i in range(4):
        assert step(rg.ones(2)).tolist() == [3.0 * 2**i] * 2
    assert not step.compiled.variants


def test_another_print_and_other_print_options():
    def step(x):
        print(x / 3)  # noqa: T201
        return f"{x / 3}"

    def between(i):
        rg.set_printoptions(precision=2 + i)

    try:
        compiled = rg.compile(step, fullgraph=True)
        found = history(compiled, between=between)
        rg.set_printoptions(profile="default")
        assert found == history(step, between=between)
    finally:
        rg.set_printoptions(profile="default")


def test_the_kind_of_a_number_is_asked_in_each_call():
    @rg.compile
    def step(x):
        return isinstance(max(1, x[0].item()), int), x * (x[2].item() + 1) ** 0.5

    for i in range(4):
        found, root = step(x_of(i))
        assert found is (i == 0)  # max(1, 1.0) is 1
        rg.testing.assert_close(root, x_of(i) * (1 - 0.5 * i) ** 0.5)


def test_an_array_on_the_memory_of_a_tensor():
    kept, w = [], rg.zeros(3, dtype=rg.float64)

    @rg.compile(fullgraph=True)
    def step(x):
        kept.append(w.numpy())
        y = x * 2
        kept.append(y.numpy())
        w.add_(x)
        return y

    for i in range(3):
        y = step(x_of(i))
        kept[-1][0] = 50.0
        assert y[0].item() == 50.0
    assert all(np.shares_memory(a, w.numpy()) for a in kept[::2])
    assert math.isclose(w[0].item(), 6.0)


@pytest.mark.parametrize(
    "choices", [[1.0, 2], [True, False], [1.0, None], [[1.0], [2.0]], [WEIGHT]]
)
@pytest.mark.parametrize("source", [random, OWN, np.random, GENERATOR])
def test_a_choice_of_other_things_runs_as_it_is(source, choices):
    def step(x):
        return x * 2, source.choice(choices)

    compiled = rg.compile(step)
    assert history(compiled) == history(step)
    assert not compiled.compiled.variants


def late_branches(x):
    print("once")  # noqa: T201
    if 1 / (x[0].item() - 3) > 0.4 or any(v > 4 for v in x.tolist()):
        print("large")  # noqa: T201
        return x * 2
    return x if isinstance(max(1, x[0].item()), int) else x * 3


def test_branches_after_an_effect_are_known_before():
    compiled = rg.compile(late_branches, fullgraph=True)
    assert history(compiled, calls=6) == history(late_branches, calls=6)
    assert len(compiled.compiled.variants) == 4


@pytest.mark.parametrize(
    "value",
    [
        lambda w: w[0].item(),
        lambda w: float(str(w[0])[7:9]),
        lambda w: w.numpy()[0],
        lambda w: random.random() * 4,
        lambda w: (w * 2).sum().item() / 6,
        lambda w: rg.rand(()).item() * 4,
    ],
)
def test_branches_on_what_an_effect_has_changed_run_as_they_are(value):
    def made():
        w = rg.ones(3, dtype=rg.float64)

        def step(x):
            print("once", w)  # noqa: T201
            w.add_(x)
            return x * 2 if value(w) > 3 else x

        return step, lambda: w

    (eager, left), (step, found) = made(), made()
    compiled = rg.compile(step)
    assert history(compiled, found) == history(eager, left)
    assert not compiled.compiled.variants
