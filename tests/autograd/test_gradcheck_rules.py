"""What `gradcheck` refuses, and in which words; forward mode and batches.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import warnings

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


D = {"dtype": rg.float64, "requires_grad": True}
FAST = pytest.mark.parametrize("fast_mode", [False, True])
gradcheck, gradgradcheck = autograd.gradcheck, autograd.gradgradcheck


@FAST
def test_outputs_without_history_must_be_constant(fast_mode):
    x = rg.ones((1,), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            RuntimeError, match="Numerical gradient for function expected to be zero"
        ):
            gradcheck(lambda x: rg.tensor([x]), x, fast_mode=fast_mode)
        assert not gradcheck(
            lambda x: rg.tensor([x]), x, raise_exception=False, fast_mode=fast_mode
        )
        assert gradcheck(lambda x: (), (x,), fast_mode=fast_mode)


@FAST
def test_a_backward_must_be_linear_in_its_cotangent(fast_mode):
    def fn(x):
        y = x.clone()
        y.register_hook(lambda x: x + 1e-2)
        return y

    x = rg.ones(1, **D)  # atol lets the Jacobian pass, so that it is this check that fails
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(fn, (x,), atol=1e-1, fast_mode=fast_mode)
    assert not gradcheck(fn, (x,), atol=1e-1, raise_exception=False, fast_mode=fast_mode)


@FAST
def test_a_hook_that_cannot_take_none_is_found(fast_mode):
    def fn(x):
        def hook(g):
            if g is None:
                raise RuntimeError("g is undefined")

        y = x.clone()
        y.register_hook(hook)
        return y

    x = rg.ones(1, **D)
    warns = pytest.warns(UserWarning, match="New undefined gradient support checking feature")
    with warns, pytest.raises(RuntimeError, match="handle undefined output grads"):
        gradcheck(fn, (x,), fast_mode=fast_mode)
    with warns:
        assert not gradcheck(fn, (x,), raise_exception=False, fast_mode=fast_mode)


def test_a_wrong_part_of_a_complex_output_is_named():
    def fn(x):
        y = x.clone()
        y.register_hook(lambda x: x + 1e-2)
        return y

    x = rg.ones(2, 2, **D)
    xc = rg.ones(2, 2, dtype=rg.complex128, requires_grad=True)
    for fast in (True, False):
        with pytest.raises(
            RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
        ):
            gradcheck(fn, (x,), fast_mode=fast)
    with pytest.raises(
        RuntimeError, match="While considering the imaginary part of complex outputs only"
    ):
        gradcheck(fn, (xc,), fast_mode=False)

    def fn2(x):
        y = rg.complex(x, x)
        y.register_hook(lambda x: x + 1e-2)
        return y

    with pytest.raises(
        RuntimeError, match="While considering the imaginary part of complex outputs only"
    ):
        gradcheck(fn2, (x,), fast_mode=False)

    def fn3(x):
        y = rg.real(x)
        y.register_hook(lambda x: x + 1e-2)
        return y

    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(fn3, (xc,), fast_mode=False)


@FAST
def test_shape_and_dtype_must_not_depend_on_values(fast_mode):
    def fn(x):
        return rg.cat([x, x]) if rg.all(x >= 1) else x

    with pytest.raises(
        AssertionError, match="return outputs with the same shape when inputs are perturbed"
    ):
        gradcheck(fn, (rg.ones(1, **D),), fast_mode=fast_mode)

    def fn2(x):
        return x.to(rg.float32) if rg.all(x >= 1) else x

    with pytest.raises(
        AssertionError, match="return outputs with the same dtype when inputs are perturbed"
    ):
        gradcheck(fn2, (rg.ones(1, **D),), fast_mode=fast_mode)


def test_at_least_one_direction_is_checked():
    x = rg.ones(1, **D)
    with pytest.raises(
        AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"
    ):
        gradcheck(lambda x: x * 2, (x,), check_forward_ad=False, check_backward_ad=False)
    with pytest.raises(
        AssertionError, match="check_batched_forward_grad=True requires check_forward_ad"
    ):
        gradcheck(lambda x: x * 2, (x,), check_batched_forward_grad=True)


def test_second_derivatives_by_forward_over_reverse():
    x = rg.rand(3, **D)
    assert gradgradcheck(lambda x: x**3, (x,), check_fwd_over_rev=True)
    assert gradgradcheck(
        lambda x: x**3,
        (x,),
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
        check_undefined_grad=False,
    )
    assert gradgradcheck(lambda x: x**3, (x,), fast_mode=True)


def test_batched_cotangents_and_tangents_are_checked():
    x = rg.rand(3, **D)
    assert gradcheck(lambda x: (x**3, x.sum()), (x,), check_batched_grad=True)
    assert gradcheck(
        lambda x: (x**3, x.sum()),
        (x,),
        check_batched_grad=True,
        check_forward_ad=True,
        check_batched_forward_grad=True,
    )


def test_other_errors_pass_through():
    def fn(x):
        raise RuntimeError("other kind")

    with pytest.raises(RuntimeError, match="other kind"):
        gradcheck(fn, (rg.ones(1, **D),), raise_exception=False)


@FAST
def test_a_backward_that_is_not_deterministic_is_found(fast_mode):

    class N(Function):
        @staticmethod
        def forward(ctx, x, j=0.0):
            ctx.j = j
            return x + x

        @staticmethod
        def backward(ctx, g):
            return NG.apply(g, ctx.j), None

    class NG(Function):
        @staticmethod
        def forward(ctx, g, j):
            N.flip = not getattr(N, "flip", False)
            return 2 * g * (1 + (j if N.flip else 0))

        @staticmethod
        def backward(ctx, g):
            return None, None

    inp = rg.rand(5, 5, **D)
    gradcheck(lambda x: N.apply(x, 0.0), inp, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(lambda x: N.apply(x, 1e-6), inp, fast_mode=fast_mode)
    gradcheck(lambda x: N.apply(x, 1e-6), inp, nondet_tol=1e-5, fast_mode=fast_mode)


@FAST
def test_the_backward_pass_is_checked_before_forward_mode(fast_mode):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("backward")

        @staticmethod
        def jvp(ctx, t):
            raise RuntimeError("forward")

    with pytest.raises(RuntimeError, match=r"^backward"):
        gradcheck(Wrong.apply, (leaf(1),), check_forward_ad=True, fast_mode=fast_mode)


@pytest.mark.parametrize("strided", [False, True])
def test_gradgradcheck_takes_a_complex_number_as_output(strided):
    z = rg.tensor([1 + 2j, 3 - 1j], dtype=rg.complex128, requires_grad=True)
    assert rg.autograd.gradgradcheck(rg.prod, z, gen_non_contig_grad_outputs=strided)
