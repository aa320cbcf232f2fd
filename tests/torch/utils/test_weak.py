"""Weak references and dictionaries by identity."""

from __future__ import annotations

import copy

import pytest

import retrograd as rg
from retrograd.torch.utils.weak import (
    TensorWeakRef,
    WeakIdKeyDictionary,
    WeakIdRef,
    WeakTensorKeyDictionary,
)


def test_tensors_with_equal_values_are_different_keys():
    x, y, names = rg.ones(2), rg.ones(2), WeakTensorKeyDictionary()
    names[x], names[y] = "x", "y"
    assert [names[x], names[y], len(names)] == ["x", "y", 2]
    assert names.pop(x) == "x"
    assert x not in names
    with pytest.raises(KeyError):
        names[x]


def test_an_entry_leaves_with_its_key():
    x, y = rg.ones(2), rg.ones(2)
    names = WeakIdKeyDictionary({x: "x", y: "y"})
    del x
    assert list(names.items()) == [(y, "y")]
    assert [r() for r in names.keyrefs()] == [y]


def test_a_copy_has_entries_of_its_own():
    x, y = rg.ones(2), rg.ones(3)
    names = WeakIdKeyDictionary({x: 1})
    other = copy.copy(names) | {y: 2}
    assert (len(names), len(other)) == (1, 2)
    names |= {y: 3}
    assert (names[y], other[y]) == (3, 2)


def test_a_key_that_takes_no_weak_reference_is_refused():
    with pytest.raises(TypeError, match="weak reference"):
        WeakIdKeyDictionary()[1] = 2
    assert 1 not in WeakIdKeyDictionary()


def test_references_to_what_is_gone_equal_themselves_only():
    x = rg.ones(2)
    one, other = WeakIdRef(x, lambda r: None), WeakIdRef(x)
    assert one == other
    assert hash(one) == hash(other)
    del x
    assert one() is None
    assert one == one
    assert one != other


def test_a_reference_to_a_tensor_gives_none_once_it_is_gone():
    x = rg.ones(2)
    reference = TensorWeakRef(x)
    assert reference() is x
    del x
    assert reference() is None
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        TensorWeakRef(3)
