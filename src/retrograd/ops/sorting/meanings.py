"""What functions that need an order or a nearest number mean for complex numbers: `by=`.

NOTE [Meanings]
1. Complex numbers have no order that suits everybody, so the caller says by `by=` which one is
   meant. "modulus": by |z|, those of equal modulus by their angle, as in MATLAB. "lexicographic":
   by the real part, those of equal one by the imaginary part, as in NumPy. The result is then one
   of the elements, whole, and has its derivative. NaN counts as largest, as for real numbers.
   Functions that choose one element do so by "modulus" unless told, as max pooling does: that
   choice turns with its input. What puts elements in order (`sort`, `topk`, ...) raises without it.
2. "parts" applies a function to real and imaginary parts apart, wherever it tells no places.
3. What rounds or bounds one number does so by "parts"; by "modulus" it changes the modulus and
   keeps the direction. The derivative at 0, which has no direction, is 0.
4. `CHOOSING`, `ORDERED` and `ROUNDED` in `core/arguments.py` are the table of functions that take
   `by=`. A call of real numbers without it pays nothing: ops find out when they cannot run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.dispatch import as_tensor
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ..core.arguments import ORDERED
from ..elementwise.complex import each_part

KEYS = {  # by which arrays elements are ordered, the most important last
    "modulus": lambda z: (np.angle(z), np.abs(z)),
    "lexicographic": lambda z: (z.imag, z.real),
}


def _arranged(input: Any, *, by: str) -> Any:
    places = np.lexsort(KEYS[by](input), -1)
    ranks = np.argsort(places, -1).astype(np.float64)  # the inverse of a permutation
    return np.where(np.isnan(input), np.nan, ranks), places


_arrange = declare(
    "arranged(input, *, by) -> ranks, places",
    _arranged,
    batch="leading",
    examples=[example("5", by="modulus"), example("2x3", by="lexicographic")],
    doc="""The rank of each element among those along the last dim, NaN for NaN, and where the
    element of each rank is.""",
)


def mapped(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A result with its tensors changed: a tensor, or a (named) tuple of tensors."""
    if isinstance(value, Tensor):
        return change(value)
    found = [change(t) for t in value]
    return type(value)(*found) if hasattr(value, "_fields") else tuple(found)


def in_order(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function that chooses among elements, by rule 1: it is given ranks."""
    values = (*args, *named.values())
    if any(isinstance(value, str) and value not in ("amax", "amin") for value in values):
        return function(*args, **named)  # `scatter_reduce` by a sum, which needs no order
    if function.__name__ in PAIRED:
        like = next(t._array.dtype for t in values if isinstance(t, Tensor))
        args = tuple([as_tensor(value, like) for value in args])
        values = (*args, *named.values())
    paired = function.__name__ in (*PAIRED, "max", "min")
    given = [value for value in values if is_element(value, paired)]
    flat = recorded.cat(*[t.reshape(-1) for t in given], dim=0)
    ranks, places = _arrange(flat, by=by)
    pieces = iter(ranks.split([t.numel() for t in given]))

    def ranked(value: Any) -> Any:
        return next(pieces).reshape(value.shape) if is_element(value, paired) else value

    def element(found: Tensor) -> Tensor:
        if found._array.dtype != np.float64:  # the places of what was chosen
            return found
        if found.numel() and not flat.numel():  # the median of nothing: NaN
            return found.to(flat.dtype)
        rank = found.nan_to_num(float(flat.shape[0] - 1))  # NaN come last
        return flat.take(places.take(rank.long()))

    with_ranks = [ranked(value) for value in args]
    return mapped(element, function(*with_ranks, **{k: ranked(v) for k, v in named.items()}))


def apart(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function of real and of imaginary parts: rule 2."""
    real, imag = each_part(function, args, named)
    if not any(is_complex(value) for value in (*args, *named.values())):
        return real
    for t in (real,) if isinstance(real, Tensor) else real:
        if t._array.dtype.kind != "f":
            raise ValueError(
                f'{function.__name__}(): by="parts" finds no places: those of the real and of the '
                'imaginary parts differ. Take x.real and x.imag apart, or by="modulus"'
            )
    others = iter((imag,) if isinstance(imag, Tensor) else imag)
    return mapped(lambda t: recorded.complex(t, next(others)), real)


def radially(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function of the modulus of `input`, in its direction: rule 3."""
    input, *rest = args or (named.pop("input"),)
    return recorded.sgn(input) * function(recorded.abs(input), *rest, **named)


def is_element(value: Any, paired: bool) -> bool:
    """Whether a value is a tensor of elements: one of integers is of indices, unless `paired`."""
    return isinstance(value, Tensor) and (paired or value._array.dtype.kind in "fc")


def is_complex(value: Any) -> bool:
    """Whether a value is a complex tensor."""
    return isinstance(value, Tensor) and value._array.dtype.kind == "c"


def meant(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a function that takes `by` gives for it. Raises ValueError for another `by`."""
    name = function.__name__
    choices = {"parts": apart, **(dict.fromkeys(KEYS, in_order) if name in ORDERED else ROUND)}
    if by not in choices:
        raise ValueError(f"{name}(): by must be one of {', '.join(choices)}, got {by!r}")
    return choices[by](function, by, args, named)


ROUND = {"modulus": radially}
PAIRED = ("maximum", "minimum", "fmax", "fmin")  # of two tensors of any dtype, or of a number
