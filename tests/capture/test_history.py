"""Compiled functions whose results have a history: the backward pass is a program, too."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.compiled import setting
from retrograd.capture.program import NATIVE

nn, F = rg.nn, rg.nn.functional
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


@pytest.fixture(params=[True, False], ids=["native", "calls"])
def either(request):
    setting.native = request.param
    yield
    setting.native = True


def network():
    rg.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))


def kind(y):
    return y.grad_fn.name()


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=2e-6)


def test_a_forward_pass_alone_is_replayed_and_gives_gradients(either):
    model, other = network(), network()
    forward = rg.compile(lambda x: model(x))
    for number in range(3):
        rg.manual_seed(number)
        x = rg.randn(5, 4)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        y, z = forward(a), other(b)
        assert kind(y) == ("CompiledFunctionBackward" if number else kind(z))
        close(y, z)
        (y * x[:, :3]).sum().backward()
        (z * x[:, :3]).sum().backward()
        close(a.grad, b.grad)
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            close(p.grad, q.grad)


def test_several_results_of_which_some_get_no_cotangent(either):
    w = rg.randn(3).requires_grad_()

    def both(x):
        y = x * w
        return {"sin": y.sin(), "rest": (y.exp(), y.detach() + 1, 3)}

    step = rg.compile(both)
    for use in (0, 0, 1, 2):
        x = rg.randn(3)
        found, expected = step(x), both(x)
        results = []
        for r in (found, expected):
            parts = [r["sin"].sum(), (r["rest"][0] ** 2).sum()]
            loss = parts[use] if use < 2 else parts[0] + parts[1]
            results.append(rg.autograd.grad(loss, w)[0])
            assert not r["rest"][1].requires_grad
            assert r["rest"][2] == 3
        close(*results)
    assert len(step.compiled.variants) == 1


def test_an_argument_may_have_a_history(either):
    v = rg.randn(4).requires_grad_()
    step = rg.compile(lambda x, y: (x * y).tanh())
    for _ in range(3):
        x = v * 2
        found = step(x, v.exp())
        (g,) = rg.autograd.grad(found.sum(), v, retain_graph=True)
        (e,) = rg.autograd.grad((x * v.exp()).tanh().sum(), v)
        close(g, e)
    assert len(step.compiled.variants) == 1
    leaf = rg.randn(4).requires_grad_()  # a leaf is as good
    step(leaf, leaf * 1).sum().backward()
    assert len(step.compiled.variants) == 1
    expected = rg.autograd.grad((leaf * leaf).tanh().sum(), leaf)[0]
    close(leaf.grad, expected)


def test_second_derivatives_run_the_function_again(either):
    w = rg.randn(3, dtype=rg.float64).requires_grad_()
    step = rg.compile(lambda x: (x * w).sin().prod())
    for _ in range(3):
        x = rg.randn(3, dtype=rg.float64).requires_grad_()
        y = step(x)
        (g,) = rg.autograd.grad(y, x, create_graph=True)
        (h,) = rg.autograd.grad((g**2).sum(), w)
        y = (x * w).sin().prod()
        (k,) = rg.autograd.grad(y, x, create_graph=True)
        (e,) = rg.autograd.grad((k**2).sum(), w)
        np.testing.assert_allclose(h.numpy(), e.numpy(), rtol=1e-12)
    assert rg.autograd.gradcheck(step, (x,))
    assert rg.autograd.gradgradcheck(step, (x,))


def test_second_derivatives_of_draws_are_refused():
    step = rg.compile(lambda x: F.dropout(x * x, 0.5))
    for _ in range(2):
        y = step(rg.ones(6).requires_grad_())
    with pytest.raises(RuntimeError, match="cannot run again to give it: it draws numbers"):
        y.sum().backward(create_graph=True)


def test_gradients_of_draws_are_those_of_the_numbers_drawn(either):
    step = rg.compile(lambda x: F.dropout(x * 3, 0.5))
    for _ in range(3):
        x = rg.ones(50).requires_grad_()
        y = step(x)
        y.sum().backward()
        close(x.grad, y)
        assert 0 < float((y > 0).sum()) < 50


def test_what_is_read_by_the_backward_pass_must_not_be_written(either):
    w = rg.ones(3).requires_grad_()
    step = rg.compile(lambda x: (x * w).exp())
    for number in range(3):
        x = rg.ones(3)
        y = step(x)
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        y = step(x)
        x.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        y = step(rg.ones(3))
        with rg.no_grad():
            w.mul_(1.0)
        if number:  # w is saved only for the gradient of x, which needs none
            y.sum().backward()


def test_a_view_of_a_parameter_is_read_from_the_parameter(either):
    w = rg.randn(2, 3).requires_grad_()
    step = rg.compile(lambda x: x @ w.t())
    x = rg.randn(4, 3).requires_grad_()
    for _ in range(3):
        y = step(x)
        with rg.no_grad():
            w.mul_(2.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_graph_is_used_once_unless_it_is_retained(either):
    step = rg.compile(lambda x: x.exp() * x)
    for _ in range(3):
        x = rg.ones(3).requires_grad_()
        y = step(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.tolist() == pytest.approx([2 * 2 * np.e] * 3, rel=1e-6)
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_hooks_on_results_and_leaves_run(either):
    w = rg.ones(3).requires_grad_()
    step = rg.compile(lambda x: x * w)
    for _ in range(3):
        x, seen = rg.ones(3).requires_grad_(), []
        w.grad = None
        y = step(x)
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        x.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        y.sum().backward()
        assert seen == [[2.0] * 3]
        assert w.grad.tolist() == y.grad.tolist() == [2.0] * 3


def test_batched_cotangents_go_through_the_function():
    w = rg.randn(3).requires_grad_()
    step = rg.compile(lambda x: (x * w).sin())
    for _ in range(3):
        x = rg.randn(3)
        (g,) = rg.autograd.grad(step(x), w, rg.eye(3), is_grads_batched=True)
        (e,) = rg.autograd.grad((x * w).sin(), w, rg.eye(3), is_grads_batched=True)
        close(g, e)


def test_results_may_be_views_of_what_is_made_within(either):
    w = rg.randn(6).requires_grad_()
    step = rg.compile(lambda x: (x * w).view(2, 3).t())
    for _ in range(3):
        x = rg.randn(6)
        y = step(x)
        assert y.shape == (3, 2)
        assert y.stride() == (1, 3)
        y[0, 0] = 5.0
        (g,) = rg.autograd.grad(y.sum(), w)
        assert g.tolist() == [0.0, *x.tolist()[1:]]


def test_an_argument_that_is_written_is_written_each_time():
    w = rg.ones(3).requires_grad_()
    step = rg.compile(lambda x: x.mul_(w))
    for _ in range(3):
        x = rg.ones(3)
        step(x)
        assert kind(x) == "MulBackward0"
        y = rg.ones(3).requires_grad_() * 2
        step(y).sum().backward()
    assert w.grad.tolist() == [6.0] * 3


def test_graphs_are_freed():
    w = rg.randn(3).requires_grad_()
    step = rg.compile(lambda x: (x * w).exp())
    step(rg.ones(3))
    gc.disable()
    try:
        y = step(rg.ones(3))
        ref = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_complex_gradients_are_those_of_the_step(either):
    w = rg.randn(3, dtype=rg.complex64).requires_grad_()
    step = rg.compile(lambda z: ((z * w).abs() ** 2, z.conj() * w))
    for _ in range(3):
        z = rg.randn(3, dtype=rg.complex64)
        a, b = step(z)
        (g,) = rg.autograd.grad(a.sum() + (b * b).sum().real, w)
        a, b = (z * w).abs() ** 2, z.conj() * w
        (e,) = rg.autograd.grad(a.sum() + (b * b).sum().real, w)
        close(g, e)
