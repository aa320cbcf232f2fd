"""Memory that nothing was written to, where determinism is asked for."""

from __future__ import annotations

import pytest

import retrograd as rg


@pytest.fixture(autouse=True)
def deterministic():
    rg.use_deterministic_algorithms(True)
    yield
    rg.use_deterministic_algorithms(False)
    rg.utils.deterministic.fill_uninitialized_memory = True


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


def test_types_of_tensors_fill_memory_too():
    assert rg.FloatTensor(2).isnan().all()
    assert rg.Tensor(2).isnan().all()


def test_what_was_there_before_a_resize_stays():
    assert rg.arange(2).resize_(3).tolist() == [0, 1, 2**63 - 1]


def test_the_filling_can_be_turned_off():
    rg.utils.deterministic.fill_uninitialized_memory = False
    x = rg.zeros(2)
    assert x.resize_(3)[2:].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        rg.utils.deterministic.fill_uninitialized_memory = 1


def test_the_switch_keeps_whether_it_only_warns():
    rg.use_deterministic_algorithms(False, warn_only=True)
    assert rg.is_deterministic_algorithms_warn_only_enabled()
    assert rg.get_deterministic_debug_mode() == 0
    rg.set_deterministic_debug_mode("warn")
    assert rg.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="'warn_only' must be bool, not int"):
        rg.use_deterministic_algorithms(True, warn_only=1)
