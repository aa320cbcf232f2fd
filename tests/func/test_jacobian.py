"""`jacrev`, `jacfwd`, `hessian`: closed forms, and complex ones against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.func import grad, hessian, jacfwd, jacrev, vmap

X = rg.tensor([0.5, -1.0, 2.0], dtype=rg.float64)
Z = rg.tensor([0.5 + 1j, -1.0 - 0.3j], dtype=rg.complex128)
BOTH = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])

# Functions of complex z that no complex matrix describes, and some that one does.
MIXED = {
    "z z* z": lambda z: z * z.conj() * z,
    "|z|": lambda z: z.abs(),
    "angle": lambda z: z.angle(),
    "conj": lambda z: z.conj(),
    "Re Im": lambda z: z.real * z.imag.flip(0),
    "|z| exp": lambda z: z.abs() * z.flip(0).exp(),
    "matrix": lambda z: rg.outer(z, z.conj()),
    "fft": lambda z: rg.fft.fft(z).abs() ** 2,
    "solve": lambda z: rg.linalg.solve(rg.outer(z, z.conj()) + rg.eye(2), z),
}
HOLOMORPHIC = {
    "exp": rg.exp,
    "z z'": lambda z: z * z.flip(0),
    "matrix": lambda z: rg.outer(z, z.sin()),
    "sum": lambda z: (z**3).sum(),
}


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def wirtinger_by_differences(f, z, step=1e-6):
    """(∂f/∂z, ∂f/∂z*) by central differences in the directions 1 and i."""
    z = z.numpy()

    def column(k, direction):
        move = np.zeros_like(z)
        move[k] = step * direction
        return (f(rg.tensor(z + move)).numpy() - f(rg.tensor(z - move)).numpy()) / (2 * step)

    one = np.stack([column(k, 1) for k in range(len(z))], -1)
    imaginary = np.stack([column(k, 1j) for k in range(len(z))], -1)
    return (one - 1j * imaginary) / 2, (one + 1j * imaginary) / 2


# -- real --------------------------------------------------------------------------------------


@BOTH
def test_jacobian_of_an_outer_product(jacobian):
    found = jacobian(lambda x: rg.outer(x, x))(X)
    x, eye = X.numpy(), np.eye(3)
    close(found, np.einsum("ik,j->ijk", eye, x) + np.einsum("jk,i->ijk", eye, x))


@BOTH
def test_a_jacobian_with_a_graph_is_a_view(jacobian):
    w = rg.tensor([1.0, 2.0, 3.0], dtype=X.dtype, requires_grad=True)
    found = jacobian(lambda x: x * w)(X)
    assert found.grad_fn.name() == "ViewBackward0"


@BOTH
@pytest.mark.parametrize("size", [1, 2, 7])
def test_chunks_change_nothing(jacobian, size):
    close(jacobian(rg.sin, chunk_size=size)(X), np.diag(np.cos(X.numpy())))


@BOTH
def test_scalars_and_empty_tensors(jacobian):
    assert jacobian(lambda x: x**2)(rg.tensor(3.0)).item() == 6.0
    assert jacobian(rg.sin)(rg.ones(0)).shape == (0, 0)
    assert jacobian(lambda x: x.sum())(rg.ones(0)).shape == (0,)


@BOTH
def test_containers_and_extras(jacobian):
    found, extra = jacobian(
        lambda p: ({"o": p["a"] * 2, "q": (p["b"].sum(),)}, p["a"]), has_aux=True
    )({"a": X, "b": X})
    close(found["o"]["a"], 2 * np.eye(3))
    close(found["o"]["b"], np.zeros((3, 3)))
    close(found["q"][0]["b"], np.ones(3))
    close(extra, X.numpy())


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_extras_of_nested_jacobians_of_a_batch(outer, inner):
    rows = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=rg.float64)
    twice = outer(inner(lambda x: (x**2, x.sin()), has_aux=True), has_aux=True)
    second, extra = vmap(twice)(rows)
    assert second.shape == (3, 2, 2, 2)
    assert second[1, 0, 0].tolist() == [2, 0]
    np.testing.assert_allclose(extra, np.sin(rows.numpy()), rtol=1e-15)


def test_randomness_of_jacfwd():
    f = lambda x: rg.nn.functional.dropout(x, 0.5)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        jacfwd(f)(X)
    found = jacfwd(f, randomness="same")(X)
    assert set(found.diagonal().tolist()) <= {0.0, 2.0}
    assert found.equal(found.diagonal().diag())


def test_hessian_of_a_quadratic_form_and_of_several_arguments():
    A = rg.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, -1.0], [1.0, 0.0, 1.0]], dtype=rg.float64)
    close(hessian(lambda x: x @ A @ x)(X), (A + A.t()).numpy())
    found = hessian(lambda x, y: (x * y).sum() ** 2, argnums=(0, 1))(X, X + 1)
    x, y = X.numpy(), X.numpy() + 1
    close(found[0][0], 2 * np.outer(y, y))
    close(found[0][1], 2 * np.outer(y, x) + 2 * x @ y * np.eye(3))


def test_derivatives_of_bfloat16():
    pytest.importorskip("ml_dtypes")
    x = rg.tensor([0.5, 1.5], dtype=rg.bfloat16)
    expected = rg.tensor([[3.0, 0.0], [0.0, 9.0]], dtype=rg.bfloat16)
    assert rg.equal(hessian(lambda x: (x**3).sum())(x), expected)
    assert rg.equal(jacrev(lambda x: 3 * x * x)(x), expected)
    assert rg.equal(jacfwd(lambda x: 3 * x * x)(x), expected)


def test_third_derivatives_in_every_mix_of_modes():
    for a in (jacrev, jacfwd):
        for b in (jacrev, jacfwd):
            for c in (jacrev, jacfwd):
                found = a(b(c(lambda x: (x**4).sum() + x.prod())))(X)
                x = X.numpy()
                expected = np.zeros((3, 3, 3))
                for i in range(3):
                    expected[i, i, i] = 24 * x[i]
                for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
                    expected[i, j, k] = 1
                close(found, expected)


def test_hessians_of_a_batch():
    found = vmap(hessian(lambda x: x.prod()))(rg.stack([X, X * 2]))
    x = X.numpy()
    expected = np.array([[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]])
    close(found, np.stack([expected, 2 * expected]))


def test_jacobian_is_recorded_for_leaves_outside():
    w = rg.tensor(2.0, dtype=rg.float64, requires_grad=True)
    for jacobian in (jacrev, jacfwd):
        found = jacobian(lambda x: w**3 * x)(X)
        close(rg.autograd.grad(found.sum(), w)[0], 36.0)


# -- complex -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", MIXED)
def test_wirtinger_pair_equals_finite_differences(jacobian, name):
    pair = jacobian(MIXED[name], wirtinger=True)(Z)
    for found, expected in zip(pair, wirtinger_by_differences(MIXED[name], Z), strict=True):
        close(found, expected, 1e-7)


@pytest.mark.parametrize("name", MIXED)
def test_functional_jacobian_gives_the_same_pair(name):
    expected = jacrev(MIXED[name], wirtinger=True)(Z)
    for how in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        found = rg.autograd.functional.jacobian(MIXED[name], Z, wirtinger=True, **how)
        for a, b in zip(found, expected, strict=True):
            close(a, b.numpy(), 1e-10)


@BOTH
@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_function_has_the_plain_matrix(jacobian, name):
    f = HOLOMORPHIC[name]
    expected, other = wirtinger_by_differences(f, Z)
    close(jacobian(f)(Z), expected, 1e-7)
    assert abs(other).max() < 1e-7
    close(jacobian(f, wirtinger=True)(Z)[1], 0 * other)


@BOTH
def test_a_function_that_is_not_holomorphic_raises_without_wirtinger(jacobian):
    with pytest.raises(RuntimeError, match=r"not holomorphic here.*wirtinger=True"):
        jacobian(lambda z: z * z.conj())(Z)


@BOTH
def test_complex_functions_of_real_numbers_have_one_complex_matrix(jacobian):
    found = jacobian(lambda x: rg.exp(1j * x) * x.sum())(X)
    x = X.numpy()
    close(found, np.diag(1j * np.exp(1j * x) * x.sum()) + np.exp(1j * x)[:, None])


@BOTH
def test_pairs_of_real_functions_are_conjugate(jacobian):
    a, b = jacobian(lambda z: z.abs() ** 2, wirtinger=True)(Z)
    close(a, np.diag(Z.numpy().conj()))
    close(b, np.diag(Z.numpy()))


@BOTH
def test_real_and_complex_arguments_together(jacobian):
    found = jacobian(lambda x, z: x.sum() * z * z.conj(), argnums=(0, 1), wirtinger=True)(X, Z)
    z = Z.numpy()
    close(found[0], np.repeat((z * z.conj())[:, None], 3, 1))
    close(found[1][0], 1.5 * np.diag(z.conj()))
    close(found[1][1], 1.5 * np.diag(z))


def test_hessian_of_a_real_function_of_complex_numbers():
    # f = |z|⁴ has f_zz = 2 z*², f_zz* = 4 |z|², f_z*z* = 2 z²
    (a, b), (c, d) = hessian(lambda z: (z.abs() ** 4).sum(), wirtinger=True)(Z)
    z = Z.numpy()
    close(a, np.diag(2 * z.conj() ** 2), 1e-11)
    close(b, np.diag(4 * abs(z) ** 2), 1e-11)
    close(c, np.diag(4 * abs(z) ** 2), 1e-11)
    close(d, np.diag(2 * z**2), 1e-11)


@pytest.mark.parametrize("name", ["z z* z", "|z| exp", "fft", "Re Im"])
def test_hessian_pairs_equal_differences_of_the_jacobian_pairs(name):
    def f(z):
        return (MIXED[name](z) * (1 + 0.5j)).sum()

    found = hessian(f, wirtinger=True)(Z)
    for place in (0, 1):
        expected = wirtinger_by_differences(lambda z: jacrev(f, wirtinger=True)(z)[place], Z)
        for a, b in zip(found[place], expected, strict=True):
            close(a, b, 1e-6)


def test_functional_hessian_gives_the_same_pairs():
    f = lambda z: (z.abs() ** 3).sum() + (z * z).real.sum()
    expected = hessian(f, wirtinger=True)(Z)
    found = rg.autograd.functional.hessian(f, Z, wirtinger=True)
    for i in (0, 1):
        for j in (0, 1):
            close(found[i][j], expected[i][j].numpy(), 1e-10)


def test_hessian_of_a_holomorphic_function():
    close(hessian(lambda z: (z**3).sum())(Z), np.diag(6 * Z.numpy()))


def test_gradient_of_a_real_function_is_twice_the_second_of_the_pair():
    f = lambda z: (z.abs() * z.angle()).sum()
    close(grad(f)(Z), 2 * jacrev(f, wirtinger=True)(Z)[1].numpy())


def test_pairs_in_a_batch():
    f = jacrev(lambda z: z * z.conj(), wirtinger=True)
    found = vmap(f)(rg.stack([Z, Z * 2]))
    for k, scale in ((0, 1), (1, 2)):
        for part, expected in zip(found, f(Z * scale), strict=True):
            close(part[k], expected.numpy())


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: jacrev(lambda x: 3)(X), RuntimeError, "to return only tensors"),
        (lambda: jacfwd(lambda x: 3)(X), RuntimeError, "to return only tensors"),
        (lambda: jacrev(rg.neg)(rg.arange(3)), RuntimeError, "only Tensors of floating point"),
        (lambda: jacfwd(rg.neg)(rg.arange(3)), ValueError, "primal to be floating point"),
        (lambda: jacrev(rg.sin, argnums=1)(X), RuntimeError, "Got argnum=1"),
        (lambda: jacrev(rg.sin, chunk_size=0)(X), ValueError, "`chunk_size` should be greater"),
        (lambda: jacfwd(rg.sin, chunk_size=-1)(X), ValueError, "`chunk_size` should be greater"),
    ],
)
def test_misuse_raises(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_blocks_of_a_jacobian_share_no_memory():
    x, y = rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0])
    for jacobian in (jacrev, jacfwd):
        first, second = jacobian(lambda a, b: a + b, argnums=(0, 1))(x, y)
        first.mul_(5.0)
        assert second.tolist() == [[1, 0], [0, 1]]
    blocks = hessian(lambda a, b: ((a + b) ** 2).sum(), argnums=(0, 1))(x, y)
    blocks[0][0].zero_()
    assert [block.tolist() for block in (*blocks[0], *blocks[1])] == [
        [[0, 0], [0, 0]],
        *([[[2, 0], [0, 2]]] * 3),
    ]
