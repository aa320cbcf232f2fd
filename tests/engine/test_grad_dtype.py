"""`grad_dtype`: a leaf whose `.grad` has another dtype than the leaf."""

from __future__ import annotations

import copy

import pytest

import retrograd as rg


def leaf(*values, dtype=rg.float32):
    return rg.tensor(values, dtype=dtype, requires_grad=True)


def test_gradients_are_added_in_the_dtype_that_was_asked_for():
    w = leaf(1, 1, dtype=rg.bfloat16)
    w.grad_dtype = rg.float32
    for _ in range(2):
        (w * 1.0).sum().backward()
        (w * 0.001).sum().backward()
    assert w.grad.dtype is rg.float32
    assert w.grad.tolist() == pytest.approx([2.002] * 2, rel=1e-5)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_keep_that_dtype_after_each_pass(create_graph):
    w = leaf(1, 2)
    w.grad_dtype = rg.float64
    for _ in range(2):
        (w * w).sum().backward(create_graph=create_graph)
    assert (w.grad.dtype, w.grad.tolist()) == (rg.float64, [4, 8])
    assert rg.autograd.grad((w * w).sum(), w)[0].dtype is rg.float64


def test_a_dtype_set_after_the_forward_pass_counts():
    w = leaf(1, 2)
    loss = (w * 3).sum()
    w.grad_dtype = rg.float64
    loss.backward()
    assert (w.grad.dtype, w.grad.tolist()) == (rg.float64, [3, 3])


def test_gradients_lie_as_their_leaf_in_another_dtype_too():
    w = rg.ones(2, 3).t().requires_grad_()
    w.grad_dtype = rg.float64
    (w * rg.arange(6.0).reshape(3, 2)).sum().backward()
    assert w.grad.stride() == (1, 3)
    assert w.grad.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_hooks_see_the_dtype_that_was_asked_for():
    seen = []
    w = leaf(1, 2, dtype=rg.float16)
    w.grad_dtype = rg.float32
    w.register_hook(lambda g: seen.append(g.dtype))
    (w * 2).sum().backward()
    assert seen == [rg.float32]


def test_an_assigned_gradient_has_the_dtype_that_was_asked_for():
    w = leaf(1, 2)
    w.grad_dtype = rg.float64
    with pytest.raises(RuntimeError, match="assign a gradient with dtype"):
        w.grad = rg.ones(2)
    w.grad = rg.ones(2, dtype=rg.float64)
    w.grad, w.grad_dtype = None, None
    w.grad = rg.ones(2, dtype=rg.float16)
    assert w.grad_dtype is None


def test_it_is_the_dtype_of_the_tensor_unless_set():
    w = leaf(1, 2)
    assert (w.grad_dtype, rg.ones(1).grad_dtype) == (rg.float32, rg.float32)
    w.grad_dtype = rg.float64
    w.requires_grad_(False).requires_grad_(True)
    w.data = rg.ones(2, dtype=rg.float16)
    assert w.grad_dtype is rg.float64
    assert w.detach().grad_dtype is copy.deepcopy(w).grad_dtype is rg.float16


@pytest.mark.parametrize(
    ("value", "text"),
    [("float32", "must be a dtype or None, but got str"), (rg.float64, "already a gradient")],
)
def test_what_may_not_be_set_is_refused(value, text):
    w = leaf(1, 2)
    (w * 2).sum().backward()
    with pytest.raises(RuntimeError, match=text):
        w.grad_dtype = value
    assert w.grad_dtype is rg.float32


def test_computed_tensors_have_none():
    y = leaf(1, 2) * 2
    with pytest.raises(RuntimeError, match="only be accessed on leaf"):
        _ = y.grad_dtype
    with pytest.raises(RuntimeError, match="only be set on leaf"):
        y.grad_dtype = rg.float64


def test_casts_of_modules_cast_gradients_of_another_dtype():
    layer = rg.nn.Linear(2, 1, bias=False, dtype=rg.bfloat16)
    layer.weight.grad_dtype = rg.float32
    layer(rg.ones(1, 2, dtype=rg.bfloat16)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype is rg.float64
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    assert layer.weight.grad_dtype is rg.float32
