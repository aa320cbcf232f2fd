"""`autograd.Function`: both styles, marks, saved tensors, errors, the life of its nodes."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import Function
from retrograd.autograd.function import once_differentiable
from retrograd.errors import SecondBackwardError, VersionError


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y.conj(), g * x.conj()


class Power(Function):
    """The other style; `exponent` has a default and takes no gradient."""

    @staticmethod
    def forward(x, exponent=2):
        out = x * 1
        for _ in range(exponent - 1):
            out = out * x
        return out

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.exponent = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        below = Power.apply(x, ctx.exponent - 1) if ctx.exponent > 1 else 1
        return ctx.exponent * below * g, None


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Exp(Function):
    """Saves its own output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Double(Function):
    """Writes its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


class Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


class Pair(Function):
    """Two outputs; `backward` notes what it receives."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(Pair.materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        Pair.received = (g, h)
        return 2 * (0 if g is None else g) + 3 * (0 if h is None else h)

    materialize = True
    received = None


def returning(make):
    """A Function of two arguments whose backward returns what `make` makes of the cotangent."""

    class Returning(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return make(g)

    return Returning


# -- gradients ---------------------------------------------------------------------------------


def test_gradients_of_a_function_with_context_in_forward():
    x, y = leaf(1, 2), leaf(3, 5)
    (Mul.apply(x, y) * rg.tensor([1.0, 10.0], dtype=rg.float64)).sum().backward()
    assert x.grad.tolist() == [3, 50]
    assert y.grad.tolist() == [1, 20]


def test_gradients_of_a_function_with_setup_context():
    x = leaf(1, 2)
    Power.apply(x, 3).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_setup_context_fills_in_defaults_and_takes_keywords():
    x = leaf(3)
    assert autograd.grad(Power.apply(x), x)[0].tolist() == [6]
    assert autograd.grad(Power.apply(x, exponent=3), x)[0].tolist() == [27]


def test_second_derivative_differentiates_the_operations_inside_backward():
    x = leaf(2)
    (dx,) = autograd.grad(Power.apply(x, 3), x, create_graph=True)
    (ddx,) = autograd.grad(dx, x, create_graph=True)
    (dddx,) = autograd.grad(ddx, x)
    assert (dx.tolist(), ddx.tolist(), dddx.tolist()) == ([12], [12], [6])


def test_functions_pass_gradcheck_real_and_complex():
    x, z = leaf(0.3, -0.7), leaf(0.5 + 1j, -1.5j, dtype=rg.complex128)
    assert autograd.gradcheck(Mul.apply, (x, z))
    assert autograd.gradgradcheck(Mul.apply, (x, z))
    assert autograd.gradcheck(lambda t: Exp.apply(t), (x,))
    assert autograd.gradgradcheck(lambda t: Exp.apply(t), (x,))


def test_vjp_may_be_written_instead_of_backward():
    class Triple(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def vjp(ctx, g):
            return 3 * g

    x = leaf(1)
    assert autograd.grad(Triple.apply(x), x)[0].tolist() == [3]


def test_forward_is_not_recorded_and_backward_only_with_create_graph():
    seen = []

    class Modes(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(rg.is_grad_enabled())
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(rg.is_grad_enabled())
            return g * 1

    x = leaf(1)
    autograd.grad(Modes.apply(x), x)
    autograd.grad(Modes.apply(x), x, create_graph=True)
    assert seen == [False, False, False, True]


def test_functions_may_be_nested_in_forward_and_backward():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Square.apply(Square.apply(x))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 4 * Square.apply(x) * x * g

    x = leaf(3)
    (dx,) = autograd.grad(Outer.apply(x), x, create_graph=True)
    assert dx.tolist() == [108]
    assert autograd.grad(dx, x)[0].tolist() == [108]


def test_deep_nesting_needs_no_threads_where_there_are_none(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    class Deep(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.save_for_backward(x)
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if ctx.depth == 0:
                return g * 2, None
            (x,) = ctx.saved_tensors
            inner = x.detach().requires_grad_()
            with rg.enable_grad():
                Deep.apply(inner, ctx.depth - 1).backward()
            return g * inner.grad, None

    x = leaf(1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    Deep.apply(x, 40).backward()
    assert x.grad.tolist() == [2]


def test_backward_may_run_a_backward_pass_of_its_own():
    class Reentrant(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with rg.enable_grad():
                x = x.detach().requires_grad_()
                autograd.backward(x * x * x, g)
            return x.grad

    x = leaf(1, 2)
    (Reentrant.apply(x * 2) * 5).sum().backward()
    assert x.grad.tolist() == [120, 480]


# -- what goes in and out ----------------------------------------------------------------------


def test_needs_input_grad_has_an_entry_for_every_argument():
    seen = []

    class Needs(Function):
        @staticmethod
        def forward(ctx, *args):
            seen.append(ctx.needs_input_grad)
            return args[0] * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, None, None

    x = leaf(1)
    Needs.apply(x, rg.ones(1), "text", leaf(2)).backward()
    assert seen == [(True, False, False, True)] * 2


def test_outputs_may_be_none_or_no_tensors():
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            return None, x * 2, "text", rg.tensor([1, 2])

        @staticmethod
        def backward(ctx, *grads):
            Odd.received = grads
            return 2 * grads[1]

    x = leaf(1, 2)
    nothing, y, text, numbers = Odd.apply(x)
    assert (nothing, text, numbers.requires_grad) == (None, "text", False)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert Odd.received[0] is None
    assert Odd.received[2] is None
    assert Odd.received[3].tolist() == [0, 0]


def test_a_tuple_of_one_output_stays_a_tuple():
    class One(Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2,)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = leaf(1)
    (y,) = One.apply(x)
    assert autograd.grad(y, x)[0].tolist() == [2]


def test_cotangents_that_do_not_arrive_are_zeros():
    Pair.materialize = True
    x = leaf(1, 2)
    Pair.apply(x)[1].sum().backward()
    assert Pair.received[0].tolist() == [0, 0]
    assert x.grad.tolist() == [3, 3]


def test_cotangents_that_do_not_arrive_are_none_without_materialization():
    Pair.materialize = False
    x = leaf(1, 2)
    Pair.apply(x)[0].sum().backward()
    assert Pair.received[1] is None
    assert x.grad.tolist() == [2, 2]


def test_a_function_whose_output_gets_no_gradient_still_receives_zeros():
    Nothing = returning(lambda g: (None, None))
    x = leaf(1.0)
    Pair.materialize, Pair.received = True, None
    y, _ = Pair.apply(x)
    Nothing.apply(y, None).backward()
    assert Pair.received[0].tolist() == [0]
    assert x.grad.tolist() == [0]


def test_non_differentiable_outputs_have_no_history_and_zero_cotangents():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            rounded = x * 0
            ctx.mark_non_differentiable(rounded)
            return x * 2, rounded

        @staticmethod
        def backward(ctx, g, h):
            Sort.received = h
            return 2 * g

    x = leaf(1, 2)
    y, rounded = Sort.apply(x)
    assert (y.requires_grad, rounded.requires_grad) == (True, False)
    y.sum().backward()
    assert Sort.received.tolist() == [0, 0]


def test_nothing_is_recorded_without_inputs_that_require_grad_or_under_no_grad():
    x = leaf(1)
    assert not Square.apply(rg.ones(1)).requires_grad
    with rg.no_grad():
        assert not Square.apply(x).requires_grad
    assert Mul.apply(2, 3) == 6


def test_keyword_arguments_go_to_forward():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor=1):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return ctx.factor * g, None

    x = leaf(1)
    assert autograd.grad(Scale.apply(x, factor=7), x)[0].tolist() == [7]
    assert autograd.grad(Scale.apply(factor=7, x=x), x)[0].tolist() == [7]


def test_tensors_given_by_keyword_get_gradients():
    x, y = leaf(2), leaf(5)
    assert [g.tolist() for g in autograd.grad(Mul.apply(y=y, x=x), (x, y))] == [[5], [2]]


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, by=2, *, plus=0):
        ctx.by = by
        return x * by + plus

    @staticmethod
    def backward(ctx, g):
        return g * ctx.by


def test_defaults_that_were_not_given_need_no_gradient():
    x = leaf(1)
    assert autograd.grad(Scaled.apply(x=x, plus=3), x)[0].tolist() == [2]


def test_a_tensor_that_forward_takes_by_keyword_only_may_not_require_grad():
    with pytest.raises(TypeError, match="takes the tensor 'plus' by keyword only"):
        Scaled.apply(leaf(1), plus=leaf(1))


def test_arguments_taken_by_keyword_only_reach_forward_with_setup_context():
    class Plus(Function):
        @staticmethod
        def forward(x, *, plus=1):
            return x + plus

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = len(inputs)

        @staticmethod
        def backward(ctx, g):
            return g

    y = Plus.apply(leaf(1), plus=5)
    assert y.tolist() == [6]
    assert y.grad_fn.inputs == 1


def test_user_attributes_of_any_name_do_not_disturb_the_engine():
    names = ["shape", "dtype", "saved", "params", "op", "edges", "seq", "hooks", "layout", "trace"]

    class Names(Function):
        @staticmethod
        def forward(ctx, x):
            for name in names:
                setattr(ctx, name, "mine")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert [getattr(ctx, name) for name in names] == ["mine"] * len(names)
            return 2 * g

    x = leaf(1, 2)
    Names.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


# -- inputs returned, inputs written -----------------------------------------------------------


def test_an_input_returned_as_is_becomes_a_view_with_its_own_history():
    x = leaf(1, 2)
    y = Identity.apply(x)
    assert y is not x
    assert y._base is x
    assert y.tolist() == x.tolist()
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_writing_to_such_a_view_is_refused():
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        Identity.apply(leaf(1) * 1).mul_(2)


def test_a_view_made_in_forward_may_not_be_written():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return rg.cat([g, g * 0])

    a = leaf(1, 2) * 1
    y = First.apply(a)
    assert y._base is a
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.mul_(2)


def test_a_dirty_input_is_returned_itself_with_new_history_and_version():
    x = leaf(1, 2)
    a = x * 5
    version = a._version
    b = Double.apply(a)
    assert b is a
    assert a._version > version
    assert a.grad_fn.name() == "DoubleBackward"
    assert a.tolist() == [10, 20]
    a.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_a_dirty_view_changes_the_history_of_its_base():
    x = leaf(1, 2)
    a = x * 5
    Double.apply(a[:1])
    a.sum().backward()
    assert a.tolist() == [10, 10]
    assert x.grad.tolist() == [10, 5]


def test_writing_marked_dirty_invalidates_values_saved_before():
    a = leaf(1, 2) * 1
    y = a * a
    Double.apply(a)
    with pytest.raises(VersionError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_leaf_that_requires_grad_may_not_be_dirty():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(leaf(1))
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        Double.apply(leaf(1, 2)[:1])


def test_dirty_inputs_must_be_returned():
    class Lost(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(RuntimeError, match=r"marked as dirty .* were not returned as output"):
        Lost.apply(leaf(1) * 1)


def test_a_dirty_view_must_be_the_only_output():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x, x * 2

    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        Two.apply((leaf(1, 2) * 1)[:1])


def test_marking_what_is_no_input_warns():
    class Fresh(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        y = Fresh.apply(leaf(1))
    assert y.requires_grad


# -- saved tensors -----------------------------------------------------------------------------


def test_a_saved_input_is_the_same_object():
    x = leaf(1)
    y = Square.apply(x)
    assert y.grad_fn.saved_tensors[0] is x


def test_a_saved_output_is_equal_but_another_object():
    y = Exp.apply(leaf(1))
    (saved,) = y.grad_fn.saved_tensors
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert saved.tolist() == y.tolist()


def test_saved_tensors_are_empty_inside_forward_and_none_is_kept():
    class Peek(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x)
            assert ctx.saved_tensors == ()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            nothing, x = ctx.saved_tensors
            assert nothing is None
            return g * x

    x = leaf(3)
    Peek.apply(x).backward()
    assert x.grad.tolist() == [3]


def test_saved_values_that_were_written_raise():
    a = leaf(1, 2) * 1
    y = Square.apply(a)
    a.mul_(2)
    with pytest.raises(VersionError, match=r"at version 1; .* SquareBackward saved it as number 0"):
        y.sum().backward()


def test_a_saved_output_that_was_written_raises():
    y = Exp.apply(leaf(1, 2))
    y.mul_(2)
    with pytest.raises(VersionError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensors_after_a_backward_pass_raise():
    y = Square.apply(leaf(1))
    y.backward()
    with pytest.raises(SecondBackwardError, match="backward through the graph a second time"):
        y.backward()
    with pytest.raises(SecondBackwardError, match="backward through the graph a second time"):
        _ = y.grad_fn.saved_tensors


def test_retained_graphs_run_again():
    x = leaf(3)
    y = Square.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12]


def test_saved_tensors_hooks_apply_to_inputs_and_outputs():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return t.numpy().copy()

    def unpack(a):
        unpacked.append(a.tolist())
        return rg.tensor(a)

    x = leaf(0.0, 1.0)
    with autograd.graph.saved_tensors_hooks(pack, unpack):
        y = Exp.apply(Square.apply(x))
    assert packed == [[0, 1], [1, np.e]]
    y.sum().backward()
    assert unpacked == packed[::-1]
    assert x.grad.tolist() == pytest.approx([0, 2 * np.e], rel=1e-15)


def test_raw_saved_tensors_take_hooks():
    x = leaf(3)
    y = Square.apply(x)
    (handle,) = y.grad_fn._raw_saved_tensors
    handle.register_hooks(lambda t: t * 2, lambda t: t)
    y.backward()
    assert x.grad.tolist() == [12]


def test_an_input_returned_and_saved_needs_the_other_style():
    class Both(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

    with pytest.raises(RuntimeError, match="returned as-is as output is being saved for backward"):
        Both.apply(leaf(1))


def test_only_tensors_can_be_saved_or_marked():
    def function(call):
        class Wrong(Function):
            @staticmethod
            def forward(ctx, x):
                call(ctx)
                return x * 1

        return Wrong

    x = leaf(1)
    with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type str"):
        function(lambda ctx: ctx.save_for_backward("text")).apply(x)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        function(lambda ctx: ctx.mark_dirty(3)).apply(x)
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable"):
        function(lambda ctx: ctx.mark_non_differentiable(3)).apply(x)


# -- the node ----------------------------------------------------------------------------------


def test_grad_fn_is_a_node_that_shows_its_context():
    x = leaf(1)
    node = Power.apply(x, 3).grad_fn
    assert isinstance(node, autograd.graph.Node)
    assert type(node).__name__ == node.name() == "PowerBackward"
    assert node.exponent == 3
    assert node.needs_input_grad == (True, False)
    assert [type(edge).__name__ for edge, _ in node.next_functions] == ["AccumulateGrad"]
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = node.missing


def test_saving_its_own_output_closes_no_cycle():
    gc.disable()
    try:
        x = leaf(1, 2)
        y = Exp.apply(Exp.apply(x))
        refs = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y._array)]
        del y
        assert [ref() for ref in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_marked_output_closes_no_cycle():
    gc.disable()
    try:
        a = leaf(1, 2) * 1
        b = Double.apply(a)
        ref = weakref.ref(a.grad_fn)
        del a, b
        assert ref() is None
    finally:
        gc.enable()


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda g: g, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, None, g), r"incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (g, g), "different than None at position 2"),
        (lambda g: (3, None), r"expected Variable or None \(got int\)"),
        (lambda g: (g.sum(), None), r"invalid gradient at index 0 - got \[\] but expected shape"),
    ],
)
def test_wrong_results_of_backward_raise(result, message):
    with pytest.raises(RuntimeError, match=message):
        returning(result).apply(leaf(1, 2), 5).sum().backward()


def test_surplus_nones_and_larger_gradients_are_accepted():
    x = leaf(1, 2)
    returning(lambda g: (g, None, None, None)).apply(x, 5).sum().backward()
    returning(lambda g: (rg.ones(3, 2, dtype=rg.float64), None)).apply(x, 5).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_missing_methods_raise():
    class NoForward(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    class BothNames(NoBackward):
        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    with pytest.raises(NotImplementedError, match="must implement the forward function"):
        NoForward.apply(leaf(1))
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        NoBackward.apply(leaf(1)).backward()
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        BothNames.apply(leaf(1)).backward()


def test_instances_are_deprecated_and_cannot_be_called():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
        instance(leaf(1))


def test_once_differentiable_raises_when_differentiated_twice():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x, weight = leaf(3), leaf(1)
    assert autograd.grad(Once.apply(x), x)[0].tolist() == [6]
    (dx,) = autograd.grad(Once.apply(x) * weight, x, create_graph=True)
    assert dx.tolist() == [6]
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        dx.backward()


def test_an_error_in_backward_leaves_gradients_and_modes_as_they_were():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")

    x, y = leaf(1), leaf(2)
    with pytest.raises(ValueError, match="mine"):
        (Failing.apply(x) + y).backward()
    assert x.grad is None
    assert y.grad is None
    assert rg.is_grad_enabled()


def test_the_base_class_itself_has_no_forward():
    with pytest.raises(NotImplementedError, match="forward"):
        rg.autograd.Function.apply(rg.ones(2))


@pytest.mark.parametrize(
    ("with_ctx", "with_setup", "text"),
    [
        (False, False, "takes 1 positional argument but 2 were given. forward gets ctx first, then "
         "what apply got: def forward(ctx, x). Or define setup_context(ctx, inputs, output): then "
         "forward gets no ctx"),
        (True, True, "missing 1 required positional argument: 'x'. In a Function with "
         "setup_context, forward gets no ctx: def forward(x)"),
    ],
)  # fmt: skip
def test_a_forward_that_does_not_fit_says_whether_it_gets_ctx(with_ctx, with_setup, text):
    class Same(Function):
        forward = staticmethod((lambda ctx, x: x) if with_ctx else (lambda x: x))
        if with_setup:
            setup_context = staticmethod(lambda ctx, inputs, output: None)

    with pytest.raises(TypeError) as caught:
        Same.apply(rg.ones(2))
    assert str(caught.value).endswith(text)


def test_a_setup_context_that_does_not_fit_is_not_taken_for_forward():
    class Same(Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs):
            raise AssertionError

    with pytest.raises(TypeError, match=r"setup_context\(\) takes 2 positional .* given$"):
        Same.apply(rg.ones(2))


def test_a_type_error_within_forward_stays_as_it_is():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(1, 2, 3, 4)

    with pytest.raises(TypeError) as caught:
        Wrong.apply(rg.ones(2))
    assert "ctx" not in str(caught.value)
