"""Dual tensors: values, views, in-place writes, complex numbers, levels, custom Functions."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import forward_ad
from retrograd.autograd.forward_ad import dual_level, make_dual, unpack_dual
from retrograd.func import vmap

X = rg.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=rg.float64)
T = rg.tensor([[1.0, 2.0], [-1.0, 3.0]], dtype=rg.float64)


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def tangent(t):
    return unpack_dual(t).tangent


def test_tangents_of_a_composition():
    with dual_level():
        x = make_dual(X, T)
        close(
            tangent((x.sin() * x).sum()),
            ((np.cos(X.numpy()) * X.numpy() + np.sin(X.numpy())) * T.numpy()).sum(),
        )
        primal, direction = unpack_dual(x @ x)
        close(primal, X.numpy() @ X.numpy())
        close(direction, T.numpy() @ X.numpy() + X.numpy() @ T.numpy())


def test_what_does_not_depend_on_a_dual_has_no_tangent():
    with dual_level():
        x = make_dual(X, T)
        assert tangent(X * 2) is None
        assert tangent(x.argmax()) is None
        assert tangent(x > 0) is None
        assert tangent(x.detach()) is None
        assert tangent(unpack_dual(x).primal) is None


def test_views_have_views_of_the_tangent():
    with dual_level():
        x = make_dual(X, T)
        for view in (
            lambda t: t[1],
            lambda t: t.t(),
            lambda t: t.reshape(-1)[1:3],
            lambda t: t.diagonal(),
        ):
            close(tangent(view(x)), view(T).numpy())


def test_write_to_a_dual_is_seen_by_its_views_and_its_memory():
    memory = X.clone()
    with dual_level():
        x = make_dual(memory, T.clone())
        row = x[0]
        x.mul_(x)
        close(tangent(row), (2 * X * T)[0].numpy())
        row.exp_()
        close(tangent(x)[0], (X[0] ** 2).exp().numpy() * 2 * (X * T)[0].numpy())
        close(tangent(x)[1], (2 * X * T)[1].numpy())
        assert tangent(memory) is None
    close(memory[1], X.numpy()[1] ** 2)


def test_write_of_a_dual_into_a_constant_and_into_a_view_of_it():
    with dual_level():
        x = make_dual(X, T)
        y = rg.zeros(3, 2, dtype=rg.float64)
        row = y[1]
        row.copy_(x[0])
        y.mul_(2)
        close(tangent(y), [[0, 0], [2, 4], [0, 0]])
        close(tangent(row), [2, 4])
        y.t()[0] = 5.0
        close(tangent(y), [[0, 0], [0, 4], [0, 0]])
        y.zero_()
        assert tangent(y) is None or not tangent(y).any()


def test_a_write_to_a_dual_writes_its_tangent_as_in_pytorch():
    given = T.clone()
    with dual_level():
        make_dual(X.clone(), given).mul_(3)
    close(given, 3 * T.numpy())


def test_a_write_to_what_has_the_tangent_that_was_given_leaves_that():
    given = T.clone()
    with dual_level():
        part = make_dual(X, given).frac()
        close(tangent(part.mul_(3)), 3 * T.numpy())
    close(given, T.numpy())


def test_a_write_of_a_batch_gives_another_tangent_where_one_is_no_batch():
    def slope(row):
        with dual_level():
            return tangent(make_dual(row.clone(), rg.ones(2, dtype=rg.float64)).mul_(row))

    close(vmap(slope)(X), X.numpy())


def test_a_write_to_a_dual_gives_another_tangent_where_one_has_a_history():
    x, t, w = X.clone(), T.clone().requires_grad_(), T.clone().requires_grad_()
    given = t * 1
    with dual_level():
        scaled, weighed = make_dual(x, given).mul_(3), make_dual(x.clone(), T).mul_(w)
        direction, other = tangent(scaled), tangent(weighed)
    close(given, T.numpy())
    close(rg.autograd.grad(direction.sum(), t)[0], np.full(T.shape, 3.0))
    close(rg.autograd.grad(other.sum(), w)[0], T.numpy())


def test_no_grad_does_not_stop_tangents():
    with dual_level(), rg.no_grad():
        close(tangent(make_dual(X, T) * 2), 2 * T.numpy())


def test_complex_duals():
    z, t = rg.complex(X, T), rg.complex(T, -X)
    with dual_level():
        d = make_dual(z, t)
        a, b = z.numpy(), t.numpy()
        close(tangent(d * d.conj()), a * b.conj() + b * a.conj())
        close(tangent(d.abs()), (a.conj() * b).real / abs(a))
        close(tangent(d.exp()), np.exp(a) * b)
        close(tangent(d.imag), b.imag)
        close(tangent(rg.view_as_real(d))[..., 1], b.imag)


def test_gradient_of_a_tangent_and_of_a_primal():
    x, t = X.clone().requires_grad_(), T.clone().requires_grad_()
    with dual_level():
        primal, direction = unpack_dual((make_dual(x, t) ** 3).sum())
    gx, gt = rg.autograd.grad(direction, (x, t))
    close(gx, 6 * X.numpy() * T.numpy())
    close(gt, 3 * X.numpy() ** 2)
    close(rg.autograd.grad(primal, x)[0], 3 * X.numpy() ** 2)


def test_backward_pass_within_a_level_gives_dual_gradients():
    x = X.clone().requires_grad_()
    with dual_level():
        d = make_dual(x, T)
        (g,) = rg.autograd.grad((d**3).sum(), x)
        close(unpack_dual(g).primal, 3 * X.numpy() ** 2)
        close(tangent(g), 6 * X.numpy() * T.numpy())


def test_what_hooks_packed_has_the_tangent_of_the_input_in_the_backward_pass():
    x = X.clone().requires_grad_()
    with dual_level(), rg.autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: a):
        y = make_dual(x, T).sin()
        (g,) = rg.autograd.grad(y.sum(), x, create_graph=True)
        close(tangent(g), -np.sin(X.numpy()) * T.numpy())


def test_leaving_the_level_drops_tangents():
    with dual_level():
        d = make_dual(X, T)
        y = d * 2
    assert tangent(y) is None
    with dual_level():
        assert tangent(d) is None
        assert tangent(y * 2) is None


def test_leaving_the_level_frees_what_it_held_without_the_collector():
    gc.disable()
    try:
        with dual_level():
            y = make_dual(X.clone().requires_grad_(), T).exp().tanh()
            y[0] = y[1] * 2
            held = weakref.ref(tangent(y))
            del y
        assert held() is None
    finally:
        gc.enable()


def test_level_of_one_thread_is_not_seen_by_another():
    found = []

    def other():
        try:
            make_dual(X, T)
        except RuntimeError as error:
            found.append(str(error))
        with dual_level():
            found.append(tangent(make_dual(X, T) * 2))

    with dual_level():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        close(tangent(make_dual(X, T) * 3), 3 * T.numpy())
    assert "no level exists" in found[0]
    close(found[1], 2 * T.numpy())


def test_func_jvp_nests_in_a_level():
    with dual_level():
        x = make_dual(X, T)
        _, inner = rg.func.jvp(lambda x: x**3, (x,), (rg.ones_like(X),))
        close(unpack_dual(inner).primal, 3 * X.numpy() ** 2)
        close(tangent(inner), 6 * X.numpy() * T.numpy())


class Cube(rg.autograd.Function):
    """x³ with all its derivatives written out."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


class Square(rg.autograd.Function):
    """x² without a jvp."""

    @staticmethod
    def forward(ctx, x):
        return x**2

    @staticmethod
    def backward(ctx, g):
        return g


def test_custom_function_gives_its_tangent():
    with dual_level():
        close(tangent(Cube.apply(make_dual(X, T))), 3 * X.numpy() ** 2 * T.numpy())
        with pytest.raises(NotImplementedError, match="implement the jvp function"):
            Square.apply(make_dual(X, T))


def test_custom_function_in_nested_derivatives():
    x = rg.tensor(2.0, dtype=rg.float64)
    d = lambda f: lambda x: rg.func.jvp(f, (x,), (rg.ones_like(x),))[1]
    for outer in (rg.func.grad, d):
        for inner in (rg.func.grad, d):
            assert outer(inner(Cube.apply))(x).item() == pytest.approx(12.0)


def test_enter_and_exit_by_hand():
    assert forward_ad.enter_dual_level() == 0
    try:
        close(tangent(make_dual(X, T, level=0) * 2), 2 * T.numpy())
    finally:
        forward_ad.exit_dual_level(level=0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: make_dual(X, T[0]), RuntimeError, "different size than that of the original"),
        (lambda: make_dual(X, T + 1j), RuntimeError, "tangent of a real tensor to be real"),
        (lambda: make_dual(rg.arange(2), rg.ones(2)), ValueError, "Expected primal to be floating"),
        (
            lambda: make_dual(rg.ones(2), rg.arange(2)),
            ValueError,
            "tangent to be floating",
        ),
        (lambda: make_dual(make_dual(X, T), T), RuntimeError, "already has a forward gradient"),
        (lambda: make_dual(3.0, T), TypeError, "must be a Tensor"),
        (forward_ad.enter_dual_level, RuntimeError, "Nested forward mode AD is not supported"),
    ],
)
def test_misuse_raises_what_pytorch_raises(call, kind, text):
    with dual_level(), pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_misuse_outside_a_level():
    with pytest.raises(RuntimeError, match="no level exists"):
        make_dual(X, T)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        forward_ad.exit_dual_level()
    assert unpack_dual(X).tangent is None


def test_a_level_decorates_functions():
    @dual_level()
    def slope(x):
        return unpack_dual(make_dual(x, rg.ones(2)) ** 2).tangent

    assert slope(rg.tensor([1.0, 3.0])).tolist() == [2, 6]
    assert slope(rg.tensor([2.0, 0.0])).tolist() == [4, 0]


def test_a_value_without_a_tangent_may_be_saved_and_overwritten_inside_a_level():
    with dual_level():
        x = rg.tensor([2.0, 3.0], requires_grad=True)
        y = x * 1
        y.mul_(y)
        (grad,) = rg.autograd.grad(y.sum(), x)
    assert (y.tolist(), grad.tolist()) == ([4.0, 9.0], [4.0, 6.0])
