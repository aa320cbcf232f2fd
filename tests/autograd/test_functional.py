"""`autograd.functional`: shapes, values, graphs, strictness."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import functional


def tensor(*values, **options):
    return rg.tensor(list(values), dtype=rg.float64, **options)


def cubes(x):
    return (x * x * x).sum()


X, V = (1.0, 2.0), (1.0, 10.0)


def test_vjp_and_jvp_multiply_the_jacobian_from_either_side():
    matrix = tensor([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])
    x = tensor(*X)
    out, product = functional.vjp(lambda x: matrix @ x, x, tensor(1, 10, 100))
    assert (out.tolist(), product.tolist()) == ([5, 11, 17], [531, 642])
    out, product = functional.jvp(lambda x: matrix @ x, x, tensor(*V))
    assert (out.tolist(), product.tolist()) == ([5, 11, 17], [21, 43, 65])


def test_tuples_in_give_tuples_out():
    x, y = tensor(*X), tensor(3)
    (first, second), (dx, dy) = functional.vjp(
        lambda x, y: (x * y, y * y), (x, y), (tensor(*V), tensor(1))
    )
    assert (first.tolist(), second.tolist()) == ([3, 6], [9])
    assert (dx.tolist(), dy.tolist()) == ([3, 30], [27])
    _, (a, b) = functional.jvp(lambda x, y: (x * y, y * y), (x, y), (tensor(*V), tensor(1)))
    assert (a.tolist(), b.tolist()) == ([4, 32], [6])


def test_a_vector_may_be_left_out_for_a_single_number():
    assert functional.vjp(cubes, tensor(*X))[1].tolist() == [3, 12]
    assert functional.jvp(lambda x: x * x, tensor(3))[1].tolist() == [6]
    with pytest.raises(RuntimeError, match="vector v can only be None if"):
        functional.vjp(lambda x: x * x, tensor(*X))


def test_the_shape_of_v_is_checked():
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(cubes, tensor(*X), tensor(*V))
    with pytest.raises(RuntimeError, match="should contain a single Tensor"):
        functional.vjp(cubes, tensor(*X), (tensor(1), tensor(2)))


def test_jacobian_has_the_shape_of_the_output_and_then_of_the_input():
    x = tensor([1.0, 2.0, 3.0])
    found = functional.jacobian(lambda x: x * x, x)
    assert found.shape == (1, 3, 1, 3)
    assert found.reshape(3, 3).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert not found.requires_grad


def test_jacobian_of_several_by_several_is_a_tuple_of_tuples():
    x, y = tensor(*X), tensor(3)
    (xx, xy), (sx, sy) = functional.jacobian(lambda x, y: (x * y, x.sum()), (x, y))
    assert xx.tolist() == [[3, 0], [0, 3]]
    assert xy.tolist() == [[1], [2]]
    assert (sx.tolist(), sy.tolist()) == ([1, 1], [0])


def test_jacobian_of_a_complex_function_has_a_row_per_output():
    z = rg.tensor([1 + 2j], dtype=rg.complex128)
    assert functional.jacobian(lambda z: z * z, z).tolist() == [[2 - 4j]]


def test_hessian_of_one_and_of_several():
    assert functional.hessian(cubes, tensor(*X)).tolist() == [[6, 0], [0, 12]]
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x * y).sum(), (tensor(*X), tensor(3)))
    assert xx.tolist() == [[6, 0], [0, 6]]
    assert xy.tolist() == [[2], [4]]
    assert yx.tolist() == [[2, 4]]
    assert yy.tolist() == [[0]]


def test_vhp_and_hvp_agree_with_the_hessian():
    def f(x):
        return (x * x).sum() * x[0]

    x, v = tensor(*X), tensor(*V)
    hessian = functional.hessian(f, x)
    assert hessian.tolist() == [[6, 4], [4, 2]]
    for product in (functional.vhp, functional.hvp):
        out, found = product(f, x, v)
        assert out.item() == 5
        assert found.tolist() == [46, 24]


def test_results_have_history_only_with_create_graph():
    x = tensor(*X, requires_grad=True)
    assert not functional.jacobian(lambda x: x * x, x).requires_grad
    found = functional.jacobian(lambda x: x * x, x, create_graph=True)
    assert autograd.grad(found.sum(), x)[0].tolist() == [2, 2]
    _, product = functional.hvp(cubes, x, tensor(*V), create_graph=True)
    assert autograd.grad(product.sum(), x)[0].tolist() == [6, 60]


def test_the_input_and_the_same_tensor_inside_the_function_are_two_variables():
    x = tensor(*X, requires_grad=True)
    assert functional.jacobian(lambda y: y * x, x).tolist() == [[1, 0], [0, 2]]


def test_modes_of_the_caller_do_not_matter():
    with rg.no_grad():
        assert functional.hessian(cubes, tensor(2)).tolist() == [[12]]
        assert not rg.is_grad_enabled()


def test_independence_gives_zeros_or_an_error_if_strict():
    x = tensor(*X)

    def constant(x):
        return tensor(1, 2)

    assert functional.jacobian(constant, x).tolist() == [[0, 0], [0, 0]]
    assert functional.jvp(constant, x, tensor(*V))[1].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"Output 0 .* does not require gradients"):
        functional.jacobian(constant, x, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        functional.vjp(lambda x, y: x.sum(), (x, x), strict=True)
    with pytest.raises(RuntimeError, match=r"jacobian of the .* function .* independent"):
        functional.hessian(lambda x: (x * 2).sum(), x, strict=True)


def test_strictness_says_what_does_not_depend_on_what():
    x = tensor(1, 2)

    def stranger(x):
        return tensor(1, 2).requires_grad_() * 2

    def linear(x):
        return x * 3

    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent"):
        functional.jacobian(stranger, x, strict=True)
    with pytest.raises(RuntimeError, match="The output of the user-provided function is indep"):
        functional.vjp(stranger, x, tensor(1, 1), strict=True)
    for run in (functional.vjp, functional.jvp):
        with pytest.raises(RuntimeError, match="The jacobian of the user-provided function is ind"):
            run(linear, x, tensor(1, 1), create_graph=True, strict=True)
    with pytest.raises(RuntimeError, match="not allowed in strict mode when create_graph=True"):
        functional.jacobian(linear, x, create_graph=True, strict=True)
    with pytest.raises(RuntimeError, match="found that the jacobian of the user-provided function"):
        functional.hessian(lambda x: stranger(x).sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="if the user-provided function returns a single Tensor"):
        functional.vjp(linear, x)
    with pytest.raises(RuntimeError, match="if the input to the user-provided function is a"):
        functional.jvp(linear, x)


def test_wrong_functions_and_inputs_raise():
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(cubes, 3)
    with pytest.raises(TypeError, match="outputs of the user-provided function"):
        functional.vjp(lambda x: 3, tensor(1))
    with pytest.raises(RuntimeError, match="should return a single Tensor"):
        functional.hessian(lambda x: (x, x), tensor(1))
    with pytest.raises(RuntimeError, match="should contain a single element"):
        functional.vhp(lambda x: x * x, tensor(*X), tensor(*V))


def cube(x):
    return (x**3).sum()


def test_a_batch_that_does_not_move_along_has_zero_columns():
    def first(x, y):
        return rg.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)[0]

    inputs = tensor(*X), tensor(*V)
    found = functional.jacobian(first, inputs, vectorize=True, strategy="forward-mode")
    assert [each.tolist() for each in found] == [[[0, 0], [0, 0]], [[1, 0], [0, 1]]]


def test_hessian_by_columns_is_the_hessian_by_rows():
    x = rg.tensor([1.0, 2.0])
    found = functional.hessian(cube, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert found.tolist() == [[6.0, 0.0], [0.0, 12.0]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "product",
    [
        lambda x, how: functional.vjp(lambda y: y**3, x, rg.ones(2), **how)[1],
        lambda x, how: functional.jvp(lambda y: y**3, x, rg.ones(2), **how)[1],
        lambda x, how: functional.jacobian(lambda y: y**3, x, **how).sum(0),
    ],
)
def test_forward_derivatives_pass_through(product, create_graph):
    x, t = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0])
    how = {"create_graph": create_graph}
    value, tangent = rg.func.jvp(lambda x: product(x, how), (x,), (t,))
    assert value.tolist() == [3.0, 12.0]
    assert tangent.tolist() == [6.0, 0.0]


def test_second_order_products_pass_tangents_on():
    x, t = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0])
    for name in ("hvp", "vhp"):
        product = getattr(functional, name)
        _, tangent = rg.func.jvp(lambda x: product(cube, x, rg.ones(2))[1], (x,), (t,))
        assert tangent.tolist() == [6.0, 0.0]


def test_a_vectorized_jacobian_of_a_sum_may_be_written():
    x, y = rg.ones(2), rg.ones(3)
    rows = functional.jacobian(lambda x, y: (x * y.sum(), x * y[0]), (x, y), vectorize=True)
    assert [j.mul_(2).tolist() for j in rows[0]] == [[[6, 0], [0, 6]], [[2, 2, 2], [2, 2, 2]]]
    assert rows[0][1].is_contiguous()


def test_random_numbers_in_a_batched_backward_pass_are_refused():
    class Noisy(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * rg.rand(())

    x = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="do not yet support calling random operations inside"):
        rg.autograd.grad(Noisy.apply(x), x, rg.ones(3, 2), is_grads_batched=True)


def test_several_cotangents_at_once_must_be_given():
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        rg.autograd.grad(x**2, x, is_grads_batched=True)


def test_a_subclass_that_overrides_functions_stays_one_inside_the_function():
    class Named(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            found = super().__torch_function__(func, types, args, kwargs)
            if isinstance(found, Named):
                found.label = args[0].label
            return found

    x = rg.tensor([1.0, 2.0]).as_subclass(Named)
    x.label = "mine"
    seen = []

    def cube(t):
        seen.append((type(t), t.label))
        return t**3

    made = functional.jacobian(cube, x), functional.vjp(cube, x, rg.ones(2))[1]
    assert seen == [(Named, "mine")] * 2
    assert made[0].tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert made[1].tolist() == [3.0, 12.0]
