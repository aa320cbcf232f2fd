"""Signs of zero, as in PyTorch."""

import pytest

import retrograd as rg
from retrograd.nn import functional as F

FLOATS = [rg.float16, rg.bfloat16, rg.float32, rg.float64]
KEPT = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 1.0),
    "clamp": lambda x: x.clamp(0.0, 1.0),
    "clamp_max": lambda x: x.clamp_max(0.0),
    "remainder": lambda x: x % 2,
    "remainder by tensors": lambda x: x % rg.full_like(x, 3.0),
    "softshrink": F.softshrink,
}


@pytest.mark.parametrize("size", [1, 9, 5000])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", KEPT)
def test_a_zero_that_is_kept_keeps_its_sign(name, dtype, size):
    below = rg.full((size,), -0.0, dtype=dtype)
    above = rg.full((size,), 0.0, dtype=dtype)
    assert KEPT[name](below).signbit().all()
    assert not KEPT[name](above).signbit().any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [3, 5000])
def test_a_remainder_of_zero_has_the_sign_of_what_was_divided(dtype, size):
    x = rg.full((size,), -6.0, dtype=dtype)
    for divisor in (3, -3, rg.full_like(x, 2.0)):
        assert (x % divisor).signbit().all()
        assert not (-x % divisor).signbit().any()
    assert (rg.tensor([-5.0, 5.0], dtype=dtype) % 3).tolist() == [1.0, 2.0]
    assert (rg.tensor([-5.0, 5.0], dtype=dtype) % -3).tolist() == [-2.0, -1.0]


@pytest.mark.parametrize("dtype", [*FLOATS, rg.complex64])
def test_a_running_sum_begins_with_zero(dtype):
    x = rg.tensor([-0.0, -0.0, 1.0, -1.0]).to(dtype)
    parts = rg.view_as_real(x.cumsum(0)) if dtype.is_complex else x.cumsum(0)
    assert not parts.signbit().any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_logarithm_of_a_sigmoid_of_one_is_positive_zero(dtype):
    assert not F.logsigmoid(rg.tensor([1e4, float("inf")], dtype=dtype)).signbit().any()


def test_bfloat16_has_roots_and_cubes_in_steps_and_float16_powers_rounded_once():
    values = [-0.0, float("-inf"), 1.3, 0.7, 2.1]
    x, y = rg.tensor(values, dtype=rg.bfloat16), rg.tensor(values, dtype=rg.float16)
    assert (x**0.5)[0].signbit()
    assert (x**0.5)[1].isnan()
    assert (x**3)[2:].equal((x * x * x)[2:])
    assert (y**0.5)[:2].tolist() == [0.0, float("inf")]
    assert (y**3)[2:].equal((y.float() ** 3).half()[2:])


def test_a_complex_zero_to_the_power_of_minus_one_is_infinite():
    assert (rg.zeros(2, dtype=rg.complex64) ** -1).isinf().all()
