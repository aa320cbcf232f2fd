"""Compiled steps whose arguments have many sizes do in each call what they do eagerly."""

from __future__ import annotations

import itertools
import threading

import pytest

import retrograd as rg
from retrograd.capture import compiled
from retrograd.capture.compiled import setting
from retrograd.capture.program import NATIVE

from .programs import classified, squared, training
from .test_capture import kinds, run_both

nn, F, optim = rg.nn, rg.nn.functional, rg.optim
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

SIZES = [5, 4, 7, 5, 9, 1, 6]
MANY = [*range(2, 24), *range(30, 2, -1), *range(3, 30)]


@pytest.fixture
def at_once(monkeypatch):
    """Sizes are recorded as soon as they are met."""
    monkeypatch.setattr(compiled, "LATER", 0)


def perceptron(sizes):
    layers = nn.Linear(4, 8), nn.Dropout(0.3), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)
    model = nn.Sequential(*layers)

    def arguments():
        n = next(sizes)
        return rg.randn(n, 4), rg.randint(0, 3, (n,))

    return training(model, optim.Adam(model.parameters()), classified, arguments)


def convolution(sizes):
    conv = nn.Conv2d(1, 3, 3, padding=1, bias=False)  # whose gradient would be rounding
    layers = conv, nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.2), nn.Flatten()
    model = nn.Sequential(*layers, nn.Linear(27, 3))

    def arguments():
        n = next(sizes)
        return rg.randn(n, 1, 6, 6), rg.randint(0, 3, (n,))

    return training(model, optim.Adam(model.parameters()), classified, arguments)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def recurrent(sizes):
    model = Recurrent()

    def arguments():
        n = next(sizes)
        return rg.randn(2, n, 3), rg.randn(2, 2)

    return training(model, optim.Adam(model.parameters()), squared, arguments)


def batches_of_sequences(sizes):
    model = Recurrent()

    def arguments():
        n = next(sizes)
        return rg.randn(n, 4, 3), rg.randn(n, 2)

    return training(model, optim.SGD(model.parameters(), lr=0.1), squared, arguments)


def transformer(sizes):
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.1)

    def arguments():
        n = next(sizes)
        return rg.randn(2, n, 8), rg.randn(2, n, 8)

    return training(model, optim.SGD(model.parameters(), lr=0.1), squared, arguments)


STEPS = [perceptron, convolution, recurrent, batches_of_sequences, transformer]


@pytest.mark.parametrize("make", STEPS)
def test_a_step_of_training_with_many_sizes(make, at_once):
    step = run_both(lambda: make(iter(SIZES)), False, len(SIZES))
    assert len(step.variants) == len({*SIZES})
    assert not step.reasons


@pytest.mark.parametrize("make", [recurrent, batches_of_sequences])
def test_calls_of_many_sizes_have_the_bits_of_the_step(make, at_once):
    setting.native = False
    try:
        run_both(lambda: make(iter(SIZES)), True, len(SIZES))
    finally:
        setting.native = True


def test_thirty_lengths_in_turn():
    step = run_both(lambda: perceptron(iter(MANY)), False, len(MANY))
    assert len(step.variants) == compiled.MOST  # none of the others comes often


def by_size(x):
    if x.shape[0] > 5:
        return x * 2
    return x + x.shape[0]


def by_parity(x):
    return x.sum() if len(x) % 2 else x.mean()


def once_a_row(x):
    total = x[0] * 0
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


def factors(x):
    n = x.size(0)
    return x.cumsum(0) / n + (1 / n if n else 0.0) + rg.full((n, 1), float(n))


def reductions(x):
    return (
        x.sum(0)
        + x.mean(0)
        + x.var(0, correction=0)
        + x.amax(0)
        + x.argmax(0)
        + (x / x.numel()).prod(0)
    )


def broadcast(x):
    return x + rg.ones(1, 3) * x[:1]


def views(x):
    return x[1:] - x[:-1], x.t().reshape(3, -1), x[::2].flip(0), x.repeat(2, 1)[x.shape[0] :]


def shuffled(x):
    return x[rg.randperm(x.shape[0])] * rg.rand(x.shape[0], 1) + rg.randn_like(x)


def gathered(x):
    return x.gather(0, rg.arange(x.shape[0]).unsqueeze(1).expand(-1, 3)).softmax(0)


FUNCTIONS = [by_size, by_parity, once_a_row, factors, reductions, broadcast, views, shuffled,
             gathered]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_of_the_size_is_never_wrong(function, at_once):
    step = rg.compile(function)
    for n in (4, 7, 2, 6, 1, 5, 4, 16):
        x = rg.randn(n, 3)
        for given in (x, x.clone().requires_grad_(), rg.randn(3, n).t()):
            rg.manual_seed(n)
            expected = function(given)
            rg.manual_seed(n)
            found = step(given)
            rg.testing.assert_close(found, expected, equal_nan=True)
            for a, b in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)],
                            strict=True):  # fmt: skip
                assert a.stride() == b.stride()


def test_no_rows_and_one(at_once):
    step = rg.compile(lambda x, y: (x * y + 1).sum(0))
    for n, m in itertools.product((3, 1, 2, 0, 1, 4), repeat=2):
        if m in (1, n) or n == 1:
            x, y = rg.randn(n, 2), rg.randn(m, 2)
            rg.testing.assert_close(step(x, y), (x * y + 1).sum(0))


def test_two_sizes_that_vary_each_in_its_own_way(at_once):
    weight = rg.randn(5, 2, requires_grad=True)

    def function(x, y):
        return ((x @ weight).tanh() @ y).softmax(-1).sum(0)

    step = rg.compile(function)
    for n, m in [(4, 3), (8, 3), (8, 6), (2, 9), (4, 4), (8, 8), (3, 1), (1, 3), (6, 5), (4, 3)]:
        x, y = rg.randn(n, 5), rg.randn(2, m)
        (expected,) = rg.autograd.grad(function(x, y).square().sum(), weight)
        (found,) = rg.autograd.grad(step(x, y).square().sum(), weight)
        rg.testing.assert_close(found, expected)


def test_threads_with_sizes_of_their_own(at_once):
    step = rg.compile(lambda x: (x.exp() * 2).sum(0) / len(x))
    step(rg.zeros(5, 2))
    found = {}

    def work(n):
        for k in range(4):
            found[n, k] = step(rg.zeros(n + k, 2)).tolist()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(value == [2.0, 2.0] for value in found.values())
    assert len(found) == 24


def test_a_third_size_builds_nothing(monkeypatch, at_once):
    native = pytest.importorskip("retrograd.capture.loops.native")
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    step = rg.compile(lambda x: (model(x) - x.mean()).square().mean())
    built = set()
    addresses = native.machine.addresses

    def noted(code, kinds, source):
        built.update(kinds)
        return addresses(code, kinds, source)

    monkeypatch.setattr(native.machine, "addresses", noted)
    counts = []
    for n in (5, 7, 6, 12, 3):
        step(rg.randn(n, 3)).backward()
        counts.append(len(built))
    assert counts[0] < counts[1] == counts[-1]
    assert kinds(step) == 5
