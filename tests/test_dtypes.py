"""Data types and promotion; the expected dtypes are PyTorch's."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd import dtypes

REAL = [rg.float16, rg.float32, rg.float64]


def test_aliases_are_the_same_objects():
    assert rg.float is rg.float32
    assert rg.double is rg.float64
    assert rg.half is rg.float16
    assert rg.long is rg.int64
    assert rg.int is rg.int32
    assert rg.short is rg.int16
    assert rg.cfloat is rg.complex64
    assert rg.cdouble is rg.complex128
    assert rg.zeros(1, dtype=rg.bool).dtype is rg.bool


def test_dtypes_say_what_they_are():
    assert repr(rg.float32) == "retrograd.float32"
    assert rg.complex64.is_complex
    assert not rg.complex64.is_floating_point
    assert rg.float16.is_floating_point
    assert rg.float16.itemsize == 2
    assert rg.int8.is_signed
    assert not rg.uint8.is_signed
    assert not rg.bool.is_signed
    assert rg.complex128.to_real() is rg.float64
    assert rg.float32.to_complex() is rg.complex64
    assert pickle.loads(pickle.dumps(rg.int16)) is rg.int16


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (rg.bool, rg.uint8, rg.uint8),
        (rg.uint8, rg.int8, rg.int16),
        (rg.int32, rg.int64, rg.int64),
        (rg.int64, rg.float16, rg.float16),
        (rg.int64, rg.float32, rg.float32),
        (rg.float16, rg.float32, rg.float32),
        (rg.float64, rg.complex64, rg.complex128),
        (rg.int64, rg.complex64, rg.complex64),
        (rg.float32, rg.float32, rg.float32),
    ],
)
def test_promotion_between_dtypes(first, second, result):
    assert rg.promote_types(first, second) is result
    assert rg.promote_types(second, first) is result
    assert (rg.ones(2, dtype=first) * rg.ones(2, dtype=second)).dtype is result


@pytest.mark.parametrize(
    ("dimensioned", "zero_dim", "result"),
    [
        (rg.float32, rg.float64, rg.float32),
        (rg.float16, rg.int64, rg.float16),
        (rg.int64, rg.float64, rg.float64),
        (rg.int8, rg.int64, rg.int8),
        (rg.float32, rg.complex128, rg.complex64),
        (rg.float64, rg.complex64, rg.complex128),
        (rg.int64, rg.complex64, rg.complex64),
        (rg.bool, rg.int32, rg.int32),
    ],
)
def test_a_zero_dimensional_tensor_raises_only_the_category(dimensioned, zero_dim, result):
    x, y = rg.ones(2, dtype=dimensioned), rg.ones((), dtype=zero_dim)
    assert (x * y).dtype is result
    assert (y * x).dtype is result
    assert rg.result_type(x, y) is result


@pytest.mark.parametrize(
    ("dtype", "scalar", "result"),
    [
        (rg.float16, 2, rg.float16),
        (rg.float64, 2.5, rg.float64),
        (rg.int32, 2, rg.int32),
        (rg.int32, 2.5, rg.float32),
        (rg.int32, 1j, rg.complex64),
        (rg.float64, 1j, rg.complex128),
        (rg.bool, 2, rg.int64),
        (rg.bool, True, rg.bool),
    ],
)
def test_python_scalars_are_weak(dtype, scalar, result):
    assert (rg.ones(2, dtype=dtype) * scalar).dtype is result
    assert rg.result_type(rg.ones((), dtype=dtype), scalar) is result


def test_integer_division_gives_the_default_dtype():
    assert (rg.arange(2) / rg.arange(1, 3)).dtype is rg.float32
    rg.set_default_dtype(rg.float64)
    try:
        assert (rg.arange(2) / 2).dtype is rg.float64
        assert (rg.arange(2) / rg.arange(1, 3)).dtype is rg.float64
    finally:
        rg.set_default_dtype(rg.float32)


@pytest.mark.parametrize("bad", [rg.int64, rg.complex64, "float32", None])
def test_the_default_dtype_must_be_real_floating(bad):
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        rg.set_default_dtype(bad)


@pytest.mark.parametrize("dtype", REAL)
def test_finfo_tells_the_limits(dtype):
    limits, expected = rg.finfo(dtype), np.finfo(dtype.numpy)
    assert (limits.eps, limits.max, limits.tiny) == (expected.eps, expected.max, expected.tiny)
    assert limits.bits == 8 * dtype.itemsize


def test_finfo_and_iinfo_refuse_the_other_kind():
    assert rg.finfo(rg.complex64).eps == rg.finfo(rg.float32).eps
    assert (rg.iinfo(rg.uint8).min, rg.iinfo(rg.uint8).max) == (0, 255)
    with pytest.raises(TypeError, match="floating point input type"):
        rg.finfo(rg.int64)
    with pytest.raises(TypeError, match="integer input type"):
        rg.iinfo(rg.float32)


def test_limits_are_printed_and_compared_by_their_dtype():
    assert str(rg.finfo(rg.float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
        "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"
    )
    assert str(rg.iinfo(rg.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"
    assert rg.finfo(rg.float32).resolution == 1e-6
    assert rg.finfo(rg.float32) == rg.finfo(rg.complex64) != rg.finfo(rg.float64)
    assert rg.iinfo(rg.int8) != rg.iinfo(rg.int16)


def test_python_and_numpy_types_name_dtypes():
    assert dtypes.to_numpy(float) == np.float64
    assert dtypes.to_numpy(complex) == np.complex128
    assert dtypes.to_numpy(np.int16) == np.int16
    assert dtypes.to_numpy(bool) == np.bool_
    with pytest.raises(TypeError, match=r"must be a retrograd.dtype"):
        dtypes.to_numpy("no such type")
    for call in (rg.sum, rg.mean, rg.prod, rg.linalg.norm, rg.linalg.vector_norm):
        with pytest.raises(TypeError, match=r"must be a retrograd.dtype, not 'float64'"):
            call(rg.ones(2), dtype="float64")
    for call in (rg.cumsum, rg.softmax):
        with pytest.raises(TypeError, match=r"must be a retrograd.dtype, not 'float64'"):
            call(rg.ones(2), 0, dtype="float64")
    assert rg.linalg.norm(rg.ones(2), dtype=np.float64).dtype is rg.float64
    with pytest.raises(TypeError, match="can't convert"):
        dtypes.of_numpy(np.dtype("datetime64[s]"))


def test_mutating_an_argument_of_a_scalar_cache_is_impossible():
    cached = dtypes.scalar_array(2.5, np.dtype(np.float32))
    with pytest.raises(ValueError, match="read-only"):
        cached[...] = 3
    assert dtypes.scalar_array(-0.0, np.dtype(np.float32)).item() == 0.0
    assert str(dtypes.scalar_array(-0.0, np.dtype(np.float32)).item()) == "-0.0"


def test_a_number_takes_the_default_dtype_of_the_moment():
    x = rg.arange(2)
    try:
        for dtype, complex_dtype in ((rg.float32, rg.complex64), (rg.float64, rg.complex128)) * 2:
            rg.set_default_dtype(dtype)
            assert (x + 5.5).dtype is rg.result_type(x, 5.5) is dtype
            assert (x * 2j).dtype is rg.result_type(x, 2j) is complex_dtype
    finally:
        rg.set_default_dtype(rg.float32)


@pytest.mark.parametrize(
    ("start", "function", "value", "slope"),
    [
        (1e-3, lambda x: x * 70000, 70.0, math.inf),
        (1e-3, lambda x: 1e5 * x, 100.0625, math.inf),
        (1000.0, lambda x: x / 1e5, 0.01000213623046875, 1.0013580322265625e-05),
        (60000.0, lambda x: x * 1e-9, 6.002187728881836e-05, 0.0),
    ],
)
def test_a_factor_that_float16_does_not_hold_counts_all_the_same(start, function, value, slope):
    x = rg.tensor(start, dtype=rg.float16, requires_grad=True)
    found = function(x)
    assert found.dtype == rg.float16
    assert found.item() == value
    (g,) = rg.autograd.grad(found, x)
    assert g.item() == pytest.approx(slope, rel=1e-6)


def test_comparisons_of_float16_round_large_numbers_to_infinity():
    x = rg.tensor([60000.0, -60000.0], dtype=rg.float16)
    assert (x < 70000).tolist() == [True, True]
    assert (x * 2 == 70000).tolist() == [True, False]
    assert (x * math.inf).tolist() == [math.inf, -math.inf]


def test_integers_beyond_every_float_are_refused_beside_float16():
    with pytest.raises(RuntimeError, match="without overflow"):
        rg.ones(1, dtype=rg.float16) * 10**400


def test_result_type_asks_for_the_kind_of_a_number_alone():
    x = rg.ones(1, dtype=rg.uint8)
    assert rg.result_type(x, -1) is rg.result_type(-1, x) is rg.result_type(x, 300) is rg.uint8


def test_limits_of_python_s_numbers_are_those_of_their_dtypes():
    assert rg.finfo(float) == rg.finfo(complex) == rg.finfo(rg.float64)
    assert rg.iinfo(int) == rg.iinfo(rg.int64)
    with pytest.raises(TypeError, match="requires a floating point input type"):
        rg.finfo(int)
    with pytest.raises(TypeError, match="requires an integer input type"):
        rg.iinfo(bool)


def test_a_large_number_in_a_tensor_scales_a_product():
    one = rg.ones(1, dtype=rg.float64)
    large = rg.tensor(1e6, dtype=rg.float64)
    assert rg.addr(one[None], one, one, alpha=large).tolist() == [[1e6 + 1]]
    with pytest.raises(RuntimeError, match="without overflow"):
        rg.addr(rg.ones(1, 1), rg.ones(1), rg.ones(1), alpha=1e40 * large)
