"""Random steps of training: compiled, they do what they do eagerly (`tests/fuzz/steps.py`)."""

from __future__ import annotations

import pytest
from tests.fuzz.steps import differences, text

from retrograd.capture.compiled import setting
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")

captured = []


@pytest.mark.parametrize("seed", range(24))
def test_a_random_step_does_what_it_does_eagerly(seed):
    try:
        for found, step in differences(seed):
            assert not found, text(seed)
            captured.append(bool(step.compiled.variants))
    finally:
        setting.native = True


def test_most_random_steps_are_captured():
    if len(captured) == 48:  # in one process
        assert sum(captured) > 32
