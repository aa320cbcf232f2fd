"""Activations against PyTorch's values; kinks, complex extension, in-place forms, errors."""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.ops.activation import piecewise as F

INF, NAN = math.inf, math.nan
POINTS = [-1.5, 0.375, 0.75]

# (value, derivative) at POINTS, from PyTorch 2.13 (hardsigmoid exactly; PyTorch's is rounded).
SLOPES = {
    "relu": [(0.0, 0.0), (0.375, 1.0), (0.75, 1.0)],
    "relu6": [(0.0, 0.0), (0.375, 1.0), (0.75, 1.0)],
    "leaky_relu": [(-0.015, 0.01), (0.375, 1.0), (0.75, 1.0)],
    "elu": [(-0.7768698398515702, 0.22313016014842982), (0.375, 1.0), (0.75, 1.0)],
    "selu": [
        (-1.3658143533672527, 0.392284987480124),
        (0.39401287025830517, 1.0507009873554805),
        (0.7880257405166103, 1.0507009873554805),
    ],
    "celu": [(-0.7768698398515702, 0.22313016014842982), (0.375, 1.0), (0.75, 1.0)],
    "gelu": [
        (-0.10021080190328704, -0.1274691922299796),
        (0.2423136625022714, 0.7856154268738871),
        (0.5800294857173489, 0.9992257217392352),
    ],
    "sigmoid": [
        (0.18242552380635635, 0.14914645207033286),
        (0.5926665999540697, 0.24141290125295242),
        (0.679178699175393, 0.21789499376181404),
    ],
    "logsigmoid": [
        (-1.7014132779827524, 0.8175744761936437),
        (-0.5231232641398401, 0.4073334000459302),
        (-0.38687100611489994, 0.32082130082460697),
    ],
    "silu": [
        (-0.2736382857095345, -0.041294154299142946),
        (0.22224997498277613, 0.6831964379239268),
        (0.5093840243815447, 0.8425999444967536),
    ],
    "mish": [
        (-0.29809974216680674, -0.06409781589225869),
        (0.2682685597143539, 0.8238913560968064),
        (0.6100183352182934, 0.985758355716688),
    ],
    "hardtanh": [(-1.0, 0.0), (0.375, 1.0), (0.75, 1.0)],
    "hardsigmoid": [(0.25, 1 / 6), (0.5625, 1 / 6), (0.625, 1 / 6)],
    "hardswish": [(-0.375, 0.0), (0.2109375, 0.625), (0.46875, 0.75)],
    "softplus": [
        (0.2014132779827524, 0.18242552380635632),
        (0.89812326413984, 0.5926665999540698),
        (1.1368710061148999, 0.679178699175393),
    ],
    "softsign": [
        (-0.6, 0.16000000000000003),
        (0.2727272727272727, 0.5289256198347108),
        (0.42857142857142855, 0.32653061224489793),
    ],
    "tanhshrink": [
        (-0.5948517463551336, 0.8192933610763514),
        (0.01664260164921405, 0.12842002495274385),
        (0.1148510476127127, 0.40341419171866855),
    ],
    "hardshrink": [(-1.5, 1.0), (0.0, 0.0), (0.75, 1.0)],
    "softshrink": [(-1.0, 1.0), (0.0, 0.0), (0.25, 1.0)],
}


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def derivatives(function, x):
    return rg.autograd.grad(function(x).sum(), x)[0].tolist()


@pytest.mark.parametrize("name", SLOPES)
def test_value_and_slope_equal_reference(name):
    x = leaf(*POINTS)
    y = getattr(F, name)(x)
    (grad,) = rg.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(y.tolist(), [v for v, _ in SLOPES[name]], rtol=2e-14)
    np.testing.assert_allclose(grad.tolist(), [s for _, s in SLOPES[name]], rtol=2e-14)


def test_gelu_by_tanh_equals_reference():
    x = leaf(*POINTS)
    y = F.gelu(x, approximate="tanh")
    expected = [-0.10042842301976707, 0.24230776689151162, 0.5799605551656203]
    np.testing.assert_allclose(y.tolist(), expected, rtol=2e-14)
    expected = [-0.12771079315143308, 0.7855556920479995, 0.9989382561374143]
    np.testing.assert_allclose(rg.autograd.grad(y.sum(), x)[0].tolist(), expected, rtol=2e-14)
    assert y.grad_fn.name() == "GeluBackward0"
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        F.gelu(x, approximate="x")


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (F.relu, [0, -0.0, 1], [0, 0, 1]),
        (F.relu6, [0, 6, 3], [0, 0, 1]),
        (F.leaky_relu, [0, -1, 1], [0.01, 0.01, 1]),
        (lambda x: F.elu(x, 2.0), [0, 1], [2, 1]),
        (lambda x: F.celu(x, 2.0), [0, 1], [1, 1]),
        (F.selu, [0, 1], [1.7580993408473766, 1.0507009873554805]),
        (F.hardtanh, [0, -1, 1, 2], [1, 0, 0, 0]),
        (F.hardsigmoid, [0, -3, 3, 4], [1 / 6, 0, 0, 0]),
        (F.hardswish, [0, -3, 3, 4, -4], [0.5, 0, 1, 1, 0]),
        (F.hardshrink, [0, 0.5, -0.5, 0.6], [0, 0, 0, 1]),
        (F.softshrink, [0, 0.5, -0.5, 0.6], [0, 0, 0, 1]),
        (lambda x: F.threshold(x, 1.0, 7.0), [0, 1, 2], [0, 0, 1]),
        (F.softplus, [20, 21], [0.9999999979388464, 1]),
        (F.logsigmoid, [0, -800, 800], [0.5, 1, 0]),
        (F.sigmoid, [0, -800, 800], [0.25, 0, 0]),
    ],
)
def test_slopes_at_kinks(function, points, expected):
    np.testing.assert_allclose(
        derivatives(function, leaf(*map(float, points))), expected, rtol=1e-14
    )


def test_relu_passes_no_infinite_cotangent_where_it_is_flat():
    x = leaf(0.0, -1.0, 1.0)
    g = rg.tensor([INF, NAN, 2.0], dtype=rg.float64)
    assert rg.autograd.grad(F.relu(x), x, g)[0].tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (lambda x: F.elu(x, 2.0), [0, -1, 1, 1e4], [0, 0.7357588823428847, 0, 0]),
        (F.gelu, [0, -1, 1], [0.7978845608028654, 0.24197072451914337, 0.24197072451914337]),
        (F.silu, [0, -1, 1], [0.5, 0.3023661188100153, 0.3023661188100153]),
        (F.mish, [0, -1, 1], [0.64, 0.34970567367064487, 0.1846857644733283]),
        (F.hardswish, [0, -3, 3, -2.9], [1 / 3, 0, 0, 1 / 3]),
        (F.softplus, [0, -1], [0.25, 0.19661193324148185]),
        (F.logsigmoid, [0, 1], [-0.25, -0.19661193324148185]),
        (F.tanhshrink, [0, 1], [0, 0.6397000084492246]),
    ],
)
def test_second_slopes_equal_reference(function, points, expected):
    x = leaf(*map(float, points))
    (first,) = rg.autograd.grad(function(x).sum(), x, create_graph=True)
    found = rg.autograd.grad(first.sum(), x)[0].tolist()
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", ["relu", "elu", "hardtanh", "hardswish", "softshrink", "selu"])
def test_piecewise_functions_act_on_both_parts_of_a_complex_number(name):
    function = getattr(F, name)
    z = leaf(0.7 - 0.3j, -0.2 + 2.0j, dtype=rg.complex128)
    re, im = leaf(0.7, -0.2), leaf(-0.3, 2.0)
    y = function(z)
    np.testing.assert_array_equal(y.real.tolist(), function(re).tolist())
    np.testing.assert_array_equal(y.imag.tolist(), function(im).tolist())
    (grad,) = rg.autograd.grad((y.real + 2 * y.imag).sum(), z)
    np.testing.assert_array_equal(grad.real.tolist(), derivatives(function, re))
    np.testing.assert_array_equal(grad.imag.tolist(), [2 * s for s in derivatives(function, im)])


@pytest.mark.parametrize("name", ["sigmoid", "silu", "mish", "gelu", "softplus", "logsigmoid"])
def test_analytic_functions_extend_holomorphically(name):
    function = getattr(F, name)
    step = 1e-6
    z = rg.tensor([0.375 + 0.25j, -2.0 - 1.0j], dtype=rg.complex128)
    along = (function(z + step) - function(z - step)) / (2 * step)
    across = (function(z + 1j * step) - function(z - 1j * step)) / (2j * step)
    np.testing.assert_allclose(across.tolist(), along.tolist(), rtol=1e-8)
    real = rg.tensor([0.375, -2.0], dtype=rg.float64)
    np.testing.assert_allclose(
        function(real.to(rg.complex128)).tolist(), function(real).tolist(), rtol=1e-13
    )


def test_complex_sigmoid_equals_reference_and_survives_overflow():
    z = leaf(0.375 + 0.25j, dtype=rg.complex128)
    y = F.sigmoid(z)
    np.testing.assert_allclose(y.tolist(), [0.5940787105746781 + 0.060636656826948916j], rtol=1e-14)
    far = F.sigmoid(rg.tensor([-1000 + 1j, 1000 + 1j], dtype=rg.complex128))
    assert far.tolist() == [0, 1]
    assert F.softplus(rg.tensor([1000 + 1j], dtype=rg.complex128)).tolist() == [1000 + 1j]


def test_prelu_has_one_weight_per_channel():
    x = rg.tensor([[0.0, -1.0], [1.0, 2.0]], dtype=rg.float64, requires_grad=True)
    w = leaf(0.1, 0.2)
    out = F.prelu(x, w)
    assert out.tolist() == [[0.0, -0.2], [1.0, 2.0]]
    grads = rg.autograd.grad(out.sum(), [x, w])
    assert grads[0].tolist() == [[0.1, 0.2], [1.0, 1.0]]
    assert grads[1].tolist() == [0.0, -1.0]
    assert F.prelu(rg.tensor(-2.0), rg.tensor([0.5])).tolist() == -1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: F.prelu(rg.ones(2, 3), rg.ones(2)),
            "Found parameter numbers = 2 and channel size",
        ),
        (lambda: F.prelu(rg.ones(2, 3), rg.ones(1, 1)), "to be a scalar or 1D tensor"),
        (lambda: F.prelu(rg.ones(()), rg.ones(2)), "Not allow zero-dim input tensor"),
        (lambda: F.glu(rg.ones(3)), "Halving dimension must be even, but dimension 0 is size 3"),
        (lambda: F.glu(rg.ones(())), "glu does not support scalars"),
        (lambda: F.celu(rg.ones(1), 0.0), "alpha cannot be 0"),
        (lambda: F.softshrink(rg.ones(1), -1.0), "lambda must be greater or equal to 0"),
        (lambda: F.relu(rg.tensor([True])), "Boolean inputs not supported for relu"),
        (lambda: F.gelu(rg.tensor([1])), "not implemented for 'Long'"),
    ],
)
def test_errors(make, message):
    with pytest.raises(RuntimeError, match=message):
        make()


def test_glu_gates_the_first_half_with_the_second():
    x = leaf(0.0, -1.0)
    assert F.glu(x).tolist() == [0.0]
    np.testing.assert_allclose(derivatives(F.glu, x), [0.2689414213699951, 0.0], rtol=1e-15)
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.glu(x, 1)


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh",
             "hardsigmoid", "hardswish", "rrelu"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_in_place_argument_writes_the_input(name, dtype):
    function = getattr(F, name)
    x = leaf(-1.5, 0.5, dtype=dtype)
    plain = function(x)
    y = x * 1
    assert function(y, inplace=True) is y
    assert y.tolist() == plain.tolist()
    ones = rg.ones_like(plain)
    assert rg.autograd.grad(y, x, ones)[0].tolist() == rg.autograd.grad(plain, x, ones)[0].tolist()


def test_threshold_in_place():
    y = rg.tensor([0.5, 2.0])
    assert F.threshold(y, 1.0, 7.0, inplace=True) is y
    assert y.tolist() == [7.0, 2.0]


def test_integers_stay_integers_where_no_fraction_arises():
    for function in (F.relu, F.relu6, F.hardtanh):
        assert function(rg.tensor([-1, 2])).dtype is rg.int64


def test_rrelu_draws_its_slopes_in_training():
    x = rg.full((1000,), -1.0, requires_grad=True)
    y = F.rrelu(x, 0.25, 0.5, training=True)
    values = -y.detach()._array
    assert values.min() >= 0.25
    assert values.max() < 0.5
    assert values.std() > 0.05
    (grad,) = rg.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(grad._array, values, rtol=1e-6)


def test_relu_is_a_method_and_a_function_of_the_package():
    x = leaf(-1.0, 2.0)
    assert rg.relu(x).tolist() == x.relu().tolist() == [0.0, 2.0]
    assert x.relu().grad_fn.name() == "ReluBackward0"
    assert x.sigmoid().grad_fn.name() == "SigmoidBackward0"


def test_second_derivative_of_relu_is_zero():
    x = rg.tensor([-1.0, 2.0], requires_grad=True)
    (derivative,) = rg.autograd.grad(F.relu(x).sum(), x, create_graph=True)
    (second,) = rg.autograd.grad(derivative.sum(), x)
    assert second.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "celu", "softplus", "hardshrink"])
def test_a_complex_number_beside_a_real_tensor_must_be_real(name):
    call, x = getattr(F, name, rg.nn.functional.softplus), rg.tensor([-1.0, 2.0])
    assert call(x, 2 + 0j).equal(call(x, 2.0))
    with pytest.raises(RuntimeError, match="without overflow"):
        call(x, 2j)


def test_threshold_takes_complex_numbers_that_are_real():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = F.threshold(x, 1 + 0j, 3 + 0j)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([3.0, 2.0], [0.0, 1.0])
    assert F.threshold(rg.tensor([1, 2]), 1, 3 + 0j).tolist() == [3, 2]
    with pytest.raises(RuntimeError, match="without overflow"):
        F.threshold(x, 1j, 3)


@pytest.mark.parametrize("function", [F.elu, F.selu, F.celu])
@pytest.mark.parametrize("size", [1, 5, 100_000])
def test_a_linear_unit_keeps_the_sign_of_zero(function, size):
    assert function(rg.full((size,), -0.0)).signbit().all()
    assert not function(rg.zeros(size)).signbit().any()


@pytest.mark.parametrize("function", [F.softplus, F.logsigmoid, F.gelu, F.softshrink])
def test_values_of_activations_are_written_where_they_are_wanted(function):
    x, out = rg.tensor([-2.0, 0.25, 3.0]), rg.empty(3)
    assert function(x, out=out) is out
    assert rg.equal(out, function(x))


@pytest.mark.parametrize(
    "function",
    [
        rg.abs,
        F.elu,
        F.selu,
        F.celu,
        lambda x: x.norm(1),
        lambda x: x.norm(INF),
        lambda x: rg.nn.functional.l1_loss(x, rg.zeros(2)),
    ],
)
def test_the_derivative_at_what_is_not_a_number_is_none(function):
    x = rg.tensor([NAN, 1.0], requires_grad=True)
    function(x).sum().backward()
    assert x.grad[0].isnan()
    assert x.grad[1].isfinite()


def test_bounds_of_integers_are_rounded_towards_0():
    x = rg.tensor([-3, 2, 7])
    assert F.threshold(x, -3.25, 9.75).tolist() == [9, 2, 7]
    assert F.threshold(x.byte(), 2, -2).tolist() == [253, 254, 7]
    assert F.hardtanh(x, -1.5, 2.5).tolist() == [-1, 2, 2]
    assert F.hardtanh(x.abs().byte(), -0.5, 2.5).tolist() == [2, 2, 2]
