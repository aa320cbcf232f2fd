"""Views whose base gets other memory: what was a view keeps its own, and nothing else is read."""

from __future__ import annotations

import pytest

import retrograd as rg

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
    if other.shape == base.shape:  # then `out` keeps its memory
        by_data(base, other)
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
        rg.engine.op.recorded.as_strided(rg.ones(3), size=(10,), stride=(9000,), offset=5)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 3"):
        rg.engine.op.recorded.unstrided(
            rg.ones(10), size=(10,), stride=(9000,), offset=5, shape=(3,)
        )


def test_resize_is_refused_only_while_views_live():
    x = rg.ones(4)
    v = x[:2]
    with pytest.raises(RuntimeError, match="shares no memory"):
        x.resize_(8)
    del v
    assert x.resize_(8)[:4].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("shape", [(-1,), (2, -1)])
def test_resize_to_a_negative_size_is_refused(shape):
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        rg.ones(3).resize_(*shape)
