"""Moments of float32 numbers are those of a computation in double precision, on every path.

Inputs have a large mean, a large or small magnitude, or equal elements; sizes lie around those from
which loops in C, NumPy's functions and kernels compute. `make test` runs this without C, too.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.compiler import door
from retrograd.nn import functional as F

SIZES = [(4, 8), (40, 300), (63, 300), (64, 300), (300, 64), (2, 20000), (300, 400)]
ULP = 2.0**-23


def noise(shape):
    return np.random.default_rng(0).standard_normal(shape)


HARD = {
    "equal": lambda shape: np.full(shape, 123456.7),
    "equal and large": lambda shape: np.full(shape, 1e30),
    "equal and small": lambda shape: np.full(shape, 1e-30),
    "large mean": lambda shape: noise(shape) + 1e5,
    "larger mean": lambda shape: 1e-2 * noise(shape) + 1e4,
    "large": lambda shape: 1e15 * noise(shape),
    "small": lambda shape: 1e-15 * noise(shape),
}
SPREADS = {
    "var": (lambda x, dim: x.var(dim), lambda e, dim: e.var(dim, ddof=1)),
    "std": (lambda x, dim: x.std(dim), lambda e, dim: e.std(dim, ddof=1)),
    "var_mean": (
        lambda x, dim: rg.var_mean(x, dim, correction=0)[0],
        lambda e, dim: e.var(dim),
    ),
    "std_mean": (
        lambda x, dim: rg.std_mean(x, dim, correction=0)[0],
        lambda e, dim: e.std(dim),
    ),
}


def standardized(exact, dim):
    centred = exact - exact.mean(dim, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(dim, keepdims=True) + 1e-5)


NORMS = {
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[1:]), 1),
    "group_norm": (lambda x: F.group_norm(x[:, None], 1)[:, 0], 1),
    "instance_norm": (lambda x: F.instance_norm(x[None])[0], 1),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), 0),
}


@pytest.fixture(params=["kernels", "no kernels"])
def path(request, monkeypatch):
    before = door.change(least=4096 if request.param == "kernels" else 1 << 40)
    yield
    door.change(**before)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("shape", SIZES)
def test_spreads_are_those_of_double_precision(shape, kind):
    array = HARD[kind](shape).astype(np.float32)
    x, exact = rg.tensor(array), array.astype(np.float64)
    for name, (ours, theirs) in SPREADS.items():
        for dim in (0, 1, None):
            expected = theirs(exact, dim)
            scale = 2 * np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
            error = np.abs(ours(x, dim)._array.astype(np.float64) - expected)
            assert (error <= 4 * scale + 8 * ULP * np.abs(expected)).all(), (name, dim)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("shape", SIZES)
def test_normalisations_are_those_of_double_precision(shape, kind):
    array = HARD[kind](shape).astype(np.float32)
    for name, (ours, dim) in NORMS.items():
        expected = standardized(array.astype(np.float64), dim)
        error = np.abs(ours(rg.tensor(array))._array - expected)
        assert (error <= 8 * ULP * np.maximum(np.abs(expected), 1)).all(), (name, error.max())


@pytest.mark.parametrize("shape", SIZES)
def test_rows_of_equal_numbers_have_no_spread(shape):
    for value in (123456.7, 1e30, 1e-30):
        x = rg.full(shape, value)
        assert (x.var(-1) == 0).all()
        assert (x.std(0) == 0).all()
        assert (x.var() == 0).all()
        assert (F.layer_norm(x, shape[1:]) == 0).all()


def test_the_deviation_of_numbers_whose_squares_no_float32_holds():
    for shape in SIZES:
        for factor in (1e30, 1e-30):
            x = (factor * noise(shape)).astype(np.float32)
            expected = x.astype(np.float64).std(1, ddof=1)
            np.testing.assert_allclose(rg.tensor(x).std(1)._array, expected, 1e-6, 0)
