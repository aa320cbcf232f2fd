"""docs/complex-ops.md is what a run of docs/make_complex.py says now, and has reasons."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("make_complex_page", DOCS / "make_complex.py")
make_complex = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_complex)

PAGE = (DOCS / "complex-ops.md").read_text()
LINES = re.findall(r"^\| `([\w.]+)` \| (.*) \| (.*) ?\|$", PAGE, re.MULTILINE)


def test_the_matrix_is_up_to_date():
    page = make_complex.page()
    assert "WRONG" not in page
    assert page == PAGE, "run python docs/make_complex.py"


def test_what_is_refused_has_a_reason():
    assert len(LINES) > 600
    for name, works, remark in LINES:
        assert works == "✓" or remark.strip(), name


def test_every_layer_of_complex_networks_is_in_the_matrix():
    lines = make_complex.LAYERS.read_text().splitlines()
    named = {re.sub(r"[123]d$", "", re.match(r"[\w.]*\.(\w+)", line)[1]) for line in lines}
    layers = {
        re.sub(r"[123]d$", "", name)
        for name, value in vars(make_complex.nn.complex).items()
        if isinstance(value, type) and issubclass(value, make_complex.nn.Module)
    }
    assert layers <= named | {"Embedding", "MaxUnpool"}  # of integers


@pytest.mark.parametrize(
    ("call", "values", "found"),
    [
        (lambda z: z * z.detach(), 0.3 + 0.4j, "WRONG: backward"),
        (lambda z: (z.real * 2).sin(), 0.3 + 0.4j, ""),
        (lambda z: z.abs() > 1, 0.3 + 0.4j, "no derivative"),
        (lambda z: z.sort(), 0.3 + 0.4j, "UnorderedError: sort()"),
    ],
)
def test_the_matrix_sees_wrong_derivatives(call, values, found):
    value = make_complex.np.array(values)
    said = make_complex.cells(call, [(value, True)], False)["complex128", "backward"]
    assert said.startswith(found)
    assert bool(said) == bool(found)
