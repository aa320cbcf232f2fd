"""Kernels are called by ops, which see to it that NumPy's floating-point errors are silent."""

from __future__ import annotations

import pytest

from retrograd.quiet import Quiet


@pytest.fixture(autouse=True)
def quiet(sealed):
    with Quiet():
        yield
