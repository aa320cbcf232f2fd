"""Attention of rows that see nothing; reference values from PyTorch 2.13."""

from __future__ import annotations

import math

import pytest

import retrograd as rg

F = rg.nn.functional
MASK = rg.tensor([[True, False, True], [False, False, False], [True, True, True]])
ADDED = rg.zeros(3, 3, dtype=rg.float64).masked_fill(~MASK, -math.inf)


@pytest.mark.parametrize("mask", [MASK, ADDED], ids=["boolean", "added"])
def test_a_row_that_sees_nothing_is_0_and_leaves_all_gradients_finite(mask):
    q = rg.ones(1, 3, 2, dtype=rg.float64, requires_grad=True)
    out = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert out.tolist() == [[[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]]
    out.pow(2).sum().backward()
    row, blind = [5 / 3] * 2, [2 / 3] * 2
    rg.testing.assert_close(q.grad, rg.tensor([[row, blind, row]], dtype=rg.float64))


def test_so_it_is_under_vmap():
    q = rg.ones(2, 3, 2, dtype=rg.float64)
    masks = rg.stack([MASK, ~MASK])
    found = rg.func.vmap(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m))(
        q, masks
    )
    assert found[:, :, 0].tolist() == [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_complex_rows_that_see_nothing_are_0():
    q = rg.ones(3, 2, dtype=rg.complex128)
    out = F.scaled_dot_product_attention(q, q, q, attn_mask=MASK)
    assert out[1].tolist() == [0j, 0j]
