"""The kernels that NumPy lacks, against SciPy, and far out, where it is rougher, the C library."""

import math
import subprocess
import sys

import numpy as np
import pytest

from retrograd.kernels import library, special

scipy_special = pytest.importorskip("scipy.special", reason="SciPy gives the reference values")
pytestmark = pytest.mark.usefixtures("without_scipy")
MANY = 20_000  # beyond FEW and BLOCK, so that the array kernels run


def relative(found, expected):
    return np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-300))


@pytest.mark.parametrize("size", [200, MANY])
def test_real_erf_and_erfc_are_accurate_to_the_last_digits(size):
    x = np.concatenate([np.random.uniform(-6, 6, size), 10.0 ** np.random.uniform(-300, 0, size)])
    assert relative(special.erf(x), scipy_special.erf(x)) < 1e-15
    x = np.random.uniform(-6, 26, size)
    assert relative(special.erfc(x), np.array([math.erfc(v) for v in x.tolist()])) < 2e-15


def test_gelu_and_erfc_import_no_scipy():
    program = (
        "import sys, retrograd as rg; x = rg.randn(9, requires_grad=True); "
        "rg.nn.functional.gelu(x).sum().backward(); rg.erf(x) + rg.special.erfc(x); "
        "rg.distributions.Normal(0.0, 1.0).cdf(x); rg.erf(rg.randn(5000)); "
        "assert not [name for name in sys.modules if name.startswith('scipy')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("repeats", [1, 200])
def test_erf_at_the_ends(repeats):
    x = np.tile([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300], repeats)
    ends = special.erf(x)[:7]
    np.testing.assert_array_equal(ends, [1, -1, np.nan, 0, 0, 1, -1])
    assert np.signbit(ends[4])
    np.testing.assert_array_equal(special.erfc(x)[:7], [0, 2, np.nan, 1, 1, 0, 2])


def test_erfinv_inverts_to_the_last_digits():
    ends = 1 - 10.0 ** np.random.uniform(-15, -1, 5000)
    small = 10.0 ** np.random.uniform(-300, 0, 1000)
    y = np.concatenate([np.random.uniform(-1, 1, MANY), ends, small])
    assert relative(special.erfinv(y), scipy_special.erfinv(y)) < 2e-15
    np.testing.assert_array_equal(
        special.erfinv(np.array([1.0, -1.0, 0.0, 2.0, np.nan])),
        [np.inf, -np.inf, 0, np.nan, np.nan],
    )


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_complex_erf_and_erfc(scale):
    z = scale * (np.random.normal(size=5000) + 1j * np.random.normal(size=5000))
    assert relative(special.erf(z), scipy_special.erf(z)) < 1e-13
    assert relative(special.erfc(z), scipy_special.erfc(z)) < 1e-13


def test_lgamma_and_its_poles():
    x = np.array([0.25, 1.0, 2.0, 3.5, -2.5, 0.0, -1.0, np.inf, np.nan, 1e300, 1e308])
    np.testing.assert_allclose(special.lgamma(x), scipy_special.gammaln(x), rtol=2e-14)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_polygamma_to_the_right_of_zero(order):
    x = np.concatenate([np.random.uniform(0.01, 30, MANY), 10.0 ** np.random.uniform(-3, 8, 2000)])
    assert relative(special.polygamma(order, x), scipy_special.polygamma(order, x)) < 2e-15


def test_digamma_on_both_sides_and_at_its_poles():
    x = np.random.uniform(-20, 30, MANY)
    x = x[np.abs(x - np.round(x)) > 1e-2]
    expected = scipy_special.digamma(x)
    assert np.max(np.abs(special.polygamma(0, x) - expected) / (1 + np.abs(expected))) < 1e-12
    found = special.polygamma(0, np.array([0.0, -0.0, -1.0, np.inf, 1e20]))
    np.testing.assert_allclose(found, [-np.inf, np.inf, np.nan, np.inf, np.log(1e20)], rtol=1e-15)


def test_trigamma_by_reflection():
    x = np.array([-2.5, -0.25, -1e5 - 0.5])
    np.testing.assert_allclose(
        special.polygamma(1, x), [9.539246638176942, 18.541879647671606, np.pi**2 - 1e-5], rtol=1e-9
    )
    assert special.polygamma(1, np.array([-3.0]))[0] == np.inf


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "lgamma"])
def test_dtype_and_shape_are_kept(name):
    kernel = getattr(special, name)
    for dtype in (np.float16, np.float32, np.float64):
        for shape in ((), (0,), (2, 3)):
            found = kernel(np.full(shape, 0.5, dtype))
            assert (found.dtype, np.shape(found)) == (dtype, shape)


SCIPYS = {"erfinv": "erfinv", "lgamma": "gammaln"}


@pytest.fixture
def with_scipy(without_scipy, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", scipy_special)
    library.forget()


@pytest.mark.usefixtures("with_scipy")
@pytest.mark.parametrize("name", SCIPYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_scipy_is_its_ufuncs_are_used(name, dtype):
    x = np.random.uniform(-0.99, 0.99, 1000).astype(dtype)
    wide = x.astype(np.float64) if name == "erfinv" else x
    expected = getattr(scipy_special, SCIPYS[name])(wide).astype(dtype)
    found = getattr(special, name)(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("with_scipy")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_digamma_by_scipy_is_reflected_left_of_zero_where_scipys_is_slow(dtype):
    x = np.random.uniform(-20, 30, 1000)
    x = x[np.abs(x - np.round(x)) > 1e-2].astype(dtype)
    expected = scipy_special.psi(x)
    found = special.polygamma(0, x)
    assert np.max(np.abs(found - expected) / (1 + np.abs(expected))) < 1e-12


@pytest.mark.parametrize("fixture", ["without_scipy", "with_scipy"])
def test_ends_and_signs_are_the_same_with_scipy_and_without(fixture, request):
    request.getfixturevalue(fixture)
    np.testing.assert_array_equal(
        special.lgamma(np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan])),
        [np.inf, np.inf, np.inf, np.inf, np.inf, np.nan],
    )
    np.testing.assert_allclose(special.lgamma(np.array([5e-324])), [744.4400719213812], rtol=1e-15)
    assert np.signbit(special.erfinv(np.array([-0.0])))[0]
    np.testing.assert_array_equal(
        special.polygamma(0, np.array([0.0, -0.0, -1.0, np.inf, np.nan])),
        [-np.inf, np.inf, np.nan, np.inf, np.nan],
    )


@pytest.mark.usefixtures("with_scipy")
def test_half_floats_are_computed_in_double_precision():
    x = np.linspace(-4, 4, 999).astype(np.float16)
    found = special.erfc(x)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, scipy_special.erfc(x.astype(float)).astype(np.float16))
