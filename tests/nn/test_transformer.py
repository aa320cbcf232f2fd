"""Transformer layers and stacks: parts that subclasses replace, what stacks give their layers."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn


def test_a_subclass_of_an_encoder_layer_may_replace_its_attention():
    class Watched(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            found, self.weights = self.self_attn(
                x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True
            )
            return self.dropout1(found)

    rg.manual_seed(0)
    layer = Watched(8, 2, 16, batch_first=True).eval()
    x = rg.randn(2, 3, 8)
    assert rg.allclose(layer(x), nn.TransformerEncoderLayer.forward(layer, x))
    assert layer.weights.shape == (2, 3, 3)
    plain = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    plain.load_state_dict(layer.state_dict())
    assert rg.allclose(layer(x), plain(x), atol=1e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_subclass_of_a_decoder_layer_may_replace_each_part(norm_first):
    class Silent(nn.TransformerDecoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return rg.zeros_like(x)

        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return rg.zeros_like(x)

        def _ff_block(self, x):
            return rg.zeros_like(x)

    layer = Silent(8, 2, 16, norm_first=norm_first)
    x = rg.randn(3, 1, 8)
    expected = x if norm_first else layer.norm3(layer.norm2(layer.norm1(x)))
    assert rg.equal(layer(x, rg.randn(4, 1, 8)), expected)


def test_stacks_give_their_layers_masks_by_name():
    class Layer(nn.Module):
        def forward(self, x, memory=None, *, is_causal=None, src_mask=None, **others):
            self.seen = {"is_causal": is_causal, "src_mask": src_mask, **others}
            return x

    encoder = nn.TransformerEncoder(Layer(), 1, enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(Layer(), 1)
    mask = rg.zeros(2, 2)
    encoder(rg.ones(2, 1, 4), mask)
    assert encoder.layers[0].seen["src_mask"] is mask
    assert encoder.layers[0].seen["src_key_padding_mask"] is None
    decoder(rg.ones(2, 1, 4), rg.ones(2, 1, 4), memory_mask=mask)
    assert decoder.layers[0].seen["memory_mask"] is mask
    assert decoder.layers[0].seen["tgt_mask"] is None


@pytest.mark.parametrize(
    ("activation", "number"),
    [("relu", 1), (nn.ReLU(), 1), ("gelu", 2), (nn.GELU(), 2), (nn.functional.silu, 0)],
)
def test_layers_say_which_activation_they_have(activation, number):
    layer = nn.TransformerEncoderLayer(4, 2, 4, activation=activation)
    assert layer.activation_relu_or_gelu == number


def test_layers_call_their_attention_by_names_that_a_wrapper_may_change():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    attention, seen = layer.self_attn, []
    given = attention.forward

    def forward(*args, **kwargs):
        kwargs["need_weights"], kwargs["average_attn_weights"] = True, False
        found = given(*args, **kwargs)
        seen.append(found[1])
        return found

    attention.forward = forward
    x = rg.randn(3, 1, 8)
    layer(x)
    (weights,) = seen  # one matrix for each head
    expected = given(x, x, x, average_attn_weights=False)[1]
    assert weights.shape == (1, 2, 3, 3)
    rg.testing.assert_close(weights, expected, rtol=1e-6, atol=0)


MISSING_MASK = "Need attn_mask if specifying the is_causal hint"


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_causal_hint_without_its_mask_raises(norm_first):
    x = rg.randn(3, 1, 8)
    encoder = nn.TransformerEncoderLayer(8, 2, 16, norm_first=norm_first)
    decoder = nn.TransformerDecoderLayer(8, 2, 16, norm_first=norm_first)
    with pytest.warns(UserWarning, match="enable_nested_tensor is True, but"):
        whole = nn.Transformer(8, 2, 1, 1, 16, norm_first=norm_first)
    for call in [
        lambda: encoder(x, is_causal=True),
        lambda: nn.TransformerEncoder(encoder, 2, None, False)(x, is_causal=True),
        lambda: decoder(x, x, tgt_is_causal=True),
        lambda: decoder(x, x, memory_is_causal=True),
        lambda: nn.TransformerDecoder(decoder, 1)(x, x, tgt_is_causal=True),
        lambda: whole(x, x, src_is_causal=True),
        lambda: whole(x, x, tgt_is_causal=True),
        lambda: whole(x, x, memory_is_causal=True),
    ]:
        with pytest.raises(RuntimeError, match=MISSING_MASK):
            call()


def test_a_causal_hint_beside_its_mask_makes_no_difference():
    x, mask = rg.randn(3, 1, 8), nn.Transformer.generate_square_subsequent_mask(3)
    layer = nn.TransformerEncoderLayer(8, 2, 16).eval()
    assert rg.equal(layer(x, mask, is_causal=True), layer(x, mask))
