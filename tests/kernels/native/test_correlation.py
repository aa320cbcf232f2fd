"""Convolutions by the loops in C give what those in NumPy give."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels import convolution, native
from retrograd.kernels.native import loops
from retrograd.kernels.native import threads as pool

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C are not built")

# images, channels, size, outputs, kernel, stride, padding, dilation, groups
CASES = {
    "a signal": (2, 3, (20,), 4, (3,), (1,), ((1, 1),), (1,), 1),
    "a long signal, cut into slices": (1, 5, (70001,), 3, (4,), (1,), ((2, 1),), (3,), 1),
    "an image": (2, 3, (9, 12), 10, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "a large image, cut": (1, 16, (150, 170), 9, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "a volume": (2, 2, (5, 6, 7), 3, (2, 3, 2), (1, 2, 1), ((1, 0), (0, 1), (1, 1)), (2, 1, 1), 1),
    "many images": (70, 3, (32, 32), 5, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "strides": (2, 4, (17, 13), 6, (5, 4), (3, 2), ((2, 3), (1, 0)), (1, 1), 1),
    "long strides": (
        2,
        2,
        (9, 9),
        3,
        (1, 2),
        (3, 4),
        ((0, 0), (0, 0)),
        (1, 1),
        1,
    ),
    "dilation": (2, 3, (15, 14), 4, (3, 2), (1, 2), ((2, 2), (3, 3)), (2, 5), 1),
    "groups": (3, 6, (8, 8), 9, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 3),
    "depthwise": (2, 7, (10, 11), 7, (3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 7),
    "one tap": (3, 20, (11, 9), 70, (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    "one tap, in groups": (3, 8, (11, 9), 6, (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 2),
    "one tap, with a stride": (2, 4, (9, 9), 3, (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 1),
    "small images, many outputs": (5, 40, (2, 2), 130, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "small images in groups": (5, 8, (3, 3), 160, (3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 2),
    "padding wider than the image": (1, 2, (2, 3), 3, (3, 3), (1, 1), ((5, 6), (4, 4)), (1, 1), 1),
    "places left out": (2, 2, (8, 8), 3, (2, 3), (2, 2), ((1, -1), (0, -2)), (1, 1), 1),
    "no images": (0, 2, (5, 5), 3, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "no channels": (2, 0, (5, 5), 3, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "one tap, no channels": (2, 0, (5, 5), 3, (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    "no outputs": (2, 3, (5, 5), 0, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "one tap, no outputs": (2, 3, (5, 5), 0, (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
}
TOLERANCE = {"e": 2e-2, "f": 2e-5, "d": 1e-13, "F": 2e-5, "D": 1e-13}


def arrays(case, dtype, seed=0):
    """x, weight, bias, a gradient of the result, and the geometry."""
    images, channels, size, outputs, kernel, *geometry = CASES[case]
    groups = geometry[-1]
    places = convolution.out_size(size, kernel, *geometry[:-1])
    random = np.random.default_rng(seed)

    def some(*shape):
        values = random.standard_normal((2, *shape))
        return (values[0] + 1j * values[1] if dtype in "FD" else values[0]).astype(dtype)

    x, w = some(images, channels, *size), some(outputs, channels // groups, *kernel)
    return x, w, some(outputs), some(images, outputs, *places), geometry


def passes(x, w, b, g, geometry):
    """What the three passes give."""
    return (
        convolution.conv(x, w, b, *geometry),
        convolution.conv_input(g, w, x.shape[2:], *geometry),
        convolution.conv_weight(g, x, w.shape[2:], *geometry),
    )


@pytest.fixture
def in_numpy(monkeypatch):
    """Calls a function without the loops in C."""

    def call(function, *args):
        with monkeypatch.context() as changed:
            changed.setattr(native, "loops", None)
            return function(*args)

    return call


def near(found, expected, tolerance):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    scale = max(1.0, np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", "edfFD")
@pytest.mark.parametrize("case", CASES)
def test_all_three_passes_are_those_in_numpy(case, dtype, in_numpy):
    given = arrays(case, dtype)
    for found, expected in zip(passes(*given), in_numpy(passes, *given), strict=True):
        near(found, expected, TOLERANCE[dtype])


@pytest.mark.parametrize("case", ["strides", "small images, many outputs", "one tap", "groups"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["x", "w", "g"])
def test_nan_and_infinity_reach_what_they_reach_in_numpy(case, value, which, in_numpy):
    x, w, b, g, geometry = arrays(case, "d")
    {"x": x, "w": w, "g": g}[which][(0, 0, *[-1] * (x.ndim - 2))] = value
    given = x, w, b, g, geometry
    for found, expected in zip(passes(*given), in_numpy(passes, *given), strict=True):
        near(found, expected, 1e-13)


def test_arrays_in_any_order_of_memory_are_taken(in_numpy):
    x, w, b, g, geometry = arrays("an image", "f")
    given = (*[np.asfortranarray(a)[::-1] for a in (x, w, b, g)], geometry)
    for found, expected in zip(passes(*given), in_numpy(passes, *given), strict=True):
        near(found, expected, 2e-5)


@pytest.mark.parametrize(
    "case", ["many images", "a large image, cut", "small images, many outputs"]
)
def test_results_have_the_same_bits_for_any_number_of_threads(case):
    given = arrays(case, "f")
    loops.set_threads(1)
    alone = passes(*given)
    try:
        for count in (2, 3, 5):
            loops.set_threads(count)
            for found, expected in zip(passes(*given), alone, strict=True):
                np.testing.assert_array_equal(found, expected)
    finally:
        pool.set_threads(pool.threads())


def test_single_precision_is_as_exact_as_a_sum_in_order(in_numpy):
    given = arrays("many images", "f")
    exact = passes(*[a.astype("d") for a in given[:4]], given[4])
    for found, plain, right in zip(passes(*given), in_numpy(passes, *given), exact, strict=True):
        assert np.abs(found - right).max() <= 2 * np.abs(plain - right).max()


def test_the_loops_refuse_arrays_that_do_not_fit():
    x, w, _, g, geometry = arrays("an image", "f")
    rest = (geometry[0], (1, 1), geometry[2], 1)
    for wrong in [(x, g[:, :5], w), (x, g.astype("d"), w), (x, g.copy("F"), w), (x[0], g, w)]:
        with pytest.raises(ValueError, match="given arrays that do not fit"):
            loops.conv(0, *wrong, None, *rest)
    with pytest.raises(ValueError, match="do not fit"):
        loops.conv(0, x, g, w, None, (0, 1), *rest[1:])
