"""Recurrent, attention, lazy and other layers against PyTorch 2.13: state, outputs, gradients.

`tests/data/make_modules.py` lists the cases and made `modules.json` with PyTorch. Numbers agree to
1e-9 relative, both sides being float64 or complex128.
"""

import importlib.util
import json
from pathlib import Path

import pytest

import retrograd as rg

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("module_cases", DATA / "make_modules.py")
modules = importlib.util.module_from_spec(spec)
spec.loader.exec_module(modules)
RESULTS = json.loads((DATA / "modules.json").read_text())
CASES = {name: (case, dtype) for name, case, dtype in modules.cases()}


def same(found, expected):
    """Whether two summaries agree; a missing gradient is one of zeros."""
    if found is None or expected is None:
        given = found or expected
        return given is None or given[2] == 0.0
    return found[:2] == expected[:2] and found[2] == pytest.approx(expected[2], rel=1e-9, abs=1e-9)


def test_every_case_has_a_result():
    assert list(CASES) == list(RESULTS)


# All, where PyTorch's world is installed, whose layers some are.
PRESENT = [name for name, (case, _) in CASES.items() if hasattr(rg.nn, case.name)]


@pytest.mark.parametrize("name", PRESENT)
def test_state_outputs_and_gradients_are_those_of_pytorch(name):
    expected = RESULTS[name]
    found = modules.run(rg, *CASES[name])
    assert found["class"] == expected["class"]
    assert list(found["state"].items()) == list(expected["state"].items())
    for part in ("out", "grads"):
        assert len(found[part]) == len(expected[part])
        for index, pair in enumerate(zip(found[part], expected[part], strict=True)):
            assert same(*pair), f"{part}[{index}]: {pair[0]}, in PyTorch {pair[1]}"
