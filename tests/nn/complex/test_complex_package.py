"""Complex networks: gradients against finite differences in both parts, symmetries, statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import retrograd as rg
from retrograd import nn
from retrograd.nn import complex as cnn
from retrograd.nn.complex import functional as CF

C = rg.complex128


def drawn(*shape):
    return rg.randn(*shape, dtype=C, requires_grad=True)


def attended(**settings):
    return lambda: cnn.MultiheadAttention(4, 2, dtype=C, **settings)


def itself(layer, x):
    return layer(x, x, x)


def masked(layer, x):
    unseen = rg.tensor([[False, False, True]])
    return layer(x, x, x, key_padding_mask=unseen, is_causal=True)


def plain(layer, x):
    return layer(x)


def against(layer, x):
    other = rg.arange(1, x.numel() + 1, dtype=rg.float64).sin().reshape(x.shape)
    return layer(x, other * (0.7 + 0.2j) + 0.1j)


LAYERS = {
    "widely linear": (lambda: cnn.WidelyLinear(3, 2, dtype=C), (4, 3), plain),
    "linear": (lambda: cnn.Linear(3, 2, dtype=C), (4, 3), plain),
    "bilinear": (lambda: cnn.Bilinear(2, 2, 2, dtype=C), (3, 2), against),
    "conv1d": (lambda: cnn.Conv1d(2, 3, 2, dtype=C), (1, 2, 4), plain),
    "conv2d": (lambda: cnn.Conv2d(1, 2, 2, dtype=C), (1, 1, 3, 3), plain),
    "conv3d": (lambda: cnn.Conv3d(1, 1, 2, dtype=C), (1, 1, 2, 2, 3), plain),
    "conv transposed": (lambda: cnn.ConvTranspose2d(1, 2, 2, dtype=C), (1, 1, 2, 2), plain),
    "rnn": (lambda: cnn.RNN(2, 2, dtype=C), (3, 1, 2), plain),
    "gru": (lambda: cnn.GRU(2, 2, dtype=C), (2, 1, 2), plain),
    "lstm": (lambda: cnn.LSTM(2, 2, dtype=C), (2, 1, 2), lambda m, x: m(x)[0]),
    "unitary rnn": (lambda: cnn.UnitaryRNN(2, 3, dtype=C), (3, 1, 2), plain),
    "attention, real scores": (attended(), (1, 3, 4), itself),
    "attention, modulus": (attended(scores="modulus"), (1, 3, 4), masked),
    "attention, phase": (attended(scores="phase", rotary=True), (1, 3, 4), masked),
    "whitening": (lambda: cnn.BatchNorm1d(2, dtype=C), (5, 2), plain),
    "whitening images": (lambda: cnn.BatchNorm2d(2, dtype=C), (2, 2, 2, 2), plain),
    "magnitude norm": (lambda: cnn.MagnitudeBatchNorm(2, dtype=rg.float64), (5, 2), plain),
    "naive norm": (lambda: cnn.NaiveBatchNorm1d(2, dtype=C), (5, 2), plain),
    "layer norm": (lambda: cnn.LayerNorm(3, dtype=C), (2, 3), plain),
    "group norm": (lambda: cnn.GroupNorm(1, 2, dtype=C), (2, 2, 2), plain),
    "rms norm": (lambda: cnn.RMSNorm(3, dtype=C), (2, 3), plain),
    "instance norm": (lambda: cnn.InstanceNorm1d(2, affine=True, dtype=C), (1, 2, 3), plain),
    "crelu": (cnn.CReLU, (3, 2), plain),
    "split": (lambda: cnn.Split(nn.GELU()), (3, 2), plain),
    "split polar": (lambda: cnn.SplitPolar(rg.tanh, rg.sin), (3, 2), plain),
    "polar tanh": (cnn.PolarTanh, (3, 2), plain),
    "zrelu": (cnn.ZReLU, (3, 2), plain),
    "modrelu": (lambda: cnn.ModReLU(2, dtype=rg.float64), (3, 2), plain),
    "cardioid": (cnn.Cardioid, (3, 2), plain),
    "gtrelu": (lambda: cnn.GTReLU(2, dtype=C), (3, 2), plain),
    "siglog": (cnn.Siglog, (3, 2), plain),
    "georgiou": (lambda: cnn.GeorgiouKoutsougeras(0.5, 2.0), (3, 2), plain),
    "spectral pool": (lambda: cnn.SpectralPool((2, 3)), (1, 1, 5, 4), plain),
    "magnitude": (lambda: cnn.Magnitude(squared=True), (3, 2), plain),
    "both parts": (cnn.RealImaginary, (3, 2), plain),
    "log magnitude": (cnn.LogMagnitudeLoss, (3, 2), against),
    "split loss": (lambda: cnn.SplitLoss(nn.HuberLoss()), (3, 2), against),
    "phase": (lambda: cnn.PhaseLoss(weighted=True), (3, 2), against),
    "polar": (lambda: cnn.PolarLoss(0.5), (3, 2), against),
    "si-sdr": (cnn.SISDRLoss, (3, 4), against),
    "ssim": (lambda: cnn.SSIMLoss(2), (2, 1, 3, 3), against),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_finite_differences_in_both_parts(name):
    make, shape, call = LAYERS[name]
    layer, x = make(), drawn(*shape)
    with rg.no_grad():
        for param in layer.parameters():
            param.add_(rg.randn_like(param) * 0.1)
    assert rg.autograd.gradcheck(lambda x, *_: call(layer, x), (x, *layer.parameters()))


@pytest.mark.parametrize("name", LAYERS)
def test_second_derivatives_and_forward_mode_are_right(name):
    make, shape, call = LAYERS[name]
    layer, x = make(), drawn(*shape)
    layer.eval()
    assert rg.autograd.gradgradcheck(lambda x: call(layer, x), x)
    assert rg.autograd.gradcheck(
        lambda x: call(layer, x), x, check_forward_ad=True, check_backward_ad=False
    )


TURNED = [
    *("linear", "conv1d", "polar tanh", "modrelu", "siglog", "georgiou", "rms norm"),
    *("magnitude norm", "layer norm", "naive norm", "attention, real scores", "spectral pool"),
]


@pytest.mark.parametrize("name", TURNED)
def test_turning_the_input_turns_the_output(name):
    make, shape, call = LAYERS[name]
    layer, x, turn = make(), drawn(*shape), complex(math.cos(1), math.sin(1))
    if name == "attention, real scores":  # its biases do not turn
        layer = cnn.MultiheadAttention(4, 2, bias=False, dtype=C)
    rg.testing.assert_close(call(layer, turn * x), turn * call(layer, x))


def test_everything_public_is_complex_by_default_and_follows_the_default_dtype():
    layers = [cnn.Linear(2, 2), cnn.WidelyLinear(2, 2), cnn.GRU(2, 2), cnn.Embedding(2, 2)]
    assert {layer(x).dtype for layer, x in ((layers[0], drawn(2).to(rg.complex64)),)} == {
        rg.complex64
    }
    assert {p.dtype for layer in layers for p in layer.parameters()} == {rg.complex64}
    rg.set_default_dtype(rg.float64)
    try:
        assert cnn.Linear(2, 2).weight.dtype == C
    finally:
        rg.set_default_dtype(rg.float32)


# -- initial values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: cnn.Linear(300, 200).weight,
        lambda: cnn.Conv2d(60, 40, (5, 1)).weight,
        lambda: cnn.Embedding(200, 300).weight * (2 / 500) ** 0.5,
        lambda: cnn.WidelyLinear(300, 200).weight * 2**0.5,
    ],
)
def test_weights_are_circular_of_the_variance_that_is_stated(make):
    weight, variance = make().detach(), 2 / 500
    n = weight.numel()
    power = weight.abs() ** 2 / variance
    assert abs(power.mean().item() - 1) < 5 / n**0.5  # of an exponential distribution: deviation 1
    assert abs((power**2).mean().item() - 2) < 5 * (20 / n) ** 0.5  # as the square of Rayleigh's
    assert ((weight * weight).mean() / variance).abs().item() < 5 * (2 / n) ** 0.5
    assert (weight.mean() / variance**0.5).abs().item() < 5 / n**0.5


def test_a_layer_keeps_the_power_of_its_input_where_in_and_out_are_alike():
    z = rg.randn(500, 400, dtype=rg.complex64)
    for layer in (cnn.Linear(400, 400), cnn.WidelyLinear(400, 400)):
        assert (layer(z).abs() ** 2).mean().item() == pytest.approx(1.0, abs=0.02)


def test_the_state_of_a_recurrent_layer_starts_with_unitary_maps():
    weight = cnn.GRU(3, 4, dtype=C).weight_hh_l0.detach()
    for gate in weight.split(4):
        rg.testing.assert_close(gate @ gate.mH, rg.eye(4, dtype=C))


# -- layers ----------------------------------------------------------------------------------------


def test_a_widely_linear_layer_is_any_real_linear_map():
    layer = cnn.WidelyLinear(1, 1, bias=False, dtype=C)
    with rg.no_grad():
        layer.weight.fill_(0.5)
        layer.conj_weight.fill_(0.5)
    assert layer(rg.tensor([3 + 4j], dtype=C)).item() == 3


def test_the_whitened_parts_are_uncorrelated_with_variance_one_half_each():
    z = rg.randn(50, 3, 4, dtype=C)
    layer = cnn.BatchNorm1d(3, eps=0.0, dtype=C)
    out = layer(z.real + (0.3j + 0.9) * z.imag + 2 - 1j)
    x, y = out.real, out.imag
    half = rg.full((3,), 0.5, dtype=rg.float64)
    rg.testing.assert_close((x * x).mean([0, 2]), half)
    rg.testing.assert_close((y * y).mean([0, 2]), half)
    rg.testing.assert_close((x * y).mean([0, 2]), 0 * half)
    rg.testing.assert_close(out.mean([0, 2]), rg.zeros(3, dtype=C))


def test_whitening_in_evaluation_uses_what_training_saw():
    layer = cnn.BatchNorm1d(2, momentum=None, dtype=C)
    z = rg.randn(40, 2, dtype=C) * (2 + 1j) + 1
    layer(z)
    mean, cov = layer.running_mean, layer.running_cov
    centered = z - z.mean(0)
    rg.testing.assert_close(mean, z.mean(0))
    expected = [centered.real.var(0), (centered.real * centered.imag).sum(0) / 39]
    rg.testing.assert_close(cov[:, :2], rg.stack(expected, -1))
    layer.eval()
    rg.testing.assert_close(layer(z[:1]), layer(z)[:1])
    assert layer.num_batches_tracked.item() == 1


def test_an_untrained_whitening_layer_in_evaluation_is_the_identity():
    z = rg.randn(4, 3, dtype=C)
    rg.testing.assert_close(cnn.BatchNorm1d(3, eps=0.0, dtype=C).eval()(z), z)


def test_whitening_of_one_number_or_another_shape_raises():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        cnn.BatchNorm1d(3)(rg.ones(1, 3, dtype=rg.complex64))
    with pytest.raises(ValueError, match="expected 4D input"):
        cnn.BatchNorm2d(3)(rg.ones(1, 3, dtype=rg.complex64))
    with pytest.raises(ValueError, match=r"expected input of shape \(N, 3"):
        cnn.BatchNorm1d(3)(rg.ones(2, 4, dtype=rg.complex64))
    with pytest.raises(ValueError, match="expected a complex tensor"):
        cnn.BatchNorm1d(3)(rg.ones(2, 3))


def test_the_state_of_a_unitary_network_keeps_its_size_and_so_does_the_gradient():
    layer = cnn.UnitaryRNN(2, 8, dtype=C)
    unitary = layer.unitary()
    rg.testing.assert_close(unitary @ unitary.mH, rg.eye(8, dtype=C))
    h = rg.randn(1, 8, dtype=C, requires_grad=True)
    _, last = layer(rg.zeros(200, 1, 2, dtype=C), h)
    rg.testing.assert_close(last.norm(), h.norm())
    (last.abs() ** 2).sum().backward()
    rg.testing.assert_close(h.grad, 2 * h.detach())


def test_causal_attention_sees_no_later_value():
    q, k, v = (rg.randn(1, 4, 3, dtype=C) for _ in range(3))
    for scores in ("real", "modulus", "phase"):
        out = CF.scaled_dot_product_attention(q, k, v, is_causal=True, scores=scores)
        changed = v.clone()
        changed[:, 2:] += 1j
        again = CF.scaled_dot_product_attention(q, k, changed, is_causal=True, scores=scores)
        assert rg.equal(out[:, :2], again[:, :2])
        assert not rg.allclose(out[:, 2:], again[:, 2:])


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    q, k, v = (drawn(1, 2, 3) for _ in range(3))
    for nothing in (rg.tensor([[True, True], [False, False]]),):
        out = CF.scaled_dot_product_attention(q, k, v, nothing)
        assert not out[:, 1].any()
        out.sum().abs().backward()
        assert q.grad.isfinite().all()
        added = rg.zeros(2, 2, dtype=rg.float64).masked_fill(~nothing, -math.inf)
        assert rg.equal(CF.scaled_dot_product_attention(q, k, v, added), out)


def test_attention_with_a_padding_mask_is_that_of_the_shorter_sequence():
    layer, x = cnn.MultiheadAttention(4, 2, dtype=C), rg.randn(1, 3, 4, dtype=C)
    unseen = rg.tensor([[False, False, True]])
    short = x[:, :2]
    rg.testing.assert_close(layer(x, x, x, unseen)[:, :2], layer(short, short, short))
    none = rg.zeros(3, 3, dtype=rg.float64)
    rg.testing.assert_close(layer(x, x, x, unseen, none), layer(x, x, x, unseen))


def test_rotated_queries_and_keys_see_the_distance_of_their_positions():
    q, k = rg.randn(2, 1, 4, dtype=C).unbind(0)
    here = CF.rotary_embedding(q, start=7) @ CF.rotary_embedding(k, start=5).mH
    there = CF.rotary_embedding(q, start=3) @ CF.rotary_embedding(k, start=1).mH
    rg.testing.assert_close(here, there)


def test_attention_names_what_it_does_not_know():
    x = rg.ones(1, 2, 2, dtype=rg.complex64)
    with pytest.raises(ValueError, match="scores must be"):
        CF.scaled_dot_product_attention(x, x, x, scores="angle")
    with pytest.raises(RuntimeError, match="explicit attn_mask should not be set"):
        CF.scaled_dot_product_attention(x, x, x, rg.ones(2, 2) > 0, is_causal=True)
    with pytest.raises(ValueError, match="must be divisible by num_heads"):
        cnn.MultiheadAttention(3, 2)


def test_spectral_pooling_keeps_low_waves_and_drops_high_ones():
    t = rg.arange(8, dtype=rg.float64) / 8
    low, high = (rg.polar(rg.ones_like(t), 2 * math.pi * f * t) for f in (1, 3))
    out = cnn.SpectralPool((4,))((low + high)[None, None])
    rg.testing.assert_close(out[0, 0], low[::2])
    with pytest.raises(ValueError, match="larger than the input"):
        cnn.SpectralPool((9,))(low[None, None])


def test_dropout_hits_both_parts_at_once():
    out = cnn.Dropout(0.5)(rg.full((1000,), 1 + 2j))
    assert set(out.tolist()) == {0, 2 + 4j}


def test_activations_are_zero_at_zero_with_finite_gradients():
    for make in (cnn.CReLU, cnn.Cardioid, cnn.Siglog, cnn.PolarTanh, cnn.ModReLU, cnn.ZReLU):
        z = rg.zeros(2, dtype=rg.complex64, requires_grad=True)
        out = make()(z)
        out.abs().sum().backward()
        assert not out.any()
        assert z.grad.isfinite().all()


# -- diagnostics -----------------------------------------------------------------------------------


def test_the_quotient_of_a_line_is_its_doubled_angle():
    z = rg.randn(20, 1, dtype=rg.float64) * complex(math.cos(0.4), math.sin(0.4))
    quotient = cnn.circularity_quotient(z).item()
    assert quotient == pytest.approx(complex(math.cos(0.8), math.sin(0.8)), rel=1e-12)


def test_circularity_coefficients_do_not_change_under_linear_maps():
    z = rg.randn(50, 3, dtype=C)
    z = z + z.conj() * rg.tensor([0.1, 0.4, 0.8])
    mixed = z @ rg.randn(3, 3, dtype=C)
    rg.testing.assert_close(
        cnn.circularity_coefficients(mixed), cnn.circularity_coefficients(z), rtol=1e-8, atol=1e-10
    )


def test_the_test_of_circularity_compares_determinants():
    z = rg.randn(50, 3, dtype=C) @ rg.randn(3, 3, dtype=C)
    z = z + 0.3 * z.conj()
    moved = (z - z.mean(0)).numpy()
    both = np.linalg.slogdet(np.cov(np.hstack([moved, moved.conj()]).T))[1]
    apart = np.linalg.slogdet(np.cov(moved.T))[1]
    expected = -50 * (both - 2 * apart)
    statistic, p_value = cnn.circularity_test(z)
    assert statistic.item() == pytest.approx(expected, rel=1e-9)
    assert p_value.item() == pytest.approx(scipy.special.chdtrc(12, expected), rel=1e-7)


def test_shares_of_circular_samples_are_uniform():
    made = [cnn.circularity_test(rg.randn(400, 2, dtype=C)).p_value.item() for _ in range(300)]
    away = np.abs(np.sort(made) - (np.arange(300) + 0.5) / 300)
    assert away.max() < 0.075  # Kolmogorov's bound for 300 samples at 5 % is 0.078


def test_samples_that_are_none_raise():
    with pytest.raises(ValueError, match=r"expected samples of shape \(N, features\)"):
        cnn.covariance(rg.ones(3, dtype=rg.complex64))
    with pytest.raises(ValueError, match="expected a complex tensor"):
        cnn.pseudo_covariance(rg.ones(3, 2))


# -- casts and states ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: cnn.BatchNorm1d(3),
        lambda: cnn.MagnitudeBatchNorm(3),
        lambda: cnn.ModReLU(3),
        lambda: cnn.GTReLU(3),
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_a_cast_to_a_complex_dtype_changes_no_result(make, training):
    z, layer = rg.randn(6, 3, dtype=C), make().train(training)
    with rg.no_grad():
        for param in layer.parameters():
            param.add_(0.1)
    wide = make().to(C).train(training)
    wide.load_state_dict(layer.state_dict())
    expected = layer(z.to(rg.complex64))
    rg.testing.assert_close(wide(z).to(rg.complex64), expected, rtol=1e-4, atol=1e-5)
    for name, value in layer.state_dict().items():
        both = [each.real.to(rg.float64) for each in (wide.state_dict()[name], value)]
        rg.testing.assert_close(*both, atol=1e-5, rtol=0)


def test_the_unitary_network_runs_after_a_cast():
    layer, z = cnn.UnitaryRNN(2, 3), rg.randn(4, 1, 2, dtype=rg.complex64)
    expected = layer(z)[1]
    found = layer.to(C)(z.to(C))[1]
    rg.testing.assert_close(found.to(rg.complex64), expected, rtol=1e-4, atol=1e-5)


def test_a_network_learns_a_phase_shift_that_depends_on_the_amplitude():
    z = rg.randn(64, 2, dtype=rg.complex64)
    target = z * rg.polar(rg.ones(64, 2), z.abs())
    net = nn.Sequential(cnn.Linear(2, 16), cnn.ModReLU(16), cnn.Linear(16, 2))
    optimizer = rg.optim.Adam(net.parameters(), lr=0.02, complex="modulus")
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = cnn.MSELoss()(net(z), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
