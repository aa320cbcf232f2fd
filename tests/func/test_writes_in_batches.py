"""Writes of what all examples of a batched call share, into tensors with tangents."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.func import grad, jacfwd, jacrev, jvp, vjp, vmap

ROWS = rg.arange(6.0).view(3, 2)


def w(*numbers):
    return rg.tensor(numbers or (1.0, 2.0))


def gradient_written(x):
    """x times the gradient of t³x at x, which is 3x³, in place."""
    y = x * 1
    y.mul_(grad(lambda t: (t**3 * x).sum())(x))
    return y


def view_written(x):
    """The same, where a view is written and another one shows it."""
    y = x * 1
    shown = y.view(2)
    y[:1].mul_(grad(lambda t: (t**3 * x).sum())(x)[:1])
    return shown


def cotangent_copied(x):
    y = x * 1
    y.copy_(vjp(lambda t: t * t * x, x)[1](x)[0])
    return y


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (gradient_written, [[12.0, 0.0], [0.0, 96.0]]),
        (view_written, [[12.0, 0.0], [0.0, 1.0]]),
        (cotangent_copied, [[6.0, 0.0], [0.0, 24.0]]),
    ],
)
def test_what_an_inner_transform_gives_is_written_into_a_tensor_with_a_tangent(function, expected):
    assert jacfwd(function)(w()).tolist() == jacrev(function)(w()).tolist() == expected
    assert vmap(lambda v: jvp(function, (w(),), (v,))[1])(rg.eye(2)).tolist() == expected


def test_a_tangent_from_outside_of_the_batch_goes_through_the_write():
    def rows(x):
        return vmap(lambda row: row * gradient_written(x))(ROWS)

    expected = [[0.0, 96.0], [24.0, 288.0], [48.0, 480.0]]
    assert jvp(rows, (w(),), (rg.ones(2),))[1].tolist() == expected
    assert jacfwd(rows)(w()).tolist() == jacrev(rows)(w()).tolist()


def test_a_captured_tensor_and_its_views_have_their_tangents_after_the_batch():
    def captured(x):
        y = x * 2
        view, copy = y[1:], y * 1

        def inner(row):
            y.mul_(grad(lambda t: (t**2).sum())(w(3.0, 4.0)))
            return row * view * copy

        return vmap(inner)(ROWS).sum() + (y * y).sum() + view.sum()

    assert grad(captured)(w()).tolist() == [672.0, 2384.0]
    assert jacfwd(captured)(w()).tolist() == [672.0, 2384.0]


def test_second_forward_derivatives_go_through_the_write():
    expected = [[[36.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 144.0]]]
    assert jacfwd(jacfwd(gradient_written))(w()).tolist() == expected
