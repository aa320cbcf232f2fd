"""`retrograd.wirtinger`: both derivatives in all forms and conventions, by 2n real variables."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import wirtinger

Z, G = 0.7 - 0.4j, 0.3 + 1.1j


def close(found, expected, tol=1e-12):
    """Assert that a tensor has the values, up to rounding."""
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tol, atol=tol)


# The function; ∂f/∂z and ∂f/∂z* by hand; PyTorch 2.13's gradient at Z for the cotangent 1.
TABLE = {
    "z": (lambda z: 1 * z, lambda z: 1, lambda z: 0, 1),
    "conj": (lambda z: z.conj(), lambda z: 0, lambda z: 1, 1),
    "z^2": (lambda z: z**2, lambda z: 2 * z, lambda z: 0, 1.4 + 0.8j),
    "z^3": (lambda z: z**3, lambda z: 3 * z**2, lambda z: 0, 0.99 + 1.68j),
    "1/z": (
        lambda z: 1 / z,
        lambda z: -1 / z**2,
        lambda z: 0,
        -0.7810650887573963 + 1.3254437869822486j,
    ),
    "exp": (rg.exp, np.exp, lambda z: 0, 1.8547890704187584 + 0.7841922411627098j),
    "log": (rg.log, lambda z: 1 / z, lambda z: 0, 1.0769230769230769 - 0.6153846153846154j),
    "sqrt": (
        rg.sqrt,
        lambda z: 0.5 / np.sqrt(z),
        lambda z: 0,
        0.5381995938793481 - 0.1429266721823676j,
    ),
    "z conj(z)": (lambda z: z * z.conj(), np.conj, lambda z: z, 1.4 - 0.8j),
    "sgn": (
        rg.sgn,
        lambda z: 0.5 / abs(z),
        lambda z: -0.5 * z**2 / abs(z) ** 3,
        0.3053162697580516 + 0.5343034720765903j,
    ),
    "abs": (
        rg.abs,
        lambda z: np.conj(z) / (2 * abs(z)),
        lambda z: z / (2 * abs(z)),
        0.8682431421244592 - 0.49613893835683387j,
    ),
    "abs^2": (lambda z: z.abs() ** 2, np.conj, lambda z: z, 1.4 - 0.8j),
    "real": (lambda z: z.real, lambda z: 0.5, lambda z: 0.5, 1),
    "imag": (lambda z: z.imag, lambda z: -0.5j, lambda z: 0.5j, 1j),
    "angle": (
        rg.angle,
        lambda z: -0.5j / z,
        lambda z: 0.5j / np.conj(z),
        0.6153846153846155 + 1.076923076923077j,
    ),
}
HOLOMORPHIC = {"z", "z^2", "z^3", "1/z", "exp", "log", "sqrt"}

# Shape (2, 2) to several shapes; some need all elements at once.
FUNCTIONS = {
    "matrix product": lambda z: z @ z.conj().T,
    "mixed": lambda z: z.sum(0) * z[0, 1].conj() + z[1].abs(),
    "real": lambda z: (z * z.conj().flip(0)).real.sum() + z.abs().prod(),
    "inverse": lambda z: rg.linalg.inv(z + 3 * rg.eye(2)),
    "fft": lambda z: rg.fft.fft(z.abs() * z),
    "elementwise": lambda z: z.exp() * z.conj().sin(),
}
POINT = np.array([[0.7 - 0.4j, -1.2 + 0.3j], [0.1 + 0.9j, 1.5 + 1.1j]])


def at(z):
    return rg.tensor(z, dtype=rg.complex128)


def differences(f, z, h=1e-6):
    """The real matrix of f at z by central differences in its 2n real variables."""
    columns = []
    for unit in (h, 1j * h):
        for index in np.ndindex(z.shape):
            step = np.zeros(z.shape, complex)
            step[index] = unit
            up, down = (np.asarray(f(at(z + s * step)).numpy(), complex) for s in (1, -1))
            change = (up - down).ravel() / (2 * h)
            columns.append(np.concatenate([change.real, change.imag]))
    return np.stack(columns, axis=1)


# -- one number ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_the_pair_is_that_of_the_textbook(name):
    f, a, b, _ = TABLE[name]
    found_a, found_b = wirtinger.derivatives(f, at(Z))
    close(found_a, a(Z))
    close(found_b, b(Z))


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("z", [Z, -1.2 + 1e-3j, 1e-3 - 2e-3j, -30.0 + 4.0j])
def test_the_pair_agrees_with_differences_in_two_real_variables(name, z):
    f = TABLE[name][0]
    a, b = wirtinger.derivatives(f, at(z))
    by_x, by_y = differences(f, np.array(z), h=1e-6 * abs(z)).T @ np.array([1, 1j])
    expected = np.array([by_x - 1j * by_y, by_x + 1j * by_y]) / 2
    np.testing.assert_allclose([a.item(), b.item()], expected, rtol=1e-6, atol=1e-6 * abs(by_x))


def test_derivatives_are_taken_at_every_element():
    z = at(POINT)
    a, b = wirtinger.derivatives(lambda z: z * z * z.conj(), z)
    close(a, 2 * abs(POINT) ** 2)
    close(b, POINT**2)


def test_a_function_of_one_number_may_have_a_result_of_any_shape():
    a, b = wirtinger.derivatives(lambda z: rg.stack([z * z, 2 * z.conj()]), at(Z))
    close(a, [2 * Z, 0])
    close(b, [0, 2])


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z.cumsum(0),
        lambda z: z - z.mean(),
        lambda z: z.flip(1),
        lambda z: z + z.flip(0).imag,
        lambda z: z.real + z.imag.flip(0),
    ],
)
def test_elements_that_depend_on_others_are_refused(f):
    with pytest.raises(ValueError, match="does not act on each element"):
        wirtinger.derivatives(f, at(POINT))


def test_a_result_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"it gives shape \[2\]"):
        wirtinger.derivatives(lambda z: z.sum(0), at(POINT))


@pytest.mark.parametrize("name", ["derivatives", "jacobian", "hessian", "is_holomorphic"])
@pytest.mark.parametrize("z", [rg.tensor(1.0), rg.tensor(1), 1 + 1j])
def test_what_is_not_a_complex_tensor_is_refused(name, z):
    with pytest.raises(ValueError, match=f"{name}: z must be a complex tensor"):
        getattr(wirtinger, name)(lambda z: z, z)


def test_the_function_runs_once_for_derivatives():
    calls = []
    wirtinger.derivatives(lambda z: calls.append(1) or z * z, at(POINT))
    assert calls == [1]


@pytest.mark.parametrize("dtype", [rg.complex64, rg.complex128])
def test_derivatives_keep_the_precision(dtype):
    a, b = wirtinger.derivatives(rg.abs, rg.tensor(Z, dtype=dtype))
    assert (a.dtype, b.dtype) == (dtype, dtype)


@pytest.mark.parametrize("name", TABLE)
def test_gradcheck_agrees_with_both_derivatives(name):
    assert wirtinger.gradcheck(TABLE[name][0], at([Z, -1.2 + 0.1j]))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda z: z * z.detach(), r"∂f/∂z of result 0 by number 0 is .* 1 of 1 entries"),
        (lambda z: z * z.detach().conj(), r"∂f/∂z\* of result 0 by number 0 is 0\+0j"),
    ],
)
def test_gradcheck_says_which_derivative_is_wrong(wrong, text):
    with pytest.raises(rg.autograd.gradcheck.GradcheckError, match=text):
        wirtinger.gradcheck(wrong, at([Z]))
    assert not wirtinger.gradcheck(wrong, at([Z]), raise_exception=False)


# -- many numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_real_form_agrees_with_differences(name):
    found = wirtinger.jacobian(FUNCTIONS[name], at(POINT), form="real")
    close(found, differences(FUNCTIONS[name], POINT), tol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_forms_of_a_jacobian_say_the_same(name):
    f, z = FUNCTIONS[name], at(POINT)
    a, b = wirtinger.jacobian(f, z)
    assert a.shape == b.shape == (*f(z).shape, 2, 2)
    flat_a, flat_b = a.numpy().reshape(-1, 4), b.numpy().reshape(-1, 4)
    for pair in (
        wirtinger.from_augmented(wirtinger.jacobian(f, z, form="augmented")),
        wirtinger.from_real(wirtinger.jacobian(f, z, form="real")),
    ):
        close(pair[0], flat_a)
        close(pair[1], flat_b)


def test_the_augmented_form_multiplies_numbers_and_their_conjugates():
    f, z = FUNCTIONS["mixed"], at(POINT)
    t = np.array([[0.2 - 1j, 0.5j], [1.0 + 0.3j, -0.7]])
    _, moved = rg.func.jvp(f, (z,), (at(t),))
    c = np.concatenate([t.ravel(), t.ravel().conj()])
    product = wirtinger.jacobian(f, z, form="augmented").numpy() @ c
    np.testing.assert_allclose(product, np.concatenate([moved, moved.conj()]), rtol=1e-12)


def test_augmented_forms_of_a_composition_multiply():
    f, g, z = FUNCTIONS["matrix product"], FUNCTIONS["fft"], at(POINT)
    chain = wirtinger.jacobian(g, f(z), form="augmented") @ wirtinger.jacobian(
        f, z, form="augmented"
    )
    close(wirtinger.jacobian(lambda z: g(f(z)), z, form="augmented"), chain.numpy())


def loss(z):
    return (z.abs() ** 4).sum() + (z[0, 0] * z[1, 1].conj()).real ** 2 + z[0, 1].angle()


def complex_loss(z):
    return (z**3 * z.conj()).sum() + z[0, 0] * z[1, 0].conj() ** 2


def second_differences(f, h=1e-4):
    """The Hessian of f at POINT in real variables, by differences of the first derivatives."""
    rows = []
    for unit in (h, 1j * h):
        for index in np.ndindex(2, 2):
            step = np.zeros((2, 2), complex)
            step[index] = unit
            up, down = (differences(f, POINT + s * step, h) for s in (1, -1))
            rows.append((up - down) / (2 * h))
    real, imag = np.stack(rows).transpose(1, 0, 2)
    return real + 1j * imag


@pytest.mark.parametrize("f", [loss, complex_loss])
def test_the_real_hessian_agrees_with_differences(f):
    found = wirtinger.hessian(f, at(POINT), form="real")
    assert found.is_complex() is (f is complex_loss)
    np.testing.assert_allclose(found.numpy(), second_differences(f), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("f", [loss, complex_loss])
def test_the_augmented_hessian_holds_the_four_blocks_and_is_symmetric(f):
    z = at(POINT)
    (zz, zc), (cz, cc) = wirtinger.hessian(f, z)
    found = wirtinger.hessian(f, z, form="augmented").numpy()
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-12)
    for rows, row in (((0, 4), (zz, zc)), ((4, 8), (cz, cc))):
        for columns, block in zip(((0, 4), (4, 8)), row, strict=True):
            np.testing.assert_array_equal(
                found[slice(*rows), slice(*columns)], block.numpy().reshape(4, 4)
            )


def test_the_hessian_is_the_second_order_term_of_the_taylor_series():
    z, t = at(POINT), 1e-3 * np.array([[1 + 2j, -0.5], [0.3j, 0.7 - 1j]])
    c, r = np.concatenate([t.ravel(), t.ravel().conj()]), np.concatenate([t.real, t.imag])
    by_pair = c @ wirtinger.hessian(loss, z, form="augmented").numpy() @ c
    r = r.ravel()
    by_real = r @ wirtinger.hessian(loss, z, form="real").numpy() @ r
    values = [loss(at(POINT + s * t)).item() for s in (1, 0, -1)]
    np.testing.assert_allclose(by_pair, by_real, rtol=1e-12)
    np.testing.assert_allclose(values[0] - 2 * values[1] + values[2], by_real, rtol=1e-4)


def test_a_hessian_matrix_of_several_numbers_is_refused():
    with pytest.raises(ValueError, match="that gives a single number, but this one gives shape"):
        wirtinger.hessian(lambda z: z * z, at(POINT), form="real")


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_an_unknown_form_is_refused(name):
    with pytest.raises(ValueError, match="form must be one of"):
        getattr(wirtinger, name)(lambda z: z.abs(), at(Z), form="split")


@pytest.mark.parametrize("convert", [wirtinger.from_real, wirtinger.from_augmented])
def test_a_matrix_that_has_no_four_blocks_is_refused(convert):
    with pytest.raises(ValueError, match="matrix of 2 x 2 blocks"):
        convert(rg.ones(3, 2))


def test_a_jacobian_can_be_differentiated():
    z = at(Z).requires_grad_()
    a, _ = wirtinger.jacobian(lambda z: z**3, z)
    a.backward(at(1.0))
    assert z.grad.item() == pytest.approx(np.conj(6 * Z))


# -- Cauchy and Riemann ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_is_holomorphic_knows_the_table(name):
    assert bool(wirtinger.is_holomorphic(TABLE[name][0], at(Z))) is (name in HOLOMORPHIC)


def test_the_residual_is_half_of_what_the_equations_miss():
    found = wirtinger.is_holomorphic(lambda z: z.real + 3j * z.imag, at(Z))
    close(found.residual, 1.0)  # u_x - v_y = 1 - 3, and v_x + u_y = 0
    assert not found


def test_where_the_equations_fail_is_shown_by_result_and_by_argument():
    def f(z):
        return rg.stack([z[0] * z[1], z[1].conj() * z[0]])

    found = wirtinger.is_holomorphic(f, at([1 + 1j, 2j]))
    assert found.fails.tolist() == [[False, False], [False, True]]
    close(found.residual, [[0, 0], [0, abs(1 + 1j)]])


def test_rounding_is_not_taken_for_a_failure_but_a_small_residual_is():
    z = at(np.linspace(-2, 2, 9) + 1j)
    assert wirtinger.is_holomorphic(lambda z: z.sin() / z.cosh() * z.exp(), z)
    assert not wirtinger.is_holomorphic(lambda z: z + 1e-9 * z.conj(), z)
    assert wirtinger.is_holomorphic(lambda z: z + 1e-9 * z.conj(), z, tol=1e-8)


def test_nan_is_not_holomorphic():
    assert wirtinger.is_holomorphic(lambda z: 1 / z, at(0.0)).fails.item() is True


# -- conventions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_the_gradient_in_the_convention_of_pytorch(name):
    f, _, _, expected = TABLE[name]
    close(wirtinger.gradient(f, at(Z)), expected)
    close(wirtinger.gradient(f, at(Z), convention="tensorflow"), expected)


@pytest.mark.parametrize("name", TABLE)
def test_the_gradient_of_jax_is_the_conjugate_for_the_conjugate_cotangent(name):
    f, a, b, _ = TABLE[name]
    real = not f(at(Z)).is_complex()
    v = rg.tensor(G.real if real else G, dtype=rg.float64 if real else rg.complex128)
    found = wirtinger.gradient(f, at(Z), convention="jax", cotangent=v)
    close(found, v.numpy() * a(Z) + np.conj(v.numpy() * b(Z)))
    close(found, np.conj(wirtinger.gradient(f, at(Z), cotangent=v.conj()).numpy()))


@pytest.mark.parametrize("name", sorted(HOLOMORPHIC))
def test_jax_gives_the_derivative_of_a_holomorphic_function(name):
    f, a, _, _ = TABLE[name]
    close(wirtinger.gradient(f, at(Z), convention="jax"), a(Z))


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("convention", ["torch", "tensorflow", "jax"])
def test_the_gradient_follows_from_the_pair_by_the_formula(name, convention):
    f = TABLE[name][0]
    real = not f(at(Z)).is_complex()
    v = rg.tensor(G.real if real else G, dtype=rg.float64 if real else rg.complex128)
    found = wirtinger.pulled_back(*wirtinger.derivatives(f, at(Z)), v, convention)
    close(found, wirtinger.gradient(f, at(Z), convention, v).numpy())


@pytest.mark.parametrize(
    ("f", "expected"),
    [  # PyTorch 2.13 at 0.6 for the cotangent 0.3 + 1.1i
        (lambda x: (1j * x).exp(), 0.7384764343821356),
        (lambda x: rg.complex(x, rg.zeros_like(x)), 0.3),
    ],
)
def test_a_real_variable_has_the_same_gradient_in_every_convention(f, expected):
    x = rg.tensor(0.6, dtype=rg.float64)
    close(wirtinger.gradient(f, x, "torch", at(G)), expected)
    close(wirtinger.gradient(f, x, "jax", at(np.conj(G))), expected)


# jax.grad of real losses, from JAX's documentation of complex numbers and by hand.
@pytest.mark.parametrize(
    ("f", "z", "expected"),
    [
        (lambda z: z.abs() ** 2, 3 + 4j, 6 - 8j),
        (lambda z: z.real**2 - 2 * z.imag, 3 + 4j, 6 + 2j),
        (lambda z: z.abs(), 3 + 4j, 0.6 - 0.8j),
    ],
)
def test_the_gradient_of_a_real_loss_in_the_convention_of_jax(f, z, expected):
    close(wirtinger.gradient(f, at(z), convention="jax"), expected)


def test_the_gradient_of_a_real_loss_is_twice_the_derivative_by_the_conjugate():
    a, b = wirtinger.derivatives(rg.abs, at(Z))
    for convention in ("torch", "tensorflow", "jax"):
        g = wirtinger.gradient(rg.abs, at(Z), convention)
        found_a, found_b = wirtinger.from_gradient(g, convention)
        close(found_a, a.numpy())
        close(found_b, b.numpy())


@pytest.mark.parametrize(
    ("source", "target", "conjugated"),
    [
        ("torch", "tensorflow", False),
        ("torch", "jax", True),
        ("jax", "tensorflow", True),
        ("jax", "jax", False),
    ],
)
def test_gradients_convert_between_conventions(source, target, conjugated):
    g = at(G)
    expected = np.conj(G) if conjugated else G
    assert wirtinger.convert(g, source, target).item() == expected


def test_a_gradient_has_the_structure_of_its_argument():
    tree = {"a": at([Z]), "b": (rg.tensor(2.0, dtype=rg.float64),)}
    found = wirtinger.gradient(lambda t: (t["a"].abs() ** 2 * t["b"][0]).sum(), tree, "jax")
    close(found["a"], [2 * 2 * np.conj(Z)])
    close(found["b"][0], abs(Z) ** 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: wirtinger.gradient(rg.abs, at(Z), convention="numpy"),
        lambda: wirtinger.convert(at(Z), "numpy", "jax"),
        lambda: wirtinger.from_gradient(at(Z), "numpy"),
        lambda: wirtinger.pulled_back(at(Z), at(Z), 1.0, "numpy"),
    ],
)
def test_an_unknown_convention_is_refused(call):
    with pytest.raises(ValueError, match="convention must be one of"):
        call()


def test_gradients_at_zero_are_those_of_pytorch():
    for f in (rg.sgn, rg.abs, rg.angle, lambda z: z.abs() ** 2):
        assert wirtinger.gradient(f, at(0.0)).item() == 0
