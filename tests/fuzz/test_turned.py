"""Random functions that turn and write in place have the derivatives of the same out of place."""

from __future__ import annotations

import os

import pytest

import retrograd
from retrograd import providers

from .turned import differ, outcome, program

COUNT = 200 if os.environ.get("RETROGRAD_NATIVE") != "0" and providers.world() else 40


@pytest.mark.parametrize("start", range(0, COUNT, 20))
def test_programs_in_place_do_what_they_do_out_of_place(start):
    for seed in range(start, start + 20):
        text = program(seed)
        found, expected = (outcome(text, retrograd, how) for how in (True, False))
        if differ(found, expected):
            pytest.fail(f"seed {seed}\n{text}\nin place: {found}\nout of place: {expected}")
