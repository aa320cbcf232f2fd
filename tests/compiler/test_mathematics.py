"""How far kernels' functions are from the exact ones, in units of the last place; and at the ends.

The bounds are of float32 and float64. Exact values, to twice float64's precision, are in
`tests/data/mathematics`; float32 is compared with float64, which the former show to be good.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import scipy.special

from retrograd.compiler.abstract import SHAPE
from retrograd.compiler.emission import code
from retrograd.compiler.kernels import Kernel
from retrograd.compiler.mathematics import EMIT, formats
from retrograd.compiler.program import Call, Program
from retrograd.compiler.recorder import Operand, record

from .loops import run

DATA = json.loads((Path(__file__).parents[1] / "data/mathematics/values.json").read_text())

ULP = {
    "exp": (1.05, 1.05),
    "exp2": (0.9, 0.9),
    "expm1": (1.4, 1.4),
    "tanh": (1.01, 1.01),
    "sinh": (1.7, 1.7),
    "cosh": (1.2, 1.2),
    "log": (0.9, 0.9),
    "log2": (1.1, 1.1),
    "log10": (1.0, 1.0),
    "log1p": (1.0, 1.0),
    "sin": (0.8, 0.8),
    "cos": (0.8, 0.8),
    "tan": (2.3, 2.3),
    "arcsin": (0.8, 0.8),
    "arccos": (0.8, 0.8),
    "arctan": (1.9, 1.9),
    "arcsinh": (0.51, 2.0),
    "arccosh": (0.51, 2.2),
    "arctanh": (0.51, 2.2),
    "cbrt": (0.6, 0.6),
    "erf": (1.1, 1.1),
    "erfc": (6.5, 3.9),
    "erfcx": (0.51, 3.9),
    "ndtr": (0.51, 4.5),
    "erfinv": (1.6, 2.1),
    "gammaln": (0.51, 3.2),
    "psi": (0.51, 16.0),
    "power": (0.51, 0.9),
    "hypot": (0.51, 0.9),
    "arctan2": (0.51, 1.9),
}


def units(found, high, low):
    """Errors in units of the last place of the exact value high + low; of infinities, 0."""
    info = np.finfo(found.dtype)
    _, exponent = np.frexp(high)
    unit = np.exp2(np.maximum(exponent - 1 - info.nmant, info.minexp - info.nmant).astype(float))
    with np.errstate(all="ignore"):
        narrow = high.astype(found.dtype)
        error = ((found.astype(np.float64) - high) - low) / unit
    return np.where(found == narrow, np.abs(low / unit), np.abs(error))


def drawn(name):
    """Operands and their exact values, as pairs."""
    rows = DATA[name]
    operands = [np.array([float.fromhex(x) for x in part])
                for part in zip(*[row[0] for row in rows], strict=True)]  # fmt: skip
    high, low = np.array([[float.fromhex(x) for x in row[1]] for row in rows]).T
    return operands, high, low


@pytest.mark.parametrize("name", ULP)
def test_float64_is_within_its_bound(name):
    operands, high, low = drawn(name)
    errors = units(run(EMIT[name], *operands), high, low)
    worst = np.nanargmax(errors)
    assert errors[worst] <= ULP[name][1], [x[worst] for x in operands]
    assert not np.isnan(errors).any()


@pytest.mark.parametrize("name", ULP)
def test_float32_is_within_its_bound(name):
    rng = np.random.default_rng(0)
    operands, _, _ = drawn(name)
    pick = rng.integers(0, operands[0].size, 100_000)
    near = rng.uniform(0.5, 1.5, pick.size)
    with np.errstate(all="ignore"):
        many = [(x[pick] * near).astype(np.float32) for x in operands]
        wide = run(EMIT[name], *[x.astype(np.float64) for x in many])
        there = np.isfinite(wide.astype(np.float32))
    found = run(EMIT[name], *many)
    errors = units(found, wide, np.zeros_like(wide))
    errors = np.where(there, errors, 0.0)
    worst = np.nanargmax(errors)
    assert errors[worst] <= ULP[name][0], [x[worst] for x in many]


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", sorted(ULP.keys() | {"logaddexp", "logaddexp2"}))
def test_the_ends_are_numpys(name, char):
    ufunc = getattr(np, name, None) or getattr(scipy.special, name)
    info = np.finfo(char)
    few = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, info.tiny, info.smallest_subnormal, info.max,
                    info.eps, np.inf, np.nan, 1e30], char)  # fmt: skip
    few = np.concatenate([few, -few])
    operands = [few] if ufunc.nin == 1 else [x.ravel() for x in np.meshgrid(few, few)]
    with np.errstate(all="ignore"):
        expected = ufunc(*operands)
        if name == "gammaln":  # SciPy's is infinite next to 0, and -inf at -inf
            expected = np.where(np.abs(few) < 1e-300, -np.log(np.abs(few)), expected)
            expected = np.where(few == -np.inf, np.inf, expected)
        if name == "erfinv":  # SciPy's drops the sign of -0
            expected = np.copysign(expected, few)
    found = run(EMIT[name], *operands)
    np.testing.assert_allclose(found, expected, rtol=16 * info.eps, atol=info.smallest_subnormal)
    zero = (expected == 0) & (found == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("name", ["gammaln", "psi"])
def test_to_the_left_of_0_the_gammas_are_as_exact_as_scipys(name):
    x = np.random.default_rng(0).uniform(-20, 0, 5000)
    expected = getattr(scipy.special, name)(x)
    np.testing.assert_allclose(run(EMIT[name], x), expected, rtol=1e-12, atol=5e-13)


def test_the_inverse_error_function_is_scipys_next_to_1():
    x = 1 - 2.0 ** -np.arange(20.0, 53)
    np.testing.assert_allclose(run(EMIT["erfinv"], x), scipy.special.erfinv(x), rtol=1e-15)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_a_sum_of_exponentials_is_exact_beside_its_larger_logarithm(name, char):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 10_000)).astype(char) * 5
    expected = getattr(np, name)(x.astype(np.longdouble), y.astype(np.longdouble))
    scale = np.maximum(np.abs(expected), 1) * np.finfo(char).eps
    assert np.max(np.abs(run(EMIT[name], x, y) - expected) / scale) < 1.2


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "log", "tanh", "erf"])
def test_an_element_has_the_same_bits_wherever_it_lies(name, char):
    x = np.random.default_rng(0).standard_normal(67).astype(char) * 10
    x = np.abs(x) if name == "log" else x
    whole = run(EMIT[name], x)
    for start in (0, 1, 5, 33, 60):
        for stop in (start + 1, start + 7, 67):
            np.testing.assert_array_equal(run(EMIT[name], x[start:stop]), whole[start:stop])


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_single_angles_next_to_right_ones_lose_nothing(k):
    x = (np.arange(1, 42_000, dtype=np.float64) * k * math.pi / 2).astype(np.float32)
    for name in ("sin", "cos"):
        wide = run(EMIT[name], x.astype(np.float64))
        errors = units(run(EMIT[name], x), wide, np.zeros_like(wide))
        assert errors.max() <= ULP[name][0]


@pytest.mark.parametrize("char", "fd")
def test_a_number_without_logarithm_changes_no_bits_of_the_others(char):
    kernel = Kernel(record(lambda x: -np.log(x), [Operand(char, SHAPE)]).program, [0])
    x = np.exp(np.random.default_rng(0).standard_normal(10_000) * 20).astype(char)
    alone = kernel([x])
    x[:5] = special = np.array([0, -1, np.inf, np.nan, np.finfo(char).smallest_subnormal], char)
    mixed = kernel([x])
    np.testing.assert_array_equal(mixed[5:], alone[5:])
    np.testing.assert_array_equal(mixed[:5], -run(EMIT["log"], special))


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_a_large_angle_changes_no_bits_of_the_others(name, char):
    function = getattr(np, name)
    kernel = Kernel(record(lambda x: -function(x), [Operand(char, SHAPE)]).program, [0])
    x = np.random.default_rng(0).standard_normal(10_000).astype(char)
    near = kernel([x])
    x[7_000] = 1e30
    far = kernel([x])
    np.testing.assert_array_equal(np.delete(far, 7_000), np.delete(near, 7_000))
    np.testing.assert_array_equal(-far, run(EMIT[name], x))


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "tanh", "erf", "erfc", "erfinv"])
def test_float32_is_computed_in_float32(name):
    calls = Call("input", (), "f"), Call(name, (0,), "f")
    program = Program(calls, (1,), (-1,))
    assert "double" not in code(program, 0, "k")


@pytest.mark.parametrize("char", "fd")
def test_powers_of_two_scale_alike_with_an_instruction_and_without(char, monkeypatch):
    info = np.finfo(char)
    ends = np.log(np.array([info.smallest_subnormal, info.max])) * 1.01
    x = np.append(np.linspace(*ends, 10_001), [np.nan, np.inf, -np.inf]).astype(char)
    found = []
    for has in (True, False):
        monkeypatch.setattr(formats, "HAS_LDEXP", has)
        found.append(run(lambda value: EMIT["exp"](value), x))
    np.testing.assert_array_equal(*found)
