"""Derivatives, taken within a batched call, of custom Functions that have a `vmap` of their own."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.func import grad, hessian, jacrev, jvp, vjp, vmap

told = []


class Cubic(Function):
    """x² y, and the sum over the last dimension of x; `told` hears of its calls on batches."""

    @staticmethod
    def forward(x, y):
        return x * x * y, x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return 2 * x * y * g + h[..., None], x * x * g

    @staticmethod
    def jvp(ctx, t, u):
        x, y = ctx.saved_tensors
        return 2 * x * y * t + x * x * u, t.sum(-1)

    @staticmethod
    def vmap(info, in_dims, x, y):
        told.append(in_dims)
        first, second = (
            a.expand(info.batch_size, *a.shape) if dim is None else a.movedim(dim, 0)
            for a, dim in zip((x, y), in_dims, strict=True)
        )
        return list(Cubic.apply(first, second)), [0, 0]


@pytest.fixture(autouse=True)
def nothing_told():
    told.clear()


def plain(x, y):
    return x * x * y, x.sum(-1)


def loss(function):
    def computed(x, y):
        first, second = function(x, y)
        return first.sum() + 3 * second

    return computed


def rows():
    return rg.arange(1.0, 7.0, dtype=rg.float64).reshape(2, 3)


def factors():
    return rg.tensor([1.0, 10.0, 100.0], dtype=rg.float64)


def equal(found, expected):
    if isinstance(expected, rg.Tensor):
        assert found.tolist() == expected.tolist()
        return
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        equal(one, other)


PROGRAMS = {
    "gradients": lambda f: vmap(grad(loss(f), (0, 1)), (0, None))(rows(), factors()),
    "along another dimension": lambda f: vmap(grad(loss(f)), (1, None))(rows().t(), factors()),
    "tangents": lambda f: vmap(lambda x: jvp(f, (x, factors()), (x, x)))(rows()),
    "cotangents": lambda f: vmap(lambda x: vjp(f, x, factors())[1]((x, x.sum())))(rows()),
    "Jacobians": lambda f: vmap(jacrev(lambda x: f(x, factors())))(rows()),
    "Hessians": lambda f: vmap(hessian(loss(f)), (0, None))(rows(), factors()),
    "tangents of gradients": lambda f: jvp(
        vmap(grad(loss(f)), (0, None)), (rows(), factors()), (rows(), factors())
    ),
    "second gradients": lambda f: vmap(grad(lambda x: (grad(loss(f))(x, factors()) ** 2).sum()))(
        rows()
    ),
    "two batches": lambda f: vmap(vmap(grad(loss(f)), (None, 0)), (0, None))(
        rows(), rg.stack([factors(), 2 * factors()])
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_called_and_the_derivatives_are_those_of_the_function(name):
    equal(PROGRAMS[name](Cubic.apply), PROGRAMS[name](plain))
    assert told


def test_gradients_within_and_around_the_call_are_kept_apart():
    def both(function):
        x, y = rows().requires_grad_(), factors().requires_grad_()
        g = vmap(lambda row: grad(lambda r: loss(function)(r, y))(row))(x)
        (g**2).sum().backward()
        return x.grad, y.grad

    equal(both(Cubic.apply), both(plain))
    assert told == [(0, None)]


def test_it_is_not_asked_where_all_examples_share_the_arguments():
    x, directions = rows()[0], rg.eye(3, dtype=rg.float64)
    found = vmap(lambda t: jvp(lambda x: Cubic.apply(x, factors())[0], (x,), (t,))[1])(directions)
    assert found.tolist() == (2 * x * factors()).diag().tolist()
    assert told == []


class DoubledInPlace(Function):
    @staticmethod
    def forward(x, y):
        return x.mul_(2).add_(y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 2 * g, g

    @staticmethod
    def vmap(info, in_dims, x, y):
        return DoubledInPlace.forward(x, y.movedim(in_dims[1], in_dims[0])), in_dims[0]


@pytest.mark.parametrize("dim", [0, 1])
def test_a_rule_that_returns_the_input_it_wrote_is_differentiated_inside(dim):
    def f(x, y):
        z = x * 3
        out = DoubledInPlace.apply(z, y)
        return (out * z).sum()  # both are 6 x + y

    x, y = rg.arange(6.0).view(2, 3), rg.ones(2, 3)
    found = vmap(grad(f, argnums=(0, 1)), in_dims=dim)(x, y)
    out = (6 * x + y).movedim(dim, 0)
    assert found[0].tolist() == (12 * out).tolist()
    assert found[1].tolist() == (2 * out).tolist()
