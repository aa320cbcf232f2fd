"""Programs written for HIPS autograd: its operators, conventions and rules of the user's own."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as onp
import pytest
import scipy.special
import scipy.stats

import retrograd.interop.autograd.numpy as np
from retrograd.interop import autograd
from retrograd.interop.autograd import (
    checkpoint,
    defjvp,
    defvjp,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian,
    holomorphic_grad,
    hvp,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    primitive,
    value_and_grad,
)
from retrograd.interop.autograd.builtins import isinstance as box_isinstance
from retrograd.interop.autograd.extend import defjvp_argnum, defvjp_argnums, vspace
from retrograd.interop.autograd.misc import flatten
from retrograd.interop.autograd.misc.optimizers import adam, rmsprop, sgd
from retrograd.interop.autograd.scipy import special, stats
from retrograd.interop.autograd.test_util import check_grads
from retrograd.interop.autograd.tracer import getval, isbox

X = onp.array([0.3, -1.2, 2.1])
MATRIX = onp.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])


def wave(x):
    return np.sum(np.sin(x) * x[::-1])


# -- operators --------------------------------------------------------


def test_a_gradient_is_an_array_of_the_arguments_shape_and_dtype():
    found = grad(lambda x: np.sum(x**2))(X.astype(onp.float32))
    assert type(found) is onp.ndarray
    assert found.dtype == onp.float32
    onp.testing.assert_allclose(found, 2 * X, rtol=1e-6)


def test_a_gradient_of_a_float_is_a_numpy_number():
    found = grad(np.sin)(1.0)
    assert isinstance(found, float)
    assert found == onp.cos(1.0)


def test_derivatives_nest():
    third = grad(grad(grad(np.sin)))
    assert third(0.7) == pytest.approx(-onp.cos(0.7), abs=1e-15)


def test_an_inner_derivative_is_not_confused_with_an_outer_one():
    assert grad(lambda x: x * grad(lambda y: x + y)(2.0))(1.0) == 1.0


def test_forward_over_reverse_and_reverse_over_forward_agree():
    forward = make_jvp(grad(wave))(X)(onp.ones(3))[1]
    reverse = grad(lambda x: make_jvp(wave)(x)(onp.ones(3))[1])(X)
    onp.testing.assert_allclose(forward, reverse, rtol=1e-12)


def test_argnum_may_be_a_tuple():
    a, b = grad(lambda x, y, z: x * y * z, argnum=(2, 0))(2.0, 3.0, 5.0)
    assert (a, b) == (6.0, 15.0)


def test_containers_of_arrays_have_gradients_built_alike():
    found = grad(lambda p: np.sum(p["w"] * 2) + p["b"][0] ** 2)(
        {"w": X, "b": [3.0, "name"], "n": (1.0,)}
    )
    onp.testing.assert_array_equal(found["w"], [2.0, 2.0, 2.0])
    assert found["b"][0] == 6.0
    assert found["n"] == (0.0,)


def test_value_and_grad_gives_both():
    value, slope = value_and_grad(lambda x: np.sum(x**2))(X)
    assert value == pytest.approx(onp.sum(X**2), rel=1e-15)
    onp.testing.assert_array_equal(slope, 2 * X)


def test_grad_of_a_vector_raises():
    with pytest.raises(TypeError, match="only applies to real scalar-output functions"):
        grad(np.sin)(X)


def test_grad_of_a_complex_number_raises():
    with pytest.raises(TypeError, match="real scalar-output"):
        grad(lambda x: x * 1j)(1.0)


def test_grad_of_an_integer_raises():
    with pytest.raises(TypeError, match="Can't differentiate w"):
        grad(lambda x: x * 2.0)(3)


def test_an_independent_output_warns_and_has_gradient_zero():
    with pytest.warns(UserWarning, match="independent of input"):
        assert grad(lambda x: 1.0)(2.0) == 0.0


def test_elementwise_grad_is_the_derivative_in_each_element():
    onp.testing.assert_allclose(elementwise_grad(np.sin)(X), onp.cos(X), rtol=1e-15)
    assert autograd.egrad is elementwise_grad


def test_deriv_is_the_derivative():
    assert deriv(np.exp)(0.0) == 1.0


def test_a_jacobian_has_the_shape_of_value_and_argument():
    found = jacobian(lambda x: np.reshape(np.outer(x, x), (3, 1, 3)))(X)
    assert found.shape == (3, 1, 3, 3)
    onp.testing.assert_allclose(found[0, 0, 1], [X[1], X[0], 0.0])


def test_a_hessian_and_its_products_agree():
    v = onp.array([1.0, 2.0, -1.0])
    expected = hessian(wave)(X) @ v
    onp.testing.assert_allclose(hvp(wave)(X, v), expected, rtol=1e-12)
    onp.testing.assert_allclose(make_hvp(wave)(X)[0](v), expected, rtol=1e-12)


def test_a_vjp_may_be_called_again():
    vjp, value = make_vjp(np.square)(X)
    onp.testing.assert_array_equal(value, X**2)
    onp.testing.assert_array_equal(vjp(onp.ones(3)), 2 * X)
    onp.testing.assert_array_equal(vjp(X), 2 * X**2)


def test_a_cotangent_of_another_shape_raises():
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        make_vjp(np.square)(X)[0](onp.ones(2))


def test_a_gauss_newton_product_is_that_of_the_jacobian():
    J = jacobian(lambda x: np.tanh(MATRIX @ x))(X)
    found = make_ggnvp(lambda x: np.tanh(np.dot(MATRIX, x)))(X)(onp.ones(3))
    onp.testing.assert_allclose(found, J.T @ J @ onp.ones(3), rtol=1e-12)


def test_grad_and_aux_keeps_the_second_result():
    slope, aux = grad_and_aux(lambda x: (x**2, {"y": 3.0 * x}))(2.0)
    assert (slope, aux) == (4.0, {"y": 6.0})


def test_multigrad_dict_names_all_arguments():
    found = multigrad_dict(lambda a, *, b=3.0: a * b)(2.0, b=5.0)
    assert found == {"a": 5.0, "b": 2.0}


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_checkpoint_has_the_same_derivatives(mode):
    check_grads(checkpoint(lambda x, y: np.sin(x) * y), (0, 1), modes=[mode])(X, 2.0)


# -- complex numbers --------------------------------------------------------


def test_the_gradient_of_a_complex_argument_is_conjugated():
    """HIPS gives df/da - i df/db; for |z|^2 that is 2 conj(z)."""
    assert grad(lambda z: np.abs(z) ** 2)(1.0 + 2.0j) == pytest.approx(2.0 - 4.0j)


def test_the_holomorphic_gradient_is_the_complex_derivative():
    assert holomorphic_grad(lambda z: z**3)(1.0 + 2.0j) == pytest.approx(3 * (1.0 + 2.0j) ** 2)


def test_complex_functions_pass_the_check():
    check_grads(lambda z: np.sin(z) * np.conj(z))(X + 1j * X[::-1])


# -- boxes --------------------------------------------------------


def test_methods_and_attributes_are_numpys():
    seen = []

    def program(x):
        seen.extend([x.size, x.dtype, x.shape, x.ndim, type(x > 0), getval(x).sum()])
        y = x.std() + x.max(axis=0) + x.reshape(3, 1).T.dot(x)[0] + x.flatten()[::-2][0]
        return y + x.repeat(2)[1] + x.astype(onp.float64).copy().var()

    check_grads(program)(X)
    assert seen[:4] == [3, onp.float64, (3,), 1]
    assert seen[4] is onp.ndarray


def test_integers_beside_arrays_are_indices_as_numpys_are():
    cube = onp.arange(24.0).reshape(2, 3, 4)

    def program(x):
        return x[1, :, onp.array([0, 3, 3])]

    onp.testing.assert_array_equal(make_vjp(program)(cube)[1], program(cube))
    check_grads(program)(cube)


def test_arrays_may_be_filled_with_a_box():
    def function(x):
        return np.sum(np.full(3, x[0]) * x + np.full_like(x, x[1] * x[2]) * np.arange(3))

    onp.testing.assert_allclose(grad(function)(onp.array([0.5, 2.0, 3.0])), [6.0, 9.5, 6.5])


def test_numbers_between_boxes_have_gradients():
    def between(x):
        return np.linspace(x[0], x[1], 3)

    expected = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    onp.testing.assert_array_equal(jacobian(between)(onp.array([2.0, 5.0])), expected)
    onp.testing.assert_array_equal(between(onp.array([2.0, 5.0])), [2.0, 3.5, 5.0])


def test_numpy_cannot_read_a_box():
    with pytest.raises(TypeError, match="gradient would be lost"):
        grad(lambda x: onp.asarray(x).sum())(X)


def test_a_box_cannot_be_written_into():
    def program(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(TypeError, match="item assignment"):
        grad(program)(X)


def test_adding_in_place_gives_a_new_box():
    def program(x):
        total = x
        total += x
        total *= x
        return np.sum(total) + np.sum(x)

    onp.testing.assert_allclose(grad(program)(X), 4 * X + 1)


def test_a_box_is_an_array_to_isinstance():
    def program(x):
        assert isbox(x)
        assert box_isinstance(x, onp.ndarray)
        return x.sum()

    grad(program)(X)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.array([x[0], [x[1], 2.0][0], 1.0]),
        lambda x: np.sum([x[0], x[1] ** 2]),
        lambda x: np.r_[x, 1.0, x**2],
        lambda x: np.c_[x, x**2],
        lambda x: np.concatenate([x, np.ones(2)]),
        lambda x: np.split(x, 3)[1] * x,
        lambda x: np.linalg.solve(MATRIX, x),
        lambda x: np.real(np.fft.fft(x)),
        lambda x: x[np.array([0, 0, 2])] + x[[True, True, True]],
    ],
)
def test_functions_of_the_namespace_pass_the_check(program):
    check_grads(program)(X)


@pytest.mark.parametrize("UPLO", ["L", "U"])
@pytest.mark.parametrize(
    "matrix", [MATRIX, MATRIX + 1j * MATRIX.T @ MATRIX], ids=["real", "complex"]
)
def test_eigenvalues_have_the_gradient_of_the_triangle_that_is_read(matrix, UPLO):
    check_grads(lambda a: np.linalg.eigvalsh(a, UPLO))(matrix)
    check_grads(lambda a: np.linalg.eigh(a, UPLO)[0])(matrix)


# -- rules of the user's own --------------------------------------------------------


@primitive
def product(x, y, scale=1.0):
    assert type(x) in (onp.ndarray, onp.float64, float)
    return x * y * scale


defvjp(
    product,
    lambda ans, x, y, scale=1.0: lambda g: g * y * scale,
    lambda ans, x, y, scale=1.0: lambda g: g * x * scale,
)
defjvp(
    product,
    lambda g, ans, x, y, scale=1.0: product(g, y, scale=scale),
    lambda g, ans, x, y, scale=1.0: g * x * scale,
)


def test_a_primitive_has_the_derivatives_of_its_rules():
    check_grads(product, (0, 1), order=3)(X, X[::-1])
    check_grads(lambda x: product(x, x, scale=3.0))(X)


def test_a_complex_primitive_passes_the_check():
    check_grads(product, (0, 1))(X * 1j, X + 2j)


def test_a_rule_that_says_none_is_zero():
    @primitive
    def first(x, y):
        return x

    defvjp(first, lambda ans, x, y: lambda g: g, None)
    defjvp(first, "same", None)
    check_grads(first, (0, 1))(2.0, 3.0)


@pytest.mark.parametrize(("operator", "mode"), [(grad, "VJP"), (deriv, "JVP")])
def test_a_rule_that_is_missing_raises(operator, mode):
    @primitive
    def mute(x):
        return x

    with pytest.raises(NotImplementedError, match=f"{mode} of mute wrt argnum 0 not defined"):
        operator(mute)(1.0)


def test_a_rule_for_all_arguments_sees_containers():
    @primitive
    def total(parts):
        return parts[0] + parts[1]["a"]

    defvjp_argnums(total, lambda argnums, ans, args, options: lambda g: ([g, {"a": g}],))
    defjvp_argnum(total, lambda argnum, g, ans, args, options: total(g))
    check_grads(lambda x, y: total([x, {"a": y}]) ** 2, (0, 1))(2.0, 3.0)


def test_a_wrong_rule_fails_the_check():
    @primitive
    def square(x):
        return x**2

    defvjp(square, lambda ans, x: lambda g: g * 2.1 * x)
    with pytest.raises(AssertionError, match=r"\(VJP\) check of square failed"):
        check_grads(square, modes=["rev"])(2.0)


# -- tools --------------------------------------------------------


def test_flatten_takes_apart_and_puts_together_again():
    value = {"b": [X, 1.0], "a": (MATRIX, [])}
    vector, unflatten = flatten(value)
    onp.testing.assert_array_equal(vector, [*MATRIX.ravel(), *X, 1.0])
    again = unflatten(vector)
    onp.testing.assert_array_equal(again["a"][0], MATRIX)
    assert again["b"][1] == 1.0


def test_flatten_is_differentiated():
    found = grad(lambda x, y: np.sum(flatten([x, y])[0] ** 2), (0, 1))(1.0, X)
    assert found[0] == 2.0
    onp.testing.assert_array_equal(found[1], 2 * X)


@pytest.mark.parametrize(
    ("optimizer", "size"), [(sgd, 0.5), (rmsprop, 0.01), (adam, 0.05)], ids=["sgd", "rms", "adam"]
)
def test_an_optimizer_finds_the_minimum_of_nested_parameters(optimizer, size):
    loss = grad(lambda p, i: np.sum((p["a"] - X) ** 2) + (p["b"] - 1.0) ** 2)
    calls = []
    found = optimizer(
        loss,
        {"a": onp.zeros(3), "b": 0.0},
        lambda p, i, g: calls.append((p["b"], i, g["b"])),
        num_iters=500,
        step_size=size,
    )
    assert calls[0] == (0.0, 0, -2.0)
    onp.testing.assert_allclose([*found["a"], found["b"]], [*X, 1.0], atol=0.02)


def test_a_space_is_that_of_a_value():
    space = vspace([X, 1j])
    assert (space.size, space.iscomplex, space.shape) == (5, True, [(3,), ()])
    assert space == vspace([onp.zeros(3), 2j])
    assert space != vspace([onp.zeros(2), 2j])
    assert len(list(space.standard_basis())) == 5


# -- SciPy --------------------------------------------------------

HALVES = onp.array([0.3, 0.5, 0.8])
SPECIAL = {
    "gamma": lambda x: special.gamma(x),
    "rgamma": lambda x: special.rgamma(x),
    "beta": lambda x: special.beta(x, 2.0 * x),
    "betaln": lambda x: special.betaln(x, 2.0),
    "betainc": lambda x: special.betainc(1.5, 2.5, x),
    "erfcinv": lambda x: special.erfcinv(x),
    "jn": lambda x: special.jn(2, x),
    "yn": lambda x: special.yn(2, x),
    "iv": lambda x: special.iv(2.0, x),
    "ive": lambda x: special.ive(2.0, x),
    "polygamma": lambda x: special.polygamma(1, x),
    "psi": lambda x: special.psi(x),
    "gammaln": lambda x: special.gammaln(x),
    "multigammaln": lambda x: special.multigammaln(x + 2, 3),
    "logsumexp": lambda x: special.logsumexp(x, axis=0),
    "norm.logcdf": lambda x: stats.norm.logcdf(x, x**2, 2.0),
    "norm.sf": lambda x: stats.norm.sf(x, 0.1, x),
    "norm.pdf": lambda x: stats.norm.pdf(x, loc=x**2, scale=2.0),
    "t.logpdf": lambda x: stats.t.logpdf(x, 3.0 * x, 0.1, x),
    "t.logcdf": lambda x: stats.t.logcdf(x, 3.0, 0.1, x),
    "beta.pdf": lambda x: stats.beta.pdf(x, 2.0 * x, 3.0),
    "beta.cdf": lambda x: stats.beta.cdf(x, 2.0, 3.0),
    "gamma.pdf": lambda x: stats.gamma.pdf(x, 2.0 * x),
    "gamma.cdf": lambda x: stats.gamma.cdf(x, 2.0),
    "chi2.pdf": lambda x: stats.chi2.pdf(x, 2.0 * x),
    "chi2.cdf": lambda x: stats.chi2.cdf(x, 2.0),
    "poisson.pmf": lambda x: stats.poisson.pmf(2.0, x),
    "poisson.cdf": lambda x: stats.poisson.cdf(2.0, x),
    "dirichlet": lambda x: stats.dirichlet.pdf(onp.array([0.2, 0.3, 0.5]), x),
    "mvn": lambda x: stats.multivariate_normal.pdf(x, x**2, MATRIX @ MATRIX.T * x[0]),
    "mvn.entropy": lambda x: stats.multivariate_normal.entropy(None, MATRIX @ MATRIX.T * x[0]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_scipys_functions_have_scipys_values_and_derivatives(name):
    function = SPECIAL[name]
    values = make_vjp(function)(HALVES)[1]
    onp.testing.assert_allclose(values, function(HALVES), rtol=1e-11)
    check_grads(function)(HALVES)


def test_other_names_are_scipys():
    assert special.zeta is scipy.special.zeta
    assert stats.norm.ppf(0.5) == 0.0


def test_a_distribution_is_a_module():
    norm = importlib.import_module("retrograd.interop.autograd.scipy.stats.norm")
    assert norm is stats.norm
    assert norm.__all__ == ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]
    assert (norm.sf.__name__, norm.sf.__doc__) == ("sf", "The probability of more than `x`.")


def test_a_singular_covariance_has_a_density_in_its_space():
    cov = onp.diag([1.0, 4.0, 0.0])
    x = onp.array([0.5, 1.0, 0.0])

    def logpdf(x):
        return stats.multivariate_normal.logpdf(x, onp.zeros(3), cov, allow_singular=True)

    value = make_vjp(logpdf)(x)[1]
    assert value == pytest.approx(logpdf(x), rel=1e-12)


def test_importing_retrograd_does_not_load_it():
    code = "import sys, retrograd; print('retrograd.interop.autograd' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_array_of_integers_counts_as_floats():
    x = onp.array([1, 2, 3])
    assert elementwise_grad(lambda x: x**2 / 2)(x).tolist() == [1.0, 2.0, 3.0]
    assert make_jvp(lambda x: x**2)(x)(onp.ones(3))[1].tolist() == [2.0, 4.0, 6.0]
    assert jacobian(lambda x: x * x)(x).dtype == onp.float64
    with pytest.raises(TypeError, match="type <class 'int'>: expected a float"):
        grad(lambda x: x * 2.0)(3)
