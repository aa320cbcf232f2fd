"""Pooling by the loops in C gives what NumPy's way gives."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import native, pooling
from retrograd.kernels.native import loops

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C are not built")

# size, kernel, stride, padding, dilation, ceil
CASES = {
    "a signal": ((20,), (2,), (2,), (0,), (1,), False),
    "a long line": ((1500,), (3,), (2,), (1,), (1,), False),
    "windows that overlap": ((9, 12), (3, 3), (2, 1), (1, 1), (1, 1), False),
    "windows beyond the end": ((9, 8), (2, 3), (2, 3), (1, 0), (1, 1), True),
    "dilation": ((11, 9), (3, 2), (1, 2), (2, 1), (2, 3), False),
    "a volume": ((5, 6, 7), (2, 3, 2), (2, 1, 2), (0, 1, 1), (1, 1, 1), True),
    "short lines": ((5, 16), (3, 3), (1, 1), (0, 1), (1, 1), False),
    "one window": ((2, 3), (2, 3), (1, 1), (0, 0), (1, 1), False),
    "gaps": ((9, 9), (2, 2), (4, 3), (0, 0), (1, 1), False),
}


@pytest.fixture
def in_numpy(monkeypatch):
    """Calls a function without the loops in C."""

    def call(function, *args):
        with monkeypatch.context() as changed:
            changed.setattr(native, "loops", None)
            return function(*args)

    return call


def images(case, dtype, lead=(3, 2)):
    return np.random.default_rng(0).standard_normal((*lead, *CASES[case][0])).astype(dtype)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ties", [False, True])
def test_maxima_and_their_indices_are_those_in_numpy(case, dtype, ties, in_numpy):
    x = images(case, dtype)
    x = np.round(x) if ties else x
    found = pooling.max_pool(x, *CASES[case][1:])
    expected = in_numpy(pooling.max_pool, x, *CASES[case][1:])
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("case", CASES)
def test_maxima_of_nan_and_infinities_are_those_in_numpy(case, value, dtype, in_numpy):
    x = images(case, dtype)
    x[np.random.default_rng(1).random(x.shape) < 0.3] = value
    x[0] = value
    found = pooling.max_pool(x, *CASES[case][1:])
    expected = in_numpy(pooling.max_pool, x, *CASES[case][1:])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize(("count_pad", "divisor"), [(True, None), (False, None), (True, 3)])
@pytest.mark.parametrize("case", [name for name in CASES if name != "dilation"])
def test_means_and_their_adjoint_are_those_in_numpy(case, dtype, count_pad, divisor, in_numpy):
    size, kernel, stride, padding, _, ceil = CASES[case]
    x = images(case, dtype)
    tolerance = 1e-6 if dtype == "f" else 1e-14
    options = (kernel, stride, padding, ceil, count_pad, divisor)
    found, expected = pooling.avg_pool(x, *options), in_numpy(pooling.avg_pool, x, *options)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    options = (size, kernel, stride, padding, count_pad, divisor)
    back, plain = (
        pooling.avg_pool_input(found, *options),
        in_numpy(pooling.avg_pool_input, found, *options),
    )
    assert back.dtype == plain.dtype
    np.testing.assert_allclose(back, plain, rtol=0, atol=tolerance)


def test_images_in_any_order_of_memory_are_taken(in_numpy):
    x = np.asfortranarray(images("windows that overlap", "d"))[::-1]
    options = CASES["windows that overlap"][1:]
    for one, other in zip(
        pooling.max_pool(x, *options), in_numpy(pooling.max_pool, x, *options), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_no_images_have_no_maxima():
    values, indices = pooling.max_pool(np.zeros((0, 4, 4), "f"), *CASES["gaps"][1:])
    assert values.shape == indices.shape == (0, 1, 1)


def test_the_loop_refuses_arrays_that_do_not_fit():
    x, y = np.zeros((2, 6)), np.zeros((2, 3))
    one = ((2,), (2,), (0,), (1,))
    for wrong in [(x, y[:1], None), (x, y.astype("f"), None), (x[:, ::2], y, None)]:
        with pytest.raises(ValueError, match="do not fit together"):
            loops.windows(1, *wrong, *one, 0, True)
    with pytest.raises(ValueError, match="do not fit together"):
        loops.windows(0, x, y, np.zeros((2, 3), np.int32), *one, 0, True)
    with pytest.raises(ValueError, match="do not fit together"):
        loops.windows(1, x, y, None, (2,), (0,), (0,), (1,), 0, True)
