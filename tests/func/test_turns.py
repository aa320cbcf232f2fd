"""`t_` and its like on what transforms give a function: NOTE [Links] in `engine.views`."""

from __future__ import annotations

import math

import pytest

import retrograd as rg
from retrograd.autograd import forward_ad
from retrograd.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

A = rg.tensor([[0.0, 1.0], [2.0, 3.0]])
T = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
M = rg.tensor([[1.0, 10.0], [100.0, 1000.0]])
SQUARES = rg.arange(8.0).view(2, 2, 2)
ROWS = rg.arange(6.0, dtype=rg.float64).view(2, 3)

# by name: in place, and out of place
TURNS = {
    "t_": (lambda x: x.t_(), lambda x: x.t()),
    "transpose_": (lambda x: x.transpose_(0, 1), lambda x: x.transpose(0, 1)),
    "swapaxes_": (lambda x: x.swapaxes_(0, 1), lambda x: x.swapaxes(0, 1)),
    "unsqueeze_": (lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze(1)),
    "squeeze_": (lambda x: x.unsqueeze_(0).squeeze_(), lambda x: x * 1),
    "several": (
        lambda x: x.t_().unsqueeze_(0).transpose_(1, 2),
        lambda x: x.unsqueeze(0) * 1,
    ),
}
TRANSFORMS = {
    "jvp": lambda f, x: jvp(f, (x,), (x.cos(),))[1],
    "vjp": lambda f, x: vjp(f, x)[1](ramp(f(x.clone()).shape))[0],
    "linearize": lambda f, x: linearize(f, x.clone())[1](x.cos()),
    "grad": lambda f, x: grad(lambda y: f(y).sum())(x),
    "backward": lambda f, x: rg.autograd.grad(f((leaf := x.requires_grad_()) * 1).sum(), leaf)[0],
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(lambda y: f(y).sum())(x),
    "vmap": lambda f, x: vmap(f)(rg.stack([x, x + 1])),
    "vmap, in_dims=1": lambda f, x: vmap(f, in_dims=1)(rg.stack([x, x + 1], 1)),
    "vmap of jvp": lambda f, x: vmap(lambda v: jvp(f, (x * 1,), (v,))[1])(rg.stack([x, x + 1])),
    "grad of vmap": lambda f, x: grad(lambda y: vmap(f)(rg.stack([y, y + 1])).sum())(x),
}


def ramp(shape):
    return (rg.arange(1.0, math.prod(shape) + 1, dtype=rg.float64) / 4).view(shape)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", TURNS)
def test_what_is_turned_and_written_has_the_derivatives_of_the_program_out_of_place(
    name, transform
):
    turn, turned = TURNS[name]

    def in_place(x):
        turn(x)
        row = x[0]
        x.mul_(ramp(x.shape))
        row.mul_(2)
        return x.sin() * x * row

    def out_of_place(x):
        y = turned(x)
        y = y * ramp(y.shape)
        row = y[0] * 2
        y = rg.cat([row[None], y[1:]])
        return y.sin() * y * row

    found, expected = (TRANSFORMS[transform](f, ROWS.clone()) for f in (in_place, out_of_place))
    rg.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def written(x):
    x.t_()
    x.mul_(M)
    return x * 1


def test_forward_mode_follows_a_transposed_argument():
    x = A.clone()
    value, tangent = jvp(written, (x,), (T.clone(),))
    assert value.tolist() == [[0.0, 20.0], [100.0, 3000.0]]
    assert tangent.tolist() == [[1.0, 30.0], [200.0, 4000.0]]
    assert x.tolist() == [[0.0, 100.0], [20.0, 3000.0]]  # it was written, not turned


def test_views_from_before_and_after_the_turn_share_the_tangent():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A.clone(), T.clone())
        before = dual[0]
        dual.unsqueeze_(0)
        after = dual[..., 0]
        dual.mul_(2)
        before.mul_(3)
        parts = [forward_ad.unpack_dual(x) for x in (dual, before, after)]
    assert [primal.tolist() for primal, _ in parts] == [
        [[[0.0, 6.0], [4.0, 6.0]]], [0.0, 6.0], [[0.0, 4.0]]
    ]  # fmt: skip
    assert [tangent.tolist() for _, tangent in parts] == [
        [[[6.0, 12.0], [6.0, 8.0]]], [6.0, 12.0], [[6.0, 6.0]]
    ]  # fmt: skip


def test_a_turned_base_leaves_the_tangents_of_its_duals():
    base = A.clone()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(base, T.clone())
        row = dual[0]
        base.t_()
        row.mul_(3)
        tangent = forward_ad.unpack_dual(dual).tangent
    assert tangent.tolist() == [[3.0, 6.0], [3.0, 4.0]]
    assert base.tolist() == [[0.0, 2.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    ("turns", "writes", "expected"),
    [
        ("y", "y", ([[0.0, 20.0], [100.0, 3000.0]], [[0.0, 100.0], [20.0, 3000.0]])),
        ("y", "alias", ([[0.0, 200.0], [10.0, 3000.0]], [[0.0, 10.0], [200.0, 3000.0]])),
        ("alias", "y", ([[0.0, 10.0], [200.0, 3000.0]], [[0.0, 200.0], [10.0, 3000.0]])),
        ("alias", "alias", ([[0.0, 100.0], [20.0, 3000.0]], [[0.0, 20.0], [100.0, 3000.0]])),
    ],
)
def test_a_detached_alias_and_what_it_is_of_are_turned_apart(turns, writes, expected):
    def run(x):
        both = {"y": x * 1}
        both["alias"] = both["y"].detach()
        both[turns].t_()
        both[writes].mul_(M)
        return both["y"] * 1, both["alias"] * 1

    assert tuple(out[0].tolist() for out in vmap(run)(SQUARES)) == expected


def test_gradients_through_a_batch_that_is_turned_beside_its_alias():
    def run(x):
        y = x * 1
        alias = y.detach()
        y.t_()
        alias.mul_(M)
        return (y * y * M).sum()

    def expected(x):
        y = x.t()
        y = y + (y * M.t() - y).detach()  # another value, the history of x
        return (y * y * M).sum()

    found, known = (grad(lambda x: vmap(f)(x).sum())(SQUARES) for f in (run, expected))
    assert found.tolist() == known.tolist()
    assert vmap(grad(run))(SQUARES).tolist() == known.tolist()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_writes_to_a_turned_argument_reach_the_callers_memory(dim):
    def run(x):
        x.unsqueeze_(0)
        x.mul_(2)
        x[0].add_(1)
        return x * 1

    x = ROWS.clone()
    found = vmap(run, in_dims=dim)(x)
    expected = 2 * ROWS + 1
    assert x.tolist() == expected.tolist()
    assert found.tolist() == (expected.t() if dim else expected).unsqueeze(1).tolist()


def test_a_turned_rectangle_reaches_the_callers_memory():
    x = rg.arange(12.0).view(2, 2, 3)
    found = vmap(lambda a: a.t_().mul_(rg.arange(6.0).view(3, 2) + 1) * 1)(x)
    assert found[0].tolist() == [[0.0, 6.0], [3.0, 16.0], [10.0, 30.0]]
    assert x[0].tolist() == [[0.0, 3.0, 10.0], [6.0, 16.0, 30.0]]


def test_what_an_inner_transform_turned_and_wrote_has_its_history_outside():
    def outer(x):
        y = x * 1
        inner = grad(lambda a: (a.t_().mul_(M) ** 2).sum())(y)
        return (inner * y).sum()

    def expected(x):
        inner = grad(lambda a: ((a.t() * M) ** 2).sum())(x)
        return (inner * (x * M.t())).sum()

    assert grad(outer)(A).tolist() == grad(expected)(A).tolist()
    assert vmap(grad(outer))(SQUARES).tolist() == vmap(grad(expected))(SQUARES).tolist()
    assert jvp(outer, (A,), (T,))[1].item() == jvp(expected, (A,), (T,))[1].item()


@pytest.mark.parametrize("mode", [rg.enable_grad, rg.no_grad])
def test_a_view_that_is_turned_in_any_mode_leads_to_what_it_shows(mode):
    def turned(x):
        view = (x * 2)[:]
        with mode():
            view.unsqueeze_(0).transpose_(0, 1)
        return (view**2 * M.view(2, 1, 2)).sum()

    assert grad(turned)(A).tolist() == (8 * A * M).tolist()
    assert grad(lambda x: grad(turned)(x).sum())(A).tolist() == (8 * M).tolist()
    assert vmap(grad(turned))(SQUARES).tolist() == (8 * SQUARES * M).tolist()


def test_a_captured_tensor_that_is_a_batch_for_now_is_turned():
    def outer(x):
        y = x * 1

        def inner(row):
            y.mul_(grad(lambda t: (t**2).sum())(T))
            y.unsqueeze_(0)
            y.mul_(M)
            return row * y

        return vmap(inner)(SQUARES).sum() + y.sum()

    expected = (2 * T * M * (SQUARES.sum(0) + 1)).tolist()
    assert grad(outer)(A).tolist() == jacfwd(outer)(A).tolist() == expected


@pytest.mark.filterwarnings("ignore:vmap")
def test_a_batched_call_that_fails_half_way_is_turned_back():
    x = ROWS.clone()
    row = x[0]

    def run(a):
        x.t_()
        row.unsqueeze_(0)
        x.mul_(2)
        return a * x.sum() if a.item() else a

    assert vmap(run)(rg.ones(3)).tolist() == [30.0, 60.0, 120.0]
    assert x.tolist() == (8 * ROWS.t()).tolist()
    assert row.tolist() == [[[[0.0, 8.0, 16.0]]]]


def test_a_dual_level_that_writes_tangents_leaves_those_that_nodes_saved():
    def inner(x):
        last = x[:, 1:]
        last.mul_(last * 2)
        return (last * last).sum()

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(T.clone(), A.clone())
        tangent = forward_ad.unpack_dual(grad(inner)(dual)).tangent
    assert tangent.tolist() == [[0.0, 192.0], [0.0, 2304.0]]  # 48 x² t
