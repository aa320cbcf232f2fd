"""Hooks on tensors and nodes: what they see, what they may return, and their order."""

from __future__ import annotations

import warnings
from collections import OrderedDict

import pytest

import retrograd as rg
from retrograd import autograd


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_hooks_run_in_the_promised_order():
    notes = []
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_hook(lambda inputs, outputs: notes.append("node post"))
    y.grad_fn.register_prehook(lambda outputs: notes.append("node pre"))
    y.register_hook(lambda g: notes.append("tensor 1"))
    y.register_hook(lambda g: notes.append("tensor 2"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda inputs, outputs: notes.append("leaf post"))
    accumulator.register_prehook(lambda outputs: notes.append("leaf pre"))
    x.register_post_accumulate_grad_hook(lambda t: notes.append("accumulated"))
    x.register_hook(lambda g: notes.append("leaf tensor"))
    (y * 3).backward()
    assert notes == [
        *("tensor 1", "tensor 2", "node pre", "node post"),
        *("leaf tensor", "leaf pre", "accumulated", "leaf post"),
    ]


def test_each_tensor_hook_sees_what_the_one_before_returned():
    seen = []
    x = leaf(1)
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g + 1)
    (x * 2).backward()
    assert seen == [[20]]
    assert x.grad.tolist() == [21]


def test_retained_and_captured_gradients_are_those_after_the_tensor_hooks():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (found,) = autograd.grad(y * 3, y, retain_graph=True)
    assert found.tolist() == y.grad.tolist() == [30]


def test_capturing_a_gradient_runs_no_node_hooks():
    notes = []
    x = leaf(1)
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: notes.append("pre"))
    autograd.grad(y * 3, y)
    assert notes == []


def test_a_tensor_hook_must_return_a_tensor_like_its_argument():
    def run(result):
        x = leaf(1, 2)
        x.register_hook(lambda g: result)
        (x * 2).sum().backward()

    with pytest.raises(TypeError, match=r"expected Variable, but hook .* returned 'int' object"):
        run(3)
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        run(rg.ones(3, dtype=rg.float64))
    with pytest.raises(
        RuntimeError, match=r"type of value \(was \w+.DoubleTensor got \w+.FloatTensor"
    ):
        run(rg.ones(2))


def test_node_hooks_see_and_replace_tuples():
    seen = []

    def pre(outputs):
        seen.append([g.tolist() for g in outputs])
        return (outputs[0] * 10,)

    def post(inputs, outputs):
        seen.append([inputs[0].tolist(), inputs[1], outputs[0].tolist()])
        return (inputs[0] + 1, None)

    x = leaf(1)
    y = x * 2
    y.grad_fn.register_prehook(pre)
    y.grad_fn.register_hook(post)
    (y * 3).backward()
    assert seen == [[[3]], [[60], None, [30]]]
    assert x.grad.tolist() == [61]


@pytest.mark.parametrize(
    ("result", "kind", "message"),
    [
        (lambda g: (g[0],), RuntimeError, r"incorrect number of values \(got 1, but expected 2\)"),
        (lambda g: g[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda g: (g[0], g[0]), RuntimeError, "can't replace a None gradient"),
        (lambda g: (3, None), TypeError, "expected Variable"),
    ],
)
def test_a_node_hook_must_return_as_many_gradients(result, kind, message):
    y = leaf(1) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: result(inputs))
    with pytest.raises(kind, match=message):
        y.backward()


def test_a_removed_hook_runs_no_more_and_removing_again_is_harmless():
    x = leaf(1)
    handle = x.register_hook(lambda g: g * 10)
    with x.register_hook(lambda g: g * 100):
        (x * 1).backward()
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert x.grad.tolist() == [1001]


def test_what_hooks_compute_is_recorded_exactly_if_the_pass_creates_a_graph():
    modes = []
    x, w = leaf(2), leaf(3)

    def hook(g):
        modes.append(rg.is_grad_enabled())
        return g * w

    y = x * x
    y.register_hook(hook)
    autograd.grad(y, x, retain_graph=True)
    (dx,) = autograd.grad(y, x, create_graph=True)
    assert modes == [False, True]
    assert dx.tolist() == [12]
    assert autograd.grad(dx, w)[0].tolist() == [4]


def test_a_post_accumulate_hook_may_update_its_leaf_and_drop_the_gradient():
    def step(t):
        t.sub_(t.grad, alpha=0.5)
        t.grad = None

    x = leaf(4)
    x.register_post_accumulate_grad_hook(step)
    (x * x).backward()
    assert x.tolist() == [0]
    assert x.grad is None


def test_a_post_accumulate_hook_must_return_none():
    x = leaf(1)
    x.register_post_accumulate_grad_hook(lambda t: t)
    (x * 1).backward()
    assert x.grad.tolist() == [1]
    for value, error in ((x * 2, RuntimeError), (1, TypeError)):
        with (
            x.register_post_accumulate_grad_hook(lambda t, value=value: value),
            pytest.raises(error, match="should return None"),
        ):
            (x * 1).backward()


def test_hooks_of_a_leaf_outlast_detach_():
    x = leaf(1)
    x.register_hook(lambda g: g * 2)
    x.detach_().requires_grad_()
    (x * 1).backward()
    assert x.grad.tolist() == [2]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: setattr(x, "data", rg.ones(3, dtype=rg.float32)),
        lambda x: x.resize_(3).fill_(1),
        lambda x: x.unsqueeze_(0),
        lambda x: x.set_(rg.ones(3, dtype=x.dtype)),
    ],
)
def test_a_leaf_changed_while_it_is_frozen_has_gradients_of_its_new_layout(change):
    x = leaf(1).requires_grad_(False)
    change(x)
    x.requires_grad_()
    (x * 2).sum().backward()
    assert (x.grad.shape, x.grad.dtype) == (x.shape, x.dtype)
    assert set(x.grad.flatten().tolist()) == {2}


def test_hooks_need_a_gradient_and_accumulation_hooks_a_leaf():
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        rg.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf tensors"):
        (leaf(1) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="must be callable"):
        leaf(1).register_hook(3)


def test_retain_grad_adds_up_over_passes_and_follows_an_in_place_write():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    for _ in range(2):
        (y * 3).backward(retain_graph=True)
    assert y.grad.tolist() == [6]
    y.grad = None
    y.mul_(5)
    (y * 3).backward()
    assert y.grad.tolist() == [3]


def doubled(g):
    g.mul_(2)


PLACES = {
    "tensor": lambda t: t.register_hook(doubled),
    "pre-hook": lambda t: t.grad_fn.register_prehook(lambda grads: doubled(grads[0])),
    "outputs": lambda t: t.grad_fn.register_hook(lambda inputs, outputs: doubled(outputs[0])),
    "inputs": lambda t: t.grad_fn.register_hook(lambda inputs, outputs: doubled(inputs[0])),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("which", [0, 1])
def test_what_a_hook_writes_reaches_no_other_gradient(which, place, create_graph):
    leaves = leaf(1, 2), leaf(3, 4)
    parts = [t.view(2) for t in leaves]
    PLACES[place](parts[which])
    loss = (parts[0] + parts[1]).pow(2).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        loss.backward(create_graph=create_graph)
    written, other = leaves[which], leaves[1 - which]
    assert other.grad.tolist() == [8, 12]
    assert written.grad.tolist() == ([8, 12] if place == "outputs" else [16, 24])


def test_what_hooks_of_a_leaf_write_reaches_no_other_gradient():
    for hooked in (0, 1):
        leaves = leaf(1, 2), leaf(3, 4)
        total = leaves[0] + leaves[1]
        leaves[hooked].register_hook(doubled)
        accumulator = total.grad_fn.next_functions[hooked][0]
        accumulator.register_prehook(lambda grads: doubled(grads[0]))
        accumulator.register_hook(lambda inputs, outputs: doubled(outputs[0]))
        total.backward(rg.ones(2, dtype=rg.float64))
        assert leaves[hooked].grad.tolist() == [4, 4]
        assert leaves[1 - hooked].grad.tolist() == [1, 1]


@pytest.mark.parametrize("place", ["tensor", "pre-hook", "outputs"])
def test_what_a_hook_of_a_root_writes_is_not_the_gradient_that_was_given(place):
    given = rg.ones(2, dtype=rg.float64)
    total = leaf(1, 2) * 1
    PLACES[place](total)
    total.backward(given)
    assert given.tolist() == [1, 1]


def test_what_a_node_hook_writes_to_one_gradient_reaches_no_other_of_its_own():
    a, b = leaf(1, 2), leaf(3, 4)
    total = a + b
    total.grad_fn.register_hook(lambda inputs, outputs: doubled(inputs[0]))
    total.sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2, 2], [1, 1])


def test_what_a_hook_writes_is_not_what_a_function_keeps():
    class Kept(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0]

    x = leaf(1, 2)
    y = x * 1
    y.register_hook(doubled)
    Kept.apply(y).sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([1, 2], [2, 4])


def test_a_hook_writes_the_gradients_of_several_outputs_apart():
    x = leaf(1, 2)
    first, second = x.unbind()
    first.grad_fn.register_prehook(lambda grads: doubled(grads[0]))
    (first + second).backward()
    assert x.grad.tolist() == [2, 1]


def test_a_table_of_hooks_prints_as_a_dictionary():
    module = rg.nn.Linear(1, 1)
    assert repr(module._forward_hooks) == "OrderedDict()"
    handle = module.register_forward_hook(print)
    assert repr(module._forward_hooks) == repr(OrderedDict([(handle.id, print)]))
