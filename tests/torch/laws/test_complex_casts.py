"""Conversions of PyTorch's world to real dtypes: the law of `tests.laws.test_complex_casts`."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from ...laws.test_complex_casts import REALS, Z, check_said, values

CONVERTERS = {
    "_foreach_copy_": lambda z, d: rg._foreach_copy_([rg.zeros(z.shape, dtype=d)], [z])[0],
    "a sparse tensor": lambda z, d: z.to_sparse().to(d).to_dense(),
}


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("name", CONVERTERS)
@pytest.mark.parametrize("count", [3, 20_001])
def test_a_conversion_to_a_real_dtype_warns_once(name, dtype, count):
    z = rg.tensor([Z[k % 3] for k in range(count)])
    found, seen = values(z, CONVERTERS[name], dtype)
    check_said(seen, __file__)
    np.testing.assert_array_equal(found, z.real.numpy())


@pytest.mark.parametrize("name", CONVERTERS)
@pytest.mark.parametrize("dtype", [rg.complex64, rg.complex128, rg.float64, rg.bool])
def test_nothing_is_said_where_nothing_is_lost(name, dtype):
    start = rg.tensor(Z) if dtype.is_complex or dtype is rg.bool else rg.tensor([1.0, 3.0, 0.0])
    assert CONVERTERS[name](start, dtype).dtype is dtype  # a warning were an error
