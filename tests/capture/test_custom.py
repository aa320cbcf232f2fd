"""Custom Functions and `super()` in compiled steps."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.autograd.function import once_differentiable
from retrograd.capture.program import NATIVE

nn = rg.nn
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

FACTOR = 2.0


class Cube(Function):
    @staticmethod
    def forward(ctx, x, times):
        ctx.save_for_backward(x)
        ctx.times = times
        return x * x * x * times * FACTOR

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x * x * ctx.times * FACTOR, None


class Pair(Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


class Mask(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.mark_non_differentiable(mask)
        ctx.mask = mask
        return x * mask, mask

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.mask


w = rg.randn(3, dtype=rg.float64).requires_grad_()


def both(function, calls=3, captured=True):
    """The compiled function beside the function, on new arguments."""
    step = rg.compile(function)
    for number in range(calls):
        rg.manual_seed(number)
        x = rg.randn(3, dtype=rg.float64)
        found, expected = step(x), function(x)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-13)
    assert bool(step.compiled.variants) is captured, step.compiled.reasons
    return step


def test_a_custom_function_in_a_step():
    def step(x):
        loss = Cube.apply(x * w, 2.0).sum()
        return loss.detach(), *rg.autograd.grad(loss, w)

    both(step)


def test_a_custom_function_whose_backward_comes_later():
    def forward(x):
        return Cube.apply(x * w, 2.0).sin()

    step = rg.compile(forward)
    for _ in range(3):
        x = rg.randn(3, dtype=rg.float64)
        (g,) = rg.autograd.grad(step(x).sum(), w)
        (e,) = rg.autograd.grad(forward(x).sum(), w)
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-13)
    assert step.compiled.variants, step.compiled.reasons


def test_several_outputs_and_setup_context():
    def step(x):
        a, b = Pair.apply(x * w, w)
        loss = (a * b).sum()
        return loss.detach(), *rg.autograd.grad(loss, w)

    both(step)


def test_what_is_marked_and_kept_in_the_context():
    def step(x):
        y, mask = Mask.apply(x * w)
        return y.detach(), *rg.autograd.grad((y * y).sum(), w), mask.double() + 1

    both(step)


def test_what_a_custom_function_reads_is_read_anew(monkeypatch):
    step = rg.compile(lambda x: Cube.apply(x, 1.0))
    x = rg.ones(1)
    assert [step(x).item() for _ in range(2)] == [2.0, 2.0]
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert [step(x).item() for _ in range(2)] == [3.0, 3.0]
    monkeypatch.setattr(Cube, "forward", staticmethod(lambda ctx, x, times: x * 7))
    assert [step(x).item() for _ in range(2)] == [7.0, 7.0]


class Told:
    """What happens in a backward pass beside gradients."""

    def __init__(self):
        self.log, self.numbers, self.count = [], {}, 0
        self.written, self.leaf = rg.zeros(1), rg.zeros(1, requires_grad=True)

    def seen(self):
        return (
            len(self.log), len(self.numbers), self.count, self.written._version,
            self.leaf.grad is None, rg.get_rng_state().tolist(),
        )  # fmt: skip


def appends(told, g):
    told.log.append(1)


def appends_a_value(told, g):
    told.log.append(g.sum().item())


def extends(told, g):
    told.log.extend([1])


def updates(told, g):
    told.numbers.update(n=1)


def counts(told, g):
    told.count += 1


def writes(told, g):
    told.written.add_(1)


def draws(told, g):
    rg.rand(1)


def drops(told, g):
    rg.nn.functional.dropout(g, 0.5, True)


def differentiates(told, g):
    with rg.enable_grad():
        (told.leaf * 2).sum().backward()


@pytest.mark.parametrize(
    "effect",
    [appends, appends_a_value, extends, updates, counts, writes, draws, drops, differentiates],
)
def test_a_backward_pass_does_nothing_before_its_time(effect):
    told = Told()

    class Telling(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            effect(told, g)
            return g * 2

    step = rg.compile(lambda x: Telling.apply(x * w))
    for _ in range(2):
        before = told.seen()
        loss = step(rg.ones(3, dtype=rg.float64)).sum()
        assert told.seen() == before
        (gradient,) = rg.autograd.grad(loss, w)
        assert gradient.tolist() == [2.0] * 3
        assert told.seen() != before or effect is updates or effect is differentiates
    assert step.compiled.reasons


class Weighted(Function):
    weight = 2.0

    @staticmethod
    def forward(ctx, x, factors):
        ctx.factors = factors
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * Weighted.weight * ctx.factors[0], None


def test_what_a_backward_pass_reads_is_read_in_its_time(monkeypatch):
    factors = [1.0]
    step = rg.compile(lambda x: Weighted.apply(x * w, factors).sum())
    for weight, factor in ((2.0, 1.0), (2.0, 1.0), (5.0, 1.0), (5.0, 4.0), (5.0, 4.0)):
        loss = step(rg.ones(3, dtype=rg.float64))
        monkeypatch.setattr(Weighted, "weight", weight)
        factors[0] = factor
        (gradient,) = rg.autograd.grad(loss, w)
        assert gradient.tolist() == [weight * factor] * 3
    assert step.compiled.variants


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3, dtype=rg.float64)

    def forward(self, x):
        return self.linear(x).tanh()


class Middle(Base):
    pass


class Residual(Middle):
    def forward(self, x):
        return x + super().forward(x)


def test_a_module_calls_the_class_above(monkeypatch):
    model = Residual()
    step = both(lambda x: (model(x[None]).detach(),))
    monkeypatch.setattr(Middle, "forward", lambda self, x: x * 2, raising=False)
    x = rg.randn(3, dtype=rg.float64)
    for _ in range(2):
        np.testing.assert_allclose(step(x)[0].numpy(), (3 * x[None]).numpy())


class Inner(Function):
    """Its derivative goes through a graph of its own."""

    @staticmethod
    def forward(ctx, x):
        with rg.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.out = ctx.x**3
        return ctx.out.detach()

    @staticmethod
    def backward(ctx, g):
        return rg.autograd.grad(ctx.out, ctx.x, g)[0]


class Counted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.count = 0
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.count += 1
        return g * ctx.count


class Listed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = {"passes": []}
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.kept["passes"].append(1)
        return g * len(ctx.kept["passes"])


class Dropped(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = x.cos()
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        slope, ctx.slope = ctx.slope, None
        return slope * g


class Deleted(Dropped):
    @staticmethod
    def backward(ctx, g):
        slope = ctx.slope
        del ctx.slope
        return slope * g


class Overwritten(Dropped):
    @staticmethod
    def backward(ctx, g):
        return ctx.slope.mul_(g)


class Once(Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Outer(Function):
    """Its derivative makes a context, whose attributes it may set."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -x.cos()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Deleted.apply(x) * g


@pytest.mark.parametrize(
    "function", [Inner, Counted, Listed, Dropped, Deleted, Overwritten, Once, Outer]
)
def test_a_backward_pass_that_changes_what_it_has_runs_once(function):
    compiled = rg.compile(lambda x: function.apply(2 * x) * 3)
    for _ in range(3):
        x = rg.randn(3)
        grads = []
        for apply in (lambda x: function.apply(2 * x) * 3, compiled):
            leaf = x.clone().requires_grad_()
            apply(leaf).backward(x)
            grads.append(leaf.grad)
        rg.testing.assert_close(*grads)
    assert bool(compiled.compiled.variants) == (function is Outer)
