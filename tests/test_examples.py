"""The programs in examples/ do what their docstrings say, briefly; and draw it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import retrograd as rg

ROOT = Path(__file__).parents[1]
NEEDS = {  # libraries that an example needs beside the package
    "denoising": ["scipy"],
}
EXPECTED = {  # what an example has to reach
    "quantum_circuit": lambda r: 0 < r["error"] < 0.02 and r["unitarity"] < 1e-13,
    "copy_memory": lambda r: r["unitary"] < 0.5 * min(r["memoryless"], r["lstm"]),
    "modulation": lambda r: r["complex"] > max(0.8, r["real"] + 0.02),
    "magnetic_resonance": lambda r: r["recovered"] > r["aliased"] + 2.5,
    "denoising": lambda r: r["denoised"] > r["noisy"] + 4,
    "phase_retrieval": lambda r: r["error after"] < 0.1 * r["error before"],
}


@pytest.fixture(scope="module")
def found():
    """The modules of the examples and what they gave, each run once."""
    return {}


def ran(name, found, monkeypatch):
    for library in NEEDS.get(name, []):
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(ROOT)
    module = importlib.import_module(f"examples.complex.{name}")
    if name not in found:
        found[name] = module.run(quick=True)
    return module, found[name]


def test_every_example_is_here():
    folder = ROOT / "examples" / "complex"
    programs = {path.stem for path in folder.glob("*.py") if '"__main__"' in path.read_text()}
    assert programs == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_reaches_what_it_says(name, found, monkeypatch):
    numbers = ran(name, found, monkeypatch)[1]
    assert EXPECTED[name](numbers), {k: v for k, v in numbers.items() if isinstance(v, float)}


def test_twins_have_as_many_parameters(found, monkeypatch):
    complexes, reals = ran("modulation", found, monkeypatch)[1]["sizes"].values()
    assert complexes <= reals <= 1.1 * complexes


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_draws(name, found, monkeypatch):
    module, numbers = ran(name, found, monkeypatch)
    assert module.draw(numbers).svg.startswith("<svg")


def test_a_missing_library_is_one_line(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    monkeypatch.delitem(sys.modules, "examples.complex.denoising", raising=False)
    with pytest.raises(SystemExit, match=r"^This example needs SciPy: pip install scipy$"):
        importlib.import_module("examples.complex.denoising")


def test_the_demo_says_in_a_line_what_it_needs(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    demo = importlib.import_module("demo.__main__")
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name == "sklearn" else demo)
    with pytest.raises(SystemExit, match=r'^The demo needs scikit-learn: pip install "retrograd'):
        demo.main(quick=True)


@pytest.fixture(autouse=True)
def _seeded():
    rg.manual_seed(0)
