"""Memory that nothing was written to, where determinism is asked for."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.modes import determinism


@pytest.fixture(autouse=True)
def deterministic(monkeypatch):
    monkeypatch.setattr(determinism, "enabled", True)


MAKERS = {
    "empty": lambda dtype: rg.empty(2, 3, dtype=dtype),
    "empty out": lambda dtype: rg.empty(2, 3, out=rg.zeros(1, dtype=dtype)),
    "empty_like": lambda dtype: rg.empty_like(rg.zeros(2, dtype=dtype)),
    "empty_strided": lambda dtype: rg.empty_strided((2, 3), (1, 2), dtype=dtype),
    "empty_permuted": lambda dtype: rg.empty_permuted((2, 3), (1, 0), dtype=dtype),
    "new_empty": lambda dtype: rg.ones(1, dtype=dtype).new_empty(2),
    "resize_": lambda dtype: rg.zeros(0, dtype=dtype).resize_(2),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_new_memory_is_filled_with_what_stands_out(make):
    assert make(rg.float64).isnan().all()
    assert make(rg.complex64).isnan().all()
    assert (make(rg.int16) == 32767).all()
    assert make(rg.bool).all()


def test_the_type_of_tensors_fills_memory_too():
    assert rg.Tensor(2).isnan().all()


def test_what_was_there_before_a_resize_stays():
    assert rg.arange(2).resize_(3).tolist() == [0, 1, 2**63 - 1]


def test_the_filling_can_be_turned_off(monkeypatch):
    monkeypatch.setattr(determinism, "fill_uninitialized_memory", False)
    assert rg.zeros(2).resize_(3)[2:].tolist() == [0.0]
