"""Functions of complex numbers in kernels: as exact as NumPy's, with its values at the ends."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from retrograd.compiler.mathematics import EMIT
from retrograd.compiler.values import convert

from .loops import run

# Largest errors in norm, in units of the last place of complex64 and complex128, for |z| up to 10.
NORM = {
    "exp": (1.5, 1.5),
    "expm1": (0.51, 2.6),
    "log": (0.51, 1.7),
    "log2": (0.51, 2.0),
    "log10": (0.51, 2.6),
    "sqrt": (0.51, 1.1),
    "cosh": (0.51, 1.7),
    "sinh": (0.51, 1.7),
    "tanh": (0.51, 2.6),
    "cos": (0.51, 1.7),
    "sin": (0.51, 1.7),
    "tan": (0.51, 3.0),
    "absolute": (0.51, 0.9),
    "sign": (1.0, 1.3),
}


def drawn(dtype):
    """Numbers all over the plane, near 0, and near the unit circle."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(20_000) * 3 + 3j * rng.standard_normal(20_000)
    z[:5000] *= 10.0 ** rng.uniform(-8, 0, 5000)
    z[5000:10_000] = np.exp(1j * rng.uniform(-4, 4, 5000))
    return z.astype(dtype)


@pytest.mark.parametrize("name", NORM)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_complex_function_is_within_its_bound(name, dtype):
    z = drawn(dtype)
    exact = getattr(np, name)(z.astype(np.clongdouble))
    error = np.abs(run(EMIT[name], z) - exact) / np.abs(exact) / np.finfo(dtype).eps
    assert error.max() < NORM[name][dtype is np.complex128]


@pytest.mark.parametrize("name", NORM)
def test_the_ends_are_numpys(name):
    few = np.array([0.0, 1.0, 0.5, 2.5, 100.0, 710.0, 800.0, 1e-300, 1e300, np.inf, np.nan])
    few = np.concatenate([few, -few])
    z = np.array([complex(a, b) for a in few for b in few])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    found = run(EMIT[name], z)
    tiny = np.finfo(float).smallest_subnormal
    known = np.isfinite(z.real) & np.isfinite(z.imag)  # else C leaves some signs open
    for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(np.abs(a), np.abs(b), rtol=1e-14, atol=2 * tiny)
        certain = known & ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a[certain]), np.signbit(b[certain]))


@pytest.mark.parametrize("name", NORM)
def test_complex64_has_the_ends_of_complex128(name):
    few = np.array([0.0, 1.0, 0.5, 2.5, 100.0, 1e30, np.inf, np.nan], np.float32)
    few = np.concatenate([few, -few])
    z = np.array([complex(a, b) for a in few for b in few], np.complex64)
    with np.errstate(all="ignore"):
        expected = run(EMIT[name], z.astype(np.complex128))
        expected = expected.astype(z.dtype if expected.dtype.kind == "c" else np.float32)
    found = run(EMIT[name], z)
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=3e-45)


@pytest.mark.parametrize("name", ["exp2", "log1p"])
def test_functions_that_numpy_composes_are_as_exact_as_its_own(name):
    z = drawn(np.complex128)
    np.testing.assert_allclose(run(EMIT[name], z), getattr(np, name)(z), rtol=1e-13, atol=4e-16)


def test_a_complex_number_divides_as_numpys():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000, 2)).view(np.complex128)[..., 0]
    np.testing.assert_array_equal(run(EMIT["divide"], x, y), x / y)


def test_a_complex_number_casts_to_its_real_part():
    z = drawn(np.complex128)
    np.testing.assert_array_equal(run(lambda v: convert(v, "f"), z), z.real.astype("f"))
