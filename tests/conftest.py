"""Fixtures for every test: global state is sealed, so no test can leak into another."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import retrograd
import retrograd.nn
from retrograd import dtypes, modes, providers
from retrograd.kernels import library

providers.load_families()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave the tests themselves, some hundred thousand objects, out of every search for garbage.

    While they are made, each search would go through all that there are.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def sealed():
    """Seed the generators; fail a test that leaves a mode, a default or NumPy's state changed.

    Once there was inference mode, writes and a few callers are more careful, and skip short cuts:
    no test sees that of an earlier one.
    """
    modes.inference_seen.clear()
    retrograd.manual_seed(0)
    np.random.seed(0)
    default, errors, special = dtypes.get_default_dtype(), np.geterr(), modes.special
    yield
    assert modes.special == special, "a test left a mode switched on"
    assert np.geterr() == errors, "a test changed NumPy's error handling"
    assert dtypes.get_default_dtype() is default, "a test changed the default dtype"


@pytest.fixture
def without_scipy(monkeypatch):
    """SciPy hidden, as where it is not installed."""
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    library.forget()
    yield
    library.forget()
