"""Python numbers where a dtype does not hold them, or where they stand for tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

MASK, ONES = rg.tensor([True, False]), rg.ones(2)
FIRST = rg.tensor([0])

# What stores, or computes with, a number: float32 holds 3e38 and no 1e300.
TAKERS = {
    "full": lambda v: rg.full((2,), v),
    "full_like": lambda v: rg.full_like(ONES, v),
    "new_full": lambda v: ONES.new_full((2,), v),
    "fill_": lambda v: rg.ones(2).fill_(v),
    "where": lambda v: rg.where(MASK, ONES, v),
    "where_first": lambda v: rg.where(MASK, v, ONES),
    "masked_fill": lambda v: ONES.masked_fill(MASK, v),
    "index_fill": lambda v: ONES.index_fill(0, FIRST, v),
    "scatter": lambda v: ONES.scatter(0, FIRST, v),
    "setitem": lambda v: rg.ones(2).__setitem__(0, v),
    "setitem_index": lambda v: rg.ones(2).__setitem__([0], v),
    "fill_diagonal_": lambda v: rg.ones(2, 2).fill_diagonal_(v),
    "clamp_min": lambda v: ONES.clamp(-v),
    "clamp_max": lambda v: ONES.clamp(max=v),
    "pad": lambda v: F.pad(ONES, (1, 1), value=v),
    "add": lambda v: ONES.add(ONES, alpha=v),
    "sub": lambda v: ONES.sub(1, alpha=v),
    "rsub": lambda v: rg.rsub(ONES, 1, alpha=v),
    "addcmul": lambda v: rg.addcmul(ONES, ONES, ONES, value=v),
    "addcdiv": lambda v: rg.addcdiv(ONES, ONES, ONES, value=v),
    "addmm_beta": lambda v: rg.addmm(ONES, rg.ones(2, 2), rg.ones(2, 2), beta=v),
    "addmm_alpha": lambda v: rg.addmm(ONES, rg.ones(2, 2), rg.ones(2, 2), alpha=v),
    "lerp": lambda v: rg.lerp(ONES, ONES, v),
    "leaky_relu": lambda v: F.leaky_relu(ONES, v),
    "hardtanh": lambda v: F.hardtanh(ONES, -v, v),
    "threshold": lambda v: F.threshold(ONES, 1.0, v),
    "elu": lambda v: F.elu(ONES, v),
    "celu": lambda v: F.celu(ONES, v),
    "softplus": lambda v: F.softplus(ONES, v),
}


@pytest.mark.parametrize("name", TAKERS)
def test_a_number_that_float32_does_not_hold_is_refused(name):
    TAKERS[name](3e38)
    with pytest.raises(RuntimeError, match="cannot be converted to type float32 without overflow"):
        TAKERS[name](1e300)


@pytest.mark.parametrize("name", ["full", "where", "masked_fill", "clamp_max", "index_fill"])
def test_infinity_is_a_number_that_every_floating_dtype_holds(name):
    TAKERS[name](math.inf)


def test_arithmetic_with_numbers_overflows_silently():
    assert (ONES + 1e300).tolist() == [math.inf] * 2
    assert (ONES * -1e300).tolist() == [-math.inf] * 2


@pytest.mark.parametrize("value", [2.9, rg.tensor(2.9)])
def test_fillers_of_integers_are_cut_off(value):
    x = rg.tensor([7, 8])
    assert x.masked_fill(MASK, value).tolist() == [2, 8]
    assert x.index_fill(0, FIRST, value).tolist() == [2, 8]
    assert x.bool().masked_fill(MASK, value).tolist() == [True, True]


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**63, 1j])
def test_fillers_that_no_integer_stands_for_are_refused(value):
    with pytest.raises(RuntimeError, match="cannot be converted to type int64 without overflow"):
        rg.tensor([7, 8]).masked_fill(MASK, value)


def test_a_filler_with_history_of_another_dtype_gets_its_gradient():
    value = rg.tensor(2.0, dtype=rg.float64, requires_grad=True)
    ONES.masked_fill(MASK, value).sum().backward()
    assert (value.grad.dtype, value.grad.item()) == (rg.float64, 1.0)


def test_negative_bounds_of_unsigned_integers_wrap():
    assert rg.tensor([1, 2], dtype=rg.uint8).clamp(-1).tolist() == [255, 255]


def test_what_is_no_number_is_no_filler():
    for call in (
        lambda: rg.where(MASK, [1, 2], 1),
        lambda: ONES.masked_fill(MASK, [1]),
        lambda: ONES.index_fill(0, FIRST, None),
    ):
        with pytest.raises(TypeError, match="Number"):
            call()


def test_alpha_has_a_dtype_that_the_sum_has():
    x, mask = rg.tensor([1, 2]), rg.tensor([True, False])
    assert x.add(x, alpha=2).tolist() == [3, 6]
    assert mask.add(True, alpha=2).tolist() == [True, True]
    assert mask.add(mask, alpha=0).tolist() == [True, False]
    for alpha, text in ((1.5, "floating point number"), (True, "Boolean alpha")):
        with pytest.raises(RuntimeError, match=text):
            x.add(1, alpha=alpha)
    with pytest.raises(RuntimeError, match="complex number"):
        ONES.sub(1, alpha=1j)


@pytest.mark.parametrize("other", [True, rg.tensor([True])])
def test_booleans_are_not_subtracted(other):
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with two bool tensors"):
        rg.tensor([True]) - other
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor"):
        -rg.tensor([True])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, mask: x - mask,
        lambda x, mask: mask - x,
        lambda x, mask: mask - 1,
        lambda x, mask: 1 - mask,
        lambda x, mask: x.sub_(mask),
        lambda x, mask: x.sub(mask, alpha=2),
        lambda x, mask: rg.rsub(mask, x, alpha=2),
        lambda x, mask: rg.vmap(lambda one: one - (one > 1))(x),
        lambda x, mask: x - True,
        lambda x, mask: False - x,
        lambda x, mask: x[0] - True,
        lambda x, mask: x - np.True_,
        lambda x, mask: x.__isub__(True),
        lambda x, mask: x.sub_(False),
        lambda x, mask: x.sub(True, alpha=2),
        lambda x, mask: rg.sub(x, True),
        lambda x, mask: rg.sub(True, x),
        lambda x, mask: rg.sub(x, True, out=rg.empty(2)),
        lambda x, mask: rg.rsub(x, False),
        lambda x, mask: rg.rsub(x, True, alpha=2),
        lambda x, mask: rg.vmap(lambda one: one - True)(x),
        lambda x, mask: x.to("meta") - True,
    ],
)
@pytest.mark.parametrize("dtype", [rg.float32, rg.int64, rg.float16])
def test_a_mask_is_not_subtracted_from_numbers_nor_they_from_it(call, dtype):
    x, mask = rg.tensor([1, 2], dtype=dtype), rg.tensor([True, False])
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is"):
        call(x, mask)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [rg.uint8, rg.int64, rg.float16, rg.float32, rg.complex64])
def test_a_boolean_counts_as_a_number_elsewhere(dtype):
    x = rg.tensor([0, 2, 3], dtype=dtype)
    for y, expected in (
        (x + True, [1, 3, 4]),
        (True + x, [1, 3, 4]),
        (x.add(True, alpha=2), [2, 4, 5]),
        (x * True, [0, 2, 3]),
        (x**True, [0, 2, 3]),
        (rg.where(x != 0, x, True), [1, 2, 3]),
        (x.clone().add_(True), [1, 3, 4]),
        (rg.vmap(lambda one: one + True)(x), [1, 3, 4]),
    ):
        assert (y.tolist(), y.dtype) == (expected, dtype)
    assert (x == False).tolist() == [True, False, False]  # noqa: E712
    if dtype.is_floating_point:
        x.requires_grad_()
        y = (x + True) * True / True
        assert (y.tolist(), y.dtype) == ([1, 3, 4], dtype)
        y.sum().backward()
        assert (x.grad.tolist(), x.grad.dtype) == ([1, 1, 1], dtype)


def test_masks_alone_have_no_products_to_add():
    mask = rg.tensor([True, False])
    for call in (mask.addcmul, mask.clone().addcmul_):
        with pytest.raises(NotImplementedError, match="\"addcmul\" not implemented for 'Bool'"):
            call(mask, mask)
    assert rg.tensor([1, 2]).addcmul(mask, mask).tolist() == [2, 2]


def test_a_product_with_alpha_has_the_dtype_of_the_sum():
    small = rg.tensor([254], dtype=rg.uint8)
    assert rg.tensor([-2]).sub_(small, alpha=2).tolist() == [-510]
    assert rg.tensor([-2]).add(small, alpha=2).tolist() == [506]


@pytest.mark.parametrize("function", [rg.add, rg.sub, rg.rsub])
def test_a_factor_alpha_is_no_saved_value_that_a_pass_frees(function):
    x, y = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    total = function(x, y, alpha=3).sum()
    total.backward()
    total.backward()
    signs = {"add": (2.0, 6.0), "sub": (2.0, -6.0), "rsub": (-6.0, 2.0)}
    assert (x.grad[0].item(), y.grad[0].item()) == signs[function.__name__]


def test_ranges_of_integers_end_where_int64_does():
    assert rg.arange(2**63 - 2, 2**63 - 1).tolist() == [2**63 - 2]
    with pytest.raises(RuntimeError, match="cannot be converted to type int64 without overflow"):
        rg.arange(2**63, 2**63 + 2)


def test_a_sum_as_integers_has_no_history():
    x = rg.tensor([1.5, 2.0], requires_grad=True)
    for total in (x.sum(dtype=rg.int64), x.prod(dtype=rg.int64), x.cumsum(0, dtype=rg.int64)):
        assert not total.requires_grad


def test_whole_quotients_of_integers_keep_their_digits():
    x = rg.tensor([2**62 + 1, -(2**62) - 1, 7, -7])
    assert x.div(1, rounding_mode="trunc").tolist() == x.tolist()
    assert x.div(2, rounding_mode="trunc").tolist() == [2**61, -(2**61), 3, -3]
    assert x.div(-2, rounding_mode="floor").tolist() == [-(2**61) - 1, 2**61, -4, 3]


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_integers_are_not_divided_by_zero(mode):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        rg.tensor([5]).div(0, rounding_mode=mode)
    assert rg.tensor([5.0]).div(0, rounding_mode=mode).item() == math.inf


def test_nothing_is_no_tensor():
    for function in (rg.sin, rg.linalg.det, rg.neg, F.relu):
        with pytest.raises(TypeError, match="must be Tensor, not NoneType"):
            function(None)


def test_a_quotient_of_a_number_may_be_overwritten():
    x = rg.tensor([1.0, 4.0], requires_grad=True)
    y = 1 / x
    y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [-2.0, -0.125]


@pytest.mark.parametrize("one", [1, 1.0, True])
def test_one_over_integers_is_floating(one):
    y = one / rg.tensor([1, 2, 4])
    assert (y.dtype, y.tolist()) == (rg.float32, [1.0, 0.5, 0.25])


def test_a_number_beyond_float16_is_divided_in_float32():
    x = rg.tensor([2.0, 4.0], dtype=rg.float16, requires_grad=True)
    y = 1e5 / x
    assert (y.dtype, y.tolist()) == (rg.float16, [49984.0, 24992.0])


TAKE_REAL = {
    "hardtanh": lambda x, number: F.hardtanh(x, number, 2.0),
    "hardtanh_": lambda x, number: F.hardtanh_(x.clone(), -1.0, number),
    "softshrink": F.softshrink,
    "rrelu": lambda x, number: F.rrelu(x, number, 2.0),
    "clamp": lambda x, number: rg.clamp(x, max=number),
    "lerp": lambda x, number: rg.lerp(x, x + 1, number),
    "addcmul": lambda x, number: rg.addcmul(x, x, x, value=number),
    "addcdiv": lambda x, number: rg.addcdiv(x, x, x, value=number),
    "addmm": lambda x, number: rg.addmm(x, x, x, beta=number, alpha=number),
}


@pytest.mark.parametrize("name", TAKE_REAL)
def test_a_complex_number_beside_real_tensors_counts_as_real_or_is_refused(name):
    x = rg.tensor([[1.0, -3.0], [0.5, 2.0]])
    same = TAKE_REAL[name](x, 0.25)
    found = TAKE_REAL[name](x, 0.25 + 0j)
    assert found.dtype is rg.float32
    assert found.equal(same)
    with pytest.raises(RuntimeError, match="without overflow: 1j"):
        TAKE_REAL[name](x, 1j)


@pytest.mark.parametrize("size", [2, 5000])
def test_the_reciprocal_of_a_complex_zero_is_infinite(size):
    for found in (
        rg.reciprocal(rg.zeros(size, dtype=rg.complex64)),
        1 / rg.zeros(size, dtype=rg.complex64),
    ):
        assert found.isinf().all()


@pytest.mark.parametrize("pair", [("float", rg.int8), (rg.float32, rg.ones(1)), (1, None)])
def test_can_cast_asks_for_dtypes(pair):
    with pytest.raises(TypeError, match=r"must be retrograd\.dtype, not"):
        rg.can_cast(*pair)


def test_a_number_minus_a_tensor_is_one_node():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = 5 - x
    assert (y.tolist(), y.grad_fn.name()) == ([4.0, 3.0], "RsubBackward1")
    assert rg.autograd.grad(y @ y.detach(), x)[0].tolist() == [-4.0, -3.0]


@pytest.mark.parametrize("alpha", [True, 2])
def test_booleans_have_no_difference_whatever_the_factor(alpha):
    x = rg.tensor([True, False])
    with pytest.raises(RuntimeError, match="two bool tensors is not supported"):
        rg.sub(x, x, alpha=alpha)
    with pytest.raises(RuntimeError, match="bool tensor"):
        x.sub_(x, alpha=alpha)
    assert rg.add(x, ~x, alpha=alpha).tolist() == [True, True]


SCALED = {
    "add": lambda x, f: rg.add(x, x, alpha=f),
    "sub": lambda x, f: rg.sub(x, x * 3, alpha=f),
    "rsub": lambda x, f: rg.rsub(x, x * 3, alpha=f),
    "add_": lambda x, f: x.clone().add_(x, alpha=f),
    "addr alpha": lambda x, f: rg.addr(x, x, x, alpha=f),
    "addr beta": lambda x, f: rg.addr(x, x, x, beta=f),
}


@pytest.mark.parametrize("name", SCALED)
def test_a_boolean_is_no_factor_of_numbers_but_numpys_is_a_float(name):
    call = SCALED[name]
    what = "beta" if "beta" in name else "alpha"
    for x in (rg.tensor([2.0]), rg.tensor([2])):
        for factor in (True, False, rg.tensor(True)):
            with pytest.raises(RuntimeError, match=f"Boolean {what} only supported for Boolean"):
                call(x, factor)
    x = rg.tensor([2.0])
    assert call(x, np.bool_(True)).tolist() == call(x, 1.0).tolist()
    assert call(x, np.bool_(True)).dtype is rg.float32
    with pytest.raises(RuntimeError, match=f"argument {what} must not be a floating point number"):
        call(rg.tensor([2]), np.bool_(True))


def test_index_add_takes_booleans_as_numbers():
    zeros, index = rg.zeros(2), rg.tensor([0])
    for factor, expected in ((True, 3.0), (False, 0.0), (np.bool_(True), 3.0), (rg.tensor(2), 6.0)):
        found = zeros.index_add(0, index, rg.tensor([3.0]), alpha=factor)
        assert found.tolist() == [expected, 0.0]


def test_products_of_booleans_added_to_booleans_are_booleans_with_any_factor():
    x, matrix = rg.tensor([True, False]), rg.tensor([[True, False], [True, True]])
    for factor, expected in ((True, [True, True]), (2, [True, True]), (0, [True, False])):
        for found in (rg.addr(matrix, x, x, alpha=factor), rg.addmv(x, matrix, x, alpha=factor)):
            assert found.dtype is rg.bool
        assert found.tolist() == expected


def test_two_numbers_are_added_with_a_factor():
    assert rg.add(1, 2, alpha=3).tolist() == 7
    assert rg.sub(1, 2.5, alpha=2).tolist() == -4.0
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        rg.add(1, 2, alpha=0.5)


@pytest.mark.parametrize("value", [None, "a"])
def test_what_is_no_number_is_refused_as_a_factor(value):
    x = rg.ones(2)
    for call in (
        lambda: rg.addcmul(x, x, x, value=value),
        lambda: x.addcdiv_(x, x, value=value),
        lambda: rg.add(x, x, alpha=value),
        lambda: rg.addr(rg.ones(2, 2), x, x, beta=value),
    ):
        with pytest.raises(TypeError, match=f"must be Number, not {type(value).__name__}"):
            call()


def test_a_number_in_a_tensor_makes_a_scalar_tensor():
    assert rg.scalar_tensor(rg.tensor(2)).tolist() == 2.0
    assert rg.scalar_tensor(rg.tensor(True), dtype=rg.int32).dtype is rg.int32
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        rg.scalar_tensor(rg.ones(2))
