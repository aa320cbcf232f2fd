"""Fourier transforms by NumPy's loops over the threads are NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import fourier, native

NORMS = ["backward", "ortho", "forward"]


def drawn(shape, dtype="D"):
    real, imag = np.random.default_rng(0).standard_normal((2, *shape))
    return (real + 1j * imag if dtype in "FD" else real).astype(dtype)


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_a_transform_has_the_bits_of_numpys(dims, norm, forward):
    x = drawn((20, 30, 17))
    expected = (np.fft.fftn if forward else np.fft.ifftn)(x, None, dims, norm)
    found = fourier.complex_transform(x, dims, norm, forward)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [32, 33])
@pytest.mark.parametrize("dims", [(2,), (0, 1), (1, 0, 2)])
def test_a_real_transform_has_the_bits_of_numpys_and_comes_back(dims, n, norm):
    x = drawn((n, n, n), "d")
    half = fourier.to_half(x, dims, norm)
    np.testing.assert_array_equal(half, np.fft.rfftn(x, None, dims, norm))
    back = fourier.from_half(half, dims, norm, n)
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-14)


@pytest.mark.parametrize("change", [lambda x: x[::2, ::-1], lambda x: x.T, lambda x: x[:, 3:-3]])
def test_an_array_with_gaps_is_read_where_it_lies(change):
    x = change(drawn((150, 120)))
    for dims in ((0,), (1,), (0, 1)):
        expected = np.fft.fftn(x, None, dims)
        found = fourier.complex_transform(x, dims, "backward", True)
        np.testing.assert_array_equal(found, expected)


def test_single_precision_stays_single_and_of_real_numbers_is_complex():
    x = drawn((100, 80), "f")
    found = fourier.complex_transform(x, (0, 1), "ortho", True)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, np.fft.fft2(x.astype("d"), norm="ortho"), atol=2e-6)


def test_another_byte_order_is_left_to_numpy():
    x = drawn((100, 80))
    found = fourier.complex_transform(x.astype(">c16"), (1,), "backward", True)
    np.testing.assert_array_equal(found, np.fft.fft(x))


@pytest.mark.skipif(native.loops is None, reason="the loops in C are not built")
def test_what_is_no_transform_is_refused():
    x = drawn((4, 4))
    for ufunc, out, axis in (
        (np.add, x, 0),
        (np.matmul, x, 0),
        (fourier.loops.fft, x, 2),
        (fourier.loops.fft, x[:2], 1),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            native.loops.transform(out, x, ufunc, 1.0, axis)
