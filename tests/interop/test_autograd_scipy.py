"""SciPy's functions for programs written for HIPS autograd: SciPy's values, checked derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal

import retrograd.interop.autograd.numpy as anp
from retrograd.interop.autograd import grad, jacobian
from retrograd.interop.autograd.scipy import integrate, linalg, signal, special, stats
from retrograd.interop.autograd.test_util import check_grads

A = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])
B = np.array([[0.5, -1.5], [2.5, 0.3], [0.1, 1.0]])
LONG = np.arange(12.0).reshape(3, 4) ** 1.1


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("a", "b"), [(LONG, A[:2, :2]), (LONG, B[:2]), (LONG[0], B[:, 0])])
def test_a_convolution_is_scipys_and_is_differentiated_twice(a, b, mode):
    np.testing.assert_allclose(
        signal.convolve(a, b, mode=mode), scipy.signal.convolve(a, b, mode), rtol=1e-13
    )
    check_grads(lambda a, b: signal.convolve(a, b, mode=mode), (0, 1))(a, b)


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_the_shorter_of_two_may_come_first(mode):
    np.testing.assert_allclose(
        signal.convolve(B, LONG, axes=([0], [1]), mode=mode)[1, 2],
        scipy.signal.convolve(B[:, 1], LONG[2], mode),
    )


def test_other_axes_of_a_convolution_are_summed_over_or_kept():
    found = signal.convolve(LONG, LONG[:, :3], axes=([1], [1]), dot_axes=([0], [0]))
    expected = sum(map(np.convolve, LONG, LONG[:, :3]))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    found = signal.convolve(LONG, B, axes=([1], [0]), mode="same")
    assert found.shape == (3, 2, 4)
    np.testing.assert_allclose(found[2, 1], np.convolve(LONG[2], B[:, 1], "same"), rtol=1e-13)
    check_grads(lambda a: signal.convolve(a, B, axes=([1], [0])))(LONG)


def test_a_convolution_refuses_arrays_of_which_neither_is_larger():
    with pytest.raises(ValueError, match="larger than the other along all axes"):
        signal.convolve(LONG, A[:, :2].repeat(2, 0), mode="valid")
    with pytest.raises(ValueError, match="mode must be"):
        signal.convolve(LONG, LONG, mode="wrap")


TIMES = np.array([0.0, 0.4, 1.0])


def decay(y, t, rate, push):
    return -rate * y + push * t


def test_a_solution_of_an_equation_is_scipys():
    found = integrate.odeint(decay, B[0], TIMES, (2.0, 0.5))
    np.testing.assert_allclose(found, scipy.integrate.odeint(decay, B[0], TIMES, (2.0, 0.5)))


def test_the_gradient_of_a_solution_goes_to_state_times_and_arguments():
    tight = {"rtol": 1e-10, "atol": 1e-12}

    def end(y0, t, rate):
        return integrate.odeint(decay, y0, t, (rate, 0.0), **tight)[-1, 0]

    y0 = np.array([1.5])
    shrunk = math.exp(-0.7)
    assert grad(end, 0)(y0, TIMES, 0.7)[0] == pytest.approx(shrunk, rel=1e-8)
    np.testing.assert_allclose(
        grad(end, 1)(y0, TIMES, 0.7), 0.7 * 1.5 * shrunk * np.array([1, 0, -1]), atol=1e-8
    )
    assert grad(end, 2)(y0, TIMES, 0.7) == pytest.approx(-1.5 * shrunk, rel=1e-8)
    assert grad(grad(end, 2), 2)(y0, TIMES, 0.7) == pytest.approx(1.5 * shrunk, rel=1e-6)


def test_the_root_of_a_matrix_is_differentiated():
    np.testing.assert_allclose(linalg.sqrtm(A) @ linalg.sqrtm(A), A, rtol=1e-12)
    check_grads(linalg.sqrtm)(A)


def test_solutions_of_sylvesters_equation_are_differentiated():
    check_grads(linalg.solve_sylvester, (0, 1, 2))(A, A[:2, :2], B)


@pytest.mark.parametrize("trans", [0, 1, "C"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("right", [B, B[:, 0]])
def test_triangular_systems_are_solved_as_scipy_does(trans, lower, right):
    def solve(a, b):
        return linalg.solve_triangular(a, b, trans=trans, lower=lower)

    recorded = jacobian(lambda b: solve(A, b))(right)
    expected = scipy.linalg.solve_triangular(A, right, trans=trans, lower=lower)
    np.testing.assert_allclose(
        np.tensordot(recorded, right, np.ndim(right)), expected, rtol=1e-12, atol=1e-14
    )
    check_grads(solve, (0, 1))(A, right)


def test_what_has_no_rule_is_scipys():
    np.testing.assert_allclose(linalg.expm(A), scipy.linalg.expm(A))
    assert linalg.norm is np.linalg.norm


def test_special_functions_and_distributions_stand_on_those_of_tensors():
    x = np.array([0.3, 0.8])
    for function in (special.gamma, special.rgamma, special.erfcinv, special.psi):
        check_grads(function)(x)
    for function in (special.jn, special.iv, special.ive, special.yn):
        check_grads(lambda x, function=function: function(2, x))(x)
    check_grads(lambda a, b: special.beta(a, b), (0, 1))(x, x + 1)
    check_grads(lambda x: stats.beta.cdf(x, 2.0, 1.5))(x)


def test_grids_and_diagonals_take_what_is_differentiated():
    check_grads(lambda x: anp.linspace(x, 2.0, 4))(np.array([0.5, 1.0]))
    check_grads(lambda x: anp.make_diagonal(x, axis1=-1, axis2=-2))(B)
    with pytest.raises(NotImplementedError, match="axis1=-1"):
        anp.make_diagonal(B)
