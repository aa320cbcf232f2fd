"""Writes of what all examples of a batched call share, into tensors with tangents."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.errors import VersionError
from retrograd.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

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


def doubled_then(read):
    """A function that doubles its first argument in place, and returns what `read` gives."""

    def run(x, *others):
        x.mul_(2)
        return read(x, *others)

    return run


def test_a_written_argument_is_seen_by_the_other_arguments_in_its_memory():
    x = rg.arange(4.0).view(2, 2)
    found = vmap(doubled_then(lambda a, b: b + 1), in_dims=(0, 1))(x, x.t())
    assert found.tolist() == [[1.0, 3.0], [5.0, 7.0]]
    assert x.tolist() == [[0.0, 2.0], [4.0, 6.0]]


def test_a_written_argument_is_seen_by_what_the_function_captured():
    x = rg.ones(3)
    view = x[:2]
    assert vmap(doubled_then(lambda a: a + x.sum() + view.sum()))(x).tolist() == [12.0] * 3
    x = rg.zeros(4)
    found = vmap(lambda a: a.add_(1) * 0 + x.sum(), chunk_size=2)(x)
    assert found.tolist() == [2.0, 2.0, 4.0, 4.0]


def test_an_argument_written_in_an_inner_batch_is_seen_in_the_outer_one():
    def run(row):
        own = row * 1
        view = own[:2]
        found = vmap(doubled_then(lambda a: a + own.sum() + view.sum()))(own)
        return found, view

    found, view = vmap(run)(rg.ones(2, 3))
    assert found.tolist() == [[12.0] * 3] * 2
    assert view.tolist() == [[2.0, 2.0]] * 2


def test_derivatives_through_written_arguments_in_shared_memory():
    def run(x):
        y = x * 1
        return vmap(doubled_then(lambda a, b: a * b))(y, y).sum()

    x = w()
    assert grad(run)(x).tolist() == [8.0, 16.0]
    assert jvp(run, (x,), (x,))[1].item() == 40.0


def test_a_transform_follows_an_argument_of_the_batch_through_the_write_of_an_inner_one():
    def squares(w, x):
        grad(lambda y: y.mul_(w).sum())(x)
        return (x * x).sum()

    found = vmap(grad(squares))(w(1.0, 2.0, 3.0), ROWS.clone())
    assert found.tolist() == [2.0, 52.0, 246.0]  # 2 w |x|^2


def test_what_an_inner_transform_saved_of_an_argument_is_read_before_it_is_written_back():
    x = ROWS.clone()
    found = vmap(grad(lambda a: (a.pow_(2) * 3).sum()))(x)
    assert found.tolist() == (6 * ROWS).tolist()
    assert x.tolist() == (ROWS**2).tolist()


def test_an_argument_that_turned_leaves_the_memory_alone():
    x = rg.arange(4.0).view(1, 2, 2)
    assert vmap(lambda a: a.t_())(x).tolist() == [[[0.0, 2.0], [1.0, 3.0]]]
    assert x.tolist() == [[[0.0, 1.0], [2.0, 3.0]]]


def both(x):
    """A batch of a function's own, and an alias of part of it."""
    own = x * 1
    return own, own[1:].detach()


def test_a_batch_sees_what_is_written_to_its_detached_alias():
    def run(x):
        own, alias = both(x)
        alias.mul_(10)
        alias.detach()[0].add_(1)
        return own, alias

    own, alias = vmap(run)(ROWS)
    assert own.tolist() == [[0.0, 11.0], [2.0, 31.0], [4.0, 51.0]]
    assert alias.tolist() == [[11.0], [31.0], [51.0]]


def test_a_detached_alias_sees_what_is_written_to_its_batch():
    def run(x):
        own, alias = both(x)
        own.view(2)[1] = 7.0
        return own, alias

    assert vmap(run)(ROWS)[1].tolist() == [[7.0]] * 3


def test_a_write_to_a_detached_alias_of_an_argument_goes_to_the_callers_memory():
    x = ROWS.clone()
    found = vmap(lambda a: a.detach()[:1].fill_(9.0) + a.sum() + x.sum())(x)
    assert x[:, 0].tolist() == [9.0] * 3
    assert found.flatten().tolist() == [55.0, 57.0, 59.0]


@pytest.mark.parametrize(
    "transform", [lambda f: vmap(grad(f)), lambda f: grad(lambda x: vmap(f)(x).sum())]
)
def test_a_write_to_a_detached_alias_leaves_the_history(transform):
    def run(x):
        square = x * x
        square.detach().mul_(2)
        return (square * square).sum()

    assert transform(run)(ROWS).tolist() == (8 * ROWS**3).tolist()


def added_to_alias(x):
    """x + sum(x), in place of x by way of its alias, which alone has the history of the sum."""
    alias = x.detach()
    alias.add_(x.sum())
    return x * x, alias * 1


def added_to_part_of_alias(x):
    alias = (x * 1).detach()[:1]
    alias.add_(x.sum())
    return x, alias


def set_by_alias(x):
    alias = x.detach()
    alias.fill_(3.0)
    return x * x, alias * x


@pytest.mark.parametrize("function", [added_to_alias, added_to_part_of_alias, set_by_alias])
def test_a_write_to_a_detached_alias_has_the_derivative_that_it_has_without_a_batch(function):
    def batched(x):
        return vmap(function)(x * 1)

    def one_by_one(x):
        found = [function(row * 1) for row in x]
        return tuple(map(rg.stack, zip(*found, strict=True)))

    for transform in (jacfwd, jacrev):
        for found, expected in zip(
            transform(batched)(ROWS), transform(one_by_one)(ROWS), strict=True
        ):
            assert found.tolist() == expected.tolist()


def test_a_view_of_a_recorded_tensor_is_written_twice_without_a_history():
    def twice(row):
        with rg.no_grad():
            row.add_(1.0)
            row.add_(row.sum())
        return row * row

    x = ROWS.clone().requires_grad_()
    whole = x * 1
    vmap(twice)(whole[:, :1]).sum().backward()
    assert whole[:, 0].tolist() == [2.0, 6.0, 10.0]
    assert x.grad.tolist() == [[4.0, 0.0], [12.0, 0.0], [20.0, 0.0]]


def test_the_data_of_a_batch_are_refused():
    with pytest.raises(RuntimeError, match="accessing `data` under vmap"):
        vmap(lambda x: x.data * 2)(ROWS)


def test_what_is_flattened_from_a_strided_view_is_a_copy_in_a_batch_as_elsewhere():
    def flattened(row):
        view = (row * 1).as_strided((2, 2), (1, 2), 1)
        flat = view.flatten()
        view.zero_()
        return flat

    rows = rg.arange(12.0).view(2, 6)
    assert vmap(flattened)(rows).tolist() == [flattened(row).tolist() for row in rows]


@pytest.mark.parametrize(
    ("run", "plain"),
    [
        (lambda r: r.sin_().sum(), lambda r: r.sin().sum()),
        (lambda r: (r[:1].mul_(r[1:] * 2) * r[1:]).sum(), lambda r: 2 * r[0] * r[1] ** 2),
        (lambda r: r.detach().mul_(r * 2).sum(), lambda r: (r.detach() * r * 2).sum()),
        (lambda r: r.mul_(w()).mul_(r * 3).sum(), lambda r: 3 * (w() * r).square().sum()),
        (lambda r: vmap(lambda a: a.exp_() * 2)(r).sum(), lambda r: 2 * r.exp().sum()),
        (lambda r: grad(lambda a: (a.sin_() * a).sum())(r).sum(), lambda r: (2 * r).sin().sum()),
    ],
)  # fmt: skip
def test_the_gradient_goes_through_a_batch_that_writes_what_it_was_given(run, plain):
    x = ROWS.double() / 4
    found = grad(lambda y: vmap(run)(y * 1).sum())(x)
    rg.testing.assert_close(found, grad(lambda y: vmap(plain)(y).sum())(x))
    leaf = x.clone().requires_grad_()
    vmap(run)(leaf * 1).sum().backward()
    rg.testing.assert_close(leaf.grad, found)


def test_the_gradient_of_a_factor_goes_through_a_batch_without_history_that_it_writes():
    factor = w(2.0, 3.0).requires_grad_()
    vmap(lambda r: r.mul_(factor).sum())(ROWS.clone()).sum().backward()
    assert factor.grad.tolist() == [6.0, 9.0]


def test_what_saved_an_argument_before_it_was_written_is_refused():
    def run(row):
        square = row * row
        row.mul_(2)
        return square.sum()

    with pytest.raises(VersionError, match="modified by an inplace operation"):
        grad(lambda y: vmap(run)(y * 1).sum())(ROWS)


def test_a_transform_writes_what_examples_share_and_the_history_outside_stays():
    def outer(x):
        y = x * 2
        part = y[1:]

        def inner(v):
            grad(lambda a: (a.mul_(a * 0.5) * x).sum())(y)
            return v * part

        return (vmap(inner)(ROWS[:, :1]) * y).sum()

    def expected(x):
        y = 2 * x * x
        return (ROWS[:, :1] * y[1:] * y).sum()

    rg.testing.assert_close(grad(outer)(w(1.0, 0.5)), grad(expected)(w(1.0, 0.5)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: rg.zeros_like(x).copy_(x),
        lambda x: rg.zeros_like(x).fill_(x.sum()),
        lambda x: rg.empty_like(x).zero_(),
    ],
)
def test_what_each_example_writes_whole_lies_in_memory_example_by_example(f):
    assert rg.vmap(f)(rg.ones(2, 3, 4)).stride() == (12, 4, 1)


def batch_scaled(x, y):
    return ((y * 1).mul_(x) * x).sum()


def zeros_filled(x, y):
    z = rg.zeros_like(y)
    z += x * x
    z[:1].mul_(y[:1])
    return (z * y).sum()


def view_scaled(x, y):
    z = y.clone()
    z[0] = x[1]
    z.mul_(x)
    z.view(-1).sin_()
    return (z * z).sum()


@pytest.mark.parametrize("f", [batch_scaled, zeros_filled, view_scaled])
@pytest.mark.parametrize("argnums", [0, 1])
def test_a_batch_is_written_inside_of_batched_tangents(f, argnums):
    xs, ys = ROWS / 5, ROWS.cos()
    for transform in (hessian, lambda f, argnums: jacrev(jacrev(f, argnums), argnums)):
        found = vmap(transform(f, argnums))(xs, ys)
        expected = rg.stack([hessian(f, argnums)(x, y) for x, y in zip(xs, ys, strict=True)])
        rg.testing.assert_close(found, expected)


def test_a_batch_that_inner_tangents_scale_is_a_batch_afterwards():
    def f(x):
        y = x * 1
        second = jacfwd(grad(lambda t: (y.mul_(x) * t**2).sum()))(x)
        y.add_(x)
        return second, y

    x = ROWS[1:]
    second, y = vmap(f)(x)
    assert y.tolist() == (x**2 + x).tolist()
    assert second.tolist() == rg.diag_embed(2 * x**2).tolist()


def test_the_memory_of_a_caller_is_not_written_inside_of_batched_tangents():
    def f(x, y):
        return hessian(lambda t: (y.mul_(t) * t).sum())(x)

    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(f)(ROWS, ROWS.clone())


def test_what_no_example_changes_is_computed_viewed_and_written_as_outside():
    x, rows = rg.arange(6.0).view(2, 3), rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def scaled(row):
        doubled = x * 2
        turned = doubled.t()
        doubled.add_(1)
        with rg.no_grad():
            turned[:2, :2].mul_(2)
        assert turned._version == doubled._version == 2
        return row.sum() * doubled

    expected = rg.tensor([[2.0, 6.0, 5.0], [14.0, 18.0, 11.0]])
    assert vmap(scaled)(rows).tolist() == [(6 * expected).tolist(), (15 * expected).tolist()]


@pytest.mark.parametrize("mode", [rg.enable_grad, rg.no_grad])
def test_what_no_example_changes_is_recorded_in_a_batch_as_outside(mode):
    w, rows = rg.ones(2, 3, requires_grad=True), rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with mode():
        found = vmap(lambda row: (w * 2).square().mv(row))(rows)
    assert found.tolist() == [[24.0, 24.0], [60.0, 60.0]]
    assert found.requires_grad == (mode is rg.enable_grad)
    if found.requires_grad:
        found.sum().backward()
        assert w.grad.tolist() == [[40.0, 56.0, 72.0]] * 2
