"""How gradients of leaves lie in memory, and whose memory it is."""

from __future__ import annotations

import tracemalloc

import pytest

import retrograd as rg


def strided(leaf, make=lambda x: (x * 2).sum(), **options):
    """The strides of a leaf's gradient."""
    make(leaf.requires_grad_()).backward(**options)
    assert leaf.grad.tolist() == (2 * rg.ones_like(leaf)).tolist()
    return leaf.grad.stride()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (x * 2).sum(),
        lambda x: x.sum() * 2,
        lambda x: (x * rg.full_like(x, 2.0, memory_format=rg.contiguous_format)).sum(),
        lambda x: (x * rg.full(x.shape[::-1], 2.0).permute(3, 2, 1, 0)).sum(),
    ],
    ids=["same", "expanded", "row-major", "reversed"],
)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "leaf",
    [
        lambda: rg.zeros(2, 3, 4, 5),
        lambda: rg.zeros(2, 3, 4, 5).to(memory_format=rg.channels_last),
        lambda: rg.zeros(5, 3, 4, 2).permute(3, 1, 2, 0),
        lambda: rg.zeros(2, 2, 2, 2).permute(3, 1, 2, 0),
    ],
    ids=["row-major", "channels_last", "permuted", "twos"],
)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_gradient_of_a_dense_leaf_lies_as_the_leaf_does(leaf, make, create_graph):
    x = leaf()
    assert strided(x, make, create_graph=create_graph) == x.stride()


@pytest.mark.parametrize(
    "leaf",
    [
        lambda: rg.zeros(6, 4)[::2].t(),
        lambda: rg.zeros(4, 1).expand(4, 3),
        lambda: rg.zeros(3, 2, 4)[:, 0].t(),
    ],
    ids=["strided", "expanded", "select"],
)
def test_the_gradient_of_another_leaf_is_in_row_major_order(leaf):
    assert strided(leaf()) == (3, 1)


def test_a_leaf_that_changes_its_layout_keeps_the_gradient_that_it_has():
    x = rg.zeros(2, 3, requires_grad=True)
    x.sum().backward()
    x.data = rg.zeros(3, 2).t()
    x.sum().backward()
    assert x.grad.stride() == (3, 1)
    assert x.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_that_retain_grad_keeps_is_in_row_major_order(create_graph):
    x = rg.arange(6.0, requires_grad=True)
    y = (x * 1).view(3, 2).t()
    y.retain_grad()
    (y * y).sum().backward(create_graph=create_graph)
    assert y.grad.stride() == (3, 1)
    assert y.grad.tolist() == [[0, 4, 8], [2, 6, 10]]


@pytest.mark.parametrize(
    "shared", [lambda: rg.zeros(1).expand(2, 2), lambda: rg.zeros(3).as_strided((2, 2), (1, 1))]
)
def test_a_gradient_of_which_several_elements_are_one_is_replaced_by_the_sum(shared):
    x = rg.ones(2, 2, requires_grad=True)
    x.grad = given = shared()
    (x * rg.arange(4.0).view(2, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 1], [2, 3]]
    assert not given.any()


def test_a_gradient_with_gaps_is_added_to_in_place():
    x = rg.ones(2, 2, requires_grad=True)
    x.grad = given = rg.ones(2, 4)[:, ::2]
    (x * rg.arange(4.0).view(2, 2)).sum().backward()
    assert x.grad is given
    assert given.tolist() == [[1, 2], [3, 4]]


class Twofold(rg.autograd.Function):
    """x + y, whose backward gives both the same tensor, and remembers where that lies."""

    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        made = g * 2
        Twofold.place = made.data_ptr()
        Twofold.kept = made if Twofold.keep else None
        return made, made


@pytest.mark.parametrize("keep", [False, True])
def test_a_gradient_that_nobody_else_holds_is_not_copied(keep):
    Twofold.keep = keep
    x, y = rg.zeros(3, requires_grad=True), rg.zeros(3, requires_grad=True)
    Twofold.apply(x, y).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [2, 2, 2]
    places = {x.grad.data_ptr(), y.grad.data_ptr()}
    assert len(places) == 2
    assert (Twofold.place in places) is not keep
    Twofold.kept = None


@pytest.mark.parametrize(
    ("register", "arrays"),
    [("register_hook", 2), ("register_post_accumulate_grad_hook", 1)],
)
def test_a_gradient_is_copied_for_hooks_that_may_keep_it_alone(register, arrays):
    x, w = rg.zeros(100_000, requires_grad=True), rg.full((100_000,), 2.0)
    getattr(x, register)(lambda _: None)
    y = (x * w).sum()
    tracemalloc.start()
    try:
        y.backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.grad[0] == 2
    assert round(peak / 400_000) == arrays


@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: x[:2], rg.exp, lambda x: x.sort()[0]])
@pytest.mark.parametrize("shape", [(4,), (3, 5), ()])
def test_a_gradient_that_cannot_fit_what_data_replaced_is_refused(make, shape):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = make(x)
    y.data = rg.ones(shape)
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[.*compatible"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("power", [1, 2])
def test_a_gradient_by_larger_data_is_summed_to_the_shape_of_the_history(power):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x[::2]
    y.data = rg.ones(4)
    (y**power).sum().backward()
    assert x.grad.tolist() == [4.0 * power, 0.0]


def test_retained_gradients_have_the_shape_that_data_gave():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.data = rg.ones(4, 2)
    y.sum().backward()
    assert y.grad.shape == (4, 2)
    assert x.grad.tolist() == [12.0, 12.0]


def test_set_of_another_shape_under_no_grad_keeps_the_shape_of_the_history():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    with rg.no_grad():
        y.set_(rg.ones(3))
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[3\]"):
        y.sum().backward()


def test_data_of_the_same_elements_overwrites_nothing():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.data = x.data.view(2, 1).view(2)
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
