"""What may be assigned to an index, and what memory `resize_` finds, as in PyTorch."""

import math

import numpy as np
import pytest

import retrograd as rg


def test_an_assignment_to_false_does_nothing():
    y, w = rg.zeros(3), rg.ones(3, requires_grad=True)
    y[False] = w
    assert not y.requires_grad
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_an_assignment_to_false_writes_no_leaf():
    x = rg.ones(2, requires_grad=True)
    x[False] = 5.0
    assert x._version == 0


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], (1.0, 2.0), np.ones(2), np.array(1.0), range(2), None]
)
def test_only_numbers_and_tensors_are_assigned(value):
    y = rg.zeros(2, 2)
    with pytest.raises(TypeError, match=f"can't assign a {type(value).__name__}"):
        y[0] = value
    with pytest.raises(TypeError, match="can't assign"):
        y[y == 0] = value
    assert y.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert y._version == 0


def test_numbers_of_numpy_are_assigned():
    y = rg.zeros(2)
    y[0], y[1] = np.float32(2.0), np.int64(5)
    assert y.tolist() == [2.0, 5.0]


def test_resize_finds_the_memory_behind_a_part_that_became_data():
    x = rg.arange(10.0)
    x.data = x.data[2:5]
    assert x.resize_(6).tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_resize_finds_the_memory_behind_a_part_that_was_set():
    x, y = rg.arange(10.0), rg.zeros(2)
    y.set_(x[2:5])
    y.resize_(6)
    y[3] = -1.0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 6.0, 7.0, 8.0, 9.0]


def test_resize_beyond_the_memory_keeps_what_lies_there():
    x = rg.arange(10.0)
    x.data = x.data[2:5]
    assert x.resize_(9)[:8].tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_resize_keeps_what_was_hidden_by_a_resize_before():
    x = rg.arange(4.0)
    x.resize_(1)
    assert x.resize_(5)[:4].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_memory_of_its_own_has_no_room_of_before():
    x = rg.arange(4.0)
    x.resize_(1)
    x.data = rg.ones(2)
    assert x.resize_(3)[:2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.filterwarnings("ignore::retrograd.errors.ComplexWarning")
def test_copies_of_complex_numbers_keep_the_real_part(dtype):
    z = rg.tensor([1 + 2j])
    x = rg.zeros(1, dtype=getattr(rg, dtype))
    assert x.copy_(z).tolist() == [1]
    x[:] = z + 1
    assert x.tolist() == [2]
    y = rg.zeros(1, requires_grad=True).clone()
    assert y.copy_(z).tolist() == [1]


def test_copies_to_booleans_see_both_parts():
    assert rg.zeros(2, dtype=rg.bool).copy_(rg.tensor([2j, 0j])).tolist() == [True, False]


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], rg.tensor([True, False])])
def test_a_number_beyond_16_bit_floats_is_assigned_as_infinity(key):
    for dtype, value in ((rg.half, -1e9), (rg.half, 2**40), (rg.bfloat16, -1e300)):
        x = rg.zeros(2, dtype=dtype)
        x[key] = value
        assert x.tolist() == [math.copysign(math.inf, value), 0]
    x = rg.zeros(2, dtype=rg.half)
    x[key] = 65510.0
    assert x.tolist() == [65504, 0]
    with pytest.raises(RuntimeError, match="overflow"):
        rg.zeros(2)[key] = 1e300


def test_copy_takes_numbers_of_numpy():
    assert rg.zeros(2).copy_(np.int64(3)).tolist() == [3.0, 3.0]
    assert rg.zeros(2, dtype=rg.int64).copy_(np.float32(2.5)).tolist() == [2, 2]
