"""Fourier transforms: half spectra, dtypes, errors. Values: `tests/nn/test_functional.py`."""

import importlib
import types

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.kernels import fourier


def leaf(shape, dtype=rg.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.is_complex else 0)
    return rg.tensor(values, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
@pytest.mark.parametrize("n", [4, 5])
def test_real_transforms_invert_each_other(n, norm):
    x = leaf((2, n))
    back = rg.fft.irfft(rg.fft.rfft(x, norm=norm), n=n, norm=norm)
    np.testing.assert_allclose(back.detach().numpy(), x.detach().numpy(), rtol=0, atol=1e-14)
    (g,) = grad(back.sum(), x)
    np.testing.assert_allclose(g.numpy(), np.ones((2, n)), rtol=0, atol=1e-14)


def test_ortho_transform_keeps_the_energy_and_its_gradient():
    x = leaf((3, 4), rg.complex128)
    energy = (rg.fft.fft2(x, norm="ortho").abs() ** 2).sum()
    (g,) = grad(energy, x)
    np.testing.assert_allclose(g.numpy(), 2 * x.detach().numpy(), rtol=1e-13)


@pytest.mark.parametrize("n", [4, 5])
def test_imaginary_parts_that_irfft_ignores_get_gradient_zero(n):
    y = leaf((n // 2 + 1,), rg.complex128)
    (g,) = grad((rg.fft.irfft(y, n=n) ** 2).sum(), y)
    assert g[0].imag.item() == 0
    assert (g[-1].imag.item() == 0) == (n % 2 == 0)


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "irfftn"]
)
def test_single_precision_is_kept(name):
    transform = getattr(rg.fft, name)
    kind = rg.float32 if name in ("irfft", "hfft", "irfftn") else rg.complex64
    assert transform(rg.ones(4)).dtype is kind
    if name not in ("rfft", "ihfft"):
        assert transform(rg.ones(4, dtype=rg.complex64)).dtype is kind


def test_integers_become_the_default_dtype():
    for values, expected in (([3, 2], [5, 1]), ([True, False], [1, 1])):
        for transform in (rg.fft.fft, rg.fft.rfft):
            found = transform(rg.tensor(values))
            assert (found.dtype, found.tolist()) == (rg.complex64, expected)


def test_transforms_save_nothing_but_sizes():
    x = leaf((4,))
    assert rg.fft.fft(x).grad_fn.saved == ()
    assert rg.fft.rfft(x).grad_fn.saved == ()
    assert rg.fft.irfft(x).grad_fn.saved == ()


def test_node_names_are_those_of_pytorch():
    x, z = leaf((4,)), leaf((4,), rg.complex128)
    assert rg.fft.fft(z).grad_fn.name() == "FftC2CBackward0"
    assert rg.fft.rfft(x).grad_fn.name() == "FftR2CBackward0"
    assert rg.fft.irfft(z).grad_fn.name() == "FftC2RBackward0"


def test_no_dims_give_the_complex_input():
    out = rg.fft.fftn(rg.tensor(2.0))
    assert (out.dtype, out.item()) == (rg.complex64, 2)


def test_empty_batches_pass():
    x = rg.zeros(0, 4, requires_grad=True)
    out = rg.fft.rfft(x)
    assert out.shape == (0, 3)
    out.backward(rg.zeros(0, 3, dtype=rg.complex64))
    assert x.grad.shape == (0, 4)


def test_out_receives_the_result():
    out = rg.empty(4, dtype=rg.complex64)
    assert rg.fft.fft(rg.tensor([1.0, 0.0, 0.0, 0.0]), out=out) is out
    assert out.real.tolist() == [1, 1, 1, 1]
    freqs = rg.empty(3)
    assert rg.fft.rfftfreq(4, out=freqs) is freqs
    assert freqs.tolist() == [0.0, 0.25, 0.5]


def test_out_refuses_inputs_that_require_grad():
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.fft.fft(leaf((4,)), out=rg.empty(4, dtype=rg.complex128))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: rg.fft.fft(x, n=0), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda x: rg.fft.fft(x, n=-1), RuntimeError, r"Invalid number of data points \(-1\)"),
        (lambda x: rg.fft.irfft(x[:, :1]), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda x: rg.fft.fft(x, dim=5), IndexError, r"expected to be in range of \[-2, 1\]"),
        (lambda x: rg.fft.fft(x.sum()), IndexError, "tensor has no dimensions"),
        (lambda x: rg.fft.fft(x, norm="bad"), RuntimeError, 'Invalid normalization mode: "bad"'),
        (
            lambda x: rg.fft.rfft(x + 0j),
            RuntimeError,
            "rfft expects a real input tensor, but got C",
        ),
        (lambda x: rg.fft.fftn(x, dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
        (lambda x: rg.fft.fftn(x, s=(2, 2, 2)), RuntimeError, "Got shape with 3 values"),
        (lambda x: rg.fft.fftn(x, s=(2, 2), dim=(0,)), RuntimeError, "must have the same length"),
        (lambda x: rg.fft.rfftn(x, dim=()), RuntimeError, "must transform at least one axis"),
        (lambda x: rg.fft.fft(x.half()), RuntimeError, "Unsupported dtype Half"),
        (lambda x: rg.fft.irfft(x.bfloat16()), RuntimeError, "Unsupported dtype BFloat16"),
        (lambda x: rg.fft.fft([1.0]), TypeError, "must be Tensor, not list"),
        (lambda x: rg.fft.fftfreq(-1), RuntimeError, "negative dimension"),
        (lambda x: rg.fft.fftshift(x, 2), IndexError, "Dimension out of range"),
    ],
)
def test_bad_arguments_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call(rg.ones(3, 4))


def test_the_module_can_be_imported_by_its_name():
    assert importlib.import_module("retrograd.fft").fft is rg.fft.fft


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft", "ihfft"])
def test_single_precision_is_that_of_double_rounded(name, norm):
    x = np.random.default_rng(0).standard_normal((6, 7, 9))
    kind = x + 1j * x[::-1] if name in ("fft2", "ifft2", "irfft2", "hfft") else x
    wide = getattr(rg.fft, name)(rg.tensor(kind), norm=norm).numpy()
    single = rg.tensor(kind.astype("F" if kind.dtype.kind == "c" else "f"))
    found = getattr(rg.fft, name)(single, norm=norm).numpy()
    scale = np.abs(wide).max()
    np.testing.assert_allclose(found, wide, rtol=0, atol=3e-7 * scale)


@pytest.mark.skipif(fourier.loops is None, reason="NumPy keeps its loops elsewhere")
@pytest.mark.parametrize("norm", ["backward", "forward"])
def test_single_precision_is_not_computed_in_double(norm, monkeypatch):
    """NumPy's functions do, where they need not scale."""
    taken = []

    def noted(x, factor, **options):
        taken.append((x.dtype, factor.dtype))
        return x.astype(np.complex64)

    names = dict.fromkeys(("fft", "ifft"), noted)
    monkeypatch.setattr(fourier, "loops", types.SimpleNamespace(**names))
    monkeypatch.setattr(fourier.native, "loops", None)
    x = rg.ones(4, dtype=rg.complex64)
    (rg.fft.fft if norm == "backward" else rg.fft.ifft)(x, norm=norm)
    assert taken == [(np.complex64, np.float32)]


@pytest.mark.parametrize("name", ["fft2", "rfftn", "ihfft2", "hfftn"])
def test_dims_and_sizes_may_be_whatever_stands_for_an_integer(name):
    transform, x = getattr(rg.fft, name), rg.ones(2, 3)
    expected = transform(x, dim=(0,))
    for dim in (0, np.int64(0), rg.tensor(0)):
        assert (transform(x, dim=dim) == expected).all()
    assert (transform(x, s=(2, True)) == transform(x, s=(2, 1))).all()
    with pytest.raises(TypeError, match=f"fft_{name}.*argument 's' must be tuple of ints"):
        transform(x, s=(2.0, 2))
