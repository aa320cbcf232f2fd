"""Layers against values of PyTorch: the same parameters, the same input, float64 and complex128."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn


def pattern(*shape):
    """Numbers between -1.25 and 1.25 without structure, the same in PyTorch's run."""
    return ((np.arange(np.prod(shape)) * 7) % 11 - 5).reshape(shape) / 4


def complex_pattern(*shape):
    x = pattern(*shape)
    return x + 0.5j * x[..., ::-1]


def filled(layer, values=pattern):
    """The layer in double precision with such parameters, halved."""
    layer.to(rg.complex128 if values is complex_pattern else rg.float64)
    for p in layer.parameters():
        p.data = rg.tensor(values(*p.shape) / 2)
    return layer


def check(out, expected):
    np.testing.assert_allclose(out._array, expected, rtol=1e-12, atol=1e-14)


X = rg.tensor(pattern(2, 3))
IMAGE = rg.tensor(pattern(1, 2, 3, 3))


def test_linear():
    check(filled(nn.Linear(3, 2))(X), [[0.40625, -0.28125], [-1.15625, 1.34375]])


def test_complex_linear():
    out = filled(nn.Linear(3, 2), complex_pattern)(rg.tensor(complex_pattern(2, 3)))
    check(
        out,
        [
            [0.1484375 + 0.875j, -0.1484375 - 0.09375j],
            [-1.0234375 + 0.34375j, 1.0703125 - 1.21875j],
        ],
    )


def test_bilinear():
    out = filled(nn.Bilinear(3, 3, 2))(X, X + 1)
    check(out, [[-1.0234375, 1.1015625], [-2.453125, 1.0625]])


def test_a_bias_of_another_dtype_is_refused():
    bias = rg.ones(2, dtype=rg.float16)
    with pytest.raises(RuntimeError, match="same dtype, got weight: float, bias: c10::Half"):
        nn.functional.bilinear(rg.ones(1, 3), rg.ones(1, 3), rg.ones(2, 3, 3), bias)
    for dims in (1, 2, 3):
        for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
            x = rg.ones(1, 2, *[3] * dims)
            with pytest.raises(RuntimeError, match=r"bias type \(c10::Half\) should be the same"):
                getattr(nn.functional, name)(x, rg.ones(2, 2, *[1] * dims), bias)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("zeros", [[-1.875, -0.53125], [-0.53125, -1.875]]),
        ("reflect", [[-1.40625, -1.6875], [-1.5625, -2.875]]),
        ("circular", [[-1.03125, -1.03125], [-1.03125, -1.03125]]),
        ("replicate", [[-1.09375, 0.40625], [-0.375, -0.9375]]),
    ],
)
def test_convolution_in_every_padding_mode(mode, expected):
    layer = filled(nn.Conv2d(2, 1, 3, padding=1, stride=2, padding_mode=mode))
    check(layer(IMAGE), [[expected]])


def test_transposed_convolution():
    out = filled(nn.ConvTranspose2d(2, 1, 2, stride=2))(IMAGE[:, :, :2, :2])
    expected = [
        [0.25, -1.21875, -0.96875, -0.40625],
        [0.0625, -1.40625, -0.875, -0.3125],
        [-1.34375, -0.5, -0.84375, -0.375],
        [-0.6875, 0.15625, -0.9375, -0.46875],
    ]
    check(out, [[expected]])


def test_batch_norm_while_training_and_afterwards():
    layer = filled(nn.BatchNorm2d(2))
    check(
        layer(IMAGE)[0, :, 0],
        [
            [0.27282424137985617, -1.0425926704092354, -0.2909258636726117],
            [0.44958385547816415, 0.13719173386016809, -0.17520038775782798],
        ],
    )
    check(layer.running_mean, [-0.005555555555555556, 0.011111111111111112])
    check(layer.running_var, [0.9777777777777779, 0.9720486111111112])
    check(
        layer.eval()(IMAGE)[0, :, 0],
        [
            [0.1615624840228792, -0.9445410091342947, -0.3124818701873382],
            [0.4373582919901247, 0.18379067877040706, -0.0697769344493106],
        ],
    )
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_without_momentum_averages_all_batches():
    layer = nn.BatchNorm1d(3, momentum=None, dtype=rg.float64)
    layer(X)
    layer(X + 1)
    check(layer.running_mean, [0.5, 0.875, -0.125])
    check(layer.running_var, [3.125, 0.03125, 0.03125])


def test_complex_batch_norm_has_a_real_variance():
    layer = nn.BatchNorm1d(3, dtype=rg.complex64)
    assert (layer.running_mean.dtype, layer.running_var.dtype) == (rg.complex64, rg.float32)
    out = layer(rg.tensor(complex_pattern(8, 3), dtype=rg.complex64))
    np.testing.assert_allclose((abs(out._array) ** 2).mean(0), 1, rtol=1e-4)


def test_instance_norm_of_other_channels_than_it_names_warns():
    x = rg.tensor(pattern(1, 3, 4))
    with pytest.warns(UserWarning, match="input's size at dim=1 does not match num_features"):
        out = nn.InstanceNorm1d(2)(x)
    assert rg.equal(out, nn.InstanceNorm1d(3)(x))


def test_other_normalizations():
    check(
        nn.InstanceNorm1d(2)(rg.tensor(pattern(1, 2, 3))),
        [
            [
                [-1.1624650770221965, 1.2787115847244162, -0.11624650770221967],
                [1.2247356859083902, 0.0, -1.2247356859083902],
            ]
        ],
    )
    check(
        filled(nn.GroupNorm(2, 4))(rg.tensor(pattern(1, 4, 2))),
        [
            [
                [0.19566067760270742, -0.953264271041083],
                [0.11869429158356681, 0.578264271041083],
                [-0.2999993600122878, 0.09999552008601416],
                [1.4999888002150354, 0.5000015999692806],
            ]
        ],
    )
    check(
        filled(nn.LayerNorm(3))(X),
        [
            [0.1015406731388728, 0.5696778961811041, -0.22093837307444508],
            [-1.3904598036927438, 0.25, 0.056183921477097554],
        ],
    )
    check(
        nn.RMSNorm(3, dtype=rg.float64)(X),
        [
            [-1.5075567228888178, 0.6030226891555271, -0.6030226891555271],
            [1.4638501094227996, 0.2927700218845599, -0.8783100656536798],
        ],
    )


def test_embedding_looks_rows_up_and_spares_the_padding_row():
    table = filled(nn.Embedding(4, 2, padding_idx=1))
    check(table(rg.tensor([1, 3])), [[-0.25, 0.625], [0.5, 0.0]])
    table(rg.tensor([1, 3, 3])).sum().backward()
    check(table.weight.grad, [[0, 0], [0, 0], [0, 0], [2, 2]])
    assert nn.Embedding(3, 2, padding_idx=-1).weight[2].tolist() == [0.0, 0.0]
    assert not nn.Embedding.from_pretrained(rg.ones(2, 2)).weight.requires_grad
    with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
        nn.Embedding(3, 2, padding_idx=3)


def test_losses_with_weights():
    weight = rg.tensor([1.0, 2.0, 0.5], dtype=rg.float64)
    loss = nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)
    assert loss(X, rg.tensor([2, 0])).item() == pytest.approx(0.8564561078331705, rel=1e-13)
    target = rg.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], dtype=rg.float64)
    loss = nn.BCEWithLogitsLoss(pos_weight=rg.tensor(2.0, dtype=rg.float64))
    assert loss(X, target).item() == pytest.approx(0.619461340408171, rel=1e-13)
    assert [name for name, _ in loss.named_buffers()] == ["pos_weight"]


def test_deprecated_flags_choose_the_reduction():
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.MSELoss(reduce=False).reduction == "none"
    assert nn.MSELoss(size_average=True).reduction == "mean"


def test_dropout_scales_what_it_keeps_and_rests_in_evaluation_mode():
    layer = nn.Dropout(0.25)
    x = rg.ones(10000, requires_grad=True)
    out = layer(x)
    assert set(np.unique(out.detach()._array)) == {np.float32(0), np.float32(4 / 3)}
    assert out.mean().item() == pytest.approx(1.0, abs=0.03)
    out.sum().backward()
    assert (x.grad._array == out.detach()._array).all()
    assert (layer.eval()(x).detach()._array == 1).all()
    with pytest.raises(ValueError, match=r"between 0 and 1, but got 1\.5"):
        nn.Dropout(1.5)


def test_random_slopes_are_fixed_in_evaluation_mode():
    layer = nn.RReLU(0.1, 0.3).eval()
    assert layer(rg.tensor([-1.0, 1.0])).tolist() == pytest.approx([-0.2, 1.0])


def test_pooling_returns_places_that_unpooling_takes():
    x = rg.tensor([[[[1.0, 5.0], [3.0, 2.0]]]])
    values, places = nn.MaxPool2d(2, return_indices=True)(x)
    assert (values.tolist(), places.tolist()) == ([[[[5.0]]]], [[[[1]]]])
    assert nn.MaxUnpool2d(2)(values, places).tolist() == [[[[0.0, 5.0], [0.0, 0.0]]]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv2d(3, 2, 1, groups=2), "in_channels must be divisible by groups"),
        (lambda: nn.Conv2d(2, 3, 1, groups=2), "out_channels must be divisible by groups"),
        (lambda: nn.Conv2d(2, 2, 1, groups=0), "groups must be a positive integer"),
        (lambda: nn.Conv2d(1, 1, 1, padding="half"), "Invalid padding string 'half'"),
        (lambda: nn.Conv2d(1, 1, 1, 2, padding="same"), "not supported for strided"),
        (lambda: nn.Conv2d(1, 1, 1, padding_mode="mirror"), "padding_mode must be one of"),
        (lambda: nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect"), 'Only "zeros" padding'),
        (lambda: nn.GroupNorm(2, 3), "must be divisible by num_groups"),
        (lambda: nn.BatchNorm2d(1)(rg.ones(1, 1)), r"expected 4D input \(got 2D input\)"),
        (lambda: nn.BatchNorm1d(1)(rg.ones(1)), r"expected 2D or 3D input \(got 1D input\)"),
        (lambda: nn.Softmax2d()(rg.ones(1)), "expected input to be 3D or 4D, got 1D"),
        (lambda: nn.MultiMarginLoss(p=3), "only p == 1 and p == 2 supported"),
        (lambda: nn.TripletMarginLoss(margin=-1.0), "expected margin to be greater than 0"),
    ],
)
def test_settings_that_do_not_fit_raise(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_transposed_convolution_refuses_a_size_it_cannot_give():
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2)
    assert layer(rg.ones(1, 1, 4), output_size=[10]).shape == (1, 1, 10)
    with pytest.raises(ValueError, match=r"valid sizes range from \[9\] to \[10\]"):
        layer(rg.ones(1, 1, 4), output_size=[11])


def test_libraries_ask_for_the_padding_of_an_output_size():
    x = rg.zeros(1, 1, 5)
    asked = nn.modules.conv._ConvTransposeNd._output_padding(None, x, [10], [2], [0], [1], 1)
    assert asked == [1]


TEXTS = {
    "ReLU(inplace=True)": lambda: nn.ReLU(True),
    "LeakyReLU(negative_slope=0.1, inplace=True)": lambda: nn.LeakyReLU(0.1, True),
    "PReLU(num_parameters=3)": lambda: nn.PReLU(3),
    "RReLU(lower=0.125, upper=0.3333333333333333)": nn.RReLU,
    "ELU(alpha=1.0)": nn.ELU,
    "GELU(approximate='none')": nn.GELU,
    "Softplus(beta=1.0, threshold=20.0)": nn.Softplus,
    "Hardshrink(0.5)": nn.Hardshrink,
    "Hardtanh(min_val=-1.0, max_val=1.0)": nn.Hardtanh,
    "Hardsigmoid()": lambda: nn.Hardsigmoid(True),
    "Threshold(threshold=1, value=2)": lambda: nn.Threshold(1, 2),
    "GLU(dim=-1)": nn.GLU,
    "Softmax(dim=1)": lambda: nn.Softmax(1),
    "Conv2d(4, 2, kernel_size=(3, 3), stride=(1, 1), padding=same, groups=2, bias=False, "
    "padding_mode=circular)": lambda: nn.Conv2d(
        4, 2, 3, padding="same", groups=2, bias=False, padding_mode="circular"
    ),
    "ConvTranspose1d(4, 2, kernel_size=(3,), stride=(2,), output_padding=(1,))": (
        lambda: nn.ConvTranspose1d(4, 2, 3, 2, output_padding=1)
    ),
    "MaxPool2d(kernel_size=(2, 3), stride=2, padding=1, dilation=1, ceil_mode=True)": (
        lambda: nn.MaxPool2d((2, 3), 2, 1, ceil_mode=True)
    ),
    "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))": lambda: nn.AvgPool1d(2),
    "AdaptiveAvgPool2d(output_size=(1, None))": lambda: nn.AdaptiveAvgPool2d((1, None)),
    "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)": lambda: nn.LPPool2d(2, 3),
    "ConstantPad1d(padding=(2, 2), value=3.5)": lambda: nn.ConstantPad1d(2, 3.5),
    "ZeroPad2d((1, 1, 1, 1))": lambda: nn.ZeroPad2d(1),
    "Flatten(start_dim=1, end_dim=-1)": nn.Flatten,
    "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)": (
        lambda: nn.BatchNorm2d(3)
    ),
    "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, "
    "track_running_stats=False)": lambda: nn.InstanceNorm1d(3),
    "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)": lambda: nn.GroupNorm(2, 4),
    "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)": lambda: nn.LayerNorm(3),
    "RMSNorm((3,), eps=None, elementwise_affine=True)": lambda: nn.RMSNorm(3),
    "Embedding(3, 4, padding_idx=2)": lambda: nn.Embedding(3, 4, padding_idx=-1),
    "Upsample(size=(2, 3), mode='bilinear')": lambda: nn.Upsample(size=(2, 3), mode="bilinear"),
    "CrossEntropyLoss()": nn.CrossEntropyLoss,
}


def test_the_text_says_that_a_deleted_bias_is_not_there():
    layer = nn.Linear(1, 2)
    del layer.bias
    layer.bias = None
    assert repr(layer) == "Linear(in_features=1, out_features=2, bias=False)"


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_layer_is_pytorchs(text):
    assert repr(TEXTS[text]()) == text


@pytest.mark.parametrize("dtype", [rg.float32, rg.float64, rg.complex64, rg.complex128])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda **kw: nn.Linear(3, 2, **kw), (2, 3)),
        (lambda **kw: nn.Bilinear(3, 3, 2, **kw), None),
        (lambda **kw: nn.Conv1d(2, 2, 2, **kw), (1, 2, 4)),
        (lambda **kw: nn.Conv2d(2, 2, 2, **kw), (1, 2, 3, 3)),
        (lambda **kw: nn.Conv3d(1, 1, 2, **kw), (1, 1, 2, 2, 2)),
        (lambda **kw: nn.ConvTranspose2d(2, 2, 2, **kw), (1, 2, 2, 2)),
        (lambda **kw: nn.BatchNorm1d(3, **kw), (4, 3)),
        (lambda **kw: nn.InstanceNorm1d(2, affine=True, **kw), (2, 2, 3)),
        (lambda **kw: nn.GroupNorm(1, 2, **kw), (1, 2, 3)),
        (lambda **kw: nn.LayerNorm(3, **kw), (2, 3)),
        (lambda **kw: nn.RMSNorm(3, **kw), (2, 3)),
    ],
)
def test_layers_keep_every_floating_and_complex_dtype(make, shape, dtype):
    layer = make(dtype=dtype, device="cpu")
    shapes = [(2, 3), (2, 3)] if shape is None else [shape]
    out = layer(*[rg.tensor(pattern(*s), dtype=dtype) for s in shapes])
    assert out.dtype is dtype
    out.abs().sum().backward()
    for p in layer.parameters():
        assert p.grad.dtype is dtype
        assert np.isfinite(p.grad._array).all()


def test_a_subclass_of_a_convolution_may_give_another_weight():
    class Standardized(nn.Conv2d):
        def forward(self, input):
            weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return self._conv_forward(input, weight, self.bias)

    layer = Standardized(2, 3, 3, padding=(1, 2), padding_mode="circular")
    x, mean = rg.randn(1, 2, 4, 4), layer.weight.detach().mean((1, 2, 3), keepdim=True)
    assert layer._reversed_padding_repeated_twice == [2, 2, 1, 1]
    found = layer(x)
    with rg.no_grad():
        layer.weight -= mean
    assert rg.allclose(found, nn.Conv2d.forward(layer, x), atol=1e-6)


def test_a_convolution_may_be_given_another_way_to_convolve():
    layer = nn.Conv1d(1, 1, 1)
    layer._conv_forward = lambda input, weight, bias: input * 2
    assert layer(rg.ones(1, 1, 2)).tolist() == [[[2.0, 2.0]]]


@pytest.mark.parametrize("kind", [rg.nn.Embedding, rg.nn.EmbeddingBag])
def test_a_table_that_a_program_draws_can_have_its_padding_made_zero(kind):
    table = kind(3, 2, padding_idx=1)
    rg.nn.init.ones_(table.weight)
    table._fill_padding_idx_with_zero()
    assert table.weight.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
