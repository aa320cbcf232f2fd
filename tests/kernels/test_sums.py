"""Sums along any axis: equal to NumPy's in every layout, and as exact along outer axes as inner."""

import itertools

import numpy as np
import pytest

import retrograd as rg
from retrograd.kernels import sums

F = rg.nn.functional

LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": np.asfortranarray,
    "backwards": lambda a: a[::-1],
    "gaps in rows": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "gaps between rows": lambda a: np.repeat(a, 2, 0)[::2],
    "repeated": lambda a: np.broadcast_to(a, (4, *a.shape)),
    "first axis last": lambda a: np.moveaxis(a, 0, -1),
}
SHAPES = [(7,), (5, 3), (200, 3), (1, 100, 1), (3, 200, 4), (130, 2, 3, 5), (6, 70, 2, 40)]
SHAPES += [(0, 3), (3, 0), (65, 1, 1, 1)]


def rising(shape, dtype=np.float64):
    """Different values in every place."""
    real = np.sin(np.arange(np.prod(shape, dtype=int))).reshape(shape)
    return (real + 1j * np.cos(real) if np.dtype(dtype).kind == "c" else real).astype(dtype)


@pytest.fixture(params=[(1, 2, 32, 1024, 4096), (1, 2, 4, 8, 5), (1, 2, 2, 1, 1)])
def thresholds(request, monkeypatch):
    names = ("LARGE", "MANY", "ROWS", "WIDE", "CHUNK")
    for name, value in zip(names, request.param, strict=True):
        monkeypatch.setattr(sums, name, value)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_totals_equal_those_of_numpy_over_any_axes(layout, dtype):
    for shape in SHAPES:
        x = layout(rising(shape, dtype))
        for count in range(x.ndim + 1):
            for axes in itertools.combinations(range(x.ndim), count):
                for keepdims in (False, True):
                    expected = x.sum(axes, keepdims=keepdims)
                    found = sums.total(x, axes, keepdims)
                    assert found.dtype == dtype
                    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, strict=True)
        np.testing.assert_allclose(sums.total(x, None), x.sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_inner_products_equal_those_of_numpy(dtype):
    for shape in SHAPES:
        x, y = rising(shape, dtype), rising(shape, dtype)[::-1]
        np.testing.assert_allclose(sums.inner(x, y), np.vecdot(x, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64])
def test_scattered_values_add_up_where_they_meet(dtype):
    values = np.arange(200).astype(dtype)
    found = sums.scattered(values, np.arange(200) % 2, 2)
    np.testing.assert_array_equal(found, np.array([9900, 10000], dtype), strict=True)


def test_the_total_of_half_floats_is_taken_in_single_precision():
    x = np.ones((4096, 2), np.float16)
    np.testing.assert_array_equal(sums.total(x, (0,)), np.full(2, 4096, np.float16), strict=True)


def near(found, expected, ulps=2):
    """Assert agreement to `ulps` units in the last place of the largest float32 entry."""
    scale = np.abs(expected).max()
    gap = np.abs(found.detach().numpy().astype(expected.dtype) - expected).max()
    assert gap <= ulps * np.spacing(np.float32(scale))


@pytest.fixture(scope="module")
def tall():
    """1,000,000 x 4 positive float32 numbers."""
    return np.random.default_rng(0).random((1_000_000, 4), dtype=np.float32)


def test_a_mean_of_ten_million_rows_is_exact_to_two_units():
    x = np.random.default_rng(1).random((10_000_000, 2), dtype=np.float32)
    expected = x.mean(0, dtype=np.float64)
    near(rg.tensor(x).mean(0), expected)
    near(rg.tensor(np.ascontiguousarray(x.T)).mean(1), expected)


REDUCTIONS = {
    "mean": (lambda t: t.mean(0), lambda d: d.mean(0)),
    "sum of a transpose": (lambda t: t.t().sum(1), lambda d: d.sum(0)),
    "sum with gaps": (lambda t: t[:, :3].sum(), lambda d: d[:, :3].sum()),
    "nansum": (lambda t: t.nansum(0), lambda d: d.sum(0)),
    "var": (lambda t: t.var(0), lambda d: d.var(0, ddof=1)),
    "std": (lambda t: t.std(0), lambda d: d.std(0, ddof=1)),
    "norm": (lambda t: rg.linalg.vector_norm(t, 2, 0), lambda d: np.sqrt((d * d).sum(0))),
    "logsumexp": (lambda t: t.logsumexp(0), lambda d: np.log(np.exp(d).sum(0))),
    "cumsum": (lambda t: t.cumsum(0), lambda d: d.cumsum(0)),
    "channels": (lambda t: t.view(-1, 4, 2, 2).mean((0, 2, 3)),
                 lambda d: d.reshape(-1, 4, 2, 2).mean((0, 2, 3))),
    "mse_loss": (lambda t: F.mse_loss(t, t * 0), lambda d: (d * d).mean()),
    "scatter_add": (lambda t: rg.zeros(4).scatter_add(0, rg.arange(t.numel()) % 4, t.view(-1)),
                    lambda d: d.sum(0)),
    "index_add": (lambda t: rg.zeros(1, 4).index_add(0, rg.zeros(len(t), dtype=rg.int64), t),
                  lambda d: d.sum(0)),
}  # fmt: skip


@pytest.mark.parametrize("rows", [400, 1_000, 4_000, 8_000, 1_000_000])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_sum_of_many_float32_rows_is_exact_to_two_units(name, rows, tall):
    function, reference = REDUCTIONS[name]
    near(function(rg.tensor(tall[:rows])), reference(tall[:rows].astype(np.float64)))


def test_a_variance_far_from_zero_is_as_exact_as_the_numbers():
    x = np.random.default_rng(2).random((4_000, 4), dtype=np.float32) + 1_000
    near(rg.tensor(x).var(0), x.var(0, ddof=1, dtype=np.float64))


def test_the_gradient_of_a_bias_of_a_million_rows_is_exact_to_two_units(tall):
    bias = rg.zeros(4, requires_grad=True)
    (rg.zeros(1_000_000, 4) + bias).backward(rg.tensor(tall))
    near(bias.grad, tall.sum(0, dtype=np.float64))


def test_a_complex_mean_of_a_million_rows_is_exact_to_two_units(tall):
    x = tall[:, :2] + 1j * tall[:, 2:]
    near(rg.tensor(x).mean(0), x.mean(0, dtype=np.complex128))


@pytest.mark.parametrize("shape", [(300, 4), (1_000, 4), (64, 4, 4, 4), (5_000, 3)])
def test_batch_norm_of_few_rows_is_exact_to_four_units(shape):
    x = np.random.default_rng(3).random(shape, dtype=np.float32)
    d, axes = x.astype(np.float64), (0, *range(2, x.ndim))
    expected = (d - d.mean(axes, keepdims=True)) / np.sqrt(d.var(axes, keepdims=True) + 1e-5)
    near(F.batch_norm(rg.tensor(x), None, None, training=True), expected, ulps=4)


def test_batch_norm_of_a_million_rows_is_exact_to_four_units_and_its_gradient_to_ten(tall):
    d, g = tall.astype(np.float64), tall[::-1].copy()
    x = rg.tensor(tall, requires_grad=True)
    scale = 1 / np.sqrt(d.var(0) + 1e-5)
    expected = (d - d.mean(0)) * scale
    y = F.batch_norm(x, None, None, training=True)
    near(y, expected, ulps=4)
    y.backward(rg.tensor(g))
    wide = g.astype(np.float64)
    inward = wide - wide.mean(0) - expected * (wide * expected).mean(0)
    near(x.grad, scale * inward, ulps=10)


@pytest.mark.parametrize("columns", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 5])
def test_scattered_rows_adds_each_row_at_its_place(columns, count):
    values = np.arange(count * columns, dtype=np.float64).reshape(count, columns)
    places = np.array([2, 0, 2, 3, 2][:count], np.int64)
    expected = np.zeros((4, columns))
    np.add.at(expected, places, values)
    np.testing.assert_array_equal(sums.scattered_rows(values, places, 4), expected)
