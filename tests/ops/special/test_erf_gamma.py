"""Special functions: values and derivatives of PyTorch and SciPy, complex input, edges, errors."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad

scipy_special = pytest.importorskip("scipy.special", reason="SciPy has most of the kernels")

DATA = Path(__file__).parents[2] / "data"
spec = importlib.util.spec_from_file_location("special_cases", DATA / "make_special.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
RESULTS = json.loads((DATA / "special.json").read_text())
CASES = dict(zip(cases.names(), cases.CASES, strict=True))

INF, NAN = math.inf, math.nan


def numbers(values):
    return None if values is None else [float(v) for v in values]


def close(found, expected, rtol=2e-13, atol=2e-14):
    if expected is None or found is None:
        assert all(v == 0.0 for v in (found or expected or [0.0]))
        return
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=rtol, atol=atol)


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def z_leaf(*values):
    return leaf(*values, dtype=rg.complex128)


def test_every_case_has_a_result():
    assert list(CASES) == list(RESULTS)


# PyTorch has these to six to nine digits only; below, they are compared with SciPy's, to thirteen.
ROUGH = ("bessel", "airy", "psi", "gamma")


OWN = [name for name in CASES if any(word in name for word in ("erf", "ndtr"))]


@pytest.mark.usefixtures("without_scipy")
@pytest.mark.parametrize("name", OWN)
def test_values_without_scipy_are_those_of_pytorch(name):
    found = cases.run(rg, CASES[name], derivatives=False)
    close(found["value"], RESULTS[name]["value"])


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_those_of_pytorch(name):
    expected = RESULTS[name]
    found = cases.run(rg, CASES[name], derivatives="first" in expected)
    rtol = 3e-6 if any(word in name for word in ROUGH) else 2e-13
    close(found["value"], expected["value"], rtol)
    for one, other in zip(found.get("first", []), expected.get("first", []), strict=True):
        close(one, other, max(rtol, 2e-12), 1e-12)
    for one, other in zip(found.get("second", []), expected.get("second", []), strict=True):
        if one is None or other is None:
            close(one, other)
            continue
        known = ~np.isnan(numbers(other))  # PyTorch's NaN at 0 are sinc's and logit's alone
        close(np.array(one)[known], np.array(other)[known], max(rtol, 2e-12), 1e-12)


def test_every_name_of_special_is_there_and_documented():
    for name in rg.special.__all__:
        function = getattr(rg.special, name)
        assert function.__doc__, name
        assert ">>>" in function.__doc__, name


# -- derivatives that PyTorch refuses ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "derivative"),
    [
        ("bessel_j0", lambda x: -scipy_special.j1(x)),
        ("bessel_j1", lambda x: scipy_special.jvp(1, x)),
        ("bessel_y0", lambda x: -scipy_special.y1(x)),
        ("bessel_y1", lambda x: scipy_special.yvp(1, x)),
        ("modified_bessel_i0", lambda x: scipy_special.i1(x)),
        ("modified_bessel_i1", lambda x: scipy_special.ivp(1, x)),
        ("modified_bessel_k0", lambda x: -scipy_special.k1(x)),
        ("modified_bessel_k1", lambda x: scipy_special.kvp(1, x)),
        ("scaled_modified_bessel_k0", lambda x: scipy_special.k0e(x) - scipy_special.k1e(x)),
        ("airy_ai", lambda x: scipy_special.airy(x)[1]),
        ("spherical_bessel_j0", lambda x: -scipy_special.spherical_jn(1, x)),
    ],
)
def test_slopes_of_bessel_functions_equal_scipy(name, derivative):
    x = leaf(0.25, 1.0, 3.5, 12.0)
    (first,) = grad(getattr(rg.special, name)(x).sum(), x)
    close(first.tolist(), derivative(x.detach().numpy()).tolist())


def test_bessel_functions_have_derivatives_of_high_order_at_zero():
    x = leaf(0.0)
    y = rg.special.bessel_j0(x)
    for expected in (0.0, -0.5, 0.0, 0.375, 0.0, -0.3125):
        (y,) = grad(y.sum(), x, create_graph=True)
        close(y.tolist(), [expected])


def test_bessel_functions_solve_their_equation():
    """x^2 y'' + x y' + x^2 y = 0, also for complex x."""
    for x in (leaf(0.5, 2.0, 7.0), z_leaf(1 + 2j, -0.5 + 1j)):
        y = rg.special.bessel_j0(x)
        (first,) = grad(y.sum(), x, rg.ones((), dtype=x.dtype), create_graph=True)
        (second,) = grad(first.sum(), x, rg.ones((), dtype=x.dtype))
        derivative, curve = first.detach().numpy().conj(), second.numpy().conj()
        point, value = x.detach().numpy(), y.detach().numpy()
        np.testing.assert_allclose(
            point**2 * curve + point * derivative + point**2 * value, 0, atol=1e-12
        )


def test_airys_function_solves_its_equation():
    x = leaf(-3.0, 0.0, 1.5)
    y = rg.special.airy_ai(x)
    (first,) = grad(y.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    close(second.tolist(), (x * y).tolist())


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("chebyshev_polynomial_t", "chebyt"),
        ("chebyshev_polynomial_u", "chebyu"),
        ("shifted_chebyshev_polynomial_t", "sh_chebyt"),
        ("shifted_chebyshev_polynomial_u", "sh_chebyu"),
        ("hermite_polynomial_h", "hermite"),
        ("hermite_polynomial_he", "hermitenorm"),
        ("laguerre_polynomial_l", "laguerre"),
        ("legendre_polynomial_p", "legendre"),
    ],
)
def test_polynomials_and_their_derivatives_equal_scipys(name, kernel):
    reference = np.poly1d(getattr(scipy_special, kernel)(6).coeffs)
    points = [-1.0, -0.3, 0.0, 0.7, 1.0, 1.5]
    x = leaf(*points)
    y = getattr(rg.special, name)(x, 6)
    for order in range(4):
        close(y.tolist(), reference.deriv(order)(points).tolist() if order else
              reference(points).tolist(), rtol=1e-10, atol=1e-9)  # fmt: skip
        (y,) = grad(y.sum(), x, create_graph=True)


def test_polynomials_broadcast_promote_and_truncate_the_degree():
    t = rg.special.chebyshev_polynomial_t
    x = rg.tensor([[0.5], [2.0]])
    assert t(x, rg.tensor([0, 1, 2])).shape == (2, 3)
    assert t(2.0, rg.tensor([3])).tolist() == [26.0]
    assert t(rg.tensor([2]), 3).dtype is rg.float32
    found = t(rg.tensor([2.0]), rg.tensor([3.7], dtype=rg.float64))
    assert (found.tolist(), found.dtype) == ([26.0], rg.float64)
    assert t(rg.tensor([0.5]), -1).tolist() == [0.0]
    assert t(rg.zeros(0), 3).shape == (0,)
    with pytest.raises(TypeError, match="a Tensor or a number"):
        t(2, 3)


# -- complex numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("erf", "erf"),
        ("erfc", "erfc"),
        ("erfcx", "erfcx"),
        ("ndtr", "ndtr"),
        ("log_ndtr", "log_ndtr"),
        ("digamma", "digamma"),
        ("gammaln", "loggamma"),
        ("logit", None),
        ("entr", None),
        ("airy_ai", None),
        ("i0", None),
        ("spherical_bessel_j0", None),
    ],
)
def test_complex_values_and_derivatives(name, reference):
    points = np.array([0.4 + 0.3j, 1.25 - 0.75j, -0.6 + 2.0j, -3.5 + 0.4j])
    own = {
        "logit": lambda z: np.log(z / (1 - z)),
        "entr": lambda z: -z * np.log(z),
        "airy_ai": lambda z: scipy_special.airy(z)[0],
        "i0": lambda z: scipy_special.iv(0, z),
        "spherical_bessel_j0": lambda z: np.sin(z) / z,
    }
    function = getattr(scipy_special, reference) if reference else own[name]
    z = z_leaf(*points.tolist())
    y = getattr(rg.special, name)(z)
    np.testing.assert_allclose(y.detach().numpy(), function(points), rtol=1e-12)
    (found,) = grad(y, z, rg.ones_like(y))
    step = 1e-6
    derivative = (function(points + step) - function(points - step)) / (2 * step)
    np.testing.assert_allclose(found.numpy(), derivative.conj(), rtol=1e-7, atol=1e-9)
    assert rg.autograd.gradgradcheck(getattr(rg.special, name), (z,))


def test_complex_log_ndtr_is_the_principal_logarithm():
    z = rg.tensor([-9.75 - 6.5j, -2.0 + 30.0j, 4.0 + 1.0j], dtype=rg.complex128)
    found = rg.special.log_ndtr(z)
    assert (found.imag.abs() <= math.pi).all()
    np.testing.assert_allclose(found[2].exp().item(), scipy_special.ndtr(4 + 1j), rtol=1e-12)


def test_scaled_bessel_functions_refuse_complex_numbers():
    for name in ("i0e", "i1e"):
        with pytest.raises(NotImplementedError, match=r"not analytic"):
            getattr(rg.special, name)(rg.tensor([1j]))


@pytest.mark.parametrize("name", ["ndtri", "erfinv"])
def test_real_functions_refuse_complex_numbers(name):
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        getattr(rg.special, name)(rg.tensor([1j]))


def test_complex_ldexp_and_xlogy():
    x, y = z_leaf(1 + 2j, 0j), z_leaf(2 - 1j, 0j)
    np.testing.assert_allclose(
        rg.ldexp(x, y).detach().numpy(), x.detach().numpy() * 2 ** y.detach().numpy(), rtol=1e-15
    )
    found = rg.xlogy(x, y)
    np.testing.assert_allclose(found.tolist(), [(1 + 2j) * np.log(2 - 1j), 0], rtol=1e-15)
    first = grad(found.abs().sum(), [x, y])
    assert first[0][1].item() == 0


# -- accuracy, edges, dtypes ---------------------------------------------------------------------


def test_log_ndtr_has_finite_derivatives_far_out():
    x = leaf(-1e4, -40.0, 0.0, 40.0, 1e4)
    (first,) = grad(rg.special.log_ndtr(x).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    close(first.tolist(), [1e4 + 1e-4, 40.02496884720726, math.sqrt(2 / math.pi), 0.0, 0.0], 1e-11)
    close(second.tolist(), [-1.0, -0.99937733, -2 / math.pi, 0.0, 0.0], 1e-3)
    assert third.isfinite().all()


def test_logit_is_exact_near_one_half_and_inverts_the_sigmoid():
    x = leaf(0.5 + 1e-12)
    y = rg.logit(x)
    assert y.item() == pytest.approx(4 * (x.item() - 0.5), rel=1e-12)
    values = rg.tensor([-30.0, -1.0, 0.0, 2.0], dtype=rg.float64)
    close(rg.logit(rg.sigmoid(values)).tolist(), values.tolist())


def test_ldexp_reaches_what_two_to_the_exponent_does_not():
    x = rg.tensor([1e-300, 3.0], dtype=rg.float64)
    found = rg.ldexp(x, rg.tensor([1100, -1074]))
    assert found.tolist() == [math.ldexp(1e-300, 1100), math.ldexp(3.0, -1074)]
    assert rg.ldexp(rg.tensor([1]), rg.tensor([3])).tolist() == [8.0]
    assert rg.ldexp(rg.ones(1, dtype=rg.float16), rg.tensor([3])).dtype is rg.float16
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        rg.ldexp(x, 2)


def test_frexp_parts_slope_and_errors():
    x = leaf(3.0, 0.0, -0.3, INF)
    mantissa, exponent = rg.frexp(x)
    assert mantissa.tolist() == [0.75, 0.0, -0.6, INF]
    assert (exponent.tolist(), exponent.dtype) == ([2, 0, -1, 0], rg.int32)
    assert not exponent.requires_grad
    assert grad(mantissa.sum(), x)[0].tolist() == [0.25, 1.0, 2.0, 1.0]
    assert x.frexp().exponent.tolist() == [2, 0, -1, 0]
    out = rg.empty(4, dtype=rg.float64), rg.empty(4, dtype=rg.int32)
    assert rg.frexp(x.detach(), out=out).mantissa is out[0]
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        rg.frexp(rg.tensor([3]))


def test_common_divisors_and_multiples():
    a, b = rg.tensor([12, 0, -9, 0]), rg.tensor([8, 5, 6, 0])
    assert rg.gcd(a, b).tolist() == [4, 5, 3, 0]
    assert rg.lcm(a, b).tolist() == [24, 0, 18, 0]
    assert a.clone().gcd_(b).tolist() == [4, 5, 3, 0]
    assert rg.gcd(rg.tensor([4], dtype=rg.int16), rg.tensor([6], dtype=rg.int32)).dtype is rg.int32
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        rg.gcd(rg.tensor([4.0]), rg.tensor([2.0]))


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_refuse_what_they_cannot_do(name):
    function = getattr(rg, name)
    a, x = leaf(1.0, 2.0), leaf(0.5, 3.0)
    out = function(a, x)
    assert grad(out.sum(), x)[0].shape == (2,)
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}: input'"):
        function(a, x).sum().backward()
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        function(rg.tensor([1]), rg.tensor([1]))
    assert function(rg.tensor([1]), rg.tensor([0.5])).dtype is rg.float32


def test_zeta_takes_a_number_on_either_side_and_its_gradient_goes_to_the_second():
    q = leaf(1.0, 2.5)
    y = rg.special.zeta(3.0, q)
    close(grad(y.sum(), q)[0].tolist(), (-3 * scipy_special.zeta(4.0, [1.0, 2.5])).tolist())
    assert rg.special.zeta(rg.tensor([2]), 1).tolist() == [pytest.approx(math.pi**2 / 6)]
    assert rg.special.zeta(rg.tensor([2]), q.detach()).dtype is rg.float64
    with pytest.raises(NotImplementedError, match="derivative for 'zeta'"):
        rg.special.zeta(leaf(2.0), 1.0).backward()


def test_mvlgamma_and_polygamma_refuse_bad_orders():
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        rg.mvlgamma(rg.ones(1), 0)
    with pytest.raises(RuntimeError, match="does not support negative n"):
        rg.polygamma(-1, rg.ones(1))


def test_the_derivative_of_xlog1py_is_0_where_both_factors_are():
    x, y = leaf(0.0, 0.0, 2.0), rg.tensor([-1.0, -2.0, 1.0], dtype=rg.float64)
    first, second = grad(rg.special.xlog1py(x, y).sum(), x)[0], rg.special.xlog1py(x * 0, y)
    close(first.tolist(), [0.0, 0.0, math.log(2.0)])
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_xlogy_is_nan_only_where_an_input_is():
    found = rg.xlogy(rg.tensor([0.0, 0.0, 0.0, NAN, 1.0]), rg.tensor([0.0, -1.0, NAN, 2.0, -1.0]))
    np.testing.assert_array_equal(found.numpy(), [0, 0, NAN, NAN, NAN])
    assert rg.xlogy(2, rg.tensor([1, 1])).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="a Tensor or a number"):
        rg.xlogy(2, 3)


UNARY = ["airy_ai", "bessel_j0", "bessel_y1", "entr", "erfcx", "i0", "i1e", "log_ndtr", "logit",
         "modified_bessel_k0", "ndtr", "ndtri", "scaled_modified_bessel_k1",
         "spherical_bessel_j0"]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_shapes_and_out(name):
    function = getattr(rg.special, name)
    assert function(rg.tensor([1])).dtype is rg.float32
    assert function(rg.tensor([True])).dtype is rg.float32
    for dtype in (rg.float16, rg.float32, rg.float64):
        x = rg.full((2, 0), 0.5, dtype=dtype)
        assert (function(x).dtype, function(x).shape) == (dtype, (2, 0))
        assert function(rg.tensor(0.5, dtype=dtype)).shape == ()
    out = rg.empty(1)
    assert function(rg.tensor([0.5]), out=out) is out
    assert out.item() == function(rg.tensor(0.5)).item()


@pytest.mark.parametrize("name", ["i0", "logit", "digamma", "erf"])
def test_methods_and_in_place_forms(name):
    x = rg.tensor([0.25, 0.5], dtype=rg.float64)
    expected = getattr(rg, name)(x).tolist()
    assert getattr(x, name)().tolist() == expected
    assert getattr(x.clone(), f"{name}_")().tolist() == expected


@pytest.mark.usefixtures("without_scipy")
def test_without_scipy_the_error_names_the_extra():
    with pytest.raises(ImportError, match=r"pip install retrograd\[fast\]"):
        rg.special.bessel_j0(rg.ones(1))
    assert rg.special.i0(rg.zeros(1)).item() == 1.0
    assert rg.special.ndtri(rg.tensor(0.5)).item() == 0.0


def test_airys_function_is_0_far_to_the_right():
    pytest.importorskip("scipy.special", reason="it has the function")
    x = rg.tensor([1e3, 1e10, math.inf], dtype=rg.float64, requires_grad=True)
    y = rg.special.airy_ai(x)
    assert y.tolist() == [0.0, 0.0, 0.0]
    assert rg.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["erfinv", "logit"])
def test_the_result_of_an_inverse_may_be_overwritten(name):
    x = rg.tensor([0.25, 0.5], dtype=rg.float64, requires_grad=True)
    y = getattr(x, name)()
    (expected,) = rg.autograd.grad(y.sum(), x, retain_graph=True)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.equal(3 * expected)


def test_the_derivative_of_logit_at_both_zeros_is_infinity():
    x = rg.tensor([-0.0, 0.0, 1.0], requires_grad=True)
    x.logit().sum().backward()
    assert x.grad.tolist() == [np.inf] * 3
