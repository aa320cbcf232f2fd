"""What an interrupt strikes in PyTorch's world is right afterwards: laws of `tests.laws`."""

from __future__ import annotations

import pytest

from retrograd.torch.autograd.profiler import profile

from ...laws import test_interrupts as interrupts

PROFILED = interrupts.within(profile)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, ZeroDivisionError])
def test_a_profile_ends_when_the_function_raises(kind):
    interrupts.test_modes_unwind_when_the_function_raises(PROFILED, kind)


@pytest.mark.parametrize("name", ["change", "sum_up"])
def test_a_profile_ends_when_an_interrupt_strikes_as_modes_change(name, monkeypatch):
    strikes = interrupts.test_modes_unwind_when_an_interrupt_strikes_as_they_change
    strikes(name, PROFILED, monkeypatch)


def test_a_first_use_that_is_struck_anywhere_leaves_the_next_one_right(tmp_path, monkeypatch):
    """`RETROGRAD_STRIKES` says how many lines of each first use are struck, 0 every one: hours."""
    monkeypatch.setenv("PLACE", str(tmp_path))
    interrupts.check_first_uses("tests.torch.laws.first_uses", 20)
