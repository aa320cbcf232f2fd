"""Checks of the backward pass against finite differences: what `gradcheck` does.

NOTE [What is compared] For an input x and a real function s of it (an output, or the real or the
imaginary part of a complex output), row k of a Jacobian is ∂s/∂Re(x_k) + i ∂s/∂Im(x_k), or ∂s/∂x_k
for a real x. Numerically it comes from central differences in both directions; analytically it is
the gradient that the backward pass gives for s, column by column: for the imaginary part of an
output that is the cotangent i.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...locks import load
from ..function import Function
from ..grad import grad
from . import GradcheckError
from .differences import (
    Check,
    differentiable_outputs,
    directions,
    floating_outputs,
    printable,
    units,
)

NO_INPUT = (
    "gradcheck expects at least one input tensor to require gradient, but none of them have "
    "requires_grad=True. Make the inputs with requires_grad=True, dtype=retrograd.float64"
)
NOT_DOUBLE = (
    "Input #{index} requires gradient and is not a double precision floating point or complex. "
    "This check will likely fail if all the inputs are not of double precision floating point or "
    "complex. "
)
STRIDE_ZERO = (
    "The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
    ".contiguous on the input before passing it to gradcheck."
)
NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
    "times gives different values, although analytical gradient matches numerical gradient. The "
    "tolerance for nondeterminism was {tolerance}."
)
UNDEFINED = "Expected backward function to handle undefined output grads: "
UNDEFINED_NOT_ZERO = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
)
UNDEFINED_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break existing callers of this function. If this is true for you, you can "
    'call this function with "check_undefined_grad=False" to disable the feature'
)
BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation. Set "
    "check_batched_grad=False to leave this check out."
)
IN_FAST_MODE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast "
    "mode: one random projection of each. Below, we recompute numerical and analytical jacobians "
    "in slow mode:\n\nNumerical:\n {numerical}\nAnalytical:\n{analytical}\n\nThe max per-element "
    "difference (slow mode) is: {largest}.\n"
)
SLOW_IS_FINE = (
    "Fast gradcheck failed but element-wise differences are small. This means that the test might "
    "have passed with fast_mode=False."
)


def differentiable_inputs(arguments: Sequence[Any]) -> list[Tensor]:
    """The tensors among the arguments that require grad, checked for use in finite differences."""
    wanted = []
    for index, value in enumerate(arguments):
        if not isinstance(value, Tensor) or value._node is None:
            continue
        array = value._array
        if array.dtype not in (np.float64, np.complex128):
            warnings.warn(NOT_DOUBLE.format(index=index), UserWarning, stacklevel=3)
        repeated = [n > 1 for n, step in zip(array.shape, array.strides, strict=True) if step == 0]
        if array.size and any(repeated):
            raise RuntimeError(STRIDE_ZERO.format(index=index))
        wanted.append(value)
    if not wanted:
        raise ValueError(NO_INPUT)
    return wanted


# -- the two sides -----------------------------------------------------------------------------


def parts_of(array: Any) -> list[tuple[str, complex, Any]]:
    """(name, cotangent, values) of the real functions that an output consists of."""
    if array.dtype.kind != "c":
        return [("", 1.0, array)]
    return [("imaginary", 1j, array.imag), ("real", 1.0, array.real)]


def pull_back(output: Tensor, wanted: Sequence[Tensor], cotangent: Any) -> list[Any]:
    """The gradients of the inputs for one cotangent, as arrays or None."""
    g = new_tensor(np.asarray(cotangent, output._array.dtype))
    found = grad(output, wanted, g, retain_graph=True, allow_unused=True)
    return [None if c is None else c._array for c in found]


def analytical_jacobians(
    output: Tensor, wanted: Sequence[Tensor], direction: complex, check_dtypes: bool
) -> list[Any]:
    """For each input, the gradients of all elements of an output: (elements, outputs)."""
    found = [np.zeros((x._array.size, output._array.size), x._array.dtype) for x in wanted]
    for column, cotangent in enumerate(units(output._array, direction)):
        for jacobian, x, c in zip(found, wanted, pull_back(output, wanted, cotangent), strict=True):
            if c is not None:
                if check_dtypes and c.dtype != x._array.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
                if c.shape != x._array.shape:
                    raise GradcheckError("Analytical gradient has incorrect size")
                jacobian[:, column] = c.ravel()
    return found


def compare_jacobians(check: Check, wanted: Sequence[Tensor], number: int, output: Tensor) -> None:
    """Raise unless all Jacobians of one output agree, entry by entry."""
    changes = [check.jacobian(x, number) for x in wanted]
    for part, unit, _ in parts_of(output._array):
        analytical = analytical_jacobians(output, wanted, unit, check.dtypes)
        again = analytical_jacobians(output, wanted, unit, check.dtypes)
        for place, (a, b) in enumerate(zip(analytical, again, strict=True)):
            numerical = part_of(changes[place], part).reshape(a.shape)
            if not check.agree(a, numerical):
                raise GradcheckError(mismatch(part, number, place, numerical, a))
            check_reentrant(check, a, b)


def check_reentrant(check: Check, once: Any, again: Any) -> None:
    """Raise if two passes of the same cotangent have given different values."""
    if once.size and np.abs(once - again).max() > check.nondet_tol:
        raise GradcheckError(NOT_REENTRANT.format(tolerance=check.nondet_tol))


def part_of(changes: Any, part: str) -> Any:
    """A Jacobian as the backward pass gives it, of one part of an output's changes."""
    change = changes.imag if part == "imaginary" else changes.real
    return change[0] + 1j * change[1] if len(change) == 2 else change[0]


def compare_projections(
    check: Check, wanted: Sequence[Tensor], number: int, output: Tensor
) -> None:
    """Raise unless one random projection of each Jacobian of one output agrees."""
    rng = np.random.default_rng(0)
    for part, unit, values in parts_of(output._array):
        weight = np.asarray(rng.standard_normal(values.shape))
        pulled = pull_back(output, wanted, unit * weight)
        again = pull_back(output, wanted, unit * weight)
        for place, (x, c, d) in enumerate(zip(wanted, pulled, again, strict=True)):
            if check.dtypes and c is not None and c.dtype != x._array.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            step = np.asarray(rng.standard_normal(x._array.shape))
            if x._array.dtype.kind == "c":
                step = step + 1j * np.asarray(rng.standard_normal(x._array.shape))
            change = check.changes(x, step, differentiable_outputs)[number]
            change = change.imag if part == "imaginary" else change.real
            numerical = (weight * change).sum()
            analytical = 0.0 if c is None else (c.conj() * step).real.sum()
            scale = max(1.0, float(np.abs(step).sum()), float(np.abs(weight).sum()))
            if not check.agree(analytical, numerical, scale):
                text = mismatch(part, number, place, numerical, analytical)
                whole = part_of(check.jacobian(x, number), part)
                exact = analytical_jacobians(output, wanted, unit, False)[place]
                text += IN_FAST_MODE.format(
                    numerical=printable(whole),
                    analytical=printable(exact),
                    largest=np.abs(whole - exact).max(initial=0),
                )
                if check.agree(exact, whole.reshape(exact.shape)):
                    text += SLOW_IS_FINE
                raise GradcheckError(text)
            if c is not None:
                check_reentrant(check, c, d)


def mismatch(part: str, output: int, input: int, numerical: Any, analytical: Any) -> str:
    """The text for two Jacobians that differ."""
    prefix = f"While considering the {part} part of complex outputs only, " if part else ""
    return (
        f"{prefix}Jacobian mismatch for output {output} with respect to input {input},\n"
        f"numerical:{printable(numerical)}\nanalytical:{printable(analytical)}\n"
    )


# -- the further checks ------------------------------------------------------------------------


def check_constant(check: Check, wanted: Sequence[Tensor]) -> None:
    """Raise if outputs that claim not to depend on the inputs do."""
    for x in wanted:
        for direction in directions(x._array):
            for step in units(x._array, direction):
                for change in check.changes(x, step, floating_outputs):
                    if not np.allclose(change, 0, 0, check.atol):
                        raise GradcheckError("Numerical gradient for function expected to be zero")


def check_multiplied(outputs: Sequence[Tensor], wanted: Sequence[Tensor]) -> None:
    """Raise unless cotangents of zero give gradients of zero."""
    for output in outputs:
        for c in pull_back(output, wanted, np.zeros(output._array.shape)):
            if c is not None and not (c == 0).all():
                raise GradcheckError("backward not multiplied by grad_output")


def check_batched(output: Tensor, wanted: Sequence[Tensor]) -> None:
    """Raise unless several cotangents given at once are treated like one by one."""
    rng = np.random.default_rng(0)
    rows = [np.asarray(rng.standard_normal(output._array.shape)) for _ in range(2)]
    batch = new_tensor(np.stack(rows).astype(output._array.dtype))
    at_once = grad(output, wanted, batch, retain_graph=True, allow_unused=True,
                   is_grads_batched=True)  # fmt: skip
    for row, cotangent in enumerate(rows):
        for place, c in enumerate(pull_back(output, wanted, cotangent)):
            batched = at_once[place]
            if c is not None and (
                batched is None or not np.allclose(batched._array[row], c, 1e-8, 1e-12)
            ):
                raise GradcheckError(
                    f"For input {place}: batched gradients differ from single ones. {BATCHED}\n\n"
                    f"Got:\n{batched}\n\nExpected:\n{c}"
                )


class Undefined(Function):
    """The identity on several tensors, which passes no cotangent back for some of them."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The tensors, after the list of those to be cut off."""
        ctx.cut, tensors = args[0], args[1:]
        return tensors

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The cotangents, None in place of those that are to be undefined."""
        return (None, *[None if i in ctx.cut else g for i, g in enumerate(grad_outputs)])


def undefined_cases(count: int) -> Iterator[set[int]]:
    """Which outputs get no cotangent: all of them, then one at a time."""
    yield set(range(count))
    if count > 1:
        for index in range(count):
            yield {index}


def check_undefined(
    func: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[Tensor]
) -> None:
    """Raise unless a backward pass treats an absent cotangent as zero."""
    count = len(differentiable_outputs(func(*arguments)))
    for cut in undefined_cases(count):
        outputs = Undefined.apply(cut, *differentiable_outputs(func(*arguments)))
        zeros = [new_tensor(np.zeros_like(t._array)) for t in outputs]
        try:
            found = grad(outputs, wanted, zeros, allow_unused=True)
        except RuntimeError as error:
            warnings.warn(UNDEFINED_NEW, UserWarning, stacklevel=3)
            raise GradcheckError(f"{UNDEFINED}{error}") from error
        if any(c is not None and not (c._array == 0).all() for c in found):
            warnings.warn(UNDEFINED_NEW, UserWarning, stacklevel=3)
            raise GradcheckError(UNDEFINED_NOT_ZERO)


def random_cotangents(outputs: Sequence[Tensor], strided: bool) -> tuple[Tensor, ...]:
    """A cotangent that requires grad for each output; every second element of an array if asked.

    They come from the default generator, as PyTorch's do.
    """
    testing = load("retrograd.testing")
    return tuple(
        testing.make_tensor(
            output.shape,
            dtype=output.dtype,
            low=-1,
            high=1,
            requires_grad=True,
            noncontiguous=strided,
        )
        for output in outputs
    )
