"""`pow` in its three forms: values, derivatives at infinite factors, dtypes, what nodes show."""

import math

import numpy as np
import pytest

import retrograd as rg

INF, NAN = math.inf, math.nan


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def check(found, expected, rtol=1e-14):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)


def test_negative_powers_of_large_complex_numbers_are_small():
    z = leaf(1e200, complex(1e308, 1e308), complex(INF, INF), 1 + 1j, dtype=rg.complex128)
    check(z.pow(-2).tolist(), [0, 0, 0, -0.5j])
    check(rg.pow(z, rg.full_like(z, -4)).tolist(), [0, 0, 0, -0.25])
    z.pow(-1).real.sum().backward()
    check(z.grad.tolist(), [0, 0, 0, -0.5j])


def test_the_node_shows_what_pytorch_shows():
    x = leaf(5.0)
    node = x.pow(2).grad_fn
    assert node.name() == "PowBackward0"
    assert node._saved_self is x
    assert node._saved_exponent == 2
    assert x.pow(x).grad_fn.name() == "PowBackward1"
    assert (2**x).grad_fn.name() == "PowBackward2"
    assert x.square().grad_fn.name() == "PowBackward0"


@pytest.mark.parametrize(
    ("exponent", "values", "first", "second"),
    [
        (0, [1, 1, 1], [0, 0, 0], [0, 0, 0]),
        (1, [0, -2, 4], [1, 1, 1], [0, 0, 0]),
        (2, [0, 4, 16], [0, -4, 8], [2, 2, 2]),
        (3, [0, -8, 64], [0, 12, 48], [0, -12, 24]),
        (0.5, [0, NAN, 2], [INF, NAN, 0.25], [-INF, NAN, -0.03125]),
        (-1, [INF, -0.5, 0.25], [-INF, -0.25, -0.0625], [INF, -0.25, 0.03125]),
        (1.5, [0, NAN, 8], [0, NAN, 3], [INF, NAN, 0.375]),
        (2.5, [0, NAN, 32], [0, NAN, 20], [0, NAN, 7.5]),
    ],
)
def test_powers_by_numbers_to_second_order(exponent, values, first, second):
    x = leaf(0.0, -2.0, 4.0)
    y = x.pow(exponent)
    check(y.tolist(), values)
    g = rg.ones(3, dtype=rg.float64, requires_grad=True)
    (derivative,) = rg.autograd.grad(y, x, g, create_graph=True)
    check(derivative.tolist(), first)
    assert derivative.requires_grad == (exponent != 0)
    if exponent == 0:
        return
    (curve,) = rg.autograd.grad(derivative.sum(), x, materialize_grads=True)
    check(curve.tolist(), second)


def test_powers_by_tensors_at_every_edge():
    x = leaf(0, 0, 0, 0, -2, -2, 2, NAN)
    y = leaf(0, 1, 2, -1, 2, 1.5, 0, 0)
    out = x**y
    check(out.tolist(), [1, 0, 0, INF, 4, NAN, 1, 1])
    by_base, by_exponent = rg.autograd.grad(out.sum(), [x, y])
    check(by_base.tolist(), [0, 1, 0, -INF, -4, NAN, 0, 0])
    check(by_exponent.tolist(), [0, 0, 0, -INF, NAN, NAN, math.log(2), NAN])


def test_the_slope_of_a_power_of_zero_is_zero_below_the_normal_numbers():
    x = rg.tensor([1e-42, -1e-42, 1e-45, 0.0], requires_grad=True)
    y = rg.zeros(4, requires_grad=True)
    assert rg.autograd.grad((x**y).sum(), x)[0].tolist() == [0.0] * 4


def test_second_derivatives_at_a_zero_base_are_the_limits():
    x, y = leaf(0.0, 0.0), leaf(2.0, 3.0)
    by_base, by_exponent = rg.autograd.grad((x**y).sum(), [x, y], create_graph=True)
    xx, xy = rg.autograd.grad(by_base.sum(), [x, y], retain_graph=True)
    yx, yy = rg.autograd.grad(by_exponent.sum(), [x, y])
    assert xx.tolist() == [2.0, 0.0]
    assert xy.tolist() == yx.tolist() == yy.tolist() == [0.0, 0.0]


def test_mixed_derivative_at_exponent_zero_is_not_lost():
    x, y = leaf(2.0), leaf(0.0)
    (by_base,) = rg.autograd.grad(x**y, x, create_graph=True)
    (mixed,) = rg.autograd.grad(by_base, y)
    assert mixed.item() == 0.5  # d/dy of y x^(y - 1)


@pytest.mark.parametrize(
    ("base", "values", "derivatives"),
    [
        (0, [1, 0, INF], [0, 0, -INF]),
        (2, [1, 2, 0.5], [math.log(2), 2 * math.log(2), math.log(2) / 2]),
        (-2.0, [1, -2, -0.5], [NAN, NAN, NAN]),
    ],
)
def test_powers_of_numbers(base, values, derivatives):
    y = leaf(0.0, 1.0, -1.0)
    out = base**y
    check(out.tolist(), values)
    check(rg.autograd.grad(out.sum(), y)[0].tolist(), derivatives)


def test_complex_power_of_a_real_tensor_has_a_real_gradient():
    x = leaf(-2.0, 4.0)
    out = x.pow(2 + 1j)
    check(out.tolist(), [0.13296730803542664 + 0.11044808147333202j,
                         2.935311595892827 + 15.728443846579898j])  # fmt: skip
    (grad,) = rg.autograd.grad(out, x, rg.ones_like(out))
    check(grad.tolist(), [-0.0777432672987606, -2.4644551636985614], rtol=1e-13)


def test_complex_power_of_complex_equals_reference():
    z = leaf(1 + 1j, dtype=rg.complex128)
    w = leaf(0.5 - 1j, dtype=rg.complex128)
    out = z**w
    check(out.tolist(), [2.605490112842469 + 0.12026481418247154j])
    by_base, by_exponent = rg.autograd.grad(out, [z, w], rg.ones_like(out))
    check(by_base.tolist(), [-0.5611739175737637 + 1.9841837881774693j])
    check(by_exponent.tolist(), [0.8085382986665369 - 2.088027757812258j])


def test_complex_powers_of_zero_have_slope_zero():
    z = leaf(0j, 0j, dtype=rg.complex128)
    w = leaf(0j, 2 + 0j, dtype=rg.complex128)
    out = z**w
    grads = rg.autograd.grad(out, [z, w], rg.ones_like(out))
    assert [g.tolist() for g in grads] == [[0j, 0j], [0j, 0j]]


@pytest.mark.parametrize(
    ("make", "dtype", "values"),
    [
        (lambda: rg.tensor([2, 3]) ** 2, rg.int64, [4, 9]),
        (lambda: rg.tensor([2, 3]) ** 2.0, rg.float32, [4.0, 9.0]),
        (lambda: rg.tensor([True, False]) ** 2, rg.int64, [1, 0]),
        (lambda: rg.tensor([2, 3, -1]) ** rg.tensor([-1, 2, -3]), rg.int64, [0, 9, -1]),
        (lambda: 2 ** rg.tensor([-1, 2]), rg.int64, [0, 4]),
        (lambda: 2.0 ** rg.tensor([-1, 2]), rg.float32, [0.5, 4.0]),
        (lambda: rg.tensor([2]).square(), rg.int64, [4]),
        (lambda: rg.float_power(rg.tensor([2]), 2), rg.float64, [4.0]),
        (lambda: rg.float_power(rg.tensor([2j]), 2), rg.complex128, [-4 + 0j]),
        (lambda: rg.float_power(2, rg.tensor([2])), rg.float64, [4.0]),
    ],
)
def test_dtypes_equal_reference(make, dtype, values):
    found = make()
    assert found.dtype is dtype
    check(found.tolist(), values)


def test_a_negative_integer_power_of_integers_raises():
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        rg.tensor([2]) ** -1


def test_powers_of_bools_raise():
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        rg.tensor([True]) ** rg.tensor([True])


def test_a_bool_tensor_to_the_power_of_a_python_bool_is_one():
    x = rg.tensor([True, False])
    assert (x**True).tolist() == [True, False]
    assert (x**False).tolist() == [True, True]
    assert (x**True).dtype is rg.bool
    assert (x**1).dtype is rg.int64


@pytest.mark.parametrize("exponent", [-2, 3])
def test_some_powers_of_bfloat16_are_rounded_at_each_step(exponent):
    x = rg.linspace(0.1, 3, 101).bfloat16()
    assert rg.equal(x**exponent, x * x * x if exponent == 3 else (x * x).reciprocal())


@pytest.mark.parametrize("exponent", [-1, -0.5, 0.5, 0, 1, 2, 4, 2.5, True])
@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float8_e4m3fn, rg.float8_e5m2])
def test_powers_of_narrow_floats_are_rounded_once(dtype, exponent):
    x = rg.tensor([1.0625, 3.0, 0.3, 7.0], dtype=dtype, requires_grad=True)
    y = x**exponent
    assert y.dtype is dtype
    once = (x.detach().double() ** float(exponent)).to(dtype)
    np.testing.assert_array_equal(y.detach().float().numpy(), once.float().numpy())
    assert rg.autograd.grad(y.sum(), x)[0].dtype is dtype


@pytest.mark.parametrize("arguments", [(2, 3), (rg.ones(1), "a")])
def test_other_arguments_raise(arguments):
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        rg.pow(*arguments)


def test_in_place_power_differentiates():
    x = leaf(3.0)
    y = x.clone()
    y **= 2
    y.pow_(2)
    assert y.tolist() == [81.0]
    assert rg.autograd.grad(y, x)[0].tolist() == [108.0]


@pytest.mark.parametrize("exponent", [1, 2, 3, 4])
def test_derivatives_of_a_power_end_in_a_zero_with_none(exponent):
    x = rg.tensor([1.5, -2.0], dtype=rg.float64, requires_grad=True)
    y = x**exponent
    for order in range(1, exponent + 1):
        (y,) = rg.autograd.grad(y.sum(), x, create_graph=True)
        factor = np.prod(np.arange(exponent, exponent - order, -1.0))
        assert y.requires_grad
        assert y.tolist() == (factor * x.detach().numpy() ** (exponent - order)).tolist()
    (y,) = rg.autograd.grad(y.sum(), x, create_graph=True)
    assert y.tolist() == [0.0, 0.0]
    assert not y.requires_grad


def test_a_number_is_given_as_self():
    exponent = rg.tensor([1.0, 3.0])
    assert rg.pow(self=2, exponent=exponent).tolist() == [2.0, 8.0]
    assert rg.xlogy(self=2, other=rg.ones(1)).tolist() == [0.0]
    assert rg.bitwise_and(self=6, other=rg.tensor([3])).tolist() == [2]


def test_a_complex_number_to_real_powers_has_the_real_part_of_the_slope():
    x, base = leaf(0.0, 1.0, 2.0), 1 + 2j
    (found,) = rg.autograd.grad(rg.pow(base, x).real.sum(), x)
    check(found.numpy(), [(base**n * np.log(base)).real for n in (0, 1, 2)])


@pytest.mark.parametrize("exponent", [-1, -2, np.int64(-1)])
@pytest.mark.parametrize("raise_", [lambda x, e: x**e, rg.pow, lambda x, e: x.clone().pow_(e)])
def test_booleans_have_no_negative_powers(raise_, exponent):
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        raise_(rg.tensor([True, False]), exponent)
