"""Normalisations: statistics, complex input, errors. Values: `tests/nn/test_functional.py`."""

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad


def draw(shape, dtype):
    values = np.random.normal(size=shape) + (
        1j * np.random.normal(size=shape) if dtype.is_complex else 0
    )
    return rg.tensor(values, dtype=dtype)


def composed(x, w, b, dims, shape):
    """Normalisation from plain operations."""
    centred = x - x.mean(dims, keepdim=True)
    var = (centred.abs() ** 2).mean(dims, keepdim=True)
    return centred * (var + 1e-5).rsqrt() * w.reshape(shape) + b.reshape(shape)


def batch(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)


def layer(x, w, b):
    return F.layer_norm(x, (5,), w, b)


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
@pytest.mark.parametrize(
    ("function", "size", "dims", "shape"),
    [(batch, 3, (0, 2), (1, 3, 1)), (layer, 5, (2,), (5,))],
)
def test_three_orders_equal_those_of_the_composition(function, size, dims, shape, dtype):
    start = [draw((4, 3, 5), dtype), draw((size,), dtype), draw((size,), dtype)]
    cotangents = [draw((4, 3, 5), dtype) for _ in range(3)]
    results = []
    for f in (function, lambda x, w, b: composed(x, w, b, dims, shape)):
        leaves = [t.clone().requires_grad_() for t in start]
        out = f(*leaves)
        first = grad(out, leaves, cotangents[0], create_graph=True)
        second = grad(first[0], leaves[:2], cotangents[1], create_graph=True)
        third = grad(second[0], leaves[:2], cotangents[2])
        results.append([t.detach().numpy() for t in (out, *first, *second, *third)])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_complex_batches_have_mean_zero_and_second_moment_one():
    z = draw((64, 2), rg.complex128) * 3 + (1 - 2j)
    out = F.batch_norm(z, None, None, training=True, eps=0.0)
    np.testing.assert_allclose(out.mean(0).numpy(), [0, 0], atol=1e-15)
    np.testing.assert_allclose((out.abs() ** 2).mean(0).numpy(), [1, 1], rtol=1e-14)


def test_running_statistics_of_complex_batches():
    z = draw((8, 2), rg.complex128)
    mean, var = rg.zeros(2, dtype=rg.complex128), rg.zeros(2, dtype=rg.float64)
    F.batch_norm(z, mean, var, training=True, momentum=1.0)
    np.testing.assert_allclose(mean.numpy(), z.numpy().mean(0), rtol=1e-14)
    np.testing.assert_allclose(var.numpy(), z.numpy().var(0, ddof=1), rtol=1e-14)
    with pytest.raises(RuntimeError, match="running_mean of a complex input must be complex"):
        F.batch_norm(z, var.clone(), var, training=True)


def test_running_statistics_move_outside_the_graph_and_do_not_count_the_write():
    x = rg.tensor([[1.0], [3.0]], requires_grad=True)
    mean, var = rg.zeros(1), rg.ones(1)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert (mean.item(), var.item()) == (1.0, 1.5)
    assert (mean._version, var._version, mean.requires_grad) == (0, 0, False)  # as in PyTorch


def test_evaluation_uses_running_statistics_and_leaves_them():
    x = rg.tensor([[1.0], [3.0]], requires_grad=True)
    mean, var = rg.tensor([1.0]), rg.tensor([4.0])
    out = F.batch_norm(x, mean, var, eps=0.0)
    assert (out.tolist(), mean._version) == ([[0.0], [1.0]], 0)
    assert grad(out.sum(), x)[0].tolist() == [[0.5], [0.5]]


def test_constant_channels_give_zeros_and_finite_gradients():
    x = rg.ones(4, 2, requires_grad=True)
    out = F.batch_norm(x, None, None, training=True)
    out.sum().backward()
    assert (out.tolist(), x.grad.tolist()) == ([[0.0, 0.0]] * 4, [[0.0, 0.0]] * 4)


def test_large_means_lose_no_accuracy():
    values = np.random.uniform(-2, 2, (64, 3)) + 1000
    exact = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-5)
    found = F.batch_norm(rg.tensor(values), None, None, training=True).numpy()
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-11)


def test_frozen_weights_save_no_weight():
    x = rg.ones(4, 2, requires_grad=True)
    node = F.layer_norm(x, (2,), None, rg.ones(2, requires_grad=True)).grad_fn
    assert node._saved_weight is None


def test_empty_batches_pass():
    assert F.batch_norm(rg.zeros(0, 3), rg.zeros(3), rg.ones(3), training=True).shape == (0, 3)
    assert F.layer_norm(rg.zeros(0, 3), (3,)).shape == (0, 3)


def test_normalize_of_zero_is_zero_with_a_finite_gradient():
    x = rg.zeros(1, 2, requires_grad=True)
    out = F.normalize(x)
    out.backward(rg.tensor([[1.0, 2.0]]))
    assert out.tolist() == [[0.0, 0.0]]
    np.testing.assert_allclose(x.grad.numpy(), [[1e12, 2e12]], rtol=1e-6)


def ones(*shape):
    return rg.ones(*shape)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: F.batch_norm(ones(1, 3), None, None, training=True),
            ValueError,
            r"1 value per channel when training, got input size retrograd.Size\(\[1, 3\]\)",
        ),
        (
            lambda: F.batch_norm(ones(2, 3), None, None),
            RuntimeError,
            "running_mean must be defined in evaluation mode",
        ),
        (
            lambda: F.batch_norm(ones(2, 3), ones(4), ones(4)),
            RuntimeError,
            "running_mean should contain 3 elements not 4",
        ),
        (
            lambda: F.batch_norm(ones(2, 3), ones(3), ones(3), weight=ones(4)),
            RuntimeError,
            "weight should contain 3 elements not 4",
        ),
        (
            lambda: F.batch_norm(ones(2, 3), ones(3), ones(3), weight=ones(3).double()),
            RuntimeError,
            "mixed dtype",
        ),
        (
            lambda: F.batch_norm(ones(2, 3).long(), ones(3), ones(3)),
            NotImplementedError,
            "not implemented for",
        ),
        (
            lambda: F.layer_norm(ones(3, 4), (5,)),
            RuntimeError,
            r"Given normalized_shape=\[5\], expected input with shape \[\*, 5\]",
        ),
        (lambda: F.layer_norm(ones(3, 4), ()), RuntimeError, "at least 1-dimensional"),
        (lambda: F.layer_norm(ones(3, 4), 4), TypeError, "must be tuple of ints, not int"),
        (
            lambda: F.layer_norm(ones(3, 4), (4,), weight=ones(3)),
            RuntimeError,
            "Expected weight to be of same shape as normalized_shape",
        ),
        (lambda: F.group_norm(ones(2, 6, 3), 4), RuntimeError, "divisible by num_groups"),
        (lambda: F.group_norm(ones(1, 6), 6), ValueError, "Expected more than 1 value per channel"),
        (lambda: F.group_norm(ones(6), 3), RuntimeError, "Expected at least 2 dimensions"),
        (
            lambda: F.instance_norm(ones(2, 3, 1)),
            ValueError,
            r"1 spatial element when training, got input size retrograd.Size\(\[2, 3, 1\]\)",
        ),
        (
            lambda: F.instance_norm(ones(2, 3, 4), use_input_stats=False),
            RuntimeError,
            "to be defined when use_input_stats is false",
        ),
        (lambda: F.local_response_norm(ones(2, 3), 2), ValueError, "Expected 3D or higher"),
    ],
)
def test_bad_arguments_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize(
    "normalize",
    [
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.layer_norm(x.t(), (1000,)),
        lambda x: F.group_norm(x.t(), 2),
    ],
)
def test_half_floats_whose_sums_overflow_are_normalised(normalize):
    x = rg.full((1000, 2), 100.0, dtype=rg.float16)
    x[::2] = 102.0
    out = normalize(x.requires_grad_())
    assert out.dtype is rg.float16
    assert out.abs().unique().tolist() == [1.0]
    out.backward(rg.ones_like(out))
    assert x.grad.dtype is rg.float16
    assert x.grad.abs().max().item() < 1e-6  # 0, but for a unit in the last place


def test_a_squared_error_of_half_floats_whose_sum_overflows_is_finite():
    x = rg.full((1000,), 100.0, dtype=rg.float16)
    assert F.mse_loss(x, x * 0).tolist() == 10000.0


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_rms_norm_of_half_floats_squares_in_single_precision(dtype):
    for value in (300.0, 60000.0):
        out = F.rms_norm(rg.full((4,), value, dtype=dtype), (4,))
        assert (out.dtype, out.tolist()) == (dtype, [1.0] * 4)
    small = F.rms_norm(rg.full((4,), 1e-5, dtype=rg.float16), (4,))
    assert abs(small[0].item() - 0.029) < 1e-4  # eps is that of float32


def test_rms_norm_leaves_the_channels_innermost():
    x = rg.randn(2, 3, 4, 5).to(memory_format=rg.channels_last)
    found = F.rms_norm(x, (5,), rg.full((5,), 2.0))
    assert found.stride() == (60, 1, 15, 3)
    rg.testing.assert_close(found, F.rms_norm(x.contiguous(), (5,), rg.full((5,), 2.0)))


def test_half_floats_are_normalised_by_single_parameters():
    x, weight = rg.tensor([[1.0, 3.0]]).half(), rg.tensor([2.0, 2.0], requires_grad=True)
    y = F.layer_norm(x, (2,), weight, rg.zeros(2))
    y.sum().backward()
    assert (y.dtype, weight.grad.dtype) == (rg.float16, rg.float32)
    assert y.tolist() == [[-2.0, 2.0]]
    assert weight.grad.tolist() == pytest.approx([-1.0, 1.0], abs=1e-5)
    z = F.batch_norm(x, rg.zeros(2), rg.ones(2))
    assert z.dtype is rg.float16
    assert z.tolist() == [[1.0, 3.0]]


def test_batch_norm_needs_both_running_statistics_or_neither():
    for mean, var in ((rg.zeros(2), None), (None, rg.ones(2))):
        with pytest.raises(ValueError, match="must either both be None or neither be None"):
            rg.nn.functional.batch_norm(rg.ones(3, 2), mean, var, training=True)


@pytest.mark.parametrize("shape", [(0, 2), (0, 2, 3)])
def test_a_batch_without_samples_leaves_the_gradients_of_the_parameters_at_0(shape):
    x = rg.zeros(shape, requires_grad=True)
    weight, bias = rg.ones(2, requires_grad=True), rg.zeros(2, requires_grad=True)
    F.batch_norm(x, None, None, weight, bias, training=True).sum().backward()
    assert weight.grad.tolist() == bias.grad.tolist() == [0.0, 0.0]
    assert x.grad.shape == shape


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_one_dimension_is_refused(training):
    zeros = rg.zeros(3)
    with pytest.raises(IndexError, match="expects input"):
        F.batch_norm(rg.ones(3), zeros, zeros, training=training)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [rg.float32, rg.float64])
def test_a_batch_norm_of_an_empty_vector_is_empty(dtype, training):
    for statistics in (None, rg.zeros(3, dtype=dtype)):
        x = rg.ones(0, dtype=dtype, requires_grad=True)
        weight = rg.ones(1, dtype=dtype, requires_grad=True)
        for own in (None, weight):
            out = F.batch_norm(x, statistics, statistics, own, own, training=training)
            assert (out.shape, out.dtype) == ((0,), dtype)
            out.sum().backward()
            assert x.grad.shape == (0,)
        assert weight.grad.tolist() == [0.0]
        assert statistics is None or statistics.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("norm", "shape"),
    [
        (lambda x, w, b: F.layer_norm(x, (3,), w, b), (4, 3)),
        (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (4, 3)),
        (lambda x, w, b: F.group_norm(x, 1, w, b), (4, 3, 2)),
        (lambda x, w, b: F.instance_norm(x, None, None, w, b), (4, 3, 5)),
    ],
)
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_a_second_pass_that_never_meets_the_bias_leaves_its_gradient_none(norm, shape, dtype):
    """The first derivative does not depend on it: weight decay would act on zeros."""
    rg.manual_seed(0)
    x = rg.randn(*shape, dtype=dtype, requires_grad=True)
    w = rg.randn(3, dtype=dtype, requires_grad=True)
    b = rg.randn(3, dtype=dtype, requires_grad=True)
    coefficients = rg.randn(*shape, dtype=dtype)
    (g,) = rg.autograd.grad((norm(x, w, b) * coefficients).sum().real, x, create_graph=True)
    g.abs().square().sum().backward()
    assert b.grad is None
    step, moved = 1e-6, w.detach().clone()
    moved[1] += step

    def penalty(weight):
        y = (norm(x, weight, b) * coefficients).sum().real
        return rg.autograd.grad(y, x)[0].abs().square().sum().item()

    slope = (penalty(moved) - penalty(w.detach().requires_grad_())) / step
    np.testing.assert_allclose(w.grad[1].real.item(), slope, rtol=1e-4)
