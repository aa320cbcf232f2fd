"""Attention as a layer: its masks, and what it refuses."""

from __future__ import annotations

import pytest

import retrograd as rg


def test_dropout_of_an_empty_batch():
    layer = rg.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True)
    assert layer(rg.zeros(0, 5, 4)).shape == (0, 5, 4)


@pytest.mark.parametrize("need_weights", [False, True])
def test_nothing_is_dropped_in_evaluation(need_weights):
    layer, x = rg.nn.MultiheadAttention(4, 2, dropout=0.5), rg.randn(3, 4)
    dropped, _ = layer(x, x, x, need_weights=need_weights)
    out, _ = layer.eval()(x, x, x, need_weights=need_weights)
    layer.dropout = 0.0
    expected, _ = layer.train()(x, x, x, need_weights=need_weights)
    assert rg.equal(out, expected)
    assert not rg.allclose(dropped, expected)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (1, 3)])
def test_a_padding_mask_has_a_row_per_example_and_a_column_per_key(shape):
    layer = rg.nn.MultiheadAttention(4, 2, batch_first=True)
    x = rg.ones(2, 3, 4)
    with pytest.raises(AssertionError, match="key_padding_mask"):
        layer(x, x, x, key_padding_mask=rg.zeros(*shape).bool())


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            (4, 2),
            r"key weights shape of \(4, 4\), but got \S+Size\(\[4, 3\]\)\. Give a key of width 3",
        ),
        ((3, 3), r"value weights shape of \(4, 3\), but got \S+Size\(\[4, 2\]\)"),
    ],
)
def test_keys_and_values_of_other_widths_than_their_weights_are_refused(shapes, message):
    layer = rg.nn.MultiheadAttention(4, 1, kdim=3, vdim=2)
    with pytest.raises(AssertionError, match=message):
        layer(rg.ones(2, 4), rg.ones(3, shapes[0]), rg.ones(3, shapes[1]))


def test_masks_of_bfloat16_are_added_to_scores():
    pytest.importorskip("ml_dtypes")
    layer = rg.nn.MultiheadAttention(4, 2, batch_first=True, dtype=rg.bfloat16)
    x = rg.randn(1, 3, 4, dtype=rg.bfloat16)
    hidden = rg.ones(3, 3).triu(1).bool()
    added = rg.zeros(3, 3, dtype=rg.bfloat16).masked_fill(hidden, float("-inf"))
    expected, weights = layer(x, x, x, attn_mask=hidden)
    found, others = layer(x, x, x, attn_mask=added)
    assert rg.equal(found, expected)
    assert rg.equal(weights, others)
