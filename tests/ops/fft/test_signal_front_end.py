"""Short-time transforms with every window, analytic signals, resampling, clipping by modulus."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import retrograd as rg

windows = rg.signal.windows
C = rg.complex128


def drawn(*shape, complex=False, seed=0):
    draw = np.random.default_rng(seed)
    values = draw.normal(size=shape)
    return rg.tensor(values + 1j * draw.normal(size=shape) if complex else values)


def window(name, size):
    more = {"general_cosine": {"a": [0.6, 0.4]}, "gaussian": {"std": 3.0}}.get(name, {})
    return getattr(windows, name)(size, sym=False, dtype=rg.float64, **more)


def inner(a, b):
    return (a.conj() * b).real.sum().item()


@pytest.mark.parametrize("name", windows.__all__)
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("normalized", [False, True])
def test_istft_inverts_stft_with_every_window(name, complex, normalized):
    x = drawn(2, 37, complex=complex)
    options = {"hop_length": 2, "window": window(name, 8), "normalized": normalized}
    bins = rg.stft(x, 8, return_complex=True, **options)
    found = rg.istft(bins, 8, length=37, return_complex=complex, **options)
    rg.testing.assert_close(found, x, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", windows.__all__)
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("center", [False, True])
def test_gradients_of_stft_and_istft_are_their_exact_adjoints(name, complex, center):
    x = drawn(26, complex=complex).requires_grad_()
    options = {"hop_length": 2, "window": window(name, 8) + 0.1, "center": center}

    def forward(x):
        return rg.stft(x, 8, return_complex=True, **options)

    def backward(bins):
        return rg.istft(bins, 8, return_complex=complex, **options)

    bins = forward(x)
    other = drawn(*bins.shape, complex=True, seed=1).requires_grad_()
    (g,) = rg.autograd.grad(bins, x, other.detach())
    assert inner(g, x) == pytest.approx(inner(other, bins), rel=1e-13)
    signal = backward(other)
    weight = drawn(*signal.shape, complex=complex, seed=2)
    (g,) = rg.autograd.grad(signal, other, weight)
    assert inner(g, other) == pytest.approx(inner(weight, signal), rel=1e-13)


@pytest.mark.parametrize("size", [1, 2, 7, 8])
@pytest.mark.parametrize("N", [None, 5, 12])
def test_the_analytic_signal_is_that_of_scipy(size, N):
    x = drawn(3, size)
    found = rg.signal.hilbert(x, N).numpy()
    np.testing.assert_allclose(found, scipy.signal.hilbert(x.numpy(), N), rtol=0, atol=1e-14)
    np.testing.assert_allclose(rg.signal.hilbert(x.mT, N, 0).numpy(), found.T, rtol=0, atol=1e-14)


def test_the_envelope_of_a_modulated_wave_is_its_modulation():
    t = rg.arange(256, dtype=rg.float64) / 256
    slow = 1 + 0.5 * (2 * np.pi * 3 * t).cos()
    found = rg.signal.hilbert(slow * (2 * np.pi * 40 * t).cos())
    rg.testing.assert_close(found.abs(), slow, rtol=1e-12, atol=0)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("size", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("num", [1, 2, 3, 4, 5, 6, 7, 12])
def test_resampling_is_that_of_scipy(complex, size, num):
    x = drawn(2, size, complex=complex)
    found = rg.signal.resample(x, num)
    assert found.dtype is x.dtype
    expected = scipy.signal.resample(x.numpy(), num, axis=1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rg.signal.resample(x.mT, num, 0).numpy().T, expected, atol=1e-14)


def test_a_wave_below_the_highest_frequency_is_kept_at_any_sampling():
    def wave(count):
        t = rg.arange(count, dtype=rg.float64) / count
        return rg.exp(2j * np.pi * 3 * t) + 0.3 * rg.exp(-2j * np.pi * 2 * t)

    for count in (7, 16, 33):
        rg.testing.assert_close(rg.signal.resample(wave(9), count), wave(count))


def test_derivatives_of_analytic_signals_and_resampling():
    x, z = drawn(2, 6).requires_grad_(), drawn(5, complex=True).requires_grad_()
    for function, given in (
        (rg.signal.hilbert, x),
        (lambda x: rg.signal.hilbert(x).abs(), x),
        (lambda z: rg.signal.resample(z, 8), z),
        (lambda x: rg.signal.resample(x, 4), x),
    ):
        assert rg.autograd.gradcheck(function, given, check_forward_ad=True)
        assert rg.autograd.gradgradcheck(function, given)


def test_single_precision_is_kept():
    assert rg.signal.hilbert(rg.ones(4)).dtype is rg.complex64
    assert rg.signal.resample(rg.ones(4), 6).dtype is rg.float32


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rg.signal.hilbert(rg.ones(3, dtype=C)), "expected a real signal"),
        (lambda: rg.signal.hilbert(rg.ones(3), 0), "N must be positive, got 0"),
        (lambda: rg.signal.resample(rg.ones(3), 0), "num must be positive, got 0"),
    ],
)
def test_what_is_no_signal_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


# -- clipping ------------------------------------------------------------------------------------


def test_complex_gradients_are_clipped_by_modulus():
    w = rg.ones(3, dtype=C, requires_grad=True)
    w.grad = rg.tensor([3 + 4j, 0.3j, 0j], dtype=C)
    rg.nn.utils.clip_grad_value_(w, 2.0, by="modulus")
    assert w.grad.tolist() == pytest.approx([1.2 + 1.6j, 0.3j, 0j], rel=1e-15)
    assert rg.nn.utils.clip_grad_norm_(w, 0.5).item() == pytest.approx(4.09**0.5)
    assert w.grad.norm().item() == pytest.approx(0.5, rel=1e-5)


def test_complex_gradients_are_clipped_in_their_parts():
    w = rg.ones(2, dtype=C, requires_grad=True)
    w.grad = rg.tensor([3 - 4j, 0.3j], dtype=C)
    rg.nn.utils.clip_grad_value_([w], 2.0, by="parts")
    assert w.grad.tolist() == [2 - 2j, 0.3j]


def test_clipping_complex_gradients_by_value_asks_what_is_meant():
    w = rg.ones(1, dtype=C, requires_grad=True)
    w.grad = rg.ones(1, dtype=C)
    with pytest.raises(RuntimeError, match='by="modulus"'):
        rg.nn.utils.clip_grad_value_(w, 2.0)
    with pytest.raises(ValueError, match="by must be 'modulus' or 'parts'"):
        rg.nn.utils.clip_grad_value_(w, 2.0, by="size")
