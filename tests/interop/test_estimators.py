"""Estimators of scikit-learn, which computes with tensors by the array API standard."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ESTIMATOR = """
import numpy as np
import sklearn
from sklearn.linear_model import Ridge
import retrograd as rg

sklearn.set_config(array_api_dispatch=True)
rng = np.random.default_rng(0)
data, targets, along = rng.normal(size=(8, 3)), rng.normal(size=8), rng.normal(size=(8, 3))


def loss(x):
    model = Ridge(alpha=0.5, solver="svd").fit(x, rg.tensor(targets))
    return (model.predict(x) ** 3).sum()


x = rg.tensor(data, requires_grad=True)
loss(x).backward()
step = 1e-6 * along
expected = (loss(rg.tensor(data + step)) - loss(rg.tensor(data - step))).item() / 2e-6
assert abs((x.grad.numpy() * along).sum() - expected) < 1e-6 * abs(expected)
"""


def test_a_gradient_flows_through_an_estimator_of_scikit_learn():
    pytest.importorskip("sklearn")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}  # SciPy reads it once
    subprocess.run([sys.executable, "-c", ESTIMATOR], check=True, env=environment)
