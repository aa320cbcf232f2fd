"""Writes in place, custom Functions and loops for few numbers keep no reference, and lose none."""

from __future__ import annotations

import gc
import sys

import pytest

import retrograd as rg

X = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
PLAIN = rg.ones(2, 2)


class Pair(rg.autograd.Function):
    """Two outputs; no gradient for the second argument."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * 2 + h + 0 * x, None


def write_to_rows():
    y = X * 1
    for row in range(2):
        y[row].mul_(2)
    y.sum().backward()


def write_what_was_saved():
    y = X * 1
    y.square_().exp_()
    (y + X).sum().backward()


def write_to_views_of_views():
    y = X * 1
    a, b = y.t()[0], y.view(-1)
    a.add_(1)
    b.mul_(y.sum())
    (a.sum() + b.sum()).backward()


def write_unrecorded():
    PLAIN.mul_(1).add_(PLAIN, alpha=0)
    PLAIN[0].copy_(PLAIN[1])
    with rg.no_grad():
        X.mul_(1)


def write_wrongly():
    for write in (lambda: X.mul_(2), lambda: PLAIN.add_(rg.ones(3, 3)), lambda: (X * 1).div_("a")):
        with pytest.raises((RuntimeError, TypeError)):
            write()


def custom():
    a, b = Pair.apply(X, X * 1)
    (a.sum() + b.sum()).backward()


def custom_under_hooks():
    seen = []
    hook = X.register_post_accumulate_grad_hook(seen.append)
    a, b = Pair.apply(X, X * 1)
    (a * b).sum().backward()
    hook.remove()
    assert len(seen) == 1


def small_layer():
    out = rg.nn.functional.linear(X, PLAIN, PLAIN[0])
    rg.nn.functional.cross_entropy(out @ PLAIN, rg.tensor([0, 1])).backward()
    X.sum(1, keepdim=True).sum().backward()


@pytest.mark.parametrize(
    "program",
    [write_to_rows, write_what_was_saved, write_to_views_of_views, write_unrecorded, write_wrongly,
     custom, custom_under_hooks, small_layer],
)  # fmt: skip
def test_no_reference_is_kept_or_lost(program):
    held = [None, True, False, (), X, X._node, PLAIN, X._array.dtype, Pair, rg.Tensor]
    for _ in range(20):  # caches fill, `.grad` and version cells are made
        program()
    gc.collect()
    objects, before = len(gc.get_objects()), [sys.getrefcount(thing) for thing in held]
    for _ in range(200):
        program()
    gc.collect()
    changes = [sys.getrefcount(thing) - old for thing, old in zip(held, before, strict=True)]
    assert all(abs(change) < 50 for change in changes), changes
    assert abs(len(gc.get_objects()) - objects) < 50
