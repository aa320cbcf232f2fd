"""Values and derivatives where a function has a kink, a pole or a tie, to second order.

`docs/kinks.md` is the table for users. Complex points are compared under the cotangent 1.
"""

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad

INF, NAN = math.inf, math.nan
F = rg.nn.functional
vector_norm = rg.linalg.vector_norm


def derivatives(function, points):
    """The value, the gradients, and the gradients of their sum, of a function of some tensors."""
    leaves = []
    for point in points:
        dtype = rg.complex128 if np.iscomplexobj(np.asarray(point)) else rg.float64
        leaves.append(rg.tensor(point, dtype=dtype, requires_grad=True))
    y = function(*leaves)
    first = grad(y, leaves, rg.ones_like(y), create_graph=True, materialize_grads=True)
    live = [g for g in first if g.requires_grad]
    zeros = [rg.zeros_like(t) for t in leaves]
    ones = [rg.ones_like(g) for g in live]
    second = grad(live, leaves, ones, materialize_grads=True) if live else zeros
    return [y.tolist(), *([t.tolist() for t in part] for part in (first, second))]


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-300)


# name: function, points, value, gradients, gradients of the sum of the gradients
ONE = {
    "abs at 0": (rg.abs, 0.0, 0, 0, 0),
    "abs at 0j": (rg.abs, 0j, 0, 0, 0),
    "sgn at 0": (rg.sgn, 0.0, 0, 0, 0),
    "sgn at 0j": (rg.sgn, 0j, 0, 0, 0),
    "angle at 0": (rg.angle, 0.0, 0, 0, 0),
    "angle at 0j": (rg.angle, 0j, 0, 0, 0),
    "angle at -1": (rg.angle, -1.0, math.pi, 0, 0),
    "angle at -1 + 0j": (rg.angle, -1 + 0j, math.pi, -1j, -1j),
    "sqrt at 0": (rg.sqrt, 0.0, 0, INF, -INF),
    "sqrt below 0": (rg.sqrt, -1.0, NAN, NAN, NAN),
    "rsqrt at 0": (rg.rsqrt, 0.0, INF, -INF, INF),
    "log at 0": (rg.log, 0.0, -INF, INF, -INF),
    "reciprocal at 0": (rg.reciprocal, 0.0, INF, -INF, INF),
    "x ** 0 at 0": (lambda x: x**0, 0.0, 1, 0, 0),
    "x ** 0.5 at 0": (lambda x: x**0.5, 0.0, 0, INF, -INF),
    "x ** 1 at 0": (lambda x: x**1, 0.0, 0, 1, 0),
    "x ** 1.5 at 0": (lambda x: x**1.5, 0.0, 0, 0, INF),
    "x ** 2 at 0": (lambda x: x**2, 0.0, 0, 0, 2),
    "x ** -1 at 0": (lambda x: x**-1, 0.0, INF, -INF, INF),
    "0 ** y at 0": (lambda y: 0**y, 0.0, 1, 0, 0),
    "0 ** y at 2": (lambda y: 0**y, 2.0, 0, 0, 0),
    "0 ** y at -1": (lambda y: 0**y, -1.0, INF, -INF, INF),
    "(-2) ** y at 2": (lambda y: (-2) ** y, 2.0, 4, NAN, NAN),
    "sinc at 0": (rg.sinc, 0.0, 1, 0, -(math.pi**2) / 3),
    "sign at 0": (rg.sign, 0.0, 0, 0, 0),
    "round at a tie": (rg.round, 0.5, 0, 0, 0),
    "floor at 1": (rg.floor, 1.0, 1, 0, 0),
    "frac at 1": (rg.frac, 1.0, 0, 1, 0),
    "clamp at its lower bound": (lambda x: x.clamp(0, 1), 0.0, 0, 1, 0),
    "clamp at its upper bound": (lambda x: x.clamp(0, 1), 1.0, 1, 1, 0),
    "relu at 0": (F.relu, 0.0, 0, 0, 0),
    "leaky_relu at 0": (F.leaky_relu, 0.0, 0, 0.01, 0),
    "elu at 0": (F.elu, 0.0, 0, 1, 0),
    "relu6 at 6": (F.relu6, 6.0, 6, 0, 0),
    "hardtanh at 1": (F.hardtanh, 1.0, 1, 0, 0),
    "hardswish at 3": (F.hardswish, 3.0, 3, 1, 0),
    "softshrink at 0.5": (F.softshrink, 0.5, 0, 0, 0),
    "entr at 0": (rg.special.entr, 0.0, 0, INF, -INF),
    "logit at 0": (rg.logit, 0.0, -INF, INF, -INF),
    "logit at 1": (rg.logit, 1.0, INF, INF, INF),
    "logit beyond 1": (rg.logit, 2.0, NAN, NAN, 0),
    "i0e at 0": (rg.special.i0e, 0.0, 1, 0, 0.5),
    "i1e at 0": (rg.special.i1e, 0.0, 0, 0.5, 0),
    "asin at 1": (rg.asin, 1.0, math.pi / 2, INF, INF),
    "acosh at 1": (rg.acosh, 1.0, 0, INF, -INF),
    "erfinv at 1": (rg.erfinv, 1.0, INF, INF, INF),
    "nan_to_num at NaN": (rg.nan_to_num, NAN, 0, 0, 0),
    "norm at 0": (vector_norm, [0.0, 0.0], 0, [0, 0], [0, 0]),
    "complex norm at 0": (vector_norm, [0j, 0j], 0, [0, 0], [0, 0]),
    "1-norm at a zero": (lambda x: vector_norm(x, 1), [0.0, 1.0], 1, [0, 1], [0, 0]),
    "3-norm at 0": (lambda x: vector_norm(x, 3), [0.0, 0.0], 0, [0, 0], [0, 0]),
    "maximum norm at a tie": (
        lambda x: vector_norm(x, INF), [2.0, -2.0, 1.0], 2, [0.5, -0.5, 0], [0, 0, 0]),
    "maximum norm at 0": (lambda x: vector_norm(x, INF), [0.0, 0.0], 0, [0, 0], [0, 0]),
    "max at a tie": (rg.max, [1.0, 3.0, 3.0], 3, [0, 0.5, 0.5], [0, 0, 0]),
    "amax at a tie": (rg.amax, [1.0, 3.0, 3.0], 3, [0, 0.5, 0.5], [0, 0, 0]),
    "median at a tie": (rg.median, [1.0, 2.0, 2.0], 2, [0, 0.5, 0.5], [0, 0, 0]),
    "max along a dim at a tie": (
        lambda x: x.max(0).values, [1.0, 3.0, 3.0], 3, [0, 1, 0], [0, 0, 0]),
    "cummax at a tie": (lambda x: x.cummax(0).values, [1.0, 1.0], [1, 1], [1, 1], [0, 0]),
    "prod at one zero": (rg.prod, [0.0, 2.0, 3.0], 0, [6, 0, 0], [5, 3, 2]),
    "prod at two zeros": (rg.prod, [0.0, 0.0, 3.0], 0, [0, 0, 0], [3, 3, 0]),
    "std of equal elements": (rg.std, [1.0, 1.0, 1.0], 0, [0, 0, 0], [0, 0, 0]),
}  # fmt: skip

TWO = {
    "atan2 at 0, 0": (rg.atan2, (0.0, 0.0), 0, (0, 0), (0, 0)),
    "atan2 on its cut": (rg.atan2, (0.0, -1.0), math.pi, (-1, 0), (-1, -1)),
    "hypot at 0, 0": (rg.hypot, (0.0, 0.0), 0, (0, 0), (0, 0)),
    "x ** y at 0, 0": (rg.pow, (0.0, 0.0), 1, (0, 0), (0, 0)),
    "x ** x at 0": (lambda x, _: x**x, (0.0, 0.0), 1, (0, 0), (0, 0)),
    "x ** y at 0, 1": (rg.pow, (0.0, 1.0), 0, (1, 0), (0, 1)),
    "x ** y at 0, 2": (rg.pow, (0.0, 2.0), 0, (0, 0), (2, 0)),
    "x ** y at 0, -1": (rg.pow, (0.0, -1.0), INF, (-INF, -INF), (INF, INF)),
    "x ** y of a negative base": (rg.pow, (-2.0, 2.0), 4, (-4, NAN), (NAN, NAN)),
    "x ** y of a complex zero": (rg.pow, (0j, 2.0), 0, (0, 0), (2, 0)),
    "maximum at a tie": (rg.maximum, (1.0, 1.0), 1, (0.5, 0.5), (0, 0)),
    "fmax at a tie": (rg.fmax, (1.0, 1.0), 1, (1, 0), (0, 0)),
    "copysign at 0": (rg.copysign, (0.0, -1.0), 0, (0, 0), (0, 0)),
    "heaviside at 0": (rg.heaviside, (0.0, 0.5), 0.5, (0, 1), (0, 0)),
    "remainder at a jump": (rg.remainder, (2.0, 1.0), 0, (1, -2), (0, 0)),
    "nextafter of equals": (rg.nextafter, (1.0, 1.0), 1, (0, 0), (0, 0)),
    "xlogy at 0, 0": (rg.xlogy, (0.0, 0.0), 0, (0, NAN), (INF, NAN)),
    "xlogy at 0, 2": (rg.xlogy, (0.0, 2.0), 0, (math.log(2), 0), (0.5, 0.5)),
    "logaddexp of -inf, -inf": (rg.logaddexp, (-INF, -INF), -INF, (0.5, 0.5), (0, 0)),
    "l1_loss of equals": (F.l1_loss, (1.0, 1.0), 0, (0, 0), (0, 0)),
    "huber_loss at its edge": (F.huber_loss, (1.0, 0.0), 0.5, (1, -1), (0, 0)),
    "dist of equals": (rg.dist, ([1.0, 2.0], [1.0, 2.0]), 0, ([0, 0], [0, 0]), ([0, 0], [0, 0])),
}


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_tensor(name):
    function, point, value, first, second = ONE[name]
    found = derivatives(function, [point])
    same(found[0], value)
    same(found[1][0], first)
    same(found[2][0], second)


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_tensors(name):
    function, points, value, first, second = TWO[name]
    found = derivatives(function, points)
    same(found[0], value)
    for one, other in zip(found[1:], (first, second), strict=True):
        for a, b in zip(one, other, strict=True):
            same(a, b)


def test_a_complex_power_of_a_negative_base_is_differentiable():
    x, y = rg.tensor(-2.0, dtype=rg.float64), rg.tensor(2 + 0j, dtype=rg.complex128)
    x.requires_grad_(True)
    y.requires_grad_(True)
    out = rg.pow(x, y)
    first = grad(out, [x, y], rg.ones_like(out))
    same(out.item(), 4)
    same(first[0].item(), -4)
    same(first[1].item(), np.conj(4 * (math.log(2) + 1j * math.pi)))


# -- every scale ---------------------------------------------------------------------------------

SCALES = [10.0**e for e in range(-300, 301, 60)]
ANGLES = [0.3, math.pi / 2, 2.9, -1.2]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("turn", ANGLES)
def test_modulus_and_angle_are_exact_at_every_scale(scale, turn):
    unit, g = np.exp(1j * turn), 1 + 0.5j
    expected = {
        "abs": (scale, 1, unit),
        "angle": (turn, 1, 1j * unit / scale),
        "sgn": (unit, g, (g - unit * (g * np.conj(unit)).real) / scale),
    }
    for name, (value, cotangent, derivative) in expected.items():
        z = rg.tensor(scale * unit, dtype=rg.complex128, requires_grad=True)
        out = getattr(rg, name)(z)
        (first,) = grad(out, z, rg.tensor(cotangent, dtype=out.dtype))
        np.testing.assert_allclose(out.item(), value, rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(
            first.item(), derivative, rtol=1e-13, atol=1e-15 * abs(derivative)
        )


@pytest.mark.parametrize("scale", [s for s in SCALES if 1e-150 < s < 1e150])
@pytest.mark.parametrize("name", ["abs", "angle", "sgn"])
def test_second_derivatives_of_modulus_and_angle_scale_as_they_should(name, scale):
    found = []
    for size in (1.0, scale):
        z = rg.tensor(size * np.exp(0.7j), dtype=rg.complex128, requires_grad=True)
        out = getattr(rg, name)(z)
        (first,) = grad(out, z, rg.ones_like(out), create_graph=True)
        (second,) = grad(first, z, rg.tensor(0.7 - 0.2j, dtype=rg.complex128))
        found.append(second.item() * size * (1 if name == "abs" else size))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_hypot_and_atan2_are_exact_at_every_scale(scale):
    x, y = (rg.tensor(k * scale, dtype=rg.float64, requires_grad=True) for k in (3.0, 4.0))
    out = rg.hypot(x, y)
    same(out.item() / scale, 5)
    same([g.item() for g in grad(out, [x, y])], [0.6, 0.8])
    same([g.item() * scale for g in grad(rg.atan2(x, y), [x, y])], [0.16, -0.12])


def test_a_branch_that_is_not_taken_gets_zero_but_its_own_slope_may_be_nan():
    x = rg.tensor([0.0, 4.0], dtype=rg.float64, requires_grad=True)
    safe = rg.where(x > 0, x, 1.0)
    (first,) = grad(rg.where(x > 0, rg.sqrt(safe), 0.0).sum(), x)
    assert first.tolist() == [0.0, 0.25]
    (first,) = grad(rg.where(x > 0, rg.sqrt(x), 0.0).sum(), x)
    assert math.isnan(first[0].item())
