"""Both derivatives close to where there are none, by differences in 2n real variables.

Near poles, zeros of moduli, branch points, sides of cuts, matrices that are nearly singular and
eigenvalues that are nearly equal: steps are a thousandth of the distance, so that differences are
good to 1e-6 of the largest entry.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import wirtinger

linalg, J = rg.linalg, 1j
DISTANCE = 1e-3
POINTS = {  # functions, with the points where they or their derivatives are singular
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"], (0, -2)),
    **dict.fromkeys(["abs", "sgn", "angle"], (0, -2)),
    **dict.fromkeys(["asin", "acos", "atanh"], (1, -1, 2, -2)),
    **dict.fromkeys(["atan", "asinh"], (1j, -1j, 2j)),
    **dict.fromkeys(["lgamma", "digamma"], (0, -1, -2, 1)),
    **dict.fromkeys(["sinc", "expm1", "square"], (0, 1)),
    "acosh": [1, -1, -2],
    "log1p": [-1, -3],
    "tan": [np.pi / 2],
    "tanh": [np.pi / 2 * J],
    "sigmoid": [np.pi * J],
    "logit": [0, 1],
}
OF_SEVERAL = {  # functions of three numbers that are near 0, or near the number given
    "power": (lambda z: z**0.3 + z**-1.5, 0),
    "complex power": (lambda z: z ** (0.3 + 0.2j), 0),
    "power of the modulus": (lambda z: z.abs() ** 1.5, 0),
    "product": (lambda z: z.prod() * z, 0),
    "running product": (lambda z: z.cumprod(0), 0),
    "norm": (lambda z: linalg.vector_norm(z) * 1.0, 0),
    "norm of order 3": (lambda z: linalg.vector_norm(z, 3), 0),
    "direction": (lambda z: z / linalg.vector_norm(z), 0),
    "deviation": (lambda z: z.std(), 2),
    "distance": (lambda z: rg.dist(z, 2 + 0 * z), 2),
    "xlogy": (lambda z: rg.xlogy(z, z), 0),
    "atan2": (lambda z: rg.atan2(z, z.flip(0)), 0),
    "largest": (lambda z: z.max() * z.amin(), 0),
    "normalised": (lambda z: rg.nn.functional.normalize(z, dim=0), 0),
    "modrelu": (lambda z: rg.nn.complex.functional.modrelu(z, rg.ones(3).double()), 0),
    "cardioid": (rg.nn.complex.functional.cardioid, 0),
}
SINGULAR = np.array([[1.0, 2 + 1j], [0.5 - 0.2j, (0.5 - 0.2j) * (2 + 1j)]])
ALIKE = np.array([[2.0, 0], [0, 2.0]])
OF_MATRICES = {  # functions of a matrix that is near the one given
    "inverse": (linalg.inv, SINGULAR),
    "determinant": (linalg.det, SINGULAR),
    "its logarithm": (lambda m: linalg.slogdet(m).logabsdet, SINGULAR),
    "solution": (lambda m: linalg.solve(m, m.conj()[:, :1]), SINGULAR),
    "pseudo-inverse": (lambda m: linalg.pinv(m[:, :1]), 0 * SINGULAR),
    "qr": (lambda m: linalg.qr(m).R, SINGULAR),
    "singular values": (linalg.svdvals, ALIKE),
    "eigenvalues": (linalg.eigvals, ALIKE),
    "eigenvalues of Hermitian matrices": (lambda m: linalg.eigvalsh(m + m.mH), ALIKE),
    "cholesky": (lambda m: linalg.cholesky(m @ m.mH), SINGULAR),
    "exponential": (linalg.matrix_exp, ALIKE),
    "nuclear norm": (lambda m: linalg.matrix_norm(m, "nuc"), SINGULAR),
}
AWAY = DISTANCE * np.array([0.6 + 0.8j, -0.9 + 0.3j, 0.2 - 0.7j, -0.5 - 0.4j])


def at(z):
    return rg.tensor(z, dtype=rg.complex128)


def agree(f, z):
    """Assert that the real Jacobian of f at z is that of central differences."""
    step, columns = 1e-3 * DISTANCE, []
    for unit in (step, step * J):
        for index in np.ndindex(z.shape):
            moved = np.zeros(z.shape, complex)
            moved[index] = unit
            up, down = (f(at(z + s * moved)).numpy().astype(complex).ravel() for s in (1, -1))
            change = (up - down) / (2 * step)
            columns.append(np.concatenate([change.real, change.imag]))
    expected = np.stack(columns, 1)
    found = wirtinger.jacobian(f, at(z), form="real").numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", POINTS)
def test_functions_of_one_number_near_their_singular_points(name):
    for point in POINTS[name]:
        for away in AWAY:
            agree(getattr(rg, name), np.array(point + away))


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_functions_of_several_numbers_near_their_singular_points(name):
    function, point = OF_SEVERAL[name]
    agree(function, point + AWAY[:3])


@pytest.mark.parametrize("name", OF_MATRICES)
def test_functions_of_matrices_near_their_singular_ones(name):
    function, matrix = OF_MATRICES[name]
    agree(function, matrix + AWAY.reshape(2, 2))
