"""Custom Functions: what `backward` may return and do, and what it is given.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import traceback

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_a_gradient_for_what_is_no_tensor_is_an_error():
    class F(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(
        RuntimeError,
        match=r"a gradient different than None at position 2, but the .* input was not a Variable",
    ):
        F.apply(leaf(1), 3).backward()


def test_a_gradient_that_nobody_wants_is_ignored():
    class F(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, n = leaf(1), rg.tensor([3.0], dtype=rg.float64)
    F.apply(x, n).backward()
    assert n.grad is None
    assert x.grad.item() == 1


@pytest.mark.parametrize("first", [True, False])
def test_none_and_a_gradient_for_one_tensor_given_twice_are_that_gradient(first):
    class F(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return (g, None) if first else (None, g)

    x = leaf(1, 2)
    F.apply(x, x).sum().backward()
    assert x.grad.tolist() == [1, 1]
    y = x * 3
    F.apply(y, y).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_a_gradient_takes_the_dtype_of_its_input():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.to(rg.float32) * 3

    x = leaf(1)
    F.apply(x).backward()
    assert x.grad.dtype is rg.float64
    assert x.grad.item() == 3


def test_a_gradient_of_none_becomes_zeros_or_stays_none_for_the_next_function():
    seen = []

    class A(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append("A")
            return None

    class B(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(None if g is None else g.tolist())
            return g

    x = leaf(1)
    A.apply(B.apply(x)).backward()
    assert seen == ["A", [0.0]]
    assert x.grad.tolist() == [0.0]
    seen.clear()

    class C(B):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1

    x = leaf(1)
    A.apply(C.apply(x)).backward()
    assert seen == ["A", None]
    assert x.grad is None


def test_a_gradient_of_none_passes_through_ordinary_operations():
    seen = []

    class A(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append("A")
            return None

    class B(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(None if g is None else g.tolist())
            return g

    x = leaf(1)
    A.apply(B.apply(x) * 3).backward()
    assert seen == ["A", None]
    assert x.grad is None


def test_none_reaches_no_leaf():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(1)
    F.apply(x).backward()
    assert x.grad is None
    F.apply(x**2).backward()
    assert x.grad is None
    F.apply(x).sum().backward()
    assert x.grad is None
    assert autograd.grad(F.apply(x), x, allow_unused=True)[0] is None


def test_an_exception_of_backward_arrives_as_it_is():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        F.apply(leaf(1)).backward()


def test_backward_may_run_a_pass_of_its_own_on_saved_values():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with rg.enable_grad():
                (x,) = ctx.saved_tensors
                x = x.detach().requires_grad_()
                (x * x).sum().backward()
            return x.grad * g

    x = leaf(3)
    F.apply(x).backward()
    assert x.grad.item() == 6


def test_backward_records_exactly_with_create_graph():
    seen = []

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(rg.is_grad_enabled())
            return g

    x = leaf(3)
    F.apply(x).backward()
    F.apply(x).backward(create_graph=True)
    with rg.no_grad():
        y = None
    y = F.apply(x)
    with rg.no_grad():
        y.backward()
    assert seen == [False, True, False]


def test_hooks_of_a_leaf_run_also_where_none_arrived():
    ex = []

    class MM(Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, g):
            _x, w = ctx.saved_tensors
            return g @ w.T, None

    class H(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            ex.append("A")
            return g

    x = rg.randn(3, 3, requires_grad=True)
    x = H.apply(x)
    w = rg.randn(3, 3, requires_grad=True)
    w.register_hook(lambda *a: ex.append("B"))
    MM.apply(x, w).sum().backward()
    assert ex == ["B", "A"]


def test_callbacks_of_nested_passes_run_at_the_end_of_theirs():
    V = autograd.Variable
    for depths in ([0], [1], [0, 1]):
        c = {"inner": 0, "outer": 0}

        class F(Function):
            @staticmethod
            def forward(ctx, i):
                return i

            @staticmethod
            @autograd.function.once_differentiable
            def backward(ctx, g):
                if 1 in depths:
                    V._execution_engine.queue_callback(
                        lambda: c.__setitem__("inner", c["inner"] + 1)
                    )
                return g

        class R(Function):
            @staticmethod
            def forward(ctx, i):
                return i

            @staticmethod
            @autograd.function.once_differentiable
            def backward(ctx, g):
                if 0 in depths:
                    V._execution_engine.queue_callback(
                        lambda: c.__setitem__("outer", c["outer"] + 1)
                    )
                t = g.detach().requires_grad_()
                with rg.enable_grad():
                    o = F.apply(t).sum()
                o.backward()
                return g

        R.apply(rg.rand(3, 3, requires_grad=True)).sum().backward()
        assert c == {"inner": int(1 in depths), "outer": int(0 in depths)}


def test_a_callback_may_queue_another():
    V = autograd.Variable
    n = [0]

    def fin():
        n[0] += 1

    def add():
        n[0] += 1
        V._execution_engine.queue_callback(fin)

    class F(Function):
        @staticmethod
        def forward(ctx, i):
            return i

        @staticmethod
        @autograd.function.once_differentiable
        def backward(ctx, g):
            V._execution_engine.queue_callback(add)
            return g

    a = rg.rand(3, 3, requires_grad=True)
    F.apply(a).sum().backward()
    assert n == [2]


def test_the_traceback_shows_the_line_in_backward():
    class F(Function):
        @staticmethod
        def forward(ctx, i):
            return i * 2

        @staticmethod
        def backward(ctx, *g):
            raise ValueError("something")

    with pytest.raises(ValueError, match="something") as caught:
        F.apply(rg.rand(3, requires_grad=True)).sum().backward()
    assert 'raise ValueError("something")' in "".join(traceback.format_tb(caught.tb))


def test_none_for_an_operand_of_a_written_view_is_no_gradient():
    root = leaf(1.0)
    x = root.clone()
    v = x.narrow(0, 0, 1)

    class Undef(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.set_materialize_grads(False)
            return a * 1, b * 1

        @staticmethod
        def backward(ctx, a, b):
            return a, b

    a = rg.tensor([1.0], requires_grad=True)
    c = a.clone()
    v = c[:]
    b = rg.tensor(1.0, requires_grad=True)

    class InplaceFunc(Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    out = InplaceFunc.apply(v, b)
    out.backward()
    assert b.grad is None
    assert a.grad.item() == 2


def test_none_for_all_outputs_of_an_operation_is_none_for_its_input():
    class N(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(1, 2)
    a, _b = x.unbind()
    (N.apply(a) + 0).backward()
    assert x.grad is None
