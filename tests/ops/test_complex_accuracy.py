"""Complex functions and their derivatives against mpmath, from 1e-300 to 1e300.

`tests/data/mathematics/make_complex.py` says which points: near branch points, zeros and poles, on
both sides of cuts. Every value and derivative is within 4 units in the last place of its modulus.
Single precision is compared with double precision at the same points.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg

DATA = Path(__file__).parents[1] / "data" / "mathematics" / "complex.json"
POINTS = {name: np.array(rows) for name, rows in json.loads(DATA.read_text()).items()}
ULP = {rg.complex64: 2.0**-23, rg.complex128: 2.0**-52}


def complexes(columns, dtype=np.float64):
    """The complex numbers of two columns, with their signed zeros."""
    out = np.empty(len(columns), np.result_type(dtype, np.complex64))
    out.real, out.imag = columns.T
    return out


def both(name, points, dtype):
    """Values and derivatives of a function."""
    z = rg.tensor(points, dtype=dtype, requires_grad=True)
    out = (getattr(rg, name, None) or getattr(rg.nn.functional, name))(z)
    (g,) = rg.autograd.grad(out, z, rg.ones_like(out))
    return out.detach().numpy(), g.numpy().conj()


def units(found, exact, dtype):
    """How far results are off, in units of the last place, where these are normal numbers."""
    size = np.hypot(exact.real, exact.imag)
    limits = rg.finfo(dtype)
    seen = np.isfinite(size) & (size > limits.tiny) & (size < limits.max)
    with np.errstate(all="ignore"):
        off = np.abs(found - exact) / size / ULP[dtype]
    return np.where(seen, np.where(np.isnan(off), np.inf, off), 0.0)


@pytest.mark.parametrize("name", POINTS)
def test_values_and_derivatives_are_those_of_mpmath(name):
    rows = POINTS[name]
    found = both(name, complexes(rows[:, :2]), rg.complex128)
    for result, columns in zip(found, (rows[:, 2:4], rows[:, 4:]), strict=True):
        off = units(result, complexes(columns), rg.complex128)
        assert off.max() <= 4, rows[off.argmax()]


@pytest.mark.parametrize("name", POINTS)
def test_single_precision_loses_none_either(name):
    rows = POINTS[name][:, :2]
    with np.errstate(all="ignore"):
        narrow = rows.astype(np.float32)
    kept = (np.isfinite(narrow) & ((narrow != 0) | (rows == 0))).all(1)
    points = complexes(narrow[kept], np.float32)
    single, double = (both(name, points, dtype) for dtype in (rg.complex64, rg.complex128))
    for a, b in zip(single, double, strict=True):
        off = units(a, b, rg.complex64)
        assert off.max() <= 4, points[off.argmax()]


F = rg.nn.functional
SQUARES = {
    "erf": rg.erf, "erfc": rg.erfc, "ndtr": rg.special.ndtr, "log_ndtr": rg.special.log_ndtr,
    "gelu": F.gelu, "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"), "mish": F.mish,
    "sgn": rg.sgn,
}  # fmt: skip


@pytest.mark.parametrize("name", SQUARES)
def test_derivatives_by_squares_do_not_overflow_in_single_precision(name):
    parts = [0.0, 1e-40, 1.0, 3e38]
    points = np.array([complex(x, y) for x in parts for y in parts if x or y], np.complex64)
    points = np.concatenate([points, -points])
    found = []
    for dtype in (rg.complex64, rg.complex128):
        z = rg.tensor(points, dtype=dtype, requires_grad=True)
        out = SQUARES[name](z)
        (g,) = rg.autograd.grad(out, z, rg.ones_like(out))
        found.append(g.numpy())
    single, double = found
    with np.errstate(all="ignore"):
        expected = double.astype(np.complex64)
    kept = np.isfinite(expected)
    np.testing.assert_allclose(single[kept], expected[kept], rtol=2e-6, atol=1e-38)


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_their_gradients_inside_of_a_graph_have_its_dtype(name, create_graph):
    w = rg.tensor([[0.5 + 1j, 2.0], [-1j, 0.25]], dtype=rg.complex64, requires_grad=True)
    inner = w @ w.detach()
    seen = []
    inner.register_hook(lambda g: seen.append(g.dtype))
    loss = (SQUARES[name](inner) @ w.detach()).abs().sum()
    (g,) = rg.autograd.grad(loss, w, create_graph=create_graph)
    if create_graph:
        rg.autograd.grad(g.abs().sum(), w)
    assert set(seen) | {g.dtype} == {rg.complex64}


OF_C99 = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
]


@pytest.mark.parametrize("name", OF_C99)
def test_conjugate_points_have_conjugate_values_with_their_signs_of_zero(name):
    parts = [0.0, 0.5, 1.0, 2.0, 1e-300]
    both_signs = [sign * part for part in parts for sign in (1.0, -1.0)]
    z = complexes(np.array([[x, y] for x in both_signs for y in both_signs]))
    above, below = getattr(rg, name)(rg.tensor(z)), getattr(rg, name)(rg.tensor(z.conj())).conj()
    for a, b in ((above.real, below.real), (above.imag, below.imag)):
        rg.testing.assert_close(a, b, rtol=4e-16, atol=0, equal_nan=True)
        assert (a.signbit() == b.signbit())[~a.isnan()].all()


def test_real_functions_lose_no_digits_there_either():
    x = rg.tensor(1.0 - 2.0**-30, dtype=rg.float64, requires_grad=True)
    (derivative,) = rg.autograd.grad(x.asin(), x)
    assert derivative.item() == pytest.approx(23170.475011315586, rel=4e-16)
    near = rg.tensor([3.0 + 2.0**-40, 1e15, 2.5], dtype=rg.float64)
    expected = [-3.031649005908842e-13, 0.0, 0.12732395447351627]
    assert rg.sinc(near).tolist() == pytest.approx(expected, rel=1e-15, abs=0.0)


def test_imaginary_signs_of_zero_are_kept():
    found = rg.log1p(rg.tensor([complex(-2.0, -0.0), complex(-2.0, 0.0), complex(1e-9, -0.0)]))
    assert found.imag.signbit().tolist() == [True, False, True]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_sinc_vanish_where_they_should(order):
    x = rg.tensor(2.0 ** (order == 1) * 40.0, dtype=rg.float64, requires_grad=True)
    g = x.sinc()
    for _ in range(order):
        (g,) = rg.autograd.grad(g, x, create_graph=True)
    exact = {1: 1 / 80.0, 2: -2 / 40.0**2, 3: 6 / 40.0**3 - 3.141592653589793**2 / 40.0}
    assert g.item() == pytest.approx(exact[order], rel=1e-15)
