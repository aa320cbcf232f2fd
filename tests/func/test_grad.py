"""`grad`, `grad_and_value`, `vjp`: closed forms, nesting, containers, errors. See test_programs."""

from __future__ import annotations

import collections
import copy
import gc
import threading

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = rg.tensor([0.5, -1.0, 2.0], dtype=rg.float64)


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_derivatives_of_a_power_to_the_fifth_order():
    f = lambda x: x**5
    found, x = [], rg.tensor(2.0, dtype=rg.float64)
    for _ in range(6):
        found.append(f(x).item())
        f = grad(f)
    assert found == [32.0, 80.0, 160.0, 240.0, 240.0, 120.0]


def test_nested_variables_are_not_confused():
    one = rg.tensor(1.0)
    assert grad(lambda x: x * grad(lambda y: x + y)(one))(one).item() == 1.0


def test_the_same_tensor_as_argument_and_from_outside_is_two_variables():
    x = rg.tensor(3.0)
    assert grad(lambda y: x * y**2)(x).item() == 18.0
    assert grad(lambda x: grad(lambda y: x * y**2)(x))(x).item() == 12.0


def test_gradient_reaches_tensors_that_the_function_closes_over():
    w = rg.tensor(3.0, requires_grad=True)
    derivative = grad(lambda x: w * x**2)(rg.tensor(5.0))
    derivative.backward()
    assert (derivative.item(), w.grad.item()) == (30.0, 10.0)


def test_gradient_reaches_an_argument_that_requires_grad():
    x = rg.tensor(2.0, requires_grad=True)
    grad(lambda x: x**3)(x).backward()
    assert x.grad.item() == 12.0


def test_result_has_no_history_where_nobody_asks_for_it():
    value, pull = vjp(rg.sin, X)
    assert not value.requires_grad
    assert not pull(X)[0].requires_grad
    assert not any(t.requires_grad for t in grad_and_value(lambda x: x.sum())(X))


def test_outer_no_grad_leaves_the_derivative_itself_alone():
    with rg.no_grad():
        found = grad(grad(lambda x: x**3))(rg.tensor(2.0))
    assert found.item() == 12.0
    assert not found.requires_grad


def test_inner_no_grad_makes_a_constant():
    def f(x):
        with rg.no_grad():
            c = x.sum()
        return (x * c).sum()

    close(grad(f)(X), [1.5, 1.5, 1.5])


def test_autograd_grad_works_inside():
    def f(x):
        (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    close(grad(f)(X), 6 * X.numpy())


def test_gradient_of_a_complex_argument_is_pytorchs():
    z = rg.tensor([3 + 4j, 1j], dtype=rg.complex128)
    close(grad(lambda z: (z.abs() ** 2).sum())(z), 2 * z.numpy())
    close(grad(lambda z: z.real.sum())(z), [1, 1])


def test_gradient_passes_through_a_complex_middle():
    close(grad(lambda x: (rg.exp(1j * x) ** 2).imag.sum())(X), 2 * np.cos(2 * X.numpy()))


@pytest.mark.parametrize("number", [-1, 1, (0,), (1, 0)])
def test_argnums_choose_and_keep_their_structure(number):
    found = grad(lambda a, b: (a * b**2).sum(), argnums=number)(X, X + 1)
    expected = [(X.numpy() + 1) ** 2, 2 * X.numpy() * (X.numpy() + 1)]
    if isinstance(number, tuple):
        assert isinstance(found, tuple)
        for g, place in zip(found, number, strict=True):
            close(g, expected[place])
    else:
        close(found, expected[number])


def test_containers_come_back_as_they_were_given():
    given = {"w": X, "more": [X * 2, (X,)]}
    found = grad(lambda p: (p["w"] * p["more"][0]).sum() + p["more"][1][0].sum())(given)
    assert list(found) == ["w", "more"]
    close(found["w"], 2 * X.numpy())
    close(found["more"][1][0], [1, 1, 1])


def test_unused_argument_gets_zeros():
    found = grad(lambda a, b: a.sum(), argnums=(0, 1))(X, X)
    close(found[1], [0, 0, 0])


def test_extra_output_has_a_history_where_somebody_can_use_it():
    w = rg.tensor(1.0, requires_grad=True)
    g, (value, extra) = grad_and_value(
        lambda x: ((x * w).sum(), {"y": x * w, "n": 3}), has_aux=True
    )(X)
    assert (extra["n"], value.item()) == (3, 1.5)
    close(autograd.grad(extra["y"].sum(), w)[0], X.sum().item())
    close(g, [1, 1, 1])
    (_, (_, extra)) = grad_and_value(lambda x: ((x * w).sum(), x * 2), has_aux=True)(X)
    assert not extra.requires_grad


EXTRAS = {
    "vjp": lambda f, x: vjp(f, x, has_aux=True)[2],
    "jvp": lambda f, x: jvp(f, (x,), (x,), has_aux=True)[2],
    "jacrev": lambda f, x: jacrev(f, has_aux=True)(x)[1],
    "jacfwd": lambda f, x: jacfwd(f, has_aux=True)(x)[1],
    "grad": lambda f, x: grad(lambda x: (f(x)[0].sum(), f(x)[1]), has_aux=True)(x)[1],
}


@pytest.mark.parametrize("transform", EXTRAS)
def test_extra_output_of_an_inner_transform_is_differentiated(transform):
    def of_extra(x):
        return EXTRAS[transform](lambda y: (y * 2, y.sin()), x).sum()

    close(grad(of_extra)(X), np.cos(X.numpy()))
    close(jvp(of_extra, (X,), (X,))[1], (np.cos(X.numpy()) * X.numpy()).sum())
    x = X.clone().requires_grad_()
    close(autograd.grad(of_extra(x), x)[0], np.cos(X.numpy()))


def test_vjp_may_be_pulled_several_times():
    out, pull = vjp(lambda x, y: {"a": x * y, "b": [x.sum()]}, X, X + 1)
    for scale in (1.0, 2.0):
        gx, gy = pull({"a": rg.ones(3, dtype=rg.float64) * scale, "b": [out["b"][0] * 0]})
        close(gx, scale * (X.numpy() + 1))
        close(gy, scale * X.numpy())


def test_vjp_is_linear_in_the_cotangent_and_differentiable_by_it():
    _, pull = vjp(lambda x: x**2, X)
    close(jacrev(lambda u: pull(u)[0])(X), np.diag(2 * X.numpy()))


def test_all_hessian_vector_products_agree():
    v = rg.tensor([1.0, -2.0, 0.5], dtype=rg.float64)

    def f(x):
        return (x.sin() * x.flip(0)).prod() + x.norm()

    found = [
        jvp(grad(f), (X,), (v,))[1],
        grad(lambda x: (grad(f)(x) * v).sum())(X),
        grad(lambda x: jvp(f, (x,), (v,))[1])(X),
        vjp(grad(f), X)[1](v)[0],
        linearize(grad(f), X)[1](v),
        hessian(f)(X) @ v,
        rg.autograd.functional.hvp(f, X, v)[1],
        rg.autograd.functional.vhp(f, X, v)[1],
    ]
    for product in found[1:]:
        close(product, found[0].numpy(), 1e-10)


def test_writing_in_place_inside_is_differentiated():
    def f(x):
        y = x.clone()
        y.mul_(x)
        y[0] = x[1] * x[0]
        return y.sum()

    x = X.numpy()
    close(grad(f)(X), [x[1], x[0] + 2 * x[1], 2 * x[2]])


def test_leaves_no_cycles_behind():
    def once():
        hessian(lambda x: (x.exp() * x).sum())(X)
        jvp(grad(lambda x: x.tanh().prod()), (X,), (X,))
        vmap(grad(lambda x: x.softmax(0).prod()))(rg.ones(2, 3))

    once()
    gc.collect()
    gc.disable()
    try:
        once()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_transforms_in_several_threads_do_not_see_each_other():
    wrong, start = [], threading.Barrier(4)

    def work(k):
        x = rg.tensor(float(k + 1), dtype=rg.float64)
        start.wait()
        for _ in range(20):
            found = vmap(grad(lambda t: jvp(lambda s: s**4, (t,), (t * 0 + 1,))[1]))(x.reshape(1))
            if abs(found.item() - 12 * (k + 1) ** 2) > 1e-9:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: grad(lambda x: x)(X),
            RuntimeError,
            "a scalar Tensor, got tensor with 1 dims",
        ),
        (lambda: grad(lambda x: 3.0)(X), RuntimeError, "to return a Tensor, got <class 'float'>"),
        (
            lambda: grad(lambda x: (x.sum(),))(X),
            RuntimeError,
            "a Tensor, got <class 'tuple'>",
        ),
        (
            lambda: grad(lambda x: x.sum())(rg.arange(3)),
            RuntimeError,
            "only Tensors of floating point",
        ),
        (lambda: grad(lambda x: x)(3.0), ValueError, "passed to transform API must be Tensor"),
        (lambda: grad(lambda z: z.sum())(X + 1j), RuntimeError, "real"),
        (
            lambda: grad(lambda x: x.sum(), has_aux=True)(X),
            RuntimeError,
            "be a tuple: (output, aux)",
        ),
        (lambda: grad(lambda x: x.sum(), argnums=1)(X), RuntimeError, "Got argnum=1, but only 1"),
        (lambda: grad(lambda x: x.sum(), argnums=())(X), RuntimeError, "argnums must be non-empty"),
        (lambda: grad(lambda x: x.sum(), argnums=(0, 0))(X), RuntimeError, "must be unique"),
        (lambda: grad(lambda x: x.sum(), argnums="a")(X), RuntimeError, "must be int or Tuple"),
        (lambda: vjp(lambda x: 3.0, X), RuntimeError, "to return only tensors"),
        (lambda: vjp(lambda x: (), X), RuntimeError, "non-empty output"),
        (lambda: vjp(rg.sin, X)[1](rg.ones(2)), RuntimeError, "Mismatch in shape: grad_output[0]"),
        (lambda: vjp(lambda x: (x, x), X)[1](X), RuntimeError, "pytree structure of cotangents"),
        (
            lambda: vjp(lambda x: (x, x), X)[1]([X, X]),
            RuntimeError,
            "pytree structure of cotangents",
        ),
    ],
)
def test_misuse_raises_what_pytorch_raises(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "derive",
    [
        lambda x: grad(lambda y: (y**3).sum())(x),
        lambda x: vjp(lambda y: y**3, x)[1](rg.ones_like(x))[0],
        lambda x: linearize(lambda y: y**3, x)[1](rg.ones_like(x)),
        lambda x: vmap(grad(lambda y: y**3))(x),
        lambda x: grad(lambda y: vmap(lambda z: z**3)(y).sum())(x),
        lambda x: jacrev(lambda y: y**3)(x).diag(),
        lambda x: jacfwd(lambda y: y**3)(x).diag(),
        lambda x: jvp(lambda y: y**3, (x,), (rg.ones_like(x),))[1],
        lambda x: jvp(lambda y: rg.stack([y, y, y]).prod(0), (x,), (rg.ones_like(x),))[1],
        lambda x: vmap(lambda y: jvp(lambda z: z**3, (y,), (rg.ones_like(y),))[1])(x),
        lambda x: hessian(lambda y: (y**4).sum() / 4)(x).diag(),
    ],
)
@pytest.mark.parametrize("made_inside", [True, False])
def test_inference_mode_does_not_stop_a_derivative(derive, made_inside):
    x = rg.tensor([1.0, 2.0])
    with rg.inference_mode():
        found = derive(rg.tensor([1.0, 2.0]) if made_inside else x)
    assert found.tolist() == [3.0, 12.0]


@pytest.mark.parametrize(
    "derive",
    [
        lambda x: jacrev(lambda y: y**3)(x).diag(),
        lambda x: hessian(lambda y: (y**4).sum() / 4)(x).diag(),
        lambda x: jacrev(jacrev(lambda y: (y**4).sum() / 4))(x).diag(),
    ],
)
def test_jacobians_in_inference_mode_have_no_history_in_either_grad_mode(derive):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.inference_mode(), rg.enable_grad():
        found = derive(x)
    assert found.tolist() == [3.0, 12.0]
    assert not found.requires_grad


def test_dictionaries_of_every_class_come_back_as_they_were():
    given = collections.defaultdict(int, a=rg.tensor(2.0))
    found = grad(lambda p: p["a"] ** 2)(given)
    assert type(found) is collections.defaultdict
    assert found["a"].item() == 4.0
    assert found["b"] == 0


def test_outputs_that_have_no_derivative_are_refused():
    with pytest.raises(RuntimeError, match="must be floating-point or complex"):
        jacrev(lambda x: x > 0)(rg.ones(2))
    with pytest.raises(RuntimeError, match="return only tensors"):
        linearize(lambda x: 3, rg.ones(2))


def test_copy_of_what_is_differentiated_is_refused():
    with pytest.raises(NotImplementedError, match="derivative lost"):
        grad(lambda x: copy.copy(x).sum())(rg.ones(2))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_argument_that_the_function_also_captured_is_another_variable(requires_grad):
    x = rg.tensor([1.0, 2.0], requires_grad=requires_grad)

    def f(a):
        return (a * x * a).sum()

    assert rg.func.grad(f)(x).tolist() == [2.0, 8.0]
    assert rg.func.jvp(f, (x,), (rg.ones(2),))[1].item() == 10.0
    assert rg.func.hessian(f)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x * 2])
def test_a_cotangent_counts_in_the_dtype_of_the_output(f):
    g = rg.ones(2, dtype=rg.float64)
    assert vjp(f, rg.ones(2))[1](g)[0].dtype is rg.float32
    x = rg.ones(2, requires_grad=True)
    found = rg.autograd.grad([x, f(x)], x, [g, g], create_graph=True)[0]
    assert found.dtype is rg.float32


def test_a_cotangent_is_complex_where_the_output_is():
    _, pull = rg.func.vjp(lambda x: x * 1j, rg.ones(2))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        pull(rg.ones(2))


def test_each_gradient_has_a_history_only_if_it_leads_outside():
    x = rg.ones(2, requires_grad=True)

    def f(a, b):
        return ((x + a) * b).sum()

    of_a, of_b = rg.func.grad(f, argnums=(0, 1))(rg.ones(2), rg.ones(2))
    assert not of_a.requires_grad
    assert of_b.requires_grad
    assert rg.autograd.grad(of_b.sum(), x)[0].tolist() == [1.0, 1.0]


def test_gradients_of_examples_share_no_memory():
    def loss(a, b):
        return ((a + b) ** 2).sum()

    x, y = rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.zeros(2, 2)
    first, second = rg.func.vmap(rg.func.grad(loss, argnums=(0, 1)))(x, y)
    first.mul_(0.0)
    assert second.tolist() == [[2, 4], [6, 8]]
    pull = rg.func.vjp(lambda a, b: a + b, x[0], y[0])[1]
    first, second = rg.func.vmap(pull)(x)
    first.mul_(0.0)
    assert second.tolist() == x.tolist() == [[1, 2], [3, 4]]
