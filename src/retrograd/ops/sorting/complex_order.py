"""What functions that need an order or a nearest number mean for complex numbers: `by=`.

NOTE [Order of complex numbers]
1. Complex numbers have no order that suits everybody, so the caller says by `by=` which one is
   meant. "modulus": by |z|, those of equal modulus by their angle, as in MATLAB. "lexicographic":
   by the real part, those of equal one by the imaginary part, as in NumPy. The result is then one
   of the elements, whole, and has its derivative. NaN counts as largest, and of equal elements that
   one is named which would be of real ones: `EARLIER_IS_LARGER`.
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

from ... import dtypes
from ...engine.dispatch import as_tensor
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import sums
from ...kernels.allocation import known_true
from ..core import return_types
from ..core.arguments import ORDERED
from ..core.dims import wrap_dims
from ..elementwise.complex import each_part
from ..shape.expand import broadcast_tensors

KEYS: dict[str, tuple[Any, Any]] = {  # what elements are ordered by, the more important last
    "modulus": (np.angle, np.abs),
    "lexicographic": (np.imag, np.real),
}
REDUCED = ("max", "min", "amax", "amin", "aminmax", "argmax", "argmin")


def _foremost(input: Any, *, by: str, largest: bool) -> Any:
    minor, major = KEYS[by]
    best, choose = (-np.inf, np.maximum) if largest else (np.inf, np.minimum)
    last = (input.ndim - 1,)
    bad, keys = np.isnan(input), np.where(np.isnan(input), best, major(input))
    ties = bad | (keys == sums.reduced(choose, keys, last, None, True, best))
    if not known_true(ties.sum() * input.shape[-1] == ties.size):  # more than one in some line
        keys = minor(input)
        rest = np.where(ties & ~bad, keys, best)
        first = sums.reduced(choose, rest, last, None, True, best)
        ties = np.where(bad.any(-1, keepdims=True), bad, ties & (keys == first))
    return np.argmax(ties, -1, keepdims=True)


_foremost_of = declare(
    "foremost(input, *, by, largest)",
    _foremost,
    batch="leading",
    examples=[
        example("5", by="modulus", largest=True),
        example("2x3", by="lexicographic", largest=False),
    ],
    doc="""Where along the last dim, which is kept, the first largest or smallest element is, or the
    first NaN.""",
)


def reduced(name: str, by: str, input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """What one of `REDUCED`, or the op of it along a dim, finds in its lines: one pass each."""
    if name == "aminmax":
        pair = [reduced(each, by, input, dim, keepdim) for each in ("amin", "amax")]
        return return_types.aminmax(*pair)
    dims, kind = wrap_dims(input, dim), name.removesuffix("_dim")
    rest = [d for d in range(input.ndim) if d not in dims]
    lines = input.permute((*rest, *dims)).reshape(*[input.shape[d] for d in rest], -1)
    places = _foremost_of(lines, by=by, largest=kind.endswith("max"))
    shape = [1 if d in dims else n for d, n in enumerate(input.shape) if keepdim or d in rest]
    if kind.startswith("arg"):
        return places.reshape(shape)
    values = lines.gather(-1, places).reshape(shape)
    if kind in ("max", "min") and dim is not None:
        return getattr(return_types, kind)(values, places.reshape(shape))
    return values


def of_two(name: str, by: str, input: Any, other: Any) -> Tensor:
    """What one of `PAIRED`, or `max` or `min` of two tensors, chooses: one pass."""
    like = next(t._array.dtype for t in (input, other) if isinstance(t, Tensor))
    pair = [as_tensor(value, like) for value in (input, other)]
    dtype = dtypes.common(*[t._array for t in pair])
    x, y = broadcast_tensors(*[recorded.cast(t, dtype=dtype) for t in pair])
    found = reduced("amax" if "max" in name else "amin", by, recorded.stack(x, y, dim=0), 0)
    if name.startswith("f"):  # a number rather than NaN
        found = recorded.where(x.isnan(), y, recorded.where(y.isnan(), x, found))
    return found  # type: ignore[no-any-return]


def _arranged(input: Any, *, by: str, backwards: bool) -> Any:
    given = np.flip(input, -1) if backwards else input
    places = np.lexsort(tuple([key(given) for key in KEYS[by]]))
    places = input.shape[-1] - 1 - places if backwards else places
    ranks = np.argsort(places, -1).astype(np.float64)  # the inverse of a permutation
    return np.where(np.isnan(input), np.nan, ranks), places


_arrange = declare(
    "arranged(input, *, by, backwards) -> ranks, places",
    _arranged,
    batch="leading",
    examples=[
        example("5", by="modulus", backwards=False),
        example("2x3", by="lexicographic", backwards=True),
    ],
    doc="""The rank of each element among those along the last dim, NaN for NaN, and where the
    element of each rank is. Of equal elements the later one ranks higher, the earlier one if
    `backwards`.""",
)


def mapped(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A result with its tensors changed: a tensor, or a (named) tuple of tensors."""
    if isinstance(value, Tensor):
        return change(value)
    found = [change(t) for t in value]
    return type(value)(*found) if hasattr(value, "_fields") else tuple(found)


def in_order(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function that chooses among elements, by rule 1: it is given ranks."""
    name, values = function.__name__, (*args, *named.values())
    kinds = [value for value in values if isinstance(value, str)]  # of `scatter_reduce`
    if kinds and kinds[0] not in ("amax", "amin"):
        return function(*args, **named)  # by a sum, which needs no order
    if name in PAIRED or (
        name in ("max", "min") and any(isinstance(v, Tensor) for v in values[1:])
    ):
        return of_two(name, by, *values)
    if name.removesuffix("_dim") in REDUCED:
        input, *rest = args or (named.pop("input"),)
        if input.numel():
            return reduced(name, by, input, *rest, **named)
        values = (input, *rest, *named.values())
        args = (input, *rest)
    backwards = name in EARLIER_IS_LARGER or kinds == ["amax"]
    if name in ("sort", "argsort"):
        backwards = named.get("descending", len(args) > 2 and args[2])
    given = [value for value in values if is_element(value)]
    flat = recorded.cat(*[t.reshape(-1) for t in given], dim=0)
    ranks, places = _arrange(flat, by=by, backwards=backwards)
    pieces = iter(ranks.split([t.numel() for t in given]))

    def ranked(value: Any) -> Any:
        return next(pieces).reshape(value.shape) if is_element(value) else value

    def element(found: Tensor) -> Tensor:
        if found._array.dtype != np.float64:  # the places of what was chosen
            return found
        if found.numel() and not flat.numel():  # the median of nothing: NaN
            return found.to(flat.dtype)
        rank = found.nan_to_num(float(flat.shape[0] - 1))  # NaN come last
        return flat.take(places.take(rank.long()))

    with_ranks = [ranked(value) for value in args]
    return mapped(element, function(*with_ranks, **{k: ranked(v) for k, v in named.items()}))


def by_parts(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The function applied to real and imaginary parts, joined again: rule 2."""
    real, imag = each_part(function, args, named)
    if not any(is_complex(value) for value in (*args, *named.values())):
        return real
    for t in (real,) if isinstance(real, Tensor) else real:
        if t._array.dtype.kind not in "fV":
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


def is_element(value: Any) -> bool:
    """Whether a value is a tensor of elements: one of integers is of indices."""
    return isinstance(value, Tensor) and value._array.dtype.kind in "fcV"


def is_complex(value: Any) -> bool:
    """Whether a value is a complex tensor."""
    return isinstance(value, Tensor) and value._array.dtype.kind == "c"


def call_by(function: Any, by: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a function that takes `by` gives for it. Raises ValueError for another `by`."""
    name = function.__name__
    choices = {"parts": by_parts, **(dict.fromkeys(KEYS, in_order) if name in ORDERED else ROUND)}
    if by not in choices:
        raise ValueError(f"{name}(): by must be one of {', '.join(choices)}, got {by!r}")
    return choices[by](function, by, args, named)


ROUND = {"modulus": radially}
EARLIER_IS_LARGER = ("max", "max_dim", "amax", "segment_amax", "argmax", "cummin")
PAIRED = ("maximum", "minimum", "fmax", "fmin")  # of two tensors of any dtype, or of a number
