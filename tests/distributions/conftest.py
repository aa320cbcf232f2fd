"""The tables of cases that `tests/data/make_distributions.py` shares with PyTorch."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import retrograd as rg

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("distribution_cases", DATA / "make_distributions.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)

STORED = json.loads(cases.PATH.read_text())
TABLES = {
    "distribution": cases.DISTRIBUTIONS,
    "divergence": cases.PAIRS,
    "transform": cases.TRANSFORMS,
    "constraint": {text: (text, x) for text, x in cases.CONSTRAINTS.items()},
}


def pytest_generate_tests(metafunc):
    """A test that takes a `distribution`, a `transform` ... runs for every case, by its name.

    `test.only` says of which distributions, by them and by what PyTorch has of them.
    """
    for name, table in TABLES.items():
        if name in metafunc.fixturenames:
            names = list(table)
            if only := getattr(metafunc.function, "only", None):
                made = {n: cases.made(table[n][0], rg) for n in names}
                names = [n for n in names if only(made[n], STORED["distributions"].get(n))]
            metafunc.parametrize(name, names)


@pytest.fixture
def tables():
    """The module with the tables."""
    return cases


@pytest.fixture
def stored():
    """What PyTorch gives for them."""
    return STORED


@pytest.fixture
def made(distribution):
    """The distribution of a case, and values to score."""
    return [cases.made(text, rg) for text in cases.DISTRIBUTIONS[distribution]]
