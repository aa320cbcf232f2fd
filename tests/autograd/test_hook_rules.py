"""Hooks of every kind: when they run, what they see, what they may return.

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


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_the_error_for_a_wrong_shape_works_for_hooks_without_a_name():
    class Nameless:
        def __call__(self, g):
            return g.sum()

    x = leaf(1, 2)
    x.register_hook(Nameless())
    with pytest.raises(RuntimeError, match=r"hook '.*' has changed the size of value"):
        (x * 2).sum().backward()


def test_a_hook_must_keep_dtype_and_return_a_tensor():
    x = leaf(1, 2)
    x.register_hook(lambda g: g.float())
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        x.sum().backward()
    x = leaf(1, 2)
    x.register_hook(lambda g: 5)
    with pytest.raises(
        (RuntimeError, TypeError), match=r"expected Variable|expected tensor|returned"
    ):
        x.sum().backward()


def test_hooks_run_in_order_until_removed():
    fired = []
    x = leaf(1, 2)
    y = x * 2
    h1 = y.register_hook(lambda g: fired.append(1))
    h2 = y.register_hook(lambda g: fired.append(2))
    y.sum().backward(retain_graph=True)
    h1.remove()
    h1.remove()
    y.sum().backward(retain_graph=True)
    h2.remove()
    y.sum().backward()
    assert fired == [1, 2, 2]


def test_the_retained_gradient_is_what_the_last_hook_returned():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.backward()
    assert y.grad.item() == 3
    assert x.grad.item() == 6


def test_retain_grad_is_idempotent_and_nothing_for_leaves():
    x = leaf(1)
    x.retain_grad()
    assert not x.retains_grad
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.backward()
    assert y.grad.item() == 1
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        rg.ones(1).retain_grad()


def test_a_retained_gradient_is_that_of_the_value_after_a_write():
    a = leaf(1).clone()
    a.retain_grad()
    b = a.clone()
    b.retain_grad()
    a.mul_(2)
    (a * 3 + b).sum().backward()
    assert a.grad.tolist() == [3.0]
    assert b.grad.tolist() == [1.0]


def test_hooks_belong_to_the_value_before_or_after_a_write():
    calls = []
    a = leaf(1)
    b = a.clone()
    b.register_hook(lambda g: calls.append(("before", g.item())))
    b.mul_(2)
    b.register_hook(lambda g: calls.append(("after", g.item())))
    b.sum().backward()
    assert calls == [("after", 1.0), ("before", 2.0)]


def test_hooks_on_a_base_belong_to_the_value_before_or_after_a_write_to_a_view():
    calls = []
    base = leaf(1, 2).clone()
    view = base[0]
    base.register_hook(lambda g: calls.append(("base old", g.tolist())))
    view.register_hook(lambda g: calls.append(("view old", g.tolist())))
    view2 = base[0]
    view2.mul_(3)
    view2.register_hook(lambda g: calls.append(("view2 new", g.tolist())))
    base.register_hook(lambda g: calls.append(("base new", g.tolist())))
    base.sum().backward()
    assert calls == [("base new", [1.0, 1.0]), ("base old", [3.0, 1.0])]


def test_hooks_on_outputs_of_one_node_stay_with_their_output():
    calls = []

    class D(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    x = leaf(1)
    a, b = D.apply(x)
    a.register_hook(lambda g: calls.append(("a0", g.item())))
    b.register_hook(lambda g: calls.append(("b0", g.item())))
    a.mul_(2)
    b.mul_(2)
    a.register_hook(lambda g: calls.append(("a1", g.item())))
    b.register_hook(lambda g: calls.append(("b1", g.item())))
    (a + b * 4).sum().backward()
    assert sorted(calls) == [("a0", 2.0), ("a1", 1.0), ("b0", 8.0), ("b1", 4.0)]


def test_prehooks_of_a_node_see_what_the_one_before_returned():
    seen = []
    x = leaf(1, 1)
    y = x * 2

    def hook(g):
        seen.append(g[0].tolist())
        return (g[0] * 3,)

    y.grad_fn.register_prehook(hook)
    h = y.grad_fn.register_prehook(hook)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [18, 18]
    h.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_a_prehook_of_an_accumulator_changes_what_is_accumulated():
    x = leaf(1)
    y = x.view_as(x)
    acc = y.grad_fn.next_functions[0][0]
    acc.register_prehook(lambda g: (g[0] * 5,))
    y.backward()
    assert x.grad.item() == 5


def test_node_hooks_must_return_tuples_of_the_same_length():
    x = leaf(1)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0], g[0]))
    with pytest.raises(RuntimeError, match="returned an incorrect number of values"):
        y.backward()
    y = x * 2
    y.grad_fn.register_prehook(lambda g: g[0])
    with pytest.raises(TypeError, match="expected tuple"):
        y.backward()
    y = x * 2
    y.grad_fn.register_hook(lambda a, g: a[0])
    with pytest.raises(TypeError, match="expected tuple"):
        y.backward()


def test_a_node_hook_replaces_single_gradients():
    x = leaf(1)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 3, None))
    y.backward()
    assert x.grad.item() == 6


def test_hooks_run_for_what_the_pass_computes():
    o = []
    x, w = leaf(1), leaf(2)
    y = x * w
    x.register_hook(lambda g: o.append("x"))
    w.register_hook(lambda g: o.append("w"))
    x.register_post_accumulate_grad_hook(lambda t: o.append("px"))
    w.register_post_accumulate_grad_hook(lambda t: o.append("pw"))
    y.grad_fn.register_hook(lambda gi, go: o.append(tuple(g is None for g in gi)))
    y.grad_fn.register_prehook(lambda go: o.append("pre"))
    y.register_hook(lambda g: o.append("y"))
    y.backward(inputs=[x], retain_graph=True)
    assert o == ["y", "pre", (False, True), "x", "px"], o
    o.clear()
    autograd.grad(y, x, retain_graph=True)
    assert o == ["y", "pre", (False, True), "x"], o
    o.clear()
    autograd.grad(y, y, retain_graph=True)
    assert o == ["y"], o
    o.clear()
    autograd.grad(y, (y, x), retain_graph=True)
    assert o == ["y", "pre", (False, True), "x"], o


def test_hooks_of_an_accumulator_run_only_if_it_accumulates():
    o = []
    x = leaf(1)
    y = x * 2
    acc = y.grad_fn.next_functions[0][0]
    acc.register_prehook(lambda g: o.append("pre"))
    acc.register_hook(lambda a, b: o.append("post"))
    autograd.grad(y, x, retain_graph=True)
    assert o == []
    y.backward(inputs=[x])
    assert o == ["pre", "post"]


def test_accumulation_hooks_are_for_leaves_and_return_none():
    x = leaf(1)
    y = x * 2
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        y.register_post_accumulate_grad_hook(lambda t: None)
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        rg.ones(1).register_post_accumulate_grad_hook(lambda t: None)
    x.register_post_accumulate_grad_hook(lambda t: 1)
    with pytest.raises(TypeError, match="hooks should return None"):
        y.backward()


def test_accumulation_hooks_run_in_order_with_the_leaf():
    o = []
    a, b = leaf(1), leaf(2)
    hs = [
        a.register_post_accumulate_grad_hook(lambda t: o.append(("a1", t.grad.item()))),
        a.register_post_accumulate_grad_hook(lambda t: o.append(("a2", t is a))),
    ]
    b.register_post_accumulate_grad_hook(lambda t: o.append("b"))
    (a * b).sum().backward()
    assert o == [("a1", 2.0), ("a2", True), "b"]
    hs[0].remove()
    (a * b).sum().backward()
    assert o[3:] == [("a2", True), "b"]
    assert len(a._post_accumulate_grad_hooks) == 1


def test_accumulation_hooks_are_freed_with_their_leaf():
    def scope():
        t = leaf(1)

        class H:
            def __call__(self, p):
                pass

        h = H()
        t.register_post_accumulate_grad_hook(h)
        return weakref.ref(t), weakref.ref(h)

    gc.disable()
    try:
        a, b = scope()
        gc.collect()
        assert a() is None
        assert b() is None
    finally:
        gc.enable()


def test_the_hooks_of_a_tensor_can_be_looked_at():
    x = leaf(1)
    assert x._backward_hooks is None
    h = x.register_hook(lambda g: g)
    assert len(x._backward_hooks) == 1
    h.remove()
    assert len(x._backward_hooks) == 0


def test_a_hook_may_use_its_tensor_when_a_graph_is_created():
    x = leaf(2)
    x.register_hook(lambda g: g * x)
    (x**2).sum().backward(create_graph=True)
    assert x.grad.item() == 8
    assert x.grad.requires_grad


def test_a_hook_that_writes_its_argument_changes_the_gradient():
    x = leaf(1)
    y = x * 1
    y.register_hook(lambda g: g.mul_(5) and None)
    y.sum().backward()
    assert x.grad.item() == 5


def test_hooks_survive_turning_requires_grad_off_and_on():
    o = []
    x = leaf(1)
    x.register_hook(lambda g: o.append(1))
    x.requires_grad_(False)
    x.requires_grad_(True)
    x.sum().backward()
    assert o == [1]


def test_a_prehook_sees_none_for_an_output_without_cotangent():
    x = leaf(1, 2)
    a, _b = x.unbind()
    seen = []
    a.grad_fn.register_prehook(lambda g: seen.append([None if e is None else e.item() for e in g]))
    a.backward()
    assert seen == [[1.0, None]], seen


def test_a_handle_is_a_context():
    x = leaf(1)
    o = []
    with x.register_hook(lambda g: o.append(1)):
        x.sum().backward()
    x.sum().backward()
    assert o == [1]


def test_an_exception_of_a_hook_arrives_as_it_is():
    x = leaf(1)
    y = x * 2

    def bad(g):
        raise ValueError("inside hook")

    y.register_hook(bad)
    with pytest.raises(ValueError, match="inside hook"):
        y.backward()


def test_autograd_grad_gives_what_the_hooks_returned():
    x = leaf(2)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    assert autograd.grad(y.sum(), y)[0].item() == 10
    x.register_hook(lambda g: g * 2)
    assert autograd.grad((x * 3).sum(), x)[0].item() == 6


def test_detaching_in_place_ends_retaining():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    y.detach_()
    assert y.grad is None
    assert y.is_leaf
    y * 2


def test_hooks_on_a_view_are_lost_when_it_is_written():
    calls = []
    base = leaf(1, 2).clone()
    view = base[0]
    view.register_hook(lambda g: calls.append(("old", g.item())))
    view.mul_(3)
    view.register_hook(lambda g: calls.append(("new", g.item())))
    (base.sum() + view * 2).backward()
    assert calls == [("new", 2.0)]


def test_a_retained_gradient_of_a_view_is_that_of_what_was_written():
    base = leaf(1, 2).clone()
    view = base[0]
    view.retain_grad()
    base.retain_grad()
    view.mul_(3)
    (base.sum() + view * 2).backward()
    assert view.grad.item() == 2
    assert base.grad.tolist() == [3, 1]


def test_hooks_run_with_none_where_no_gradient_arrived():
    calls = []

    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(1)
    x.register_hook(lambda g: calls.append(("leaf", g)))
    x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: calls.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda g: calls.append(("before", g)))
    y.grad_fn.register_hook(lambda inputs, outputs: calls.append(("after", inputs, outputs)))
    Nothing.apply(y).backward()
    assert calls == [
        ("tensor", None),
        ("before", (None,)),
        ("after", (None, None), (None,)),
        ("leaf", None),
        "accumulated",
    ]
    assert y.grad is None
    assert x.grad is None
    y = x * 2
    y.register_hook(lambda g: rg.ones(1))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        Nothing.apply(y).backward()


def test_a_hook_on_a_group_is_called_once_and_may_be_pickled_by_state():
    x = leaf(1)
    y = x * 2
    z = y * 3
    counts = []
    handle = graph.register_multi_grad_hook([y, z], lambda grads: counts.append(len(grads)))
    handle.__setstate__(handle.__getstate__())
    z.backward(retain_graph=True)
    assert counts == [2]  # PyTorch calls it twice, since it counts no root
    handle.remove()
    z.backward()
    assert counts == [2]
