"""Infinite values and cotangents stay where they are: what is left out is 0, not `inf * 0`."""

import math

import numpy as np
import pytest

import retrograd as rg

INF, NAN = math.inf, math.nan
F = rg.nn.functional


def gradient(function, x, g=INF):
    """The gradient by `x` of a function's only output under the cotangent `g`."""
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    y.backward(rg.full_like(y, g))
    return leaf.grad.tolist()


@pytest.mark.parametrize("g", [INF, NAN])
def test_nansum_gives_nan_elements_no_gradient(g):
    found = gradient(rg.nansum, rg.tensor([1.0, NAN]), g)
    np.testing.assert_equal(found, [g, 0.0])


@pytest.mark.parametrize("function", [rg.amax, rg.max, lambda x: rg.linalg.vector_norm(x, INF)])
def test_what_is_not_the_largest_hears_nothing_of_an_infinite_cotangent(function):
    assert gradient(function, rg.tensor([1.0, 2.0])) == [0.0, INF]


@pytest.mark.parametrize("function", [rg.median, rg.nanmedian, rg.min])
def test_what_is_not_the_lower_median_hears_nothing_of_an_infinite_cotangent(function):
    assert gradient(function, rg.tensor([1.0, 2.0])) == [INF, 0.0]


def test_a_cross_entropy_with_an_infinite_cotangent_leaves_ignored_samples_alone():
    logits, target = rg.zeros(2, 2), rg.tensor([0, -100])
    assert gradient(lambda x: F.cross_entropy(x, target, reduction="sum"), logits)[1] == [0.0, 0.0]


def test_second_derivatives_of_a_cross_entropy_leave_ignored_samples_alone():
    x = rg.zeros(2, 2, dtype=rg.float64).requires_grad_()
    c = rg.ones((), dtype=rg.float64).requires_grad_()
    loss = F.cross_entropy(x, rg.tensor([0, -100]), reduction="sum")
    (g,) = rg.autograd.grad(loss, x, c, create_graph=True)
    by_logits, by_cotangent = rg.autograd.grad(
        g, [x, c], rg.tensor([[1.0, 0.0], [INF, INF]]).double()
    )
    assert by_logits.tolist() == [[0.25, -0.25], [0.0, 0.0]]
    assert by_cotangent.item() == -0.5


def test_an_embedding_skips_an_infinite_cotangent_at_its_padding():
    weight = rg.zeros(2, 1)
    look_up = lambda w: F.embedding(rg.tensor([0, 1]), w, padding_idx=1)
    assert gradient(look_up, weight) == [[INF], [0.0]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_bag_leaves_out_an_infinite_row_at_its_padding(mode):
    weight = rg.tensor([[1.0], [INF]])
    found = F.embedding_bag(rg.tensor([[0, 1]]), weight, mode=mode, padding_idx=1)
    assert found.tolist() == [[1.0]]


def test_the_angle_of_zero_hears_nothing_of_an_infinite_cotangent():
    assert gradient(rg.angle, rg.tensor([0j])) == [0j]


def test_area_interpolation_keeps_an_infinite_element_in_its_bin():
    found = F.interpolate(rg.tensor([[[0.0, 1.0, INF]]]), size=2, mode="area")
    assert found.tolist() == [[[0.5, INF]]]
