"""Checks of forward-mode derivatives: what `gradcheck` does with `check_forward_ad`.

The tangents that a function gives are compared with finite differences. Its inputs are then duals
without history: all of them are duals, and those that are not asked for have tangents of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...engine.transforms.batch import BatchLevel, batched, split
from ...errors import UnbatchableError
from .. import forward_ad
from . import GradcheckError
from .differences import Check, directions, floating_outputs, printable, units

BATCHED = (
    "gradcheck failed while testing batched forward gradient computation. Set "
    "check_batched_forward_grad=False to leave this check out."
)


def with_duals(arguments: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """The arguments without history, duals where `tangents` names them (None: no dual)."""
    given = []
    for index, value in enumerate(arguments):
        if not isinstance(value, Tensor) or value._node is None:
            given.append(value)
        elif tangents[index] is None:
            given.append(value.detach())
        else:
            given.append(forward_ad.make_dual(value.detach(), tangents[index]))
    return given


def push_forward(
    func: Callable[..., Any], arguments: Sequence[Any], tangents: dict[int, Any]
) -> list[tuple[Tensor, Tensor | None]]:
    """(value, tangent) of each floating output; the tangent is None where it is zero."""
    with forward_ad.dual_level():
        outputs = floating_outputs(func(*with_duals(arguments, tangents)))
        return [tuple(forward_ad.unpack_dual(out)) for out in outputs]  # type: ignore[misc]


def zero_tangents(arguments: Sequence[Any]) -> dict[int, Any]:
    """A tangent of zero for each argument that requires grad, by its place."""
    return {
        index: new_tensor(np.zeros_like(value._array))
        for index, value in enumerate(arguments)
        if isinstance(value, Tensor) and value._node is not None
    }


def check_tangents(check: Check) -> None:
    """Raise unless the tangents for each input agree with differences, entry by entry.

    In fast mode, for one random tangent per input. For a complex input the imaginary direction
    comes first.
    """
    rng = np.random.default_rng(0)
    for order, place in enumerate(zero_tangents(check.arguments)):
        x = check.arguments[place]
        for direction in reversed(directions(x._array)):
            part = "" if x._array.dtype.kind != "c" else "imaginary" if direction == 1j else "real"
            if check.fast:
                steps = iter([direction * np.asarray(rng.uniform(0.1, 1.0, x._array.shape))])
            else:
                steps = units(x._array, direction)
            for step in steps:
                compare(check, place, order, step, part)


def compare(check: Check, place: int, order: int, step: Any, part: str) -> None:
    """Raise unless the tangents for one step agree with the difference along it."""
    x = check.arguments[place]
    tangents = zero_tangents(check.arguments)
    tangents[place] = new_tensor(np.asarray(step, x._array.dtype))
    found = push_forward(check.func, check.arguments, tangents)
    changes = check.changes(x, step, floating_outputs)
    scale = max(1.0, float(np.abs(step).sum())) if check.fast else 1.0
    for number, ((value, tangent), change) in enumerate(zip(found, changes, strict=True)):
        given = np.zeros(change.shape) if tangent is None else tangent._array
        if check.dtypes and (given.dtype.kind == "c") != (value._array.dtype.kind == "c"):
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        if not check.agree(given, change, scale):
            prefix = f"While considering the {part} part of complex inputs only, " if part else ""
            text = (
                f"{prefix}Jacobian computed with forward mode mismatch for output {number} with "
                f"respect to input {order},\nnumerical:{printable(change)}\n"
                f"analytical:{printable(given)}\n"
            )
            if check.fast:
                whole = check.jacobian(x, number, floating_outputs)
                text += f"(in fast mode: for one random tangent.)\nNumerical:\n{printable(whole)}\n"
            raise GradcheckError(text)


def check_undefined_tangents(func: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Raise unless an input without tangent is treated like one whose tangent is zero."""
    rng = np.random.default_rng(0)
    places = zero_tangents(arguments)
    drawn = {
        index: new_tensor(np.asarray(rng.uniform(0.1, 1.0, t._array.shape), t._array.dtype))
        for index, t in places.items()
    }
    for place, zero in places.items():
        first, second = (
            push_forward(func, arguments, {**drawn, place: tangent}) for tangent in (zero, None)
        )
        for number, ((_, a), (_, b)) in enumerate(zip(first, second, strict=True)):
            if a is not None and b is not None and not np.allclose(a._array, b._array):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {number} when input: "
                    f"{arguments[place]} has an undefined tangent value. Got: {a} but expected: {b}"
                )


def check_batched_tangents(func: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Raise unless several tangents given at once are treated like one by one."""
    rng = np.random.default_rng(0)
    for place in zero_tangents(arguments):
        x = arguments[place]._array
        drawn = np.asarray(rng.standard_normal((2, *x.shape)), x.dtype)

        def outputs(tangent: Tensor, place: int = place) -> list[Tensor]:
            others = dict.fromkeys(zero_tangents(arguments))
            found = push_forward(func, arguments, {**others, place: tangent})
            return [new_tensor(np.zeros_like(v._array)) if t is None else t for v, t in found]

        rows = [outputs(new_tensor(row)) for row in drawn]
        level = BatchLevel(2)
        try:
            with level:
                at_once = [split(t, level) for t in outputs(batched(new_tensor(drawn), level))]
        except UnbatchableError:
            continue  # such a function runs once per example, also under vmap
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{BATCHED}"
            ) from error
        for number, found in enumerate(at_once):
            expected = np.stack([row[number]._array for row in rows])
            if not np.allclose(found._array, expected, 1e-5, 1e-8):
                raise GradcheckError(
                    f"For output {number} and input {place}:\n\n{BATCHED}\n\nGot:\n{found}\n\n"
                    f"Expected:\n{expected}"
                )
