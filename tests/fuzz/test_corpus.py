"""Programs of the corpus do what they did in PyTorch: tests/data/fuzz/make_corpus.py.

Without the hot path in C, or without PyTorch's world, a slice of them.
"""

from __future__ import annotations

import os

import pytest

import retrograd
from retrograd import providers

from .compare import difference, explained
from .corpus import read
from .interpreter import library, run
from .shrink import printed

SLICE = 1 if os.environ.get("RETROGRAD_NATIVE") != "0" and providers.world() else 5
LENGTH = 100
PROGRAMS = read()


@pytest.mark.parametrize("start", range(0, len(PROGRAMS), LENGTH * SLICE))
def test_programs_do_what_they_did_in_pytorch(start):
    library("retrograd")
    for seed, watched, program, expected in PROGRAMS[start : start + LENGTH]:
        found = difference(run(program, retrograd, watched), expected)
        if found and not explained(program, found):
            pytest.fail(printed(program, [f"seed {seed}: {found}"]))
