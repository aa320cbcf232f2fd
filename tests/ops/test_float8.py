"""Floating dtypes of 8 bits, through ml_dtypes: for storage, as in PyTorch."""

from __future__ import annotations

import io

import numpy as np
import pytest

import retrograd as rg
from retrograd.dtypes import NARROW
from retrograd.serialization import safetensors

pytest.importorskip("ml_dtypes", reason="it has the dtypes")

EIGHTS = [getattr(rg, name) for name in NARROW if name != "bfloat16"]
every = pytest.mark.parametrize("dtype", EIGHTS, ids=lambda dtype: dtype.name)


@every
def test_the_dtype_is_a_real_floating_one_of_one_byte(dtype):
    assert (dtype.is_floating_point, dtype.is_complex, dtype.itemsize) == (True, False, 1)
    assert rg.zeros(2, dtype=dtype).dtype is dtype


def test_its_limits_are_those_of_pytorch():
    limits = rg.finfo(rg.float8_e4m3fn)
    assert (limits.max, limits.eps, limits.tiny, limits.bits) == (448.0, 0.125, 2.0**-6, 8)
    assert rg.finfo(rg.float8_e5m2).max == 57344.0


def test_numbers_are_rounded_to_it_and_come_back():
    x = rg.tensor([1.0, 300.0, 0.0625, float("nan")])
    np.testing.assert_array_equal(x.to(rg.float8_e4m3fn).float(), [1, 288, 0.0625, np.nan])
    np.testing.assert_array_equal(x.to(rg.float8_e5m2).float(), [1, 320, 0.0625, np.nan])


@every
@pytest.mark.parametrize("other", [rg.float32, rg.bfloat16, rg.float64, rg.complex64])
def test_it_does_not_promote_with_floating_dtypes(dtype, other):
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        rg.promote_types(dtype, other)
    with pytest.raises(RuntimeError, match="attempted to promote"):
        rg.ones(2, dtype=dtype) + rg.ones(2, dtype=other)


@every
def test_files_keep_it(dtype, tmp_path):
    x = rg.tensor([1.0, -2.0]).to(dtype)
    file = io.BytesIO()
    rg.save(x, file)
    file.seek(0)
    assert rg.load(file).dtype is dtype
    safetensors.save_file({"x": x}, tmp_path / "x")
    found = safetensors.load_file(tmp_path / "x")["x"]
    assert (found.dtype, found.float().tolist()) == (dtype, [1.0, -2.0])
