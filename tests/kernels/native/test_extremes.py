"""Sizes of nothing, numbers near the end of the integers: a result or an error, never a crash."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.kernels.native import loops
from retrograd.nn import functional as F

in_c = pytest.mark.skipif(loops is None, reason="the loops in C are not built")


def test_attention_of_no_heads_has_gradients_of_no_elements():
    given = [rg.zeros(0, 600, 8, requires_grad=True) for _ in range(3)]
    F.scaled_dot_product_attention(*given).sum().backward()
    assert [x.grad.shape for x in given] == [(0, 600, 8)] * 3


@in_c
@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_pooling_of_no_images_gives_none_whatever_their_size(pool):
    # A window and a line of results such that their number, and one, is 2**32.
    assert pool(rg.zeros(0, 1, 131071, 131071), 65535, stride=1).shape == (0, 1, 65537, 65537)


@in_c
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_taps_that_are_far_outside_the_image_read_zeros(dims):
    conv, far = [F.conv1d, F.conv2d, F.conv3d][dims - 1], 2**50
    x = rg.full((1, 1, *[5] * dims), 3.0, requires_grad=True)
    w = rg.full((1, 1, *[3] * dims), 2.0, requires_grad=True)
    y = conv(x, w, padding=far, dilation=far)
    assert (y == 6.0).all()
    y.sum().backward()
    assert (x.grad == 2.0).all()
    expected = rg.zeros_like(w)
    expected[(0, 0, *[1] * dims)] = 3.0 * 5**dims
    assert w.grad.equal(expected)


@in_c
def test_geometry_beyond_the_integers_is_an_error():
    with pytest.raises((RuntimeError, MemoryError), match="arrays that do not fit together"):
        F.conv1d(rg.ones(1, 1, 5), rg.ones(1, 1, 3), padding=2**62, dilation=2**62)


@in_c
@pytest.mark.parametrize("stride", [10**8, 2**62, 2**63 - 1])
def test_a_stride_beyond_the_image_is_one_place(stride):
    x = rg.ones(1, 1, 50, requires_grad=True)
    w = rg.full((1, 1, 3), 2.0, requires_grad=True)
    y = F.conv1d(x, w, stride=stride, padding=1)
    y.sum().backward()
    assert y.tolist() == [[[4.0]]]
    assert x.grad.tolist() == [[[2.0] * 2 + [0.0] * 48]]
    assert w.grad.tolist() == [[[0.0, 1.0, 1.0]]]


@pytest.mark.parametrize("stride", [10**8, 2**62])
@pytest.mark.parametrize(("pool", "found"), [(F.max_pool1d, 1.0), (F.avg_pool1d, 2 / 3)])
def test_windows_with_a_stride_beyond_the_image_are_one(pool, found, stride):
    y = pool(rg.ones(1, 1, 5), 3, stride=stride, padding=1)
    assert y.tolist() == [[[pytest.approx(found)]]]


@in_c
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["windows", "conv"])
def test_arrays_that_change_where_a_number_is_read_are_looked_at_afterwards(name):
    class Number:
        def __index__(self):
            x.dtype = np.float32  # twice as many
            return 1

    x, w, one, none = np.zeros((64, 1, 4096)), np.zeros((1, 1, 1)), (1,), (0,)
    x = x if name == "conv" else x[:, 0].copy()
    given = {
        "conv": (0, x, x.copy(), w, None, (Number(),), none, one, 1),
        "windows": (1, x, x.copy(), None, one, (Number(),), none, one, 0, False),
    }
    with pytest.raises(ValueError, match="do not fit"):
        getattr(loops, name)(*given[name])
