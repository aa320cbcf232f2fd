"""Views whose base gets other memory: what was a view keeps its own, and nothing else is read."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.errors import VersionError

VIEWS = {
    "as_strided": lambda b: b.as_strided((10,), (9,), 5),
    "slice": lambda b: b[60:70],
    "select": lambda b: b[50],
    "unfold": lambda b: b.unfold(0, 2, 7),
    "reshape": lambda b: b.view(10, 10)[:, 1],
    "diagonal": lambda b: b.view(10, 10).diagonal(),
    "transpose": lambda b: b.view(2, 50).t(),
    "expand": lambda b: b.view(100, 1).expand(100, 2)[:, 0],
}
OTHERS = {
    "smaller": lambda: rg.ones(3),
    "larger": lambda: rg.ones(200),
    "empty": lambda: rg.ones(0),
    "two dimensions": lambda: rg.ones(10, 10),
    "no dimension": lambda: rg.ones(()),
    "other strides": lambda: rg.ones(200)[::2],
}
every_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
every_other = pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)


def by_data(base, other):
    base.data = other


def by_set(base, other):
    base.set_(other)


def by_out(base, other):
    if other.numel() <= base.numel():  # then `out` keeps its memory
        by_data(base, other)
    if base.shape != other.shape:
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            rg.add(other, 0, out=base)
    else:
        rg.add(other, 0, out=base)


@every_view
@every_other
@pytest.mark.parametrize("swap", [by_data, by_set, by_out])
def test_what_was_a_view_keeps_its_memory_and_its_gradient(view, other, swap):
    base, w = rg.ones(100), rg.tensor(3.0, requires_grad=True)
    v = view(base)
    swap(base, other())
    v.mul_(w)
    assert not v._is_view()
    assert base.tolist() == other().tolist()
    assert not base.requires_grad
    v.sum().backward()
    assert w.grad.item() == v.numel()


@every_view
@pytest.mark.parametrize("other", [OTHERS["smaller"], OTHERS["larger"], OTHERS["other strides"]])
def test_a_recorded_base_can_get_other_memory(view, other):
    x = rg.ones(100, requires_grad=True)
    base = x * 1
    v = view(base)
    base.data = other()
    v.mul_(2)
    assert set(v.detach().flatten().tolist()) == {2.0}
    assert set(base.detach().flatten().tolist()) <= {1.0}


def test_memory_of_the_same_layout_leaves_the_views_as_they_are():
    x = rg.ones(10, requires_grad=True)
    base = x * 1
    v = base[2:4]
    base.data = rg.full((10,), 7.0)
    v.mul_(2)
    base.sum().backward()
    assert v._is_view()
    assert x.grad.tolist() == [1, 1, 2, 2, 1, 1, 1, 1, 1, 1]


def test_a_view_that_gets_other_memory_no_longer_writes_its_base():
    base, w = rg.ones(10), rg.tensor(3.0, requires_grad=True)
    v = base[2:4]
    rest = base[5:]
    v.data = rg.ones(3)
    v.mul_(w)
    assert v.tolist() == [3, 3, 3]
    assert base.tolist() == [1] * 10
    assert rest._is_view()


def test_a_replayed_region_is_checked_where_it_is_taken():
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 3"):
        rg.engine.namespaces.recorded.as_strided(rg.ones(3), size=(10,), stride=(9000,), offset=5)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 3"):
        rg.engine.namespaces.recorded.unstrided(
            rg.ones(10), size=(10,), stride=(9000,), offset=5, shape=(3,)
        )


def test_resize_keeps_what_it_no_longer_shows():
    x = rg.arange(4.0)
    assert x.resize_(2).resize_(0).resize_(2, 2).tolist() == [[0, 1], [2, 3]]


def test_resize_keeps_the_order_in_memory():
    x = rg.arange(6.0).view(2, 3)
    assert rg.arange(6.0).view(2, 3).t().clone().resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.t().resize_(6).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_resized_view_stays_in_the_memory_of_its_base():
    x = rg.arange(5.0)
    v = x[1:3].resize_(4)
    v.add_(1)
    assert x.tolist() == [0, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="not resizable"):
        x[1:3].resize_(5)
    assert v.tolist() == [2, 3, 4, 5]


def take_alias(x):
    return x.detach()


def take_array(x):
    return x.numpy()


@pytest.mark.parametrize("look", [take_alias, take_array])
def test_memory_that_others_look_at_does_not_grow(look):
    x = rg.arange(2.0)
    other = look(x)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(3)
    other[0] = 5.0
    assert x.tolist() == [5.0, 1.0]


def test_memory_of_other_libraries_does_not_grow():
    array = np.zeros(2, np.float32)
    for x in (
        rg.from_numpy(array),
        rg.as_tensor(array),
        rg.frombuffer(bytearray(8), dtype=rg.int32),
    ):
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(3)


def test_memory_that_only_one_tensor_looks_at_grows():
    x = rg.arange(4.0)
    x.resize_(2)
    assert x.resize_(6)[:4].tolist() == [0, 1, 2, 3]
    assert rg.from_numpy(np.ones(2)).resize_(3)[:2].tolist() == [1, 1]
    alias = (empty := rg.empty(0)).detach()
    assert empty.resize_(2).shape == (2,)
    assert alias.shape == (0,)


def test_a_view_without_elements_does_not_grow_into_its_base():
    x = rg.arange(4.0)
    v = x[2:2]
    rg.add(rg.ones(2), 1, out=v)
    assert x.tolist() == [0, 1, 2, 3]


def test_a_recorded_write_to_a_resized_view_reaches_its_base():
    x, w = rg.zeros(5), rg.arange(4.0, requires_grad=True)
    x[1:3].resize_(4).copy_(w)
    (x * rg.arange(5.0)).sum().backward()
    assert w.grad.tolist() == [1, 2, 3, 4]


def test_a_recorded_write_to_a_view_of_a_resized_base_reaches_it():
    x, w = rg.ones(4), rg.tensor([3.0, 4.0], requires_grad=True)
    v = x[:2]
    x.resize_(3)
    v.mul_(w)
    x.sum().backward()
    assert w.grad.tolist() == [1, 1]


def test_a_recorded_write_to_a_view_that_exceeds_its_resized_base_raises():
    x, w = rg.ones(4), rg.tensor(3.0, requires_grad=True)
    v = x.view(2, 2)
    x.resize_(3)
    assert v.add_(1).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="Its base was resized"):
        v.mul_(w)


def test_an_out_that_becomes_smaller_keeps_its_memory():
    x = rg.zeros(4)
    v = x[1:]
    with pytest.warns(UserWarning, match=r"had shape \[4\], .* the required output shape \[2\]"):
        rg.add(rg.ones(2), 1, out=x)
    assert (x.tolist(), v.tolist()) == ([2, 2], [2, 0, 0])


def test_a_saved_tensor_that_was_resized_raises():
    x, w = rg.arange(4.0), rg.ones(4, requires_grad=True)
    z = (x * w).sum()
    x.resize_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_a_copy_of_a_resized_tensor_has_memory_of_its_own():
    x = rg.arange(4.0).resize_(2)
    copied = copy.deepcopy(x)
    copied.resize_(4).add_(1)
    assert x.resize_(4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("of", ["the target", "the source"])
def test_a_recorded_set_has_no_derivative(of):
    x = rg.ones(3, requires_grad=True)
    y, source = (x * 1, rg.zeros(2)) if of == "the target" else (rg.zeros(2), x * 1)
    y.set_(source)
    assert y.tolist() == source.tolist()
    assert not y.is_leaf
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        y.sum().backward()


def test_set_of_a_leaf_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        rg.ones(3, requires_grad=True).set_(rg.zeros(2))


def test_a_debugger_that_reads_variables_does_not_share_memory():
    def look(frame, event, arg):
        assert frame.f_locals is not None
        return look

    x, before = rg.ones(4), sys.gettrace()
    sys.settrace(look)
    try:
        x.resize_(8)
    finally:
        sys.settrace(before)
    assert x.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_resize_is_refused_only_while_views_live():
    x = rg.ones(4)
    v = x[:2]
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(8)
    del v
    assert x.resize_(8)[:4].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("shape", [(-1,), (2, -1)])
def test_resize_to_a_negative_size_is_refused(shape):
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        rg.ones(3).resize_(*shape)


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (lambda y: y.mul_(2), (4,)),
        (lambda y: y.unsqueeze_(0), (1, 4)),
        (lambda y: y.t_(), (4,)),
        (lambda y: setattr(y, "data", rg.ones(7)), (7,)),
    ],
    ids=["mul_", "unsqueeze_", "t_", "data"],
)
def test_a_base_may_be_written_when_a_view_has_got_other_memory(write, shape):
    x = rg.ones(4, requires_grad=True)
    y = x * 1
    view, other = y[:2], y[1:3]
    view.data = rg.ones(5)
    write(y)
    assert y.shape == shape
    assert view.tolist() == [1.0] * 5
    assert view._base is None
    (other.sum() * 3).backward()
    assert x.grad.shape == (4,)


def test_an_out_of_another_shape_under_no_grad_keeps_its_history():
    x = rg.ones(4, requires_grad=True)
    y = x * 2
    with rg.no_grad(), pytest.warns(UserWarning, match="was resized"):
        rg.add(rg.ones(4, 4), 1, out=y)
    assert (y.is_leaf, y.requires_grad) == (False, True)
    y.sum().backward()
    assert x.grad.tolist() == [8.0] * 4


def test_an_out_of_another_shape_under_no_grad_writes_what_was_saved():
    x = rg.ones(4, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    with rg.no_grad(), pytest.warns(UserWarning, match="was resized"):
        rg.add(rg.ones(2, 1), 1, out=y)
    with pytest.raises(VersionError, match="written by add"):
        loss.backward()


THERE_AND_BACK = {
    "unsqueeze_": (lambda y: y.unsqueeze_(0), lambda y: y.squeeze_(0)),
    "t_": (lambda y: y.t_(), lambda y: y.t_()),
    "reshaped data": (
        lambda y: setattr(y, "data", y.data.reshape(6)),
        lambda y: setattr(y, "data", y.data.reshape(2, 3)),
    ),
}


@pytest.mark.parametrize("name", THERE_AND_BACK)
def test_a_tensor_that_gets_its_shape_back_under_no_grad_has_its_history_again(name):
    x = rg.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 3
    node = y.grad_fn
    with rg.no_grad():
        for turn in THERE_AND_BACK[name]:
            turn(y)
    assert y.grad_fn is node
    (y * y).sum().backward()
    assert x.grad.tolist() == (18 * x).tolist()


def test_a_tensor_that_changes_shape_twice_under_no_grad_has_one_node_more():
    x = rg.arange(3.0).requires_grad_()
    y = x * 3
    node = y.grad_fn
    with rg.no_grad():
        y.unsqueeze_(0).unsqueeze_(0)
    assert y.grad_fn.next_functions == ((node, 0),)
    y.sum().backward()
    assert x.grad.tolist() == [3.0] * 3
