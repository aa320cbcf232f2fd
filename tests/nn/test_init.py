"""Initializations: bounds, variances (of the whole number for complex ones), special matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import init

DTYPES = [rg.float32, rg.float64, rg.complex64, rg.complex128]


def variance(t):
    return float((abs(t._array - t._array.mean()) ** 2).mean())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda t: init.normal_(t, 0.0, 0.5), 0.5),
        (lambda t: init.xavier_uniform_(t, gain=2.0), 2.0 * math.sqrt(2 / 700)),
        (lambda t: init.xavier_normal_(t), math.sqrt(2 / 700)),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(2 / 400)),
        (lambda t: init.kaiming_normal_(t, mode="fan_out"), math.sqrt(2 / 300)),
        (lambda t: init.trunc_normal_(t, std=0.5, a=-5.0, b=5.0), 0.5),
    ],
)
def test_the_standard_deviation_is_that_of_the_rule(fill, std, dtype):
    t = rg.zeros(300, 400, dtype=dtype, requires_grad=True)
    assert fill(t) is t
    assert t.is_leaf
    assert variance(t) == pytest.approx(std**2, rel=0.02)
    assert abs(t._array.mean()) < 0.02 * std


def test_uniform_fills_the_range_in_both_parts():
    t = init.uniform_(rg.zeros(10000, dtype=rg.complex128), 1.0, 3.0)._array
    for part in (t.real, t.imag):
        assert part.min() >= 1.0
        assert part.max() < 3.0
        assert part.mean() == pytest.approx(2.0, abs=0.03)


def test_normal_takes_a_complex_mean():
    t = init.normal_(rg.zeros(20000, dtype=rg.complex128), 1 - 2j, 0.1)
    assert t._array.mean() == pytest.approx(1 - 2j, abs=0.01)


def test_truncation_holds():
    t = init.trunc_normal_(rg.zeros(10000), std=1.0, a=-0.5, b=1.0)._array
    assert t.min() >= -0.5
    assert t.max() <= 1.0
    assert t.mean() == pytest.approx(0.2068, abs=0.02)


def test_the_generator_decides():
    def draw(seed):
        return init.kaiming_normal_(rg.zeros(3, 3), generator=rg.Generator().manual_seed(seed))

    assert draw(1).tolist() == draw(1).tolist()
    assert draw(1).tolist() != draw(2).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 2)])
def test_orthogonal_rows_or_columns_are_orthonormal(shape, dtype):
    w = init.orthogonal_(rg.zeros(*shape, dtype=dtype), gain=2.0)._array.reshape(shape[0], -1)
    small = w @ w.conj().T if w.shape[0] <= w.shape[1] else w.conj().T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_special_matrices():
    assert init.eye_(rg.zeros(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.constant_(rg.zeros(2, dtype=rg.complex64), 1j).tolist() == [1j, 1j]
    assert init.ones_(rg.zeros(2)).tolist() == [1, 1]
    assert init.zeros_(rg.ones(2)).tolist() == [0, 0]
    w = init.dirac_(rg.zeros(4, 2, 3), groups=2)
    x = rg.arange(20.0).reshape(1, 4, 5)
    out = rg.nn.functional.conv1d(x, w, padding=1, groups=2)
    assert out.tolist() == x.tolist()


def test_sparse_zeroes_the_same_share_of_every_column():
    w = init.sparse_(rg.zeros(10, 4), sparsity=0.25)
    assert ((w._array == 0).sum(0) == 3).all()


def test_gains_are_those_of_pytorch():
    assert init.calculate_gain("conv2d") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init.calculate_gain("selu") == 0.75


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: init.calculate_gain("none"), "Unsupported nonlinearity none"),
        (lambda: init.calculate_gain("leaky_relu", "x"), "negative_slope x not a valid number"),
        (lambda: init.xavier_normal_(rg.ones(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(rg.ones(3, 3), mode="fan"), "Mode fan not supported"),
        (lambda: init.eye_(rg.ones(3)), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(rg.ones(3, 3)), "3, 4, or 5 dimensions"),
        (lambda: init.orthogonal_(rg.ones(3)), "2 or more dimensions"),
    ],
)
def test_what_cannot_be_initialized_raises(act, text):
    with pytest.raises(ValueError, match=text):
        act()


def test_an_empty_tensor_warns():
    with pytest.warns(UserWarning, match="no-op"):
        init.kaiming_uniform_(rg.zeros(0, 3))


def test_an_initialization_counts_as_a_write():
    w = rg.ones(2, 2, requires_grad=True)
    out = (w * w).sum()
    init.zeros_(w)
    with pytest.raises(RuntimeError, match=r"written by init\.constant_"):
        out.backward()


def test_an_initialiser_refuses_what_may_not_be_written():
    with rg.inference_mode():
        x = rg.ones(2, 2)
    read_only = rg.ones(2, 2)
    read_only._array.flags.writeable = False
    for fill in (rg.nn.init.normal_, rg.nn.init.zeros_, rg.nn.init.eye_):
        with pytest.raises(RuntimeError, match="inference tensor"):
            fill(x)
        with pytest.raises(RuntimeError, match="read-only"):
            fill(read_only)
    assert x.tolist() == [[1, 1], [1, 1]]


def test_a_constant_wraps_around_in_an_unsigned_tensor():
    assert rg.nn.init.constant_(rg.tensor([2], dtype=rg.uint8), -1).tolist() == [255]


@pytest.mark.parametrize(
    "make",
    [
        lambda: rg.nn.Linear(0, 3),
        lambda: rg.nn.Linear(3, 0),
        lambda: rg.nn.Conv2d(3, 0, 1),
        lambda: rg.nn.Conv2d(0, 3, 1),
    ],
)
def test_a_layer_without_weights_warns(make):
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        make()


def test_constants_and_means_may_be_numbers_in_tensors():
    assert rg.nn.init.constant_(rg.zeros(2), rg.tensor(3)).tolist() == [3.0, 3.0]
    same = []
    for mean in (rg.tensor(5.0), 5.0):
        rg.manual_seed(0)
        same.append(rg.nn.init.normal_(rg.zeros(3), mean).tolist())
    assert same[0] == same[1]


FILLS = {
    "zeros": init.zeros_,
    "ones": lambda t: init.ones_(t.mul_(5)),
    "constant": lambda t: init.constant_(t, 3.0),
    "uniform": lambda t: init.uniform_(t, 2.0, 3.0),
    "normal": init.normal_,
    "truncated": init.trunc_normal_,
    "xavier": init.xavier_uniform_,
    "kaiming": init.kaiming_normal_,
    "eye": init.eye_,
    "orthogonal": init.orthogonal_,
    "sparse": lambda t: init.sparse_(t, 0.5),
}


@pytest.mark.filterwarnings("ignore:vmap")  # some run once per example
@pytest.mark.parametrize("dtype", [rg.float32, rg.complex64])
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_an_initialiser_writes_each_example_of_a_batch(fill, dtype):
    rg.manual_seed(3)
    expected = fill(rg.full((4, 4), 9.0, dtype=dtype))
    rg.manual_seed(3)
    given = rg.full((2, 4, 4), 9.0, dtype=dtype)
    found = rg.func.vmap(lambda t: fill(t.clone()), randomness="same")(given)
    np.testing.assert_array_equal(found, rg.stack([expected, expected]))


@pytest.mark.parametrize("fill", [init.zeros_, init.normal_])
def test_a_batch_that_an_initialiser_writes_keeps_its_history(fill):
    def made(w):
        t = w * 1.0
        fill(t)
        return (t * w).sum()

    rg.manual_seed(0)
    expected = fill(rg.empty(3)) + 1.0  # of t, and of w by the product before the write
    x = rg.ones(3, requires_grad=True)
    rg.manual_seed(0)
    made(x).backward()
    assert x.grad.tolist() == expected.tolist()
    rg.manual_seed(0)
    grads = rg.func.vmap(rg.func.grad(made), randomness="same")(rg.ones(2, 3))
    np.testing.assert_array_equal(grads, rg.stack([expected, expected]))


def test_each_example_draws_its_own_initial_values():
    def made(t):
        return init.normal_(t.clone())

    rg.manual_seed(0)
    found = rg.func.vmap(made, randomness="different")(rg.zeros(2, 3))
    rg.manual_seed(0)
    np.testing.assert_array_equal(found, rg.stack([made(rg.zeros(3)), made(rg.zeros(3))]))
    with pytest.raises(RuntimeError, match="randomness"):
        rg.func.vmap(made)(rg.zeros(2, 3))


def test_parts_of_complex_numbers_are_drawn_in_turn():
    rg.manual_seed(0)
    parts = rg.rand(3, 2)
    rg.manual_seed(0)
    assert (
        rg.view_as_real(init.uniform_(rg.empty(3, dtype=rg.complex64))).tolist() == parts.tolist()
    )
    rg.manual_seed(0)
    parts = rg.randn(20, 2, dtype=rg.float64) / math.sqrt(2)
    rg.manual_seed(0)
    drawn = init.normal_(rg.empty(20, dtype=rg.complex128))
    assert np.allclose(rg.view_as_real(drawn).numpy(), parts.numpy(), rtol=1e-15, atol=0)
