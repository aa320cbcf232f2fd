"""`utils.swap_tensors`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.errors import VersionError


def test_two_tensors_change_places():
    a, b = rg.ones(2, requires_grad=True), rg.arange(3)
    a.grad, b.note = rg.full((2,), 5.0), 1
    rg.utils.swap_tensors(a, b)
    assert (a.tolist(), a.dtype, a.note, a.grad, a.requires_grad) == (
        [0, 1, 2], rg.int64, 1, None, False,
    )  # fmt: skip
    assert (b.tolist(), b.grad.tolist(), b.requires_grad) == ([1.0, 1.0], [5.0, 5.0], True)
    assert not hasattr(b, "note")


def test_classes_change_places():
    a, b = rg.nn.Parameter(rg.ones(2)), rg.zeros(1)
    rg.utils.swap_tensors(a, b)
    assert (type(a), type(b)) == (rg.Tensor, rg.nn.Parameter)


def test_gradients_come_to_where_the_leaf_went():
    a, b = rg.ones(2, requires_grad=True), rg.zeros(3)
    seen = []
    a.register_hook(lambda g: seen.append(g.tolist()))
    y = (a * 2).sum()
    rg.utils.swap_tensors(a, b)
    y.backward()
    assert b.grad.tolist() == [2.0, 2.0]
    assert seen == [[2.0, 2.0]]
    assert a.grad is None


def test_histories_change_places():
    x = rg.ones(2, requires_grad=True)
    a, b = x * 3, rg.zeros(1)
    rg.utils.swap_tensors(a, b)
    b.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_storage_stays_with_its_memory():
    a, b = rg.ones(2), rg.zeros(1)
    storage = a.untyped_storage()
    rg.utils.swap_tensors(a, b)
    assert b.untyped_storage() is storage
    assert a.untyped_storage() is not storage
    before = b._version
    storage.fill_(0)
    assert b._version == before + 1


def test_a_write_reaches_what_was_saved_of_the_memory_before_the_swap():
    x = rg.ones(2, requires_grad=True)
    y, alias, other = x.exp(), rg.ones(2), rg.zeros(2)
    product = x * alias.detach()
    rg.utils.swap_tensors(y, other)
    rg.utils.swap_tensors(alias, y)
    other.mul_(2)
    y.mul_(2)
    for loss in (other.sum(), product.sum()):
        with pytest.raises(VersionError, match="modified by an inplace operation"):
            loss.backward()


def test_a_write_through_an_alias_reaches_what_was_saved_after_the_swap():
    x, a, b = rg.ones(2, requires_grad=True), rg.ones(2), rg.zeros(2)
    alias = a.detach()
    rg.utils.swap_tensors(a, b)
    loss = (x * b).sum()
    alias.mul_(3)
    with pytest.raises(
        VersionError, match=r"FloatTensor \[2\]\] is at version 1; .* saved it as `other`"
    ):
        loss.backward()


def test_slots_change_places():
    class Slotted(rg.Tensor):
        __slots__ = ("note", "other")

    a, b = Slotted([1.0]), Slotted([2.0])
    a.note = 1
    rg.utils.swap_tensors(a, b)
    assert b.note == 1
    assert not hasattr(a, "note")
    assert not hasattr(b, "other")


def test_tensors_that_others_refer_to_are_not_swapped():
    a, kept = rg.ones(2), rg.ones(2, requires_grad=True) * 2
    view = a[:1]
    kept.retain_grad()
    for tied in (a, view, kept):
        with pytest.raises(RuntimeError, match="Cannot swap t2 because it is a view"):
            rg.utils.swap_tensors(rg.ones(1), tied)

    class Slotted(rg.Tensor):
        __slots__ = ("note",)

    with pytest.raises(RuntimeError, match="different slots"):
        rg.utils.swap_tensors(Slotted([1.0]), rg.ones(1))
