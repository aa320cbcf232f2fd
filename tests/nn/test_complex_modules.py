"""Layers that PyTorch refuses complex numbers: the gradients of their extension are right.

Real input and real parameters, made complex, must give the real output, too.
"""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn


def masked(layer, x):
    unseen = rg.tensor([[0.0, -float("inf"), 0.0]], dtype=rg.float64)
    above = nn.Transformer.generate_square_subsequent_mask(3, dtype=rg.float64)
    return layer(x, x, x, key_padding_mask=unseen, attn_mask=above)


CASES = {
    "attention": (lambda: nn.MultiheadAttention(2, 2), (3, 1, 2), masked),
    "attention without weights": (
        lambda: nn.MultiheadAttention(2, 1, add_bias_kv=True, add_zero_attn=True),
        (3, 1, 2),
        lambda layer, x: layer(x, x, x, need_weights=False)[0],
    ),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(2, 1, 3, 0.0, activation=rg.tanh),
        (3, 1, 2),
        lambda layer, x: layer(x),
    ),
    "decoder": (
        lambda: nn.TransformerDecoderLayer(2, 1, 3, 0.0, activation=rg.tanh, norm_first=True),
        (3, 1, 2),
        lambda layer, x: layer(x, x * 2),
    ),
    "embedding bag": (
        lambda: nn.EmbeddingBag(3, 2, mode="mean"),
        (1,),
        lambda layer, x: layer(rg.tensor([0, 2, 1]), rg.tensor([0, 2])) * x,
    ),
    "adaptive softmax": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2], div_value=2.0),
        (2, 4),
        lambda layer, x: tuple(layer(x, rg.tensor([1, 4]))),
    ),
    "fractional samples of an image": (
        lambda: nn.Upsample(scale_factor=1.5, mode="bilinear", align_corners=False),
        (1, 1, 2, 3),
        lambda layer, x: layer(x),
    ),
    "local response": (lambda: nn.CrossMapLRN2d(3), (1, 3, 1, 2), lambda layer, x: layer(x)),
    "distance": (lambda: nn.PairwiseDistance(), (2, 3), lambda layer, x: layer(x, 2 * x + 1)),
    "cosine": (lambda: nn.CosineSimilarity(), (2, 3), lambda layer, x: layer(x, x * x + 1)),
    "fold": (lambda: nn.Fold((2, 3), 2), (1, 4, 2), lambda layer, x: layer(x)),
    "gated unit": (lambda: nn.GRUCell(2, 2), (1, 2), lambda layer, x: layer(x)),
}


def made(make, dtype):
    rg.manual_seed(4)
    return make().to(rg.float64).to(dtype)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_complex_layers_are_right(name):
    make, shape, call = CASES[name]
    layer = made(make, rg.complex128)
    for param in layer.parameters():
        param.data = param.detach() * (1 + 0.3j)
    rg.manual_seed(2)
    x = (rg.randn(shape, dtype=rg.complex128) * 0.7).requires_grad_()
    assert rg.autograd.gradcheck(lambda x, *_: call(layer, x), (x, *layer.parameters()))


@pytest.mark.parametrize("name", CASES)
def test_real_numbers_made_complex_give_the_real_output(name):
    make, shape, call = CASES[name]
    real, wide = made(make, rg.float64), made(make, rg.complex128)
    wide.load_state_dict(real.state_dict())
    rg.manual_seed(2)
    x = rg.randn(shape, dtype=rg.float64)
    outputs = call(real, x), call(wide, x.to(rg.complex128))
    found, expected = (out if isinstance(out, tuple) else (out,) for out in reversed(outputs))
    for f, e in zip(found, expected, strict=True):
        assert rg.allclose(f.real if f.is_complex() else f, e)


REAL_INPUT = (
    "The input is real, the weight complex. Make the input complex, too: x.to(retrograd.complex64)."
)
REAL_LAYER = (
    "The weight is real, the input complex. Make the weight complex, too: "
    "layer.to(retrograd.complex64). Or make the input real: x.real drops the imaginary part, "
    "x.abs() drops the phase."
)
TYPES = "Input type ({}) and weight type ({}) should be the same. "
MATRICES = "mat1 and mat2 must have the same dtype, but got {} and {}. "
LAYERS = {
    "Conv1d": (lambda **kw: nn.Conv1d(2, 1, 1, **kw), (1, 2, 3)),
    "Conv2d": (lambda **kw: nn.Conv2d(2, 1, 1, **kw), (1, 2, 3, 3)),
    "Conv3d": (lambda **kw: nn.Conv3d(2, 1, 1, **kw), (1, 2, 3, 3, 3)),
    "Linear": (lambda **kw: nn.Linear(2, 1, **kw), (3, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_real_and_a_complex_operand_of_a_layer_are_named_and_what_is_advised_works(name):
    make, shape = LAYERS[name]
    x, layer = rg.ones(shape), make(dtype=rg.complex64)
    with pytest.raises(RuntimeError) as caught:
        layer(x)
    what = MATRICES.format("Float", "ComplexFloat")
    what = what if name == "Linear" else TYPES.format("float", "complex64")
    assert str(caught.value).endswith(what + REAL_INPUT)
    assert layer(x.to(rg.complex64)).dtype is rg.complex64
    x, layer = x.to(rg.complex64), make()
    with pytest.raises(RuntimeError) as caught:
        layer(x)
    what = MATRICES.format("ComplexFloat", "Float")
    what = what if name == "Linear" else TYPES.format("complex64", "float")
    assert str(caught.value).endswith(what + REAL_LAYER)
    assert layer(x.abs()).dtype is rg.float32
    assert layer.to(rg.complex64)(x).dtype is rg.complex64


def test_two_matrices_of_which_one_is_complex_are_named_by_their_places():
    with pytest.raises(RuntimeError) as caught:
        rg.ones(2, 2, dtype=rg.complex128) @ rg.ones(2, 2)
    assert str(caught.value) == (
        "expected m1 and m2 to have the same dtype, but got: complex128 != float. The second is "
        "real, the first complex. Make the second complex, too: y.to(retrograd.complex128). Or "
        "make the first real: x.real drops the imaginary part, x.abs() drops the phase."
    )
