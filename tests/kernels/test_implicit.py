"""Implicit derivatives of samples: how SciPy's quantiles move, and float32's rounding of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from retrograd.kernels.implicit import beta_derivative, gamma_derivative, von_mises_derivative

SHARES = np.array([1e-6, 1e-3, 0.03, 0.2, 0.5, 0.8, 0.97, 0.999])


def derivative(quantile, parameter, h):
    """The derivative of a quantile by a parameter, from four values of it."""
    a, b = ((quantile(parameter + d) - quantile(parameter - d)) / (2 * d) for d in (h, 2 * h))
    return (4 * a - b) / 3


@pytest.mark.parametrize("a", [0.05, 0.4, 0.99, 1.0, 1.6, 4.0, 15.0, 100.0, 1e4])
def test_gamma_samples_move_as_quantiles(a):
    x = scipy.special.gammaincinv(a, SHARES)
    expected = derivative(lambda a: scipy.special.gammaincinv(a, SHARES), a, a * 2e-3)
    assert np.allclose(gamma_derivative(np.full(x.shape, a), x), expected, rtol=1e-6)


CONCENTRATIONS = [0.05, 0.5, 1.0, 3.0, 7.9, 8.1, 60.0, 2000.0]


@pytest.mark.parametrize("b", CONCENTRATIONS)
@pytest.mark.parametrize("a", CONCENTRATIONS)
def test_beta_samples_move_as_quantiles(a, b):
    x = scipy.special.betaincinv(a, b, SHARES)
    inside = (x > 1e-200) & (x < 1 - 1e-9)
    share, x = SHARES[inside], x[inside]
    expected = derivative(lambda a: scipy.special.betaincinv(a, b, share), a, a * 2e-3)
    assert np.allclose(
        beta_derivative(np.full(x.shape, a), np.full(x.shape, b), x), expected, rtol=2e-5
    )


@pytest.mark.parametrize("k", [1e-3, 0.3, 2.0, 15.0, 300.0, 1e5])
def test_von_mises_samples_move_so_that_shares_stay(k):
    x = np.linspace(0.05, 1, 9) * min(np.pi, 5 / np.sqrt(k))

    def density(k):
        return np.exp(-2 * k * np.sin(grid / 2) ** 2) / scipy.special.i0e(k)

    grid = np.linspace(0, x, 20_001)  # the trapezoidal rule on the derivative of the density
    changed = np.trapezoid(derivative(density, k, k * 1e-3), grid, axis=0)
    expected = -changed / density(k)[-1]
    assert np.allclose(
        von_mises_derivative(np.full(x.shape, k), x), expected, rtol=1e-5, atol=1e-9 / k
    )
    assert np.array_equal(
        von_mises_derivative(np.full(x.shape, k), -x), -von_mises_derivative(np.full(x.shape, k), x)
    )


def test_kernels_take_matrices_and_keep_single_precision():
    a = np.array([[0.5, 2.0], [20.0, 300.0]])
    x = np.array([[0.2, 3.0], [17.0, 310.0]])
    wide, narrow = (
        gamma_derivative(a, x),
        gamma_derivative(a.astype(np.float32), x.astype(np.float32)),
    )
    assert narrow.dtype == np.float32
    assert np.allclose(wide, narrow, rtol=1e-6)
    share = np.array([[0.2, 0.9], [0.5, 1e-5]])
    wide = beta_derivative(a, a.T, share)
    narrow = beta_derivative(a.astype(np.float32), a.T.astype(np.float32), share.astype(np.float32))
    assert narrow.dtype == np.float32
    assert np.allclose(wide, narrow, rtol=1e-5)


def test_there_are_as_many_blocks_as_needed():
    a = np.linspace(0.1, 30, 9000)
    x = np.linspace(0.05, 40, 9000)
    whole = gamma_derivative(a, x)
    assert np.array_equal(whole[::50], gamma_derivative(a[::50], x[::50]))


def test_samples_at_the_ends_have_finite_derivatives():
    for dtype in (np.float32, np.float64):
        a, b = np.array([0.01, 0.5, 3.0, 50.0], dtype), np.array([0.02, 3.0, 0.5, 40.0], dtype)
        tiny = np.full(4, np.finfo(dtype).tiny)
        assert np.isfinite(gamma_derivative(a, tiny)).all()
        assert np.isfinite(beta_derivative(a, b, tiny)).all()
        assert np.isfinite(beta_derivative(a, b, np.ones(4, dtype))).all()
