"""Integers, numbers and flags are looked at before a function runs: NOTE [Other names], rule 6."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

F = rg.nn.functional
X = rg.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: X.transpose(True, 0), "'dim0' .*must be int, not bool"),
        (lambda: X.transpose(rg.tensor(True), 0), "'dim0' .*must be int, not Tensor"),
        (lambda: X.transpose(np.True_, 0), "'dim0' .*must be int, not numpy.bool"),
        (lambda: X.transpose(0.0, 1), "'dim0' .*must be int, not float"),
        (lambda: X.chunk(rg.tensor(2.0)), "'chunks' .*must be int, not Tensor"),
        (lambda: X.chunk(rg.tensor([2, 2])), "'chunks' .*must be int, not Tensor"),
        (lambda: F.group_norm(X, True), "'num_groups' .*must be int, not bool"),
        (lambda: rg.cat([X, X], dim=True), "'dim' must be int, not bool"),
        (lambda: rg.cat([X, X], axis=True), "'dim' must be int, not bool"),
        (lambda: rg.softmax(X, rg.tensor(True)), "'dim' .*must be int, not Tensor"),
        (lambda: X.sum(np.True_), "'dim' must be int, not bool"),
    ],
)
def test_what_is_no_integer_is_refused_by_name(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.chunk(2**70),
        lambda: rg.diff(X, 2**70),
        lambda: X.tensor_split(2**70),
        lambda: X.split(2**70),
        lambda: X.transpose(-(2**64), 0),
        lambda: X.sum(2**70),
        lambda: rg.softmax(X, 2**70),
    ],
)
def test_an_integer_beyond_64_bits_is_refused_at_once(call):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        call()


def test_what_stands_for_an_integer_is_that_integer():
    for one in (np.int64(1), np.uint8(1), rg.tensor(1), rg.tensor(1, dtype=rg.uint8)):
        assert X.transpose(0, one).shape == (3, 2)
        assert rg.cat([X, X], dim=one).shape == (2, 6)
    made = F.cross_entropy(X, rg.tensor([0, 1]), ignore_index=rg.tensor(1))
    assert made.equal(F.cross_entropy(X, rg.tensor([0, 1]), ignore_index=1))


def test_a_numpy_number_does_not_widen_the_result():
    for one in (np.float64(0.5), np.float32(0.5), rg.tensor(0.5, dtype=rg.float64)):
        for function in (F.celu, F.leaky_relu, F.softshrink):
            assert function(X, one).equal(function(X, 0.5))
            assert function(X, one).dtype is rg.float32
    assert rg.dist(X, X, np.int64(2)).dtype is rg.float32


def test_constant_tensors_stand_for_numbers_of_distributions():
    rg.manual_seed(0)
    expected = rg.zeros(3).cauchy_(1.0, 2.0)
    rg.manual_seed(0)
    assert rg.zeros(3).cauchy_(rg.tensor(1), rg.tensor(2.0)).equal(expected)
    assert F.huber_loss(X, -X, delta=rg.tensor(True)).equal(F.huber_loss(X, -X, delta=1.0))


W = rg.tensor(0.75, requires_grad=True, dtype=rg.float64)
IMAGES = rg.arange(1.0, 13.0, dtype=rg.float64).reshape(1, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda w: F.local_response_norm(IMAGES, 2, alpha=w),
        lambda w: F.local_response_norm(IMAGES, 2, beta=w),
        lambda w: F.local_response_norm(IMAGES, 2, k=w),
        lambda w: F.lp_pool1d(IMAGES, w, 2),
        lambda w: F.normalize(IMAGES * 0.01, eps=w),
        lambda w: F.triplet_margin_with_distance_loss(IMAGES, IMAGES, IMAGES + 1, margin=10 * w),
        lambda w: F.softmax(IMAGES / w, -1),
    ],
)
def test_a_number_with_a_history_keeps_it_where_its_derivative_is_known(function):
    assert rg.autograd.gradcheck(function, W)


def test_the_temperature_of_gumbel_softmax_has_a_gradient():
    def drawn(tau):
        rg.manual_seed(0)
        return F.gumbel_softmax(IMAGES[0, 0], tau)

    assert drawn(W).std() > 0.01
    assert rg.autograd.gradcheck(drawn, W)


REFUSED = {
    "arange": (lambda w: rg.arange(0, 3, w), "step"),
    "celu_": (lambda w: F.celu_(X.clone(), w), "alpha"),
    "elu_": (lambda w: F.elu_(X.clone(), alpha=w), "alpha"),
    "hamming_window": (lambda w: rg.hamming_window(4, alpha=w), "alpha"),
    "kaiser_window": (lambda w: rg.kaiser_window(4, beta=w), "beta"),
    "leaky_relu_": (lambda w: F.leaky_relu_(X.clone(), w), "negative_slope"),
    "addcdiv": (lambda w: rg.addcdiv(X, X, X, value=w), "value"),
    "addcmul": (lambda w: rg.addcmul(X, X, X, value=w), "value"),
    "cdist": (lambda w: rg.cdist(X, X, w), "p"),
    "cross_entropy": (lambda w: F.cross_entropy(X, X, label_smoothing=w), "label_smoothing"),
    "dropout": (lambda w: F.dropout(X, w), "p"),
    "elu": (lambda w: F.elu(X, alpha=w), "alpha"),
    "hardtanh": (lambda w: F.hardtanh(X, -1.0, w), "max_val"),
    "layer_norm": (lambda w: F.layer_norm(X, (3,), eps=w), "eps"),
    "leaky_relu": (lambda w: F.leaky_relu(X, w), "negative_slope"),
    "nan_to_num": (lambda w: X.nan_to_num(w), "nan"),
    "linalg_vector_norm": (lambda w: X.norm(w), "ord"),
    "pad": (lambda w: F.pad(X, (1, 1), value=w), "value"),
    "renorm": (lambda w: X.renorm(w, 0, 1.0), "p"),
    "softplus": (lambda w: F.softplus(X, beta=w), "beta"),
    "threshold": (lambda w: F.threshold(X, w, 0.0), "threshold"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_with_a_history_is_refused_where_its_derivative_would_be_lost(name):
    function, argument = REFUSED[name]
    plain = name.rstrip("_")  # which is what an in-place form runs
    match = rf"{plain}\(\): argument '{argument}'.* must be .*no derivative. Write {argument}="
    with pytest.raises(TypeError, match=match):
        function(W)
    with pytest.raises(TypeError, match=match):
        rg.func.jvp(function, (W.detach(),), (rg.tensor(1.0, dtype=rg.float64),))
    function(W.detach())  # a constant is a number


def test_a_batch_of_numbers_stays_a_batch():
    scales = rg.tensor([1.0, 2.0])
    made = rg.func.vmap(lambda t: F.gumbel_softmax(X, t).sum(), randomness="different")(scales)
    assert made.tolist() == pytest.approx([2.0, 2.0])
