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


def hidden_and_loss(x, w):
    h = (x @ w).tanh()
    kept = h.exp()
    u, v = (kept * h).unbind(0)
    return h, (u * kept[1]).sum() + (h * v).sum(), kept.sum(1)


def asked(function, ask):
    """What `ask` finds of the results of a function: values, or the name of an error."""
    rg.manual_seed(3)
    x, w = rg.randn(2, 3, dtype=rg.float64), rg.randn(3, 3, dtype=rg.float64).requires_grad_()
    x.requires_grad_()
    results = function(x, w)
    assert [t.grad_fn is not None for t in results] == [True] * 3
    try:
        found = ask(x, w, *results)
    except RuntimeError as error:
        return [type(error).__name__]
    return [None if t is None else t.detach() for t in (*found, *results, x.grad, w.grad)]


def after(*backward):
    """An `ask` of gradients after passes from some results."""

    def ask(x, w, *results):
        for number, retain in backward:
            results[number].sin().sum().backward(retain_graph=retain)
        return ()

    return ask


def watched(x, w, h, loss, kept):
    seen = []
    h.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    kept.retain_grad()
    (loss * kept.sum() + h.sum()).backward()
    return [*seen, kept.grad]


def between(x, w, h, loss, kept):
    return rg.autograd.grad(loss.exp(), [h, w, kept], allow_unused=True)


def twice(x, w, h, loss, kept):
    (g,) = rg.autograd.grad(loss, x, create_graph=True)
    (g.pow(2).sum() + kept.sum()).backward()
    return [g]


def written(x, w, h, loss, kept):
    kept.mul_(2)
    (loss + kept.sum()).backward()
    return ()


def written_and_saved(x, w, h, loss, kept):
    h.mul_(2)
    loss.backward()
    return ()


STRETCHES = (
    after((0, False)), after((1, False)), after((2, False)), after((0, True), (1, False)),
    after((0, False), (1, False)), after((1, True), (2, True), (0, False)), watched, between, twice,
    written, written_and_saved,
)  # fmt: skip


@pytest.mark.parametrize("ask", STRETCHES)
def test_results_may_depend_on_one_another(either, ask):
    function = rg.compile(hidden_and_loss)
    asked(function, after())
    assert len(function.compiled.variants) == 1, function.compiled.reasons
    found, expected = asked(function, ask), asked(hidden_and_loss, ask)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, rg.Tensor) and isinstance(b, rg.Tensor):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
        else:
            assert a == b


def test_results_that_share_nothing_are_freed_one_by_one(either):
    @rg.compile
    def apart(x, y):
        return x.exp(), y.exp()

    for _ in range(2):
        x, y = rg.ones(2, requires_grad=True), rg.zeros(2, requires_grad=True)
        a, b = apart(x, y)
        a.sum().backward()
        b.sum().backward()
        assert kind(a) in ("CompiledFunctionBackward", "ExpBackward0")
        close(x.grad, a)
        close(y.grad, b)
    assert len(apart.compiled.variants) == 1


def test_a_recurrent_layer_returns_its_state(either):
    rg.manual_seed(0)
    layer, other = nn.LSTM(3, 4), nn.LSTM(3, 4)
    other.load_state_dict(layer.state_dict())
    compiled = rg.compile(layer)
    for _ in range(3):
        x = rg.randn(5, 2, 3)
        for module in (compiled, other):
            out, (h, c) = module(x)
            (out.sin().sum() + h.exp().sum() + c.sum()).backward()
    for p, q in zip(layer.parameters(), other.parameters(), strict=True):
        close(p.grad, q.grad)


def test_results_may_be_views_of_one_another_and_of_what_was_there(either):
    w = rg.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)

    def views(x):
        h = (x @ w).sin()
        return h, h.t()[0], w.view(4)[1:]

    compiled = rg.compile(views)
    compiled(rg.ones(2, 2))
    assert len(compiled.compiled.variants) == 1, compiled.compiled.reasons
    found = []
    for function in (compiled, views):
        w.grad = None
        x = rg.tensor([[0.3, 1.0], [-1.0, 2.0]], requires_grad=True)
        h, column, part = function(x)
        assert column._base is h
        assert part._base is w
        column.mul_(3)  # which is a write to h
        assert h._version == 1
        (h.sum() + (part * part).sum() + column.exp().sum()).backward()
        found.append((h, column, part, x.grad, w.grad))
    for a, b in zip(*found, strict=True):
        close(a, b)


def test_a_result_that_was_written_before_another_one_saved_it(either):
    w, x = rg.randn(3, 4).requires_grad_(), rg.randn(3, 4)

    def step(x):
        y = (w * x).clone()
        y[:, 1:] *= 2
        return y.t(), y.exp().sum() + (y * y).sum()

    compiled = rg.compile(step)
    for _ in range(3):
        y, loss = compiled(x)
        w.grad = None
        loss.backward()
        found = w.grad
        w.grad = None
        step(x)[1].backward()
        close(found, w.grad)
        assert y._version == step(x)[0]._version
    assert compiled.compiled.variants


def test_the_cotangent_of_a_loss_may_be_a_scalar_of_numpys():
    w = rg.ones(2, requires_grad=True)

    @rg.compile
    def loss(x):
        return (x * w + rg.rand(2)).sum()  # which cannot run again

    for _ in range(3):
        w.grad = None
        loss(rg.ones(2)).abs().backward()
        assert w.grad.tolist() == [1.0, 1.0]
    assert loss.compiled.variants


@pytest.mark.parametrize("scale", [2.0, None])
def test_a_graph_that_keeps_numbers_alone_is_freed_as_without_compiling(scale):
    w = rg.ones(2, requires_grad=True)

    def step(x):
        return w + x if scale is None else scale * w + x

    def passes_of(call):
        y = call(rg.ones(2)).sum()
        y.backward()
        try:
            y.backward()
        except RuntimeError as error:
            return str(error)[:46]
        return ""

    compiled = rg.compile(step)
    found = [passes_of(call) for call in (step, compiled, compiled)]
    assert compiled.compiled.variants
    assert found == ["" if scale is None else "Trying to backward through the graph a second "] * 3
