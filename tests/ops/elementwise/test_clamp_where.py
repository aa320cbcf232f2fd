"""maximum, minimum, clamp, where, nan_to_num: ties, bounds, NaN branches, dtypes."""

import math
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes

INF, NAN = math.inf, math.nan


def leaf(*values, dtype=rg.float64):
    return rg.tensor([float(v) for v in values], dtype=dtype, requires_grad=True)


def gradients(out, *inputs):
    return [g.tolist() for g in rg.autograd.grad(out.sum(), inputs, materialize_grads=True)]


@pytest.mark.parametrize(
    ("name", "values", "first", "second"),
    [
        ("maximum", [1, 2, 2, NAN, NAN], [0.5, 0, 1, 1, 1], [0.5, 1, 0, 1, 1]),
        ("minimum", [1, 1, 1, NAN, NAN], [0.5, 1, 0, 1, 1], [0.5, 0, 1, 1, 1]),
        ("fmax", [1, 2, 2, 1, 1], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0]),
        ("fmin", [1, 1, 1, 1, 1], [1, 1, 0, 0, 1], [0, 0, 1, 1, 0]),
    ],
)
def test_ties_and_nan_of_two_tensors(name, values, first, second):
    x, y = leaf(1, 1, 2, NAN, 1), leaf(1, 2, 1, 1, NAN)
    out = getattr(rg, name)(x, y)
    np.testing.assert_array_equal(out.tolist(), values)
    assert gradients(out, x, y) == [first, second]


def test_an_infinite_cotangent_does_not_leak_to_the_smaller_one():
    x, y = leaf(1), leaf(2)
    grads = rg.autograd.grad(rg.maximum(x, y), [x, y], rg.tensor([INF], dtype=rg.float64))
    assert [g.item() for g in grads] == [0.0, INF]


def test_clamp_passes_the_slope_at_its_bounds():
    x = leaf(-2, -1, 0, 1, 2, NAN)
    out = x.clamp(-1, 1)
    np.testing.assert_array_equal(out.tolist(), [-1, -1, 0, 1, 1, NAN])
    assert gradients(out, x) == [[0, 1, 1, 1, 0, 0]]
    assert gradients(x.clamp(min=-1), x) == [[0, 1, 1, 1, 1, 0]]
    assert gradients(x.clamp_max(1), x) == [[1, 1, 1, 1, 0, 0]]


def test_clamp_by_tensors_sends_the_slope_to_what_was_chosen():
    x = leaf(-2, -1, 0, 1, 2, 0, NAN)
    low, high = leaf(-1, -1, -1, -1, -1, 2, 0), leaf(1, 1, 1, 1, 1, 1, 1)
    out = x.clamp(low, high)
    np.testing.assert_array_equal(out.tolist(), [-1, -1, 0, 1, 1, 1, NAN])
    assert gradients(out, x, low, high) == [
        [0, 1, 1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0],
    ]


def test_between_equal_bounds_only_what_is_above_has_a_slope():
    x, low, high = leaf(0, 1, 2), leaf(1, 1, 1), leaf(1, 1, 1)
    assert gradients(x.clamp(low, high), x, low, high) == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_clamp_second_derivative_is_zero():
    x = leaf(-2, 1, 0.5)
    g = rg.ones(3, dtype=rg.float64, requires_grad=True)
    (derivative,) = rg.autograd.grad(x.clamp(-1, 1), x, g, create_graph=True)
    assert gradients(derivative, x, g) == [[0, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("make", "dtype", "values"),
    [
        (lambda: rg.tensor([1, 2]).clamp(1.5), rg.float32, [1.5, 2.0]),
        (lambda: rg.tensor([1, 2]).clamp(0, 1.5), rg.float32, [1.0, 1.5]),
        (lambda: rg.tensor([True]).clamp(0), rg.int64, [1]),
        (lambda: rg.tensor([1.0]).clamp(3, 2), rg.float32, [2.0]),
        (lambda: rg.tensor([1]).clamp(rg.tensor([1.5])), rg.float32, [1.5]),
        (lambda: rg.tensor([3 + 5j]).clamp(max=rg.tensor(2.0)), rg.complex64, [2 + 2j]),
        (lambda: rg.tensor([3 + 5j]).clamp(max=rg.tensor(2 + 4j)), rg.complex64, [2 + 4j]),
        (lambda: rg.tensor([1 + 5j]).clamp(0, 2), rg.complex64, [1 + 2j]),
    ],
)
def test_clamp_dtypes_and_crossed_bounds(make, dtype, values):
    found = make()
    assert (found.dtype, found.tolist()) == (dtype, values)


def test_clamp_errors():
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        rg.ones(1).clamp()
    with pytest.raises(TypeError, match="a bound must be a Tensor or a number"):
        rg.ones(1).clamp("a")


def test_where_keeps_a_nan_branch_apart():
    condition = rg.tensor([True, False])
    x, y = leaf(1, 2), leaf(3, 4)
    grads = rg.autograd.grad(rg.where(condition, x, y), [x, y],
                             rg.tensor([NAN, INF], dtype=rg.float64))  # fmt: skip
    np.testing.assert_array_equal(grads[0].tolist(), [NAN, 0])
    np.testing.assert_array_equal(grads[1].tolist(), [0, INF])


def test_where_does_not_cure_a_slope_that_is_nan_inside_a_branch():
    x = leaf(0, 1)
    out = rg.where(x > 0, x.log(), x)
    np.testing.assert_array_equal(gradients(out, x)[0], [NAN, 1])  # as PyTorch: 0 / 0 in the log


@pytest.mark.parametrize(
    ("input", "other", "dtype"),
    [
        (1, 2, rg.int64),
        (1.0, 2, rg.float32),
        (True, False, rg.bool),
        (1j, 0.0, rg.complex64),
        (rg.tensor([1, 2]), 2.5, rg.float32),
        (2.5, rg.ones(2, dtype=rg.float64), rg.float64),
        (rg.ones(2), rg.ones(2, dtype=rg.float64), rg.float64),
    ],
)
def test_where_promotes_numbers_and_tensors(input, other, dtype):
    assert rg.where(rg.tensor([True, False]), input, other).dtype is dtype


def test_where_warns_once_of_a_condition_of_bytes(monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    condition = rg.tensor([1, 0], dtype=rg.uint8)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor.*deprecated"):
        assert rg.where(condition, 1, 2).tolist() == [1, 2]
    with warnings.catch_warnings(action="error"):
        assert rg.ones(2).where(condition, 0.0).tolist() == [1.0, 0.0]


def test_where_wants_a_bool_condition():
    with pytest.raises(RuntimeError, match="expected condition to be a boolean tensor"):
        rg.where(rg.tensor([1, 0]), 1, 2)
    with pytest.raises(TypeError, match="condition must be Tensor"):
        rg.where(True, 1, 2)


def test_where_broadcasts_and_is_a_method():
    condition = rg.tensor([[True], [False]])
    x, y = leaf(1, 2), leaf(3)
    out = x.where(condition, y)
    assert out.tolist() == [[1, 2], [3, 3]]
    assert gradients(out, x, y) == [[1, 1], [2]]


def test_where_alone_finds_the_true_elements():
    assert [t.tolist() for t in rg.where(rg.tensor([[0, 1], [1, 0]]))] == [[0, 1], [1, 0]]


def test_nan_to_num_replaces_with_slope_zero():
    x = leaf(NAN, INF, -INF, 1)
    out = rg.nan_to_num(x)
    assert out.tolist() == [0, np.finfo(float).max, -np.finfo(float).max, 1]
    assert gradients(out, x) == [[0, 0, 0, 1]]
    assert x.nan_to_num(1, 2, 3).tolist() == [1, 2, 3, 1]
    z = rg.nan_to_num(rg.tensor([complex(NAN, INF)]))
    assert z.tolist() == [complex(0, np.finfo(np.float32).max)]


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_half_floats_are_bounded_by_tensors_on_one_side(dtype):
    x = rg.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    bound = rg.tensor(1.5, requires_grad=True)
    y = x.clamp(max=bound)
    y.sum().backward()
    assert (y.dtype, y.tolist()) == (dtype, [1.0, 1.5])
    assert (x.grad.tolist(), bound.grad.item(), bound.grad.dtype) == ([1.0, 0.0], 1.0, rg.float32)
    assert x.detach().clone().clamp_(min=rg.tensor([1.5, 3.0], dtype=dtype)).tolist() == [1.5, 3.0]


def test_half_floats_bounded_by_wider_tensors_are_as_wide():
    x = rg.tensor([1.0, 2.0], dtype=rg.float16)
    y = x.clamp(rg.tensor([1.5, 0.1]), rg.tensor([9.0, 0.3]))
    assert (y.dtype, y.tolist()) == (rg.float32, [1.5, rg.tensor(0.3).item()])


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float32, rg.float64])
def test_infinities_become_the_largest_numbers_of_the_dtype(dtype):
    x = rg.tensor([INF, -INF, NAN], dtype=dtype)
    most = rg.finfo(dtype).max
    assert rg.nan_to_num(x).tolist() == [most, -most, 0.0]
    assert rg.nan_to_num(x, posinf=2.0).tolist() == [2.0, -most, 0.0]
