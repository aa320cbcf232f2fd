"""A kernel computes what the forward or formula that it was recorded from computes on NumPy.

To the bit where all is arithmetic, which rounds alike; else up to rounding errors of the terms.
NaN, infinities and the signs of zeros are where they are, in the same dtype and shape; of complex
numbers, only that they are not finite, since NumPy's products are fused on some machines.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd.nn
from retrograd.compiler import door
from retrograd.engine.namespaces import arrays
from retrograd.engine.registry import OPS

from .samples import at_least, draw

pytestmark = pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")

assert retrograd.nn.__doc__  # all records are there

SIZE = 173  # no multiple of a vector
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
    30.0,
]
DTYPES = {"f": np.float32, "d": np.float64, "F": np.complex64, "D": np.complex128}
ROUNDED_ALIKE = {
    *("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "maximum"),
    *("minimum", "reciprocal", "rint", "floor", "ceil", "trunc", "equal", "not_equal", "less"),
    *("less_equal", "greater", "greater_equal", "logical_not", "logical_and", "logical_or"),
    *("isnan", "isinf", "isfinite", "sign", "copysign", "select", "cast", "constant", "positive"),
}
RECORDS = at_least(160, [op for op in OPS.values() if op.elementwise and op.examples])
# Whose forwards have no code: bits, integers, what no loop is written for, a copy.
WITHOUT = {
    "airy", "bessel_i", "bessel_ie", "bessel_j", "bessel_k", "bessel_ke", "bessel_y", "beta",
    "betainc", "betaln", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "clone", "erfcx", "gamma", "gcd", "igamma", "igammac",
    "isclose", "isneginf", "isposinf", "lcm", "log_ndtr", "ndtri", "orthogonal", "rgamma",
    "threshold", "times_power_of_two", "zeta",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _all_arrays_are_large():
    before = door.change(least=0)
    yield
    door.change(**before)


def values(spec, op, char, rng):
    """An input as an example's spec says, of another size; some of the numbers are special."""
    kind = spec.partition(":")[2]
    if spec == "none" or kind == "bool" or kind.startswith("int"):
        return draw(spec if spec == "none" else f"{SIZE}:{kind}", op.domain, False, rng)
    made = np.asarray(rng.uniform(*op.domain, SIZE))
    if char in "fd" or kind == "real":
        made[rng.permutation(SIZE)[: len(SPECIAL)]] = SPECIAL
        return made.astype(char.lower())
    made = made + 1j * rng.uniform(-1.0, 1.0, SIZE)
    places = rng.permutation(SIZE)[: len(SPECIAL)]
    parts = np.where(np.abs(SPECIAL) == 1e30, 1e3, SPECIAL)  # whose powers do not overflow
    made.real[places], made.imag[rng.permutation(places)] = parts, parts * 0.75
    return made.astype(char)


def cases(op, name):
    """The calls to try of a forward, or of the formula for an input: inputs and parameters."""
    kinds = {}
    for example in op.examples:
        specs = [spec if spec == "none" else spec.partition(":")[2] for spec in example.specs]
        kinds[repr((specs, example.params))] = example
    for example in kinds.values():
        for char in DTYPES if op.complex else "fd":
            rng = np.random.default_rng(0)
            inputs = [values(spec, op, char, rng) for spec in example.specs]
            if name is None:
                yield inputs, example.params
                continue
            with np.errstate(all="ignore"):
                out = op.forward.__wrapped__(*inputs, **example.params)
            named = {**example.params, **dict(zip(op.inputs, inputs, strict=True)), "out": out}
            g = values("", op, out.dtype.char, rng)
            yield [arrays, g, *[named[need] for need in op.needs[name]]], {}


def programs(function):
    """The programs of a door's kernels so far."""
    found = [getattr(kernel, "kernels", {0: kernel}) for kernel in function.kernels.values()]
    kernels = [kernel for many in found for kernel in many.values() if kernel is not None]
    return [getattr(k, "build", k.__call__).__self__.program for k in kernels]


def equal(found, expected, exact):
    """Assert that a kernel's result is NumPy's."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind == "c":
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found), finite)
        for part in ("real", "imag"):
            agree(getattr(found, part)[finite], getattr(expected, part)[finite], False)
        return
    agree(found, expected, exact)
    zero = expected == 0
    if expected.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def agree(found, expected, exact):
    """Assert that real numbers are equal, or else up to rounding."""
    if exact or expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        eps = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=32 * eps, atol=8 * eps)


def compare(function, inputs, params):
    """Assert that a door and its function agree; how many programs the door has."""
    with np.errstate(all="ignore"):
        try:
            expected = function.__wrapped__(*inputs, **params)
        except (TypeError, NotImplementedError) as error:
            with pytest.raises(type(error)):
                function(*inputs, **params)
            return 0
        found = function(*inputs, **params)
    known = programs(function)
    if known:
        calls = {call.function for program in known for call in program.calls}
        equal(found, np.asarray(expected), calls <= ROUNDED_ALIKE)
    return len(known)


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_a_kernel_gives_what_numpy_gives(op):
    known = [compare(op.forward, inputs, params) for inputs, params in cases(op, None)]
    assert any(known) or op.name in WITHOUT
    for name, formula in zip(op.vjps, op.formulas, strict=True):
        for inputs, params in cases(op, name):
            compare(formula, inputs, params)
