"""Pooling: windows, kinks, NaN, errors; the definition written as a loop as reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.ops.arrays import leaf, values

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad
from retrograd.engine.tensor import new_tensor
from retrograd.ops.nn.adaptive_pool import (
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from retrograd.ops.nn.pool import (
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    max_unpool1d,
    max_unpool2d,
)

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
NAN, INF = float("nan"), float("inf")


def windows(n, k, s, p, d, ceil):
    """The positions inside the input of each window along one dimension, and its padded length."""
    count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    if ceil and (count - 1) * s >= n + p:
        count -= 1
    for i in range(count):
        start = i * s - p
        places = [start + j * d for j in range(k)]
        yield [q for q in places if 0 <= q < n], min(start + k, n + p) - start


def by_definition(x, reduce, k, s, p=0, d=1, ceil=False):
    rows = list(windows(x.shape[-2], k, s, p, d, ceil))
    columns = list(windows(x.shape[-1], k, s, p, d, ceil))
    return np.stack(
        [np.stack([reduce(x[..., r, :][..., c], m * n) for c, n in columns], -1) for r, m in rows],
        -2,
    )


def maximum(part, _):
    return part.max((-2, -1))


def mean_with_padding(part, count):
    return part.sum((-2, -1)) / count


def mean_inside(part, _):
    return part.mean((-2, -1))


GEOMETRIES = [
    (2, 2, 0, 1, False),
    (3, 2, 1, 1, False),
    (3, 1, 1, 1, False),
    (2, 2, 0, 1, True),
    (3, 2, 1, 1, True),
    (2, 3, 0, 1, True),
    (2, 2, 1, 2, False),
]


@pytest.mark.parametrize(("k", "s", "p", "d", "ceil"), GEOMETRIES)
def test_max_pool_agrees_with_its_definition(k, s, p, d, ceil):
    x = values(2, 3, 8, 7)
    out, indices = rg.max_pool2d(new_tensor(x), k, s, p, d, ceil, return_indices=True)
    np.testing.assert_array_equal(out._array, by_definition(x, maximum, k, s, p, d, ceil))
    flat = indices._array.reshape(2, 3, -1)
    found = np.take_along_axis(x.reshape(2, 3, -1), flat, -1).reshape(out.shape)
    np.testing.assert_array_equal(found, out._array)
    assert indices.dtype is rg.int64
    assert not indices.requires_grad


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("k", "s", "p", "d", "ceil"), [g for g in GEOMETRIES if g[3] == 1])
def test_avg_pool_agrees_with_its_definition(k, s, p, d, ceil, inside, complex):
    x = values(2, 3, 8, 7, complex=complex)
    out = avg_pool2d(new_tensor(x), k, s, p, ceil, count_include_pad=not inside)
    reduce = mean_inside if inside else mean_with_padding
    np.testing.assert_allclose(out._array, by_definition(x, reduce, k, s, p, d, ceil), **CLOSE)


def test_large_tiles_give_the_same_means_as_small_ones():
    x = values(2, 8, 12)
    expected = x.reshape(2, 2, 4, 3, 4).mean((2, 4))
    np.testing.assert_allclose(avg_pool2d(new_tensor(x), 4)._array, expected, **CLOSE)


def test_divisor_override_divides_every_sum():
    out = avg_pool2d(rg.ones(1, 3, 3), 2, 1, 1, divisor_override=4)
    assert out[0, 0].tolist() == [0.25, 0.5, 0.5, 0.25]


def test_average_of_large_integers_has_all_digits():
    x = rg.tensor([[2**62 + 1, 2**61 + 2, -(2**62), -3]])
    assert rg.avg_pool1d(x, 2).tolist() == [[(2**62 + 2**61 + 3) // 2, -(2**61) - 1]]


def test_average_of_integers_is_cut_off():
    assert avg_pool2d(rg.tensor([[[-3, -4], [-3, -4]]]), 2).tolist() == [[[-3]]]


def test_gradient_of_a_tie_goes_to_the_first_maximum():
    x = leaf(np.ones((1, 4)))
    (g,) = grad(rg.max_pool1d(x, 2).sum(), x)
    assert g.tolist() == [[1.0, 0.0, 1.0, 0.0]]


def test_overlapping_windows_add_up_at_a_shared_maximum():
    x = leaf([[0.0, 5.0, 0.0]])
    (g,) = grad(rg.max_pool1d(x, 2, 1).sum(), x)
    assert g.tolist() == [[0.0, 2.0, 0.0]]


def test_nan_counts_as_largest_and_has_its_index():
    out, indices = rg.max_pool1d(rg.tensor([[1.0, NAN, 3.0, 2.0]]), 2, return_indices=True)
    assert np.isnan(out._array[0, 0])
    assert out.tolist()[0][1] == 3.0
    assert indices.tolist() == [[1, 2]]


def test_window_of_minus_infinity_never_points_into_the_padding():
    x = leaf(np.full((1, 3, 3), -INF))
    out, indices = rg.max_pool2d(x, 3, 2, 1, return_indices=True)
    assert indices.tolist() == [[[0, 1], [3, 4]]]
    (g,) = grad(out.sum(), x)
    assert g.tolist() == [[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]


def test_max_pool_of_integers_keeps_their_dtype():
    out = rg.max_pool2d(rg.tensor([[[-5, -7], [-6, -9]]]), 2, 1, 1)
    assert out.dtype is rg.int64
    assert out.tolist() == [[[-5, -5, -7], [-5, -5, -7], [-6, -6, -9]]]


def test_second_derivative_of_max_pool_gathers_at_the_saved_indices():
    x = leaf([[1.0, 3.0, 2.0, 0.0]])
    g = leaf([[10.0, 100.0]])
    (dx,) = grad(rg.max_pool1d(x * x, 2), x, g, create_graph=True)
    assert dx.tolist() == [[0.0, 60.0, 400.0, 0.0]]
    ddx, dg = grad(dx, (x, g), rg.tensor([[1.0, 1.0, 1.0, 1.0]], dtype=rg.float64))
    assert ddx.tolist() == [[0.0, 20.0, 200.0, 0.0]]
    assert dg.tolist() == [[6.0, 4.0]]


def test_gradient_of_avg_pool_is_spread_over_its_window():
    x = leaf(np.zeros((1, 4)))
    (g,) = grad(rg.avg_pool1d(x, 3, 1, 1), x, new_tensor(np.array([[3.0, 0.0, 0.0, 6.0]])))
    assert g.tolist() == [[1.0, 1.0, 2.0, 2.0]]


def test_pooling_takes_one_and_three_dimensions():
    assert rg.max_pool3d(rg.ones(1, 2, 4, 4, 4), (1, 2, 4)).shape == (1, 2, 4, 2, 1)
    assert avg_pool3d(rg.ones(2, 4, 4, 4), 2).tolist() == np.ones((2, 2, 2, 2)).tolist()
    assert rg.avg_pool1d(rg.ones(1, 2, 5), 2, ceil_mode=True).shape == (1, 2, 3)


def test_empty_batch_gives_empty_batch():
    assert rg.max_pool2d(rg.ones(0, 3, 4, 4), 2).shape == (0, 3, 2, 2)
    assert avg_pool2d(rg.ones(0, 3, 4, 4), 2).shape == (0, 3, 2, 2)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("size", [1, 2, (3, 2), (None, 5)])
def test_adaptive_mean_averages_its_bins(size, complex):
    x = values(2, 8, 7, complex=complex)
    out = adaptive_avg_pool2d(new_tensor(x), size)._array
    m, n = (size, size) if isinstance(size, int) else size
    m = m or 8
    for i, j in np.ndindex(m, n):
        rows = slice(i * 8 // m, -(-(i + 1) * 8 // m))
        columns = slice(j * 7 // n, -(-(j + 1) * 7 // n))
        np.testing.assert_allclose(out[:, i, j], x[:, rows, columns].mean((1, 2)), **CLOSE)


def test_adaptive_mean_does_not_spread_infinity_to_other_bins():
    out = rg.adaptive_avg_pool1d(rg.tensor([[1.0, 1.0, 1.0, 1.0, INF]]), 2)
    assert out.tolist() == [[1.0, INF]]


def test_no_bins_give_no_means_and_no_gradient():
    x = leaf([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    (g,) = grad(adaptive_avg_pool2d(x, (0, 2)).sum(), x)
    assert g.tolist() == [[[0.0] * 3] * 2]


def test_adaptive_maximum_and_its_indices():
    x = rg.tensor([[1.0, 3.0, 2.0, 0.0, 5.0]])
    out, indices = rg.adaptive_max_pool1d(x, 3, return_indices=True)
    assert out.tolist() == [[3.0, 3.0, 5.0]]
    assert indices.tolist() == [[1, 1, 4]]


@pytest.mark.parametrize("size", [(3, 4), (2, 9), (7, 3), (5, 1)])
def test_adaptive_bins_are_pooled_as_if_each_alone(size):
    x = np.random.default_rng(0).choice([0.0, 1.0, 2.0], (2, 5, 7))
    largest, index = adaptive_max_pool2d(new_tensor(x), size, return_indices=True)
    mean = adaptive_avg_pool2d(new_tensor(x), size)
    number = np.arange(35).reshape(5, 7)
    for i, j in np.ndindex(size):
        bin = tuple(
            slice(at * n // m, -(-(at + 1) * n // m))
            for at, n, m in zip((i, j), (5, 7), size, strict=True)
        )
        part = x[(slice(None), *bin)].reshape(2, -1)
        first = part.argmax(1)
        np.testing.assert_array_equal(largest._array[:, i, j], part[[0, 1], first])
        np.testing.assert_array_equal(index._array[:, i, j], number[bin].reshape(-1)[first])
        np.testing.assert_allclose(mean._array[:, i, j], part.mean(1), rtol=1e-15)


@pytest.mark.parametrize(("size", "places"), [(1, [8]), (2, [3, 1, 6, 8])])
def test_the_last_nan_is_the_adaptive_maximum(size, places):
    x = rg.tensor([[[0.0, NAN, 3.0], [NAN, 1.0, 2.0], [NAN, 5.0, NAN]]])
    out, indices = adaptive_max_pool2d(x, size, return_indices=True)
    assert out.isnan().all()
    assert indices.flatten().tolist() == places
    _, indices = rg.adaptive_max_pool1d(rg.tensor([[NAN, 1.0, NAN, 2.0]]), 1, return_indices=True)
    assert indices.item() == 2


def test_adaptive_maximum_gradient_adds_up_where_bins_overlap():
    x = leaf([[1.0, 3.0, 2.0, 0.0, 5.0]])
    (g,) = grad(rg.nn.functional.adaptive_max_pool1d(x, 3).sum(), x)
    assert g.tolist() == [[0.0, 2.0, 0.0, 0.0, 1.0]]


def test_adaptive_maximum_of_everything_is_the_maximum():
    x = values(2, 3, 4, 5)
    out, indices = adaptive_max_pool2d(new_tensor(x), 1, return_indices=True)
    np.testing.assert_array_equal(out._array[..., 0, 0], x.max((2, 3)))
    np.testing.assert_array_equal(indices._array[..., 0, 0], x.reshape(2, 3, 20).argmax(-1))
    assert adaptive_max_pool3d(new_tensor(x), (None, 1, 2)).shape == (2, 3, 1, 2)


def test_unpool_puts_maxima_back():
    x = leaf([[1.0, 3.0, 2.0, 0.0, 7.0]])
    out, indices = rg.max_pool1d(x, 2, return_indices=True)
    again = max_unpool1d(out, indices, 2, output_size=(5,))
    assert again.tolist() == [[0.0, 3.0, 2.0, 0.0, 0.0]]
    (g,) = grad(again.sum(), x)
    assert g.tolist() == [[0.0, 1.0, 1.0, 0.0, 0.0]]


def test_unpooling_of_windows_that_overlap_puts_each_maximum_once():
    x = rg.tensor([[[1.0, 5.0, 2.0, 7.0, -0.0, -1.0]]], requires_grad=True)
    values, indices = rg.nn.functional.max_pool1d(x, 2, 1, return_indices=True)
    again = max_unpool1d(values, indices, 2, 1)
    assert again.tolist() == [[[0.0, 5.0, 0.0, 7.0, -0.0, 0.0]]]
    assert np.signbit(again.detach()).flatten().tolist() == [False] * 4 + [True, False]
    again.sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0, 2.0, 1.0, 0.0]]]  # as PyTorch's


def test_unpool_checks_indices_and_output_size():
    with pytest.raises(RuntimeError, match="Found an invalid max index: 35"):
        max_unpool2d(rg.ones(1, 1, 1), rg.tensor([[[35]]]), 2)
    expected = r'invalid output_size "\(8, 8\)" \(dim 0 must be between 0 and 4\)'
    with pytest.raises(ValueError, match=expected):
        max_unpool2d(rg.ones(1, 1, 1), rg.tensor([[[0]]]), 2, output_size=(8, 8))


def test_power_pooling_sums_powers():
    x = values(1, 2, 6)
    expected = np.sqrt((x**2).reshape(1, 2, 3, 2).sum(-1))
    np.testing.assert_allclose(lp_pool1d(new_tensor(x), 2.0, 2)._array, expected, **CLOSE)
    image = np.abs(values(1, 4, 4)) + 0.1
    expected = (image.reshape(1, 2, 2, 2, 2) ** 3).sum((2, 4)) ** (1 / 3)
    np.testing.assert_allclose(lp_pool2d(new_tensor(image), 3.0, 2)._array, expected, **CLOSE)


ERRORS = [
    (lambda: rg.max_pool2d(rg.ones(8, 8), 2), "non-empty 3D or 4D (batch mode) tensor expected"),
    (lambda: rg.max_pool2d(rg.ones(1, 0, 8, 8), 2), "with optional 0 dim batch size"),
    (
        lambda: rg.max_pool2d(rg.ones(1, 3, 8, 8), 2, padding=2),
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2",
    ),
    (lambda: rg.max_pool2d(rg.ones(1, 3, 8, 8), 2, stride=0), "stride should not be zero"),
    (lambda: rg.max_pool2d(rg.ones(1, 3, 8, 8), 2, dilation=0), "dilation should be greater than"),
    (lambda: rg.max_pool2d(rg.ones(1, 3, 8, 8), 2, padding=-1), "pad must be non-negative"),
    (
        lambda: rg.max_pool2d(rg.ones(1, 3, 2, 2), 3),
        "Given input size: (3x2x2). Calculated output size: (3x0x0). Output size is too small",
    ),
    (
        lambda: rg.max_pool2d(rg.ones(1, 3, 2, 2), (1, 2, 3)),
        "kernel_size must either be a single int, or a tuple of two ints",
    ),
    (lambda: avg_pool2d(rg.ones(1, 3, 8, 8), 3, divisor_override=0), "divisor must be not zero"),
    (lambda: adaptive_avg_pool2d(rg.ones(7, 7), 3), "Expected 3D or 4D tensor, but got [7, 7]"),
    (lambda: adaptive_avg_pool2d(rg.ones(1, 7, 7), (3,)), "output_size must be 2"),
    (lambda: adaptive_avg_pool2d(rg.ones(1, 7, 7), -1), "greater than or equal to 0"),
    (lambda: adaptive_avg_pool2d(rg.ones(1, 0, 7), 2), "with dimension 1 being empty"),
    (
        lambda: adaptive_avg_pool2d(rg.tensor([[[1, 2], [3, 4]]]), 1),
        "\"adaptive_avg_pool2d\" not implemented for 'Long'",
    ),
]


@pytest.mark.parametrize(("call", "phrase"), ERRORS, ids=[phrase[:40] for _, phrase in ERRORS])
def test_arguments_that_do_not_fit_raise_with_sizes(call, phrase):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert phrase in str(caught.value)


@pytest.mark.parametrize("pool", [adaptive_max_pool2d, adaptive_avg_pool2d])
@pytest.mark.parametrize("dtype", [rg.uint8, rg.int64])
def test_adaptive_pools_take_no_integers(pool, dtype):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        pool(rg.ones(1, 2, 4, 4).to(dtype), 2)


@pytest.mark.parametrize(
    "pool",
    [
        lambda x: rg.max_pool2d(x, 2, padding=1),
        lambda x: rg.nn.functional.adaptive_max_pool2d(x, 3),
        lambda x: rg.nn.functional.adaptive_max_pool2d(x, 2),
        lambda x: rg.nn.functional.fractional_max_pool2d(
            x, 2, 2, _random_samples=rg.full((2, 3, 2), 0.5, dtype=rg.float64)
        ),
    ],
)
def test_complex_maxima_are_the_elements_of_largest_modulus(pool):
    z = rg.randn(2, 3, 4, 4, dtype=rg.complex128, requires_grad=True)
    out = pool(z)
    assert rg.equal(out.abs(), pool(z.abs()))
    assert rg.allclose(pool(1j * z), 1j * out)
    assert rg.autograd.gradcheck(pool, z)
    assert rg.autograd.gradgradcheck(pool, z)


@pytest.mark.parametrize("name", ["avg_pool2d", "adaptive_avg_pool2d"])
def test_means_of_half_floats_are_rounded_once(name):
    pool = getattr(F, name)
    x = rg.tensor(np.random.default_rng(0).standard_normal((2, 3, 30, 30)), dtype=rg.float16)
    x.requires_grad_()
    wide = x.detach().float().requires_grad_()
    found, exact = pool(x, 5), pool(wide, 5)
    assert rg.equal(found, exact.half())
    assert rg.equal(*(grad(y.sum(), t)[0].half() for y, t in ((found, x), (exact, wide))))


def test_fractional_windows_may_be_none():
    assert F.fractional_max_pool2d(rg.ones(2, 3, 4, 4), 2, output_size=(0, 1)).shape == (2, 3, 0, 1)
    samples = rg.zeros(0, 3, 2)
    out = F.fractional_max_pool2d(rg.ones(0, 3, 4, 4), 2, output_size=1, _random_samples=samples)
    assert out.shape == (0, 3, 1, 1)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"kernel_size": (1,), "output_size": 1}, "kernel_size must either be a single Int"),
        ({"kernel_size": 2, "output_size": (3,)}, "output_size must either be a single Int"),
        ({"kernel_size": 2, "output_size": (9, 3)}, "too large relative to input height"),
        ({"kernel_size": 2, "output_size": (3, 9)}, "too large relative to input width"),
        (
            {"kernel_size": 2, "output_size": 3, "_random_samples": rg.zeros(2, 1, 2)},
            "Expect _random_samples",
        ),
    ],
)
def test_fractional_windows_that_do_not_fit_raise(settings, text):
    with pytest.raises(RuntimeError, match=text):
        F.fractional_max_pool2d(rg.ones(1, 1, 5, 5), **settings)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_asks_for_integers_as_indices(dims):
    x = rg.ones(1, 1, *[2] * dims)
    with pytest.raises(RuntimeError, match="indices should be type int64 but got: Float"):
        getattr(rg.nn.functional, f"max_unpool{dims}d")(x, x, 2)


def test_power_pooling_of_zeros_has_derivative_zero():
    x = rg.zeros(1, 1, 4, requires_grad=True)
    (g,) = rg.autograd.grad(lp_pool1d(x, 2.0, 2).sum(), x)
    assert g.tolist() == [[[0.0, 0.0, 0.0, 0.0]]]


def test_power_pooling_by_infinity_gives_the_extreme_moduli():
    x = rg.tensor([[1.0, -3.0, 2.0, -0.5]])
    assert lp_pool1d(x, math.inf, 2).tolist() == [[3.0, 2.0]]
    assert lp_pool1d(x, -math.inf, 2).tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize("size", [1, (4, 3)])
def test_gradients_of_means_over_tiles_have_memory_of_their_own(size):
    x = rg.ones(1, 1, 4, 3, dtype=rg.complex64, requires_grad=True)
    y = rg.nn.functional.adaptive_avg_pool2d(x, size)
    (g,) = rg.autograd.grad(y.real.sum(), x, create_graph=True)
    g.detach()[0, 0, 0, 0] = 5
    assert g.flatten()[1].item() == pytest.approx(1 / 12 if size == 1 else 1)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    ("n", "kernel", "stride", "dilation", "ceil"),
    [(2, 2, 2, 3, False), (1, 2, 3, 2, False), (3, 2, 1, 4, False), (1, 2, 5, 2, True)],
)
@pytest.mark.parametrize("dtype", [rg.float32, rg.float64, rg.float16])
def test_a_window_of_padding_alone_is_minus_infinity_and_has_no_gradient(
    dims, n, kernel, stride, dilation, ceil, dtype
):
    pool = getattr(rg.nn.functional, f"max_pool{dims}d")
    x = rg.ones(2, 1, *(n,) * dims, dtype=dtype, requires_grad=True)
    out, indices = pool(x, kernel, stride, 1, dilation, ceil, return_indices=True)
    assert (out == -math.inf).all()
    assert (indices == -1).all()
    (g,) = rg.autograd.grad(out, x, rg.ones_like(out), create_graph=True)
    assert (g == 0).all()
    cotangent = rg.ones_like(out, requires_grad=True)
    (g,) = rg.autograd.grad(pool(x, kernel, stride, 1, dilation, ceil), x, cotangent,
                            create_graph=True)  # fmt: skip
    assert (rg.autograd.grad(g.sum(), cotangent)[0] == 0).all()
