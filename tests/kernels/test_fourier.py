"""Fourier transforms in C are NumPy's, to the rounding, at every length and layout."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import fourier, native

NORMS = ["backward", "ortho", "forward"]
LENGTHS = [
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    12,
    15,
    16,
    25,
    30,
    32,
    48,
    49,
    75,
    100,
    128,
    1000,
    1024,
    1215,
]
CLOSE = {"F": 4e-7, "f": 4e-7, "D": 1e-15, "d": 1e-15}  # of the largest value


def drawn(shape, dtype="D"):
    real, imag = np.random.default_rng(0).standard_normal((2, *shape))
    return (real + 1j * imag if dtype in "FD" else real).astype(dtype)


def check(found, expected):
    """That two arrays agree to a few units in the last place of the largest value."""
    assert found.shape == expected.shape
    error = np.max(np.abs(found - expected)) / np.max(np.abs(expected))
    assert error < CLOSE[found.dtype.char]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_a_transform_is_numpys(dims, norm, forward):
    x = drawn((20, 30, 17))
    expected = (np.fft.fftn if forward else np.fft.ifftn)(x, None, dims, norm)
    check(fourier.complex_transform(x, dims, norm, forward), expected)


@pytest.mark.parametrize("dtype", list("FDfd"))
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length_is_right_along_rows_and_columns_and_with_gaps(n, dtype):
    """Of eleven lines the last ones do not fill a vector. The truth is a longer type's."""
    rows = drawn((11, n), dtype)
    gaps = np.zeros((11, 2 * n), dtype)
    gaps[:, ::2] = rows
    long = rows.astype("G" if dtype in "FD" else "g")
    for x, dim in ((rows, 1), (np.ascontiguousarray(rows.T), 0), (gaps[:, ::2], 1)):
        if dtype in "FD":
            for forward, truth in ((True, np.fft.fft), (False, np.fft.ifft)):
                found = fourier.complex_transform(x, (dim,), "ortho", forward)
                check(np.moveaxis(found, dim, 1), truth(long, norm="ortho"))
            continue
        half = fourier.to_half(x, (dim,), "ortho")
        check(np.moveaxis(half, dim, 1), np.fft.rfft(long, norm="ortho"))
        half += 0.25j  # of which the ends take no notice
        found = fourier.from_half(half, (dim,), "ortho", n)
        truth = np.fft.irfft(np.moveaxis(half, dim, 1).astype("G"), n, norm="ortho")
        check(np.moveaxis(found, dim, 1), truth)


def test_a_line_has_the_same_bits_beside_any_others_and_in_place():
    x = drawn((40, 96), "F")
    whole = fourier.complex_transform(x, (1,), "backward", True)
    alone = np.stack(
        [fourier.complex_transform(x[[i] * 8], (1,), "backward", True)[3] for i in range(40)]
    )
    np.testing.assert_array_equal(whole, alone)
    if fourier.has_loops(x):
        fourier.transform_along(fourier.loops.fft, x, 1, "backward", True, x)
        np.testing.assert_array_equal(x, whole)


def test_what_is_not_finite_stays_within_its_line():
    x = drawn((16, 60))
    x[3, 7], x[12, 0] = np.nan, np.inf
    found = fourier.complex_transform(x, (1,), "backward", True)
    rest = np.delete(np.arange(16), [3, 12])
    check(found[rest], np.fft.fft(x[rest]))
    assert np.isnan(found[3]).all()
    assert not np.isfinite(found[12]).any()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [32, 33])
@pytest.mark.parametrize("dims", [(2,), (0, 1), (1, 0, 2)])
def test_a_real_transform_is_numpys_and_comes_back(dims, n, norm):
    x = drawn((n, n, n), "d")
    half = fourier.to_half(x, dims, norm)
    check(half, np.fft.rfftn(x, None, dims, norm))
    back = fourier.from_half(half, dims, norm, n)
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-14)


@pytest.mark.parametrize("change", [lambda x: x[::2, ::-1], lambda x: x.T, lambda x: x[:, 3:-3]])
def test_an_array_with_gaps_is_read_where_it_lies(change):
    x = change(drawn((150, 120)))
    for dims in ((0,), (1,), (0, 1)):
        check(fourier.complex_transform(x, dims, "backward", True), np.fft.fftn(x, None, dims))


def test_single_precision_stays_single_and_of_real_numbers_is_complex():
    x = drawn((100, 80), "f")
    found = fourier.complex_transform(x, (0, 1), "ortho", True)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, np.fft.fft2(x.astype("d"), norm="ortho"), atol=2e-6)


def test_another_byte_order_is_left_to_numpy():
    x = drawn((100, 80))
    found = fourier.complex_transform(x.astype(">c16"), (1,), "backward", True)
    check(found, np.fft.fft(x))


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
