"""What reaches a leaf has its shape and dtype, also where the leaf changed since the forward."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

INVALID = "invalid gradient at index 0"


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize(
    "data",
    [rg.ones(4, 2, 3), rg.ones(5)],
    ids=["more", "other"],
)
def test_a_leaf_whose_data_took_another_shape_refuses_the_old_graph(create_graph, data):
    x = rg.ones(2, 3, requires_grad=True)
    loss = (x * 2).sum()
    x.data = data
    with pytest.raises(RuntimeError, match=INVALID):
        loss.backward(create_graph=create_graph)
    assert x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_leaf_transposed_under_no_grad_refuses_the_old_graph(create_graph):
    w = rg.ones(2, 3, requires_grad=True)
    loss = (w * 2).sum()
    with rg.no_grad():
        w.t_()
    with pytest.raises(RuntimeError, match=INVALID):
        loss.backward(create_graph=create_graph)
    (w * 2).sum().backward(create_graph=create_graph)
    assert w.grad.shape == (3, 2)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_gradient_of_another_shape_than_the_leaf_now_has_is_not_added_to(create_graph):
    w = rg.ones(1, requires_grad=True)
    (w * 2).sum().backward()
    w.data = rg.ones(3)
    with pytest.raises(RuntimeError, match=INVALID):
        (w * 2).sum().backward(create_graph=create_graph)
    assert w.grad.tolist() == [2.0]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex64], ids=str)
def test_a_leaf_of_another_dtype_gets_a_gradient_of_the_dtype_in_the_graph(create_graph, dtype):
    w = rg.ones(3, requires_grad=True)
    loss = (w * 2).sum()
    w.data = rg.ones(3, dtype=dtype)
    loss.backward(create_graph=create_graph)
    assert w.grad.dtype is rg.float32
    np.testing.assert_array_equal(w.grad.detach().numpy(), [2.0, 2.0, 2.0])


def test_an_integer_beside_a_float_leaves_the_gradient_single():
    x = rg.ones(3, requires_grad=True)
    (x.sum() * rg.tensor(2)).backward()
    assert x.grad.dtype is rg.float32
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_hooks_and_custom_functions_see_the_dtype_of_their_tensor():
    seen = []

    class Twice(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            seen.append(g.dtype)
            return 2 * g

    x = rg.ones(3, requires_grad=True)
    y = Twice.apply(x)
    y.register_hook(lambda g: seen.append(g.dtype))
    (y * rg.tensor(3.0, dtype=rg.float64)).sum().backward()
    assert seen == [rg.float32, rg.float32]
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


CHANGES = {
    "data": lambda x: setattr(x, "data", rg.ones(1, 2)),
    "data of one element": lambda x: setattr(x, "data", rg.ones(())),
    "set_": lambda x: x.set_(rg.ones(2)),
    "t_": lambda x: x.t_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "as_strided_": lambda x: x.as_strided_((2,), (1,)),
    "out": lambda x: rg.add(rg.ones(2), 1, out=x),
    "several outs": lambda x: rg.max(rg.ones(2, 2), 0, out=(x, rg.empty(0, dtype=rg.int64))),
    "requires_grad_": lambda x: (
        setattr(x.requires_grad_(False), "data", rg.ones(2)) or x.requires_grad_()
    ),
}
PASSES = {
    "backward": lambda x, y: y.sum().backward(),
    "both": lambda x, y: (y.sum() + (x * 3).sum()).backward(),
    "both, the new first": lambda x, y: ((x * x).sum() + y.sum() + (x * 3).sum()).backward(),
    "grad": lambda x, y: rg.autograd.grad(y.sum(), x),
    "grad of both": lambda x, y: rg.autograd.grad(y.sum() + (x * 3).sum(), x),
    "inputs": lambda x, y: y.sum().backward(inputs=[x]),
    "create_graph": lambda x, y: y.sum().backward(create_graph=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("run", PASSES.values(), ids=PASSES)
@pytest.mark.filterwarnings("ignore:Using backward", "ignore:An output with one or more")
def test_a_graph_from_before_a_leaf_got_another_shape_raises(change, run):
    x = rg.ones(4, 2, requires_grad=True)
    y = x * 2
    with rg.no_grad():
        change(x)
    with pytest.raises(RuntimeError, match=INVALID):
        run(x, y)
    assert x.grad is None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.filterwarnings("ignore:An output with one or more")
def test_a_graph_from_after_that_fills_the_gradient_and_calls_the_hooks(change):
    x = rg.ones(4, 2, requires_grad=True)
    kept = x * 2
    x.register_hook(lambda g: g * 10)
    with rg.no_grad():
        change(x)
    (x * 3).sum().backward()
    assert x.grad.shape == x.shape
    assert set(x.grad.flatten().tolist()) == {30}
    assert kept.requires_grad


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("run", PASSES.values(), ids=PASSES)
@pytest.mark.filterwarnings("ignore:Using backward", "ignore:An output with one or more")
def test_a_leaf_that_has_its_shape_again_takes_the_graphs_from_then(change, run):
    found = []
    for changes in (False, True):
        x = rg.ones(4, 2, requires_grad=True)
        x.register_hook(lambda g: g * 10)
        y = x * 2
        if changes:
            with rg.no_grad():
                change(x)
            between = x * 3
            x.data = rg.ones(4, 2)
            with pytest.raises(RuntimeError, match=INVALID):
                between.sum().backward()
        found.append((run(x, y) or [x.grad])[0].tolist())
    assert found[0] == found[1]


def test_a_pass_to_other_leaves_than_one_that_got_another_shape_works():
    x, w = rg.ones(4, requires_grad=True), rg.ones(4, requires_grad=True)
    y = x + w
    x.data = rg.ones(2)
    y.sum().backward(inputs=[w])
    assert w.grad.tolist() == [1, 1, 1, 1]


def test_a_leaf_that_is_gone_gets_nothing_whatever_its_shape_was():
    x, w = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    y = (x * 2 + w).sum()
    x.data = rg.ones(3)
    del x
    y.backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_a_gradient_of_another_device_is_refused():
    w = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="assign a gradient with device type 'meta'"):
        w.grad = rg.ones(2, device="meta")
    assert w.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_leaf_that_became_a_result_refuses_the_old_graph(create_graph):
    x, scale = (rg.ones(1, requires_grad=True) for _ in range(2))
    loss = (x * 2).sum()
    x.requires_grad_(False)
    x.mul_(scale)
    with pytest.raises(RuntimeError, match=r"moved into the graph interior: MulBackward0 wrote"):
        loss.backward(create_graph=create_graph)
    assert rg.autograd.grad(x.sum(), scale)[0].tolist() == [1.0]


def test_a_leaf_that_requires_grad_again_is_filled_by_the_old_graph():
    x = rg.ones(1, requires_grad=True)
    loss = (x * 2).sum()
    x.requires_grad_(False)
    x.requires_grad_(True)
    loss.backward()
    assert x.grad.tolist() == [2.0]
