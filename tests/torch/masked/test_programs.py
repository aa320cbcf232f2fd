"""Programs of masked tensors give PyTorch's results, gradients and errors."""

import json
from pathlib import Path

import pytest
from tests.data.make_masked import run

import retrograd as rg

CASES = json.loads((Path(__file__).parents[2] / "data" / "masked.json").read_text())


def agree(found, expected, tolerance):
    """Assert that two descriptions are the same but for rounding."""
    if isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected), (found, expected)
        for a, b in zip(found, expected, strict=True):
            agree(a, b, tolerance)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)
    else:
        assert found == expected


DIGITS = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-6, "complex64": 2e-6}


@pytest.mark.parametrize(
    ("program", "differentiate", "reference"), CASES, ids=[c[0] for c in CASES]
)
def test_a_program_gives_what_pytorch_gives(program, differentiate, reference):
    found = run(rg, program, differentiate)
    assert found.keys() == reference.keys(), found
    tolerances = (DIGITS[dtype] for dtype in DIGITS if dtype in str(reference))
    tolerance = next(tolerances, 1e-12)
    for name, expected in reference.items():
        agree(found[name], expected, tolerance)
