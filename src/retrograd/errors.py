"""Exception types of Retrograd, and the commonest error.

PyTorch raises built-in types; programs catch those. So every type here is a built-in one with a
name that says more. This module knows nothing of tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .locks import load
from .version import named

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CastError", "ComplexWarning", "InvalidBackend", "LinAlgError", "OutOfMemoryError",
    "SecondBackwardError", "UnbatchableError", "UnorderedError", "UserError", "VersionError",
    "conversion", "nearest", "wrong_type",
]  # fmt: skip


JOINING = ("cat", "concat", "concatenate", "stack")
WHOLE = "Convert the whole numbers: x.to({}). A layer of whole numbers would have no gradient."
CONVERT = "Convert one of them: x.to({to}), or y.to({of}), or a layer: layer.to({of})."
MAKE_COMPLEX = "The {0} is real, the {1} complex. Make the {0} complex, too: {2}.to(retrograd.{3})."
MAKE_REAL = " Or make the {0} real: {1}.real drops the imaginary part, {1}.abs() drops the phase."


class VersionError(RuntimeError):
    """A value saved for the backward pass was written in place before the backward pass read it."""


class SecondBackwardError(RuntimeError):
    """The saved values of a graph were read after a backward pass had freed them.

    `node` is the one that was to be read.
    """

    node: Any = None


class UnorderedError(NotImplementedError):
    """Complex numbers came to a function that needs an order, which they have not.

    `function` is its name, `takes_by` whether it can be told an order.
    """

    def __init__(self, function: str, takes_by: bool = True) -> None:
        hint = ', or say which order is meant, as by="modulus"' if takes_by else ""
        super().__init__(
            f"{function}(): does not support complex input: complex numbers have no order. Compare "
            f"x.abs() or x.real{hint}"
        )
        self.function = function


class CastError(RuntimeError, TypeError):
    """A result cannot be stored in the dtype of what is written.

    PyTorch raises the one built-in type or the other, by function.
    """


class ComplexWarning(np.exceptions.ComplexWarning, UserWarning):
    """Complex values were stored as real ones, by their real parts.

    NumPy warns by the one type, PyTorch by the other, and filters are written for either.
    """


class OutOfMemoryError(RuntimeError):
    """Raised when there is no memory for an array."""


class LinAlgError(RuntimeError):
    """Raised for a matrix that is singular or not positive definite, and must not be."""


class UnbatchableError(AttributeError, RuntimeError):
    """Asked a batch for what only a single example has; the function runs once per example.

    `level` is the batched call that has to do so, None for whichever is the newest. `advice` says
    what to change so that it runs at once, where that is not to ask for the value.
    """

    def __init__(self, text: str, level: Any = None, advice: str = "") -> None:
        super().__init__(text)
        self.level, self.advice = level, advice


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that somebody may have meant by one that is not there; None if none is near.

    First comes one that differs in the case of letters alone, then one that begins with `name`.
    """
    names = [each for each in names if each]
    near = same_letters(name, names) or [n for n in names if n.startswith(f"{name}_")]
    near = near or load("difflib").get_close_matches(name, names, 3, 0.7)
    near.sort(key=lambda each: each[0] != name[0])  # a class for a class
    return near[0] if near else None


def same_letters(name: str, names: Iterable[str]) -> list[str]:
    """The names that differ from one in the case of letters and in underscores alone."""
    letters = name.replace("_", "").lower()
    return [each for each in names if each.replace("_", "").lower() == letters]


def wrong_type(
    function: str, argument: str, expected: str, value: object, position: int | None = None
) -> TypeError:
    """The error for an argument of a type that a function does not take."""
    place = "" if position is None else f" (position {position})"
    kind = type(value).__name__
    if type(value).__module__ == "numpy":  # whose bool is not Python's
        kind = f"numpy.{kind}"
    text = f"{function}(): argument '{argument}'{place} must be {expected}, not {kind}"
    if function in JOINING and argument == "dim" and hasattr(value, "_array"):
        text += f". Put the tensors into a list: {function}([x, y])"
    elif expected == "Tensor" and kind in ("list", "tuple", "int", "float"):
        text += f". Make it one: retrograd.tensor({argument})"
    elif expected == "tuple of ints" and kind == "float":
        text += ". Convert: int(n)"
    return TypeError(named(text))


def check_bool(value: object, function: str, argument: str, position: int = 1) -> None:
    """TypeError for what is no Python bool."""
    if not isinstance(value, bool):
        raise wrong_type(function, argument, "bool", value, position)


def conversion(x: np.dtype[Any], y: np.dtype[Any], layer: str = "") -> str:
    """What a program can do that gave two dtypes to what takes one.

    `layer` is the name of the second operand, if it belongs to a layer whose input is the first.
    """
    if (x.kind == "c") != (y.kind == "c"):
        operands = (
            [("input", "x"), (layer, "layer")] if layer else [("first", "x"), ("second", "y")]
        )
        (real, code), (other, own) = operands if y.kind == "c" else operands[::-1]
        text = MAKE_COMPLEX.format(real, other, code, x if x.kind == "c" else y)
        return named(text if own == "layer" else text + MAKE_REAL.format(other, own))
    if (x.kind in "biu") != (y.kind in "biu"):
        return named(WHOLE.format(f"retrograd.{y if x.kind in 'biu' else x}"))
    return named(CONVERT.format(to=f"retrograd.{y}", of=f"retrograd.{x}"))


def constant(
    function: str, argument: str, expected: str, value: object, position: int | None = None
) -> TypeError:
    """The error for a tensor with a history where a function takes a number."""
    refused = wrong_type(function, argument, expected, value, position)
    return TypeError(f"{refused}: it has no derivative. Write {argument}={argument}.item()")


class InvalidBackend(RuntimeError):  # noqa: N818 (PyTorch's name)
    """`compile` was asked for a backend that there is not."""


class UserError(RuntimeError):
    """A module cannot be exported as it is written, or as it was asked for."""
