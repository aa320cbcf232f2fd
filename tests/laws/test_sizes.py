"""Laws across sizes: what is done otherwise for large arrays gives what small ones get.

The examples of records are small, so each threshold of the package is lowered until they cross it;
and inputs are repeated until they cross the thresholds as they are.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd import autograd
from retrograd.engine.tensor import new_tensor
from retrograd.kernels import convolution, lapack, pooling, special, sums
from retrograd.ops.core import engine_ops
from retrograd.ops.linalg import distance
from retrograd.optim import rules

from .samples import at_least, like, samples

# module, threshold, what the law lowers it to
THRESHOLDS = [
    (sums, "LARGE", 1),
    (sums, "FEW", 1),
    (sums, "MANY", 2),
    (sums, "ROWS", 2),
    (sums, "WIDE", 4),
    (sums, "CACHED", 1),
    (sums, "CHUNK", 2),
    (engine_ops, "SMALL", 1),
    (special, "BLOCK", 3),
    (convolution, "BLOCK", 64),
    (pooling, "MANY_TAPS", 1),
    (lapack, "BLOCK", 1),
    (distance, "BLOCK", 3),
]
LARGEST = 300_000  # elements: beyond every threshold, the 2 MiB of `convolution.BLOCK` included

EVERY = at_least(1900, samples())
SAME_SHAPES = [
    sample
    for sample in EVERY
    if sample.op.elementwise
    and all(spec.partition(":")[0] == "3x4" for spec in sample.example.specs)
]


def results(sample, arrays, cotangents=None):
    """(outputs, cotangents, gradients) of one call, as arrays."""
    tensors = sample.tensors(arrays)
    outputs = sample.call(tensors)
    leaves = [tensors[i] for i in sample.differentiable]
    if cotangents is None:
        cotangents = like([t._array for t in outputs], np.random.default_rng(1))
    given = [new_tensor(np.array(g)) for g in cotangents]
    grads = autograd.grad(outputs, leaves, given, materialize_grads=True)
    return [t._array for t in outputs], cotangents, [g._array for g in grads]


def alike(found, expected):
    """Assert that lists of arrays agree to 1e-12 of their largest entries."""
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("sample", EVERY, ids=repr)
def test_what_is_done_for_large_arrays_is_right_for_small_ones(sample, monkeypatch):
    outputs, cotangents, grads = results(sample, sample.arrays)
    for module, name, value in THRESHOLDS:
        monkeypatch.setattr(module, name, value)
    found = results(sample, sample.arrays, cotangents)
    alike(found[0], outputs)
    alike(found[2], grads)


def test_the_law_lowers_every_threshold_of_the_kernels():
    named = {(module.__name__, name) for module, name, _ in THRESHOLDS}
    for module in (sums, special, convolution, pooling, lapack):
        for name, value in vars(module).items():
            if name.isupper() and type(value) is int and not name.endswith("TERMS"):
                assert (module.__name__, name) in named


@pytest.mark.parametrize("sample", at_least(230, SAME_SHAPES), ids=repr)
def test_elementwise_ops_treat_a_large_array_as_many_small_ones(sample):
    times = sums.LARGE // 12 + 1
    outputs, cotangents, grads = results(sample, sample.arrays)
    large = [np.tile(a, (times, 1)) for a in sample.arrays]
    found = results(sample, large, [np.tile(g, (times, 1)) for g in cotangents])
    alike(found[0], [np.tile(y, (times, 1)) for y in outputs])
    alike(found[2], [np.tile(g, (times, 1)) for g in grads])


WEIGHT = rg.tensor(np.linspace(-1, 1, 12).reshape(2, 2, 3), dtype=rg.float64)
PIXELS = rg.tensor(np.linspace(-1, 1, 8).reshape(2, 1, 2, 2), dtype=rg.float64)
MATRIX = rg.tensor(np.linspace(-1, 1, 24).reshape(6, 4), dtype=rg.float64)

# Functions of examples along the first dimension, and the shape of two examples.
ROWWISE = {
    "sum": (lambda x: x.sum(-1), (2, 3, 5)),
    "mean of the middle": (lambda x: x.mean(1), (2, 3, 5)),
    "var": (lambda x: x.var(1), (2, 3, 5)),
    "norm": (lambda x: rg.linalg.vector_norm(x, 3, (1, 2)), (2, 3, 5)),
    "prod": (lambda x: x.prod(1), (2, 3)),
    "amax": (lambda x: x.amax((1, 2)), (2, 3, 5)),
    "logsumexp": (lambda x: x.logsumexp(1), (2, 3, 5)),
    "softmax": (lambda x: x.softmax(1), (2, 3, 5)),
    "log_softmax": (lambda x: x.log_softmax(-1), (2, 6)),
    "cumsum": (lambda x: x.cumsum(1), (2, 6)),
    "cumprod": (lambda x: x.cumprod(1), (2, 6)),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), (2, 6)),
    "sort": (lambda x: x.sort(1).values, (2, 6)),
    "topk": (lambda x: x.topk(2, 1).values, (2, 6)),
    "matmul": (lambda x: x @ MATRIX, (2, 6)),
    "linear": (lambda x: F.linear(x, MATRIX.t(), MATRIX[0]), (2, 6)),
    "einsum": (lambda x: rg.einsum("nij,nkj->nik", x, x), (2, 2, 3)),
    "cholesky": (lambda x: rg.linalg.cholesky(x @ x.mT + rg.eye(3, dtype=x.dtype)), (2, 3, 3)),
    "det": (rg.linalg.det, (2, 3, 3)),
    "fft": (lambda x: rg.view_as_real(rg.fft.rfft(x)), (2, 6)),
    "conv1d": (lambda x: F.conv1d(x, WEIGHT, padding=1), (2, 2, 5)),
    "conv2d": (lambda x: F.conv2d(x, PIXELS, stride=2), (2, 1, 4, 4)),
    "conv_transpose1d": (lambda x: F.conv_transpose1d(x, WEIGHT), (2, 2, 5)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (2, 1, 4, 4)),
    "max_pool2d of many taps": (lambda x: F.max_pool2d(x, 17), (2, 1, 17, 17)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 1, 1), (2, 1, 4, 4)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), (2, 1, 5)),
    "layer_norm": (lambda x: F.layer_norm(x, (6,), MATRIX[:, 0], MATRIX[:, 1]), (2, 6)),
    "group_norm": (lambda x: F.group_norm(x, 2), (2, 4, 3)),
    "gather": (lambda x: x.index_select(1, rg.tensor([1, 1, 0])), (2, 6)),
    "flip and roll": (lambda x: x.flip(1).roll(1, 1), (2, 6)),
    "pad": (lambda x: F.pad(x, (1, 2), "reflect"), (2, 1, 5)),
    "interpolate": (lambda x: F.interpolate(x, size=7, mode="linear"), (2, 1, 5)),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, rg.zeros(len(x), dtype=rg.int64), reduction="none"),
        (2, 6),
    ),
}


def pulled(function, array, cotangent=None):
    """(value, cotangent, gradient) of a function at an array."""
    x = new_tensor(array).requires_grad_()
    y = function(x)
    if cotangent is None:
        cotangent = np.cos(np.arange(y.numel())).reshape(y.shape)
    (g,) = autograd.grad(y, x, new_tensor(cotangent))
    return y._array, cotangent, g._array


def repeated(a, times):
    """`a` as often as said along its first dimension."""
    return np.tile(a, (times, *(1,) * (a.ndim - 1)))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("name", ROWWISE)
def test_functions_of_rows_treat_a_large_array_as_many_small_ones(name, layout):
    function, shape = ROWWISE[name]
    small = np.sin(np.arange(np.prod(shape))).reshape(shape)
    times = LARGEST // small.size + 1
    value, cotangent, derivative = pulled(function, small)
    found = pulled(function, layout(repeated(small, times)), repeated(cotangent, times))
    alike([found[0], found[2]], [repeated(value, times), repeated(derivative, times)])


SHARED = {
    "linear": (lambda x, w: F.linear(x, w), (2, 6), (4, 6)),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (2, 2, 5), (3, 2, 3)),
    "conv2d": (lambda x, w: F.conv2d(x, w), (2, 1, 4, 4), (2, 1, 2, 2)),
    "bias": (lambda x, w: x + w, (2, 3, 2), (3, 1)),
    "layer_norm": (lambda x, w: F.layer_norm(x, (6,), w), (2, 6), (6,)),
    "embedding": (lambda x, w: F.embedding((x > 0).long(), w), (2, 6), (2, 3)),
    "prelu": (F.prelu, (2, 3, 2), (3,)),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_many_rows_share_gets_the_sum_of_their_gradients(name):
    function, shape, other = SHARED[name]
    small = np.sin(np.arange(np.prod(shape))).reshape(shape)
    weight = np.cos(np.arange(np.prod(other))).reshape(other)
    times = LARGEST // small.size + 1
    _, cotangent, derivative = pulled(lambda w: function(new_tensor(small), w), weight)
    large, wide = repeated(small, times), repeated(cotangent, times)
    found = pulled(lambda w: function(new_tensor(large), w), weight, wide)
    alike([found[2]], [derivative * times])


@pytest.mark.parametrize("block", [3, rules.BLOCK])
@pytest.mark.parametrize("rule", [rg.optim.SGD, rg.optim.Adam, rg.optim.AdamW, rg.optim.RMSprop])
def test_optimizers_treat_a_large_parameter_as_many_small_ones(rule, block, monkeypatch):
    start, derivative = np.linspace(-1, 1, 7), np.linspace(1, 2, 7)
    times = 3 if block == 3 else block // 7 + 1

    def stepped(array, gradient):
        x = new_tensor(array).requires_grad_()
        x.grad = new_tensor(gradient)
        optimizer = rule([x], lr=0.1)
        for _ in range(2):
            optimizer.step()
        return x.detach()._array

    expected = np.tile(stepped(start.copy(), derivative), times)
    monkeypatch.setattr(rules, "BLOCK", block)
    alike([stepped(np.tile(start, times), np.tile(derivative, times))], [expected])
