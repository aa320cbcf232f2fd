"""Copies of large arrays, which several threads make, lie as their originals do."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.kernels import native
from retrograd.kernels.allocation import LARGE, copied


@pytest.mark.parametrize("dtype", ["f4", "c16", "i2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_copy_of_a_large_array_has_its_elements_and_its_layout(dtype, order):
    x = np.arange(2 * LARGE + 6).reshape(2, -1).astype(dtype, order)
    found = copied(x)
    assert found.base is None
    assert found.strides == x.strides
    np.testing.assert_array_equal(found, x)


def test_a_large_cotangent_of_the_users_is_copied_for_its_leaf():
    x = rg.zeros(LARGE, requires_grad=True)
    g = rg.rand(LARGE)
    (x + 0).backward(g)
    assert x.grad.data_ptr() != g.data_ptr()
    np.testing.assert_array_equal(x.grad.numpy(), g.numpy())


@pytest.mark.skipif(native.loops is None, reason="the loops in C are not built")
@pytest.mark.parametrize(
    ("out", "x"),
    [
        (np.zeros((3, 4)), np.zeros((4, 3)).T),
        (np.zeros((3, 4)), np.zeros((4, 3))),
        (np.zeros(3), np.zeros(3, np.int64)),
        (np.zeros(3, object), np.zeros(3, object)),
        (np.broadcast_to(0.0, 3), np.zeros(3)),
    ],
)
def test_arrays_that_do_not_lie_alike_are_not_copied_as_bytes(out, x):
    with pytest.raises(ValueError, match="do not fit together"):
        native.loops.copy(out, x)
