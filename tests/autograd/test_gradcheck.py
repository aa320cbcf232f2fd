"""`gradcheck` and `gradgradcheck`: what passes, what fails, and with which message."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.autograd import Function, gradcheck, gradgradcheck
from retrograd.autograd.gradcheck import GradcheckError

both_modes = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def real(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def complex_(*values):
    return rg.tensor(list(values), dtype=rg.complex128, requires_grad=True)


def function(backward, forward=lambda x: x * x):
    """A Function of one argument with this forward and this gradient(x, g)."""

    class Custom(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(*ctx.saved_tensors, g)

    return Custom.apply


@both_modes
def test_right_derivatives_pass(fast_mode):
    x, z = real(0.5, -1.5), complex_(1 + 2j, -0.5j)
    options = {"fast_mode": fast_mode, "check_batched_grad": True}
    assert gradcheck(lambda x: x.exp() * x, (x,), **options)
    assert gradcheck(lambda x, z: (x * z, (z * z).sum(), z.abs()), (x, z), **options)
    assert gradgradcheck(lambda x: x.exp() * x, (x,), **options)
    assert gradgradcheck(lambda x, z: (x * z * z, z.exp()), (x, z), **options)


def test_one_input_needs_no_tuple_and_others_are_passed_through():
    assert gradcheck(lambda x: x * 2, real(1, 2))
    assert gradcheck(lambda x, n, y: x * n * y, (real(1, 2), 3, rg.ones(2, dtype=rg.float64)))


@both_modes
def test_a_wrong_derivative_raises_with_both_jacobians(fast_mode):
    wrong = function(lambda x, g: 3 * x * g)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to") as e:
        gradcheck(wrong, (real(1, 2),), fast_mode=fast_mode)
    assert "numerical:" in str(e.value)
    assert "analytical:" in str(e.value)
    assert not gradcheck(wrong, (real(1, 2),), fast_mode=fast_mode, raise_exception=False)


def test_the_message_shows_the_entries():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(function(lambda x, g: 3 * x * g), (real(1),))
    first, numerical, analytical = str(caught.value).strip().split("\n")
    assert first == "Jacobian mismatch for output 0 with respect to input 0,"
    assert numerical == "numerical:tensor([[2.0000]], dtype=retrograd.float64)"
    assert analytical == "analytical:tensor([[3.]], dtype=retrograd.float64)"


@both_modes
def test_a_forgotten_conjugate_is_found_in_both_parts(fast_mode):
    wrong = function(lambda z, g: 2 * z * g)
    with pytest.raises(GradcheckError, match="considering the imaginary part of complex outputs"):
        gradcheck(wrong, (complex_(1 + 2j),), fast_mode=fast_mode)
    assert gradcheck(function(lambda z, g: 2 * z.conj() * g), (complex_(1 + 2j),))
    half = function(lambda x, g: 2 * g.real * x, lambda x: rg.complex(x * x, x))
    with pytest.raises(GradcheckError, match="the imaginary part of complex outputs only"):
        gradcheck(half, (real(1.5),), fast_mode=fast_mode)


def test_the_second_derivative_of_a_right_first_one_may_be_wrong():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x.detach() * g

    assert gradcheck(Cube.apply, (real(2),))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(Cube.apply, (real(2),))


def test_gradgradcheck_takes_cotangents():
    x = real(1, 2)
    assert gradgradcheck(lambda x: x * x, (x,), (real(3, 4),))
    assert gradgradcheck(lambda x: x * x, (x,), real(3, 4))
    assert gradgradcheck(lambda x: x * x, (x,), gen_non_contig_grad_outputs=True)


def test_gradgradcheck_takes_a_complex_result_without_dimensions():
    z = rg.tensor([1 + 2j, -0.5j], requires_grad=True, dtype=rg.complex128)
    assert gradgradcheck(lambda z: (z * z).sum(), z)


def test_a_backward_that_differs_from_run_to_run_raises():
    runs = []

    def backward(x, g):
        runs.append(1)
        return 2 * x * g + 1e-9 * len(runs)

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(function(backward), (real(1, 2),))
    assert gradcheck(lambda x: x * x, (real(1, 2),), nondet_tol=1e-6)


def test_a_backward_that_ignores_the_cotangent_raises():
    ignoring = function(lambda x, g: g * 0 + 2, lambda x: x * 2)
    with pytest.raises(GradcheckError, match=r"backward not multiplied|mismatch"):
        gradcheck(ignoring, (real(1),))


def test_absent_cotangents_must_be_handled():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            if g is None:
                return 3 * h
            return 2 * g if h is None else 2 * g + 3 * h

    assert gradcheck(Pair.apply, (real(1),), check_undefined_grad=False)
    with pytest.raises(TypeError, match="unsupported operand"):
        gradcheck(Pair.apply, (real(1),))


def test_outputs_without_history_must_not_depend_on_the_inputs():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (real(1),))
    assert gradcheck(lambda x: x.detach() * 0, (real(1),))


def test_single_precision_warns_and_inputs_without_grad_raise():
    x = rg.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="is not a double precision floating point"):
        assert gradcheck(lambda x: x * 2, (x,), eps=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x * 2, (rg.ones(1),))


def test_expanded_inputs_raise():
    x = rg.ones(1, dtype=rg.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, (x,))


def test_inputs_are_as_before_also_after_an_error():
    x = real(1, 2)

    def fails_when_moved(x):
        if x[0].item() != 1:
            raise ValueError("moved")
        return x * 2

    with pytest.raises(ValueError, match="moved"):
        gradcheck(fails_when_moved, (x,))
    assert x.tolist() == [1, 2]
    assert x.grad is None


def test_zero_size_and_zero_dimensional_inputs_pass():
    assert gradcheck(lambda x: x * 2, (rg.ones(0, 3, dtype=rg.float64, requires_grad=True),))
    scalar = rg.tensor(0.5, dtype=rg.float64, requires_grad=True)
    assert gradcheck(lambda x: x.exp(), (scalar,))
    assert gradgradcheck(lambda x: x.exp(), (scalar,))


def test_random_numbers_after_gradgradcheck_are_pytorchs():
    rg.manual_seed(0)
    x = rg.rand(3, 3, dtype=rg.float64, requires_grad=True)
    assert gradgradcheck(lambda x: x**3, x)
    assert rg.rand(2).tolist() == pytest.approx([0.2081, 0.9298], abs=1e-4)  # PyTorch 2.13


NO_TENSORS = {
    "number": lambda x: x.sum().item(),
    "constant": lambda x: 3.0,
    "nothing": lambda x: None,
    "text": lambda x: "x",
    "array": lambda x: x.detach().numpy(),
    "dictionary": lambda x: {"out": x * 2},
    "generator": lambda x: (y for y in (x * 2,)),
    "nested": lambda x: (x * 2, (x * 3,)),
    "number beside a tensor": lambda x: (x * 2, 3.0),
    "nothing beside a tensor": lambda x: (x * 2, None),
}


@pytest.mark.parametrize("function", NO_TENSORS.values(), ids=NO_TENSORS)
def test_what_is_no_tensor_is_not_checked(function):
    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    for settings in ({}, {"fast_mode": True}, {"raise_exception": False},
                     {"check_forward_ad": True, "check_backward_ad": False}):  # fmt: skip
        with pytest.raises(TypeError, match="whose derivative cannot be checked"):
            rg.autograd.gradcheck(function, (x,), **settings)
    with pytest.raises(TypeError, match="whose derivative cannot be checked"):
        rg.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.detach() * 2,
        lambda x: rg.ones(2, dtype=rg.float64),
        lambda x: x.long(),
        lambda x: x > 0,
        lambda x: x.detach()[:0],
        lambda x: (),
    ],
)
def test_second_derivatives_of_outputs_without_history_are_not_checked(function):
    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    with pytest.raises(ValueError, match="no output of the function has a history"):
        rg.autograd.gradgradcheck(function, (x,))


def test_second_derivatives_without_recording_are_not_checked():
    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    with rg.no_grad(), pytest.raises(ValueError, match="no output of the function has a history"):
        rg.autograd.gradgradcheck(lambda x: x * x, (x,))


def test_an_output_that_depends_on_inputs_without_history_fails():
    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    with pytest.raises(rg.autograd.gradcheck.GradcheckError, match="expected to be zero"):
        rg.autograd.gradcheck(lambda x: x.detach() * 2, (x,))
    assert rg.autograd.gradcheck(lambda x: rg.ones(2, dtype=rg.float64), (x,))


def test_a_runtime_error_at_an_absent_cotangent_is_explained():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("no cotangent")
            return g * 2

    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking feature"),
        pytest.raises(GradcheckError, match=r"handle undefined output grads.*no cotangent"),
    ):
        gradcheck(Twice.apply, (x,))
