"""Kernels are called by ops, which see to it that NumPy's floating-point errors are silent."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def quiet(sealed):
    with np.errstate(all="ignore"):
        yield
