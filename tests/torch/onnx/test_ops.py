"""Ops and layers exported to ONNX compute what they compute here."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import functional as F

nn = rg.nn


def drawn(*shape):
    return rg.randn(shape, generator=rg.Generator().manual_seed(1))


def shaken(model):
    """A model whose parameters and statistics are no longer those of a fresh one."""
    generator = rg.Generator().manual_seed(2)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(rg.rand(tensor.shape, generator=generator) / 10)
    return model.eval()


FUNCTIONS = {
    "arithmetic": lambda x: (3 / (x.abs() * 2.0 + 1)) ** 2 - x,
    "powers": lambda x: 2**x + x.abs() ** x + (x * x + 1).rsqrt(),
    "integers": lambda x: ((x * 9).long() // 4, (x * 9).long() % 4, (x * 9).long() / 4),
    "quotients": lambda x: (x // 2, x % 2, rg.fmod(x, 2), rg.div(x, 2, rounding_mode="trunc")),
    "mixed dtypes": lambda x: (x > 0) * x + (x * 3).int() * 0.5,
    "casts": lambda x: (x.double(), x.half(), x.int(), x > 0),
    "comparisons": lambda x: ((x * 4).long() > 1) | ((x * 4).int() <= 0.5) & ((x * 2).long() != 1),
    "whole and broken numbers": lambda x: ((x * 4).int() < 0.5, (x * 4).int() > rg.tensor(-0.5)),
    "clamps of other dtypes": lambda x: (x.clamp(rg.tensor(0)), (x * 4).int().clamp(x * 0, x + 9)),
    "logic": lambda x: (~(x > 0), (x > 0).all(), (x > 0).any(1), x.isnan(), x.isfinite()),
    "functions": lambda x: x.sin() + x.tan() + x.atan() + x.sinh() + x.erf() + x.expm1(),
    "logarithms": lambda x: (x * x + 1).log() + (x * x).log1p() + (x * x + 1).log2(),
    "rounding": lambda x: (x.round(), x.floor(), x.ceil(), x.sign(), x.neg()),
    "clamps": lambda x: (x.clamp(0, 1), x.clamp(min=0.5), x.clamp(max=x * 0)),
    "where": lambda x: (rg.where(x > 0, x, 0.0), rg.where(x > 0, x, x * 2)),
    "fills": lambda x: (x.masked_fill(x > 0, 0.5), rg.full_like(x, 2.0) + x, rg.zeros_like(x) + x),
    "between": lambda x: (rg.lerp(x, x * 2, 0.3), rg.addcmul(x, x, x, value=0.5)),
    "rectified": lambda x: (F.relu(x), F.relu6(x), F.leaky_relu(x), F.prelu(x, rg.ones(3) / 4)),
    "exponential units": lambda x: (F.elu(x), F.selu(x), F.celu(x, 2.0), F.softplus(x * 30)),
    "smooth units": lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x)),
    "hard units": lambda x: (F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x), F.threshold(x, 1, 2)),
    "shrinking units": lambda x: (F.hardshrink(x), F.softshrink(x), F.logsigmoid(x), F.glu(x)),
    "slices": lambda x: (x[:, 1:, ::2], x[0], x[..., -1], x[:, -2:], x[:, 0, None, 1:3, -1]),
    "indices": lambda x: (x[:, [0, 1]], x[[0, 1], [2, 1]], x.index_select(1, rg.tensor([0, 2]))),
    "joins": lambda x: (rg.cat([x, x * 2], 1), rg.stack([x, x + 1], 1)),
    "parts": lambda x: (x.chunk(2, -1), x.split([3, 5], 2), x.unbind(1)),
    "orders": lambda x: (x.permute(0, 2, 1, 3), x.transpose(1, 2), x.mT, x.movedim(1, -1)),
    "shapes": lambda x: (x.view(2, -1), x.flatten(1), x[:, :1].squeeze(), x.unsqueeze(0)),
    "copies": lambda x: (x[:1].expand(2, -1, -1, -1), x.repeat(2, 1, 2, 1, 1)),
    "turns": lambda x: (x.flip(1, 2), x.roll((1, -2), (1, 2)), rg.tril(x), rg.triu(x, 1)),
    "pads": lambda x: (F.pad(x, (1, -1, 2, 0), value=3.0), F.pad(x, (1, 2, 2, 0), mode="reflect")),
    "gathers": lambda x: x.gather(1, rg.zeros(2, 1, 8, 8, dtype=rg.int64)),
    "scatters": lambda x: x.scatter_add(1, rg.ones(2, 3, 8, 8, dtype=rg.int64), x),
    "sums": lambda x: (x.sum(), x.mean((2, 3)), x.prod(1), (x > 0).sum(1), x.logsumexp(1)),
    "extremes": lambda x: (x.max(1), x.amin(1, keepdim=True), x.argmax(1), x.argmin(), x.max()),
    "variances": lambda x: (x.std(1), x.var((1, 2), correction=0), rg.var_mean(x, 1)),
    "norms": lambda x: [x.norm(order, dim=1) for order in (0, 1, 2, 3, float("inf"))],
    "orders by size": lambda x: (x.topk(2), x.sort(descending=True), x.cumsum(1)),
    "softmax": lambda x: (x.softmax(1), x.log_softmax(-1)),
    "products": lambda x: (x @ x, rg.einsum("bchw,bcwk->bkhc", x, x[..., :4])),
    "vectors": lambda x: (x[0, 0] @ x[0, 1, 0], rg.outer(x[0, 0, 0], x[0, 1, 0])),
    "a sum and a product": lambda x: rg.addmm(x[0, 0], x[0, 0], x[0, 1], beta=0.5, alpha=2),
    "a sum with a multiple": lambda x: rg.sub(x, x[:, :1], alpha=2).add(x.int(), alpha=0.5),
    "normalizations": lambda x: (F.layer_norm(x, (8,)), F.rms_norm(x, (8,)), F.normalize(x)),
    "detached": lambda x: x.detach() + x.data,
    "in place": lambda x: (x + 1).mul_(2).add_(x).relu_(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_evaluated_alike(exported, name):
    exported(FUNCTIONS[name], drawn(2, 3, 8, 8))


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom", "ignore:invalid value")
def test_the_variance_of_one_number_is_nan(exported):
    exported(lambda x: x.var(0), drawn(1, 3))


LAYERS = {
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, padding="same", padding_mode="circular"), (1, 3, 9)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, 2, (1, 0), dilation=(1, 2), groups=2), (2, 4, 9, 8)),
    "Conv3d": (lambda: nn.Conv3d(2, 4, (1, 2, 3), bias=False), (1, 2, 5, 6, 7)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 5, 3, 2, 2, dilation=2), (2, 4, 9)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), (2, 4, 5, 6)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 8)),
    "MaxPool1d": (lambda: nn.MaxPool1d(2, 1, dilation=3), (1, 2, 9)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 7, 7)),
    "AvgPool3d": (lambda: nn.AvgPool3d(2, divisor_override=3), (1, 2, 4, 4, 4)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 7, 5)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 3)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4, affine=True), (2, 4, 5)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 3, 4, 5)),
    "bilinear": (lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"), (2, 3, 4, 6)),
    "bicubic": (lambda: nn.Upsample((7, 9), mode="bicubic", align_corners=True), (1, 2, 5, 4)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3)),
    "LSTM": (lambda: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), (2, 5, 3)),
    "GRU": (lambda: nn.GRU(3, 4), (5, 2, 3)),
    "RNN": (lambda: nn.RNN(3, 4), (5, 2, 3)),
    "MultiheadAttention": (
        lambda: Itself(nn.MultiheadAttention(8, 2, batch_first=True)), (2, 5, 8)
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)
    ),
}  # fmt: skip


class Itself(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, x):
        return self.attention(x, x, x)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_evaluated_alike(exported, name):
    make, shape = LAYERS[name]
    exported(shaken(make()), drawn(*shape), tolerance=1e-4)


def test_rows_of_an_embedding_are_looked_up(exported):
    net = nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4))
    axes = {"input_0": [0, 1]}
    other = rg.tensor([[1, 2], [3, 4]])
    exported(net, rg.tensor([[1, 2, 9]]), others=[(other,)], dynamic_axes=axes)
