"""Custom Functions with `generate_vmap_rule=True`: they run once for all examples of a batch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = [[0.5, 2.0], [3.0, -1.0], [0.25, 1.0]]
Y = [1.5, -2.0]


@pytest.fixture
def x():
    return rg.tensor(X, requires_grad=True)


@pytest.fixture
def y():
    return rg.tensor(Y, requires_grad=True)


@pytest.fixture
def runs():
    """How often a forward and a backward ran, as a list of their names."""
    return []


@pytest.fixture
def mul(runs):
    class Mul(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            runs.append("forward")
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            runs.append("backward")
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx, dx, dy):
            x, y = ctx.saved_tensors
            return dx * y + dy * x

    return Mul.apply


@pytest.fixture
def exp(runs):
    class Exp(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            runs.append("forward")
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            runs.append("backward")
            (out,) = ctx.saved_tensors
            return g * out

        @staticmethod
        def jvp(ctx, t):
            (out,) = ctx.saved_tensors
            return t * out

    return Exp.apply


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=2e-6)


def test_forward_and_backward_run_once_for_the_batch(mul, runs, x, y):
    out = vmap(mul, in_dims=(0, None))(x, y)
    (out**2).sum().backward()
    assert runs == ["forward", "backward"]
    close(out, np.multiply(X, Y))
    close(x.grad, 2 * np.multiply(X, Y) * Y)
    close(y.grad, (2 * np.multiply(X, Y) * X).sum(0))


def test_axes_elsewhere_come_back_where_they_were(mul, x):
    out = vmap(lambda row: mul(row, row), in_dims=1, out_dims=-1)(x)
    out.sum().backward()
    close(out, np.square(X))
    close(x.grad, 2 * np.array(X))


def test_second_derivatives_go_through_saved_outputs(exp, runs, x):
    (first,) = rg.autograd.grad((vmap(exp)(x) ** 2).sum(), x, create_graph=True)
    (second,) = rg.autograd.grad(first.sum(), x)
    assert runs == ["forward", "backward", "backward"]
    close(second, 4 * np.exp(2 * np.array(X)))


def test_batches_nest(mul, runs, x, y):
    out = vmap(vmap(mul, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    out.sum().backward()
    assert runs == ["forward", "backward"]
    close(out, np.einsum("ij,k->ikj", X, Y))
    close(x.grad, np.full((3, 2), sum(Y)))
    close(y.grad, np.full(2, np.sum(X)))


def test_transforms_within_the_batch(exp, mul, runs, x, y):
    def loss(row):
        return (exp(row) * mul(row, y)).sum()

    found = vmap(jacrev(grad(loss)))(x.detach())
    assert runs.count("forward") == 2
    rows = np.array(X)
    close(found, np.stack([np.diag(np.exp(r) * Y * (2 + r)) for r in rows]))
    close(vmap(hessian(lambda row: exp(row).sum()))(x.detach()), [np.diag(np.exp(r)) for r in rows])


def test_transforms_around_the_batch(mul, exp, x, y):
    tangent = rg.ones(3, 2)
    out, moved = jvp(
        lambda t: vmap(mul, in_dims=(0, None))(t, y.detach()), (x.detach(),), (tangent,)
    )
    close(out, np.multiply(X, Y))
    close(moved, np.broadcast_to(Y, (3, 2)))
    close(jacfwd(lambda t: vmap(mul)(t, t))(x.detach()).sum((2, 3)), 2 * np.array(X))
    close(jacrev(vmap(exp))(x.detach()).sum((2, 3)), np.exp(X))


def test_several_outputs_some_without_derivative_and_values_on_the_context(x, runs):
    class Sorted(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, factor):
            values, order = x.sort()
            return values * factor, order, x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])
            ctx.order, ctx.others = output[1], {"factor": inputs[1], "plain": [1]}

        @staticmethod
        def backward(ctx, g, _, g_sum):
            runs.append(g.shape)
            spread = rg.zeros_like(g).scatter(0, ctx.order, g)
            return spread * ctx.others["factor"] + g_sum, None

    values, order, total = vmap(Sorted.apply, in_dims=(0, None))(x, 3)
    assert not order.requires_grad
    ((values**2).sum() + (total**2).sum()).backward()
    assert runs == [(2,)]
    close(x.grad, 18 * np.array(X) + 2 * np.sum(X, 1, keepdims=True))


def test_an_output_that_all_examples_share(x, y):
    class Swap(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return y * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g, h):
            return h * 3, g * 2

    one, each = vmap(Swap.apply, in_dims=(0, None), out_dims=(None, 0))(x, y)
    assert one.tolist() == [2 * v for v in Y]
    close(each, 3 * np.array(X))
    ((one**2).sum() + each.sum()).backward()
    close(y.grad, 8 * np.array(Y))
    close(x.grad, np.full((3, 2), 3.0))


def test_a_gradient_of_another_shape_fits_each_example(x):
    class Scaled(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(scale, row):
            return scale * row

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            scale, row = ctx.saved_tensors
            return g * row, g * scale

    scale = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    vmap(Scaled.apply)(scale, x).sum().backward()
    close(scale.grad, np.sum(X, 1))


def test_a_written_saved_value_raises(mul, x, y):
    base = x * 1
    out = vmap(mul, in_dims=(0, None))(base, y)
    with rg.no_grad():
        base.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_no_examples(exp):
    x = rg.zeros(0, 2, requires_grad=True)
    vmap(exp)(x).sum().backward()
    assert x.grad.shape == (0, 2)


@pytest.mark.parametrize("part", ["forward", "mark_dirty"])
def test_what_cannot_run_at_once_runs_once_per_example(part):
    class Doubled(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            if part == "mark_dirty":
                return x.mul_(2)
            return x * 2 if x.sum() > 0 else x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            if part == "mark_dirty":
                ctx.mark_dirty(output)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = rg.tensor(X)
    with pytest.warns(UserWarning, match="runs once per example") as caught:
        out = vmap(lambda row: Doubled.apply(row.clone()))(x)
    close(out, 2 * np.array(X))
    assert ("Give it a static method vmap" in str(caught[0].message)) == (part == "mark_dirty")


class Plain(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Split(Plain):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class Marked(Plain):
    generate_vmap_rule = True


HALVES = "Split {0}.forward(ctx, ...) into forward(...) and setup_context(ctx, inputs, output)."
RULE = "Set generate_vmap_rule = True in {0}, or give it a static method vmap."


@pytest.mark.parametrize(
    ("function", "advice"), [(Plain, f"{HALVES} {RULE}"), (Split, RULE), (Marked, HALVES)]
)
def test_a_function_without_a_rule_says_what_makes_one(function, advice):
    with pytest.warns(UserWarning, match="runs once per example") as caught:
        close(vmap(function.apply)(rg.tensor(X)), np.array(X) ** 2)
    name = function.__name__
    assert str(caught[0].message) == (
        f"vmap: the custom Function {name} does not say how it runs on a batch, so apply runs once "
        f"per example. {advice.format(name)}"
    )


def test_nothing_warns(mul, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(mul, in_dims=(0, None))(x, y).sum().backward()
