"""Windows and short-time transforms: PyTorch's values and gradients, inverses, complex, errors."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg

DATA = Path(__file__).parents[2] / "data"
spec = importlib.util.spec_from_file_location("signal_calls", DATA / "make_signal.py")
signal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(signal)
RESULTS = json.loads((DATA / "signal.json").read_text())
CALLS = signal.calls()
windows = rg.signal.windows


def test_every_call_has_a_result():
    assert list(CALLS) == list(RESULTS)


@pytest.mark.parametrize("name", CALLS)
def test_windows_and_transforms_are_those_of_pytorch(name):
    found, expected = signal.run(rg, CALLS[name]), RESULTS[name]
    assert found.get("shape") == expected.get("shape")
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-10, atol=1e-12)
    for one, other in zip(found.get("first", []), expected.get("first", []), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# -- windows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", windows.__all__)
def test_windows_have_their_length_dtype_and_no_history(name):
    function, needed = getattr(windows, name), {"a": [0.5, 0.5]} if name == "general_cosine" else {}
    for count in (0, 1, 5):
        made = function(count, dtype=rg.float64, **needed)
        assert (made.shape, made.dtype) == ((count,), rg.float64)
    assert function(4, **needed).dtype is rg.float32
    assert function(4, requires_grad=True, **needed).is_leaf
    assert function(4, requires_grad=True, **needed).requires_grad
    symmetric = function(6, dtype=rg.float64, **needed)
    np.testing.assert_allclose(symmetric.numpy(), symmetric.numpy()[::-1], atol=1e-15)
    longer = function(7, dtype=rg.float64, **needed)
    periodic = function(6, sym=False, dtype=rg.float64, **needed)
    np.testing.assert_allclose(periodic.numpy(), longer.numpy()[:6], atol=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: windows.hann(-1), ValueError, "non-negative window length, got M=-1"),
        (lambda: windows.hann(3.5), TypeError, "'M' must be int, not float"),
        (lambda: windows.hann(3, dtype=rg.int64), ValueError, "float32 or float64 dtypes, got"),
        (lambda: windows.gaussian(4, std=0), ValueError, "deviation must be positive, got: 0"),
        (lambda: windows.exponential(4, tau=0), ValueError, "Tau must be positive, got: 0"),
        (lambda: windows.exponential(4, center=1.0), ValueError, "Center must be None for sym"),
        (lambda: windows.kaiser(4, beta=-1), ValueError, "beta must be non-negative, got: -1"),
        (lambda: windows.general_cosine(4, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: windows.general_cosine(4, a=3), TypeError, "Coefficients must be a list/tuple"),
        (lambda: rg.hann_window(-1), RuntimeError, "got window_length=-1"),
        (lambda: rg.hann_window(2.0), TypeError, "must be int, not float"),
        (lambda: rg.hann_window(3, 0.5), TypeError, r"'periodic' \(position 2\) must be bool"),
        (lambda: rg.kaiser_window(3, 1), TypeError, "must be bool, not int"),
        (lambda: rg.hann_window(3, dtype=rg.int64), RuntimeError, "expects floating point dtypes"),
    ],
)
def test_windows_that_cannot_be_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_older_windows_are_periodic_and_of_any_real_dtype():
    assert rg.hann_window(4, dtype=rg.float16).tolist() == [0.0, 0.5, 1.0, 0.5]
    out = rg.empty(4)
    assert rg.bartlett_window(4, out=out) is out
    assert out.tolist() == [0.0, 0.5, 1.0, 0.5]


# -- transforms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
@pytest.mark.parametrize("normalized", [False, True])
def test_istft_inverts_stft_and_its_gradient_is_ones(dtype, normalized):
    x = rg.arange(20, dtype=rg.float64).sin().to(dtype).reshape(2, 10).requires_grad_(True)
    window = rg.hann_window(6, dtype=rg.float64)
    keywords = {"n_fft": 6, "hop_length": 2, "window": window, "normalized": normalized}
    bins = rg.stft(x, return_complex=True, **keywords)
    back = rg.istft(bins, length=10, return_complex=dtype.is_complex, **keywords)
    np.testing.assert_allclose(back.detach().numpy(), x.detach().numpy(), atol=1e-14)
    back.backward(rg.ones_like(back))
    np.testing.assert_allclose(x.grad.numpy(), np.ones((2, 10)), atol=1e-14)


def test_transforms_pass_gradcheck_to_second_order():
    x = rg.randn(9, dtype=rg.float64, requires_grad=True)
    window = (rg.rand(3, dtype=rg.float64) + 0.5).requires_grad_(True)

    def there(x, window):
        return rg.stft(x, 4, win_length=3, window=window, return_complex=True)

    bins = there(x, window).detach().requires_grad_(True)

    def back(bins, window):
        return rg.istft(bins, 4, win_length=3, window=window)

    assert rg.autograd.gradcheck(there, (x, window))
    assert rg.autograd.gradgradcheck(there, (x, window))
    assert rg.autograd.gradcheck(back, (bins, window))
    assert rg.autograd.gradgradcheck(back, (bins, window))


def test_complex_windows_give_all_bins():
    x, window = rg.randn(8, dtype=rg.float64), rg.ones(4, dtype=rg.complex128) * 1j
    assert rg.stft(x, 4, window=window).shape == (4, 9)
    np.testing.assert_allclose(
        rg.stft(x, 4, window=window).numpy(),
        1j * rg.stft(x, 4, onesided=False, return_complex=True).numpy(),
        atol=1e-14,
    )


def test_pairs_of_reals_are_the_old_form():
    x = rg.randn(8)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        pairs = rg.stft(x, 4, return_complex=False)
    assert pairs.tolist() == rg.view_as_real(x.stft(4, return_complex=True)).tolist()


def test_a_longer_signal_than_there_are_frames_ends_with_zeros():
    bins = rg.stft(rg.ones(8), 4, return_complex=True)
    with pytest.warns(UserWarning, match="padded with zeros in the tail"):
        back = bins.istft(4, length=15)
    assert back.tolist() == pytest.approx([1.0] * 10 + [0.0] * 5)


X, BINS = rg.ones(16), rg.ones(3, 4) + 0j


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rg.stft(X, 4), "requires the return_complex parameter be given for real inputs"),
        (lambda: rg.stft(X.long(), 4, return_complex=True), "floating point or complex values"),
        (lambda: rg.stft(rg.ones(1, 1, 9), 4, return_complex=True), "expected a 1D or 2D tensor"),
        (lambda: rg.stft(X, 40, center=False, return_complex=True), "expected 0 < n_fft < 16"),
        (lambda: rg.stft(X, 4, 0, return_complex=True), "expected hop_length > 0, but got"),
        (lambda: rg.stft(X, 4, win_length=5, return_complex=True), "0 < win_length <= n_fft"),
        (lambda: rg.stft(X, 4, window=rg.ones(3), return_complex=True), "expected a 1D window"),
        (lambda: rg.stft(X + 0j, 4, onesided=True), "Cannot have onesided output if window or"),
        (lambda: rg.stft(X, 40, return_complex=True), "Padding size should be less than"),
        (
            lambda: rg.stft(X, 4, align_to_window=True, return_complex=True),
            "align_to_window should only be set when center = false",
        ),
        (lambda: rg.istft(X, 4), "requires a complex-valued input tensor matching the output"),
        (lambda: rg.istft(BINS, 4, onesided=False), "to match n_fft when onesided=False, but got"),
        (lambda: rg.istft(BINS, 9, onesided=True), "to match n_fft / 2 \\+ 1 when onesided=True"),
        (lambda: rg.istft(BINS, 4, hop_length=5), "expected 0 < hop_length <= win_length"),
        (lambda: rg.istft(BINS, 4, 1, win_length=5), "expected 0 < win_length <= n_fft"),
        (lambda: rg.istft(BINS, 4, window=rg.ones(3)), "Invalid window shape"),
        (lambda: rg.istft(BINS, 4, window=rg.zeros(4)), "window overlap add min: 0"),
        (lambda: rg.istft(BINS[:, :0], 4), "input tensor cannot be empty"),
        (lambda: rg.istft(BINS, 4, return_complex=True), "Cannot have onesided output"),
        (lambda: rg.istft(BINS, 4, window=rg.ones(4) + 0j), "Complex windows are incompatible"),
        (lambda: rg.istft(BINS[None, None], 4), "expected a tensor with 3 or 4 dimensions"),
    ],
)
def test_transforms_that_cannot_be_raise(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_a_window_of_booleans_is_one_of_ones():
    x = rg.arange(12.0)
    bins = rg.stft(x, 4, window=rg.ones(4), return_complex=True)
    same = rg.istft(bins, 4, window=rg.ones(4).bool(), length=12)
    rg.testing.assert_close(same, x, rtol=1e-6, atol=1e-5)
