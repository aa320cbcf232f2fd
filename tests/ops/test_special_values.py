"""Gradients at the ends of the number line, where formulas would give NaN: PyTorch's values.

Compared with PyTorch 2.13 over some 140 elementwise functions; these were wrong once.
"""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad

INF, NAN = math.inf, math.nan
TINY = float(np.finfo(np.float64).tiny)
F = rg.nn.functional


def derivatives(function, points):
    """The values and gradients of an elementwise function at some points."""
    x = rg.tensor(points, dtype=rg.float64, requires_grad=True)
    y = function(x)
    return y.tolist(), grad(y.sum(), x)[0].tolist()


def test_bessel_i1_has_slope_one_half_next_to_zero():
    pytest.importorskip("scipy")
    assert derivatives(rg.special.i1, [TINY, -TINY, 0.0])[1] == [0.5, 0.5, 0.5]


def test_bessel_i1e_has_slope_zero_at_infinity_and_one_half_next_to_zero():
    pytest.importorskip("scipy")
    assert derivatives(rg.special.i1e, [INF, -INF, TINY])[1] == [0.0, 0.0, 0.5]


def test_the_slope_of_bessel_i1e_far_out_is_a_difference_of_small_numbers():
    pytest.importorskip("scipy")
    np.testing.assert_allclose(derivatives(rg.special.i1e, [1e10, -1e300])[1], 0.0, atol=1e-14)


@pytest.mark.parametrize("function", [F.hardtanh, F.relu6, F.hardsigmoid])
def test_a_clipped_line_has_slope_zero_at_nan(function):
    assert derivatives(function, [NAN])[1] == [0.0]


def test_a_binary_cross_entropy_of_an_infinite_logit_that_is_wrong_is_infinite():
    logits = rg.tensor([INF, INF, -INF, -INF])
    target = rg.tensor([0.0, 0.5, 1.0, 0.5])
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    np.testing.assert_array_equal(loss.numpy(), [INF, INF, INF, INF])


def test_two_to_an_infinite_power_is_a_limit():
    x = rg.tensor([1.0, -2.0, 3.0], dtype=rg.float64, requires_grad=True)
    y = rg.ldexp(x, rg.tensor([-INF, INF, -INF], dtype=rg.float64))
    assert y.tolist() == [0.0, -INF, 0.0]
    assert grad(y, x, rg.ones_like(y))[0].tolist() == [0.0, INF, 0.0]


NOTHING_ADDED = {
    "scatter_add": lambda z, at: z.scatter_add(0, at, z),
    "scatter_reduce": lambda z, at: z.scatter_reduce(0, at, z, "sum"),
    "scatter_reduce mean": lambda z, at: z.scatter_reduce(0, at, z, "mean"),
    "scatter": lambda z, at: z.clone().scatter_(0, at, z, reduce="add"),
    "index_add": lambda z, at: z.index_add(0, at, z),
    "index_add of columns": lambda z, at: rg.stack([z, z]).index_add(1, at, rg.stack([z, z])),
    "index_reduce": lambda z, at: z.index_reduce(0, at, z, "mean"),
    "index_put": lambda z, at: z.clone().index_put_((at,), z, accumulate=True),
    "put": lambda z, at: z.put(at, z, accumulate=True),
}


@pytest.mark.parametrize("function", NOTHING_ADDED.values(), ids=NOTHING_ADDED)
@pytest.mark.parametrize("dtype", [rg.float32, rg.float16, rg.complex64])
@pytest.mark.parametrize("size", [4, 5000])
def test_sums_at_places_keep_minus_zero_where_only_minus_zero_is_added(function, dtype, size):
    for places in (rg.arange(size) // 2, rg.zeros(size, dtype=rg.int64)):
        found = function(-rg.zeros(size, dtype=dtype), places)
        assert found.real.signbit().all()


def test_a_sum_at_places_of_minus_zero_and_zero_is_zero():
    for function in NOTHING_ADDED.values():
        assert not function(rg.zeros(4), rg.arange(4)).signbit().any()
    found = (-rg.zeros(3)).index_add(0, rg.tensor([0, 1]), rg.tensor([0.0, -0.0]))
    assert found.signbit().tolist() == [False, True, True]


def test_a_share_of_a_product_is_finite_where_the_product_is_not():
    one, large, share = rg.ones(1), rg.tensor([1e30]), 1e-5
    assert rg.addcmul(one, large, rg.tensor([1e10]), value=share).item() > 9e34
    assert rg.addcdiv(one, large, rg.tensor([1e-10]), value=share).item() > 9e34
