"""Elementwise functions against PyTorch's values, their kinks, and their dtypes."""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.registry import OPS

INF, NAN = math.inf, math.nan

# (value, gradient for cotangent 1) at 0.375, then at 0.375 + 0.25i, from PyTorch 2.13; the
# derivative of digamma from SciPy, since PyTorch's has ten correct digits only.
SMOOTH = {
    "exp": (
        (1.4549914146182013, 1.4549914146182013),
        ((1.4097592551059182 + 0.35997063665788215j), (1.4097592551059182 - 0.35997063665788215j)),
    ),
    "exp2": (
        (1.2968395546510096, 0.8989006809449624),
        ((1.277417276960445 + 0.2236021713454296j), (0.8854381839236952 - 0.1549892146351663j)),
    ),
    "expm1": (
        (0.45499141461820136, 1.4549914146182013),
        ((0.4097592551059183 + 0.35997063665788215j), (1.4097592551059184 - 0.35997063665788215j)),
    ),
    "log": (
        (-0.9808292530117262, 2.6666666666666665),
        ((-0.7969668629490676 + 0.5880026035475675j), (1.8461538461538463 + 1.2307692307692308j)),
    ),
    "log2": (
        (-1.415037499278844, 3.8471867757039027),
        ((-1.149780140929454 + 0.8483084401678749j), (2.66343699856424 + 1.7756246657094936j)),
    ),
    "log10": (
        (-0.42596873227228116, 1.1581186184086716),
        ((-0.3461183108385252 + 0.255366286065454j), (0.8017744281290803 + 0.5345162854193868j)),
    ),
    "log1p": (
        (0.31845373111853464, 0.7272727272727273),
        ((0.3347153269713146 + 0.17985349979247828j), (0.7040000000000001 + 0.128j)),
    ),
    "sqrt": (
        (0.6123724356957945, 0.8164965809277261),
        ((0.6425316760413445 + 0.19454293797642547j), (0.7128248935621184 + 0.2158260117395116j)),
    ),
    "rsqrt": (
        (1.6329931618554523, -2.1773242158072703),
        ((1.4256497871242368 - 0.4316520234790232j), (-1.0503524044352817 - 1.2757709675955522j)),
    ),
    "reciprocal": (
        (2.6666666666666665, -7.111111111111111),
        ((1.8461538461538463 - 1.2307692307692308j), (-1.8934911242603552 - 4.544378698224852j)),
    ),
    "square": ((0.140625, 0.75), ((0.078125 + 0.1875j), (0.75 - 0.5j))),
    "sin": (
        (0.36627252908604757, 0.9305076219123143),
        ((0.37777828462537144 + 0.23505768617892883j), (0.9597377507781499 + 0.0925249521556137j)),
    ),
    "cos": (
        (0.9305076219123143, -0.36627252908604757),
        ((0.9597377507781499 - 0.0925249521556137j), (-0.37777828462537144 + 0.23505768617892883j)),
    ),
    "tan": (
        (0.39362657592563277, 1.154941881274938),
        ((0.3666074983801973 + 0.2802620061661219j), (1.055854265768327 - 0.20549230594315476j)),
    ),
    "asin": (
        (0.3843967744956391, 1.0787197799411874),
        ((0.37062540406858024 + 0.265095392142051j), (1.0258258415885382 - 0.10326415088034788j)),
    ),
    "acos": (
        (1.1863995522992576, -1.0787197799411874),
        ((1.2001709227263162 - 0.265095392142051j), (-1.0258258415885382 + 0.10326415088034788j)),
    ),
    "atan": (
        (0.35877067027057225, 0.8767123287671232),
        ((0.3775522017393366 + 0.22117134811470598j), (0.9003058103975535 + 0.1565749235474006j)),
    ),
    "sinh": (
        (0.38385106791361456, 1.0711403467045868),
        ((0.3719180677883974 + 0.2650043626919772j), (1.0378411873175208 - 0.09496627396590501j)),
    ),
    "cosh": (
        (1.0711403467045868, 0.38385106791361456),
        ((1.0378411873175208 + 0.09496627396590501j), (0.3719180677883974 - 0.2650043626919772j)),
    ),
    "tanh": (
        (0.35835739835078595, 0.8715799750472562),
        ((0.3785525299471603 + 0.22070297673824243j), (0.9054077860117254 + 0.1670953404222619j)),
    ),
    "asinh": (
        (0.36672460423013675, 0.9363291775690445),
        ((0.3766674863805425 + 0.23542513158913966j), (0.9523983959118356 + 0.08220032930520335j)),
    ),
    "atanh": (
        (0.3942286801821351, 1.1636363636363636),
        ((0.3652544768289568 + 0.28017993845242156j), (1.041655172413793 - 0.21186206896551724j)),
    ),
    "sinc": (
        (0.7842133035765372, -1.070746323230526),
        ((0.8493858667973905 - 0.28408530454864955j), (-1.270377708585638 + 0.5356469069567079j)),
    ),
    "erf": ((0.4041169094348223, 0.9803528095459079), None),
    "erfc": ((0.5958830905651777, -0.9803528095459079), None),
    "erfinv": ((0.3456171147832066, 0.9986698378467824), None),
    "lgamma": ((0.8630739822706475, -2.75399904914514), None),
    "digamma": ((-2.75399904914514, 8.161777632761506), None),
    "sigmoid": (
        (0.5926665999540697, 0.24141290125295242),
        (
            (0.5940787105746781 + 0.060636656826948916j),
            (0.24482600036775512 + 0.011409236975677214j),
        ),
    ),
    "abs": ((0.375, 1.0), (0.45069390943299864, (0.8320502943378437 + 0.5547001962252291j))),
    "sgn": (
        (1.0, 0.0),
        ((0.8320502943378437 + 0.5547001962252291j), (0.6827079338156666 - 1.0240619007235001j)),
    ),
    "angle": ((0.0, 0.0), (0.5880026035475675, (-1.2307692307692308 + 1.8461538461538463j))),
}


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def two_derivatives(function, x):
    """Values, derivatives and second derivatives of a function of one tensor."""
    y = function(x)
    (first,) = rg.autograd.grad(y.sum(), x, create_graph=True)
    second = (
        rg.autograd.grad(first.sum(), x, materialize_grads=True)[0].tolist()
        if first.requires_grad
        else [0.0] * x.shape[0]
    )
    return y.tolist(), first.tolist(), second


def same(found, expected, rtol=1e-14):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-300)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("place", [0, 1], ids=["real", "complex"])
def test_value_and_gradient_equal_reference(name, place):
    if SMOOTH[name][place] is None:
        pytest.skip("real only in PyTorch")
    value, derivative = SMOOTH[name][place]
    x = rg.tensor(
        [0.375 + 0.25j] if place else [0.375],
        dtype=rg.complex128 if place else rg.float64,
        requires_grad=True,
    )
    y = getattr(rg, name)(x)
    same(y.tolist(), [value], rtol=2e-14)
    (grad,) = rg.autograd.grad(y, x, rg.ones_like(y))
    same(grad.tolist(), [derivative], rtol=2e-14)


def test_acosh_has_the_right_branch_where_the_real_part_is_negative():
    z = rg.tensor([-1.375 + 0.25j], dtype=rg.complex128, requires_grad=True)
    y = rg.acosh(z)
    (grad,) = rg.autograd.grad(y, z, rg.ones_like(y))
    step = 1e-6
    derivative = (np.arccosh(z.detach()._array + step) - np.arccosh(z.detach()._array - step)) / (
        2 * step
    )
    same(grad._array, np.conj(derivative), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "points", "values", "first", "second"),
    [
        ("sqrt", [0, -1, 4], [0, NAN, 2], [INF, NAN, 0.25], [-INF, NAN, -0.03125]),
        ("rsqrt", [0, -1, 4], [INF, NAN, 0.5], [-INF, NAN, -0.0625], [INF, NAN, 0.0234375]),
        ("log", [0, -0.0, -1], [-INF, -INF, NAN], [INF, -INF, -1], [-INF, -INF, -1]),
        ("reciprocal", [0, 2], [INF, 0.5], [-INF, -0.25], [INF, 0.25]),
        ("abs", [0, -0.0, 2], [0, 0, 2], [0, 0, 1], [0, 0, 0]),
        ("sgn", [0, -2], [0, -1], [0, 0], [0, 0]),
        ("sign", [0, -2], [0, -1], [0, 0], [0, 0]),
        ("erfinv", [0, 1, -1, 2], [0, INF, -INF, NAN], [math.sqrt(math.pi) / 2, INF, INF, NAN],
         [0, INF, -INF, NAN]),
        ("acosh", [1, 0.5], [0, NAN], [INF, NAN], [-INF, NAN]),
        ("asin", [1, 2], [math.pi / 2, NAN], [INF, NAN], [INF, NAN]),
        ("angle", [0, 1, -1], [0, 0, math.pi], [0, 0, 0], [0, 0, 0]),
        ("sinc", [0, 0.5], [1, 2 / math.pi], [0, -4 / math.pi],
         [-math.pi**2 / 3, -1.1902271282389354]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_slopes_at_kinks_and_edges_to_second_order(name, points, values, first, second):
    found = two_derivatives(getattr(rg, name), leaf(*map(float, points)))
    same(found[0], values)
    same(found[1], first)
    same(found[2], second, rtol=1e-13)


def test_exp2_of_a_large_imaginary_number_has_the_right_modulus_and_angle():
    y = float(np.float32(1e20))  # the value is mpmath's
    found = rg.exp2(rg.tensor([complex(0, y), complex(1, 3e38)], dtype=rg.complex64))
    expected = -0.5460986881303451 - 0.837720850177621j
    np.testing.assert_allclose(found[0].item(), expected, rtol=1e-6)
    np.testing.assert_allclose(found.abs().tolist(), [1, 2], rtol=1e-6)


def test_sinc_is_accurate_near_zero_to_high_order():
    x = leaf(1e-9)
    y = rg.sinc(x)
    for expected in (-math.pi**2 / 3 * 1e-9, -math.pi**2 / 3, math.pi**4 / 5 * 1e-9,
                     math.pi**4 / 5):  # fmt: skip
        (y,) = rg.autograd.grad(y, x, create_graph=True)
        same(y.tolist(), [expected], rtol=1e-12)


def test_atan2_at_the_origin_and_at_extreme_scale():
    y, x = leaf(0.0, 1e300, 1e-300), leaf(0.0, 1e300, 1e-300)
    grads = rg.autograd.grad(rg.atan2(y, x).sum(), [y, x])
    same(grads[0].tolist(), [0.0, 0.5e-300, 0.5e300])
    same(grads[1].tolist(), [0.0, -0.5e-300, -0.5e300])


def test_hypot_at_the_origin_has_the_subgradient_of_least_norm():
    x, y = leaf(0.0, 3.0), leaf(0.0, 4.0)
    grads = rg.autograd.grad(rg.hypot(x, y).sum(), [x, y])
    same(grads[0].tolist(), [0.0, 0.6])
    same(grads[1].tolist(), [0.0, 0.8])


def test_logaddexp_of_equal_infinities_shares_the_derivative():
    x, y = leaf(-INF, INF, -INF, 0.0), leaf(-INF, INF, 0.0, 0.0)
    out = rg.logaddexp(x, y)
    same(out.tolist(), [-INF, INF, 0.0, math.log(2)])
    grads = rg.autograd.grad(out.sum(), [x, y])
    same(grads[0].tolist(), [0.5, 0.5, 0.0, 0.5])
    same(grads[1].tolist(), [0.5, 0.5, 1.0, 0.5])


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (complex(INF, 1), complex(INF, 1), complex(INF, 1)),
        (complex(INF, 1), complex(INF, 2), complex(INF, math.nan)),
        (complex(-INF, 1), complex(-INF, 2), complex(-INF, 2)),
        (complex(-INF, 1), 1 + 1j, 1 + 1j),
        (complex(INF, 1), 5 + 3j, complex(INF, 1)),
    ],
)
def test_logaddexp_of_infinite_complex_numbers_keeps_their_angle(x, y, expected):
    found = rg.logaddexp(rg.tensor([x]), rg.tensor([y]))
    assert found.dtype is rg.complex64
    np.testing.assert_array_equal(found.numpy(), np.array([expected], np.complex64))


@pytest.mark.parametrize("name", ["exp", "sqrt", "sin", "erf", "sigmoid", "reciprocal", "angle"])
def test_integers_give_the_default_dtype(name):
    function = getattr(rg, name)
    assert function(rg.tensor([1, 2])).dtype is rg.float32
    assert function(rg.tensor([True])).dtype is rg.float32


@pytest.mark.parametrize("name", ["logaddexp", "hypot"])
def test_integers_are_refused_where_pytorch_refuses_them(name):
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        getattr(rg, name)(rg.tensor([1]), rg.tensor([1]))


@pytest.mark.parametrize("name", ["hypot", "logaddexp2", "fmod", "remainder", "copysign"])
def test_complex_is_refused_by_real_functions(name):
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        getattr(rg, name)(rg.tensor([1j]), rg.tensor([1j]))


def test_lerp_reaches_its_end_points_exactly():
    start, end = rg.tensor([1e8], dtype=rg.float64), rg.tensor([1e-8], dtype=rg.float64)
    assert rg.lerp(start, end, 0.0).tolist() == [1e8]
    assert rg.lerp(start, end, 1.0).tolist() == [1e-8]


def test_lerp_gradients_equal_reference():
    a, b, w = leaf(1.0), leaf(2.0), leaf(0.3)
    grads = rg.autograd.grad(rg.lerp(a, b, w).sum(), [a, b, w])
    same([g.item() for g in grads], [0.7, 0.3, 1.0])
    same([g.item() for g in rg.autograd.grad(rg.lerp(a, b, 0.3).sum(), [a, b])], [0.7, 0.3])


@pytest.mark.parametrize("kind", [rg.float64, rg.float16, rg.int64, rg.bool])
def test_lerp_takes_a_0d_weight_of_any_dtype(kind):
    start = rg.tensor([1.0, 2.0], requires_grad=True)
    found = start.lerp(rg.tensor([3.0, 6.0]), rg.tensor(1, dtype=kind))
    assert found.dtype is rg.float32
    assert found.tolist() == [3.0, 6.0]
    assert rg.lerp(start, start, rg.tensor(1j)).dtype is rg.complex64


def test_the_gradient_by_a_0d_weight_has_its_dtype():
    weight = rg.tensor(0.25, dtype=rg.float64, requires_grad=True)
    rg.lerp(rg.tensor([1.0, 2.0]), rg.tensor([3.0, 6.0]), weight).sum().backward()
    assert weight.grad.dtype is rg.float64
    assert weight.grad.item() == 6.0


def test_a_weight_beyond_float16_interpolates_half_floats():
    start, end = rg.tensor([0.0, 2.0]).half(), rg.tensor([0.125, 2.0]).half()
    start.requires_grad_()
    y = rg.lerp(start, end, 70000)
    assert (y.dtype, y.tolist()) == (rg.float16, [8752.0, 2.0])
    with pytest.raises(RuntimeError, match="float32 without overflow"):
        rg.lerp(start, end, 1e39)


def test_lerp_refuses_mixed_dtypes():
    with pytest.raises(RuntimeError, match="expected dtype float32 for `weight`"):
        rg.lerp(rg.ones(1), rg.ones(1), rg.ones(1, dtype=rg.float64))
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        rg.lerp(rg.tensor([1]), rg.tensor([2]), 0.5)


def test_addcmul_and_addcdiv_equal_reference():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    out = rg.addcmul(a, b, c, value=2)
    assert out.tolist() == [13.0]
    assert [g.item() for g in rg.autograd.grad(out, [a, b, c])] == [1.0, 6.0, 4.0]
    out = rg.addcdiv(a, b, c, value=2)
    same([g.item() for g in rg.autograd.grad(out, [a, b, c])], [1.0, 2 / 3, -4 / 9])


def test_addcmul_promotes_and_truncates_its_factor_for_integers():
    out = rg.addcmul(rg.tensor([1]), rg.tensor([2]), rg.tensor([3]), value=2.5)
    assert (out.dtype, out.tolist()) == (rg.int64, [13])
    assert rg.addcmul(rg.tensor([1]), rg.tensor([2]), rg.tensor([3.0])).dtype is rg.float32


def test_addcdiv_of_integers_raises():
    with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
        rg.addcdiv(rg.tensor([1.0]), rg.tensor([2]), rg.tensor([3]))


def test_a_number_where_a_tensor_is_wanted_raises():
    with pytest.raises(TypeError, match=r"argument 'tensor1' .* must be Tensor, not int"):
        rg.addcmul(rg.ones(1), 2, rg.ones(1))


def test_out_form_writes_and_refuses_history():
    target = rg.empty(2)
    assert rg.exp(rg.zeros(2), out=target) is target
    assert target.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.exp(leaf(1.0), out=target)


@pytest.mark.parametrize("name", ["neg", "rad2deg", "isnan", "signbit"])
def test_the_out_form_of_a_ufunc_writes_the_tensor_and_counts_it(name):
    target = rg.zeros(2)
    read = target * leaf(1.0)
    assert getattr(rg, name)(rg.ones(2), out=target) is target
    with pytest.raises(RuntimeError, match=rf"written by {name}\(out=\)"):
        read.sum().backward()


def test_the_out_form_of_a_ufunc_refuses_history():
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.neg(leaf(1.0), out=rg.zeros(()))


def test_an_out_form_without_derivative_takes_what_requires_grad():
    x = leaf(1.0)
    assert rg.le(x, x, out=rg.zeros(1)).item() == 1.0
    assert rg.isnan(x, out=rg.ones(1)).item() == 0.0


def test_out_none_is_none():
    assert rg.neg(rg.ones(1), out=None).tolist() == [-1.0]


@pytest.mark.parametrize("name", ["exp", "sqrt", "rsqrt", "tanh", "sigmoid", "reciprocal"])
def test_of_real_numbers_only_the_output_is_saved_where_the_derivative_needs_no_more(name):
    saved = []
    with rg.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = OPS[name].call(leaf(0.5))
    assert [t.data_ptr() for t in saved] == [y.data_ptr()]


def test_in_place_forms_write_and_differentiate():
    x = leaf(0.5)
    y = x.clone()
    assert y.sin_().exp_() is y
    (grad,) = rg.autograd.grad(y, x)
    same(grad.tolist(), [math.cos(0.5) * math.exp(math.sin(0.5))])


def test_overwriting_a_saved_output_raises():
    x = leaf(0.5)
    y = x.clone().exp_().sin_()
    with pytest.raises(
        RuntimeError, match="ExpBackward0 saved it as its result, and then it was written by sin_"
    ):
        y.backward()


def test_polygamma_is_the_derivative_of_digamma():
    x = leaf(0.75)
    (first,) = rg.autograd.grad(rg.lgamma(x), x, create_graph=True)
    same(first.tolist(), rg.digamma(x).tolist())
    (second,) = rg.autograd.grad(first, x, create_graph=True)
    same(second.tolist(), rg.polygamma(1, x).tolist())
    (third,) = rg.autograd.grad(second, x)
    same(third.tolist(), x.polygamma(2).tolist())
    with pytest.raises(RuntimeError, match="does not support negative n"):
        rg.polygamma(-1, x)


def test_log2_of_a_complex_zero_has_no_nan():
    found = rg.log2(rg.tensor([0j, 2j], dtype=rg.complex128)).tolist()
    assert found[0] == complex(-math.inf, 0)
    assert found[1] == pytest.approx(1 + 1j * math.pi / 2 / math.log(2))


@pytest.mark.parametrize("function", [rg.exp, rg.exp2])
def test_a_complex_exponential_of_minus_infinity_is_zero_at_any_angle(function):
    z = rg.tensor([complex(-INF, INF), complex(-INF, NAN), complex(-INF, 1)])
    assert function(z).abs().tolist() == [0.0, 0.0, 0.0]


def test_lerp_of_integers_by_a_tensor_of_one_number_has_its_dtype():
    weight = rg.tensor(0.25, requires_grad=True)
    found = rg.lerp(rg.tensor([0, 8]), rg.tensor([4, 8]), weight)
    assert (found.dtype, found.tolist()) == (rg.float32, [1.0, 8.0])
    found.sum().backward()
    assert weight.grad.item() == 4.0
