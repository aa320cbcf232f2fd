"""What a tensor is shown as inside function transforms."""

from __future__ import annotations

import textwrap

import pytest

import retrograd as rg
from retrograd.func import grad, jvp, vjp, vmap


def shown(transform, *args):
    """The representation of what a transformed function is given."""
    seen = []

    def f(x):
        seen.append(repr(x))
        return x.sum()

    transform(f)(*args)
    return seen[0]


def held(start, value):
    return f"{start}value=\n{textwrap.indent(value, '    ')}\n)"


X = rg.arange(6.0).reshape(2, 3)
GRAD = "GradTrackingTensor(lvl={}, "
BATCH = "BatchedTensor(lvl={}, bdim={}, "


@pytest.mark.parametrize("of", [grad, lambda f: lambda x: vjp(f, x)], ids=["grad", "vjp"])
def test_a_variable_of_a_transform_says_so(of):
    assert shown(of, X) == held(GRAD.format(1), repr(X))


def test_an_example_shows_all_of_them_and_where_they_lie():
    assert shown(vmap, X) == held(BATCH.format(1, 0), repr(X))
    assert shown(lambda f: vmap(f, in_dims=1), X) == held(BATCH.format(1, 1), repr(X))


def test_transforms_are_numbered_from_the_outermost():
    x = rg.tensor(2.0)
    inner = held(GRAD.format(1), repr(x))
    assert shown(lambda f: grad(grad(f)), x) == held(GRAD.format(2), inner)
    inner = held(BATCH.format(1, 0), repr(X))
    assert shown(lambda f: vmap(grad(f)), X) == held(GRAD.format(2), inner)
    inner = held(GRAD.format(1), repr(X))
    both = shown(lambda f: grad(lambda x: vmap(f)(x).sum()), X)
    assert both == held(BATCH.format(2, 0), inner)
    cube = rg.arange(24.0).reshape(2, 3, 4)
    inner = held(BATCH.format(1, 1), repr(cube))
    assert shown(lambda f: vmap(vmap(f), in_dims=1), cube) == held(BATCH.format(2, 0), inner)


def test_what_was_computed_from_a_variable_says_so_and_nothing_else():
    seen = []

    def f(x):
        seen.extend([repr(x * 2), repr(rg.ones(1)), str(other)])
        return x.sum()

    other = rg.ones(1, requires_grad=True) * 2
    grad(f)(X)
    doubled = held(GRAD.format(1), repr(2 * X))
    assert seen == [doubled, "tensor([1.])", "tensor([2.], grad_fn=<MulBackward0>)"]


def test_what_escapes_from_a_transform_is_shown_as_any_tensor():
    escaped = []
    grad(lambda x: escaped.append(x * 2) or x.sum())(X)
    assert "GradTracking" not in repr(escaped[0])


def test_tangents_of_func_jvp_are_shown():
    seen = []
    jvp(lambda x: seen.append(repr(x)) or x, (rg.ones(1),), (rg.ones(1),))
    assert seen == ["tensor([1.], tangent=tensor([1.]))"]
