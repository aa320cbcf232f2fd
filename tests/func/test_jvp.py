"""`jvp` and `linearize`: closed forms, nesting, closures, complex numbers, errors."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.func import grad, jvp, linearize, vmap

X = rg.tensor([0.5, -1.0, 2.0], dtype=rg.float64)
V = rg.tensor([1.0, 2.0, -1.0], dtype=rg.float64)


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def derivative(f):
    return lambda x: jvp(f, (x,), (rg.ones_like(x),))[1]


def test_value_and_tangent():
    value, tangent = jvp(lambda x: x.sin() * x, (X,), (V,))
    close(value, np.sin(X.numpy()) * X.numpy())
    close(tangent, (np.cos(X.numpy()) * X.numpy() + np.sin(X.numpy())) * V.numpy())


def test_nested_levels_are_not_confused():
    one = rg.tensor(1.0)
    assert derivative(lambda x: x * derivative(lambda y: x + y)(one))(one).item() == 1.0
    found = derivative(lambda x: x * derivative(lambda y: x * y)(rg.tensor(2.0)))(one)
    assert found.item() == 2.0


@pytest.mark.parametrize("order", range(1, 6))
def test_exponential_is_its_own_derivative_in_every_mix(order):
    # The node of exp saves its output, whose tangents all enclosing levels need.
    x = rg.tensor(0.5, dtype=rg.float64)
    for pattern in range(2**order):
        f = rg.exp
        for place in range(order):
            f = (derivative, grad)[pattern >> place & 1](f)
        assert f(x).item() == pytest.approx(np.exp(0.5), rel=1e-12)


def test_levels_around_and_inside_a_batch():
    f = rg.exp
    for wrap in (derivative, derivative, vmap, derivative):
        f = wrap(f)
    close(f(X), np.exp(X.numpy()))


def test_tangent_flows_to_leaves_that_the_function_closes_over():
    w = rg.tensor([1.0, 2.0, 3.0], dtype=rg.float64, requires_grad=True)
    _, tangent = jvp(lambda x: (w * x) ** 2, (X,), (V,))
    (g,) = rg.autograd.grad(tangent.sum(), w)
    close(g, 4 * w.detach().numpy() * X.numpy() * V.numpy())


def test_tangent_itself_may_require_grad():
    v = V.clone().requires_grad_()
    _, tangent = jvp(rg.sin, (X,), (v,))
    close(rg.autograd.grad(tangent.sum(), v)[0], np.cos(X.numpy()))


def test_containers_and_extras():
    value, tangent, extra = jvp(
        lambda a, b: ({"s": a * b["q"]}, [a.sum(), 7]), (X, {"q": X}), (V, {"q": V}), has_aux=True
    )
    close(tangent["s"], 2 * X.numpy() * V.numpy())
    assert extra[1] == 7
    close(value["s"], X.numpy() ** 2)


def test_output_that_does_not_depend_on_the_input_has_zeros_or_raises():
    f = lambda x: (rg.ones(2), x)
    close(jvp(f, (X,), (V,))[1][0], [0, 0])
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(f, (X,), (V,), strict=True)


@pytest.mark.parametrize("output", [None, (), {}, [[]]])
@pytest.mark.parametrize(
    ("derive", "caller"),
    [
        (lambda f: jvp(f, (X,), (V,)), "jvp(f, primals, tangents)"),
        (lambda f: rg.func.vjp(f, X), "vjp(f, *primals)"),
        (lambda f: rg.func.linearize(f, X), "linearize(f, *primals)"),
        (lambda f: rg.func.jacrev(f)(X), "vjp(f, *primals)"),
        (lambda f: rg.func.jacfwd(f)(X), "jvp(f, primals, tangents)"),
    ],
)
def test_a_function_without_outputs_has_no_derivative(derive, caller, output):
    with pytest.raises(RuntimeError) as caught:
        derive(lambda x: output)
    text = f"{caller}: Expected f to be a function that has non-empty output"
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("derive", "caller"),
    [
        (lambda f: jvp(f, (X,), (V,), has_aux=True), "jvp(f, primals, tangents)"),
        (lambda f: rg.func.vjp(f, X, has_aux=True), "vjp(f, *primals)"),
        (lambda f: rg.func.grad(f, has_aux=True)(X), "grad(f)(*args)"),
    ],
)
def test_an_output_beside_which_nothing_is_returned_is_refused_by_the_transform_s_name(
    derive, caller
):
    with pytest.raises(RuntimeError) as caught:
        derive(lambda x: x.sum())
    assert str(caught.value).startswith(f"{caller}: output of function f should be a tuple")


def test_complex_tangents_follow_both_wirtinger_derivatives():
    z, t = rg.tensor([1 + 2j], dtype=rg.complex128), rg.tensor([3 - 1j], dtype=rg.complex128)
    _, tangent = jvp(lambda z: z * z * z.conj(), (z,), (t,))
    a, b = 2 * abs(1 + 2j) ** 2, (1 + 2j) ** 2
    close(tangent, [a * (3 - 1j) + b * (3 + 1j)])
    _, real = jvp(lambda z: z.abs() ** 2, (z,), (t,))
    close(real, [2 * ((1 - 2j) * (3 - 1j)).real])


def test_tangent_of_another_precision_is_cast():
    _, tangent = jvp(rg.sin, (rg.tensor(0.0),), (rg.tensor(2.0, dtype=rg.float64),))
    assert (tangent.dtype, tangent.item()) == (rg.float32, 2.0)


def test_writes_and_views_carry_tangents():
    def f(x):
        y = x.clone()
        v = y[1:]
        v.mul_(x[:-1])
        y[0] = 7.0
        return y, v

    (_, _), (whole, part) = jvp(f, (X,), (V,))
    x, t = X.numpy(), V.numpy()
    expected = [0.0, t[1] * x[0] + x[1] * t[0], t[2] * x[1] + x[2] * t[1]]
    close(whole, expected)
    close(part, expected[1:])


def test_chain_of_writes_keeps_the_tangents_of_what_it_overwrote():
    _, second = jvp(grad(lambda x: x.clone().sin_().mul_(x).sum()), (X,), (V,))
    x = X.numpy()
    close(second, (2 * np.cos(x) - x * np.sin(x)) * V.numpy())


def test_detach_drops_the_tangent():
    close(jvp(lambda x: x * x.detach(), (X,), (V,))[1], X.numpy() * V.numpy())


@pytest.mark.parametrize(
    "tangents", [(X, X), ((X, X),), ([X, X],), ({"a": X, "c": X},), ({"a": X},), ()]
)
def test_linearize_takes_tangents_that_are_built_as_the_primals(tangents):
    push = rg.func.linearize(lambda d: d["a"] * d["b"], {"a": X, "b": X})[1]
    assert (push({"a": X, "b": X}) == 2 * X * X).all()
    with pytest.raises(RuntimeError, match="same python structure as the primals"):
        push(*tangents)


def test_linearize_gives_the_same_tangents_without_running_again():
    runs = []

    def f(x, y):
        runs.append(1)
        return {"out": x.sin() * y, "n": y.sum()}

    out, push = linearize(f, X, V)
    for scale in (1.0, -2.0):
        _, expected = jvp(f, (X, V), (V * scale, X))
        found = push(V * scale, X)
        close(found["out"], expected["out"].numpy())
        close(found["n"], expected["n"].numpy())
    assert len(runs) == 3
    close(out["n"], 2.0)


def test_linearize_of_a_function_that_is_not_holomorphic():
    z = rg.tensor([1 + 2j, -1j], dtype=rg.complex128)
    t = rg.tensor([2 - 1j, 1 + 1j], dtype=rg.complex128)
    f = lambda z: z.abs() * z
    close(linearize(f, z)[1](t), jvp(f, (z,), (t,))[1].numpy())


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: jvp(rg.sin, X, (V,)), RuntimeError, "Expected primals to be a tuple"),
        (lambda: jvp(rg.sin, (X,), V), RuntimeError, "the same python structure"),
        (lambda: jvp(rg.mul, (X, X), (V,)), RuntimeError, "the same python structure"),
        (lambda: jvp(rg.sin, ({"a": X},), ({"b": V},)), RuntimeError, "the same python structure"),
        (lambda: jvp(rg.sin, (), ()), RuntimeError, "at least one Tensor"),
        (
            lambda: jvp(rg.sin, (3.0,), (V,)),
            RuntimeError,
            "primals to only contain Tensors",
        ),
        (lambda: jvp(rg.sin, (X,), (V[:2],)), RuntimeError, "different size"),
        (lambda: jvp(rg.sin, (X,), (V + 1j,)), RuntimeError, "tangent of a real tensor"),
        (lambda: jvp(lambda x: 3, (X,), (V,)), RuntimeError, "to return only tensors"),
        (lambda: jvp(rg.neg, (rg.arange(3),), (V,)), ValueError, "primal to be floating point"),
        (
            lambda: linearize(rg.sin, X)[1](V, V),
            RuntimeError,
            "same python structure as the primals",
        ),
        (lambda: linearize(rg.sin, X)[1](V[:1]), RuntimeError, "tangent of shape"),
    ],
)
def test_misuse_raises(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_the_tangent_of_an_embedding_is_a_lookup_whatever_alters_its_gradient():
    table, indices = rg.randn(5, 3), rg.tensor([1, 2, 1, 1])

    def lookup(weight):
        options = {"padding_idx": 2, "scale_grad_by_freq": True}
        return rg.nn.functional.embedding(indices, weight, **options)

    _, tangent = rg.func.jvp(lookup, (table,), (table * 0.5,))
    np.testing.assert_array_equal(tangent, table[indices] * 0.5)


def test_the_output_of_linearize_keeps_its_graph_to_tensors_from_outside():
    w = rg.ones(2, requires_grad=True)
    out, push = linearize(lambda z: (w * z * z).sum(), rg.ones(2))
    assert push(rg.ones(2)).requires_grad
    out.backward()
    assert w.grad.tolist() == [1.0, 1.0]
    assert not linearize(lambda z: (z * z).sum(), rg.ones(2))[0].requires_grad
