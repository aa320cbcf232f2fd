"""Custom Functions: what `forward` may return, mark and write.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_an_output_that_is_not_used_has_a_cotangent_of_zeros():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            assert a.tolist() == [1.0]
            assert b.tolist() == [0.0]
            return a

    x = leaf(1)
    F.apply(x)[0].backward()


def test_a_non_differentiable_output_has_none_without_materialization():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            ctx.set_materialize_grads(False)
            return x.clone(), out

        @staticmethod
        def backward(ctx, a, b):
            assert b is None
            return a

    x = leaf(1)
    F.apply(x)[0].backward()


def test_a_non_differentiable_output_requires_no_grad():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            out = x > 0
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, g):
            return (g * 0).to(rg.double)

    x = leaf(1, -2)
    m = F.apply(x)
    assert not m.requires_grad
    y = x.masked_fill(m, 0)
    y.sum().backward()


def test_a_function_without_differentiable_outputs_gets_no_cotangent():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("nothing leads here")

    x = leaf(1, -2)
    r = F.apply(x * x)
    (r * x).sum().backward()
    assert x.grad.tolist() == [1, 4]


def test_an_output_may_be_returned_twice():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 2

    x = leaf(1, 2)
    a, b = F.apply(x)
    assert a is b
    (a + b).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_a_dirty_input_may_be_returned_twice():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, x

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 2

    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        F.apply(x)
    a, b = F.apply(x.clone())
    assert a is b
    (a + b).sum().backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match=r"view of|is a view"):
        F.apply((x * 1)[:1])


def test_a_leaf_returned_as_is_is_another_tensor_with_history():
    class Id(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a, a + b

        @staticmethod
        def backward(ctx, ga, gb):
            return ga + gb, gb

    calls = []
    x, y = leaf(1, 2), leaf(3, 4)
    q, p = Id.apply(x, y)
    q.register_hook(lambda g: calls.append(g.tolist()))
    (q + p + x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert y.grad.tolist() == [1, 1]
    assert calls == [[1.0, 1.0]]
    assert q is not x
    assert q.grad_fn is not None


def test_a_leaf_without_grad_that_was_written_gets_history():
    class F(autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, ga, gb):
            return ga, ga + gb

    x = rg.zeros(2, dtype=rg.float64)
    y = leaf(1, 2)
    q, _p = F.apply(x, y)
    assert q is x
    assert q.requires_grad
    assert isinstance(q.grad_fn, graph.Node)
    q.sum().backward()
    assert y.grad.tolist() == [1, 1]


def test_outputs_that_are_no_tensors_pass_through():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, None, 3, "a", [x]

        @staticmethod
        def backward(ctx, *g):
            assert len(g) == 5
            assert all(e is None for e in g[1:])
            return g[0]

    x = leaf(1)
    out = F.apply(x)
    assert out[1:4] == (None, 3, "a")
    assert out[4][0] is x
    out[0].backward()


def test_a_list_is_an_output_that_is_no_tensor():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 1]

        @staticmethod
        def backward(ctx, *g):
            return g[0]

    out = F.apply(leaf(1))
    assert isinstance(out, list)
    assert not out[0].requires_grad
    assert out[0].item() == 1


def test_a_view_written_inside_forward_belongs_to_the_function():
    class F(Function):
        @staticmethod
        def forward(ctx, inp, inplace):
            view = inp.clone()[:3]
            if inplace:
                view += 2
            return view

        @staticmethod
        def backward(ctx, g):
            return g, None

    base = leaf(*range(10))
    f = F.apply(base, False)
    assert f.grad_fn.__class__.__name__ == "FBackward"
    f = F.apply(base, True)
    assert f.grad_fn.__class__.__name__ == "FBackward"


class Alias(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("mode", [rg.no_grad, rg.inference_mode])
def test_a_view_from_a_function_in_a_mode_without_recording_is_like_any_there(mode):
    x = leaf(1)
    for source in (x, x * 1):
        with mode():
            view = Alias.apply(source)
        assert view.requires_grad
        assert view.is_leaf
        assert view.is_inference() is False


def test_where_nothing_is_recorded_nobody_asks_for_a_lost_history():
    x = leaf(1)
    with rg.no_grad():
        view = x[:]
        view.add_(1)
        assert Alias.apply(view).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        Alias.apply(view)


def test_a_view_from_a_function_is_lost_when_its_base_is_written():
    class Id(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(1)
    t = x.clone()
    v = Id.apply(t)
    t.mul_(2)
    with pytest.raises(
        RuntimeError,
        match="is a view and its base or another view of its base has been modified inplace",
    ):
        v.grad_fn


def test_a_view_is_saved_whose_history_was_lost_as_forward_wrote_its_base():
    class Id(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    class Into(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            ctx.save_for_backward(y)
            return x.mul_(2), y * 3

        @staticmethod
        def backward(ctx, g, h):
            (y,) = ctx.saved_tensors
            return 2 * g, h * y

    x = leaf(1)
    t = x * 1
    v = Id.apply(t)
    written, out = Into.apply(t, v)
    assert (written is t, t.tolist(), out.tolist()) == (True, [2.0], [6.0])
    with pytest.raises(RuntimeError, match="is a view and its base or another view of its base"):
        autograd.grad(out, x, create_graph=True)
    # PyTorch raises here, too: reading values does not look at the history
    assert autograd.grad(out, x)[0].tolist() == [20.0]


def test_marking_dirty_what_is_no_input_warns():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(UserWarning, match="was not an input"):
        F.apply(leaf(1))


def turning(step, derivative):
    """A Function that turns its input by `step` in place."""

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            step(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return derivative(g)

    return F


TURNS = {
    "unsqueeze_": (lambda x: x.unsqueeze_(0), lambda g: g.squeeze(0) * 2),
    "unsqueeze_, fitted": (lambda x: x.unsqueeze_(0), lambda g: g * 2),
    "t_": (lambda x: x.t_(), lambda g: g.t() * 2),
    "mul_, unsqueeze_": (lambda x: x.mul_(2).unsqueeze_(-1), lambda g: g.squeeze(-1) * 2),
}


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("name", TURNS)
def test_an_input_that_a_function_turns_gets_a_gradient_of_its_old_shape(name, view):
    x = rg.arange(6.0).reshape(2, 3).requires_grad_()
    y = (x * 3).view(2, 3) if view else x * 3
    z = turning(*TURNS[name]).apply(y)
    assert z is y
    weights = rg.arange(6.0).reshape(2, 3)
    (z * (weights.t() if name == "t_" else weights.reshape(z.shape))).sum().backward()
    assert x.grad.tolist() == (6 * weights).tolist()


def test_a_turn_under_no_grad_leaves_the_history_in_its_shape():
    x = rg.arange(3.0).requires_grad_()
    y = x.sin()
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.shape))
    with rg.no_grad():
        y.unsqueeze_(0)
    y.cos().sum().backward()
    expected = -np.sin(np.sin(np.arange(3.0))) * np.cos(np.arange(3.0))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)
    assert seen == [(3,)]
    assert y.grad.shape == (1, 3)


def test_a_transposition_under_no_grad_raises_in_the_backward_pass():
    x = rg.arange(6.0).reshape(2, 3).requires_grad_()
    y = x.sin()
    with rg.no_grad():
        y.t_()
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[3, 2\]"):
        y.cos().sum().backward()


@pytest.mark.parametrize("name", ["t_", "unsqueeze_", "swapaxes_"])
def test_hooks_on_a_view_stay_in_its_history_when_it_is_turned(name):
    x = rg.arange(6.0).requires_grad_()
    y = (x * 1).view(2, 3)
    other = y[0]
    other.register_hook(lambda g: g * 10)  # derived anew, without the hook
    y.register_hook(lambda g: g * 2)
    getattr(y, name)(*{"unsqueeze_": (0,), "swapaxes_": (0, 1)}.get(name, ()))
    (y.sum() + other.sum()).backward(retain_graph=True)
    assert x.grad.tolist() == [3, 3, 3, 2, 2, 2]
    y.zero_()
    other.sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 2, 2, 2]


@pytest.mark.parametrize("turns", ["t_", "squeeze_ t_", "t_ unsqueeze_ unsqueeze_"])
def test_a_view_that_is_turned_under_no_grad_has_the_history_of_its_base(turns):
    x = rg.arange(6.0).requires_grad_()
    base = x * 1
    y = base.view(2, 3)
    y.retain_grad()
    y.register_hook(lambda g: g + 0)
    with rg.no_grad():
        for turn in turns.split():
            getattr(y, turn)(*[0] * (turn == "unsqueeze_"))
    weights = rg.arange(6.0).view(2, 3)
    (y * weights.t()).sum().backward(retain_graph=True)
    assert x.grad.tolist() == weights.flatten().tolist()
    assert y.grad.equal(weights.t().expand_as(y))
    y.mul_(3)
    assert base.tolist() == [0, 3, 6, 9, 12, 15]
    (y * weights.t()).sum().backward()
    assert x.grad.tolist() == (4 * weights).flatten().tolist()


def test_a_view_that_forward_returns_without_recording_is_refused_as_a_functions():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

    view = Same.apply(rg.zeros(2))
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        view += leaf(1, 2)


def test_an_input_of_a_subclass_that_is_returned_keeps_its_class():
    class Mine(rg.Tensor):
        pass

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    x = rg.ones(2).as_subclass(Mine)
    assert type(Same.apply(x)) is Mine
    x.requires_grad_()
    y = Same.apply(x)
    assert type(y) is Mine
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_outputs_without_derivative_can_have_no_cotangent():
    seen = []

    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = False
            return first, second, x.clone()

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(grads)
            return grads[0]

    Pair.apply(leaf(1))[0].backward()
    assert seen[1] is None
    assert seen[2].tolist() == [0]


def test_what_forward_wrote_counts_where_the_mark_is_refused():
    class Doubled(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.detach().numpy()[:] *= 2  # which nobody sees
            ctx.mark_dirty(x)

    x = rg.ones(2, requires_grad=True) * 1
    y = x.pow(2).sum()
    with pytest.raises(RuntimeError, match="not returned"):
        Doubled.apply(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
