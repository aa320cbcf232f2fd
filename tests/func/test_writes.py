"""Transforms of functions that write in place: their arguments, views of them, captured tensors."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import functional
from retrograd.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = [0.5, -1.0, 2.0]


def values(*numbers):
    return rg.tensor(numbers or X, dtype=rg.float64)


def doubled(x):
    x.mul_(2)
    return (x**3).sum()


def sine(x):
    x.sin_()
    return x.sum()


def one_set(x):
    x[0] = 5
    return (x**2).sum()


def by_its_neighbour(x):
    x[1:].mul_(x[:-1])
    return (x**2).sum()


def through_views(x):
    whole, last = x.view(-1), x[2]
    whole.sub_(1)
    last.mul_(3)
    return (x * x).sum() + last


def overwritten(x):
    x.copy_((x.clone() ** 2).flip(0))
    x.add_(x)
    return (x**2).sum()


def filled(x):
    x[:2].fill_(x.clone().prod())
    return (x**2).sum()


def masked(x):
    x[x > 0] = x[1].clone() ** 2
    return (x**3).sum()


def renewed(x):
    square = x.clone() ** 2
    x.uniform_().mul_(0)
    return (square + x).sum()


def set_by_no_grad(x):
    with rg.no_grad():
        x[0] = 3.0
    return (x**2).sum()


def twice_a_view(x):
    row = x.reshape(1, 3)
    row.t().select(0, 1).mul_(row[0, 0])
    row.mul_(row.clone())
    return (x**2).sum()


def pure(function):
    """The same without any effect on the caller."""
    return lambda x: function(x.clone())


PROGRAMS = [doubled, sine, one_set, by_its_neighbour, through_views, overwritten, filled, masked,
            renewed, twice_a_view]  # fmt: skip


def derivatives(function, x, step=1e-5):
    """Central differences of a function of one line of numbers."""
    found = []
    for place in range(len(x)):
        ends = [values(*x) for _ in range(2)]
        ends[0].data[place] += step
        ends[1].data[place] -= step
        found.append((function(ends[0]) - function(ends[1])).item() / (2 * step))
    return np.array(found)


def pulled(function):
    return lambda x: vjp(function, x)[1](rg.tensor(1.0, dtype=rg.float64))[0]


def pushed(function):
    return lambda x: rg.stack([jvp(function, (x.clone(),), (row,))[1] for row in unit(x)])


def linearized(function):
    def all_derivatives(x):
        push = linearize(function, x)[1]
        return rg.stack([push(row) for row in unit(x)])

    return all_derivatives


def unit(x):
    return rg.eye(len(x), dtype=rg.float64)


FIRST = {
    "grad": grad,
    "grad_and_value": lambda f: lambda x: grad_and_value(f)(x)[0],
    "vjp": pulled,
    "jvp": pushed,
    "linearize": linearized,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(x.repeat(2, 1))[1],
    "vmap of jacfwd": lambda f: lambda x: vmap(jacfwd(f))(x.repeat(2, 1))[1],
    "grad of a part": lambda f: lambda x: grad(lambda n, y: n * f(y), 1)(rg.tensor(1.0), x),
}


@pytest.mark.filterwarnings("ignore:vmap|There is a performance drop")
@pytest.mark.parametrize(
    ("program", "transform"),
    [
        pytest.param(program, transform, id=f"{program.__name__}-{transform}")
        for program in PROGRAMS
        for transform in FIRST
        if program is not renewed or not ("vmap" in transform or transform == "jacfwd")
    ],  # randomness under vmap is asked for explicitly
)
def test_a_function_that_writes_has_the_slopes_of_its_differences(program, transform):
    expected = derivatives(program, X)
    np.testing.assert_allclose(FIRST[transform](program)(values()), expected, rtol=1e-7, atol=1e-7)


SECOND = {
    "hessian": hessian,
    "grad of grad": lambda f: jacrev(grad(f)),
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(f)),
    "jvp of grad": lambda f: pushed(grad(f)),
    "vmap of hessian": lambda f: lambda x: vmap(hessian(f))(x.repeat(2, 1))[0],
}


@pytest.mark.filterwarnings("ignore:vmap|There is a performance drop")
@pytest.mark.parametrize("transform", SECOND)
@pytest.mark.parametrize(
    "program", [f for f in PROGRAMS if f is not renewed], ids=lambda f: f.__name__
)  # randomness under vmap is asked for explicitly
def test_second_derivatives_of_a_function_that_writes(program, transform):
    expected = hessian(pure(program))(values())
    np.testing.assert_allclose(SECOND[transform](program)(values()), expected, rtol=1e-12)


def test_a_write_under_no_grad_is_no_part_of_the_derivative():
    assert grad(set_by_no_grad)(values()).tolist() == [6.0, -2.0, 4.0]


def test_what_is_done_behind_the_graphs_back_is_no_part_of_the_derivative():
    scale = values(1.0, 2.0, 3.0)

    def by_data(x):
        x.data.mul_(2)
        return (x**2).sum()

    def new_data(x):
        x.data = scale
        return (x**2).sum()

    assert grad(by_data)(values()).tolist() == [2.0, -4.0, 8.0]
    assert grad(new_data)(values()).tolist() == [2.0, 4.0, 6.0]
    assert grad(lambda x: (x.detach_() * scale).sum())(values()).tolist() == [0.0, 0.0, 0.0]
    assert grad(lambda x: (x.requires_grad_() * scale).sum())(values()).tolist() == [1.0, 2.0, 3.0]


def test_an_out_argument_refuses_what_depends_on_the_argument():
    for target in (lambda x: x, lambda x: rg.zeros(3, dtype=rg.float64)):
        for transform in (grad, jacfwd, jacrev):
            with pytest.raises((RuntimeError, NotImplementedError), match="out="):
                transform(lambda x, target=target: rg.mul(x, 2.0, out=target(x)).sum())(values())


def test_complex_argument_is_written():
    def turned(z):
        z.mul_(1j)
        z[0] += z[1]
        return (z.real**2 + 3 * z.imag).sum()

    z = rg.tensor([1 + 2j, -0.5j], dtype=rg.complex128)
    np.testing.assert_allclose(grad(turned)(z.clone()), grad(pure(turned))(z), rtol=1e-14)
    assert grad(turned)(z.clone()).tolist() == [3 + 3j, 6 + 2j]


def test_every_argument_of_several_in_containers_is_written():
    def step(state, rate):
        state["w"].mul_(rate.clone())
        state["b"][0].copy_(state["w"][1])
        rate.add_(1)
        return (state["w"].sum() + state["b"][0] ** 2) * rate.clone()

    def fresh():
        return {"w": values(1.0, 2.0), "b": [rg.tensor(4.0, dtype=rg.float64)]}

    found, derivative = grad(step, (0, 1))(fresh(), rg.tensor(3.0, dtype=rg.float64))
    # (3 (w0 + w1) + (3 w1)²) (r + 1) at w = (1, 2), r = 3
    assert found["w"].tolist() == [12.0, 12.0 + 4 * 36.0]
    assert found["b"][0].item() == 0.0
    assert derivative.item() == 9.0 + 36.0 + 4 * (3.0 + 24.0)


@pytest.mark.parametrize("transform", [grad, lambda f: lambda xs: vjp(f, xs)[1](rg.tensor(1.0))[0]])
def test_a_container_may_be_written_too_and_the_callers_tensors_stay(transform):
    def f(xs):
        xs[0] = xs[0] * 2
        xs.append(xs[1])
        return (xs[0] * xs[2]).sum()

    x, y = rg.ones(2), rg.tensor([3.0, 4.0])
    dx, dy = transform(f)([x, y])
    assert (dx.tolist(), dy.tolist()) == ([6, 8], [2, 2])
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("gradient", [grad, lambda f: lambda x: vjp(f, x)[1](rg.tensor(1.0))[0]])
def test_elements_of_a_derivative_in_a_batch_are_written_one_by_one(gradient):
    def first(x, c):
        found = gradient(lambda x: x.sum() * c)(x)
        found[0] = 7
        return found

    assert vmap(first)(rg.ones(2, 3), rg.arange(2.0)).tolist() == [[7, 0, 0], [7, 1, 1]]


def test_elements_of_a_jacobian_are_written_one_by_one():
    found = jacrev(lambda x: x.sum() * rg.ones(2))(rg.ones(3))
    found[0, 0] = 7
    assert found.tolist() == [[7, 1, 1], [1, 1, 1]]


def test_the_caller_sees_what_was_written():
    for transform in (grad, grad_and_value, lambda f: lambda x: vjp(f, x)):
        x = values()
        transform(doubled)(x)
        assert x.tolist() == [1.0, -2.0, 4.0]
        assert not x.requires_grad
        assert x._version == 1


def test_jacobians_work_on_copies_for_they_may_call_several_times():
    for transform in (jacrev, jacfwd, hessian):
        x = values()
        transform(doubled)(x)
        assert x.tolist() == X
    both = jacfwd(lambda x, y: x.mul_(y) + y.add_(x), (0, 1))(values(2.0), values(3.0))
    assert [t.item() for t in both] == [3.0 + 3.0, 2.0 + 1.0 + 2.0]


def test_other_arguments_are_written_and_have_no_history_left():
    def filled_in(x, buffer):
        buffer.add_(x)
        return (buffer**2).sum()

    buffer = values(1.0, 1.0, 1.0)
    view = buffer[1:]
    np.testing.assert_allclose(grad(filled_in)(values(), buffer), 2 * (np.array(X) + 1))
    assert buffer.tolist() == [1.5, 0.0, 3.0]
    assert not buffer.requires_grad
    assert not view.requires_grad


def test_a_written_argument_keeps_the_history_that_somebody_can_use():
    w = rg.tensor([1.0, 2.0], requires_grad=True)
    x = w * 3
    found = grad(lambda x: (x.mul_(w).clone() ** 2).sum())(
        x
    )  # x ↦ (w x)², derivative 2 w² x = 6 w³
    assert found.tolist() == [6.0, 48.0]
    (x.sum() + found.sum()).backward()  # x is 3 w² now
    assert w.grad.tolist() == [6.0 + 18.0, 12.0 + 72.0]


def test_an_outer_derivative_sees_what_an_inner_one_wrote():
    def outer(x):
        derivative = grad(lambda y: y.mul_(y.clone()).sum())(x)  # 2 x; then x is x²
        return (derivative * x).sum()  # 2 x³

    for transform in (grad, pushed, jacfwd, linearized):
        np.testing.assert_allclose(transform(outer)(values()), 6 * np.array(X) ** 2, rtol=1e-14)


def test_a_leaf_that_requires_grad_is_not_written_by_a_transform():
    x = values().requires_grad_()
    for transform in (grad, pulled, linearized):
        with pytest.raises(RuntimeError, match="view of a leaf Variable that requires grad"):
            transform(doubled)(x)
    assert x.tolist() == X
    assert grad(pure(doubled))(x).requires_grad


def test_the_pull_back_of_a_written_argument_may_be_called_again():
    out, pull = vjp(lambda x: x.mul_(x), values())
    assert out.tolist() == [0.25, 1.0, 4.0]
    for _ in range(2):
        assert pull(values(1.0, 1.0, 1.0))[0].tolist() == [1.0, -2.0, 4.0]


def test_tensors_that_are_written_by_a_jvp_keep_no_old_tangents():
    buffer = values()
    for _ in range(5):
        jvp(lambda y: buffer.mul_(y).sum(), (values(),), (values(),))
    assert len(buffer._tangents) == 1


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"])
def test_functional_refuses_writes_to_its_leaves_and_follows_those_to_others(name):
    function = getattr(functional, name)
    one = rg.tensor(1.0, dtype=rg.float64)
    vectors = () if name in ("jacobian", "hessian") else (one if name == "vjp" else values(),)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        function(doubled, values(), *vectors)
    x = values().requires_grad_() * 1
    found = function(doubled, x, *vectors, create_graph=True)
    expected = function(pure(doubled), x, *vectors, create_graph=True)
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == other.tolist()


def test_functional_by_columns_calls_the_function_on_copies():
    how = {"vectorize": True, "strategy": "forward-mode"}
    found = functional.jacobian(lambda x, y: x.mul_(y) + y, (values(2.0), values(3.0)), **how)
    assert [t.item() for t in found] == [3.0, 3.0]


@pytest.mark.parametrize("transform", [grad, pulled, linearized, jacrev], ids=lambda f: f.__name__)
def test_a_captured_tensor_that_is_written_has_no_history_afterwards(transform):
    captured = values(1.0, 1.0, 1.0)
    view = captured[:2]

    def function(x):
        captured.mul_(x)
        return (captured * x).sum()

    assert transform(function)(values()).tolist() == [2 * x for x in X]
    assert captured.tolist() == X
    assert not captured.requires_grad
    assert not view.requires_grad
    assert view.mul_(2).tolist() == [2 * x for x in X[:2]]


def test_a_captured_tensor_that_is_written_and_returned_has_its_derivative():
    captured = values(1.0, 1.0, 1.0)
    out, pull = vjp(lambda x: captured.copy_(x * x), values())
    assert pull(values(1.0, 1.0, 1.0))[0].tolist() == [2 * x for x in X]
    assert out.tolist() == [x * x for x in X]
    assert not captured.requires_grad


def test_a_captured_tensor_that_an_inner_transform_writes_is_followed_by_the_outer_one():
    captured = values(0.0, 0.0, 0.0)

    def outer(x):
        return (grad(lambda y: captured.copy_(y * y).sum())(x) * captured).sum()

    assert grad(outer)(values()).tolist() == pytest.approx([6 * x * x for x in X])
    assert not captured.requires_grad


def filled(x):
    """A function that writes its argument into tensors made from nothing."""
    made = rg.zeros(3, dtype=rg.float64)
    part = made[1:]
    part.copy_(x)
    part.mul_(x)
    made[0] = x[0] ** 3
    return (made**2).sum()


@pytest.mark.parametrize(
    "second",
    [hessian, lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacrev(f)), lambda f: jacfwd(grad(f))],
)
def test_second_derivatives_of_writes_into_tensors_made_inside(second):
    x = rg.tensor([1.0, 2.0], dtype=rg.float64)
    assert second(filled)(x).tolist() == [[42.0, 0.0], [0.0, 48.0]]


def test_what_is_written_into_a_captured_tensor_in_a_batch_is_seen_outside():
    kept = rg.zeros(2)
    seen = kept.detach()
    part = kept[:1]

    def through(x):
        kept.copy_(x)
        return (kept * x).sum()

    assert jacfwd(grad(through))(rg.tensor([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert kept.tolist() == seen.tolist() == [1.0, 2.0]
    assert part.tolist() == [1.0]
    assert not kept.requires_grad


def test_a_captured_tensor_has_no_room_for_a_value_per_example():
    kept = rg.zeros(2)

    def through(a):
        def inner(x):
            kept.copy_(x)
            kept.mul_(a)
            return kept.sum()

        return grad(inner)(rg.ones(2))

    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(through)(rg.tensor([1.0, 2.0]))
    assert type(kept.numpy()) is np.ndarray


def outer():
    return rg.tensor([3.0, 4.0], requires_grad=True)


def first_replaced(x, w):
    y = w * 1
    y[0] = x[0]
    return (y * y).sum()


def view_written(x, w):
    y = w * 2
    v = y[1:]
    v.mul_(x[0])
    v.add_(x[1:] * w[0])
    return (y * y * w).sum() + v.sum()


def base_written(x, w):
    y = w * 2
    v = y[1:]
    y.mul_(x)
    return (v * v * w[0]).sum()


def silently_written(x, w):
    y = w * 1
    with rg.no_grad():
        y[0] = x[0]
    return (y * y * x).sum()


# The Hessian at [1, 2] with w = [3, 4], and the gradient by w of the sum of its squares.
CAPTURED = {
    first_replaced: ([[2.0, 0.0], [0.0, 0.0]], None),
    view_written: ([[512.0, 192.0], [192.0, 72.0]], [56064.0, 469536.0]),
    base_written: ([[0.0, 0.0], [0.0, 384.0]], [98304.0, 147456.0]),
}


@pytest.mark.parametrize("function", CAPTURED)
@pytest.mark.parametrize("outer_mode", [rg.func.jacfwd, rg.func.jacrev])
@pytest.mark.parametrize("inner_mode", [rg.func.jacfwd, rg.func.jacrev])
def test_the_hessian_of_writes_to_what_a_captured_tensor_gave(function, outer_mode, inner_mode):
    w = outer()
    hessian, gradient = CAPTURED[function]
    found = outer_mode(inner_mode(lambda x: function(x, w)))(rg.tensor([1.0, 2.0]))
    assert found.tolist() == hessian
    if gradient is not None:
        (g,) = rg.autograd.grad((found * found).sum(), w)
        assert g.tolist() == gradient


def test_the_hessian_of_a_silent_write_to_what_a_captured_tensor_gave():
    w = outer()
    found = rg.func.hessian(lambda x: silently_written(x, w))(rg.tensor([1.0, 2.0]))
    assert found.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    (g,) = rg.autograd.grad((found * found).sum(), w)
    assert g.tolist() == [8.0, 0.0]


def test_a_tensor_from_outside_that_was_written_has_its_history_afterwards():
    w = outer()
    y = w * 1
    v = y[:1]

    def f(x):
        y[0] = x[0]
        return (y * y).sum()

    assert rg.func.hessian(f)(rg.tensor([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert y.tolist() == [1.0, 4.0]
    assert v.tolist() == [1.0]
    (g,) = rg.autograd.grad((y * 2).sum() + v.sum(), w)
    assert g.tolist() == [0.0, 2.0]


def test_a_silent_write_inside_vmap_leaves_the_history_from_outside():
    w = rg.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True)

    def f(row):
        y = row * 1
        v = y[:1]
        with rg.no_grad():
            y.mul_(2)
        return (y * y).sum() + v.sum()

    found = rg.func.vmap(f)(w)
    assert found.tolist() == [106.0, 254.0]
    (g,) = rg.autograd.grad(found.sum(), w)
    assert g.tolist() == [[13.0, 16.0], [21.0, 24.0]]


def test_what_is_written_may_differ_between_examples_only_in_a_batch():
    w = outer()
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        rg.func.vmap(lambda x: first_replaced(x, w))(rg.ones(3, 2))
