"""Integers beside one whole number give what PyTorch gives, whether their dtype holds it or not.

A number wraps around where the result is of their dtype, and never where it is floating.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.registry import OPS

PATH = Path(__file__).parents[1] / "data" / "make_wrapping.py"
SPEC: Any = importlib.util.spec_from_file_location("make_wrapping", PATH)
made = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(made)

ANSWERS = dict(zip(made.cases(), json.loads(made.FILE.read_text()), strict=True))
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # as numbers: docs/differences.md
APART = {  # refuse integers, or two dtypes; or are undefined beyond the bits that there are
    "binary_cross_entropy_with_logits", "bitwise_left_shift", "bitwise_right_shift", "complex",
    "heaviside", "hypot", "igamma", "igammac", "logaddexp", "logaddexp2", "nextafter", "polar",
    "prelu",
}  # fmt: skip


def test_every_binary_record_is_asked():
    names = {op.name for op in OPS.values() if op.is_binary and op.name in rg.__all__}
    assert names - APART - set(made.FUNCTIONS) == set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", made.FUNCTIONS)
def test_whole_numbers_count_as_in_pytorch(name):
    asked = Counter()
    for case, expected in ANSWERS.items():
        _, dtype, form, number = case
        if case[0] != name or expected is None:
            continue
        beyond = dtype in ("uint8", "int8", "int32") and not (
            rg.iinfo(getattr(rg, dtype)).min <= number <= rg.iinfo(getattr(rg, dtype)).max
        )
        if name in COMPARISONS and form.startswith("number") and beyond:
            continue
        found = made.answer(rg, *case)
        assert found is not None, case
        assert found[0] == expected[0], case
        np.testing.assert_allclose(found[1], expected[1], 2e-6, 1e-30, err_msg=repr(case))
        asked[beyond] += 1
    assert asked[False] > 5
    assert asked[True] > 2
