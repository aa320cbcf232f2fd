"""What kernels compute without polynomials is what NumPy computes, to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from retrograd.compiler.mathematics import EMIT
from retrograd.compiler.mathematics.table import FORMS
from retrograd.compiler.values import convert

from .loops import run

# What is computed without a series: arithmetic, comparisons, and what LLVM has itself.
MODULES = {f"retrograd.compiler.{name}"
           for name in ("values", "mathematics.arithmetic", "mathematics.comparison")}  # fmt: skip
UFUNCS = {name: getattr(np, name, None) for name in EMIT}
UFUNCS["clip"] = np._core.umath.clip
COMPLEX_PRODUCTS = {("multiply", "F"), ("multiply", "D"), ("square", "F"), ("square", "D")}
CASES = sorted(
    key for key, function in FORMS.items()
    if function.__module__ in MODULES and key not in COMPLEX_PRODUCTS and key[0] != "where"
)  # fmt: skip


def numbers(dtype):
    """Special and random numbers of a dtype."""
    rng = np.random.default_rng(0)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        few = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 31, 64]
        few += [-1, -2, -7] if info.min else []
        return np.array(few, dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    info = np.finfo(part)
    few = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1e-3, 7.25, info.max, info.tiny, info.smallest_subnormal,
           np.inf, np.nan]  # fmt: skip
    reals = np.array(few + [-x for x in few] + list(rng.standard_normal(8) * 10), part)
    if dtype.kind == "f":
        return reals
    reals = reals[[0, 1, 4, 9, 11, 12, 13, 14, 22, 24, 26, 27]]
    return np.array([complex(a, b) for a in reals for b in reals], dtype)


def operands(dtype, n):
    given = numbers(dtype)
    if n == 1:
        return [given]
    given = given[:40] if n == 2 else given[:14]
    return [np.array(part) for part in zip(*itertools.product(given, repeat=n), strict=True)]


def same(found, expected):
    """Equal bits, but for NaN, which has many."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(expected[there]))


@pytest.mark.parametrize(("name", "char"), CASES)
def test_a_loop_gives_numpys_bits(name, char):
    ufunc = UFUNCS[name]
    arrays = operands(np.dtype(char), ufunc.nin)
    with np.errstate(all="ignore"):
        expected = ufunc(*arrays)
    found = run(EMIT[name], *arrays)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        if name in ("fmax", "fmin"):  # of two zeros NumPy gives now one, now the other
            np.testing.assert_array_equal(a, b)
        else:
            same(a, b)


@pytest.mark.parametrize("char", "FD")
def test_a_complex_product_is_that_of_its_parts(char):  # NumPy's is fused where the machine can
    x, y = operands(np.dtype(char), 2)
    with np.errstate(all="ignore"):
        real = x.real * y.real - x.imag * y.imag
        imag = x.real * y.imag + x.imag * y.real
    found = run(EMIT["multiply"], x, y)
    same(found.real, real)
    same(found.imag, imag)
    with np.errstate(all="ignore"):
        same(run(EMIT["square"], x), run(EMIT["multiply"], x, x))


def test_floats_beyond_the_largest_int64_are_uint64s():
    x = np.array(
        [0.0, 2.0**62, 2.0**63 - 1024, 2.0**63, 2.0**63 + 2048, 1.5 * 2.0**63, 2.0**64 - 2048]
    )
    same(run(lambda v: convert(v, np.dtype("u8")), x), x.astype("u8"))


def test_where_takes_one_of_two():
    x = np.arange(8.0)
    np.testing.assert_array_equal(run(EMIT["where"], x > 3, x, -x), np.where(x > 3, x, -x))


KINDS = "?bBhHiIlLfdFD"


@pytest.mark.parametrize("of", KINDS)
def test_a_cast_gives_numpys_bits(of):
    x = numbers(np.dtype(of))
    found = run(lambda v: tuple(convert(v, to) for to in KINDS), x)
    for to, cast in zip(KINDS, found, strict=True):
        with np.errstate(all="ignore"):
            part = x.real if of in "FD" and to not in "FD?" else x
            expected = part.astype(to)
        if to == "I" and of in "fdFD":  # what NumPy makes of numbers out of range depends on chance
            inside = np.abs(part) < 2**32
            same(cast[inside], expected[inside])
        else:
            same(cast, expected)
