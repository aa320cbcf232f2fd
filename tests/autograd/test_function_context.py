"""Custom Functions: how they are defined, what their context has, and what it saves.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import gc
import weakref

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph
from retrograd.autograd.function import Function
from retrograd.errors import SecondBackwardError


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_function_needs_a_forward_and_one_derivative():
    class Bare(Function):
        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(NotImplementedError, match="must implement the forward"):
        Bare.apply(leaf(1))

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    with pytest.raises(NotImplementedError, match="must implement either the backward"):
        NoBackward.apply(leaf(1)).sum().backward()

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def vjp(ctx, g):
            return g

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(leaf(1)).sum().backward()


def test_nodes_and_contexts_are_instances_of_node_which_is_in_no_mro():
    Node = graph.Node
    a = leaf(1, 2)
    b = a.exp()
    assert isinstance(b.grad_fn, Node)
    assert issubclass(type(b.grad_fn), Node)
    assert Node not in type(b.grad_fn).mro()
    acc = b.grad_fn.next_functions[0][0]
    assert isinstance(acc, Node)
    assert not isinstance(None, Node)
    assert not isinstance(1, Node)
    assert not isinstance(Node, Node)
    assert issubclass(Node, Node)
    assert issubclass(autograd.function.BackwardCFunction, Node)

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, Node)
            return x

        @staticmethod
        def backward(ctx, g):
            assert isinstance(ctx, Node)
            return g

    out = F.apply(a)
    assert isinstance(out.grad_fn, Node)
    assert issubclass(type(out.grad_fn), Node)
    assert Node not in type(out.grad_fn).mro()
    out.sum().backward()


def test_the_context_is_the_grad_fn():
    kept = []

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            kept.append(ctx)
            return g

    y = F.apply(leaf(1))
    y.backward()
    assert kept[0] is kept[1] is y.grad_fn


def test_the_context_has_name_metadata_edges_and_number():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.metadata["k"] = 1
            return x * 1

        @staticmethod
        def backward(ctx, g):
            assert ctx.name() == "FBackward"
            assert ctx.metadata == {"k": 1}
            assert len(ctx.next_functions) == 1
            assert isinstance(ctx._sequence_nr(), int)
            return g

    y = F.apply(leaf(1))
    assert y.grad_fn.metadata == {"k": 1}
    y.backward()


def test_hooks_registered_on_the_context_run_around_backward():
    calls = []

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.register_hook(lambda gi, go: calls.append("hook"))
            ctx.register_prehook(lambda go: calls.append("prehook"))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    F.apply(leaf(1)).backward()
    assert calls == ["prehook", "hook"]


def test_the_context_knows_its_function():
    y = Double.apply(leaf(1))
    assert type(y.grad_fn).__name__ == "DoubleBackward"
    assert y.grad_fn._forward_cls is Double
    assert isinstance(y.grad_fn, autograd.function.BackwardCFunction)
    assert y.grad_fn.needs_input_grad == (True,)
    assert repr(y).endswith("grad_fn=<DoubleBackward>)")


def test_an_inplace_function_writes_its_input():
    from_ = autograd.function.InplaceFunction

    class F(from_):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1)
    y = F.apply(x.clone())
    y.backward()
    assert x.grad.item() == 2


def test_none_may_be_saved():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            a, x, b = ctx.saved_tensors
            assert a is None
            assert b is None
            return 2 * x * g

    x = leaf(3)
    y = F.apply(x)
    assert y.grad_fn.saved_tensors[0] is None
    raw = y.grad_fn._raw_saved_tensors
    assert len(raw) == 3
    y.backward()
    assert x.grad.item() == 6


def test_saving_again_replaces_what_was_saved():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(3)
    F.apply(x).backward()
    assert x.grad.item() == 6


def test_saved_inputs_have_their_history():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(3)
    y = x * 1
    z = F.apply(y)
    assert z.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    (g,) = autograd.grad(z, x, create_graph=True)
    (h,) = autograd.grad(g, x)
    assert h.item() == 2


def test_a_saved_output_has_its_history_for_the_second_derivative():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            sq = x * x
            ctx.save_for_backward(x, sq)
            return x * sq, sq

        @staticmethod
        def backward(ctx, g, gs):
            x, sq = ctx.saved_tensors
            return g * 3 * sq + gs * 2 * x

    x = leaf(3)
    y, _ = Cube.apply(x)
    (g,) = autograd.grad(y, x, create_graph=True)
    assert autograd.grad(g, x)[0].item() == 18


def test_defaults_of_forward_are_arguments_for_setup_context():
    class F(Function):
        @staticmethod
        def forward(x, k=3):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = leaf(1)
    F.apply(x).backward()
    F.apply(x, 5).backward()
    assert x.grad.item() == 8


def test_a_saved_view_that_was_written_does_not_leak():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()[:1]
            out.add_(1)
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            pass

    def scope():
        x = rg.ones(2, 2, requires_grad=True)
        out = F.apply(x.clone())
        return weakref.ref(out)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()


def test_batching_is_refused_unless_the_function_says_how():
    assert Function.generate_vmap_rule is False
    with pytest.raises(
        NotImplementedError, match="you must either override the vmap static method"
    ):
        Function.vmap(None, None)


def test_grad_fn_takes_attributes_and_lacks_others():
    y = Double.apply(leaf(1))
    with pytest.raises(
        AttributeError, match="'DoubleBackward' object has no attribute 'does_not_exist'"
    ):
        y.grad_fn.does_not_exist
    y.grad_fn.mine = 4
    assert y.grad_fn.mine == 4


def test_a_cycle_through_the_context_is_collected():
    class F(Function):
        @staticmethod
        def forward(ctx, x, meta):
            x = x.clone()
            ctx.meta = meta
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x, None

    def refs(bw):
        a = leaf(3.14)
        meta = {}
        out = F.apply(a, meta)
        meta["foo"] = out
        if bw:
            out.sum().backward()
        return weakref.ref(out)

    gc.collect()
    gc.disable()
    try:
        for bw in (False, True):
            r = refs(bw)
            assert r() is not None
            gc.collect()
            assert r() is None
    finally:
        gc.enable()


def test_saved_tensors_may_be_cleared_in_backward():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ctx.maybe_clear_saved_tensors()
            return g * 2

    x = leaf(1)
    y = F.apply(x)
    y.backward()
    assert x.grad.item() == 2
    with pytest.raises(SecondBackwardError, match="a second time"):
        _ = y.grad_fn.saved_tensors


def test_a_saved_tensor_keeps_its_output_number():
    x = leaf(*range(10))

    class M(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:5], x[5:]

        @staticmethod
        def backward(ctx, *g):
            return rg.cat(g)

    _a, b = M.apply(x)
    assert b.output_nr == 1

    class T(Function):
        @staticmethod
        def forward(ctx, b):
            ctx.save_for_backward(b)
            return b * 2

        @staticmethod
        def backward(ctx, g):
            (b,) = ctx.saved_tensors
            assert b.output_nr == 1

    T.apply(b).sum().backward()


def test_the_old_name_of_saved_tensors_warns():
    class M(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a + b

        @staticmethod
        def backward(ctx, g):
            _a, _b = ctx.saved_variables
            return g, g

    with pytest.warns(DeprecationWarning, match="saved_variables"):
        M.apply(leaf(1), leaf(2)).backward()


def test_the_context_may_hold_an_output():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            assert ctx.y is not None
            return g * 2

    x = leaf(1)
    F.apply(x).backward()
    assert x.grad.item() == 2


def test_attributes_set_on_grad_fn_are_there_in_backward():
    seen = []

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.a = 1
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((ctx.a, ctx.b))
            return g

    y = F.apply(leaf(1))
    y.grad_fn.b = 5
    y.backward()
    assert seen == [(1, 5)]


class Once(Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_saved_tensors_that_are_cleared_on_access_are_given_once():
    x = leaf(3.0)
    y = Once.apply(x)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        y.backward()


def test_saved_tensors_that_are_cleared_on_access_are_free_once_they_were_read():
    x = leaf(3.0)
    gone = weakref.ref(x)
    y = Once.apply(x)
    del x
    y.grad_fn.saved_tensors
    assert gone() is None
    assert y.grad_fn._raw_saved_tensors == ()
