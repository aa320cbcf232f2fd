"""Checks of derivatives: the backward pass and forward mode against finite differences.

What computes, in the modules beside this one, loads with the first check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import providers
from ...engine.tensor import Tensor
from ...locks import load
from ...ops.tensor.inspection import strided
from ..grad import grad
from ...kernels.allocation import has_class

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

REQUIRES = "Setting {}=True requires {} to be True"


class GradcheckError(RuntimeError):
    """A derivative that does not agree with finite differences, or breaks another rule."""


NO_VALUES = (
    "gradcheck(): a tensor made by _make_wrapper_subclass has no values of its own to vary. Check "
    "the function of what it holds"
)
NO_OUTPUT = (
    "gradgradcheck(): no output of the function has a history, so there are no gradients to check. "
    "Compute it from the inputs without .detach() and no_grad()"
)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func(*inputs)` with central differences of step `eps`.

    All floating inputs that require grad, real or complex, are checked, with respect to all
    differentiable outputs; a complex output counts as two real ones. An entry agrees when
    |a - n| <= atol + rtol * |n|. Further checks: running backward twice differs by at most
    `nondet_tol`; missing cotangents are handled (`check_undefined_grad`); gradients have the dtype
    of their inputs (`check_grad_dtypes`); several cotangents at once give what one by one gives
    (`check_batched_grad`). `fast_mode` compares one random projection instead of every entry.
    Of a sparse input the values are checked, at their places, whatever `masked` says.

    Returns True, or raises GradcheckError with both Jacobians (returns False if not
    `raise_exception`). Raises TypeError where `func` returns anything but tensors, ValueError where
    it returns a sparse one or no input requires grad, AssertionError for a check
    whose direction (`check_backward_ad`, `check_forward_ad`) is turned off, NotImplementedError for
    a tensor made by `_make_wrapper_subclass`. Source: PyTorch's `autograd.gradcheck`.

    >>> x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    >>> rg.autograd.gradcheck(lambda x: x * x, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(REQUIRES.format("check_batched_grad", "check_backward_ad"))
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(REQUIRES.format("check_batched_forward_grad", "check_forward_ad"))
    backwards, forwards, differences = (
        load(f".{name}", __name__) for name in ("backward_mode", "forward_mode", "differences")
    )
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if any(isinstance(x, Tensor) and has_class(x._array) for x in arguments):
        raise NotImplementedError(NO_VALUES)
    if any(isinstance(x, Tensor) and x.layout is not strided for x in arguments):
        func, arguments = providers.service("sparse gradcheck").over_values(func, arguments)
    tolerances = (eps, atol, rtol, nondet_tol)
    check = differences.Check(func, arguments, *tolerances, check_grad_dtypes, fast_mode)
    try:
        wanted = backwards.differentiable_inputs(arguments)
        outputs = differences.differentiable_outputs(func(*arguments))
        if not outputs:
            backwards.check_constant(check, wanted)
            return True
        compare = backwards.compare_projections if fast_mode else backwards.compare_jacobians
        if check_backward_ad:
            for number, output in enumerate(outputs):
                compare(check, wanted, number, output)
        if check_forward_ad:
            forwards.check_tangents(check)
            if check_undefined_grad:
                forwards.check_undefined_tangents(func, arguments)
        if check_batched_forward_grad:
            forwards.check_batched_tangents(func, arguments)
        if not check_backward_ad:
            return True
        if check_batched_grad:
            for output in outputs:
                backwards.check_batched(output, wanted)
        backwards.check_multiplied(outputs, wanted)
        if check_undefined_grad:
            backwards.check_undefined(func, arguments, wanted)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of `func`, as functions of its inputs and of the cotangents.

    grad_outputs: a cotangent per differentiable output, by default random ones (in memory that is
    not contiguous if `gen_non_contig_grad_outputs`). The rest is as for `gradcheck`. Raises
    ValueError where no output has a history, AssertionError where neither of the two directions is
    to be checked, or a further check needs
    `check_rev_over_rev`. Source: PyTorch's `autograd.gradgradcheck`.

    >>> x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    >>> rg.autograd.gradgradcheck(lambda x: x * x * x, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, asked in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if asked and not check_rev_over_rev:
            raise AssertionError(REQUIRES.format(name, "check_rev_over_rev"))
    backwards, differences = load(".backward_mode", __name__), load(".differences", __name__)
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        outputs = differences.differentiable_outputs(func(*arguments))
        if not outputs and any(isinstance(x, Tensor) and x.requires_grad for x in arguments):
            raise ValueError(NO_OUTPUT)
        cotangents = backwards.random_cotangents(outputs, gen_non_contig_grad_outputs)
    else:
        several = isinstance(grad_outputs, (tuple, list))
        cotangents = tuple(grad_outputs) if several else (grad_outputs,)

    places = [
        place
        for place, value in enumerate((*arguments, *cotangents))
        if isinstance(value, Tensor) and value._node is not None
    ]

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        for place in places:  # the duals of forward mode come without history
            if values[place]._node is None:
                values[place].requires_grad = True
        given, g = values[: len(arguments)], values[len(arguments) :]
        wanted = [t for t in given if isinstance(t, Tensor) and t._node is not None]
        outputs = differences.differentiable_outputs(func(*given))
        found = grad(outputs, wanted, g, create_graph=True, allow_unused=True)
        return tuple(c for c in found if c is not None)

    return gradcheck(
        gradients,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


gradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined] # the function hides the module
