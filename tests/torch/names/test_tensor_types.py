"""Types of tensors by dtype, such as `FloatTensor`: they make tensors as `Tensor` does."""

from __future__ import annotations

import collections
import inspect

import numpy as np
import pytest
from tests.ops.creation import test_creation as creation
from tests.ops.tensor import test_storage as storage
from tests.ops.tensor import test_tensor as tensors

import retrograd as rg
from retrograd.modes import determinism

KINDS = [collections.deque, collections.UserList, creation.FLOATS]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_sequences_that_are_no_lists_may_stand_in_lists(kind):
    creation.test_sequences_that_are_no_lists_may_stand_in_lists(rg.FloatTensor, kind)


def test_they_take_sizes_that_stand_for_integers_and_sequences_alone():
    creation.test_types_take_sizes_that_stand_for_integers_and_sequences_alone(rg.FloatTensor)


@pytest.mark.parametrize("make", [rg.LongTensor, rg.FloatTensor, rg.ones(2).new])
def test_they_take_sizes(make):
    tensors.test_old_constructors_take_sizes(make)


@pytest.mark.parametrize("make", [rg.FloatTensor, rg.zeros(0).new])
def test_a_storage_becomes_a_tensor_on_its_memory(make):
    storage.test_a_storage_becomes_a_tensor_on_its_memory(make)


@pytest.mark.parametrize("make", [rg.FloatTensor, rg.zeros(0).new])
def test_an_array_of_their_dtype_keeps_its_memory(make):
    array, other = np.zeros(2, np.float32), np.zeros(2)
    make(array)[0] = make(other)[0] = 1.0
    assert (array.tolist(), other.tolist()) == ([1, 0], [0, 0])


def test_a_device_that_is_not_the_cpu_is_refused():
    assert rg.FloatTensor(2, device="cpu").shape == (2,)
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: cuda"):
        rg.LongTensor([2], device="cuda")


def test_they_fill_memory_where_determinism_is_asked_for(monkeypatch):
    monkeypatch.setattr(determinism, "enabled", True)
    assert rg.FloatTensor(2).isnan().all()


def test_tensor_types_stand_in_annotations():
    def loss(target: rg.LongTensor | None, weight: rg.FloatTensor | rg.HalfTensor) -> None:
        pass

    shown = inspect.get_annotations(loss, eval_str=True, globals={"rg": rg})
    assert shown["target"].__args__ == (rg.LongTensor, type(None))
    assert (rg.Tensor | rg.LongTensor).__args__ == (rg.Tensor, rg.LongTensor)


def test_a_storage_of_another_dtype_is_refused():
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage"):
        rg.zeros(0).new(rg.arange(2).storage())
