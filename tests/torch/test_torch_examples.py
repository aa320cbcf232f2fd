"""The programs in examples/torch print what they print under PyTorch; the page on libraries."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PRINTED = json.loads((ROOT / "tests/data/examples_torch.json").read_text())


def test_every_program_is_compared():
    assert {path.stem for path in (ROOT / "examples/torch").glob("[!_]*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_a_program_prints_what_it_prints_under_pytorch(name):
    pytest.importorskip("sklearn", reason="the programs' data are scikit-learn's")
    program = str(ROOT / "examples" / "torch" / f"{name}.py")
    command = [sys.executable, "-m", "retrograd", "run", program, "--quick"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    printed = "\n".join(PRINTED[name]) + "\n"
    assert NUMBER.sub("#", done.stdout) == NUMBER.sub("#", printed), done.stderr
    found, expected = ([float(n) for n in NUMBER.findall(t)] for t in (done.stdout, printed))
    assert found == pytest.approx(expected, rel=1e-2, abs=5e-3)  # rounding differs by machine


def test_the_page_on_libraries_is_made_of_its_data():
    place = ROOT / "docs" / "make_compatibility.py"
    spec = importlib.util.spec_from_file_location("make_compatibility", place)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert made.page() == page, (
        "docs/compatibility.md is old: run python docs/make_compatibility.py"
    )
