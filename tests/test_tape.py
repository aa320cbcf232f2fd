"""`GradientTape` and what goes with it: the values and the rules of TensorFlow's documentation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg


def close(found, expected, tol=1e-6):
    """Assert that a tensor has the values, up to rounding."""
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tol, atol=tol)


def variable(value):
    return rg.nn.Parameter(rg.tensor(value))


# -- the specification -----------------------------------------------------------------------------


def test_the_question_of_the_specification_why_the_gradient_of_conj_is_one():
    """y = reduce_sum(conj(x)): the stated gradient is 1.-0.j everywhere."""
    x = rg.tensor(
        [
            [0.17014372 + 0.71475762j, 0.57455420 + 0.00144318j],
            [0.57871044 + 0.61303568j, 0.48074263 + 0.7623235j],
        ]
    )
    assert x.dtype is rg.complex64
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x.conj().sum()
    found = tape.gradient(y, x)
    np.testing.assert_array_equal(found.numpy(), np.ones((2, 2), np.complex64))
    assert (np.signbit(found.numpy().imag)).all()  # -0.j, as in the question


def test_the_equation_of_the_specification_for_the_gradient():
    """∇f = (∂f/∂z + ∂f*/∂z)*, which is g A* + g* B for g = 1."""
    z = rg.tensor(0.7 - 0.4j, dtype=rg.complex128)
    with rg.GradientTape() as tape:
        tape.watch(z)
        s = z**2 * z.conj()
    a, b = 2 * abs(z.item()) ** 2, z.item() ** 2
    close(tape.gradient(s, z), np.conj(a + np.conj(b)), 1e-12)


# -- gradients -------------------------------------------------------------------------------------


def test_a_watched_constant_has_a_gradient():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).item() == 6.0


def test_a_variable_is_watched_when_it_is_used():
    x = variable(3.0)
    with rg.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x).item() == 6.0


def test_a_constant_that_is_not_watched_has_none():
    x, w = rg.tensor(3.0), variable(2.0)
    with rg.GradientTape() as tape:
        y = x * w
    assert tape.gradient(y, [x, w]) == [None, rg.tensor(3.0)]


def test_variables_are_not_watched_if_the_tape_is_told_so():
    x, w = variable(3.0), variable(2.0)
    with rg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = x * w
    assert tape.watched_variables() == (x,)
    assert tape.gradient(y, [x, w]) == [rg.tensor(2.0), None]


def test_frozen_parameters_are_no_variables():
    w = rg.nn.Parameter(rg.tensor(2.0), requires_grad=False)
    with rg.GradientTape() as tape:
        y = w * w
    assert tape.gradient(y, w) is None


def test_nested_tapes_give_higher_derivatives():
    x = rg.tensor(3.0)
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        derivative = inner.gradient(y, x)
    assert derivative.item() == 27.0
    assert outer.gradient(derivative, x).item() == 18.0


def test_three_nested_tapes():
    x = variable(2.0)
    with rg.GradientTape() as a, rg.GradientTape() as b:
        with rg.GradientTape() as c:
            y = x**4
        first = c.gradient(y, x)
        second = b.gradient(first, x)
    assert (first.item(), second.item(), a.gradient(second, x).item()) == (32.0, 48.0, 48.0)


def test_a_persistent_tape_differentiates_its_own_gradients():
    x = rg.tensor(3.0)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        derivative = tape.gradient(y, x)
    assert tape.gradient(derivative, x).item() == 18.0


def test_a_persistent_tape_gives_several_gradients():
    x = rg.tensor(3.0)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(z, x).item() == 108.0
    assert tape.gradient(y, x).item() == 6.0
    assert tape.gradient(z, y).item() == 18.0


def test_a_tape_gives_one_set_of_gradients_unless_it_is_persistent():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    for ask in (tape.gradient, tape.jacobian):
        with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
            ask(y, x)


def test_a_tape_that_recorded_nothing_gives_no_gradient():
    with pytest.raises(RuntimeError, match="only after something was recorded"):
        rg.GradientTape().gradient(rg.tensor(1.0), rg.tensor(1.0))


def test_a_target_that_is_no_number_is_summed():
    x = rg.tensor([1.0, 2.0, 3.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    assert tape.gradient(y, x).tolist() == [2.0, 4.0, 6.0]


def test_several_targets_are_summed_and_sources_keep_their_structure():
    x, w = rg.tensor(2.0), variable(5.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        targets = {"a": x * w, "b": [x**2, (w * 3,)]}
    found = tape.gradient(targets, {"x": x, "rest": (w, [x])})
    assert found == {"x": rg.tensor(9.0), "rest": (rg.tensor(5.0), [rg.tensor(9.0)])}


def test_a_target_given_twice_counts_twice():
    x = rg.tensor(2.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    assert tape.gradient([y, y, x], x).item() == 9.0


def test_output_gradients_weigh_the_targets():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x**2, x * 3
    weights = rg.tensor([1.0, 10.0])
    assert tape.gradient(y, x, output_gradients=weights).tolist() == [2.0, 40.0]
    assert tape.gradient([y, z], x, output_gradients=[weights, None]).tolist() == [5.0, 43.0]


def test_output_gradients_must_be_as_many_as_the_targets_and_of_their_shapes():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    with pytest.raises(ValueError, match="output_gradients has 2 tensors and target 1"):
        tape.gradient(y, x, output_gradients=[x, x])
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        tape.gradient(y, x, output_gradients=rg.tensor(1.0))


def test_intermediate_results_are_sources():
    x = rg.tensor([1.0, 2.0, 3.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        first, *_, last = x.unbind()
        y = first * last
        z = y.exp() * last
    by_first, by_last, by_y = tape.gradient(z, [first, last, y])
    close(by_first, 9 * np.exp(3.0))
    close(by_last, 4 * np.exp(3.0))
    close(by_y, 3 * np.exp(3.0))


def test_a_source_is_its_own_target():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient(x, x).tolist() == [1.0, 1.0]


def test_unconnected_sources_have_none_or_zeros():
    x, other = rg.tensor([1.0, 2.0]), rg.tensor([[1 + 1j]])
    with rg.GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        y = x * 2
    assert tape.gradient(y, other) is None
    for zero in ("zero", rg.UnconnectedGradients.ZERO):
        found = tape.gradient(y, other, unconnected_gradients=zero)
        assert (found.dtype, found.tolist()) == (rg.complex64, [[0j]])
    assert tape.jacobian(y, other) is None
    assert tape.jacobian(y, other, unconnected_gradients="zero").shape == (2, 1, 1)


def test_another_word_for_unconnected_gradients_is_refused():
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'nil'"):
        rg.GradientTape().gradient(rg.tensor(1.0), rg.tensor(1.0), unconnected_gradients="nil")


@pytest.mark.parametrize(
    ("role", "expected"),
    [("watched", "it is not watched"), ("target", "adds nothing"), ("source", "gradient is None")],
)
def test_integers_warn_and_have_no_gradient(role, expected):
    x, number = rg.tensor(2.0), rg.tensor(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with rg.GradientTape() as tape:
            tape.watch(number if role == "watched" else x)
            y, k = x * number, number * 2
        target, source = (k, x) if role == "target" else (y, number if role == "source" else x)
        assert tape.gradient(target, source) is None
    (one,) = caught
    assert f"The dtype of the {role} tensor must be floating" in str(one.message)
    assert expected in str(one.message)


def test_targets_and_sources_that_are_no_tensors_are_refused():
    x = rg.tensor(2.0)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match="Argument `target` should be"):
        tape.gradient(None, x)
    with pytest.raises(TypeError, match="target must be a tensor"):
        tape.gradient(2.0, x)
    with pytest.raises(TypeError, match="source must be a tensor"):
        tape.gradient(y, [x, "x"])
    with (
        pytest.raises(ValueError, match=r"Passed in object 2\.0 of type 'float', not a Tensor"),
        rg.GradientTape() as other,
    ):
        other.watch(2.0)


# -- complex numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: z * z.conj(), 1.4 - 0.8j),
        (lambda z: z**3, 0.99 + 1.68j),
        (lambda z: z.abs(), 0.8682431421244592 - 0.49613893835683387j),
        (lambda z: z.imag, 1j),
        (lambda z: rg.sgn(z), 0.3053162697580516 + 0.5343034720765903j),
    ],
)
def test_complex_targets_are_seeded_with_one(f, expected):
    z = rg.tensor(0.7 - 0.4j, dtype=rg.complex128)
    with rg.GradientTape() as tape:
        tape.watch(z)
        s = f(z)
    close(tape.gradient(s, z), expected, 1e-12)


def test_a_real_source_has_a_real_gradient_of_a_complex_target():
    x = rg.tensor(0.6, dtype=rg.float64)
    with rg.GradientTape() as tape:
        tape.watch(x)
        s = (1j * x).exp()
    found = tape.gradient(s, x)
    assert found.dtype is rg.float64
    close(found, -np.sin(0.6), 1e-12)


# -- what is recorded ------------------------------------------------------------------------------


def test_what_is_computed_before_or_after_the_tape_is_not_on_it():
    x = variable(3.0)
    before = x * 2
    with rg.GradientTape(persistent=True) as tape:
        y = x * before
    after = y * 10
    assert tape.gradient(y, x).item() == 6.0
    assert tape.gradient(after, x) is None
    assert tape.gradient(before, x) is None
    assert tape.gradient(after, y) is None


def test_a_result_from_before_the_tape_can_be_watched():
    x = variable(3.0)
    h = x * 2
    with rg.GradientTape() as tape:
        tape.watch(h)
        y = h * h * x
    by_h, by_x = tape.gradient(y, [h, x])
    assert (by_h.item(), by_x.item()) == (36.0, 36.0)


def test_what_is_computed_before_watching_is_not_on_the_tape():
    x = rg.tensor(3.0)
    with rg.GradientTape(persistent=True) as tape:
        early = x * x
        tape.watch(x)
        late = x * early
    assert tape.gradient(early, x) is None
    assert tape.gradient(late, x).item() == 9.0


@pytest.mark.parametrize("watched", [True, False])
def test_a_watched_tensor_may_be_made_to_require_grad(watched):
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        if watched:
            x.requires_grad_()
        else:
            x.requires_grad_(False).requires_grad_()
        y = (x * x).sum()
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]
    assert x.requires_grad
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_stopped_tape_records_nothing_and_goes_on_later():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            assert not x.requires_grad
            constant = x * 5
        z = y * constant
    assert tape.gradient(z, x).item() == 90.0


def test_an_outer_tape_goes_on_while_the_inner_one_is_stopped():
    x = rg.tensor(3.0)
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            with inner.stop_recording():
                y = x * x
            z = y * x
    assert inner.gradient(z, x).item() == 9.0
    assert outer.gradient(z, x).item() == 27.0


def test_a_stopped_tape_goes_on_after_an_error():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert tape.gradient(y, x).item() == 6.0


def test_a_reset_tape_has_forgotten_everything():
    x, w = rg.tensor(3.0), variable(2.0)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * w
        tape.reset()
        assert tape.watched_variables() == ()
        z = x * w
    assert tape.gradient(y, [x, w]) == [None, None]
    assert tape.gradient(z, [x, w]) == [None, rg.tensor(3.0)]


def test_a_gradient_inside_ends_the_recording_of_a_tape_that_is_not_persistent():
    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        derivative = tape.gradient(y, x)
        assert not derivative.requires_grad
        assert not (x * x).requires_grad


def test_an_active_tape_is_not_entered_again():
    with (
        rg.GradientTape() as tape,
        pytest.raises(ValueError, match="Tape is still recording"),
        tape,
    ):
        pass


def test_a_tape_can_go_on_where_it_stopped():
    x = rg.tensor(3.0)
    tape = rg.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
    assert tape.gradient(z, x).item() == 27.0


@pytest.mark.parametrize(
    "call", [lambda t: t.watch(rg.tensor(1.0)), lambda t: t.reset(), lambda t: next(t_stop(t))]
)
def test_a_tape_outside_its_context_is_told_so(call):
    with pytest.raises(ValueError, match="Tape is not recording"):
        call(rg.GradientTape())


def t_stop(tape):
    with tape.stop_recording():
        yield


def test_variables_are_listed_in_the_order_of_their_use():
    a, b, c = variable(1.0), variable(2.0), variable(3.0)
    with rg.GradientTape() as tape:
        tape.watch(rg.tensor(1.0))
        y = b * b + a
    assert [v.item() for v in tape.watched_variables()] == [2.0, 1.0]
    assert [g.item() for g in tape.gradient(y, tape.watched_variables())] == [4.0, 1.0]
    assert [v.item() for v in tape.watched_variables()] == [2.0, 1.0]
    assert c.grad is None


def test_a_layer_is_trained_by_a_tape():
    rg.manual_seed(0)
    model, x = rg.nn.Linear(3, 1), rg.randn(16, 3)
    target = x @ rg.tensor([[1.0], [-2.0], [0.5]]) + 0.25
    losses = []
    for _ in range(200):
        with rg.GradientTape() as tape:
            loss = ((model(x) - target) ** 2).mean()
        parameters = list(model.parameters())
        with rg.no_grad():
            for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
                p.sub_(0.1 * g)
        losses.append(loss.item())
    assert losses[-1] < 1e-5 * losses[0]


# -- jacobians -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pfor", [True, False])
def test_the_jacobian_has_the_shape_of_target_and_source(pfor):
    x = rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = (x[0] * x[1]).cumsum(0)
    found = tape.jacobian(y, x, experimental_use_pfor=pfor)
    by_first = np.tril(np.tile([4.0, 5.0, 6.0], (3, 1)))
    by_second = np.tril(np.tile([1.0, 2.0, 3.0], (3, 1)))
    assert found.shape == (3, 2, 3)
    np.testing.assert_array_equal(found.numpy(), np.stack([by_first, by_second], axis=1))


def test_the_jacobian_of_several_sources_has_their_structure():
    x, w = rg.tensor([1.0, 2.0]), variable(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * w
    found = tape.jacobian(y, {"x": x, "w": w})
    assert found["x"].tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert found["w"].tolist() == [1.0, 2.0]


def test_a_hessian_is_a_jacobian_of_a_gradient():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            y = x[0] ** 2 * x[1]
        derivative = inner.gradient(y, x)
    assert outer.jacobian(derivative, x).tolist() == [[4.0, 2.0], [2.0, 0.0]]


def test_a_hessian_is_a_gradient_of_a_jacobian():
    x = rg.tensor([1.0, 2.0])
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        matrix = inner.jacobian(y, x)
    assert outer.gradient(matrix, x).tolist() == [6.0, 12.0]


@pytest.mark.parametrize("pfor", [True, False])
def test_the_batch_jacobian_is_the_diagonal_of_the_jacobian(pfor):
    rg.manual_seed(0)
    x, w = rg.randn(4, 3, 2), rg.randn(2, 5)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x @ w).tanh() * x.sum((1, 2), keepdim=True)
    found = tape.batch_jacobian(y, x, experimental_use_pfor=pfor)
    whole = tape.jacobian(y, x).numpy()
    assert found.shape == (4, 3, 5, 3, 2)
    close(found, np.stack([whole[i, :, :, i] for i in range(4)]), 1e-5)


def test_the_batch_jacobian_of_tensorflows_documentation():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.batch_jacobian(y, x).tolist() == [
        [[2.0, 0.0], [0.0, 4.0]],
        [[6.0, 0.0], [0.0, 8.0]],
    ]


def test_an_unconnected_batch_jacobian_is_none_or_zeros():
    x, z = rg.ones(2, 3), rg.ones(2, 4)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.batch_jacobian(y, z) is None
    found = tape.batch_jacobian(y, z, unconnected_gradients="zero")
    assert found.shape == (2, 3, 4)
    assert not found.any()


def test_the_batch_jacobian_needs_as_many_examples_in_both():
    x = rg.ones(2, 3)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(y.sum(0), x)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(y.sum(), x)


@pytest.mark.parametrize("name", ["jacobian", "batch_jacobian"])
def test_a_jacobian_is_of_one_tensor(name):
    x = rg.ones(2, 2)
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match=f"{name}: the target must be a tensor, got list"):
        getattr(tape, name)([y, y], x)


def test_a_jacobian_without_rows_is_empty():
    x = rg.ones(2)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = x[:0]
    assert tape.jacobian(y, x).shape == (0, 2)


# -- functions with their own gradient -------------------------------------------------------------


def test_a_custom_gradient_replaces_the_derivative():
    @rg.custom_gradient
    def log1pexp(x):
        e = x.exp()
        return (1 + e).log(), lambda upstream: upstream * (1 - 1 / (1 + e))

    x = rg.tensor(100.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert tape.gradient(y, x).item() == 1.0


def test_a_custom_gradient_has_derivatives_of_its_own():
    @rg.custom_gradient
    def cube(x):
        return x**3, lambda upstream: upstream * 5 * x**2  # not the derivative

    x = rg.tensor(2.0)
    with rg.GradientTape() as outer:
        outer.watch(x)
        with rg.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        derivative = inner.gradient(y, x)
    assert derivative.item() == 20.0
    assert outer.gradient(derivative, x).item() == 20.0


def test_a_custom_gradient_of_several_arguments_and_results():
    @rg.custom_gradient
    def both(x, scale, pair):
        def grad(by_sum, by_product):
            return by_sum + 2 * by_product, None, [by_sum * 10, by_product * 100]

        return {"sum": x + pair[0], "product": x * pair[1] * scale}, grad

    x, a, b = rg.tensor(2.0), rg.tensor(3.0), variable(5.0)
    with rg.GradientTape() as tape:
        tape.watch([x, a])
        found = both(x, 4.0, [a, b])
        y = found["sum"] + 3 * found["product"]
    assert (found["sum"].item(), found["product"].item()) == (5.0, 40.0)
    assert [g.item() for g in tape.gradient(y, [x, a, b])] == [7.0, 10.0, 300.0]


def test_a_custom_gradient_is_told_of_variables():
    w = variable(2.0)

    @rg.custom_gradient
    def scaled(x):
        def grad(upstream, variables):
            assert variables == [w]
            return upstream * 5, [upstream * 7]

        return x * w, grad

    x = rg.tensor(3.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    assert [g.item() for g in tape.gradient(y, [x, w])] == [5.0, 7.0]


def test_a_custom_gradient_of_a_function_with_variables_must_take_them():
    w = variable(2.0)
    scaled = rg.custom_gradient(lambda x: (x * w, lambda upstream: upstream))
    with pytest.raises(TypeError, match="grad_fn must accept a 'variables' keyword argument"):
        scaled(rg.tensor(1.0))


@pytest.mark.parametrize("found", [(1, 2), None, "x"])
def test_a_custom_gradient_must_come_with_a_function(found):
    with pytest.raises(TypeError, match=r"must return \(result, grad_fn\)"):
        rg.custom_gradient(lambda x: found)(rg.tensor(1.0))


def test_a_custom_gradient_gives_one_gradient_for_each_argument():
    add = rg.custom_gradient(lambda x, y: (x + y, lambda upstream: upstream))
    x = variable(1.0)
    with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1"):
        add(x, x).backward()


def test_a_custom_gradient_gives_one_gradient_for_each_variable():
    w = variable(2.0)
    scaled = rg.custom_gradient(lambda x: (x * w, lambda g, variables: (g, [])))
    with pytest.raises(ValueError, match="Must return gradient for each variable"):
        scaled(rg.tensor(1.0)).backward()


def test_a_custom_gradient_works_for_backward_and_func_too():
    clip = rg.custom_gradient(lambda x: (x.clone(), lambda g: g.clamp(-1, 1)))
    x = variable([1.0, 2.0])
    (clip(x) * rg.tensor([5.0, -0.5])).sum().backward()
    assert x.grad.tolist() == [1.0, -0.5]
    assert rg.func.grad(lambda x: clip(x).sum() * 7)(rg.ones(2)).tolist() == [1.0, 1.0]


def test_a_custom_gradient_has_tangents():
    @rg.custom_gradient
    def product(x, w):
        def grad(upstream):
            return upstream * w.conj() * 3, upstream * x.conj() * 5

        return x * w, grad

    x, w, t = (rg.tensor(v, dtype=rg.complex128) for v in (1 + 2j, 0.5 - 1j, 2 - 1j))
    with rg.ForwardAccumulator(x, t) as forward:
        s = product(x, w)
    close(forward.jvp(s), 3 * (2 - 1j) * (0.5 - 1j), 1e-12)
    with rg.ForwardAccumulator([x, w], [t, t]) as forward:
        s = product(x, w)
    close(forward.jvp(s), (2 - 1j) * (3 * (0.5 - 1j) + 5 * (1 + 2j)), 1e-12)
    assert rg.func.jacfwd(lambda x: product(x, w))(x).item() == 3 * (0.5 - 1j)


def test_a_custom_gradient_without_gradient_has_a_tangent_of_zeros():
    stop = rg.custom_gradient(lambda x: (x * 2, lambda g: None))
    x = rg.ones(2)
    with rg.ForwardAccumulator(x, rg.ones(2)) as forward:
        y = stop(x)
    assert forward.jvp(y).tolist() == [0.0, 0.0]


def test_keyword_arguments_of_a_custom_gradient_have_none():
    scaled = rg.custom_gradient(lambda x, *, by: (x * by, lambda g: g * 5))
    x, w = variable(2.0), variable(3.0)
    with rg.GradientTape() as tape:
        y = scaled(x, by=w)
    assert tape.gradient(y, [x, w]) == [rg.tensor(5.0), None]


def test_a_custom_gradient_may_return_its_argument():
    identity = rg.custom_gradient(lambda x: (x, lambda g: g * 3))
    x = rg.tensor(2.0)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = identity(x) * x
    assert tape.gradient(y, x).item() == 8.0
    assert not x.requires_grad


@pytest.mark.parametrize("kind", ["constant", "variable"])
def test_recompute_grad_computes_again_what_it_did_not_keep(kind):
    calls = []

    @rg.recompute_grad
    def block(x, *, power):
        calls.append(1)
        return (x**power).exp().sin()

    x = rg.tensor(0.5) if kind == "constant" else variable(0.5)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = block(x, power=2)
    assert len(calls) == 1
    close(tape.gradient(y, x), np.cos(np.exp(0.25)) * np.exp(0.25))
    assert len(calls) == 2


def test_what_is_computed_again_for_a_jacobian_draws_the_same_numbers():
    rg.manual_seed(0)
    block = rg.recompute_grad(lambda x: rg.nn.functional.dropout(x * x, 0.5))
    x = rg.ones(16)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = block(x)
    np.testing.assert_array_equal(tape.jacobian(y, x).numpy(), np.diag(2 * y.detach().numpy()))


# -- forward accumulators --------------------------------------------------------------------------


def test_an_accumulator_gives_the_derivative_along_a_direction():
    x, v = rg.tensor([1.0, 2.0]), rg.tensor([1.0, -1.0])
    with rg.ForwardAccumulator(x, v) as forward:
        y = x**3
        z = y.sum()
        assert forward.jvp(y).tolist() == [3.0, -12.0]
        assert forward.jvp(x) is v
    assert forward.jvp({"z": z, "x": x}) == {"z": rg.tensor(-9.0), "x": v}


def test_an_accumulator_of_several_primals():
    x, w = rg.tensor(2.0), variable(3.0)
    with rg.ForwardAccumulator([x, w], [rg.tensor(1.0), rg.tensor(10.0)]) as forward:
        y = x * w
    assert forward.jvp(y).item() == 23.0


def test_a_primal_given_twice_has_the_sum_of_the_tangents():
    x = rg.tensor(2.0)
    with rg.ForwardAccumulator([x, x], [rg.tensor(1.0), rg.tensor(10.0)]) as forward:
        y = x * x
    assert forward.jvp(y).item() == 44.0


def test_forward_over_reverse_is_a_product_with_the_hessian():
    x, v = rg.tensor([1.0, 2.0]), rg.tensor([1.0, -1.0])
    with rg.ForwardAccumulator(x, v) as forward, rg.GradientTape() as tape:
        tape.watch(x)
        y = x[0] ** 2 * x[1].exp()
        derivative = tape.gradient(y, x)
    e = np.exp(2.0)
    close(forward.jvp(derivative), [2 * e - 2 * e, 2 * e - e])


def test_reverse_over_forward_is_a_product_with_the_hessian():
    x, v = rg.tensor([1.0, 2.0]), rg.tensor([1.0, -1.0])
    with rg.GradientTape() as tape:
        tape.watch(x)
        with rg.ForwardAccumulator(x, v) as forward:
            y = x[0] ** 2 * x[1].exp()
        along = forward.jvp(y)
    e = np.exp(2.0)
    close(tape.gradient(along, x), [2 * e - 2 * e, 2 * e - e])


def test_nested_accumulators_give_second_derivatives():
    x = rg.tensor(2.0)
    with rg.ForwardAccumulator(x, rg.tensor(1.0)) as outer:
        with rg.ForwardAccumulator(x, rg.tensor(1.0)) as inner:
            y = x**3
        derivative = inner.jvp(y)
    assert (derivative.item(), outer.jvp(y).item(), outer.jvp(derivative).item()) == (
        12.0,
        12.0,
        12.0,
    )


def test_results_without_tangent_have_none_or_zeros():
    x = rg.tensor(2.0)
    with rg.ForwardAccumulator(x, rg.tensor(1.0)) as forward:
        y = rg.ones(2) * 3
    assert forward.jvp(y) is None
    assert forward.jvp(y, unconnected_gradients="zero").tolist() == [0.0, 0.0]


def test_what_is_computed_after_the_accumulator_has_no_tangent():
    x = rg.tensor(2.0)
    with rg.ForwardAccumulator(x, rg.tensor(1.0)) as forward:
        y = x * x
    assert forward.jvp(y * 2) is None
    assert x._tangents is None


@pytest.mark.parametrize(
    ("primals", "tangents", "text"),
    [
        (rg.ones(2), [rg.ones(2)], "must be built alike"),
        (rg.ones(2), rg.ones(3), "they must be equal"),
        (rg.ones(2), rg.ones(2) * 1j, "has a complex tangent"),
    ],
)
def test_tangents_that_do_not_fit_are_refused(primals, tangents, text):
    with pytest.raises(ValueError, match=text):
        rg.ForwardAccumulator(primals, tangents)


def test_a_tangent_takes_the_dtype_of_its_primal():
    z = rg.tensor(1 + 2j)
    with rg.ForwardAccumulator(z, rg.tensor(1.0, dtype=rg.float64)) as forward:
        s = z.abs() ** 2
        z2 = z * z
    assert forward.jvp(s).item() == pytest.approx(2.0)
    assert forward.jvp(z2).dtype is rg.complex64


def test_an_accumulator_is_entered_once():
    forward = rg.ForwardAccumulator(rg.tensor(1.0), rg.tensor(1.0))
    with forward, pytest.raises(ValueError, match="Accumulator is already recording"), forward:
        pass
    with pytest.raises(ValueError, match="can be entered once"), forward:
        pass
