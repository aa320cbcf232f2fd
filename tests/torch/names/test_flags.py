"""Switches that programs set are kept as PyTorch keeps them."""

from __future__ import annotations

import pytest

import retrograd as rg


@pytest.fixture(autouse=True)
def switched_off():
    yield
    rg.use_deterministic_algorithms(False)
    rg.utils.deterministic.fill_uninitialized_memory = True


def test_the_switch_keeps_whether_it_only_warns():
    rg.use_deterministic_algorithms(False, warn_only=True)
    assert rg.is_deterministic_algorithms_warn_only_enabled()
    assert rg.get_deterministic_debug_mode() == 0
    rg.set_deterministic_debug_mode("warn")
    assert rg.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="'warn_only' must be bool, not int"):
        rg.use_deterministic_algorithms(True, warn_only=1)


def test_settings_are_kept_and_checked():
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        rg.set_num_threads(0)
    for set_number in (rg.set_num_threads, rg.set_num_interop_threads):
        with pytest.raises(RuntimeError, match="expects an int, but got float"):
            set_number(1.5)
    with pytest.raises(TypeError, match="must be bool, not int"):
        rg.use_deterministic_algorithms(1)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        rg.set_deterministic_debug_mode("x")
    with pytest.warns(UserWarning, match="is not one of 'highest'"):
        rg.set_float32_matmul_precision("a")
    rg.use_deterministic_algorithms(True, warn_only=True)
    assert rg.is_deterministic_algorithms_warn_only_enabled()
    assert rg.get_deterministic_debug_mode() == 1
    rg.use_deterministic_algorithms(False)
    assert rg.get_deterministic_debug_mode() == 0


def test_determinism_fills_memory_unless_that_is_turned_off():
    rg.use_deterministic_algorithms(True)
    assert rg.empty(2).isnan().all()
    rg.utils.deterministic.fill_uninitialized_memory = False
    assert rg.zeros(2).resize_(3)[2:].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        rg.utils.deterministic.fill_uninitialized_memory = 1
