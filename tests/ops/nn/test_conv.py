"""Convolutions against their definition, written as a loop over the output."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.ops.arrays import leaf, values

import retrograd as rg
from retrograd.autograd import grad
from retrograd.engine.tensor import new_tensor
from retrograd.kernels import convolution
from retrograd.ops.nn.im2col import fold, unfold

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
CONV = {1: rg.conv1d, 2: rg.conv2d, 3: rg.conv3d}
TRANSPOSED = {1: rg.conv_transpose1d, 2: rg.conv_transpose2d, 3: rg.conv_transpose3d}


def pairs(value, dims):
    return (value,) * dims if isinstance(value, int) else value


def by_definition(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    dims = w.ndim - 2
    stride, padding, dilation = (pairs(v, dims) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    kernel = w.shape[2:]
    size = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for o, place in itertools.product(range(w.shape[0]), np.ndindex(*size)):
        window = tuple(
            slice(i * s, i * s + d * (k - 1) + 1, d)
            for i, s, d, k in zip(place, stride, dilation, kernel, strict=True)
        )
        first = o // per_out * per_in
        part = x[(slice(None), slice(first, first + per_in), *window)]
        out[(slice(None), o, *place)] = (part * w[o]).sum(tuple(range(1, x.ndim)))
    return out if b is None else out + b.reshape(-1, *[1] * dims)


CASES = [
    ((2, 4, 9), (6, 4, 3), {}),
    ((2, 4, 9), (6, 2, 3), {"groups": 2, "stride": 2, "padding": 1, "dilation": 2}),
    ((2, 3, 6, 5), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 6, 5), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    ((2, 4, 6, 5), (8, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 3, 4, 4), (5, 3, 1, 1), {}),
    ((2, 4, 4, 4), (6, 2, 1, 1), {"groups": 2}),
    ((2, 3, 4, 4), (5, 3, 1, 1), {"stride": 2}),
    ((2, 3, 4, 4), (5, 3, 1, 1), {"padding": 1}),
    ((2, 3, 7, 7), (4, 3, 3, 3), {"stride": 3}),
    ((0, 3, 5, 5), (4, 3, 2, 2), {}),
    ((2, 2, 3, 4, 4), (3, 2, 2, 2, 2), {"padding": 1, "stride": (1, 2, 1)}),
]


@pytest.fixture(params=[1, 1 << 21], ids=["an image at a time", "all at once"])
def _block(request, monkeypatch):
    monkeypatch.setattr(convolution, "BLOCK", request.param)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("x", "w", "options"), CASES)
def test_convolution_agrees_with_its_definition(x, w, options, complex):
    x, w = values(*x, complex=complex), values(*w, complex=complex, seed=1)
    b = values(w.shape[0], complex=complex, seed=2)
    out = CONV[w.ndim - 2](*map(new_tensor, (x, w, b)), **options)
    np.testing.assert_allclose(out._array, by_definition(x, w, b, **options), **CLOSE)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("x", "w", "options"), CASES)
def test_gradients_are_the_adjoints_of_the_definition(x, w, options, complex):
    x, w = values(*x, complex=complex), values(*w, complex=complex, seed=1)
    leaves = [leaf(x), leaf(w), leaf(values(w.shape[0], complex=complex))]
    out = CONV[w.ndim - 2](*leaves, **options)
    g = values(*out.shape, complex=complex, seed=3)
    dx, dw, db = (t._array for t in grad(out, leaves, new_tensor(g)))
    u, v = values(*x.shape, complex=complex, seed=4), values(*w.shape, complex=complex, seed=5)
    pushed = np.sum((g.conj() * by_definition(u, w, **options)).real)
    assert np.sum((dx.conj() * u).real) == pytest.approx(pushed, rel=1e-11, abs=1e-11)
    pushed = np.sum((g.conj() * by_definition(x, v, **options)).real)
    assert np.sum((dw.conj() * v).real) == pytest.approx(pushed, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(db, g.sum((0, *range(2, g.ndim))), **CLOSE)


TRANSPOSES = [
    ((2, 4, 5), (4, 3, 3), {}),
    ((2, 4, 3, 4), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((2, 4, 3, 4), (4, 2, 2, 2), {"stride": 2, "output_padding": 1, "groups": 2}),
    ((2, 4, 3, 4), (4, 1, 3, 3), {"groups": 4, "dilation": 2, "output_padding": 1}),
    ((1, 2, 2, 3, 2), (2, 3, 2, 2, 2), {"stride": 2, "padding": 1, "output_padding": (1, 0, 1)}),
]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("x", "w", "options"), TRANSPOSES)
def test_transposed_convolution_is_the_transpose_of_convolution(x, w, options, complex):
    x, w = values(*x, complex=complex), values(*w, complex=complex, seed=1)
    dims = w.ndim - 2
    out = TRANSPOSED[dims](new_tensor(x), new_tensor(w), **options)
    y = values(*out.shape, complex=complex, seed=2)
    forward = {k: v for k, v in options.items() if k != "output_padding"}
    seen = by_definition(y, w, **forward)[(..., *[slice(n) for n in x.shape[2:]])]
    assert np.sum(out._array * y) == pytest.approx(np.sum(x * seen), rel=1e-11)


def test_transposed_convolution_adds_the_bias():
    out = rg.conv_transpose1d(rg.ones(1, 1, 2), rg.zeros(1, 2, 2), rg.tensor([1.0, 2.0]))
    assert out.tolist() == [[[1.0] * 3, [2.0] * 3]]


def test_same_padding_keeps_the_size_and_pads_more_behind():
    x, w = values(1, 1, 5), values(1, 1, 4)
    out = rg.conv1d(new_tensor(x), new_tensor(w), padding="same")
    expected = by_definition(np.pad(x, [(0, 0), (0, 0), (1, 2)]), w)
    np.testing.assert_allclose(out._array, expected, **CLOSE)
    assert out.shape == (1, 1, 5)


def test_valid_padding_is_none():
    x, w = new_tensor(values(1, 1, 5)), new_tensor(values(1, 1, 4))
    assert rg.conv1d(x, w, padding="valid").tolist() == rg.conv1d(x, w).tolist()


def test_input_without_batch_gives_output_without_batch():
    x, w = values(3, 5, 5), values(4, 3, 2, 2)
    out = rg.conv2d(new_tensor(x), new_tensor(w))
    np.testing.assert_allclose(out._array, by_definition(x[None], w)[0], **CLOSE)
    assert rg.conv_transpose2d(rg.ones(4, 3, 3), rg.ones(4, 2, 2, 2)).shape == (2, 4, 4)


def test_single_precision_is_kept():
    x = leaf(values(1, 1, 4, 4).astype(np.float32))
    w = leaf(values(1, 1, 3, 3).astype(np.float32))
    out = rg.conv2d(x, w, padding=1)
    assert out.dtype is rg.float32
    assert [g.dtype for g in grad(out.sum(), (x, w))] == [rg.float32, rg.float32]


def test_frozen_weight_saves_no_input():
    x, w = leaf(values(1, 1, 4)), new_tensor(values(1, 1, 2))
    node = rg.conv1d(x, w).grad_fn
    assert node.name() == "ConvolutionBackward0"
    assert node._saved_input is None
    assert node._saved_weight is w


IMAGE, KERNEL = (1, 3, 8, 8), (4, 3, 3, 3)
ERRORS = [
    (
        lambda: rg.conv2d(rg.ones(1, 2, 8, 8), rg.ones(KERNEL)),
        "Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 2, 8, 8] to have 3 "
        "channels, but got 2 channels instead",
    ),
    (
        lambda: rg.conv2d(rg.ones(8, 8), rg.ones(KERNEL)),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 8]",
    ),
    (
        lambda: rg.conv2d(rg.ones(1, 3, 2, 8), rg.ones(KERNEL)),
        "Calculated padded input size per channel: (2 x 8). Kernel size: (3 x 3). Kernel size "
        "can't be greater than actual input size",
    ),
    (
        lambda: rg.conv2d(rg.ones(1, 4, 8, 8), rg.ones(3, 2, 3, 3), groups=2),
        "expected weight to be divisible by 2 at dimension 0",
    ),
    (lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), groups=0), "non-positive groups"),
    (lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), stride=0), "non-positive stride"),
    (lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), padding=-1), "negative padding"),
    (lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), dilation=0), "dilation should be greater"),
    (
        lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), stride=(1, 2, 3)),
        "expected stride to be a single integer value or a list of 2 values",
    ),
    (
        lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), padding="same", stride=2),
        "padding='same' is not supported for strided convolutions",
    ),
    (lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), padding="foo"), "Invalid padding string"),
    (
        lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL), rg.ones(5)),
        "expected bias to be 1-dimensional with 4 elements, but got bias of size [5] instead",
    ),
    (
        lambda: rg.conv2d(rg.ones(IMAGE), rg.ones(KERNEL, dtype=rg.float64)),
        "expected scalar type Float but found Double",
    ),
    (
        lambda: rg.conv_transpose2d(rg.ones(1, 3, 8, 8), rg.ones(KERNEL)),
        "Given transposed=1, weight of size [4, 3, 3, 3], expected input[1, 3, 8, 8] to have 4 "
        "channels, but got 3 channels instead",
    ),
    (
        lambda: rg.conv_transpose2d(rg.ones(1, 4, 8, 8), rg.ones(KERNEL), output_padding=1),
        "output padding must be smaller than either stride or dilation",
    ),
    (
        lambda: rg.conv_transpose2d(rg.ones(1, 4, 1, 1), rg.ones(4, 3, 1, 1), padding=1),
        "Output size is too small",
    ),
    (lambda: unfold(rg.ones(1, 3, 2, 2), 3), "its components must be at least one"),
    (lambda: fold(rg.ones(1, 26, 36), (8, 8), 3), "divisible by the product of kernel_size"),
    (lambda: fold(rg.ones(1, 27, 35), (8, 8), 3), "number of sliding blocks 6 * 6 = 36"),
]


@pytest.mark.parametrize(("call", "phrase"), ERRORS, ids=[phrase[:40] for _, phrase in ERRORS])
def test_arguments_that_do_not_fit_raise_with_sizes(call, phrase):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert phrase in str(caught.value)


def test_convolution_of_a_list_raises_type_error():
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        rg.conv2d([1.0], rg.ones(1, 1, 1, 1))


@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (3, 5, 6)])
def test_convolution_is_a_product_with_unfolded_windows(shape):
    x, w = values(*shape), values(4, 3, 2, 3)
    options = {"stride": 2, "padding": 1, "dilation": (1, 2)}
    columns = unfold(new_tensor(x), (2, 3), **options)._array
    out = rg.conv2d(new_tensor(x), new_tensor(w), **options)._array
    flat = out.reshape(*out.shape[:-2], -1)
    np.testing.assert_allclose(w.reshape(4, -1) @ columns, flat, **CLOSE)


def test_fold_of_unfold_multiplies_by_the_number_of_windows():
    x = values(2, 3, 4, 5)
    counted = fold(unfold(rg.ones(1, 1, 4, 5), 2), (4, 5), 2)._array
    again = fold(unfold(new_tensor(x), 2), (4, 5), 2)._array
    np.testing.assert_allclose(again, x * counted, **CLOSE)
    assert counted[0, 0, 1, 1] == 4.0
